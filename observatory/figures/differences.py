"""Distribution of paired differences, zero marked, with their mean and its interval above the bars."""

from __future__ import annotations

import textwrap

import pandas as pd
import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.theme import Mode, Style
from observatory.statistics import Interval

HEIGHT = 500


def differences(
    frame: pd.DataFrame, width: float, shares: tuple[float, float, float], mean: Interval, names: tuple[str, str], metric: str,
    look: Style, colours: Mode, chosen: int | None = None,
) -> go.Figure:
    """Bars of other minus baseline. ``frame``: bin, n as ``Store.pair_histogram`` gives them at ``width``; ``shares``: of
    queries that did worse, equal and better. Bars carry bin and width in ``customdata``."""
    figure = theme.blank(colours, HEIGHT)
    bins, counts = [int(b) for b in frame["bin"]], [int(n) for n in frame["n"]]
    low = min((min(bins, default=0)) * width, -width) - width
    high = max((max(bins, default=0) + 1) * width, width) + width
    room = 0.08 * (high - low)  # zero never at the very edge
    low, high = min(low, -room), max(high, room)
    figure.add_trace(
        go.Bar(
            x=[(b + 0.5) * width for b in bins], y=counts, width=width, showlegend=False,
            customdata=[[b, width, n] for b, n in zip(bins, counts, strict=True)],
            text=[f"difference [{b * width:.6g}, {(b + 1) * width:.6g})" for b in bins], textposition="none",
            marker={
                "color": [look.colour if b == chosen else theme.rgba(look.colour, 0.35) for b in bins],
                "line": {"width": [2 if b == chosen else 1.2 for b in bins], "color": [colours.ink if b == chosen else look.colour for b in bins]},
            },
            selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
            hovertemplate=f"%{{text}}<br>%{{customdata[2]}} of {numbers.count(sum(counts))} queries<extra></extra>",
        )
    )
    top = max(counts, default=1)
    _mean(figure, mean, 1.1 * top, colours)
    figure.add_vrect(x0=low, x1=0, fillcolor=colours.shade, line_width=0, layer="below")
    figure.add_vline(x=0, line={"color": colours.ink, "width": 2.5})
    font = {"size": theme.TEXT_SIZE, "color": colours.ink}
    figure.add_annotation(x=0, y=1, yref="paper", yanchor="bottom", text="equal", showarrow=False, font=font)
    parts = zip(("worse", "equal", "better"), shares, strict=True)
    figure.add_annotation(
        x=0, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom", yshift=24, showarrow=False, font=font,
        text=", ".join(f"{word} {numbers.rate(share)}" for word, share in parts),
    )
    title = f"paired difference ({metric}): {names[1]} minus {names[0]}"
    figure.update_xaxes(range=[low, high], title_text="<br>".join(textwrap.wrap(theme.safe(title), 44)))
    figure.update_yaxes(title_text="queries in bin", range=[0, 1.28 * top])
    figure.update_layout(margin_b=100, showlegend=False)
    return figure


def _mean(figure: go.Figure, mean: Interval, y: float, colours: Mode) -> None:
    bars, text = None, mean.note
    if mean.low is not None and mean.high is not None:
        bars = {
            "type": "data", "symmetric": False, "array": [mean.high - mean.estimate], "arrayminus": [mean.estimate - mean.low],
            "thickness": 3, "width": 8, "color": colours.ink,
        }
        text = numbers.interval(mean.low, mean.high)
    figure.add_trace(
        go.Scatter(
            x=[mean.estimate], y=[y], mode="markers", error_x=bars, showlegend=False, hoverinfo="skip",
            marker={"symbol": "diamond", "size": 13, "color": colours.ink},
        )
    )
    left = mean.estimate > 0
    figure.add_annotation(
        x=0.5, xref="paper", y=y, yanchor="bottom", yshift=8, showarrow=False,
        text=f"mean {numbers.margin(mean.estimate)} {theme.safe(text)}", align="right" if left else "left",
        bgcolor=colours.paper, font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )
