"""What a paired comparison or a table of strata supports and what it does not establish, from its own numbers."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.figures.forest import Dot, Kind
from observatory.paired import SEED, Paired
from observatory.resampling import Test
from observatory.statistics import Interval


def how(test: Test) -> str:
    """permutation, 10,000 sign flips by cluster, seed 0."""
    flips = f"{numbers.count(test.resamples)} sign flips by cluster"
    return f"permutation, all {flips}" if test.method.startswith("exact") else f"permutation, {flips}, seed {SEED}"


def bracket(interval: Interval) -> str:
    """The interval of a mean, or why there is none."""
    if interval.low is None or interval.high is None:
        return f"({interval.note})"
    return numbers.interval(interval.low, interval.high)


def of_differences(p: Paired, names: tuple[str, str]) -> str:
    """Footer of the distribution of paired differences."""
    if p.mean is None or p.test is None:
        return "Supports: nothing, no pair of margins was measured in one unit. Does not establish: any difference."
    word = "above" if p.mean.estimate > 0 else "below" if p.mean.estimate < 0 else "from"
    return (
        f"Supports: over {numbers.count(p.n)} queries in {numbers.count(p.n_clusters)} clusters, margins under {names[1]} lie on average "
        f"{numbers.margin(abs(p.mean.estimate)).lstrip('+')} {word} those under {names[0]}: {numbers.margin(p.mean.estimate)} {bracket(p.mean)}; "
        f"{numbers.probability(p.test.p)} ({how(p.test)}). Does not establish: {_cause(p)}."
    )


def of_scatter(p: Paired, names: tuple[str, str], drawn: int, flips: int) -> str:
    """Footer of the scatter: what flipped, and which points are drawn."""
    if p.outcomes is None:
        return "Supports: nothing, no query has a margin in both sets. Does not establish: any difference."
    o = p.outcomes
    rest = "" if drawn >= p.n else f" Drawn: all {numbers.count(flips)} flips and {numbers.count(drawn - flips)} of the other queries."
    ranks = "" if p.same_unit else " Axes are ranks within each set, because the scorers share no unit; a rank says nothing about a margin's size."
    return (
        f"Supports: {numbers.count(o.lost)} of {numbers.count(p.n)} queries win under {names[0]} and not under {names[1]}, "
        f"{numbers.count(o.gained)} the other way round.{rest}{ranks} Does not establish: {_cause(p)}."
    )


def _cause(p: Paired) -> str:
    """What stands between a difference and its cause."""
    if p.verdict.startswith("controlled"):
        field = p.verdict.removeprefix("controlled: only ").removesuffix(" differs").removesuffix(" differ")
        return f"which field of {field} makes the difference, or that every negative is a true one"
    if p.verdict.startswith("confounded"):
        fields = p.verdict.removeprefix("confounded: ").removesuffix(" differs").removesuffix(" differ")
        return f"which of {fields} makes the difference"
    return "anything beyond a repetition of one measurement"


def of_strata(dots: Sequence[Dot], kind: Kind, column: str, sets: Sequence[Described]) -> str:
    """Footer of a forest plot."""
    if not dots:
        return "Supports: nothing, no stratum was measured. Does not establish: any difference."
    large = [d for d in dots if not d.small] or list(dots)
    low, high = min(large, key=lambda d: d.value), max(large, key=lambda d: d.value)
    what = {"hardest": "mean margin", "pairwise": "mean pairwise margin", "difference": "mean difference", "share": "share"}[kind]
    form = (lambda v: numbers.rate(abs(v))) if kind == "share" else numbers.margin
    n_small = len({d.stratum for d in dots if d.small})
    marked = f"; {numbers.count(n_small)} small strata are marked" if n_small else ""
    text = (
        f"of the strata by {column}, {form(high.value)} rose at most ({high.stratum}, n = {_n(high)}) and {form(low.value)} fell at most "
        f"({low.stratum}, n = {_n(low)})" if kind == "share" else
        f"the {what} by {column} runs from {form(low.value)} ({low.stratum}, n = {_n(low)}) to {form(high.value)} ({high.stratum}, n = {_n(high)})"
        if low is not high else f"a {what} of {form(low.value)} ({low.stratum}, n = {_n(low)})"
    )
    other = {
        "pairwise": "the margin to a query's hardest negative, which is another aggregation, or ", "share": "the size of any difference, or ",
    }.get(kind, "")
    labels = " / ".join(dict.fromkeys(s.descriptor.label_quality.adjudication_method for s in sets))
    return (
        f"Supports: {text}{marked}. Does not establish: {other}a difference between strata (none was tested), or that every negative "
        f"is a true one (labels: {labels})."
    )


def _n(d: Dot) -> str:
    return numbers.written(d.n, numbers.count)
