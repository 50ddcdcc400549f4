"""One set's margins by query style: a row of bars or a curve each, all on one x axis with the same bins."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from observatory.figures import numbers, theme
from observatory.figures.described import Described
from observatory.figures.theme import Mode

ROW, MOST = 118, 12


def histograms(frame: pd.DataFrame, width: float, s: Described, colours: Mode, count: bool) -> go.Figure:
    """A row a style, the most frequent first. ``frame``: style, bin, n as ``Store.style_histogram`` gives them."""
    styles = kept(frame)
    figure = make_subplots(
        rows=len(styles), cols=1, shared_xaxes=True, vertical_spacing=min(0.03, 0.2 / len(styles)), figure=theme.blank(colours, 110 + ROW * len(styles))
    )
    look = theme.styles([s])[s.set_id]
    for row, style in enumerate(styles, start=1):
        mine = frame[frame["style"] == style]
        total, lost = int(mine["n"].sum()), int(mine[mine["bin"] < 0]["n"].sum())
        unit = 1.0 if count else 1.0 / (total * width)
        figure.add_trace(
            go.Bar(
                x=[(i + 0.5) * width for i in mine["bin"]], y=[n * unit for n in mine["n"]], width=width, name=theme.safe(style),
                marker={"color": look.fill, "line": {"width": 1, "color": look.colour}}, customdata=[[n] for n in mine["n"]],
                text=[f"margin [{i * width:.6g}, {(i + 1) * width:.6g})" for i in mine["bin"]], textposition="none",
                hovertemplate=f"{theme.safe(style)}<br>%{{text}}<br>%{{customdata[0]}} of {numbers.count(total)} queries<extra></extra>",
            ),
            row=row, col=1,
        )
        _words(figure, "" if row == 1 else str(row), f"<b>{theme.safe(style)}</b>, n = {numbers.count(total)}", lost / total, colours)
    low, high = theme.span(float(frame["bin"].min()) * width, float(frame["bin"].max() + 1) * width, width)
    theme.zero(figure, colours, low)
    figure.update_xaxes(range=[low, high])
    figure.update_yaxes(nticks=3, rangemode="tozero")
    last = "xaxis" if len(styles) == 1 else f"xaxis{len(styles)}"
    figure.layout[last].title.text = f"margin to the hardest negative ({theme.safe(s.metric)})"
    theme.fixed(figure, 44)
    figure.update_layout(showlegend=False, margin_t=56)
    return figure


def ecdfs(frame: pd.DataFrame, s: Described, colours: Mode) -> go.Figure:
    """A curve a style, told apart by dash and name at its end. ``frame``: style, margin, share as ``Store.style_ecdf`` gives them."""
    figure = theme.blank(colours, 470)
    pad = 0.02 * float(frame["margin"].max() - frame["margin"].min()) or 0.01
    low, high = theme.span(float(frame["margin"].min()), float(frame["margin"].max()), pad)
    look = theme.styles([s])[s.set_id]
    for i, style in enumerate(list(dict.fromkeys(frame["style"]))[:MOST]):
        mine, name = frame[frame["style"] == style], theme.safe(str(style))
        figure.add_trace(
            go.Scatter(
                x=[low, *mine["margin"], high], y=[0.0, *mine["share"], 1.0], mode="lines", name=name,
                line={"shape": "hv", "color": (look.colour, colours.ink, colours.accent)[i % 3], "width": 2.2, "dash": theme.DASHES[(i // 3) % len(theme.DASHES)]},
                hovertemplate=f"{name}<br>%{{y:.1%}} of margins at or below %{{x:+.4f}}<extra></extra>",
            )
        )
    theme.zero(figure, colours, low, over=False)
    figure.update_xaxes(range=[low, high], title_text=f"margin to the hardest negative ({theme.safe(s.metric)})")
    figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%", title_text="share of queries at or below")
    theme.fixed(figure, 72)
    figure.update_layout(showlegend=True)
    return figure


def kept(frame: pd.DataFrame) -> list[str]:
    """The styles that are drawn: those with most queries, at most ``MOST``."""
    return [str(style) for style in frame.groupby("style")["n"].sum().sort_values(ascending=False, kind="stable").index[:MOST]]


def _words(figure: go.Figure, axis: str, name: str, lost: float, colours: Mode) -> None:
    for x, anchor, text in ((1, "right", name), (0, "left", f"losses<br>{numbers.rate(lost)}")):
        figure.add_annotation(
            x=x, xref=f"x{axis} domain", xanchor=anchor, xshift=0 if x else 4, y=1, yref=f"y{axis} domain", yanchor="top", align=anchor, text=text,
            showarrow=False, font={"size": theme.TEXT_SIZE, "color": colours.ink},
        )
