"""What a figure supports and what it does not establish, from the numbers of this very selection; and the foot of exports."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from observatory.figures import numbers, theme
from observatory.figures.described import Described, labels
from observatory.figures.pairwise import Stratum
from observatory.statistics import Interval

LINE, FOOT_SIZE, WIDTH = 17, 12, 165


def of_means(sets: Sequence[Described]) -> str:
    """Footer of mean margins."""
    means = [(s, s.descriptor.outcomes.mean_margin) for s in sets]
    known = [(s, m) for s, m in means if isinstance(m, float)]
    if not known:
        return "Supports: nothing, no mean was measured. Does not establish: anything about these sets."
    names = labels(sets)
    (low_set, low), (high_set, high) = (pick(known, key=lambda pair: pair[1]) for pick in (min, max))
    if len(known) == 1:
        supports = (
            f"{names[low_set.set_id]} has a mean margin of {numbers.margin(low)} "
            f"({numbers.mean_interval(low_set.descriptor.outcomes.mean_ci)}) over {_queries([low_set])}"
        )
    else:
        supports = (
            f"{_fixed(sets)}mean margins ranged from {numbers.margin(low)} ({names[low_set.set_id]}) to "
            f"{numbers.margin(high)} ({names[high_set.set_id]}) over {_queries(sets)}"
        )
    not_established = (
        "why the means differ (only measured, not tested), that any of these sets is hard for another scorer, or that every "
        "negative is a true one"
    )
    return f"Supports: {supports}. Does not establish: {not_established} (labels: {_adjudication(sets)})."


def of_margins(sets: Sequence[Described], wins: Mapping[str, Interval]) -> str:
    """Footer of distributions: how often the reference positive beat its hardest negative."""
    names = labels(sets)
    parts = [f"under {names[s.set_id]} it {beat(wins[s.set_id])}" for s in sets if s.set_id in wins]
    if not parts:
        return "Supports: nothing, no margin was measured per query. Does not establish: any distribution."
    shown = "; ".join(parts[:4]) + (f"; and {len(parts) - 4} more in the table" if len(parts) > 4 else "")
    return (
        f"Supports: the reference positive against these constructed sets only: {shown}. Does not establish: corpus-wide "
        f"Recall@1, an operating threshold, or that every negative is a true one (labels: {_adjudication(sets)})."
    )


def beat(win: Interval) -> str:
    """beat its hardest negative in 93.3% of 269 queries [89.7, 95.7]."""
    text = f"beat its hardest negative in {numbers.rate(win.estimate)} of {numbers.count(win.n)} queries"
    if win.low is None or win.high is None:
        return f"{text} ({win.note})"
    return f"{text} {numbers.rate_interval(win.low, win.high)}"


def of_pairwise(strata: Sequence[Stratum]) -> str:
    """Footer of pairwise means by relation."""
    drawn = [s for s in strata if s.low is not None or isinstance(s.n, int)] or list(strata)  # measured here, where any is
    smallest = min(drawn, key=lambda s: s.mean)
    size = numbers.written(smallest.n, numbers.count)
    found = f"a mean pairwise margin of {numbers.margin(smallest.mean)} (n = {size}) for {smallest.relation}"
    relations = len({s.relation for s in drawn})
    if relations > 1:
        found += f", the smallest of {relations} relations"
    return (
        f"Supports: {found}. Does not establish: a difference between relations (none was tested), or the margin to the hardest "
        "negative of a query, which is another aggregation."
    )


def essentials(sets: Sequence[Described]) -> str:
    """The descriptor's essentials in one line: what these numbers were measured against."""
    rules = "; ".join(dict.fromkeys(f"{s.rule} ({s.k})" for s in sets))
    parts = [
        _unique(s.benchmark for s in sets), f"corpus {_unique(s.corpus for s in sets)}", _queries(sets),
        f"reference {_unique(s.descriptor.reference_positive.rule for s in sets)}",
        f"scorer {_unique(f'{s.model}, {s.metric}, space {s.descriptor.scorer.space_id}' for s in sets)}",
        f"negatives {rules}", f"clusters {_unique(s.descriptor.clusters.rule for s in sets)}",
        f"labels {_adjudication(sets)}", _unique(s.state for s in sets),
    ]
    return " | ".join(part.replace("_recorded", " recorded") for part in parts)


def bake(figure: go.Figure, essential: str, footer: str, colours: theme.Mode) -> int:
    """Write footer and essentials (one line) at the figure's foot, for exports; the height in pixels that they take.

    On screens the same words stand beside the figure, where they wrap, and the page hides these.
    """
    lines = [line for text in (footer, essential) for line in textwrap.wrap(text, WIDTH)]
    axis_room = int(figure.layout.margin.b or 0)
    extra = LINE * len(lines) + 12
    figure.update_layout(height=int(figure.layout.height) + extra, margin_b=axis_room + extra)
    figure.add_annotation(
        name="foot", x=0, xref="paper", xanchor="left", y=0, yref="paper", yanchor="top", yshift=-axis_room, align="left",
        text="<br>".join(theme.safe(line) for line in lines), showarrow=False,
        font={"size": FOOT_SIZE, "color": colours.muted},
    )
    # Browsers hide the first annotation by its index (see ui/style.py), so it has to be the first.
    figure.layout.annotations = (figure.layout.annotations[-1], *figure.layout.annotations[:-1])
    return extra


def _unique(values: object) -> str:
    return " / ".join(dict.fromkeys(values))  # type: ignore[call-overload]


def _queries(sets: Sequence[Described]) -> str:
    return f"{_unique(numbers.count(s.descriptor.accounting.n_scored) for s in sets)} scored queries"


def _adjudication(sets: Sequence[Described]) -> str:
    return _unique(s.descriptor.label_quality.adjudication_method for s in sets)


def _fixed(sets: Sequence[Described]) -> str:
    """What is the same in all sets, so that only the rest can have moved the means."""
    if len({s.model for s in sets}) == 1 and len({s.descriptor.reference_positive.rule for s in sets}) == 1:
        return f"with model ({sets[0].model}) and reference rule the same, "
    return ""
