"""What a score is worth: P(relevant | score) on labelled pairs, through maps that never saw the cluster they are judged on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from observatory import statistics
from observatory.errors import InputError
from observatory.statistics import MIN_CLUSTERS, Interval

Floats = NDArray[np.float64]
Method = Literal["isotonic", "Platt"]
METHODS: tuple[Method, ...] = ("isotonic", "Platt")
COLUMNS = ("query_id", "cluster_id", "domain", "grade", "score")
FOLDS, BINS, RESAMPLES, BLOCK, MOST_PAIRS = 5, 10, 400, 100, 12_000
LARGEST = 1e100
"""Of a score's distance from 0: the squares of larger ones leave float64."""
NO_DOMAIN = "no domain recorded"


@dataclass(frozen=True)
class Graded:
    """Labelled pairs: score, relevant, cluster (a number) and domain, (n,) each, all of one threshold on the grade.

    ``n_all`` counts the pairs there are; where ``n`` is smaller, whole clusters were drawn at random to bound the work.
    """

    score: Floats
    relevant: NDArray[np.bool_]
    clusters: NDArray[np.int64]
    domains: NDArray[np.object_]
    least_grade: int
    n_all: int

    @property
    def n(self) -> int:
        return int(self.score.size)

    @property
    def n_clusters(self) -> int:
        return int(np.unique(self.clusters).size)

    @property
    def prevalence(self) -> Interval:
        """Share of relevant pairs: a property of how pairs were chosen, and what every calibrated score is relative to."""
        return statistics.rate(self.relevant, self.clusters)

    @property
    def lacking(self) -> str:
        """Why nothing can be said about these scores, or nothing."""
        if self.relevant.all() or not self.relevant.any():
            which = "all" if self.relevant.all() else "none"
            return f"{which} of the {self.n} labelled pairs {'is' if which == 'none' else 'are'} relevant at grade {self.least_grade} or more"
        if np.ptp(self.score) == 0:
            return f"all {self.n} labelled pairs have the same score"
        return f"all {self.n} labelled pairs belong to one cluster" if self.n_clusters < 2 else ""

    def only(self, rows: NDArray[np.bool_]) -> Graded:
        """The pairs of a mask (n,)."""
        return Graded(self.score[rows], self.relevant[rows], self.clusters[rows], self.domains[rows], self.least_grade, int(rows.sum()))


def graded(frame: pd.DataFrame, least_grade: int, rng: np.random.Generator, most: int = MOST_PAIRS) -> Graded:
    """Rows of ``Store.judged`` as labelled pairs, relevant from ``least_grade`` on. InputError for no rows or unusable scores."""
    missing = [c for c in COLUMNS if c not in frame.columns]
    if missing or frame.empty:
        raise InputError("labelled pairs need " + (f"the column {missing[0]}" if missing else "at least one row"), mend="run it again")
    score = frame["score"].to_numpy(dtype=np.float64)
    if not (np.abs(score) <= LARGEST).all():
        raise InputError("a labelled pair's score is no finite number, or too large to be squared", mend="run it again with another scorer")
    clusters = pd.factorize(frame["cluster_id"])[0].astype(np.int64)
    domains = frame["domain"].astype(object).where(frame["domain"].notna(), NO_DOMAIN).to_numpy(dtype=object)
    whole = Graded(score, frame["grade"].to_numpy() >= least_grade, clusters, domains, least_grade, len(frame))
    if whole.n <= most:
        return whole
    order, sizes = rng.permutation(clusters.max() + 1), np.bincount(clusters)
    kept = order[: max(MIN_CLUSTERS, int((np.cumsum(sizes[order]) <= most).sum()))]
    rows = np.isin(clusters, kept)
    return Graded(score[rows], whole.relevant[rows], clusters[rows], domains[rows], least_grade, whole.n)


# -- maps from score to probability ------------------------------------------------------------------------------------


def fit(method: Method, score: Floats, relevant: NDArray[np.bool_]) -> Callable[[Floats], Floats]:
    """A map from score to P(relevant), never falling: isotonic regression, or Platt's logistic curve.

    Platt (1999) smooths the targets to (N+ + 1)/(N+ + 2) and 1/(N- + 2), so that separable classes have a finite slope.
    """
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        steps = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(score, relevant.astype(np.float64))
        return lambda s: np.asarray(steps.predict(s), dtype=np.float64)
    from sklearn.linear_model import LogisticRegression

    centre, spread = float(score.mean()), float(score.std()) or 1.0
    positives = int(relevant.sum())
    target = np.where(relevant, (positives + 1) / (positives + 2), 1 / (score.size - positives + 2))
    scaled = ((score - centre) / spread)[:, None]  # the same curve, and a solver that converges whatever the unit
    labels = np.concatenate([np.ones(score.size), np.zeros(score.size)])
    curve = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(
        np.concatenate([scaled, scaled]), labels, sample_weight=np.concatenate([target, 1 - target])
    )
    return lambda s: np.asarray(curve.predict_proba(((s - centre) / spread)[:, None])[:, 1], dtype=np.float64)


def folds(clusters: NDArray[np.int64], rng: np.random.Generator, most: int = FOLDS) -> NDArray[np.int64]:
    """The fold of each pair (n,), whole clusters in one fold (scikit-learn's GroupKFold, shuffled)."""
    from sklearn.model_selection import GroupKFold

    n = min(most, np.unique(clusters).size)
    splitter = GroupKFold(n_splits=n, shuffle=True, random_state=int(rng.integers(2**31)))
    found = np.empty(clusters.size, dtype=np.int64)
    for fold, (_, held) in enumerate(splitter.split(clusters, groups=clusters)):
        found[held] = fold
    return found


def cross_fit(g: Graded, method: Method, fold: NDArray[np.int64]) -> Floats:
    """P(relevant | score) of each pair (n,) from a map that was fitted on the other folds.

    InputError where the other folds of some fold hold one class only.
    """
    found = np.empty(g.n)
    for held in np.unique(fold):
        test = fold == held
        if np.unique(g.relevant[~test]).size < 2:
            raise InputError("too few clusters hold pairs of both classes for a cross-fitted map", mend="label more pairs")
        found[test] = fit(method, g.score[~test], g.relevant[~test])(g.score[test])
    return found


def as_probability(score: Floats, metric: str) -> tuple[Floats | None, str]:
    """Raw scores read as probabilities, and how: as they are, or a cosine below 0 as 0; None where they are none."""
    low, high = float(score.min()), float(score.max())
    if low >= 0 and high <= 1:
        return score, "raw scores as they are"
    if metric == "cosine":
        below = int((score < 0).sum())
        return np.clip(score, 0.0, 1.0), f"raw cosine, {below} below 0 read as 0" if below else "raw cosine, rounding above 1 read as 1"
    return None, f"raw scores run from {low:.4g} to {high:.4g} and are no probabilities"


# -- reliability -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs of about equal predicted probability: mean prediction, share that is relevant with its interval."""

    low: float
    high: float
    predicted: float
    observed: Interval

    @property
    def n(self) -> int:
        return self.observed.n


@dataclass(frozen=True, slots=True)
class Reliability:
    """Bins, and two errors with cluster-bootstrap intervals.

    ``floor``: the ECE that exactly right probabilities would show on average with these bins and counts (pairs independent),
    because ECE never averages to 0. ``baseline``: the Brier score of saying the prevalence every time.
    """

    bins: tuple[Bin, ...]
    ece: Interval
    brier: Interval
    floor: float
    baseline: float


def edges(values: Floats, bins: int = BINS) -> Floats:
    """Inner edges of equal-mass bins, (bins - 1,): scikit-learn's ``calibration_curve(strategy="quantile")``."""
    return np.asarray(np.percentile(values, np.linspace(0, 1, bins + 1) * 100)[1:-1], dtype=np.float64)


def binned(values: Floats, relevant: NDArray[np.bool_], clusters: NDArray[np.int64], bins: int = BINS) -> tuple[Bin, ...]:
    """Equal-mass bins of ``values`` (n,). Equal values share a bin, so ties make fewer, unequal bins; empty ones are left out."""
    index = np.searchsorted(edges(values, bins), values)
    return tuple(
        Bin(float(values[rows].min()), float(values[rows].max()), float(values[rows].mean()), statistics.rate(relevant[rows], clusters[rows]))
        for b in np.unique(index) for rows in [index == b]
    )


def reliability(
    probability: Floats, relevant: NDArray[np.bool_], clusters: NDArray[np.int64], rng: np.random.Generator, bins: int = BINS,
    resamples: int = RESAMPLES, level: float = 0.95,
) -> Reliability:
    """Bins, ECE and Brier score of predictions in [0, 1]. Resampled are the pairs' clusters, not the fits behind the predictions.

    ECE: sum over bins of n_b/n |observed - predicted| (Naeini et al. 2015). Resampling adds to it, so its percentiles are moved
    down by the bootstrap's own bias and cut off at 0. Floor: consistency resampling (Broecker and Smith 2007).
    """
    from sklearn.metrics import brier_score_loss

    if probability.size == 0 or not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("predictions must lie in [0, 1], and be at least one")
    found = binned(probability, relevant, clusters, bins)
    index = np.unique(np.searchsorted(edges(probability, bins), probability), return_inverse=True)[1]
    _, owner = np.unique(clusters, return_inverse=True)
    cells = owner * len(found) + index
    gap, squares, n = (
        np.bincount(at, weights=w, minlength=(owner.max() + 1) * width).reshape(-1, width)
        for at, w, width in (
            (cells, relevant - probability, len(found)), (owner, (relevant - probability) ** 2, 1), (owner, np.ones(owner.size), 1),
        )
    )
    ece = float(np.abs(gap.sum(axis=0)).sum()) / probability.size
    brier, share = float(brier_score_loss(relevant, probability)), float(relevant.mean())
    drawn = np.concatenate([np.hstack([np.abs(c @ gap).sum(axis=1, keepdims=True), c @ squares]) / (c @ n) for c in draws(rng, n.shape[0], resamples)])
    means = np.array([b.predicted for b in found])
    counts = np.array([b.n for b in found])
    ideal = np.abs(rng.binomial(counts, np.clip(means, 0, 1), size=(resamples, counts.size)) - counts * means).sum(axis=1) / counts.sum()
    shape = (probability.size, n.shape[0], level)
    bias = float(drawn[:, 0].mean()) - ece
    return Reliability(
        found, percentiles(ece, drawn[:, 0] - bias, shape, "cluster bootstrap, percentiles less its bias", least=0.0),
        percentiles(brier, drawn[:, 1], shape, "cluster bootstrap (percentile)"), float(ideal.mean()), share * (1 - share),
    )


def draws(rng: np.random.Generator, groups: int, resamples: int, block: int = BLOCK) -> Iterator[Floats]:
    """How often each cluster was drawn, in blocks of (<= block, groups). Under 10 clusters one, for there is no interval to be had from more."""
    wanted = resamples if groups >= MIN_CLUSTERS else 1
    for start in range(0, wanted, block):
        yield rng.multinomial(groups, np.full(groups, 1 / groups), size=min(block, wanted - start)).astype(np.float64)


def percentiles(estimate: float, drawn: Floats, shape: tuple[int, int, float], method: str, least: float = -math.inf) -> Interval:
    """Percentile interval of resampled values; ``shape``: n, clusters, level. No interval under 10 clusters.

    Nor where resamples do not differ, as with an AUC of 1: an interval without width would claim certainty from a few clusters.
    """
    n, groups, level = shape
    if groups < MIN_CLUSTERS:
        return Interval(estimate, None, None, n, groups, level, method, f"no interval under {MIN_CLUSTERS} clusters ({groups} here)")
    if np.ptp(drawn) <= 1e-12 * max(1.0, float(np.abs(drawn).max())):
        return Interval(estimate, None, None, n, groups, level, method, "no interval: every resample gives the same value")
    low, high = (float(q) for q in np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2]))
    return Interval(estimate, max(least, low), max(least, high), n, groups, level, method)
