"""Margins of the same queries under two sets: diagonal and zero lines, flips filled, the rest hollow."""

from __future__ import annotations

import textwrap

import pandas as pd
import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described
from observatory.figures.theme import Mode, Style

HEIGHT, WRAP, MOST_TEXTS = 500, 44, 1000


def margins(
    points: pd.DataFrame, pair: tuple[Described, Described], names: tuple[str, str], look: Style, colours: Mode, chosen: str | None = None
) -> go.Figure:
    """Baseline margin across, the other's up, both on one range. ``points``: as ``Store.pair_points`` gives them.

    Each mark carries its query's id in ``customdata``. Raises ValueError for two metrics: one axis never mixes units.
    """
    if pair[0].metric != pair[1].metric:
        raise ValueError("one axis for several units")
    figure = theme.blank(colours, HEIGHT)
    both = [*points["before"], *points["after"]] or [0.0, 1.0]
    low, high = theme.span(min(both), max(both), 0.03 * (max(both) - min(both)) or 0.01, share=0.08)
    _frame(figure, colours, (low, high), (0.0, 0.0))
    _marks(figure, points, "before", "after", look, colours, chosen, "%{x:+.4f}", "%{y:+.4f}")
    metric = theme.safe(pair[0].metric)
    _titles(figure, [f"margin under {n} ({metric})" for n in names])
    return figure


def ranks(
    points: pd.DataFrame, ties: tuple[float, float], names: tuple[str, str], look: Style, colours: Mode, chosen: str | None = None
) -> go.Figure:
    """Percentiles within each set, where margins share no unit. ``ties``: share of queries at or below a margin of 0."""
    figure = theme.blank(colours, HEIGHT)
    _frame(figure, colours, (-0.02, 1.02), ties)
    _marks(figure, points, "before_rank", "after_rank", look, colours, chosen, "%{x:.0%}", "%{y:.0%}")
    _titles(figure, [f"percentile of the margin under {n}" for n in names])
    figure.update_xaxes(tickformat=".0%")
    figure.update_yaxes(tickformat=".0%")
    return figure


def _frame(figure: go.Figure, colours: Mode, span: tuple[float, float], zero: tuple[float, float]) -> None:
    """Diagonal, a solid line where each set's margin is 0, losses shaded, and the same range on both axes."""
    low, high = span
    figure.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, layer="between", line={"color": colours.muted, "width": 1.5, "dash": "dash"})
    figure.add_vrect(x0=low, x1=zero[0], fillcolor=colours.shade, line_width=0, layer="below")
    figure.add_hrect(y0=low, y1=zero[1], fillcolor=colours.shade, line_width=0, layer="below")
    line = {"color": colours.ink, "width": 2.5}  # from corner to corner: lines that refer to paper are not drawn "between"
    figure.add_shape(type="line", x0=zero[0], x1=zero[0], y0=low, y1=high, line=line, layer="between")
    figure.add_shape(type="line", x0=low, x1=high, y0=zero[1], y1=zero[1], line=line, layer="between")
    font = {"size": theme.TEXT_SIZE, "color": colours.ink}
    figure.add_annotation(x=zero[0], y=1, yref="paper", yanchor="bottom", text="tie", showarrow=False, font=font)
    figure.add_annotation(x=1, xref="paper", xanchor="right", y=zero[1], yanchor="bottom", text="tie", showarrow=False, font=font)
    figure.add_annotation(
        x=high, y=high, xanchor="right", yanchor="top", xshift=-26, text="equal", showarrow=False, font={**font, "color": colours.muted}
    )
    figure.update_xaxes(range=[low, high])
    figure.update_yaxes(range=[low, high])
    figure.update_layout(showlegend=True)


def _marks(
    figure: go.Figure, points: pd.DataFrame, x: str, y: str, look: Style, colours: Mode, chosen: str | None, across: str, up: str
) -> None:
    flips = points["flip"].to_numpy(dtype=bool)
    texts = len(points) <= MOST_TEXTS  # hover texts of thousands of points would be most of the page
    for rows, filled, word in ((points[~flips], False, "same outcome"), (points[flips], True, "flip: another outcome")):
        if rows.empty:
            continue
        figure.add_trace(
            go.Scatter(
                x=list(rows[x]), y=list(rows[y]), mode="markers", name=f"{word} ({numbers.count(len(rows))})",
                customdata=[[str(i)] for i in rows["query_id"]],
                text=[theme.safe(str(q)) for q in rows["query"]] if texts else [theme.safe(str(i)) for i in rows["query_id"]],
                marker={
                    "size": 10 if filled else 8, "color": look.colour if filled else theme.rgba(look.colour, 0.04),
                    "line": {"width": 1.2, "color": colours.paper if filled else theme.rgba(look.colour, 0.75)},
                },
                selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
                hovertemplate=f"%{{text}}<br>across {across}, up {up}<extra></extra>",
            )
        )
    mine = points[points["query_id"] == chosen]
    if len(mine):
        figure.add_trace(
            go.Scatter(
                x=list(mine[x]), y=list(mine[y]), mode="markers", showlegend=False, hoverinfo="skip",
                marker={"size": 20, "color": "rgba(0,0,0,0)", "line": {"width": 2.5, "color": colours.ink}},
            )
        )


def _titles(figure: go.Figure, titles: list[str]) -> None:
    across, up = ("<br>".join(textwrap.wrap(theme.safe(t), WRAP)) for t in titles)
    figure.update_xaxes(title_text=across)
    figure.update_yaxes(title_text=up)
    figure.update_layout(margin_b=100)
