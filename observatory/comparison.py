"""Two margin sets side by side: what differs in the instrument, and what differs in the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from observatory import paired, statistics
from observatory.descriptor import NegativeSetDescriptor, control, diff
from observatory.store import Store


@dataclass(frozen=True)
class Comparison:
    """``other`` against ``baseline``: every field that differs, the exact ratio of the means and the paired difference.

    ``ratio`` is baseline mean over other mean (how many times smaller the other is); None where a mean is missing or
    zero, or where the scorers' units differ. ``paired`` is over queries scored in both; None where rows are missing
    on a side, no query is shared, or units differ; ``note`` says why.
    """

    baseline: str
    other: str
    control: str
    differences: dict[str, tuple[Any, Any]]
    ratio: float | None
    paired: statistics.Interval | None
    note: str


def compare(store: Store, baseline: str, other: str) -> Comparison:
    """Compare two margin sets of the store. Raises InputError where one is not there."""
    a, b = store.descriptor(baseline), store.descriptor(other)
    differences = diff(a, b)
    same_unit = paired.same_unit(a, b, store.artifact_of(baseline) == store.artifact_of(other))
    found, note = _paired(store, baseline, other) if same_unit else (None, paired.NO_UNIT)
    return Comparison(
        baseline, other, control(differences), differences, _ratio(a, b) if same_unit else None, found, note
    )


def _ratio(a: NegativeSetDescriptor, b: NegativeSetDescriptor) -> float | None:
    left, right = a.outcomes.mean_margin, b.outcomes.mean_margin
    return left / right if isinstance(left, float) and isinstance(right, float) and right != 0 else None


def _paired(store: Store, baseline: str, other: str) -> tuple[statistics.Interval | None, str]:
    left, right = store.margins_of(baseline), store.margins_of(other)
    both = left.merge(right, on="query_id", suffixes=("_a", "_b"))
    if both.empty:
        return None, "no query has a margin in both sets"
    return statistics.cluster_mean(both["margin_b"] - both["margin_a"], both["cluster_id_a"].to_numpy()), ""
