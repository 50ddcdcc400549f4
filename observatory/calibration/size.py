"""How an interval shrinks with the size of a benchmark: measured by subsampling clusters, projected by the central limit theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from observatory import statistics
from observatory.statistics import MIN_CLUSTERS, Interval

Floats = NDArray[np.float64]
REPETITIONS, LEAST_REPETITIONS, BUDGET, POINTS = 200, 40, 4_000_000, 11
"""Subsamples at each size; fewer where clusters are many, so that about ``BUDGET`` cluster sums are drawn in all."""
MEANINGFUL = 0.5  # coverage is read up to this share of the clusters: above it, sample and population are nearly the same


@dataclass(frozen=True, slots=True)
class Projection:
    """Mean and standard deviation of one value per query, taken as constant while the number of queries grows.

    ``design_effect``: variance of the mean (CR2) over what it were if queries were independent; below 1 where queries of one cluster
    differ more than clusters do. ``per_cluster``: mean number of queries in a cluster. New queries are taken to come in clusters like these.
    """

    mean: float
    sigma: float
    design_effect: float = 1.0
    per_cluster: float = 1.0
    level: float = 0.95

    def __post_init__(self) -> None:
        statistics.check_level(self.level)
        if not (math.isfinite(self.mean) and self.sigma > 0 and self.design_effect > 0 and self.per_cluster >= 1):
            raise ValueError("a projection needs a finite mean, a positive sigma and design effect, and clusters of at least one query")

    @property
    def z(self) -> float:
        """Two-sided normal quantile of the level."""
        return float(special.ndtri(0.5 + self.level / 2))

    def standard_error(self, n: float) -> float:
        """sigma * sqrt(design effect / n)."""
        if n <= 0:
            raise ValueError(f"the number of queries must be positive, not {n!r}")
        return self.sigma * math.sqrt(self.design_effect / n)

    def half_width(self, n: float) -> float:
        return self.z * self.standard_error(n)

    def interval(self, n: float) -> tuple[float, float]:
        return self.mean - self.half_width(n), self.mean + self.half_width(n)

    def excludes_zero(self, n: float) -> bool:
        return abs(self.mean) > self.half_width(n)

    def p(self, n: float) -> float:
        """Two-sided p of the z test against 0 at n queries, if mean and sigma stay what they are. Never 0."""
        return max(2 * float(stats.norm.sf(abs(self.mean) / self.standard_error(n))), float(np.finfo(float).tiny))


@dataclass(frozen=True, slots=True)
class Required:
    """A benchmark large enough: queries, and the clusters that they come in."""

    queries: int
    clusters: int


@dataclass(frozen=True, slots=True)
class SizePoint:
    """What subsamples of ``n_clusters`` clusters gave; ``n`` is the median number of their queries.

    ``half_width`` is the median, ``low`` and ``high`` the 5 % and 95 % quantiles over subsamples. ``excludes_zero``: share whose interval
    excludes 0 on the side of the full mean. ``coverage``: share whose interval, narrowed by the finite-population factor
    sqrt(1 - clusters / all clusters), holds the full mean; ``coverage_raw``: without that factor. Both are None where nearly
    all clusters are drawn. Their own intervals (Clopper-Pearson) are the noise of the simulation and nothing else.
    """

    n: int
    n_clusters: int
    repetitions: int
    half_width: float
    low: float
    high: float
    excludes_zero: Interval
    coverage: Interval | None
    coverage_raw: Interval | None


@dataclass(frozen=True, slots=True)
class Size:
    """The measured interval, its curve over the number of clusters, and the projection; ``note`` says what there is not, and why."""

    observed: Interval
    sigma: float
    projection: Projection | None
    curve: tuple[SizePoint, ...]
    repetitions: int
    note: str


def measure(values: ArrayLike, clusters: ArrayLike, rng: np.random.Generator, repetitions: int | None = None, level: float = 0.95) -> Size:
    """Size curve and projection of the mean of ``values`` (n,), one value per query, in ``clusters`` (n,) of any labels.

    Under 10 clusters, and where all values are equal, there is neither. Raises ValueError for empty or non-finite input.
    """
    observed = statistics.cluster_mean(values, clusters, level)
    x, sizes, sums = statistics.by_cluster(values, clusters)
    sigma = float(x.std(ddof=1)) if x.size > 1 else 0.0
    if observed.low is None:
        return Size(observed, sigma, None, (), 0, observed.note)
    if np.ptp(x) == 0:
        return Size(observed, 0.0, None, (), 0, f"all {x.size} values are equal, so their interval has no width to follow")
    if not observed.standard_error:
        return Size(observed, sigma, None, (), 0, "all clusters have the same mean, so their interval has no width to follow")
    effect = (observed.standard_error / sigma) ** 2 * x.size
    projection = Projection(float(x.mean()), sigma, effect, x.size / sizes.size, level)
    times = repetitions or max(LEAST_REPETITIONS, min(REPETITIONS, BUDGET // sizes.size))
    return Size(observed, sigma, projection, subsample(sizes, sums, rng, times, level), times, "")


def subsample(sizes: Floats, sums: Floats, rng: np.random.Generator, repetitions: int, level: float = 0.95) -> tuple[SizePoint, ...]:
    """Intervals of whole clusters drawn without replacement, for a geometric row of sizes up to all clusters.

    ``sizes``, ``sums``: (clusters,). One repetition shuffles the clusters once and takes its beginning at every size, as a
    benchmark grows: points at different sizes are dependent. Finite population: Cochran (1977), section 2.6.
    """
    if repetitions < 1:
        raise ValueError("repetitions must be at least 1")
    groups, full = sizes.size, float(sums.sum() / sizes.sum())
    counts = grid(groups)
    n, mean, half = (np.empty((repetitions, len(counts))) for _ in range(3))
    for r in range(repetitions):
        order = rng.permutation(groups)
        for j, g in enumerate(counts):
            drawn = order[:g]
            n[r, j] = sizes[drawn].sum()
            mean[r, j], half[r, j] = statistics.interval_of_sums(sizes[drawn], sums[drawn], level)
    return tuple(_point(g, groups, full, n[:, j], mean[:, j], half[:, j], level) for j, g in enumerate(counts))


def grid(groups: int, points: int = POINTS) -> tuple[int, ...]:
    """Numbers of clusters, about evenly spaced in their logarithm, from the fewest that have an interval to all."""
    if groups < MIN_CLUSTERS:
        raise ValueError(f"no interval under {MIN_CLUSTERS} clusters ({groups} here)")
    return tuple(dict.fromkeys(round(float(g)) for g in np.geomspace(MIN_CLUSTERS, groups, points)))


def _point(g: int, groups: int, full: float, n: Floats, mean: Floats, half: Floats, level: float) -> SizePoint:
    if g == groups:  # every subsample of all clusters is the same one, but for the order of adding up
        n, mean, half = n[:1], mean[:1], half[:1]
    low, middle, high = (float(q) for q in np.quantile(half, [0.05, 0.5, 0.95]))
    beyond = (mean - half > 0) if full > 0 else (mean + half < 0) if full < 0 else np.zeros(n.size, dtype=bool)
    off, narrowed = np.abs(mean - full), half * math.sqrt(1 - g / groups)
    covered = [None, None] if g > MEANINGFUL * groups else [_share(off <= narrowed, level), _share(off <= half, level)]
    return SizePoint(int(np.median(n)), g, n.size, middle, low, high, _share(beyond, level), covered[0], covered[1])


def _share(hits: NDArray[np.bool_], level: float) -> Interval:
    return statistics.clopper_pearson(int(hits.sum()), hits.size, level)


# -- how many queries are needed ---------------------------------------------------------------------------------------


def for_half_width(projection: Projection, half_width: float) -> Required:
    """Queries whose projected interval is at most ``half_width`` to each side: (z sigma / h)^2 times the design effect."""
    if not half_width > 0:
        raise ValueError(f"the half-width must be positive, not {half_width!r}")
    return _required(projection, (projection.z * projection.sigma / half_width) ** 2)


def for_power(projection: Projection, effect: float, power: float = 0.8) -> Required:
    """Queries that tell a true mean of ``effect`` from 0 with this power, two-sided at 1 - level (statsmodels, one-sample z).

    statsmodels counts independent observations; the design effect turns them into queries.
    """
    from statsmodels.stats.power import NormalIndPower  # takes a second to import

    statistics.check_level(power)
    if effect == 0 or not math.isfinite(effect):
        raise ValueError("power needs an effect other than 0")
    size = min(abs(effect) / projection.sigma, 3.0)  # more than three sigma needs fewer than MIN_CLUSTERS whatever the power
    alpha = 1 - projection.level
    independent = NormalIndPower(ddof=0).solve_power(effect_size=size, alpha=alpha, power=power, ratio=0, alternative="two-sided")
    return _required(projection, float(np.squeeze(independent)))


def _required(projection: Projection, independent: float) -> Required:
    """Whole queries and clusters; at least as many clusters as an interval needs."""
    queries = max(math.ceil(independent * projection.design_effect - 1e-9), math.ceil(MIN_CLUSTERS * projection.per_cluster))
    return Required(queries, max(MIN_CLUSTERS, math.ceil(queries / projection.per_cluster - 1e-9)))
