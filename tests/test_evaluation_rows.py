"""Rows of an evaluation beside each other: a table of another run, a name or context that is none, a value that its ranking does not give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from observatory import admission, artifacts, evaluation, metrics
from observatory.artifacts import Artifact
from observatory.descriptor import space_id
from observatory.errors import DescriptorRefused
from observatory.runs import Plan, run
from observatory.tables import EVERY

METRICS = ("nDCG@10", "R(rel=2)@5", "Judged@5", "AP")


@pytest.fixture
def whole(small: Path, tmp_path: Path) -> Artifact:
    return artifacts.read(run(Plan(str(small), "bm25:okapi", ("random",), k=3, metrics=METRICS, depth=10), tmp_path / "a"))


@pytest.fixture
def other(small: Path, tmp_path: Path) -> Artifact:
    """Another scorer, another depth."""
    return artifacts.read(run(Plan(str(small), "bm25:bm25s", ("random",), k=3, metrics=METRICS, depth=12), tmp_path / "b"))


def forged(artifact: Artifact, tables: dict[str, pa.Table], out: Path, record: dict[str, Any] | None = None) -> list[str]:
    """Faults of an artifact whose numbers a forger computed again and locked."""
    assert artifact.evaluation is not None
    record, tables = record or artifact.evaluation.model_dump(), dict(artifact.tables) | tables
    numbers = metrics.numbers(list(record["metrics"]), tables)
    for name, values in numbers.pop("metrics").items():
        record["metrics"][name] |= values
    record["judged"] |= numbers.pop("judged")
    for name, values in numbers.items():
        record[name] |= values
    written = artifacts.write(out, replace(artifact, tables=tables, evaluation=evaluation.parse(record, "forged")))
    try:
        admission.admit(written)
    except DescriptorRefused as refused:
        return list(refused.faults)
    return []


def changed(artifact: Artifact, name: str, change: Callable[[list[dict[str, Any]]], object]) -> dict[str, pa.Table]:
    rows = artifact.tables[name].to_pylist()
    change(rows)
    return {name: pa.Table.from_pylist(rows, schema=EVERY[name])}


def test_what_nobody_touched_is_admitted(whole: Artifact, tmp_path: Path) -> None:
    assert forged(whole, {}, tmp_path / "out") == []


@pytest.mark.parametrize(
    ("table", "said"),
    [("metrics", "its ranking and judgments give"), ("rankings", "same number of ranks"), ("judged", "another score than in rankings")],
)
def test_a_table_of_another_run_is_refused(whole: Artifact, other: Artifact, tmp_path: Path, table: str, said: str) -> None:
    assert any(said in fault for fault in forged(whole, {table: other.tables[table]}, tmp_path / "out"))


ROWS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], object], str]] = {
    "a value too large": ("metrics", lambda rows: rows[0].update(value=7.0), "outside [0, 1]"),
    "a value made up": ("metrics", lambda rows: rows[0].update(value=0.123), "is 0.123, its ranking"),
    "a value in another cluster": ("metrics", lambda rows: rows[0].update(cluster_id="x"), "metrics.parquet: a query is in another cluster"),
    "a pair in another cluster": ("judged", lambda rows: rows[0].update(cluster_id="x"), "judged.parquet: a query is in another cluster"),
    "a pair twice": ("judged", lambda rows: rows.append(rows[0]), "a pair stands twice"),
    "a pair of nobody": ("judged", lambda rows: rows[-1].update(query_id="nobody"), "not attempted"),
    "a negative grade": ("judged", lambda rows: rows[-1].update(grade=-5), "from 0 to 1000"),
    "an endless grade": ("judged", lambda rows: rows[-1].update(grade=2**62), "from 0 to 1000"),
    "a query that lost its relevant pairs": (
        "judged", lambda rows: [row.update(grade=0) for row in rows if row["query_id"] == "q0"], "not those that were measured"
    ),
    "an item twice in a ranking": ("rankings", lambda rows: rows[1].update(item_id=rows[0]["item_id"]), "an item stands twice"),
    "a ranking cut short": ("rankings", lambda rows: rows.pop(), "same number of ranks"),
    "a ranking that is missing": ("rankings", lambda rows: [rows.pop() for _ in range(10)], "lacks one that was"),
    "a score of its own": ("judged", lambda rows: rows[0].update(score=1e308), "another score than in"),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_do_not_fit_are_refused(whole: Artifact, tmp_path: Path, case: str) -> None:
    table, change, said = ROWS[case]
    found = forged(whole, changed(whole, table, change), tmp_path / "out")
    assert any(said in fault for fault in found), found


RECORDS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "depth too small": (lambda e: e.update(depth=9), "9 at most"), "no depth": (lambda e: e.update(depth="not_applicable"), "belongs to metrics"),
    "corpus": (lambda e: e.update(corpus_hash="0" * 64), "is not that of the margin set random"),
    "query set": (lambda e: e.update(query_set_id="another"), "is not that of the margin set random"),
    "cluster rule": (lambda e: e["clusters"].update(rule="by the moon"), "is not that of the margin set random"),
    "cutoff": (lambda e: e["metrics"]["nDCG@10"]["context"].update(cutoff=5), "is not the metric's, 10"),
    "relevance": (lambda e: e["metrics"]["AP"]["context"].update(relevance_definition="grade >= 2"), "grade >= 1"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_records_that_do_not_fit_are_refused(whole: Artifact, tmp_path: Path, case: str) -> None:
    assert whole.evaluation is not None
    record, (change, said) = whole.evaluation.model_dump(), RECORDS[case]
    change(record)
    found = forged(whole, {}, tmp_path / "out", record)
    assert any(said in fault for fault in found), found


def test_the_evaluation_of_another_scorer_is_refused(whole: Artifact, tmp_path: Path) -> None:
    assert whole.evaluation is not None
    record = whole.evaluation.model_dump()
    record["scorer"]["name"] = "another"
    record["scorer"]["space_id"] = space_id(record["scorer"])
    assert any("evaluation.scorer: is not that" in fault for fault in forged(whole, {}, tmp_path / "out", record))


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "%{x}", "x" * 10_000, "win rate, random", "nDCG@10 ", "a\nb", "MAP", "=1+1"])
def test_a_metric_whose_name_is_none_is_refused(whole: Artifact, tmp_path: Path, name: str) -> None:
    assert whole.evaluation is not None
    record = whole.evaluation.model_dump()
    record["metrics"] = {name if key == "AP" else key: value for key, value in record["metrics"].items()}
    renamed = changed(whole, "metrics", lambda rows: [row.update(metric=name) for row in rows if row["metric"] == "AP"])
    (fault,) = forged(whole, renamed, tmp_path / "out", record)
    assert "is no metric that is offered here" in fault and len(fault) < 200
