"""Where to cut: ROC, AUC and equal error rate of labelled pairs, and how far each domain's threshold lies from the pooled one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from observatory.calibration.scores import BLOCK, MOST_PAIRS, Graded, draws, percentiles
from observatory.statistics import MIN_CLUSTERS, Interval

Floats = NDArray[np.float64]
RESAMPLES, ENOUGH, MOST_POINTS = 400, 0.95, 400
POOLED = "all domains"
METHOD = "cluster bootstrap (percentile)"


@dataclass(frozen=True)
class Operating:
    """One domain's (or all pairs') discrimination and equal-error point. What cannot be had is None, and ``note`` says why.

    ``drift`` is this domain's equal-error threshold minus the pooled one, resampled together; None for the pooled row.
    ``fpr``, ``tpr``, ``thresholds``: the ROC curve from (0, 0) to (1, 1), at most ``MOST_POINTS`` points.
    """

    name: str
    n: int
    n_relevant: int
    n_clusters: int
    auc: Interval | None
    eer: Interval | None
    threshold: Interval | None
    drift: Interval | None
    note: str
    fpr: Floats
    tpr: Floats
    thresholds: Floats


def operating(g: Graded, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = 0.95) -> tuple[Operating, tuple[Operating, ...]]:
    """The pooled point and each domain's, domains by name. All come from the same resampled clusters, so a drift is a paired difference."""
    names = sorted(set(g.domains.tolist()))
    parts = [g, *(g.only(g.domains == name) for name in names)]
    of = np.unique(g.clusters)
    tables = [_Table(part, of) for part in parts]
    estimates = [t.measure(np.ones((1, of.size)))[0] for t in tables]
    block = max(1, min(BLOCK, BLOCK * MOST_PAIRS // tables[0].levels.size))  # a resample takes room for every score there is
    blocks = [[t.measure(counts) for t in tables] for counts in draws(rng, of.size, resamples, block)]
    drawn = [np.concatenate([block[i] for block in blocks]) for i in range(len(parts))]
    pooled = _point(POOLED, g, estimates[0], drawn[0], None, level)
    by_domain = tuple(
        _point(name, part, here, mine, (estimates[0], drawn[0]), level)
        for name, part, here, mine in zip(names, parts[1:], estimates[1:], drawn[1:], strict=True)
    )
    return pooled, by_domain


def equal_error(score: Floats, relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """Equal error rate and its threshold: where the share of relevant pairs below equals that of others at or above.

    Interpolated on a straight line between neighbouring scores (the ROC curve's own line). ValueError for one class.
    """
    if relevant.all() or not relevant.any():
        raise ValueError("the equal error rate needs pairs of both classes")
    n = score.size
    whole = Graded(score, relevant, np.zeros(n, dtype=np.int64), np.full(n, "", dtype=object), 1, n)
    _, rate, threshold = _Table(whole, np.zeros(1, dtype=np.int64)).measure(np.ones((1, 1)))[0]
    return float(rate), float(threshold)


class _Table:
    """Relevant and other pairs of each cluster at each score level: all that a resample of clusters needs."""

    def __init__(self, g: Graded, clusters: NDArray[np.int64]) -> None:
        self.levels, level = np.unique(g.score, return_inverse=True)
        owner = np.searchsorted(clusters, g.clusters)
        shape = (clusters.size, self.levels.size)
        self.relevant, self.others = (
            sparse.csr_array((np.ones(int(rows.sum())), (owner[rows], level[rows])), shape=shape) for rows in (g.relevant, ~g.relevant)
        )

    def measure(self, counts: Floats) -> Floats:
        """AUC, EER and its threshold, (resamples, 3); a row of nan where a resample lacks a class."""
        hit, miss = (np.asarray((table.T @ counts.T).T) for table in (self.relevant, self.others))
        below_hit, below_miss = np.cumsum(hit, axis=1), np.cumsum(miss, axis=1)
        n_hit, n_miss = below_hit[:, -1], below_miss[:, -1]
        both = (n_hit > 0) & (n_miss > 0)
        found = np.full((counts.shape[0], 3), np.nan)
        found[both, 0] = (hit * (below_miss - miss / 2)).sum(axis=1)[both] / (n_hit * n_miss)[both]
        found[both, 1:] = _crossing(self.levels, below_hit[both], below_miss[both])
        return found


def _crossing(levels: Floats, below_hit: Floats, below_miss: Floats) -> Floats:
    """EER and threshold of each row, (rows, 2), from counts at or below each level. At level i, pairs from level i on are called relevant."""
    start = np.zeros((below_hit.shape[0], 1))
    missed = np.hstack([start, below_hit]) / below_hit[:, -1:]  # column i: relevant pairs below level i; the last: all of them
    false = 1 - np.hstack([start, below_miss]) / below_miss[:, -1:]
    gap = missed - false  # rises from -1 to 1
    after = (gap >= 0).argmax(axis=1)
    rows, ends = np.arange(after.size), np.append(levels, levels[-1])  # above the largest score there is no further score
    a, b = gap[rows, after - 1], gap[rows, after]
    share = -a / (b - a)
    return np.column_stack([
        false[rows, after - 1] + share * (false[rows, after] - false[rows, after - 1]),
        ends[after - 1] + share * (ends[after] - ends[after - 1]),
    ])


def _point(
    name: str, g: Graded, estimate: Floats, drawn: Floats, pooled: tuple[Floats, Floats] | None, level: float
) -> Operating:
    n_relevant = int(g.relevant.sum())
    counts = (name, g.n, n_relevant, g.n_clusters)
    none = np.empty(0)
    if n_relevant in (0, g.n):
        which = "all relevant" if n_relevant else "none relevant"
        return Operating(*counts, None, None, None, None, f"one class only: {which} at grade {g.least_grade} or more", none, none, none)
    usable: NDArray[np.bool_] = np.asarray(~np.isnan(drawn).any(axis=1))
    auc, eer, threshold = (_interval(float(estimate[i]), drawn[usable, i], usable, g, level) for i in range(3))
    drift = None
    if pooled is not None and not np.isnan(pooled[0]).any():
        whole: NDArray[np.bool_] = np.asarray(usable & ~np.isnan(pooled[1]).any(axis=1))
        drift = _interval(float(estimate[2] - pooled[0][2]), (drawn[:, 2] - pooled[1][:, 2])[whole], whole, g, level)
    note = "all scores are equal" if np.ptp(g.score) == 0 else auc.note
    fpr, tpr, thresholds = curve(g.score, g.relevant)
    return Operating(*counts, auc, eer, threshold, drift, note, fpr, tpr, thresholds)


def _interval(estimate: float, drawn: Floats, usable: NDArray[np.bool_], g: Graded, level: float) -> Interval:
    """Resamples that lack a class have no value: they are left out while few, and with more there is no interval."""
    if g.n_clusters >= MIN_CLUSTERS and usable.mean() < ENOUGH:
        note = f"no interval: {int((~usable).sum())} of {usable.size} resamples lack a class"
        return Interval(estimate, None, None, g.n, g.n_clusters, level, METHOD, note)
    return percentiles(estimate, drawn, (g.n, g.n_clusters, level), METHOD)


def curve(score: Floats, relevant: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """False-positive rate, true-positive rate and threshold (scikit-learn's ``roc_curve``), thinned to ``MOST_POINTS`` for drawing."""
    from sklearn.metrics import roc_curve

    fpr, tpr, thresholds = roc_curve(relevant, score)
    keep = np.unique(np.linspace(0, fpr.size - 1, min(fpr.size, MOST_POINTS)).round().astype(int))
    return fpr[keep], tpr[keep], thresholds[keep]
