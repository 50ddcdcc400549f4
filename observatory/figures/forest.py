"""Forest plot: one row a stratum, a dot and its interval for each set, what is small drawn hollow."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels
from observatory.figures.theme import Mode

Kind = Literal["hardest", "pairwise", "difference", "share"]
SYMBOLS = ("square", "diamond", "triangle-up", "pentagon", "hexagon", "star")
LABEL, STEP, LEAST, TOP, BOTTOM = 22, 15, 38, 72, 92


@dataclass(frozen=True)
class Dot:
    """One value of one stratum in one set; ``low`` and ``high`` are None without an interval, and ``note`` says why."""

    stratum: str
    set_id: str
    value: float
    low: float | None
    high: float | None
    note: str
    n: int | str
    small: str
    what: str = ""


def forest(dots: Sequence[Dot], sets: Sequence[Described], kind: Kind, title: str, colours: Mode, chosen: str | None = None) -> go.Figure:
    """Strata in the order given. Dots carry [set id, stratum] in ``customdata``.

    Pairwise means have squares in a colour of their own and never share an axis with hardest margins.
    """
    known = {s.set_id: s for s in sets}
    if {d.set_id for d in dots} - set(known):
        raise ValueError("a number without a descriptor is not drawn")
    if len({s.metric for s in sets}) > 1 and kind != "share":
        raise ValueError("one axis for several units")
    rows = list(dict.fromkeys(d.stratum for d in dots))
    groups = list(dict.fromkeys((d.set_id, d.what) for d in dots))
    height = LEAST if kind == "share" else max(LEAST, STEP * len(groups) + 14)
    figure = theme.blank(colours, TOP + BOTTOM + height * max(1, len(rows)), bottom=BOTTOM)
    names, looks = labels(sets), theme.styles(sets)
    for i, (set_id, what) in enumerate(groups):
        mine = [d for d in dots if (d.set_id, d.what) == (set_id, what)]
        offset = 0.0 if kind == "share" else (i - (len(groups) - 1) / 2) * STEP / height
        symbol = SYMBOLS[i % len(SYMBOLS)] if kind == "pairwise" else "circle"
        colour = colours.pairwise if kind == "pairwise" else looks[set_id].colour
        name = what or names[set_id]
        figure.add_trace(_dots(mine, [rows.index(d.stratum) + offset for d in mine], name, symbol, colour, kind, colours))
    values = [v for d in dots for v in (d.value, d.low, d.high) if v is not None] or [0.0]
    pad = 0.05 * (max(*values, 0.0) - min(*values, 0.0)) or 0.01  # zero belongs to the range: no dot at the very edge
    low, high = theme.span(min(values), max(values), pad, share=0.06)
    if kind in ("difference", "share"):  # room for a word on each side of zero
        low, high = min(low, -0.35 * high), max(high, -0.35 * low)
    _zero(figure, colours, low, len(rows), kind)
    figure.update_xaxes(range=[low, high], title_text="<br>".join(textwrap.wrap(theme.safe(title), 34)))
    if kind == "share":
        ticks = [t / 10 for t in range(-10, 11, 2) if low <= t / 10 <= high]
        figure.update_xaxes(tickvals=ticks, ticktext=[f"{abs(t):.0%}" for t in ticks])
    figure.update_yaxes(
        range=[len(rows) - 0.45, -0.6], tickvals=list(range(len(rows))), ticks="", showgrid=True,
        ticktext=[_label(name, [d for d in dots if d.stratum == name], name == chosen) for name in rows],
        tickfont={"size": theme.TEXT_SIZE},
    )
    inside = int(figure.layout.height) - TOP - BOTTOM
    figure.update_layout(showlegend=len(groups) > 1, margin_t=TOP, legend={"y": 1 + 26 / inside})
    return figure


def _dots(
    mine: Sequence[Dot], at: Sequence[float], name: str, symbol: str, colour: str, kind: Kind, colours: Mode
) -> go.Scatter:
    reach = [(d.value if d.low is None or d.high is None else d.low, d.value if d.low is None or d.high is None else d.high) for d in mine]
    hollow = [bool(d.small) or d.what == "hurt" for d in mine]
    form = numbers.margin if kind != "share" else (lambda v: numbers.rate(abs(v)))
    return go.Scatter(
        x=[d.value for d in mine], y=list(at), mode="markers", name=theme.safe(name),
        error_x={
            "type": "data", "symmetric": False, "array": [high - d.value for d, (_, high) in zip(mine, reach, strict=True)],
            "arrayminus": [d.value - low for d, (low, _) in zip(mine, reach, strict=True)], "thickness": 2, "width": 4, "color": colour,
        },
        marker={
            "symbol": symbol, "size": 11, "color": [colours.paper if h else colour for h in hollow], "line": {"width": 2.2, "color": colour},
        },
        customdata=[[d.set_id, d.stratum] for d in mine], selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        text=[
            f"{theme.safe(d.stratum)}, {theme.safe(name)}<br>{form(d.value)} {theme.safe(d.note)}<br>n = {_n(d.n)}"
            + (f"<br>{theme.safe(d.small)}" if d.small else "")
            for d in mine
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _label(name: str, dots: Sequence[Dot], chosen: bool) -> str:
    """The stratum's name, cut to fit a phone, over its n; what is small says so."""
    short = name if len(name) <= LABEL else name[: LABEL - 1] + "…"
    counts = list(dict.fromkeys(_n(d.n) for d in dots))
    size = counts[0] if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    mark = (", small" if any(d.small for d in dots) else "") + (", no interval" if any(d.low is None for d in dots) else "")
    head = f"<b>{theme.safe(short)}</b>" if chosen else theme.safe(short)
    return f"{head}<br>n = {size}{mark}"


def _n(n: int | str) -> str:
    return numbers.written(n, numbers.count)


def _zero(figure: go.Figure, colours: Mode, low: float, rows: int, kind: Kind) -> None:
    """The zero line with its word; what is left of it is shaded."""
    figure.add_vrect(x0=low, x1=0, fillcolor=colours.shade, line_width=0, layer="below")
    figure.add_shape(
        type="line", x0=0, x1=0, y0=-0.6, y1=rows - 0.45, line={"color": colours.ink, "width": 2.5}, layer="between"
    )
    words = {
        "share": (("hurt", "right", -8), ("helped", "left", 8)), "difference": (("worse", "right", -8), ("better", "left", 8)),
    }.get(kind, (("tie", "center", 0),))
    for word, anchor, shift in words:
        figure.add_annotation(
            x=0, y=1, yref="paper", xanchor=anchor, xshift=shift, yanchor="bottom", text=word, showarrow=False,
            font={"size": theme.TEXT_SIZE, "color": colours.ink},
        )
