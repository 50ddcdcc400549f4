"""One query under one set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from observatory.store.base import Loaded


class Queries(Loaded):
    """Readers of single queries and their candidates."""

    def query_ids(self, set_id: str, sort: str = "file", against: str | None = None, find: str = "") -> list[str]:
        """Attempted queries of a set whose id or text holds ``find`` (any case), in an order.

        ``file``: the benchmark's own; ``smallest`` or ``largest`` margin first; ``contrast``: the largest difference
        between the margins here and in the set ``against`` first. Queries without a margin come last.
        """
        where, values = "(contains(lower(q.text), lower($find)) or contains(lower(q.query_id), lower($find)))", {"find": find}
        if sort == "file":
            sql = f"select q.query_id from {self._source(set_id, 'queries')} q where {where}"
        else:
            other = self._source(against or set_id, "margins")
            order = {"smallest": "m.margin", "largest": "m.margin desc", "contrast": "abs(m.margin - o.margin) desc"}[sort]
            sql = (
                f"select query_id from {self._source(set_id, 'margins')} m join {self._source(set_id, 'queries')} q using (query_id) "
                + (f"left join {other} o using (query_id) " if sort == "contrast" else "")
                + f"where {where} order by {order} nulls last, query_id"
            )
        return [row[0] for row in self._connection.cursor().execute(sql, values).fetchall()]

    def query_list(self, set_id: str, query_ids: Sequence[str]) -> pd.DataFrame:
        """These queries with their margins, in the order asked for: query_id, query, style, margin, outcome."""
        frame = self._frame(
            f"select query_id, q.text as query, q.style, m.margin, m.outcome from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where query_id in (select unnest(?))",
            [list(query_ids)],
        )
        return frame.set_index("query_id").reindex([i for i in query_ids if i in set(frame["query_id"])]).reset_index()

    def query_of(self, set_id: str, query_id: str) -> dict[str, Any] | None:
        """One query under one set, with its texts: a margins row, query, style, target_item_id, reference, domain."""
        frame = self._frame(
            "select m.*, q.text as query, q.style, q.target_item_id, p.text as reference, p.domain "
            f"from (select * from {self._source(set_id, 'margins')} where query_id = $query) m "
            f"join {self._source(set_id, 'queries')} q using (query_id) "
            f"left join {self._source(set_id, 'items')} p on p.item_id = m.reference_item_id",
            {"query": query_id},
        )
        return None if frame.empty else {str(k): None if pd.isna(v) else v for k, v in frame.iloc[0].items()}

    def candidates_of(self, set_id: str, query_id: str, always: str = "", limit: int = 100) -> pd.DataFrame:
        """One query's negatives in the rule's order, as :meth:`negatives_of`, from the set's own file.

        The first ``limit`` of them, and the item ``always`` wherever it stands.
        """
        return self._frame(
            "select w.rank, w.negative_item_id, w.relation, w.score, w.margin, i.text "
            f"from (select * from {self._source(set_id, 'pairwise')} where query_id = $query) w "
            f"left join {self._source(set_id, 'items')} i on i.item_id = w.negative_item_id "
            "qualify row_number() over (order by w.rank) <= $limit or w.negative_item_id = $always order by w.rank",
            {"query": query_id, "limit": limit, "always": always},
        )
