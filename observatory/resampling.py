"""Resampling by cluster: bootstrap intervals, paired permutation tests, and corrections over a family.

Every function takes ``rng``. Draws are made in blocks, so memory is about ``BLOCK`` x clusters whatever the number of
resamples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from observatory.statistics import MIN_CLUSTERS, Interval, by_cluster, check_level, cr2_variance

BLOCK = 512
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Test:
    """A test with its intermediates: statistic, two-sided p (never 0), and the distribution it was read from."""

    statistic: float
    p: float
    n: int
    n_clusters: int
    method: str
    resamples: int
    distribution: Floats | None = None


def bootstrap_t(
    values: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Bootstrap-t interval of the mean over clusters: each resample is studentised by its own CR2 standard error.

    Source: Efron (1981); Cameron, Gelbach and Miller (2008) for clusters. No interval under 10 clusters.
    """
    check_level(level)
    x, sizes, sums = by_cluster(values, clusters)
    mean, groups = float(x.mean()), sizes.size
    name = "cluster bootstrap-t"
    if groups < MIN_CLUSTERS:
        return Interval(mean, None, None, x.size, groups, level, name, _too_few(groups))
    se = math.sqrt(cr2_variance(sizes, sums - sizes * mean))
    if se == 0:
        return Interval(mean, mean, mean, x.size, groups, level, name, standard_error=0.0)
    studentised = np.concatenate([_studentised(sizes, sums, mean, block) for block in _draws(rng, groups, resamples)])
    low, high = np.quantile(studentised[np.isfinite(studentised)], [0.5 + level / 2, 0.5 - level / 2])
    return Interval(mean, mean - float(low) * se, mean - float(high) * se, x.size, groups, level, name, standard_error=se)


def bootstrap_plain(
    values: ArrayLike, rng: np.random.Generator, resamples: int = 2000, level: float = 0.95, method: str = "percentile"
) -> Interval:
    """The plain bootstrap of seed 000's step 6 (``percentile`` or ``BCa``), which takes queries as independent.

    scipy's implementation; shown beside the cluster interval and never instead of it.
    """
    check_level(level)
    if method not in ("percentile", "BCa"):
        raise ValueError(f"the plain bootstrap is percentile or BCa, not {method!r}")
    x, _, _ = by_cluster(values, np.arange(np.size(values)))
    if x.size < 2 or np.ptp(x) == 0:
        note = "no bootstrap of one value" if x.size < 2 else "all values are equal"
        return Interval(float(x.mean()), None, None, x.size, x.size, level, f"plain bootstrap ({method})", note)
    found = stats.bootstrap(
        (x,), np.mean, n_resamples=resamples, batch=200, confidence_level=level, method=method, rng=rng, vectorized=True
    ).confidence_interval
    return Interval(
        float(x.mean()), float(found.low), float(found.high), x.size, x.size, level, f"plain bootstrap ({method})",
        "takes queries as independent",
    )


def quantile(
    values: ArrayLike, clusters: ArrayLike, q: float, rng: np.random.Generator, resamples: int = 1000, level: float = 0.95
) -> Interval:
    """A linear quantile (type 7) with a percentile bootstrap over clusters. No interval under 10 clusters."""
    check_level(level)
    x, sizes, _ = by_cluster(values, clusters)
    estimate, groups, name = float(np.quantile(x, q)), sizes.size, "cluster bootstrap (percentile)"
    if groups < MIN_CLUSTERS:
        return Interval(estimate, None, None, x.size, groups, level, name, _too_few(groups))
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    order = np.argsort(x, kind="stable")
    drawn = np.concatenate([_weighted_quantiles(x[order], index[order], q, block) for block in _draws(rng, groups, resamples)])
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
    return Interval(estimate, float(low), float(high), x.size, groups, level, name)


def permutation_test(
    differences: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, resamples: int = 10_000
) -> Test:
    """Paired test of a zero mean difference by flipping the sign of whole clusters, two-sided.

    All 2^G flips are tried where they are no more than ``resamples``; else p = (b + 1) / (m + 1), which is never 0
    (Phipson and Smyth 2010). Sums that agree within 1e-12 of the observed one count as ties (scipy's tolerance idea).
    """
    x, sizes, sums = by_cluster(differences, clusters)
    groups, observed = sizes.size, float(sums.sum()) / x.size
    exact = groups <= 30 and 2**groups <= resamples
    flipped = np.concatenate([block @ sums for block in _all_signs(groups)]) if exact else _random_flips(rng, sums, resamples)
    drawn = flipped / x.size
    slack = 1e-12 * max(float(np.abs(sums).sum()) / x.size, 1e-300)
    beyond = int((np.abs(drawn) >= abs(observed) - slack).sum())
    p = beyond / drawn.size if exact else (beyond + 1) / (drawn.size + 1)
    return Test(observed, p, x.size, groups, "exact sign flips" if exact else "random sign flips", drawn.size, drawn)


def paired_t(differences: ArrayLike) -> Test:
    """Student's paired t test, which takes queries as independent; p is 1 where all differences are 0."""
    x, _, _ = by_cluster(differences, np.arange(np.size(differences)))
    if x.size < 2:
        raise ValueError("a paired t test needs at least two pairs")
    if np.ptp(x) == 0:
        return Test(0.0 if x[0] == 0 else math.inf, 1.0 if x[0] == 0 else float(np.finfo(float).tiny), x.size, x.size, "paired t", 0)
    found = stats.ttest_1samp(x, 0.0)
    return Test(float(found.statistic), max(float(found.pvalue), float(np.finfo(float).tiny)), x.size, x.size, "paired t", 0)


def cohens_d(differences: ArrayLike) -> float | None:
    """Cohen's d for pairs: mean over standard deviation of the differences (ddof 1); None where they do not vary."""
    x, _, _ = by_cluster(differences, np.arange(np.size(differences)))
    deviation = float(x.std(ddof=1)) if x.size > 1 else 0.0
    return float(x.mean()) / deviation if deviation > 0 else None


def bonferroni(p: Sequence[float]) -> list[float]:
    """p times the size of the family, at most 1."""
    return [min(1.0, value * len(_checked(p))) for value in p]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979), in the order given."""
    values = _checked(p)
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted, running = [0.0] * len(values), 0.0
    for step, position in enumerate(order):
        running = max(running, (len(values) - step) * values[position])
        adjusted[position] = min(1.0, running)
    return adjusted


def _checked(p: Sequence[float]) -> list[float]:
    values = [float(v) for v in p]
    if any(not 0 <= v <= 1 for v in values):
        raise ValueError("p values lie between 0 and 1")
    return values


def _too_few(groups: int) -> str:
    return f"no interval under {MIN_CLUSTERS} clusters ({groups} here)"


def _draws(rng: np.random.Generator, groups: int, resamples: int) -> list[Floats]:
    """How often each cluster was drawn, (resamples, groups) in blocks: a bootstrap of clusters is a multinomial."""
    if resamples < 1:
        raise ValueError("resamples must be at least 1")
    sizes = [min(BLOCK, resamples - start) for start in range(0, resamples, BLOCK)]
    return [rng.multinomial(groups, np.full(groups, 1 / groups), size=n).astype(np.float64) for n in sizes]


def _studentised(sizes: Floats, sums: Floats, mean: float, counts: Floats) -> Floats:
    """(resample mean - mean) / resample CR2 standard error, a row of ``counts`` each; a cluster drawn twice is two clusters."""
    n = counts @ sizes
    drawn = (counts @ sums) / n
    residuals = sums - sizes * drawn[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample of one cluster only has no variance
        variance = (counts * residuals**2 / (1 - sizes / n[:, None])).sum(axis=1) / n**2
        return np.asarray((drawn - mean) / np.sqrt(variance), dtype=np.float64)


def _weighted_quantiles(ordered: Floats, owner: NDArray[np.int64], q: float, counts: Floats) -> Floats:
    """Type-7 quantile of each resample, where every value counts as often as its cluster was drawn."""
    cumulative = np.cumsum(counts[:, owner], axis=1)
    rank = (cumulative[:, -1] - 1) * q
    low, high = (ordered[(cumulative > r[:, None]).argmax(axis=1)] for r in (np.floor(rank), np.ceil(rank)))
    return np.asarray(low + (high - low) * (rank - np.floor(rank)), dtype=np.float64)


def _all_signs(groups: int) -> list[Floats]:
    codes = np.arange(2**groups, dtype=np.int64)
    blocks = [codes[start : start + BLOCK] for start in range(0, codes.size, BLOCK)]
    return [1.0 - 2.0 * ((block[:, None] >> np.arange(groups)) & 1).astype(np.float64) for block in blocks]


def _random_flips(rng: np.random.Generator, sums: Floats, resamples: int) -> Floats:
    """Sums (n,) with random signs, (resamples,). One random byte flips eight clusters: their 256 sums are looked up."""
    if resamples < 1:
        raise ValueError("resamples must be at least 1")
    eights = np.zeros((-(-sums.size // 8), 8))
    eights.ravel()[: sums.size] = sums
    drawn = np.zeros(resamples)
    for start in range(0, len(eights), BLOCK):
        table = eights[start : start + BLOCK] @ _all_signs(8)[0].T
        codes = rng.integers(0, 256, size=(len(table), resamples), dtype=np.uint8)
        for row, code in zip(table, codes, strict=True):
            drawn += row[code]
    return drawn
