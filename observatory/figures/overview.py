"""Mean margin with its interval, one row a set; published figures beside fresh ones, the random draw's expectation beside it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels
from observatory.figures.theme import Mode

ROW, HEAD = 90, 140


def mean_margins(sets: Sequence[Described], colours: Mode) -> go.Figure:
    """Dot and interval of each set's mean margin. All sets must share one metric: one axis never mixes units.

    A published mean stands hollow under the fresh one of its rule. Each mark carries its set's id in ``customdata``.
    A mean that was not measured is written, not drawn.
    """
    metrics = {s.metric for s in sets}
    if len(metrics) > 1:
        raise ValueError(f"one axis for several units: {', '.join(sorted(metrics))}")
    groups = grouped(sets)
    figure = theme.blank(colours, HEAD + ROW * max(1, len(groups)))
    names, looks = labels(sets), theme.styles(sets)
    least, most = _extent(sets)
    for y, group in enumerate(groups):
        for i, s in enumerate(group):
            _mean(figure, s, looks[s.set_id], names[s.set_id], y + 0.24 * i, colours, left=_late(s, most))
            _expectation(figure, s, looks[s.set_id], y - 0.1)
        _words(figure, group[0], names[group[0].set_id], y, colours)
    low, high = theme.span(least, most, pad=0.02 * (most or 1), share=0.02)
    theme.zero(figure, colours, low)
    figure.update_xaxes(range=[low, high], title_text=f"mean margin ({theme.safe(', '.join(sorted(metrics)))})")
    figure.update_yaxes(range=[len(groups) - 0.5, -0.85], showticklabels=False, showgrid=False, ticks="")
    theme.fixed(figure, 8)
    figure.update_layout(showlegend=True, margin_t=62, margin_l=26, margin_r=26)  # half a tick label: one that does not fit is left out
    return figure


def grouped(sets: Sequence[Described]) -> list[list[Described]]:
    """Fresh sets, each with the published ones of the same rule and model; the published rest alone."""
    groups = [[s] for s in sets if not s.published]
    for s in (s for s in sets if s.published):
        home = next((g for g in groups if (g[0].rule, g[0].model) == (s.rule, s.model)), None)
        if home is None:
            groups.append([s])
        else:
            home.append(s)
    return groups


def _late(s: Described, most: float) -> bool:
    """Whether a label right of the mean would run out of the figure."""
    mean = s.descriptor.outcomes.mean_margin
    return isinstance(mean, float) and mean > 0.6 * most


def _extent(sets: Sequence[Described]) -> tuple[float, float]:
    values = [0.0]
    for s in sets:
        outcomes, expected = s.descriptor.outcomes, s.descriptor.expectation
        ci = outcomes.mean_ci
        found = [outcomes.mean_margin, *(() if isinstance(ci, str) else (ci.low, ci.high))]
        found += [] if isinstance(expected, str) else [expected.mean_margin]
        values += [v for v in found if isinstance(v, float)]
    return min(values), max(values)


def _mean(figure: go.Figure, s: Described, look: theme.Style, name: str, y: float, colours: Mode, left: bool) -> None:
    mean, ci = s.descriptor.outcomes.mean_margin, s.descriptor.outcomes.mean_ci
    if not isinstance(mean, float):
        return
    bars = None
    if not isinstance(ci, str) and isinstance(ci.low, float) and isinstance(ci.high, float):
        bars = {
            "type": "data", "symmetric": False, "array": [ci.high - mean], "arrayminus": [mean - ci.low],
            "thickness": 3, "width": 7, "color": look.colour,
        }
    fill = colours.paper if look.hollow else look.colour
    figure.add_trace(
        go.Scatter(
            x=[mean], y=[y], mode="markers+text" if s.published else "markers", error_x=bars, text=["published"],
            textposition="middle left" if left else "middle right", textfont={"color": colours.muted}, customdata=[[s.set_id]], name=theme.safe(name), showlegend=False,
            marker={"size": 15, "color": fill, "line": {"color": look.colour, "width": 3}},
            selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
            hovertemplate=f"{theme.safe(name)}<br>mean margin %{{x:+.4f}}<br>{theme.safe(_interval(s))}"
            f"<br>{numbers.count(s.descriptor.accounting.n_scored)} queries<extra></extra>",
        )
    )


def _expectation(figure: go.Figure, s: Described, look: theme.Style, y: float) -> None:
    """The exact mean over all draws with one standard deviation of a draw: one draw is luck."""
    expected = s.descriptor.expectation
    if isinstance(expected, str):
        return
    figure.add_trace(
        go.Scatter(
            x=[expected.mean_margin], y=[y], mode="markers", name="exact expectation, ± 1 sd of a draw",
            marker={"symbol": "diamond-open", "size": 10, "color": look.colour, "line": {"width": 2}},
            error_x={"type": "data", "array": [expected.sd_of_mean_margin], "thickness": 1.5, "width": 4, "color": look.colour},
            customdata=[[s.set_id]], selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
            hovertemplate=f"exact expectation over all draws %{{x:+.4f}}<br>sd of one draw {expected.sd_of_mean_margin:.4f}"
            "<extra></extra>",
        )
    )


def _words(figure: go.Figure, s: Described, name: str, y: int, colours: Mode) -> None:
    mean = numbers.written(s.descriptor.outcomes.mean_margin, numbers.margin)
    value = f"{mean} {_interval(s)}" if isinstance(s.descriptor.outcomes.mean_margin, float) else mean
    # Names begin right of the zero line, which nothing may cover; two lines, so that a phone shows them whole.
    figure.add_annotation(
        x=0, xref="x", xanchor="left", xshift=8, y=y - 0.2, yref="y", yanchor="bottom", align="left", showarrow=False,
        text=f"<b>{theme.safe(name)}</b><br>{theme.safe(value)}", font={"size": theme.TEXT_SIZE, "color": colours.ink},
    )


def _interval(s: Described) -> str:
    text = numbers.mean_interval(s.descriptor.outcomes.mean_ci)
    return text if text.startswith("[") else f"(interval {text})" if text.startswith("not") else f"({text})"
