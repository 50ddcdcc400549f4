"""Half-width of an interval against the number of queries: measured by subsampling, projected, and where it excludes zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from observatory.calibration.size import Projection, Size
from observatory.figures import numbers, theme
from observatory.figures.theme import Mode

HEIGHT = 500


def half_width(size: Size, marks: Sequence[tuple[int, str]], unit: str, colour: str, colours: Mode) -> go.Figure:
    """Both axes logarithmic, so that the projection is a straight line.

    ``marks``: numbers of queries to mark on the projection, each with its word. Under the line at |mean| the interval excludes 0;
    measured points there are filled where most of their subsamples' intervals did. A median half-width of 0 (most subsamples hold
    equal values only) has no place on a logarithmic axis: :func:`undrawn` counts those, and the page says so.
    """
    figure = theme.blank(colours, HEIGHT)
    projection = size.projection
    if projection is None:
        raise ValueError(f"nothing to draw: {size.note}")
    figure.add_trace(_measured(size, colour, colours))
    ns = [p.n for p in size.curve] + [n for n, _ in marks]
    low, high = min(ns) / 1.15, max(*ns, size.observed.n * 4) * 1.15
    figure.add_trace(_line(projection, low, high, colour))
    figure.add_trace(_marks(projection, marks, colours))
    widths = [w for p in size.curve for w in (p.low, p.half_width, p.high) if w > 0] + [projection.half_width(high)]
    mean = abs(projection.mean)
    shown = min(widths) / 20 < mean < max(widths) * 20  # a mean far outside would squash the curve: words say it instead
    bottom, top = min([*widths, *([mean] if shown else [])]) / 1.5, max([*widths, *([mean] if shown else [])]) * 1.7
    if mean > bottom:
        _zero(figure, mean, bottom, top, low, colours)
    figure.update_xaxes(
        type="log", range=[math.log10(low), math.log10(high)], title_text="queries (log)", tickvals=(x := ticks(low, high, 2)),
        ticktext=[numbers.count(int(v)) for v in x],
    )
    figure.update_yaxes(
        type="log", range=[math.log10(bottom), math.log10(top)], title_text=f"half-width of the 95% interval ({theme.safe(unit)}, log)",
        tickvals=(y := ticks(bottom, top, 3)), ticktext=[f"{v:g}" for v in y],
    )
    theme.fixed(figure, 84)
    figure.update_layout(showlegend=True, margin_t=76)
    return figure


def undrawn(size: Size) -> int:
    """Sizes whose median half-width is 0."""
    return sum(p.half_width == 0 for p in size.curve)


def _measured(size: Size, colour: str, colours: Mode) -> go.Scatter:
    points = [p for p in size.curve if p.half_width > 0]
    return go.Scatter(
        x=[p.n for p in points], y=[p.half_width for p in points], mode="markers", name="subsamples (median, 5% to 95%)",
        error_y={
            "type": "data", "symmetric": False, "array": [p.high - p.half_width for p in points],
            "arrayminus": [p.half_width - (p.low or p.half_width / 10) for p in points], "thickness": 1.8, "width": 4, "color": colour,
        },
        marker={
            "size": 11, "symbol": "circle", "color": [colour if p.excludes_zero.estimate > 0.5 else colours.paper for p in points],
            "line": {"width": 2.2, "color": colour},
        },
        text=[
            f"{numbers.count(p.n)} queries in {numbers.count(p.n_clusters)} clusters<br>half-width {p.half_width:.4f} ({p.low:.4f} to {p.high:.4f})"
            f"<br>excludes 0 in {numbers.rate(p.excludes_zero.estimate)} of {numbers.count(p.repetitions)}"
            for p in points
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _line(projection: Projection, low: float, high: float, colour: str) -> go.Scatter:
    xs = [low, *(10 ** (math.log10(low) + i / 60 * math.log10(high / low)) for i in range(1, 60)), high]
    return go.Scatter(
        x=xs, y=[projection.half_width(x) for x in xs], mode="lines", name="projection", line={"color": colour, "width": 2.2, "dash": "dash"},
        hovertemplate="projected at %{x:,.0f} queries: %{y:.4f}<extra></extra>",
    )


def _marks(projection: Projection, marks: Sequence[tuple[int, str]], colours: Mode) -> go.Scatter:
    return go.Scatter(
        x=[n for n, _ in marks], y=[projection.half_width(n) for n, _ in marks], mode="markers+text", showlegend=False,
        text=[word for _, word in marks], textposition="bottom left", textfont={"color": colours.ink, "size": theme.TEXT_SIZE},
        marker={
            "symbol": "diamond", "size": 13, "line": {"width": 2, "color": colours.ink},
            "color": [colours.ink if projection.excludes_zero(n) else colours.paper for n, _ in marks],
        },
        customdata=[[projection.mean - projection.half_width(n), projection.mean + projection.half_width(n)] for n, _ in marks],
        hovertemplate="%{text}<br>[%{customdata[0]:+.4f}, %{customdata[1]:+.4f}]<extra></extra>",
    )


def _zero(figure: go.Figure, mean: float, bottom: float, top: float, left: float, colours: Mode) -> None:
    """The line at |mean|: an interval as wide as its mean just reaches 0."""
    at = min(mean, top)
    figure.add_hrect(y0=bottom, y1=at, fillcolor=colours.shade, line_width=0, layer="below")
    if mean < top:
        figure.add_hline(y=mean, line={"color": colours.ink, "width": 2.5}, layer="below")
    text = f"below |mean| {mean:.4f}: excludes 0" if mean < top else f"all of it lies below |mean| {mean:.4f}: excludes 0"
    figure.add_annotation(
        x=math.log10(left), xanchor="left", xshift=6, y=math.log10(at), yanchor="top" if mean < top else "bottom", text=text, showarrow=False,
        yshift=-3 if mean < top else -22, font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )


def ticks(low: float, high: float, steps: int) -> list[float]:
    """1, 2, 5 times powers of ten inside (low, high); only powers of ten, and of ten by threes, where there would be many."""
    found = [m * 10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    inside = [v for v in found if low <= v <= high]
    if len(inside) > 4 * steps:
        inside = [v for v in inside if math.isclose(math.log10(v), round(math.log10(v)), abs_tol=1e-9)]
    return inside
