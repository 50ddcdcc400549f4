"""Two margin sets on the same queries."""

from __future__ import annotations

import pandas as pd

from observatory.store.base import MISSING, Loaded

PAIRWISE = "relation (pairwise)"
STRATA = {
    "source text": "m.source_text", "domain": "m.domain", "query style": "m.style",
    "relation of the hardest negative": "m.relation", "number of negatives": "cast(m.n_negatives as varchar)", "outcome": "m.outcome",
}
"""Columns that queries can be grouped by: the text and domain of the reference positive, the query's style, its hardest negative."""


def value_of(stratum: str) -> str | None:
    """A stratum's value in the table: what is missing there is written on screens."""
    return None if stratum == MISSING else stratum


class Pairs(Loaded):
    """Readers of what two sets share, query by query."""

    def _pairs(self, baseline: str, other: str) -> str:
        """SQL that begins with ``pairs``: queries scored in both sets. Where the query sets differ, texts must agree too."""
        same = self.descriptor(baseline).query_set_id == self.descriptor(other).query_set_id
        texts = "" if same else (
            f"join {self._source(baseline, 'queries')} ta using (query_id) "
            f"join {self._source(other, 'queries')} tb on tb.query_id = a.query_id and tb.text = ta.text "
        )
        return (
            "with pairs as (select a.query_id, a.cluster_id, a.margin as before, b.margin as after, "
            "b.margin - a.margin as difference, sign(a.margin) <> sign(b.margin) as flip "
            f"from (select * from {self._source(baseline, 'margins')} where margin is not null) a "
            f"join (select * from {self._source(other, 'margins')} where margin is not null) b using (query_id) {texts}), "
            "ranked as (select *, (rank() over (order by before) + (count(*) over (partition by before) - 1) / 2 - 0.5) "
            "/ count(*) over () as before_rank, (rank() over (order by after) + (count(*) over (partition by after) - 1) / 2 - 0.5) "
            "/ count(*) over () as after_rank from pairs) "
        )

    def pairs(self, baseline: str, other: str) -> pd.DataFrame:
        """Margins of the queries scored in both: cluster (a number), before, after; clusters are the baseline's."""
        return self._frame(
            self._pairs(baseline, other)
            + "select dense_rank() over (order by cluster_id) as cluster, before, after from pairs order by query_id"
        )

    def pair_points(self, baseline: str, other: str, most: int = 1500) -> pd.DataFrame:
        """Points of a scatter: every flip (another outcome), then other queries by the hash of their ids, at most ``most``.

        Columns query_id, query (at most 90 characters), before, after, flip, before_rank and after_rank: mid-rank
        percentiles in [0, 1] among the shared queries.
        """
        return self._frame(
            self._pairs(baseline, other)
            + "select r.* exclude (cluster_id, difference), left(q.text, 90) as query from "
            "(select * from ranked order by flip desc, hash(query_id), query_id limit $most) r "
            f"join {self._source(baseline, 'queries')} q using (query_id) order by flip, query_id",
            {"most": most},
        )

    def pair_histogram(self, baseline: str, other: str, width: float) -> pd.DataFrame:
        """Counts of the paired differences in bins [i * width, (i + 1) * width): bin, n. Zero is always an edge."""
        return self._frame(
            self._pairs(baseline, other)
            + "select cast(floor(difference / $width) as bigint) as bin, count(*) as n from pairs group by all order by all",
            {"width": width},
        )

    def pair_queries(
        self, baseline: str, other: str, *, index: int | None = None, width: float | None = None, query_id: str | None = None,
        stratum: tuple[str, str] | None = None, ranks: bool = False, limit: int = 200,
    ) -> pd.DataFrame:
        """Shared queries with their texts under both sets, the largest contrast first.

        Those of one bar of :meth:`pair_histogram`, one query, or one stratum (column, value); by default the flips.
        ``ranks`` sorts by the contrast of percentiles, for scorers without a common unit.
        """
        where = "r.flip"
        if index is not None and width is not None:
            where = "cast(floor(r.difference / $width) as bigint) = $index"
        elif query_id is not None:
            where = "r.query_id = $query_id"
        elif stratum is not None:
            rows = self._source(baseline, "pairwise") if stratum[0] == PAIRWISE else self._scored(baseline)
            column = STRATA.get(stratum[0], "m.relation")
            where = f"r.query_id in (select query_id from {rows} m where {column} is not distinct from $stratum)"
        values = {"width": width, "index": index, "query_id": query_id, "stratum": value_of(stratum[1]) if stratum else None, "limit": limit}
        contrast = "abs(after_rank - before_rank)" if ranks else "abs(difference)"
        return self._frame(
            self._pairs(baseline, other)
            + f", chosen as materialized (select * from ranked r where {where} order by {contrast} desc, query_id limit $limit) "
            "select r.*, a.query, a.style, a.reference as reference_before, b.reference as reference_after, a.hardest as "
            "hardest_before, b.hardest as hardest_after, a.outcome as outcome_before, b.outcome as outcome_after, "
            "a.reference_score as score_before, b.reference_score as score_after, a.hardest_score as against_before, "
            "b.hardest_score as against_after, a.n_negatives as n_before, b.n_negatives as n_after "
            f"from chosen r join {self._worded(baseline)} a using (query_id) join {self._worded(other)} b using (query_id) "
            f"order by {contrast} desc, query_id",
            {name: value for name, value in values.items() if f"${name}" in f"{where} $limit"},
        )
