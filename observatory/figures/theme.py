"""One look for all figures: paper and ink by mode, one colour a negative set everywhere, one dash a slice."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from observatory.figures.described import Described

FONT = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
AXIS_SIZE = 15
TEXT_SIZE = 14
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

# Safe for colour-blind eyes (Okabe and Ito), and the same on every screen.
COLOURS = {
    "random": "#009E73", "in_model": "#0072B2", "structured_perturbation": "#CC79A7", "bm25": "#D55E00",
    "cross_model": "#56B4E9", "entity_matched": "#E69F00", "lexical_overlap_matched": "#8C6D31", "score_window": "#7F7F7F",
}


@dataclass(frozen=True)
class Mode:
    """Colours of one mode. ``pairwise`` belongs to pairwise means, so that they never look like hardest margins."""

    name: str
    paper: str
    ink: str
    muted: str
    lines: str
    accent: str
    shade: str
    pairwise: str


LIGHT = Mode("light", "#FBFAF7", "#1B1F2A", "#5A6070", "#DAD7CF", "#3B4BA3", "rgba(27,31,42,0.055)", "#3B4BA3")
DARK = Mode("dark", "#0E1320", "#E8EAF0", "#A3AABD", "#2A3146", "#8EA2FF", "rgba(232,234,240,0.07)", "#8EA2FF")


def mode(name: str | None) -> Mode:
    return DARK if name == "dark" else LIGHT


@dataclass(frozen=True)
class Style:
    """How a set is drawn: hue by rule, dash by slice, hollow where published."""

    colour: str
    dash: str
    hollow: bool

    @property
    def fill(self) -> str:
        return rgba(self.colour, 0.20)


def styles(sets: Sequence[Described]) -> dict[str, Style]:
    """A style for each set. Sets of one rule share the hue; each further slice or model takes the next dash."""
    seen: dict[str, list[tuple[str, str]]] = {}
    found = {}
    for s in sets:
        variants = seen.setdefault(s.method, [])
        if (s.slice, s.model) not in variants:
            variants.append((s.slice, s.model))
        dash = DASHES[variants.index((s.slice, s.model)) % len(DASHES)]
        found[s.set_id] = Style(COLOURS.get(s.method, "#7F7F7F"), dash, s.published)
    return found


def rgba(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def safe(text: str) -> str:
    """Text from data for plotly, which reads some HTML tags and ``%{...}`` in labels."""
    return html.escape(text, quote=False).replace("%{", "%&#123;").replace("\n", " ")


def blank(colours: Mode, height: int, bottom: int = 82) -> go.Figure:
    """An empty figure in our look."""
    axis = {
        "gridcolor": colours.lines, "linecolor": colours.lines, "zeroline": False, "ticks": "outside",
        "tickcolor": colours.lines, "tickfont": {"size": AXIS_SIZE, "color": colours.ink}, "automargin": True,
        "title": {"font": {"size": AXIS_SIZE, "color": colours.ink}, "standoff": 12}, "fixedrange": True,
    }
    template = go.layout.Template(
        layout={
            "font": {"family": FONT, "size": TEXT_SIZE, "color": colours.ink},
            "paper_bgcolor": colours.paper, "plot_bgcolor": colours.paper, "xaxis": axis, "yaxis": axis,
            "hoverlabel": {
                "bgcolor": colours.paper, "bordercolor": colours.lines, "align": "left",
                "font": {"family": FONT, "size": TEXT_SIZE, "color": colours.ink},
            },
            "legend": {
                "orientation": "h", "x": 0, "xanchor": "left", "y": 1.08, "yref": "paper", "yanchor": "bottom",
                "font": {"size": TEXT_SIZE}, "bgcolor": "rgba(0,0,0,0)", "itemclick": False, "itemdoubleclick": False,
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours.muted, "activecolor": colours.accent},
        }
    )
    figure = go.Figure()
    figure.update_layout(
        template=template, height=height, margin={"l": 8, "r": 12, "t": 52, "b": bottom}, hovermode="closest",
        dragmode=False, bargap=0,
    )
    return figure


def fixed(figure: go.Figure, left: int) -> None:
    """Margins as they are given: letting plotly measure labels draws a figure twice, which a first screen can do without."""
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    figure.update_layout(margin_l=left)


def zero(figure: go.Figure, colours: Mode, low: float, over: bool = True) -> None:
    """The most important mark: a solid line at zero, labelled, with losses shaded to its left.

    ``over`` draws it above the data; below them where intervals stand on it.
    """
    figure.add_vrect(x0=low, x1=0, fillcolor=colours.shade, line_width=0, layer="below", row="all", col="all")
    figure.add_vline(x=0, line={"color": colours.ink, "width": 2.5}, layer="above" if over else "below", row="all", col="all")
    figure.add_annotation(
        x=0, xref="x", y=1, yref="paper", yanchor="bottom", text="tie", showarrow=False,
        font={"size": TEXT_SIZE, "color": colours.ink},
    )


def threshold(figure: go.Figure, colours: Mode, at: float) -> None:
    """A thin line at another threshold than zero, with its value; nothing at zero, whose own mark is stronger."""
    if at == 0:
        return
    figure.add_vline(x=at, line={"color": colours.accent, "width": 1.5, "dash": "dot"}, layer="above", row="all", col="all")
    figure.add_annotation(
        x=at, xref="x", y=1, yref="paper", yanchor="top", xanchor="left" if at > 0 else "right", xshift=4 if at > 0 else -4, text=f"t = {at:g}", showarrow=False,
        font={"size": TEXT_SIZE, "color": colours.accent},
    )


def losses(figure: go.Figure, colours: Mode, shares: Sequence[tuple[str, str]]) -> None:
    """Write each set's share of losses on the shade: (colour, share) from top to bottom."""
    lines = [f"<span style='color:{colour}'>■</span> {share}" for colour, share in shares]
    figure.add_annotation(
        x=0, xref="x domain", xanchor="left", xshift=4, y=1, yref="paper", yanchor="top", yshift=-4, align="left",
        showarrow=False, text="<br>".join(["losses", *lines]), font={"size": TEXT_SIZE, "color": colours.ink},
    )


def span(low: float, high: float, pad: float, share: float = 0.24) -> tuple[float, float]:
    """An axis range that always shows zero, and left of it enough room to write the losses' share on."""
    top = max(high, 0.0) + pad
    return min(low - pad, -pad, -share / (1 - share) * top), top
