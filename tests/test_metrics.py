"""Retrieval metrics: by hand, against scikit-learn, on full rankings whatever is cut off, and never without a context."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import ndcg_score

from observatory import admission, artifacts, benchmarks, metrics, runs
from observatory.cli import main
from observatory.errors import DescriptorRefused, InputError
from observatory.negatives.base import ranking
from observatory.runs import Plan, run
from observatory.store import Store
from observatory.tables import EVALUATION
from tests.conftest import TableScorer, item, query, relate_folder

NAMES = ("nDCG@10", "RR", "AP", "R@5", "P@3", "Success@1", "Rprec")


def by_hand(grades: Mapping[str, int], ranked: Sequence[str]) -> dict[str, float]:
    """The textbook formulas, on the whole ranking."""
    relevant = {i for i, g in grades.items() if g >= 1}
    hits = [i in relevant for i in ranked]
    ranks = [r for r, hit in enumerate(hits, 1) if hit]
    gains = [grades.get(i, 0) for i in ranked]

    def dcg(values: Sequence[int]) -> float:
        return sum(g / np.log2(r + 1) for r, g in enumerate(values[:10], 1))

    return {
        "nDCG@10": dcg(gains) / dcg(sorted(grades.values(), reverse=True)), "RR": 1 / ranks[0],
        "AP": sum((n / r) for n, r in enumerate(ranks, 1)) / len(relevant), "R@5": sum(hits[:5]) / len(relevant),
        "P@3": sum(hits[:3]) / 3, "Success@1": float(hits[0]), "Rprec": sum(hits[: len(relevant)]) / len(relevant),
    }


@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_the_formulas_on_the_whole_ranking(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = [f"d{i}" for i in rng.permutation(60)]
    grades = {f"d{i}": int(rng.integers(1, 4)) for i in rng.choice(60, size=int(rng.integers(1, 8)), replace=False)}
    measures = [metrics.measure(name) for name in NAMES]
    last = max(ids.index(i) for i in grades) + 1
    deep = metrics.depth(measures, lambda: last)
    found = metrics.values(measures, grades, ids[:deep])
    assert found == pytest.approx(by_hand(grades, ids), abs=1e-9)
    relevance = np.array([[grades.get(i, 0) for i in ids]])
    assert found["nDCG@10"] == pytest.approx(ndcg_score(relevance, -np.arange(60)[None, :], k=10), abs=1e-9)


def test_ids_are_told_apart_behind_a_nul() -> None:
    """trec_eval would take these for one document, and read beyond its memory."""
    measures, ids = [metrics.measure(name) for name in NAMES], [f"x\0{i}" for i in range(30)]
    grades = {ids[2]: 3, ids[9]: 1}
    assert metrics.values(measures, grades, ids) == pytest.approx(by_hand(grades, ids), abs=1e-9)


def test_a_higher_grade_that_a_query_lacks_counts_as_zero_and_the_context_says_so() -> None:
    assert metrics.values([metrics.measure("AP(rel=2)")], {"a": 1}, ["a"]) == {"AP(rel=2)": 0.0}
    assert "below grade 2 counts as 0" in metrics.context("AP(rel=2)", 5).missing_queries_policy
    assert "counts as 0" not in metrics.context("AP", 5).missing_queries_policy


def test_depth_looks_for_the_last_relevant_item_only_where_a_measure_has_no_cutoff() -> None:
    def never() -> int:
        raise AssertionError("not needed")

    assert metrics.depth([metrics.measure("nDCG@10"), metrics.measure("R@100")], never) == 100
    assert metrics.depth([metrics.measure("nDCG@10"), metrics.measure("AP")], lambda: 4711) == 4711


@pytest.mark.parametrize("seed", range(10))
def test_a_slice_of_the_ranking_is_the_slice_of_the_whole_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 30, size=400).astype(np.float64)  # full of ties
    excluded = rng.choice(400, size=5, replace=False)
    whole = ranking(scores, excluded)
    assert (np.diff(scores[whole]) <= 0).all() and whole.size == 395
    for stop in (1, 7, 60, 399, 1000):
        assert ranking(scores, excluded, stop).tolist() == whole[:stop].tolist()


@pytest.mark.parametrize("name", ["nDCG@0", "nDCG@-1", "R", "accuracy", "nDCG@10foo", "", "P", "nDCG(dcg='exp-log2')@10", "infAP", "__import__('os')", "RBP",
    "nDCG@1.5", f"nDCG@{2**63}", "AP(rel=0)", f"AP(rel={2**40})", "AP(rel='a')", "P(rel=1.5)@3"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        metrics.parse_names([name])


def test_aliases_are_one_metric() -> None:
    assert metrics.parse_names(["MRR", "MAP", "Recall@5"]) == ("RR", "AP", "R@5")
    with pytest.raises(InputError, match="named twice"):
        metrics.parse_names(["MRR", "RR"])


@pytest.fixture
def evaluated(small: Path, tmp_path: Path) -> Path:
    return run(Plan(str(small), "bm25:okapi", ("random",), k=3, metrics=("nDCG@10", "AP"), depth=7), tmp_path / "evaluated")


def test_the_artifact_holds_values_contexts_rankings_and_labelled_pairs(evaluated: Path, small: Path) -> None:
    found = admission.admit(evaluated)
    assert found.evaluation is not None
    a, ndcg = found.evaluation.accounting, found.evaluation.metrics["nDCG@10"]
    assert (a.n_attempted, a.n_scored, a.n_excluded, a.n_failed) == (16, 16, 0, 0)
    assert ndcg.n == 16 and ndcg.context.cutoff == 10 and "64 items" in ndcg.context.candidate_pool
    assert found.evaluation.metrics["AP"].context.cutoff == "not_applicable"
    ranks = found.tables["rankings"].to_pylist()
    assert len(ranks) == 16 * 7 and [r["rank"] for r in ranks[:7]] == [1, 2, 3, 4, 5, 6, 7]
    judged = found.tables["judged"].to_pylist()
    mine = {r["item_id"]: (r["grade"], r["relation"], r["domain"]) for r in judged if r["query_id"] == "q1"}
    assert mine == {
        "t1": (3, None, "storage"), "p1": (2, None, "storage"), "n1": (0, "negation", "storage"), "e1": (0, "entity-related", "storage")
    }
    scores = {(r["query_id"], r["item_id"]): r["score"] for r in ranks}
    assert all(scores.get((r["query_id"], r["item_id"]), r["score"]) == r["score"] for r in judged)


def test_queries_without_a_relevant_judgment_are_excluded_and_counted(tmp_path: Path) -> None:
    folder = beir(tmp_path / "b", {"1": {"a": 1, "b": 0}, "2": {"a": 0}}, queries=("1", "2", "3"))
    read = benchmarks.read(folder)
    assert {q.id: q.irrelevant for q in read.queries} == {"1": ("b",), "2": ("a",), "3": ()}
    found = admission.admit(run(Plan(str(folder), "bm25:okapi", metrics=("RR",)), tmp_path / "out"))
    assert found.evaluation is not None and not found.descriptors
    a = found.evaluation.accounting
    assert (a.n_attempted, a.n_scored, a.n_excluded, a.reasons) == (3, 1, 2, {metrics.NO_RELEVANT: 2})
    assert found.evaluation.metrics["RR"].n == 1
    assert {(r["query_id"], r["item_id"], r["grade"]) for r in found.tables["judged"].to_pylist()} == {("1", "a", 1), ("1", "b", 0), ("2", "a", 0)}


def test_nothing_relevant_and_nothing_named_are_refused(tmp_path: Path) -> None:
    folder = beir(tmp_path / "b", {"1": {"a": 0}}, queries=("1",))
    with pytest.raises(InputError, match="relevant judgment"):
        run(Plan(str(folder), "bm25:okapi", metrics=("RR",)), tmp_path / "out")
    with pytest.raises(InputError, match="neither rules nor metrics"):
        run(Plan(str(folder), "bm25:okapi"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ties_go_by_the_corpus_and_not_by_ids(tmp_path: Path) -> None:
    folder = beir(tmp_path / "b", {"1": {"b": 1}}, queries=("1",))
    prepared = runs.prepare(Plan(str(folder), "table", metrics=("RR",)), benchmarks.read(folder))
    tables = runs.measure(prepared, TableScorer(lambda q, t: 0.5))
    assert tables["metrics"].to_pylist()[0]["value"] == 0.5  # b is second in the corpus


def beir(folder: Path, qrels: Mapping[str, Mapping[str, int]], queries: Sequence[str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    texts = {"a": "the first passage", "b": "a second passage", "c": "one more"}
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": i, "title": "", "text": t}) + "\n" for i, t in texts.items()))
    (folder / "queries.jsonl").write_text("".join(json.dumps({"_id": i, "text": f"which passage {i}"}) + "\n" for i in queries))
    rows = [f"{q}\t{i}\t{g}\n" for q, items in qrels.items() for i, g in items.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return folder


FALSE: dict[str, Any] = {
    "metrics.AP.mean": 0.99, "metrics.AP.n": 15, "metrics.AP.mean_ci.low": 0.0, "judged.n": 3, "judged.n_relevant": 1,
    "accounting.n_scored": 12, "clusters.n_clusters": 3, "metrics.AP.context.gain": "", "depth": "deep", "scorer.revision": "another",
}


@pytest.mark.parametrize("path", FALSE)
def test_a_record_that_its_rows_contradict_is_refused_and_named(path: str, evaluated: Path, tmp_path: Path) -> None:
    admission.admit(evaluated)
    artifact = artifacts.read(evaluated)
    assert artifact.evaluation is not None
    record = artifact.evaluation.model_dump()
    *outer, last = path.split(".")
    block = record
    for key in outer:
        block = block[key]
    block[last] = FALSE[path]
    rewrite(evaluated, lambda data: data | {"evaluation": record})
    with pytest.raises(DescriptorRefused) as refused:
        admission.admit(evaluated)
    assert any(path in fault or "space_id" in fault for fault in refused.value.faults)


def rewrite(folder: Path, change: Any) -> None:
    """Change artifact.json and take the lock away."""
    path = folder / "artifact.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    (folder / "lock.json").unlink()


def test_an_evaluation_cannot_be_taken_off(evaluated: Path) -> None:
    rewrite(evaluated, lambda data: {k: v for k, v in data.items() if k != "evaluation"})
    with pytest.raises(DescriptorRefused, match="evaluation"):
        admission.admit(evaluated)


BROKEN = {
    "metrics": [("value", float("nan"), "finite"), ("query_id", "q5", "exactly one row"), ("metric", "RR", "no context describes")],
    "rankings": [("rank", 3, "ranks do not run"), ("score", 1e9, "rises"), ("query_id", "nobody", "not measured")],
    "judged": [("score", float("inf"), "finite"), ("grade", 3, "n_relevant")],
    "attempts": [("outcome", "odd", "outcome"), ("query_id", "q9", "attempted query")],
}


@pytest.mark.parametrize(("table", "column", "value", "said"), [(t, *row) for t, rows in BROKEN.items() for row in rows])
def test_broken_rows_are_refused(table: str, column: str, value: Any, said: str, evaluated: Path, tmp_path: Path) -> None:
    artifact = artifacts.read(evaluated)
    rows = artifact.tables[table].to_pylist()
    rows[4 if table == "rankings" else 1][column] = value
    tables = dict(artifact.tables) | {table: pa.Table.from_pylist(rows, schema=EVALUATION[table])}
    written = artifacts.write(tmp_path / "other", replace(artifact, tables=tables))
    with pytest.raises(DescriptorRefused) as refused:
        admission.admit(written)
    assert any(said in fault for fault in refused.value.faults), refused.value.faults


def test_the_store_reads_them_back(evaluated: Path, artifact: Path) -> None:
    store = Store.of([evaluated, artifact])
    identifier = evaluated.name
    assert list(store.evaluated()["artifact_id"]) == [identifier]
    found = store.evaluation(identifier)
    assert found is not None
    for name, metric in found.metrics.items():
        assert store.metric_values(identifier, name)["value"].mean() == pytest.approx(metric.mean)
    assert len(store.judged(identifier)) == 64 and store.judged_context(identifier) is not None
    assert store.judged(artifact.name).shape[0] == 64  # labelled pairs are kept without metrics, too
    assert store.rankings(artifact.name).empty


def test_commands_show_and_export_them(evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(evaluated), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["metrics"]["nDCG@10"]
    assert {"mean", "n", "context"} <= set(shown) and shown["context"]["relevance_definition"].startswith("grade >= 1")
    assert main(["show", str(evaluated)]) == 0 and "nDCG@10" in capsys.readouterr().out
    out = tmp_path / "run.txt"
    assert main(["export", str(evaluated), "--format", "trec", "--out", str(out)]) == 0
    read = list(ir_measures.read_trec_run(str(out)))
    kept = Store.of([evaluated]).rankings(evaluated.name)
    assert [(r.query_id, r.doc_id, r.score) for r in read] == list(zip(kept["query_id"], kept["item_id"], kept["score"], strict=True))
    record = json.loads((tmp_path / "run.txt.json").read_text())
    assert "equal scores by item id" in record["ties"]
    assert record["metrics"]["AP"]["mean"] == pytest.approx(0.0, abs=1) and record["scorer"]["name"] == "bm25:okapi"
    assert main(["export", str(evaluated), "--format", "trec"]) == 2


@pytest.mark.parametrize("identifier", ["a b", "a\tb", "a\nb", "a\0b", "a\x1bb", "a\x85b", "a\u2028b"])
def test_a_trec_run_holds_no_id_that_would_break_a_line(tmp_path: Path, identifier: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = relate_folder(tmp_path / "b", [item(identifier, "gate"), item("z", "copy")], [query("q", "gate", identifier, {identifier: 3})])
    path = run(Plan(str(folder), "bm25:okapi", metrics=("RR",)), tmp_path / "out")
    assert main(["export", str(path), "--format", "trec", "--out", str(tmp_path / "run.txt")]) == 2
    assert "a TREC run cannot hold" in capsys.readouterr().err and not (tmp_path / "run.txt").exists()
    assert main(["show", str(path)]) == 0


def test_run_takes_metrics_without_rules(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--metrics", "nDCG@10, R@5", "--out", str(tmp_path / "o"), "--json", "--quiet"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["margin_sets"] == [] and list(document["metrics"]) == ["nDCG@10", "R@5"]
    assert "--metrics nDCG@10,R@5" in artifacts.read(Path(document["artifact"])).run["command"]


def test_scifact_by_okapi(shared_data: Path, tmp_path: Path) -> None:
    """0.5597 by rank_bm25's defaults on lower-cased white-space tokens; the exported run gives the same through ir-measures."""
    path = run(Plan(str(shared_data / "scifact"), "bm25:okapi", metrics=("nDCG@10",), split="test", depth=10), tmp_path / "out")
    found = admission.admit(path)
    assert found.evaluation is not None and found.evaluation.metrics["nDCG@10"].n == 300
    assert found.evaluation.metrics["nDCG@10"].mean == pytest.approx(0.5597, abs=0.0005)
