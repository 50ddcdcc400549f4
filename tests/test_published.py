"""Published figures: the shipped artifacts are what their sources build, and the figures are those of the documents."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from observatory import lock
from observatory.admission import admit
from observatory.artifacts import MANIFEST, plain, write
from observatory.errors import DescriptorRefused, InputError
from observatory.published import from_yaml
from observatory.published_tables import PublishedTable
from tests.conftest import SHARED

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "data" / "published"
SOURCES = sorted((PUBLISHED / "sources").glob("*.yaml"))
NEGATION, HARNESS, DEFINITIONS = "published-negation-in-rag", "published-falsification-harness", "published-negation-eval-definitions"
WITH_TABLES = (NEGATION, HARNESS, DEFINITIONS)
RUN_OF_WORDS = 8  # so many consecutive words of a document are taken as a sentence of it

source = pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
tabled = pytest.mark.parametrize("identifier", WITH_TABLES)


def tables(identifier: str) -> dict[str, PublishedTable]:
    return {t.id: t for t in admit(PUBLISHED / identifier).published}


def records(identifier: str, table: str) -> list[dict[str, Any]]:
    """A shipped table's rows by column name."""
    found = tables(identifier)[table]
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


def cells(identifier: str, table: str, column: str, **where: Any) -> list[Any]:
    return [r[column] for r in records(identifier, table) if all(r[k] == v for k, v in where.items())]


@source
def test_a_source_builds_the_shipped_artifact(path: Path, tmp_path: Path) -> None:
    artifact = from_yaml(path)
    built = write(tmp_path, artifact)
    shipped = PUBLISHED / artifact.id
    assert (built / MANIFEST).read_bytes() == (shipped / MANIFEST).read_bytes(), "rebuild it with python -m observatory.published"
    lock.verify(shipped)
    read = admit(shipped)
    assert read.locked and read.kind == "summary" and plain(read) == plain(artifact)


def test_every_shipped_artifact_has_a_source() -> None:
    folders = {p.name for p in PUBLISHED.iterdir() if p.is_dir() and p.name != "sources"}
    assert folders == {yaml.safe_load(p.read_text(encoding="utf-8"))["id"] for p in SOURCES}
    assert folders >= set(WITH_TABLES)


@source
def test_a_run_says_where_its_figures_are_from(path: Path) -> None:
    run = from_yaml(path).run
    assert run["title"].endswith("(published)") and run["source"].startswith("published: ")
    assert run["started"] == "not recorded" or re.fullmatch(r"\d{4}-\d\d-\d\d", run["started"])


@tabled
def test_tables_are_rectangular_placed_and_typed(identifier: str) -> None:
    for table in tables(identifier).values():
        names = [c.name for c in table.columns]
        assert table.where.strip() and table.title.strip() and table.rows
        assert len(set(names)) == len(names) and all(len(row) == len(names) for row in table.rows)
        assert all(s == s.strip() and s for s in table.omissions)
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                here = f"{table.id}, {column.name}: {cell!r}"
                if column.unit == "text":
                    assert isinstance(cell, str) and cell, here
                elif isinstance(cell, str):
                    assert cell in ("not_recorded", "not_measured", "not_applicable", "any"), here
                elif column.unit in ("rate", "probability"):
                    assert 0 <= cell <= 1, here
                elif column.unit == "count":
                    assert cell >= 0 and cell == int(cell), here


@tabled
def test_a_low_is_no_higher_than_its_high(identifier: str) -> None:
    pairs = 0
    for table in tables(identifier):
        for row in records(identifier, table):
            for name, low in row.items():
                other = row.get(re.sub(r"\blow$", "high", name))
                if name.endswith("low") and isinstance(low, float):
                    assert isinstance(other, float) and low <= other, (table, row)
                    pairs += 1
    assert pairs or identifier == DEFINITIONS


# Typed by hand from the documents, not copied from the sources: artifact, table, column, what marks the row, figure.
FIGURES: list[tuple[str, str, str, dict[str, Any], float]] = [
    (NEGATION, "condition-averages", "share right", {"condition": "same wording", "family": "retrieval models, family not stated"}, 0.96),
    (NEGATION, "condition-averages", "share right", {"condition": "different wording", "family": "embedding"}, 0.28),
    (NEGATION, "condition-averages", "share wrong", {"condition": "different wording", "family": "embedding"}, 0.72),
    (NEGATION, "condition-averages", "share right", {"condition": "different wording", "family": "reranker"}, 0.26),
    (NEGATION, "condition-averages", "share wrong", {"condition": "different wording", "family": "reranker"}, 0.74),
    (NEGATION, "condition-averages", "share right", {"condition": "control", "family": "embedding"}, 0.72),
    (NEGATION, "models-by-condition", "share right low", {"model": "all-MiniLM-L6-v2", "condition": "same wording"}, 0.88),
    (NEGATION, "models-by-condition", "share right low", {"model": "all-MiniLM-L6-v2", "condition": "different wording"}, 0.05),
    (NEGATION, "models-by-condition", "share right low", {"model": "ms-marco-MiniLM-L6-v2", "condition": "same wording"}, 1.0),
    (NEGATION, "models-by-condition", "wrong decisions", {"model": "ms-marco-MiniLM-L6-v2", "condition": "different wording"}, 38),
    (NEGATION, "models-by-condition", "share right high", {"model": "bge-m3"}, 0.88),
    (NEGATION, "models-by-condition", "share right low", {"model": "bge-m3"}, 0.85),
    (NEGATION, "models-by-condition", "share right low", {"model": "bge-reranker-v2-m3", "condition": "different wording"}, 0.60),
    (NEGATION, "models-by-condition", "share right low", {"model": "bge-reranker-v2-m3", "condition": "control", "language": "tr"}, 0.90),
    (NEGATION, "models-by-condition", "share right low", {"model": "Qwen3-Reranker-0.6B"}, 0.10),
    (NEGATION, "models-by-condition", "share right low", {"model": "Turkish fine-tune of bge-reranker-v2-m3", "language": "en"}, 0.72),
    (NEGATION, "models-by-condition", "share right low", {"model": "Turkish fine-tune of bge-reranker-v2-m3", "language": "tr"}, 0.57),
    (NEGATION, "authors-reranker", "share right low", {"language": "tr"}, 0.42),
    (NEGATION, "models-below-half", "models", {"threshold": 0.5}, 10),
    (NEGATION, "models-below-half", "of models", {"threshold": 0.5}, 13),
    (NEGATION, "flips-by-family", "explicit marker", {"family": "reranker"}, 0.13),
    (NEGATION, "flips-by-family", "antonym", {"family": "reranker"}, 0.24),
    (NEGATION, "flips-by-family", "change of state", {"family": "reranker"}, 0.55),
    (NEGATION, "flips-by-family", "antonym", {"family": "embedding"}, 0.17),
    (NEGATION, "languages-by-family", "English", {"family": "embedding"}, 0.29),
    (NEGATION, "languages-by-family", "Turkish", {"family": "embedding"}, 0.28),
    (NEGATION, "languages-by-family", "English", {"family": "reranker"}, 0.30),
    (NEGATION, "languages-by-family", "Turkish", {"family": "reranker"}, 0.22),
    (NEGATION, "gemma-decisions", "right decisions", {"condition": "different wording"}, 80),
    (NEGATION, "gemma-decisions", "share right", {"condition": "control", "language": "en and tr"}, 0.98),
    (NEGATION, "opposite-cosine", "low", {}, 0.71),
    (NEGATION, "opposite-cosine", "high", {}, 0.96),
    (NEGATION, "nevir", "pairwise accuracy", {"model": "jina-reranker-v2-base-multilingual"}, 0.652),
    (NEGATION, "nevir", "pairwise accuracy", {"model": "bge-reranker-v2-m3"}, 0.435),
    (NEGATION, "nevir", "pairwise accuracy", {"model": "random baseline"}, 0.25),
    (NEGATION, "mmteb-r", "MMTEB-R", {"model": "Qwen3-Reranker-0.6B"}, 66.36),
    (NEGATION, "mmteb-r", "MMTEB-R", {"model": "bge-reranker-v2-m3"}, 58.36),
    (NEGATION, "mrr-two-rerankers", "MRR", {"reranker": "Qwen3-Reranker-0.6B"}, 0.698),
    (NEGATION, "mrr-two-rerankers", "MRR", {"reranker": "bge-reranker-v2-m3"}, 0.818),
    (NEGATION, "mrr-language-model", "MRR", {"ranker": "cross-encoder"}, 0.768),
    (NEGATION, "mrr-language-model", "MRR", {"latency per query": 5.3}, 0.679),
    (NEGATION, "mrr-by-collection", "MRR before", {"chunks": 1500}, 0.732),
    (NEGATION, "mrr-by-collection", "MRR after", {"chunks": 1500}, 0.841),
    (NEGATION, "mrr-by-collection", "MRR before", {"chunks": 4800}, 0.629),
    (NEGATION, "mrr-by-collection", "MRR after", {"chunks": 4800}, 0.820),
    (NEGATION, "mrr-by-collection", "MRR before", {"chunks": 20000}, 0.480),
    (NEGATION, "mrr-by-collection", "MRR after", {"chunks": 20000}, 0.688),
    (NEGATION, "interval", "half width", {"decisions": 40}, 0.15),
    (NEGATION, "throughput", "low", {"phase": "prompt", "stated in": "FAQ"}, 540),
    (NEGATION, "throughput", "high", {"phase": "prompt", "stated in": "FAQ"}, 610),
    (NEGATION, "throughput", "low", {"model": "Gemma 4 26B-A4B", "phase": "output", "stated in": "FAQ"}, 28),
    (NEGATION, "throughput", "high", {"model": "Gemma 4 26B-A4B", "phase": "output", "stated in": "FAQ"}, 33),
    (NEGATION, "throughput", "high", {"model": "dense 27B model", "phase": "output"}, 8.5),
    (NEGATION, "latencies", "milliseconds", {"request": "one choice between two documents"}, 330),
    (NEGATION, "latencies", "seconds", {"model": "dense 27B model"}, 50),
    (HARNESS, "headline", "mean", {"quantity": "baseline"}, 0.4159),
    (HARNESS, "headline", "mean", {"quantity": "full stack"}, 0.4081),
    (HARNESS, "headline", "delta", {"quantity": "full stack - baseline"}, -0.0078),
    (HARNESS, "headline", "interval low", {"quantity": "full stack - baseline"}, -0.024),
    (HARNESS, "headline", "interval high", {"quantity": "full stack - baseline"}, 0.007),
    (HARNESS, "headline", "sigma of the difference per query", {"quantity": "full stack - baseline"}, 0.1395),
    (HARNESS, "per-text", "mean delta", {"text": "rigveda_samhita"}, -0.072),
    (HARNESS, "per-text", "share hurt", {"text": "rigveda_samhita"}, 0.228),
    (HARNESS, "per-text", "mean delta", {"text": "arthashastra"}, 0.046),
    (HARNESS, "projection", "interval high", {"N": 1000}, 0.001),
    (HARNESS, "projection", "interval low", {"N": 10000}, -0.011),
    (HARNESS, "projection", "interval high", {"N": 10000}, -0.005),
    (HARNESS, "p-at-10000", "p", {"relation": "below"}, 0.001),
    (HARNESS, "p-at-10000", "p", {"relation": "about"}, 0.0001),
    (HARNESS, "delta-by-size", "delta", {"N": 21}, 0.0253),
    (HARNESS, "cs01-benchmark", "number", {"quantity": "queries"}, 323),
    (HARNESS, "cs01-benchmark", "number", {"quantity": "documents"}, 3633),
    (HARNESS, "cs01-gate", "Delta_D of its class low", {"system": "BM25"}, 0.14),
    (HARNESS, "cs01-gate", "Delta_D of its class high", {"system": "dense MiniLM"}, 0.18),
    (HARNESS, "cs01-gate", "Delta_D of its class high", {"system": "Mira-constant"}, 0),
    (HARNESS, "gate-and-controls", "value", {"relation": "at least"}, 0.25),
    (HARNESS, "bench", "number", {"quantity": "valid chunks"}, 6308),
    (HARNESS, "bench", "number", {"quantity": "unique queries after de-duplication"}, 14818),
    (HARNESS, "bench", "number", {"quantity": "Rigveda"}, 3019),
    (HARNESS, "bench", "number", {"quantity": "Katha"}, 16),
    (HARNESS, "run-times", "seconds", {"task": "one configuration"}, 9.4 * 3600),
    (HARNESS, "run-times", "seconds", {"task": "six configurations"}, 56 * 3600),
    (HARNESS, "equivariance", "tolerance", {"number": "not_applicable"}, 1e-12),
]


@pytest.mark.parametrize(("identifier", "table", "column", "row", "figure"), FIGURES)
def test_figures_are_the_documents(identifier: str, table: str, column: str, row: dict[str, Any], figure: float) -> None:
    assert cells(identifier, table, column, **row) == [figure]


def test_what_the_article_leaves_out_is_said() -> None:
    average = [("embedding", "same wording"), ("reranker", "same wording"), ("reranker", "control")]
    for family, condition in average:
        assert cells(NEGATION, "condition-averages", "share right", family=family, condition=condition) == ["not_recorded"]
    assert cells(NEGATION, "authors-reranker", "condition") == ["not_recorded"]
    assert set(cells(HARNESS, "cs01-gate", "Delta_D of this system")) == {"not_recorded"}
    assert set(cells(DEFINITIONS, "datasets", "total")) == {"not_recorded"}


def test_shares_right_and_wrong_add_up() -> None:
    both = [r for r in records(NEGATION, "condition-averages") if isinstance(r["share wrong"], float)]
    assert len(both) == 2
    assert all(math.isclose(r["share right"] + r["share wrong"], 1) for r in both)


def test_the_texts_make_up_the_headline() -> None:
    """A mistyped n or delta would break the weighted mean; a mistyped share is no whole number of queries."""
    rows = records(HARNESS, "per-text")
    assert len(rows) == 13 and sum(r["n"] for r in rows) == 300
    assert round(sum(r["n"] * r["mean delta"] for r in rows) / 300, 4) == -0.0078
    for row in rows:
        for share in (row["share helped"], row["share hurt"]):
            assert round(round(share * row["n"]) / row["n"], 3) == share, row


def test_parts_of_the_bench_sum_to_it() -> None:
    number = {r["quantity"]: r["number"] for r in records(HARNESS, "bench")}
    assert number["queries sampled from them"] + number["queries written by hand and held out"] == number["queries in total"] == 10000


def test_the_projection_is_its_arithmetic() -> None:
    rows = [r for r in records(HARNESS, "projection") if r["kind"] == "projected"]
    assert len(rows) == 5
    for row in rows:
        half = 1.96 * 0.1395 / math.sqrt(row["N"])
        assert row["interval low"] == pytest.approx(-0.0078 - half, abs=1e-3)
        assert row["interval high"] == pytest.approx(-0.0078 + half, abs=1e-3)
        assert row["excludes zero"] == ("yes" if row["interval high"] < 0 else "no")


def test_the_p_value_s_note_is_right() -> None:
    z = 0.0078 / (0.1395 / math.sqrt(10000))
    p = math.erfc(z / math.sqrt(2))
    note = tables(HARNESS)["p-at-10000"].note
    assert f"= {z:.2f}," in note and f"p = {p:.2g}".replace("e-08", "e-8") in note


def test_definitions_name_both_pairs() -> None:
    definition = {r["metric"]: r["definition"] for r in records(DEFINITIONS, "negation-metrics")}
    assert definition["EasyNegation"].endswith("cos(anchor, entailment) > cos(anchor, negative)")
    assert definition["HardNegation"].endswith("cos(anchor, entailment) > cos(entailment, negative)")
    assert tables(DEFINITIONS)["retrieval-metric"].context.cutoff == 10
    units = {c.unit for name in ("negation-metrics", "retrieval-metric", "similarity-metric") for c in tables(DEFINITIONS)[name].columns}
    assert units == {"text"}


def words(text: str) -> list[str]:
    stripped = (re.sub(r"^\W+|\W+$", "", part) for part in text.casefold().split())
    return [word for word in stripped if word]


def runs(text: str) -> Iterator[tuple[str, ...]]:
    found = words(text)
    return (tuple(found[i : i + RUN_OF_WORDS]) for i in range(len(found) - RUN_OF_WORDS + 1))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


@source
def test_our_prose_is_our_own(path: Path) -> None:
    folder = SHARED / "seeds"
    seeds = sorted(folder.glob("*.txt"))
    if not seeds:
        pytest.skip("../shared/seeds is not on this machine")
    theirs = {run for seed in seeds for run in runs(seed.read_text(encoding="utf-8"))}
    assert len(theirs) > 5000
    text = path.read_text(encoding="utf-8")
    comments = " ".join(line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    taken = [" ".join(run) for own in [comments, *strings(yaml.safe_load(text))] for run in runs(own) if run in theirs]
    assert taken == []


def test_runs_of_words_see_a_copied_sentence() -> None:
    sentence = "Relevance is simply, as we know, not the same thing as agreement."
    assert set(runs(sentence)) & set(runs("x y " + sentence.upper().replace(",", "")))


def tabled_source(**changes: Any) -> dict[str, Any]:
    """The smallest source with one table, changed."""
    context = dict.fromkeys(
        ("candidate_pool", "relevance_definition", "gain", "cutoff", "tie_policy", "missing_queries_policy"), "not_applicable"
    )
    table = {
        "id": "t", "title": "T", "where": "section 1", "context": context, "columns": [{"name": "a", "unit": "rate"}],
        "rows": [[0.5], ["not_recorded"]], "omissions": [], "note": "", **changes,
    }  # fmt: skip
    return {
        "id": "x", "run": {"title": "T", "source": "published: a book", "started": "not recorded"}, "benchmark": {"name": "b"},
        "tables": [table],
    }  # fmt: skip


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "source.yaml"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_the_smallest_table_is_read(tmp_path: Path) -> None:
    assert from_yaml(written(tmp_path, tabled_source())).published[0].rows == [[0.5], ["not_recorded"]]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"rows": [[0.5, 0.6]]}, "rows[0]: has 2 cells"),
        ({"rows": [[True]]}, "rows"),
        ({"columns": [{"name": "a", "unit": "furlongs"}]}, "columns.0.unit"),
        ({"where": ""}, "where"),
        ({"context": {"candidate_pool": "all"}}, "context.gain"),
        ({"id": "Not an id"}, "id"),
        ({"extra": 1}, "extra"),
    ],
)
def test_an_incomplete_table_is_refused(changes: dict[str, Any], part: str, tmp_path: Path) -> None:
    with pytest.raises(DescriptorRefused) as caught:
        from_yaml(written(tmp_path, tabled_source(**changes)))
    assert any(part in fault for fault in caught.value.faults), caught.value.faults


def test_a_table_twice_and_no_table_at_all(tmp_path: Path) -> None:
    data = tabled_source()
    data["tables"] *= 2
    with pytest.raises(DescriptorRefused, match="twice"):
        from_yaml(written(tmp_path, data))
    del data["tables"]
    with pytest.raises(InputError, match="neither"):
        from_yaml(written(tmp_path, data))
