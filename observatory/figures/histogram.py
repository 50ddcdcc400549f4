"""Histograms of margins: overlaid step outlines up to four sets, small multiples on one x axis above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels, require
from observatory.figures.theme import Mode, Style

Scale = Literal["density", "count"]
MOST_OVERLAID = 4
OVERLAY_HEIGHT, ROW_HEIGHT = 470, 118


@dataclass(frozen=True)
class Mark:
    """A bar that somebody chose: bin ``index`` of a set."""

    set_id: str
    index: int


def overlaid(
    frame: pd.DataFrame, width: float, tails: pd.DataFrame, sets: Sequence[Described], colours: Mode,
    scale: Scale = "density", mark: Mark | None = None,
) -> go.Figure:
    """All sets on one pair of axes. ``frame``: set_id, bin, n as ``Store.histogram`` gives them at ``width``;
    ``tails``: set_id, n_lt, n. Bars carry set id and bin in ``customdata``."""
    _check(frame, sets)
    figure = theme.blank(colours, OVERLAY_HEIGHT)
    names, looks = labels(sets), theme.styles(sets)
    for s in sets:
        for trace in _traces(frame, s, width, names[s.set_id], looks[s.set_id], scale, mark, colours):
            figure.add_trace(trace)
    _axis(figure, frame, width, colours, sets)
    losses = _losses(tails)
    theme.losses(
        figure, colours, [(looks[s.set_id].colour, numbers.rate(losses[s.set_id])) for s in sets if s.set_id in losses]
    )
    figure.update_yaxes(title_text=_y_title(scale), rangemode="tozero")
    theme.fixed(figure, 72)
    figure.update_layout(barmode="overlay", showlegend=True)
    return figure


def multiples(
    frame: pd.DataFrame, width: float, tails: pd.DataFrame, sets: Sequence[Described], colours: Mode,
    scale: Scale = "density", mark: Mark | None = None,
) -> go.Figure:
    """One row a set, all on one x axis with the same bins; the same input as :func:`overlaid`."""
    _check(frame, sets)
    names, looks = labels(sets), theme.styles(sets)
    figure = make_subplots(
        rows=len(sets), cols=1, shared_xaxes=True, vertical_spacing=min(0.03, 0.2 / len(sets)),
        figure=theme.blank(colours, 110 + ROW_HEIGHT * len(sets)),
    )
    losses = _losses(tails)
    for row, s in enumerate(sets, start=1):
        for trace in _traces(frame, s, width, names[s.set_id], looks[s.set_id], scale, mark, colours):
            figure.add_trace(trace, row=row, col=1)
        axis = "" if row == 1 else str(row)
        _row_words(figure, axis, names[s.set_id], losses.get(s.set_id), colours)
    _axis(figure, frame, width, colours, sets)
    figure.update_yaxes(nticks=3, rangemode="tozero")
    theme.fixed(figure, 44)
    figure.update_layout(barmode="overlay", showlegend=False, margin_t=40)
    return figure


def _check(frame: pd.DataFrame, sets: Sequence[Described]) -> None:
    require(frame, sets)
    if len({s.metric for s in sets}) > 1:
        raise ValueError("one axis for several units")


def _traces(
    frame: pd.DataFrame, s: Described, width: float, name: str, look: Style, scale: Scale, mark: Mark | None, colours: Mode
) -> list[go.Bar | go.Scatter]:
    """Light bars that can be clicked, and their outline; the chosen bar is filled."""
    rows = frame[frame["set_id"] == s.set_id].sort_values("bin")
    if rows.empty:
        return []
    total = int(rows["n"].sum())
    unit = 1.0 if scale == "count" else 1.0 / (total * width)
    by_bin = dict(zip((int(b) for b in rows["bin"]), (int(n) for n in rows["n"]), strict=True))
    indices = list(by_bin)
    chosen = [mark == Mark(s.set_id, i) for i in indices]
    bars = go.Bar(
        x=[(i + 0.5) * width for i in indices], y=[by_bin[i] * unit for i in indices], width=width, name=theme.safe(name),
        showlegend=False, legendgroup=s.set_id,
        marker={
            "color": [look.colour if c else look.fill for c in chosen],
            "line": {"width": [2 if c else 0 for c in chosen], "color": colours.ink},
        },
        customdata=[[s.set_id, i, width, by_bin[i]] for i in indices],
        text=[f"margin [{i * width:.6g}, {(i + 1) * width:.6g})" for i in indices], textposition="none",
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        hovertemplate=f"{theme.safe(name)}<br>%{{text}}<br>%{{customdata[3]}} of {numbers.count(total)} queries<extra></extra>",
    )
    edges = list(range(min(indices), max(indices) + 2))
    steps = go.Scatter(
        x=[edges[0] * width, *(i * width for i in edges)], y=[0, *(by_bin.get(i, 0) * unit for i in edges)], mode="lines",
        line={"shape": "hv", "color": look.colour, "width": 2.5, "dash": look.dash}, name=theme.safe(name),
        legendgroup=s.set_id, hoverinfo="skip", showlegend=True,
    )
    return [bars, steps]


def _losses(tails: pd.DataFrame) -> Mapping[str, float]:
    return {str(i): int(lost) / int(n) for i, lost, n in zip(tails["set_id"], tails["n_lt"], tails["n"], strict=True)}


def _axis(
    figure: go.Figure, frame: pd.DataFrame, width: float, colours: Mode, sets: Sequence[Described]
) -> None:
    """One x axis for everything, always with zero on it."""
    bins = frame["bin"] if len(frame) else pd.Series([0])
    low, high = theme.span(float(bins.min()) * width, float(bins.max() + 1) * width, width)
    theme.zero(figure, colours, low)
    figure.update_xaxes(range=[low, high])
    metric = theme.safe(", ".join(sorted({s.metric for s in sets})))
    last = max((a for a in figure.layout if a.startswith("xaxis")), key=lambda a: int(a[5:] or 1))
    figure.layout[last].title.text = f"margin to the hardest negative ({metric})"


def _row_words(figure: go.Figure, axis: str, name: str, lost: float | None, colours: Mode) -> None:
    loss = "losses<br>" + (numbers.NOT_MEASURED_HERE if lost is None else numbers.rate(lost))
    for x, anchor, text in ((1, "right", f"<b>{theme.safe(name)}</b>"), (0, "left", loss)):
        figure.add_annotation(
            x=x, xref=f"x{axis} domain", xanchor=anchor, xshift=0 if x else 4, y=1, yref=f"y{axis} domain", yanchor="top",
            align=anchor, text=text, showarrow=False, font={"size": theme.TEXT_SIZE, "color": colours.ink},
        )


def _y_title(scale: Scale) -> str:
    return "queries in bin" if scale == "count" else "density (area 1)"
