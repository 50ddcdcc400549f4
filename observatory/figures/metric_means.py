"""A retrieval metric by run: dot and interval, the baseline as a line; a metric never stands without what defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from observatory.cells import Cell
from observatory.descriptor import EvaluationContext
from observatory.evaluation import Evaluation
from observatory.figures import numbers, theme
from observatory.figures.theme import Mode

ROW, TOP, BOTTOM, LABEL = 46, 56, 84, 26


def metric_means(cells: Sequence[Cell], names: Mapping[str, str], baseline: str, colours: Mode, chosen: str | None = None) -> go.Figure:
    """One row a cell, all of one measure; ``names`` writes each configuration. Dots carry [configuration] in ``customdata``."""
    if len({c.measure for c in cells}) != 1:
        raise ValueError("one axis for several measures")
    figure = theme.blank(colours, TOP + BOTTOM + ROW * len(cells), bottom=BOTTOM)
    base = next((c for c in cells if c.configuration == baseline), None)
    if base is not None:
        figure.add_vline(x=base.mean.estimate, line={"color": colours.ink, "width": 2}, layer="below")
        figure.add_annotation(
            x=base.mean.estimate, y=1, yref="paper", yanchor="bottom", text="baseline", showarrow=False,
            font={"size": theme.TEXT_SIZE, "color": colours.ink},
        )
    figure.add_trace(_dots(cells, names, chosen, colours))
    ends = [v for c in cells for v in (c.mean.estimate, c.mean.low, c.mean.high) if v is not None]
    pad = 0.06 * (max(ends) - min(ends)) or 0.02
    figure.update_xaxes(range=[min(ends) - pad, max(ends) + pad], title_text=theme.safe(f"mean {cells[0].measure}"), nticks=6)
    figure.update_yaxes(
        range=[len(cells) - 0.5, -0.5], tickvals=list(range(len(cells))), ticks="", showgrid=True,
        ticktext=[_label(names[c.configuration], c.mean.n, c.configuration == chosen) for c in cells], tickfont={"size": theme.TEXT_SIZE},
    )
    figure.update_layout(showlegend=False, margin_t=TOP)
    return figure


def _dots(cells: Sequence[Cell], names: Mapping[str, str], chosen: str | None, colours: Mode) -> go.Scatter:
    low = [c.mean.estimate - c.mean.low if c.mean.low is not None else 0.0 for c in cells]
    high = [c.mean.high - c.mean.estimate if c.mean.high is not None else 0.0 for c in cells]
    return go.Scatter(
        x=[c.mean.estimate for c in cells], y=list(range(len(cells))), mode="markers",
        error_x={"type": "data", "symmetric": False, "array": high, "arrayminus": low, "thickness": 2, "width": 4, "color": colours.accent},
        marker={
            "size": [15 if c.configuration == chosen else 12 for c in cells], "color": [colours.accent if c.mean.low is not None else colours.paper for c in cells],
            "line": {"width": 2.2, "color": colours.accent},
        },
        customdata=[[c.configuration] for c in cells], selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        text=[f"{theme.safe(names[c.configuration])}<br>{written(c)}<br>n = {numbers.count(c.mean.n)}" for c in cells],
        hovertemplate="%{text}<extra></extra>",
    )


def _label(name: str, n: int, chosen: bool) -> str:
    short = name if len(name) <= LABEL else name[: LABEL - 1] + "…"
    head = f"<b>{theme.safe(short)}</b>" if chosen else theme.safe(short)
    return f"{head}<br>n = {numbers.count(n)}"


def written(cell: Cell) -> str:
    """0.6451 [0.6001, 0.6902], or why there is no interval."""
    m = cell.mean
    brackets = f"({m.note})" if m.low is None or m.high is None else f"[{m.low:.4f}, {m.high:.4f}]"
    return f"{m.estimate:.4f} {brackets}"


def footer(cells: Sequence[Cell], names: Mapping[str, str]) -> str:
    """What these means support, from this very selection."""
    best, least = max(cells, key=lambda c: c.mean.estimate), min(cells, key=lambda c: c.mean.estimate)
    measure = cells[0].measure
    if len(cells) == 1:
        supports = f"{names[best.configuration]} has a mean {measure} of {written(best)} over {numbers.count(best.mean.n)} queries"
    else:
        supports = (
            f"mean {measure} ranged from {least.mean.estimate:.4f} ({names[least.configuration]}) to {best.mean.estimate:.4f} "
            f"({names[best.configuration]}) on these queries and labels"
        )
    return (
        f"Supports: {supports}. Does not establish: how relevant the unjudged items are, the order on other corpora, or that a query's positive "
        "beat any particular negative (margins say that)."
    )


def essentials(found: Sequence[Evaluation], measure: str) -> str:
    """What the metric was measured against, in one line."""
    contexts = [e.metrics[measure].context for e in found if measure in e.metrics]
    parts = [
        f"corpus {_all(e.corpus_hash[:8] for e in found)}", f"query set {_all(e.query_set_id for e in found)}",
        f"scorer {_all(f'{e.scorer.name}, space {e.scorer.space_id}' for e in found)}", *(in_line(c) for c in dict.fromkeys(contexts)),
    ]
    return " | ".join(part.replace("_", " ") for part in parts)


def in_line(c: EvaluationContext) -> str:
    """A context in one line."""
    return f"{c.candidate_pool}; relevant: {c.relevance_definition}; gain: {c.gain}; cutoff: {c.cutoff}; ties: {c.tie_policy}; {c.missing_queries_policy}"


def _all(values: object) -> str:
    return " / ".join(dict.fromkeys(values))  # type: ignore[call-overload]
