"""Margins of one set or of several: distributions, tails, and the rows and queries behind a mark."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from observatory.errors import InputError
from observatory.store.base import MISSING, Loaded

_TEXTS = (
    "select m.query_id, q.text as query, q.style, m.margin, m.outcome, m.reference_item_id, p.text as reference, "
    "m.reference_score, m.hardest_item_id, h.text as hardest, m.hardest_score, m.n_negatives, p.domain "
    "from margins m join queries q using (artifact_id, query_id) "
    "left join items p on p.artifact_id = m.artifact_id and p.item_id = m.reference_item_id "
    "left join items h on h.artifact_id = m.artifact_id and h.item_id = m.hardest_item_id"
)

class Margins(Loaded):
    """Readers of margins and pairwise margins."""

    def extent(self, set_ids: Sequence[str]) -> tuple[float, float] | None:
        """Smallest and largest margin of the sets; None where nothing was scored."""
        sql = f"select min(margin), max(margin) from {self._several(set_ids)}"
        low, high = self._connection.cursor().execute(sql).fetchone() or (None, None)
        return None if low is None else (low, high)

    def histogram(self, set_ids: Sequence[str], width: float) -> pd.DataFrame:
        """Counts in bins [i * width, (i + 1) * width): columns set_id, bin, n. Zero is always an edge."""
        return self._frame(
            f"select set_id, cast(floor(margin / ?) as bigint) as bin, count(*) as n from {self._several(set_ids)} group by all order by all",
            [width],
        )

    def ecdf(self, set_ids: Sequence[str], points: int = 400) -> pd.DataFrame:
        """Steps of the empirical distribution: set_id, margin, share (of margins <= margin), at most ``points`` a set.

        The last margin below zero, zero and the extremes are always among them, so that the loss rate reads off exactly.
        """
        return self._frame(
            f"with steps as (select set_id, margin, count(*) as n from {self._several(set_ids)} group by all), "
            "ranked as (select *, sum(n) over (partition by set_id order by margin) / sum(n) over (partition by set_id) as share, "
            "row_number() over (partition by set_id order by margin) as i, count(*) over (partition by set_id) as steps, "
            "max(case when margin < 0 then margin end) over (partition by set_id) as last_loss from steps) "
            "select set_id, margin, share from ranked "
            "where i = 1 or i = steps or margin = 0 or margin = last_loss "
            "or floor(i * $points / steps) > floor((i - 1) * $points / steps) order by set_id, margin",
            {"points": points},
        )

    def style_histogram(self, set_id: str, width: float) -> pd.DataFrame:
        """As :meth:`histogram` for one set, by query style: columns style, bin, n; a missing style is written."""
        return self._frame(
            f"select coalesce(q.style, '{MISSING}') as style, cast(floor(m.margin / ?) as bigint) as bin, count(*) as n from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where m.margin is not null group by all order by all",
            [width],
        )

    def style_ecdf(self, set_id: str, points: int = 200) -> pd.DataFrame:
        """As :meth:`ecdf` for one set, by query style: style, margin, share."""
        return self._frame(
            f"with steps as (select coalesce(q.style, '{MISSING}') as style, m.margin, count(*) as n from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where m.margin is not null group by all), "
            "ranked as (select *, sum(n) over (partition by style order by margin) / sum(n) over (partition by style) as share, "
            "row_number() over (partition by style order by margin) as i, count(*) over (partition by style) as steps, "
            "max(case when margin < 0 then margin end) over (partition by style) as last_loss from steps) "
            "select style, margin, share from ranked where i = 1 or i = steps or margin = 0 or margin = last_loss "
            "or floor(i * $points / steps) > floor((i - 1) * $points / steps) order by style, margin",
            {"points": points},
        )

    def tails(self, set_ids: Sequence[str], threshold: float = 0.0) -> pd.DataFrame:
        """Counts below, at and above a threshold: set_id, n_lt, n_eq, n_gt, n."""
        return self._frame(
            "select set_id, count(*) filter (margin < $t) as n_lt, count(*) filter (margin = $t) as n_eq, "
            f"count(*) filter (margin > $t) as n_gt, count(*) as n from {self._several(set_ids)} group by set_id order by set_id",
            {"t": threshold},
        )

    def quantiles(self, set_ids: Sequence[str], probabilities: Sequence[float]) -> pd.DataFrame:
        """Linear quantiles (type 7) of the margins: set_id, n, and ``quantiles`` as a list in the order asked for."""
        return self._frame(
            "select set_id, count(*) as n, quantile_cont(margin, [" + ", ".join(repr(float(p)) for p in probabilities) + "]) "
            f"as quantiles from {self._several(set_ids)} group by set_id order by set_id",
            [],
        )

    def margins_of(self, set_id: str) -> pd.DataFrame:
        """Scored margins with their clusters, for intervals: query_id, cluster_id, margin, in the benchmark's order."""
        return self._frame(
            f"select query_id, cluster_id, margin from {self._source(set_id, 'margins')} where margin is not null"
        )

    def queries_in(self, set_id: str, low: float, high: float, limit: int = 200, offset: int = 0) -> pd.DataFrame:
        """Queries with low <= margin < high and the texts behind the margin, smallest margin first."""
        return self._frame(
            f"{_TEXTS} where m.set_id = ? and m.margin >= ? and m.margin < ? order by m.margin, m.query_id limit ? offset ?",
            [set_id, low, high, limit, offset],
        )

    def queries_in_bin(self, set_id: str, index: int, width: float, limit: int = 200) -> pd.DataFrame:
        """The queries behind one bar of :meth:`histogram`, as :meth:`queries_in` gives them: the same bins to the bit."""
        return self._frame(
            f"{_TEXTS} where m.set_id = ? and m.margin is not null and floor(m.margin / ?) = ? "
            "order by m.margin, m.query_id limit ?",
            [set_id, width, index, limit],
        )

    def pairwise_of(self, set_id: str) -> pd.DataFrame:
        """Pairwise margins with relation and cluster, for strata: relation, cluster_id, margin."""
        return self._frame(
            "select w.relation, m.cluster_id, w.margin from pairwise w join margins m using (set_id, query_id) "
            "where w.set_id = ? order by w.relation, w.query_id, w.rank",
            [set_id],
        )

    def negatives_of(self, set_id: str, query_id: str) -> pd.DataFrame:
        """One query's negatives with texts, in the rule's order: rank, negative_item_id, relation, score, margin, text."""
        return self._frame(
            "select w.rank, w.negative_item_id, w.relation, w.score, w.margin, i.text from pairwise w "
            "left join items i on i.artifact_id = w.artifact_id and i.item_id = w.negative_item_id "
            "where w.set_id = ? and w.query_id = ? order by w.rank",
            [set_id, query_id],
        )

    def rows(self, view: str, set_ids: Sequence[str]) -> pd.DataFrame:
        """All rows of ``margins`` or ``pairwise`` for the sets, for export."""
        if view not in ("margins", "pairwise", "draws"):
            raise InputError("is no table that can be exported", value=view, mend="choose margins, pairwise or draws")
        return self._frame(f"select * exclude (artifact_id) from {view} where set_id in (select unnest(?))", [list(set_ids)])
