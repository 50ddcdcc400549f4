"""Predicted against observed: reliability diagram with its counts, and P(relevant | score) itself."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from observatory.calibration.scores import Bin
from observatory.figures import numbers, theme
from observatory.figures.theme import Mode

HEIGHT = 560
UPPER, LOWER = (0.30, 1.0), (0.0, 0.19)


def reliability(series: Sequence[tuple[str, Sequence[Bin]]], colours: Mode) -> go.Figure:
    """Share that is relevant against the mean prediction of each bin, above the number of pairs in it.

    ``series``: at most two, a name with its bins; the first is filled. On the diagonal, predictions are right on average.
    """
    figure = theme.blank(colours, HEIGHT)
    figure.add_trace(
        go.Scatter(
            x=[0, 1], y=[0, 1], mode="lines", name="right on average", line={"color": colours.muted, "width": 2, "dash": "dash"}, hoverinfo="skip"
        )
    )
    for i, (name, bins) in enumerate(series):
        colour = colours.accent if i == 0 else colours.muted
        figure.add_trace(_points([b.predicted for b in bins], bins, name, i, colour, colours))
        figure.add_trace(_counts([b.predicted for b in bins], bins, name, i, colour))
    _axes(figure, [-0.02, 1.02], "predicted P(relevant)")
    figure.update_xaxes(tickformat=".0%")
    return figure


def by_score(
    bins: Sequence[Bin], maps: Sequence[tuple[str, Sequence[float], Sequence[float]]], prevalence: float, metric: str, colours: Mode
) -> go.Figure:
    """Share that is relevant in equal-mass bins of the score, with the maps fitted to all pairs: (name, scores, probabilities)."""
    figure = theme.blank(colours, HEIGHT)
    for i, (name, xs, ys) in enumerate(maps):
        figure.add_trace(
            go.Scatter(
                x=list(xs), y=list(ys), mode="lines", name=f"{name} map on all pairs",
                line={"color": colours.accent if i == 0 else colours.muted, "width": 2.4, "dash": theme.DASHES[i]},
                hovertemplate=f"{name}: %{{y:.1%}} at %{{x:.4f}}<extra></extra>",
            )
        )
    figure.add_trace(_points([b.predicted for b in bins], bins, "observed in score bins", 1, colours.ink, colours))
    figure.add_trace(_counts([b.predicted for b in bins], bins, "observed", 1, colours.ink))
    low, high = min(b.low for b in bins), max(b.high for b in bins)
    pad = 0.03 * (high - low) or 1.0
    figure.add_hline(y=prevalence, line={"color": colours.muted, "width": 1.5, "dash": "dot"}, layer="below")
    figure.add_annotation(
        x=low - pad, xanchor="left", xshift=4, y=prevalence, yanchor="bottom", text=f"prevalence {numbers.rate(prevalence)}", showarrow=False,
        font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )
    _axes(figure, [low - pad, high + pad], f"score ({theme.safe(metric)})")
    return figure


def _points(xs: Sequence[float], bins: Sequence[Bin], name: str, i: int, colour: str, colours: Mode) -> go.Scatter:
    reach = [(b.observed.low, b.observed.high) for b in bins]
    return go.Scatter(
        x=list(xs), y=[b.observed.estimate for b in bins], mode="markers", name=theme.safe(name),
        error_y={
            "type": "data", "symmetric": False, "thickness": 2, "width": 4, "color": colour,
            "array": [0 if high is None else high - b.observed.estimate for b, (_, high) in zip(bins, reach, strict=True)],
            "arrayminus": [0 if low is None else b.observed.estimate - low for b, (low, _) in zip(bins, reach, strict=True)],
        },
        marker={
            "size": 12, "symbol": ("circle", "square")[i % 2], "color": colour if i == 0 else colours.paper, "line": {"width": 2.2, "color": colour},
        },
        text=[
            f"{theme.safe(name)}: bin from {b.low:.4g} to {b.high:.4g}<br>observed {numbers.rate(b.observed.estimate)} {_bracket(b)}"
            f"<br>{numbers.count(b.n)} pairs in {numbers.count(b.observed.n_clusters)} clusters"
            for b in bins
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _counts(xs: Sequence[float], bins: Sequence[Bin], name: str, i: int, colour: str) -> go.Scatter:
    """Pairs of each bin as lollipops: bins of predictions have no common width."""
    stems_x = [v for x in xs for v in (x, x, None)]
    stems_y = [v for b in bins for v in (0, b.n, None)]
    return go.Scatter(
        x=stems_x, y=stems_y, yaxis="y2", mode="lines+markers", showlegend=False,
        line={"color": colour, "width": 3 if i == 0 else 2}, marker={"color": colour, "size": 5},
        hovertemplate=f"{theme.safe(name)}: %{{y:,}} pairs<extra></extra>",
    )


def _axes(figure: go.Figure, span: list[float], title: str) -> None:
    figure.update_xaxes(range=span, title_text=title, anchor="y2")
    figure.update_layout(
        yaxis={"range": [-0.03, 1.03], "tickformat": ".0%", "title": {"text": "share relevant"}, "domain": list(UPPER)},
        yaxis2={"domain": list(LOWER), "title": {"text": "pairs"}, "rangemode": "tozero", "nticks": 3},
        showlegend=True, margin_t=76,
    )
    theme.fixed(figure, 84)


def _bracket(b: Bin) -> str:
    low, high = b.observed.low, b.observed.high
    return f"({theme.safe(b.observed.note)})" if low is None or high is None else numbers.rate_interval(low, high)
