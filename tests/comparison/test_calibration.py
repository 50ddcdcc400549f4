"""Reliability, Brier, Platt, ROC and AUC against scikit-learn; power against statsmodels' t test and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve
from sklearn.model_selection import GroupKFold
from statsmodels.stats.power import TTestPower

from observatory.calibration import roc, scores, size
from observatory.calibration.scores import Graded

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None)


def sample(seed: int, n: int = 400, groups: int = 40, levels: int | None = None) -> Graded:
    """Scores in [0, 1], with ties where ``levels`` are few."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1.5, 2.0, n)
    if levels:
        score = np.round(score * levels) / levels
    relevant = rng.random(n) < score
    relevant[:2] = (True, False)
    return Graded(score, relevant, rng.integers(0, groups, n), np.array(["a", "b"], dtype=object)[rng.integers(0, 2, n)], 1, n)


@quick
@given(SEEDS, st.sampled_from([None, 5, 12]), st.integers(2, 20))
def test_bins_are_those_of_calibration_curve(seed: int, levels: int | None, bins: int) -> None:
    g = sample(seed, levels=levels)
    found = scores.binned(g.score, g.relevant, g.clusters, bins)
    observed, predicted = calibration_curve(g.relevant, g.score, n_bins=bins, strategy="quantile")
    assert [b.observed.estimate for b in found] == pytest.approx(observed.tolist())
    assert [b.predicted for b in found] == pytest.approx(predicted.tolist())


@quick
@given(SEEDS)
def test_brier_and_ece_are_the_textbook_sums(seed: int) -> None:
    g = sample(seed)
    found = scores.reliability(g.score, g.relevant, g.clusters, np.random.default_rng(0), resamples=10)
    assert found.brier.estimate == pytest.approx(brier_score_loss(g.relevant, g.score))
    observed, predicted = calibration_curve(g.relevant, g.score, n_bins=scores.BINS, strategy="quantile")
    counts = np.array([b.n for b in found.bins])
    assert found.ece.estimate == pytest.approx((np.abs(observed - predicted) * counts).sum() / g.n)
    assert found.baseline == pytest.approx(brier_score_loss(g.relevant, np.full(g.n, g.relevant.mean())))


def test_the_bootstrap_of_errors_is_the_one_that_recomputes_every_resample() -> None:
    """The same draws of clusters, with pairs copied out and the sums written down again."""
    g = sample(3)
    found = scores.reliability(g.score, g.relevant, g.clusters, np.random.default_rng(9), resamples=100)
    labels = np.unique(g.clusters)
    [counts] = scores.draws(np.random.default_rng(9), labels.size, 100)
    edges, brier, ece = scores.edges(g.score), [], []
    for row in counts.astype(int):
        rows = np.concatenate([np.tile(np.flatnonzero(g.clusters == c), k) for c, k in zip(labels, row, strict=True) if k])
        brier.append(brier_score_loss(g.relevant[rows], g.score[rows]))
        index = np.searchsorted(edges, g.score[rows])
        ece.append(sum(abs((g.relevant[rows][index == b] - g.score[rows][index == b]).sum()) for b in range(scores.BINS)) / rows.size)
    assert (found.brier.low, found.brier.high) == pytest.approx(tuple(np.quantile(brier, [0.025, 0.975])))
    moved = np.array(ece) - (np.mean(ece) - found.ece.estimate)
    assert (found.ece.low, found.ece.high) == pytest.approx(tuple(np.maximum(np.quantile(moved, [0.025, 0.975]), 0)))


class Score(ClassifierMixin, BaseEstimator):
    """A classifier whose decision is its only column, for scikit-learn's own calibration."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Score:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x[:, 0])


@pytest.mark.parametrize(("method", "theirs"), [("Platt", "sigmoid"), ("isotonic", "isotonic")])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_cross_fitted_maps_are_those_of_scikit_learn(method: scores.Method, theirs: str, scale: float) -> None:
    """CalibratedClassifierCV on one fold's training part: the same curve up to the solver's tolerance."""
    g = sample(5)
    score = g.score * scale - 3
    fold = scores.folds(g.clusters, np.random.default_rng(0))
    ours = scores.cross_fit(Graded(score, g.relevant, g.clusters, g.domains, 1, g.n), method, fold)
    for held in np.unique(fold):
        train = np.flatnonzero(fold != held)
        splits = [(train[:10], train)]
        model = CalibratedClassifierCV(Score(), method=theirs, cv=splits)
        model.fit(score[:, None], g.relevant)
        expected = model.calibrated_classifiers_[0].predict_proba(score[fold == held][:, None])[:, 1]
        assert ours[fold == held] == pytest.approx(expected, abs=2e-4 if method == "Platt" else 1e-9)


def test_folds_are_group_k_fold() -> None:
    g = sample(6)
    fold = scores.folds(g.clusters, np.random.default_rng(4))
    seed = int(np.random.default_rng(4).integers(2**31))
    theirs = GroupKFold(n_splits=5, shuffle=True, random_state=seed).split(g.score, groups=g.clusters)
    for k, (_, held) in enumerate(theirs):
        assert (np.flatnonzero(fold == k) == np.sort(held)).all()


def test_isotonic_is_scikit_learns_and_never_falls() -> None:
    g = sample(7, levels=9)
    grid = np.linspace(-0.5, 1.5, 50)
    found = scores.fit("isotonic", g.score, g.relevant)(grid)
    assert found == pytest.approx(IsotonicRegression(out_of_bounds="clip").fit(g.score, g.relevant).predict(grid))
    assert (np.diff(found) >= 0).all() and (np.diff(scores.fit("Platt", g.score, g.relevant)(grid)) > 0).all()


def test_separable_classes_have_a_finite_platt_curve() -> None:
    score = np.arange(40.0)
    found = scores.fit("Platt", score, score >= 20)(score)
    assert ((found > 0) & (found < 1)).all() and found[19] < 0.5 < found[20]


@quick
@given(SEEDS, st.sampled_from([None, 4, 15]))
def test_auc_and_curve_are_scikit_learns(seed: int, levels: int | None) -> None:
    g = sample(seed, n=200, levels=levels)
    pooled, domains = roc.operating(g, np.random.default_rng(0), resamples=2)
    assert pooled.auc is not None
    assert pooled.auc.estimate == pytest.approx(roc_auc_score(g.relevant, g.score))
    fpr, tpr, _ = roc_curve(g.relevant, g.score)
    assert (pooled.fpr.tolist(), pooled.tpr.tolist()) == (fpr.tolist(), tpr.tolist())
    for d in domains:
        rows = g.domains == d.name
        assert d.auc is None or d.auc.estimate == pytest.approx(roc_auc_score(g.relevant[rows], g.score[rows]))


@quick
@given(SEEDS)
def test_the_equal_error_rate_is_where_the_curve_meets_the_antidiagonal(seed: int) -> None:
    """The usual recipe: a root of 1 - x - tpr(x) on scikit-learn's curve."""
    g = sample(seed)
    fpr, tpr, _ = roc_curve(g.relevant, g.score, drop_intermediate=False)
    expected = optimize.brentq(lambda x: 1 - x - np.interp(x, fpr, tpr), 0.0, 1.0)
    assert roc.equal_error(g.score, g.relevant)[0] == pytest.approx(expected, abs=1 / min(g.relevant.sum(), (~g.relevant).sum()))


def test_the_bootstrap_of_auc_is_the_one_that_recomputes_every_resample() -> None:
    g = sample(8, levels=20)
    labels = np.unique(g.clusters)
    pooled, _ = roc.operating(g, np.random.default_rng(2), resamples=100)
    [counts] = scores.draws(np.random.default_rng(2), labels.size, 100)
    drawn = []
    for row in counts.astype(int):
        rows = np.concatenate([np.tile(np.flatnonzero(g.clusters == c), k) for c, k in zip(labels, row, strict=True) if k])
        drawn.append(roc_auc_score(g.relevant[rows], g.score[rows]))
    assert pooled.auc is not None
    assert (pooled.auc.low, pooled.auc.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


@pytest.mark.parametrize(("effect", "power"), [(0.05, 0.8), (0.1, 0.9), (0.02, 0.8)])
def test_required_n_is_the_formula_and_near_the_t_test(effect: float, power: float) -> None:
    p = size.Projection(0.0, 0.4, design_effect=1.7, per_cluster=3.0)
    needed = size.for_power(p, effect, power)
    z = stats.norm.ppf(0.975) + stats.norm.ppf(power)
    assert needed.queries == pytest.approx(1.7 * (z * 0.4 / effect) ** 2, abs=1.5)
    t = float(TTestPower().solve_power(effect_size=effect / 0.4, alpha=0.05, power=power))
    assert needed.queries == pytest.approx(1.7 * t, rel=0.05)
    assert needed.clusters == math.ceil(needed.queries / 3)
