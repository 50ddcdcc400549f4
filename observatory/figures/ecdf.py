"""Empirical distribution of margins: the loss rate reads off at zero, with its interval drawn there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels, require
from observatory.figures.theme import Mode
from observatory.statistics import Interval

HEIGHT = 470


def ecdf(frame: pd.DataFrame, losses: Mapping[str, Interval], sets: Sequence[Described], colours: Mode) -> go.Figure:
    """Steps of each set. ``frame``: set_id, margin, share as ``Store.ecdf`` gives them; ``losses``: share of margins < 0."""
    require(frame, sets)
    if len({s.metric for s in sets}) > 1:
        raise ValueError("one axis for several units")
    figure = theme.blank(colours, HEIGHT)
    names, looks = labels(sets), theme.styles(sets)
    pad = 0.02 * (float(frame["margin"].max() - frame["margin"].min()) if len(frame) else 1.0) or 0.01
    low, high = theme.span(
        float(frame["margin"].min()) if len(frame) else 0.0, float(frame["margin"].max()) if len(frame) else 1.0, pad
    )
    for s in sets:
        rows = frame[frame["set_id"] == s.set_id]
        if rows.empty:
            continue
        look, name = looks[s.set_id], theme.safe(names[s.set_id])
        figure.add_trace(
            go.Scatter(
                x=[low, *rows["margin"], high], y=[0.0, *rows["share"], 1.0], mode="lines", name=name, legendgroup=s.set_id,
                line={"shape": "hv", "color": look.colour, "width": 2.5, "dash": look.dash},
                hovertemplate=f"{name}<br>%{{y:.1%}} of margins at or below %{{x:+.4f}}<extra></extra>",
            )
        )
        if s.set_id in losses:
            figure.add_trace(_at_zero(losses[s.set_id], s, name, look, colours))
    theme.zero(figure, colours, low, over=False)
    theme.losses(
        figure, colours, [(looks[s.set_id].colour, numbers.rate(losses[s.set_id].estimate)) for s in sets if s.set_id in losses]
    )
    metric = theme.safe(", ".join(sorted({s.metric for s in sets})))
    figure.update_xaxes(range=[low, high], title_text=f"margin to the hardest negative ({metric})")
    figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", title_text="share of queries at or below")
    theme.fixed(figure, 72)
    figure.update_layout(showlegend=True)
    return figure


def _at_zero(loss: Interval, s: Described, name: str, look: theme.Style, colours: Mode) -> go.Scatter:
    bars, text = None, loss.note
    if loss.low is not None and loss.high is not None:
        bars = {
            "type": "data", "symmetric": False, "array": [loss.high - loss.estimate], "arrayminus": [loss.estimate - loss.low],
            "thickness": 3, "width": 7, "color": look.colour,
        }
        text = numbers.rate_interval(loss.low, loss.high)
    return go.Scatter(
        x=[0], y=[loss.estimate], mode="markers", showlegend=False, legendgroup=s.set_id, name=name, error_y=bars,
        customdata=[[s.set_id]], marker={"size": 10, "color": look.colour, "line": {"color": colours.paper, "width": 1.5}},
        hovertemplate=f"{name}<br>losses (margin below 0): {numbers.rate(loss.estimate)} {theme.safe(text)}<extra></extra>",
    )
