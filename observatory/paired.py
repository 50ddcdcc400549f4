"""Two margin sets on the same queries: paired differences, outcomes that changed, and corrections over a family.

Pure computations over the rows of ``Store.pairs``. ``comparison.compare`` is the short form of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from observatory import resampling, statistics
from observatory.descriptor import NOT_RECORDED, NegativeSetDescriptor, control, diff
from observatory.statistics import Interval

SEED, FLIPS = 0, 10_000
NO_UNIT = "the scorers are not known to be the same, so their margins share no unit"


@dataclass(frozen=True)
class Outcomes:
    """Queries by who won under the two sets: a win is a margin above 0, a tie is none."""

    both: int
    gained: int
    lost: int
    neither: int

    @property
    def exact_p(self) -> float:
        """Exact McNemar test: gained against lost as fair coin tosses, queries taken as independent (McNemar 1947)."""
        changed = self.gained + self.lost
        return float(stats.binomtest(self.gained, changed).pvalue) if changed else 1.0


@dataclass(frozen=True)
class Paired:
    """``other`` against ``baseline``. A difference is other minus baseline.

    ``same_unit``: both sets come from one scorer. Without it there is no ratio, no ``mean`` and no ``d``; ``better`` and
    ``worse`` then count queries whose outcome (loss < tie < win) changed, and ``test`` is about wins. ``test`` flips
    whole clusters. Where no query is shared, everything about pairs is None and ``note`` says why.
    """

    baseline: str
    other: str
    verdict: str
    differences: Mapping[str, tuple[Any, Any]]
    same_unit: bool
    ratio: float | None
    n: int
    n_clusters: int
    only_baseline: int
    only_other: int
    mean: Interval | None
    d: float | None
    better: int | None
    equal: int | None
    worse: int | None
    outcomes: Outcomes | None
    test: resampling.Test | None
    note: str


def same_unit(a: NegativeSetDescriptor, b: NegativeSetDescriptor, one_artifact: bool) -> bool:
    """Whether two sets' margins share a unit: one space, or one published table that does not name its space."""
    return a.scorer.space_id == b.scorer.space_id and (a.scorer.space_id != NOT_RECORDED or one_artifact)


def ratio(a: NegativeSetDescriptor, b: NegativeSetDescriptor) -> float | None:
    """Exact quotient baseline mean / other mean; None unless both were measured and the other's lies above 0."""
    left, right = a.outcomes.mean_margin, b.outcomes.mean_margin
    return left / right if isinstance(left, float) and isinstance(right, float) and right > 0 else None


def measure(
    names: tuple[str, str], baseline: NegativeSetDescriptor, other: NegativeSetDescriptor, pairs: pd.DataFrame, unit: bool,
    seed: int = SEED,
) -> Paired:
    """Everything about one comparison. ``pairs``: cluster, before, after as ``Store.pairs`` gives them; ``unit``: one scorer."""
    fields = diff(baseline, other)
    before, after = (pairs[c].to_numpy(dtype=np.float64) for c in ("before", "after"))
    clusters, n = pairs["cluster"].to_numpy(), len(pairs)
    found = _nothing(baseline, other) if n == 0 else _numbers(before, after, clusters, unit, seed)
    return Paired(
        baseline=names[0], other=names[1], verdict=control(fields), differences=fields, same_unit=unit,
        ratio=ratio(baseline, other) if unit else None, n=n, n_clusters=len(np.unique(clusters)),
        only_baseline=baseline.outcomes.n_queries - n, only_other=other.outcomes.n_queries - n, **found,
    )


def _nothing(baseline: NegativeSetDescriptor, other: NegativeSetDescriptor) -> dict[str, Any]:
    empty = dict.fromkeys(("mean", "d", "better", "equal", "worse", "outcomes", "test"))
    return {**empty, "note": "no query has a margin in both sets"}


def _numbers(
    before: NDArray[np.float64], after: NDArray[np.float64], clusters: NDArray[Any], unit: bool, seed: int
) -> dict[str, Any]:
    won, wins = before > 0, after > 0
    change = after - before if unit else np.sign(after) - np.sign(before)
    tested = change if unit else wins.astype(np.float64) - won
    test = resampling.permutation_test(tested, clusters, np.random.default_rng(seed), FLIPS)
    return {
        "mean": statistics.cluster_mean(change, clusters) if unit else None,
        "d": resampling.cohens_d(change) if unit else None,
        "better": int((change > 0).sum()), "equal": int((change == 0).sum()), "worse": int((change < 0).sum()),
        "outcomes": Outcomes(
            int((won & wins).sum()), int((~won & wins).sum()), int((won & ~wins).sum()), int((~won & ~wins).sum())
        ),
        "test": resampling.Test(test.statistic, test.p, test.n, test.n_clusters, test.method, test.resamples),
        "note": "" if unit else NO_UNIT,
    }


def family(comparisons: Sequence[Paired]) -> dict[str, tuple[float, float]]:
    """Holm and Bonferroni p of each comparison with a test, by its other set: the family is all of these."""
    tested = [(c.other, c.test.p) for c in comparisons if c.test is not None]
    raw = [p for _, p in tested]
    adjusted = zip(resampling.holm(raw), resampling.bonferroni(raw), strict=True)
    return {other: both for (other, _), both in zip(tested, adjusted, strict=True)}
