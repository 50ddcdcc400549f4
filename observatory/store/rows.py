"""What is written into DuckDB: rows of the typed tables, views over Parquet files, and names in quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from observatory.artifacts import Artifact
from observatory.descriptor import NegativeSetDescriptor, not_recorded
from observatory.tables import TABLES


def artifact_row(artifact: Artifact, folder: Path) -> list[Any]:
    """One row of ``artifacts``, in the order of schema.sql."""
    evaluation = artifact.evaluation
    models = dict.fromkeys(s.name for s in [*(d.scorer for d in artifact.descriptors.values()), *([evaluation.scorer] if evaluation else [])])
    return [
        artifact.id, artifact.kind, artifact.title, str(folder), "locked" if artifact.locked else "unlocked",
        ", ".join(models), str(artifact.benchmark.get("name", "not recorded")), str(artifact.run.get("started", "not recorded")),
        str(artifact.run.get("source", "fresh run")), json.dumps(artifact.run), json.dumps(artifact.benchmark),
        json.dumps(evaluation.model_dump()) if evaluation else None,
    ]


def set_row(artifact: Artifact, position: int, rule: str, d: NegativeSetDescriptor) -> list[Any]:
    """One row of ``margin_sets``, in the order of schema.sql: what is not measured or not recorded is null."""
    a, o, e = d.accounting, d.outcomes, d.expectation
    interval = None if isinstance(o.mean_ci, str) else o.mean_ci
    numbers = [
        a.n_attempted, a.n_scored, a.n_excluded, a.n_failed, d.clusters.n_clusters, o.mean_margin,
        interval and interval.low, interval and interval.high, o.median_margin, o.p05, o.p10, o.selected_positive_win_rate,
        o.n_lt_zero, o.n_eq_zero, o.n_gt_zero,
        *((None, None, None) if isinstance(e, str) else (e.mean_margin, e.win_rate, e.sd_of_mean_margin)),
    ]
    return [
        f"{artifact.id}/{rule}", artifact.id, position, rule, d.mining.method, d.mining.slice, str(d.mining.count_per_query),
        d.corpus_hash, d.query_set_id, d.reference_positive.rule, d.scorer.space_id, d.scorer.metric,
        json.dumps(d.model_dump()), len(not_recorded(d)), *(None if isinstance(n, str) else n for n in numbers),
    ]


def view(name: str, files: Iterable[tuple[str, str]]) -> str:
    """SQL of a view over ``files``: their columns, the artifact's id and, where there is a rule, the set's id."""
    listed = list(files)
    has_rule = name in ("margins", "pairwise", "draws")
    set_id = "artifact_id || '/' || rule as set_id, " if has_rule else ""
    if not listed:
        columns = ", ".join(f"null::{sql_type(f.type)} as {f.name}" for f in TABLES[name])
        return f"select {set_id}* from (select null::varchar as artifact_id, {columns}) where false"
    paths_sql = ", ".join(f"'{pattern(path)}'" for _, path in listed)
    pairs = ", ".join(f"'{quoted(path)}': '{quoted(identifier)}'" for identifier, path in listed)
    return (
        f"select {set_id}* from (select map {{{pairs}}}[filename] as artifact_id, * exclude (filename) "
        f"from read_parquet([{paths_sql}], filename = true))"
    )


def sql_type(arrow: Any) -> str:
    """DuckDB's name of a column's type."""
    return {"string": "varchar", "double": "double", "int64": "bigint"}[str(arrow)]


def printable(text: object) -> str:
    """Text as UTF-8 can hold it: bytes of a file name that are none become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def pattern(path: str) -> str:
    """A path in SQL quotes for ``read_parquet``, which reads ``*``, ``?`` and ``[`` as a pattern."""
    return quoted(re.sub(r"[*?\[]", r"[\g<0>]", path))


def quoted(text: str) -> str:
    """Text as it may stand between single quotes in SQL."""
    return text.replace("'", "''")
