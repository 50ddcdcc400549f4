"""Intervals that count clusters. Each function validates its input and returns estimate, interval and n."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

MIN_CLUSTERS = 10


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval; ``low`` and ``high`` are None where there is none, and ``note`` says why.

    ``n`` counts observations, ``n_effective`` the independent ones they are worth, ``df`` the degrees of freedom.
    """

    estimate: float
    low: float | None
    high: float | None
    n: int
    n_clusters: int
    level: float
    method: str
    note: str = ""
    df: float | None = None
    standard_error: float | None = None
    n_effective: float | None = None


def cluster_mean(values: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Mean with a cluster-robust t interval (CR2, Satterthwaite degrees of freedom).

    ``values``: (n,) finite numbers; ``clusters``: (n,) labels. Under 10 clusters there is no interval.
    Source: Bell and McCaffrey (2002), Pustejovsky and Tipton (2018), for a model with an intercept only. There the
    ones vector is an eigenvector of each cluster's hat block (eigenvalue n_g / N), so that the CR2 adjustment is the
    scalar (1 - n_g/N)^(-1/2). With clusters of one it is the ordinary t interval, exactly.
    Raises ValueError for empty, non-finite or unequal-length input.
    """
    check_level(level)
    x, sizes, sums = by_cluster(values, clusters)
    n, groups = x.size, sizes.size
    mean = float(x.mean())
    if groups < MIN_CLUSTERS:
        note = f"no interval under {MIN_CLUSTERS} clusters ({groups} here)"
        return Interval(mean, None, None, n, groups, level, "cluster t (CR2)", note)
    variance, df = _cr2(sizes, sums - sizes * mean)
    se = math.sqrt(variance)
    half = float(stats.t.ppf(0.5 + level / 2, df)) * se
    return Interval(
        mean, mean - half, mean + half, n, groups, level, "cluster t (CR2)", df=df, standard_error=se,
        n_effective=_effective(x, variance),
    )


def rate(successes: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Interval:
    """Share of true values with a Wilson interval at the effective sample size.

    The effective n is n over the design effect (CR2 variance over binomial variance), at most n; where all
    values are equal the design effect cannot be estimated and the number of clusters stands in, the cautious choice.
    Source: Wilson (1927); Dean and Pagano (2015) for the effective size. No interval under 10 clusters.
    """
    check_level(level)
    x, sizes, sums = by_cluster(np.asarray(successes, dtype=float), clusters)
    if not np.isin(x, (0.0, 1.0)).all():
        raise ValueError("successes must be true or false")
    n, groups, p = x.size, sizes.size, float(x.mean())
    if groups < MIN_CLUSTERS:
        note = f"no interval under {MIN_CLUSTERS} clusters ({groups} here)"
        return Interval(p, None, None, n, groups, level, "Wilson", note)
    variance, _ = _cr2(sizes, sums - sizes * p)
    effective = float(groups) if variance <= 0 else min(float(n), p * (1 - p) / variance)
    z = float(stats.norm.ppf(0.5 + level / 2))
    centre = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * math.sqrt(p * (1 - p) / effective + z * z / (4 * effective**2))
    return Interval(
        p, max(0.0, centre - half), min(1.0, centre + half), n, groups, level, "Wilson, effective n",
        n_effective=effective,
    )


def quantile(values: ArrayLike, clusters: ArrayLike, q: float, level: float = 0.95) -> Interval:
    """Linear quantile (type 7) with Woodruff's interval: the interval of the share at or below it, read back as quantiles.

    ``values``: (n,) finite numbers; ``clusters``: (n,) labels. The share's variance is CR2 with its Satterthwaite degrees of
    freedom, floored at that of independent queries where it vanishes. Sources: Woodruff (1952); Francisco and Fuller (1991).
    No interval under 10 clusters. Raises ValueError as :func:`cluster_mean` does, and for ``q`` outside (0, 1).
    """
    check_level(level)
    if not 0 < q < 1:
        raise ValueError(f"q must lie between 0 and 1, not {q!r}")
    x, sizes, _ = by_cluster(values, clusters)
    estimate, groups, name = float(np.quantile(x, q)), sizes.size, "Woodruff, CR2"
    if groups < MIN_CLUSTERS:
        note = f"no interval under {MIN_CLUSTERS} clusters ({groups} here)"
        return Interval(estimate, None, None, x.size, groups, level, name, note)
    below = (x <= estimate).astype(np.float64)
    _, _, sums = by_cluster(below, clusters)
    variance, df = _cr2(sizes, sums - sizes * below.mean())
    half = float(stats.t.ppf(0.5 + level / 2, df)) * math.sqrt(variance or q * (1 - q) / x.size)
    low, high = (float(v) for v in np.quantile(x, [max(0.0, q - half), min(1.0, q + half)]))
    return Interval(estimate, min(low, estimate), max(high, estimate), x.size, groups, level, name, df=df)


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Exact binomial interval, for a rate inside a stratum of a designed sample (Clopper and Pearson 1934)."""
    check_level(level)
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, not {successes} of {n}")
    tail, failures = (1 - level) / 2, n - successes  # quantiles of beta distributions: the same interval as binomtest's, 50 x faster
    low = float(special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(successes / n, low, high, n, n, level, "Clopper-Pearson")


def check_level(level: float) -> None:
    """ValueError unless the level lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1, not {level!r}")


def by_cluster(values: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Checked values (n,), and each cluster's size and sum, clusters in sorted order of their labels."""
    x, labels = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if x.ndim != 1 or x.shape != labels.shape:
        raise ValueError(f"values {x.shape} and clusters {labels.shape} must be vectors of one length")
    if x.size == 0 or not np.isfinite(x).all():
        raise ValueError("values must be finite, and at least one")
    _, index = np.unique(labels, return_inverse=True)
    return x, np.bincount(index).astype(np.float64), np.asarray(np.bincount(index, weights=x), dtype=np.float64)


def interval_of_sums(sizes: NDArray[np.float64], sums: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Mean and half-width that :func:`cluster_mean` gives, from each cluster's size and sum (at least two clusters)."""
    mean = float(sums.sum() / sizes.sum())
    variance, df = _cr2(sizes, sums - sizes * mean)
    return mean, float(special.stdtrit(df, 0.5 + level / 2)) * math.sqrt(variance)


def cr2_variance(sizes: NDArray[np.float64], residual_sums: NDArray[np.float64]) -> float:
    """CR2 variance of the mean from each cluster's size and sum of residuals."""
    return _cr2(sizes, residual_sums)[0]


def _cr2(sizes: NDArray[np.float64], residual_sums: NDArray[np.float64]) -> tuple[float, float]:
    """CR2 variance of the mean and its Satterthwaite degrees of freedom under independence."""
    n = sizes.sum()
    adjust = 1 / (1 - sizes / n)  # square of the scalar adjustment
    variance = float((adjust * residual_sums**2).sum() / n**2)
    # P_gh = a_g a_h (n_g [g=h] - n_g n_h / N) / N^2, with a_g^2 = adjust; df = trace(P)^2 / sum of P_gh^2.
    diagonal = adjust * (sizes - sizes**2 / n)
    off = (adjust * sizes**2).sum() ** 2 - (adjust**2 * sizes**4).sum()
    return variance, float(diagonal.sum() ** 2 / ((diagonal**2).sum() + off / n**2))


def _effective(x: NDArray[np.float64], variance: float) -> float | None:
    naive = float(x.var(ddof=1)) / x.size if x.size > 1 else 0.0
    return min(float(x.size), x.size * naive / variance) if variance > 0 else None
