"""Strata of one margin set, and of two on the same queries: means, helped and hurt, with what is too small marked.

Pure computations over the rows of ``Store.stratified`` and ``Store.paired_strata``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from observatory import statistics
from observatory.statistics import Interval

SMALL_N, SMALL_CLUSTERS = 10, 5


@dataclass(frozen=True)
class Stratum:
    """One value of a column in one margin set: mean margin over clusters, win rate by Clopper-Pearson."""

    set_id: str
    name: str
    mean: Interval
    wins: Interval

    @property
    def small(self) -> str:
        """Why there is little to go by, or nothing."""
        return small(self.mean.n, self.mean.n_clusters)


@dataclass(frozen=True)
class PairedStratum:
    """One value of a column for two margin sets, in the shape of seed 002's per-text table.

    ``delta`` is the mean of other minus baseline, None without a common unit. Helped and hurt are shares of pairs
    whose margin rose and fell; without a common unit, whose outcome (loss < tie < win) did. ``gained`` and ``lost`` count wins.
    """

    name: str
    n: int
    n_clusters: int
    delta: Interval | None
    helped: Interval
    hurt: Interval
    gained: int
    lost: int

    @property
    def small(self) -> str:
        return small(self.n, self.n_clusters)


def small(n: int, n_clusters: int) -> str:
    """Why a stratum is marked as small: n below 10, or fewer than 5 clusters; empty where it is not."""
    reasons = [f"n = {n}"] if n < SMALL_N else []
    reasons += [f"{n_clusters} cluster{'' if n_clusters == 1 else 's'}"] if n_clusters < SMALL_CLUSTERS else []
    return f"small: {', '.join(reasons)}" if reasons else ""


def of_margins(set_id: str, rows: pd.DataFrame) -> list[Stratum]:
    """Strata of one set, lowest mean first. ``rows``: stratum, cluster, margin."""
    found = []
    for name, clusters, (margin,) in _groups(rows, ("margin",)):
        wins = statistics.clopper_pearson(int((margin > 0).sum()), margin.size)
        found.append(Stratum(set_id, name, statistics.cluster_mean(margin, clusters), wins))
    return sorted(found, key=lambda s: (s.mean.estimate, s.name))


def of_pairs(rows: pd.DataFrame, same_unit: bool) -> list[PairedStratum]:
    """Strata of two sets, best for the other set first. ``rows``: stratum, cluster, before, after."""
    found = []
    for name, clusters, (before, after) in _groups(rows, ("before", "after")):
        change = after - before if same_unit else np.sign(after) - np.sign(before)
        n = change.size
        found.append(
            PairedStratum(
                name, n, len(np.unique(clusters)), statistics.cluster_mean(change, clusters) if same_unit else None,
                statistics.clopper_pearson(int((change > 0).sum()), n), statistics.clopper_pearson(int((change < 0).sum()), n),
                int(((before <= 0) & (after > 0)).sum()), int(((before > 0) & (after <= 0)).sum()),
            )
        )
    return sorted(found, key=lambda s: (-_net(s), s.name))


def _net(s: PairedStratum) -> float:
    return s.delta.estimate if s.delta is not None else s.helped.estimate - s.hurt.estimate


def _groups(rows: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[tuple[str, NDArray[Any], list[NDArray[np.float64]]]]:
    """Each stratum's name, clusters and values, after one sort of all rows."""
    if rows.empty:
        return
    codes, names = pd.factorize(rows["stratum"].astype(str), sort=True)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    clusters = np.split(rows["cluster"].to_numpy()[order], cuts)
    values = [np.split(rows[c].to_numpy(dtype=np.float64)[order], cuts) for c in columns]
    for i, name in enumerate(names):
        yield str(name), clusters[i], [v[i] for v in values]
