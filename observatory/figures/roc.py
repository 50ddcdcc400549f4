"""ROC curves with their equal-error points, and how far each domain's threshold lies from the pooled one."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go

from observatory.calibration.roc import Operating
from observatory.figures import numbers, theme
from observatory.figures.theme import Mode

HEIGHT, ROW, LABEL = 540, 44, 22


def roc(pooled: Operating, domains: Sequence[Operating], marked: str | None, colours: Mode) -> go.Figure:
    """All pairs in ink, the marked domain in the accent, the others thin: more than a few hues could not be told apart."""
    figure = theme.blank(colours, HEIGHT)
    figure.add_trace(_reference([0, 1], [0, 1], "chance", "dot", colours))
    figure.add_trace(_reference([0, 1], [1, 0], "equal error", "dash", colours))
    curves = [d for d in domains if d.fpr.size]
    for d in [d for d in curves if d.name != marked]:
        figure.add_trace(_curve(d, colours.muted, 1.2, d is next(c for c in curves if c.name != marked), "other domains" if marked else "one domain each"))
    for d in [d for d in curves if d.name == marked]:
        figure.add_trace(_curve(d, colours.accent, 3, True, d.name))
    if pooled.fpr.size:
        figure.add_trace(_curve(pooled, colours.ink, 3, True, pooled.name))
    for d, colour in [(d, colours.accent) for d in curves if d.name == marked] + [(pooled, colours.ink)]:
        if d.eer is not None:
            figure.add_trace(_equal(d, colour))
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%", title_text="not relevant, at or above the threshold")
    figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", title_text="relevant, at or above")
    theme.fixed(figure, 72)
    figure.update_layout(showlegend=True, margin_t=96)
    return figure


def _reference(xs: list[float], ys: list[float], name: str, dash: str, colours: Mode) -> go.Scatter:
    return go.Scatter(x=xs, y=ys, mode="lines", name=name, hoverinfo="skip", line={"color": colours.muted, "width": 1.5, "dash": dash})


def _curve(d: Operating, colour: str, width: float, legend: bool, name: str) -> go.Scatter:
    shown = theme.safe(d.name)
    return go.Scatter(
        x=d.fpr, y=d.tpr, mode="lines", name=theme.safe(name), showlegend=legend, line={"color": colour, "width": width},
        text=["above every score" if t == float("inf") else f"threshold {t:.4f}" for t in d.thresholds],
        hovertemplate=f"{shown}<br>%{{text}}: %{{y:.1%}} of relevant, %{{x:.1%}} of others<extra></extra>",
    )


def _equal(d: Operating, colour: str) -> go.Scatter:
    rate = d.eer.estimate if d.eer is not None else 0.0
    threshold = d.threshold.estimate if d.threshold is not None else 0.0
    return go.Scatter(
        x=[rate], y=[1 - rate], mode="markers", showlegend=False, marker={"symbol": "diamond", "size": 13, "color": colour},
        hovertemplate=f"{theme.safe(d.name)}<br>equal error {numbers.rate(rate)} at threshold {threshold:.4f}<extra></extra>",
    )


def drift(domains: Sequence[Operating], pooled: Operating, metric: str, marked: str | None, colours: Mode) -> go.Figure:
    """Each domain's equal-error threshold minus the pooled one with its interval, the highest first; zero is the pooled threshold.

    A domain without a threshold keeps its row and says why.
    """
    rows = sorted(domains, key=lambda d: (d.drift is None, -(d.drift.estimate if d.drift else 0.0), d.name))
    figure = theme.blank(colours, max(HEIGHT, 170 + ROW * len(rows)), bottom=92)
    values = [v for d in rows if d.drift for v in (d.drift.estimate, d.drift.low, d.drift.high) if v is not None] or [0.0]
    pad = 0.08 * (max(*values, 0.0) - min(*values, 0.0)) or 0.01
    low, high = min(*values, 0.0) - pad, max(*values, 0.0) + pad
    low, high = min(low, -0.3 * high), max(high, -0.3 * low)
    figure.add_vrect(x0=low, x1=0, fillcolor=colours.shade, line_width=0, layer="below")
    figure.add_vline(x=0, line={"color": colours.ink, "width": 2.5}, layer="below")
    figure.add_trace(_drifts(rows, marked, colours))
    for y, d in enumerate(rows):
        if d.drift is None:
            figure.add_annotation(
                x=0, xanchor="left", xshift=8, y=y, text=theme.safe(d.note), showarrow=False, font={"size": theme.TEXT_SIZE, "color": colours.ink}
            )
    at = f" {pooled.threshold.estimate:.4f}" if pooled.threshold is not None else ""
    figure.add_annotation(
        x=0, y=1, yref="paper", yanchor="bottom", text=f"pooled threshold{at}", showarrow=False, font={"size": theme.TEXT_SIZE, "color": colours.ink}
    )
    title = f"equal-error threshold minus the pooled one ({metric})"
    figure.update_xaxes(range=[low, high], title_text="<br>".join(textwrap.wrap(theme.safe(title), 32)))
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.6], tickvals=list(range(len(rows))), ticktext=[_label(d, d.name == marked) for d in rows], ticks="",
        tickfont={"size": theme.TEXT_SIZE},
    )
    figure.update_layout(showlegend=False, margin_t=76)
    return figure


def _drifts(rows: Sequence[Operating], marked: str | None, colours: Mode) -> go.Scatter:
    found = [(y, d, d.drift) for y, d in enumerate(rows) if d.drift is not None]
    apart = [i.low is not None and i.high is not None and (i.low > 0 or i.high < 0) for _, _, i in found]
    inks = [colours.accent if d.name == marked else colours.ink for _, d, _ in found]
    return go.Scatter(
        x=[i.estimate for _, _, i in found], y=[y for y, _, _ in found], mode="markers", customdata=[[d.name] for _, d, _ in found],
        error_x={
            "type": "data", "symmetric": False, "thickness": 2, "width": 5, "color": colours.ink,
            "array": [0 if i.high is None else i.high - i.estimate for _, _, i in found],
            "arrayminus": [0 if i.low is None else i.estimate - i.low for _, _, i in found],
        },
        marker={
            "size": 12, "symbol": "circle", "color": [ink if a else colours.paper for ink, a in zip(inks, apart, strict=True)],
            "line": {"width": 2.2, "color": inks},
        },
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        text=[
            f"{theme.safe(d.name)}: {numbers.margin(i.estimate)} "
            + (numbers.interval(i.low, i.high) if i.low is not None and i.high is not None else f"({theme.safe(i.note)})")
            + f"<br>{numbers.count(d.n)} pairs, {numbers.count(d.n_clusters)} clusters"
            for _, d, i in found
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _label(d: Operating, marked: bool) -> str:
    short = theme.safe(d.name if len(d.name) <= LABEL else d.name[: LABEL - 1] + "…")
    return f"{'<b>' if marked else ''}{short}{'</b>' if marked else ''}<br>n = {numbers.count(d.n)}"
