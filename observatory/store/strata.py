"""Margins by a column of their queries, or by the relation of a designated negative."""

from __future__ import annotations

import pandas as pd

from observatory.store.base import MISSING
from observatory.store.pairs import PAIRWISE, STRATA, Pairs, value_of


class Strata(Pairs):
    """Readers of strata, of one set and of two."""

    def stratum_columns(self, set_id: str) -> dict[str, int]:
        """How many values each column that can be stratified by has in one set, missing ones left out."""
        counts = ", ".join(f"count(distinct {expression})" for expression in STRATA.values())
        row = self._connection.cursor().execute(f"select {counts} from {self._scored(set_id)} m").fetchone() or ()
        pairwise = self._connection.cursor().execute(f"select count(distinct relation) from {self._source(set_id, 'pairwise')}").fetchone()
        return {**dict(zip(STRATA, row, strict=True)), PAIRWISE: pairwise[0] if pairwise else 0}

    def stratified(self, set_id: str, by: str) -> pd.DataFrame:
        """Margins with the stratum they fall in: stratum, cluster (a number), margin.

        ``PAIRWISE`` gives one row for each designated negative with its pairwise margin; any other column one for each query.
        """
        if by == PAIRWISE:
            rows = (
                f"(select w.relation as stratum, m.cluster_id, w.margin from {self._source(set_id, 'pairwise')} w "
                f"join {self._source(set_id, 'margins')} m using (query_id) where m.margin is not null and w.relation is not null)"
            )
        else:
            rows = f"(select {STRATA[by]} as stratum, cluster_id, margin from {self._scored(set_id)} m)"
        return self._frame(
            f"select coalesce(stratum, '{MISSING}') as stratum, dense_rank() over (order by cluster_id) as cluster, margin from {rows}"
        )

    def paired_strata(self, baseline: str, other: str, by: str) -> pd.DataFrame:
        """Margins of what both sets share, by the baseline's strata: stratum, cluster (a number), before, after.

        ``PAIRWISE`` pairs the same query and the same designated negative; any other column pairs queries.
        """
        if by == PAIRWISE:
            rows = (
                "(select w.relation as stratum, p.cluster_id, w.margin as before, v.margin as after from pairs p "
                f"join {self._source(baseline, 'pairwise')} w using (query_id) join {self._source(other, 'pairwise')} v "
                "on v.query_id = w.query_id and v.negative_item_id = w.negative_item_id and v.relation = w.relation)"
            )
        else:
            rows = (
                f"(select {STRATA[by]} as stratum, p.cluster_id, p.before, p.after from pairs p "
                f"join {self._scored(baseline)} m using (query_id))"
            )
        return self._frame(
            self._pairs(baseline, other) + f"select coalesce(stratum, '{MISSING}') as stratum, "
            f"dense_rank() over (order by cluster_id) as cluster, before, after from {rows}"
        )

    def queries_in_stratum(self, set_id: str, by: str, stratum: str, limit: int = 200) -> pd.DataFrame:
        """Scored queries of a stratum with their texts, smallest margin first, in the columns of :meth:`queries_in`.

        Under ``PAIRWISE`` the hardest negative is the hardest one of that relation, and the margin is the one to it.
        """
        columns = "m.query_id, query, style, margin, outcome, reference_item_id, reference, reference_score, hardest_item_id, hardest, hardest_score, n_negatives, domain"
        rows, where = self._scored(set_id), f"{STRATA.get(by, 'm.relation')} is not distinct from $stratum"
        if by == PAIRWISE:
            rows = (
                "(select m.* exclude (margin, outcome, hardest_item_id, hardest, hardest_score, relation), w.margin, w.relation, "
                "case sign(w.margin) when 1 then 'win' when 0 then 'tie' else 'loss' end as outcome, "
                "w.negative_item_id as hardest_item_id, i.text as hardest, w.score as hardest_score "
                f"from {rows} m join {self._source(set_id, 'pairwise')} w using (query_id) "
                f"left join {self._source(set_id, 'items')} i on i.item_id = w.negative_item_id "
                "qualify row_number() over (partition by m.query_id, w.relation order by w.margin, w.rank) = 1)"
            )
        return self._frame(
            f"select {columns} from {rows} m where {where} order by margin, m.query_id limit $limit",
            {"stratum": value_of(stratum), "limit": limit},
        )

    def hardness(self, set_id: str, threshold: float) -> pd.DataFrame:
        """Scored queries by the relation of their hardest negative and by margin: relation, n_le_zero, n_le, n_gt, n.

        ``n_le`` counts 0 < margin <= threshold and ``n_gt`` what is above.
        """
        return self._frame(
            f"select coalesce(relation, '{MISSING}') as relation, count(*) filter (margin <= 0) as n_le_zero, "
            "count(*) filter (margin > 0 and margin <= $t) as n_le, count(*) filter (margin > $t) as n_gt, count(*) as n "
            f"from {self._scored(set_id)} group by all order by n desc, relation",
            {"t": threshold},
        )
