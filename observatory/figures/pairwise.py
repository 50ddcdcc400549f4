"""Mean pairwise margin by relation: another aggregation than the margin to the hardest negative, and never on its axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels
from observatory.figures.theme import Mode

ROW, HEAD = 80, 136


@dataclass(frozen=True)
class Stratum:
    """One relation of one set; ``low`` and ``high`` are None where no interval was measured, and ``note`` says why."""

    set_id: str
    relation: str
    n: int | str
    mean: float
    low: float | None
    high: float | None
    note: str


def pairwise_means(strata: Sequence[Stratum], sets: Sequence[Described], colours: Mode) -> go.Figure:
    """Dot and interval of each stratum, smallest relation first, published under fresh. Squares in one colour: these are not hardest margins."""
    known = {s.set_id: s for s in sets}
    if {s.set_id for s in strata} - set(known):
        raise ValueError("a number without a descriptor is not drawn")
    if len({s.metric for s in sets}) > 1:
        raise ValueError("one axis for several units")
    figure = theme.blank(colours, HEAD + ROW * max(1, len(strata)))
    names = labels(sets)
    smallest = {s.relation: min(t.mean for t in strata if t.relation == s.relation) for s in strata}
    ordered = sorted(strata, key=lambda s: (smallest[s.relation], s.relation, known[s.set_id].published, s.set_id))
    for y, stratum in enumerate(ordered):
        _dot(figure, stratum, y, known[stratum.set_id].published, names[stratum.set_id], colours)
    edges = [v for s in ordered for v in (s.mean, s.low, s.high) if v is not None] or [0.0]
    low, high = theme.span(min(edges), max(edges), pad=0.03 * (max(edges) or 1), share=0.02)
    theme.zero(figure, colours, low)
    metric = theme.safe(", ".join(sorted({s.metric for s in sets})))
    figure.update_xaxes(range=[low, high], title_text=f"pairwise mean: one row a designated negative ({metric})")
    figure.update_yaxes(range=[len(ordered) - 0.5, -0.85], showticklabels=False, showgrid=False, ticks="")
    theme.fixed(figure, 8)
    figure.update_layout(showlegend=False, margin_t=44)
    return figure


def _dot(figure: go.Figure, s: Stratum, y: int, published: bool, name: str, colours: Mode) -> None:
    bars, brackets = None, f"({s.note})"
    if s.low is not None and s.high is not None:
        bars = {
            "type": "data", "symmetric": False, "array": [s.high - s.mean], "arrayminus": [s.mean - s.low],
            "thickness": 3, "width": 7, "color": colours.pairwise,
        }
        brackets = numbers.interval(s.low, s.high)
    size = numbers.written(s.n, numbers.count)
    figure.add_trace(
        go.Scatter(
            x=[s.mean], y=[y], mode="markers", error_x=bars, showlegend=False, customdata=[[s.set_id, s.relation]],
            marker={
                "symbol": "square", "size": 13, "color": colours.paper if published else colours.pairwise,
                "line": {"color": colours.pairwise, "width": 3},
            },
            hovertemplate=f"{theme.safe(s.relation)}, {theme.safe(name)}<br>pairwise mean %{{x:+.4f}} {theme.safe(brackets)}"
            f"<br>n = {size} pairs<extra></extra>",
        )
    )
    mark = ", published" if published else ""
    figure.add_annotation(
        x=0, xref="x", xanchor="left", xshift=8, y=y - 0.2, yref="y", yanchor="bottom", align="left", showarrow=False,
        text=f"<b>{theme.safe(s.relation)}</b>, n = {size}{mark}<br>{numbers.margin(s.mean)} {theme.safe(brackets)}",
        font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )
