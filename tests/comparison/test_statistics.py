"""Intervals against the matrices of the paper, scipy and statsmodels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from observatory import statistics
from observatory.statistics import MIN_CLUSTERS, cluster_mean, rate

SIZES = st.lists(st.integers(1, 6), min_size=MIN_CLUSTERS, max_size=25)
SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None)


def sample(sizes: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values with a cluster effect, and labels, in shuffled order."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    values = 0.3 + rng.normal(size=len(sizes))[labels] + rng.normal(size=labels.size)
    order = rng.permutation(labels.size)
    return values[order], labels[order]


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Symmetric inverse square root by eigendecomposition (Moore-Penrose where singular)."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    inverse = np.array([v**-0.5 if v > 1e-12 else 0.0 for v in eigenvalues])
    return (vectors * inverse) @ vectors.T


def pustejovsky_tipton(values: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """CR2 variance and Satterthwaite df of the intercept, with every matrix built as in the paper (W = I, Phi = I)."""
    n = values.size
    x = np.ones((n, 1))
    bread = np.linalg.inv(x.T @ x)
    residual_maker = np.eye(n) - x @ bread @ x.T
    residuals = residual_maker @ values
    meat, p = np.zeros((1, 1)), []
    for group in np.unique(labels):
        g = np.flatnonzero(labels == group)
        adjust = inverse_root(residual_maker[np.ix_(g, g)])
        score = x[g].T @ adjust @ residuals[g]
        meat += np.outer(score, score)
        p.append(residual_maker[g].T @ adjust @ x[g] @ bread[:, 0])
    variance = (bread @ meat @ bread)[0, 0]
    gram = np.array(p) @ np.array(p).T
    return float(variance), float(np.trace(gram) ** 2 / (gram**2).sum())


@quick
@given(SIZES, SEEDS)
def test_cr2_and_satterthwaite_are_those_of_the_paper(sizes: list[int], seed: int) -> None:
    values, labels = sample(sizes, seed)
    variance, df = pustejovsky_tipton(values, labels)
    found = cluster_mean(values, labels)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)
    half = stats.t.ppf(0.975, df) * math.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-9, abs=1e-12)
    assert (found.n, found.n_clusters) == (values.size, len(sizes))


def test_one_big_cluster_costs_degrees_of_freedom() -> None:
    values, labels = sample([60, *[1] * 12], 5)
    variance, df = pustejovsky_tipton(values, labels)
    found = cluster_mean(values, labels)
    assert found.df == pytest.approx(df, rel=1e-9) and df < 5
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)


@quick
@given(st.integers(MIN_CLUSTERS, 80), SEEDS, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_clusters_of_one_give_the_ordinary_t_interval(n: int, seed: int, level: float) -> None:
    values, labels = sample([1] * n, seed)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    found = cluster_mean(values, labels, level)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-13)
    assert found.df == pytest.approx(n - 1, rel=1e-12)
    assert found.n_effective == pytest.approx(n)


@quick
@given(st.integers(MIN_CLUSTERS, 30), st.integers(1, 6), SEEDS)
def test_equal_sizes_give_statsmodels_cr1(groups: int, size: int, seed: int) -> None:
    """With G equal clusters CR2 and CR1 share the factor G/(G-1); statsmodels adds (N-1)/(N-K), which is 1 for K = 1."""
    values, labels = sample([size] * groups, seed)
    fitted = sm.OLS(values, np.ones((values.size, 1))).fit(cov_type="cluster", cov_kwds={"groups": labels})
    found = cluster_mean(values, labels)
    assert found.standard_error == pytest.approx(fitted.bse[0], rel=1e-9)
    assert found.estimate == pytest.approx(fitted.params[0], rel=1e-12)
    assert found.df == pytest.approx(groups - 1, rel=1e-9)


def test_interval_covers_at_its_level() -> None:
    """600 samples of 12 clusters: the 90 % interval holds the truth in 90 % of them, within four standard errors."""
    rng, hits = np.random.default_rng(7), 0
    labels = np.repeat(np.arange(12), [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4])
    for _ in range(600):
        values = rng.normal(size=12)[labels] + rng.normal(size=labels.size)
        found = cluster_mean(values, labels, 0.9)
        assert found.low is not None and found.high is not None
        hits += found.low <= 0 <= found.high
    assert abs(hits / 600 - 0.9) < 4 * math.sqrt(0.09 / 600)


@quick
@given(st.lists(st.booleans(), min_size=MIN_CLUSTERS, max_size=200).filter(lambda x: 0 < sum(x) < len(x)), st.sampled_from([0.9, 0.95]))
def test_rate_with_clusters_of_one_is_wilson(values: list[bool], level: float) -> None:
    """At the documented effective n (binomial variance over CR2 variance: n - 1), and as near to plain n as that allows."""
    n, p = len(values), sum(values) / len(values)
    found = rate(values, np.arange(n), level)
    assert found.n_effective == pytest.approx(n - 1)
    low, high = proportion_confint(p * (n - 1), n - 1, alpha=1 - level, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    low, high = proportion_confint(sum(values), n, alpha=1 - level, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.5 / n)


@quick
@given(SIZES, SEEDS)
def test_rate_is_wilson_at_its_effective_n(sizes: list[int], seed: int) -> None:
    values, labels = sample(sizes, seed)
    wins = values > 0
    found = rate(wins, labels)
    assert found.n_effective is not None and 0 < found.n_effective <= wins.size
    p = wins.mean()
    low, high = proportion_confint(p * found.n_effective, found.n_effective, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    if 0 < p < 1:
        variance, _ = pustejovsky_tipton(wins.astype(float), labels)
        assert found.n_effective == pytest.approx(min(wins.size, p * (1 - p) / variance), rel=1e-9)


def test_copies_of_a_query_do_not_narrow_the_rate() -> None:
    once = rate([1, 0] * 10, np.arange(20))
    ten_times = rate(np.repeat([1, 0] * 10, 10), np.repeat(np.arange(20), 10))
    assert (ten_times.low, ten_times.high) == pytest.approx((once.low, once.high))
    assert ten_times.n == 200 and ten_times.n_effective == pytest.approx(19)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rate_of_equal_values_counts_clusters(value: float) -> None:
    found = rate([value] * 60, np.repeat(np.arange(20), 3))
    low, high = proportion_confint(20 * value, 20, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert found.n_effective == 20


@pytest.mark.parametrize("function", [cluster_mean, rate])
def test_under_ten_clusters_there_is_no_interval_and_a_note_says_so(function: Any) -> None:
    for groups in range(1, 10):
        found = function([1, 0] * groups, np.repeat(np.arange(groups), 2))
        assert (found.low, found.high, found.df) == (None, None, None)
        assert str(groups) in found.note and "10 clusters" in found.note
        assert (found.estimate, found.n, found.n_clusters) == (0.5, 2 * groups, groups)
    ten = function([1, 0] * 10, np.repeat(np.arange(10), 2))
    assert ten.low is not None and ten.note == ""


@pytest.mark.parametrize("function", [cluster_mean, rate])
@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([], []), ([1.0], [1, 2]), ([1.0, math.nan], [1, 2]), ([1.0, math.inf], [1, 2]), ([[1.0]], [[1]]), (1.0, 1),
        (["x", "y"], [1, 2]), ([1.0, None], [1, 2]),
    ],
    ids=["empty", "lengths", "nan", "infinite", "matrix", "scalar", "words", "none"],
)
def test_bad_values_raise(function: Any, values: Any, clusters: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        function(values, clusters)


@pytest.mark.parametrize("function", [cluster_mean, rate])
def test_a_level_outside_zero_and_one_raises(function: Any) -> None:
    for level in (0.0, 1.0, 1.5, -0.5, 95.0, math.nan):
        with pytest.raises(ValueError):  # noqa: PT011
            function([1, 0] * 10, np.arange(20), level)


@pytest.mark.parametrize("values", [[0.5] * 20, [2] * 20, [1, 0, 1, -1] * 5])
def test_rate_takes_only_truth_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match="true or false"):
        rate(values, np.arange(20))


@quick
@given(SIZES, SEEDS)
def test_labels_and_order_do_not_matter(sizes: list[int], seed: int) -> None:
    values, labels = sample(sizes, seed)
    order = np.random.default_rng(seed).permutation(values.size)
    one, other = cluster_mean(values, labels), cluster_mean(values[order], np.array([f"c{i}" for i in labels[order]]))
    assert (one.low, one.high, one.df) == pytest.approx((other.low, other.high, other.df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("q", [0.05, 0.1, 0.5])
def test_quantile_is_numpys_and_its_interval_is_near_the_bootstraps(q: float) -> None:
    from observatory import resampling

    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(120), rng.integers(1, 6, size=120))
    x = rng.normal(size=clusters.size) + rng.normal(size=120)[clusters]
    found = statistics.quantile(x, clusters, q)
    other = resampling.quantile(x, clusters, q, np.random.default_rng(1), 2000)
    assert found.estimate == np.quantile(x, q) == other.estimate
    assert found.low is not None and found.high is not None and other.low is not None and other.high is not None
    assert found.low <= found.estimate <= found.high
    assert 0.7 < (found.high - found.low) / (other.high - other.low) < 1.4


@pytest.mark.parametrize("q", [0.1, 0.5])
def test_the_interval_of_a_quantile_covers(q: float) -> None:
    """400 samples of 80 clusters of three: between 90% and 98% hold the true quantile."""
    rng, hits = np.random.default_rng(9), 0
    clusters = np.repeat(np.arange(80), 3)
    true = float(stats.norm.ppf(q, scale=np.sqrt(2)))
    for _ in range(400):
        x = rng.normal(size=240) + rng.normal(size=80)[clusters]
        i = statistics.quantile(x, clusters, q)
        hits += bool(i.low is not None and i.high is not None and i.low <= true <= i.high)
    assert 0.90 <= hits / 400 <= 0.98


def test_quantile_of_odd_input() -> None:
    same = statistics.quantile(np.ones(40), np.arange(40), 0.5)
    assert (same.estimate, same.low, same.high) == (1.0, 1.0, 1.0)
    few = statistics.quantile(np.arange(9.0), np.arange(9), 0.5)
    assert few.low is None and "10 clusters" in few.note
    for q in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="q must"):
            statistics.quantile(np.arange(20.0), np.arange(20), q)
