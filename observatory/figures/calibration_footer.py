"""What a calibration supports and what it does not establish, from its own numbers."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.calibration.roc import Operating
from observatory.calibration.scores import Graded, Reliability
from observatory.calibration.size import Required, Size
from observatory.descriptor import EvaluationContext
from observatory.figures import numbers
from observatory.figures.numbers import count
from observatory.statistics import Interval


def score_interval(i: Interval) -> str:
    """0.4312 [0.4201, 0.4430], or the value with why there is no interval."""
    if i.low is None or i.high is None:
        return f"{i.estimate:.4f} ({i.note})"
    return f"{i.estimate:.4f} [{i.low:.4f}, {i.high:.4f}]"


def of_size(size: Size, what: str, needed: Required | None, margin: float) -> str:
    """Footer of the half-width curve."""
    p = size.projection
    if p is None:
        return f"Supports: nothing, {size.note}. Does not establish: how many queries are enough."
    observed = size.observed
    bracket = numbers.interval(observed.low, observed.high) if observed.low is not None and observed.high is not None else ""
    enough = f"; an interval of ±{margin:.4g} is projected from {count(needed.queries)} queries in {count(needed.clusters)} clusters on" if needed else ""
    return (
        f"Supports: {what} is {numbers.margin(observed.estimate)} {bracket} over {count(observed.n)} queries in {count(observed.n_clusters)} clusters, "
        f"{'and the interval excludes 0' if p.excludes_zero(observed.n) else 'and the projection at this size includes 0'}{enough}. Does not establish: what new "
        "queries would give. The projection takes mean, spread and cluster sizes as constant; subsamples come from these very queries."
    )


def of_scores(g: Graded, found: Reliability, method: str, context: EvaluationContext) -> str:
    """Footer of a reliability diagram."""
    gap = "no larger than" if found.ece.estimate <= found.floor else "larger than"
    return (
        f"Supports: over {count(g.n)} labelled pairs in {count(g.n_clusters)} clusters, {numbers.rate(g.prevalence.estimate)} of them relevant, the {method} "
        f"map has ECE {score_interval(found.ece)}, {gap} the {found.floor:.4f} that exactly right probabilities would show on average, and Brier "
        f"{score_interval(found.brier)}. Does not establish: P(relevant) of a retrieved passage; another candidate pool has another prevalence and "
        f"another curve. Pool: {context.candidate_pool}."
    )


def of_roc(pooled: Operating, context: EvaluationContext) -> str:
    """Footer of ROC curves."""
    if pooled.auc is None or pooled.eer is None or pooled.threshold is None:
        return f"Supports: nothing, {pooled.note}. Does not establish: that this score separates anything."
    return (
        f"Supports: over {count(pooled.n)} labelled pairs, AUC {score_interval(pooled.auc)}; equal error {numbers.rate(pooled.eer.estimate)} at threshold "
        f"{score_interval(pooled.threshold)}. Does not establish: an operating threshold for retrieval, where other passages compete and an error's "
        f"cost is not equal. Pool: {context.candidate_pool}."
    )


def of_drift(domains: Sequence[Operating]) -> str:
    """Footer of the drift by domain."""
    known = [(d, d.drift) for d in domains if d.drift is not None]
    if not known:
        return "Supports: nothing, no domain has an equal-error threshold. Does not establish: that one threshold serves all domains."
    (low, low_i), (high, high_i) = min(known, key=lambda x: x[1].estimate), max(known, key=lambda x: x[1].estimate)
    apart = sum(i.low is not None and i.high is not None and (i.low > 0 or i.high < 0) for _, i in known)
    return (
        f"Supports: equal-error thresholds of {count(len(known))} domains lie from {numbers.margin(low_i.estimate)} ({low.name}) to "
        f"{numbers.margin(high_i.estimate)} ({high.name}) of the pooled one; {count(apart)} of the {count(len(known))} intervals exclude 0 (95% each, not corrected "
        "for their number). Does not establish: why they differ; a domain is part of the pool it is compared with, and its mix of negatives moves its threshold too."
    )
