"""Retrieval metrics, rankings and labelled pairs of an artifact."""

from __future__ import annotations

import json

import pandas as pd

from observatory.descriptor import EvaluationContext
from observatory.evaluation import Evaluation
from observatory.evaluation import parse as parse_evaluation
from observatory.store.base import Loaded
from observatory.store.rows import pattern, sql_type
from observatory.tables import EVALUATION


class Evaluations(Loaded):
    """Readers of evaluations."""

    def evaluation(self, artifact_id: str) -> Evaluation | None:
        """Metrics and labelled pairs of an artifact with their contexts; None where its run kept none."""
        row = self._connection.cursor().execute("select evaluation from artifacts where artifact_id = ?", [artifact_id]).fetchone()
        return parse_evaluation(json.loads(row[0]), subject=artifact_id) if row is not None and row[0] is not None else None

    def evaluated(self) -> pd.DataFrame:
        """One row an artifact with metrics, newest first: artifact_id, title, model, benchmark, lock_state, started."""
        return self._frame(
            "select artifact_id, title, model, benchmark, lock_state, started from artifacts "
            "where evaluation is not null and len(json_keys(evaluation, '$.metrics')) > 0 order by started desc, artifact_id"
        )

    def judged_context(self, artifact_id: str) -> EvaluationContext | None:
        """What defines the labelled pairs of an artifact; None where it holds none."""
        found = self.evaluation(artifact_id)
        return found.judged.context if found is not None and not isinstance(found.judged, str) else None

    def judged(self, artifact_id: str) -> pd.DataFrame:
        """Scores of labelled pairs: query_id, cluster_id, item_id, domain, grade, relation, score. Empty where none were kept."""
        return self._frame(f"select * from {self._table(artifact_id, 'judged')}")

    def metric_values(self, artifact_id: str, metric: str) -> pd.DataFrame:
        """A metric per query: query_id, cluster_id, value, in the benchmark's order."""
        return self._frame(f"select query_id, cluster_id, value from {self._table(artifact_id, 'metrics')} where metric = ?", [metric])

    def metric_queries(self, artifact_id: str, metric: str, limit: int = 200) -> pd.DataFrame:
        """Queries with their values of a metric and texts, lowest value first: query_id, query, value."""
        return self._frame(
            f"select m.query_id, q.text as query, m.value from {self._table(artifact_id, 'metrics')} m "
            f"join read_parquet('{pattern(str(self.folder(artifact_id) / 'queries.parquet'))}') q using (query_id) "
            "where m.metric = ? order by m.value, m.query_id limit ?",
            [metric, limit],
        )

    def rankings(self, artifact_id: str) -> pd.DataFrame:
        """The top of each query's ranking: query_id, item_id, rank, score."""
        return self._frame(f"select query_id, item_id, rank, score from {self._table(artifact_id, 'rankings')}")

    def _table(self, artifact_id: str, name: str) -> str:
        """SQL of an evaluation's table, from the artifact's own file; an empty one where it has no evaluation."""
        if self.evaluation(artifact_id) is None:
            columns = ", ".join(f"null::{sql_type(f.type)} as {f.name}" for f in EVALUATION[name])
            return f"(select {columns} where false)"
        return f"(select * from read_parquet('{pattern(str(self.folder(artifact_id) / f'{name}.parquet'))}'))"
