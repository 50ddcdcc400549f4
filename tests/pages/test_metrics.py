"""Metrics: every run with its context, deltas as the computation gives them, run files, and nothing where nothing was measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from observatory import ablation
from observatory.runs import Plan, run
from observatory.store import Store
from tests.pages.conftest import HOSTILE, Point, app, words, write_benchmark

PAGE = "pages/metrics.py"


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with metrics, one of them without rules, on the tiny benchmark."""
    root = tmp_path_factory.mktemp("evaluated")
    folder = str(write_benchmark(root / "tiny-1.0"))
    run(Plan(folder, "bm25:okapi", ("random",), metrics=("nDCG@10", "RR")), root / "store")
    run(Plan(folder, "bm25:bm25s", metrics=("nDCG@10",)), root / "store")
    return root / "store"


def ids(store: Path) -> dict[str, str]:
    return {r["model"]: r["artifact_id"] for r in Store(store, ()).evaluated().to_dict("records")}


def test_nothing_measured_says_how(point: Point, measured: Path, refused_and_published: Path, tmp_path: Path) -> None:
    for store in (measured, refused_and_published, tmp_path / "empty"):
        point(store)
        test = app(PAGE)
        assert not test.exception and not test.error
        assert test.title[0].value == "No metrics yet" and "--metrics" in words(test) and not test.get("plotly_chart")


def test_the_table_has_the_numbers_of_the_computation(point: Point, evaluated: Path) -> None:
    point(evaluated)
    found = ids(evaluated)
    test = app(PAGE, mbase=found["bm25:okapi"], mtab="Whole table")
    assert not test.exception and not test.error
    cells = ablation.table(Store(evaluated, ()), {i: i for i in found.values()}, found["bm25:okapi"])
    table = next(t.value for t in test.dataframe if "delta [95% interval]" in t.value.columns)
    assert len(table) == len(cells) == 5
    for cell in cells:
        name = next(model for model, i in found.items() if i == cell.configuration)
        row = table[(table["run"] == name) & (table["measure"] == cell.measure)].iloc[0]
        assert row["mean [95% interval]"].startswith(f"{cell.mean.estimate:.4f}")
        if cell.delta is not None:
            assert row["delta [95% interval]"].startswith(f"{cell.delta.estimate:+.4f}")
    [figure] = [json.loads(c.proto.spec) for c in test.get("plotly_chart")]
    assert {c[0] for t in figure["data"] for c in t["customdata"]} == set(found.values())
    assert "whole corpus" in json.dumps(figure["layout"]["annotations"])  # the foot of exports holds the context


@pytest.mark.parametrize("tab", ["Whole table", "Measured against what", "Accounting", "Take away"])
def test_every_tab_and_a_click(tab: str, point: Point, evaluated: Path) -> None:
    point(evaluated)
    opened = ids(evaluated)["bm25:okapi"]
    test = app(PAGE, mtab=tab, metric="nDCG@10", mopen=opened)
    assert not test.exception and not test.error
    queries = next(t.value for t in test.dataframe if "query" in t.value.columns)
    assert len(queries) == 28 and list(queries["nDCG@10"]) == sorted(queries["nDCG@10"])
    assert HOSTILE not in "".join(str(m.value) for m in test.markdown)


def test_links_to_what_is_not_there(point: Point, evaluated: Path) -> None:
    point(evaluated)
    test = app(PAGE, mbench="nowhere", mrun=["nobody"], mbase="nobody", metric="AP", mopen="nobody")
    assert not test.exception and not test.error and test.title[0].value.startswith("Retrieval metrics on tiny")


def test_a_store_with_metrics_only_says_where_they_are(point: Point, evaluated: Path, tmp_path: Path) -> None:
    shutil.copytree(evaluated / ids(evaluated)["bm25:bm25s"], tmp_path / ids(evaluated)["bm25:bm25s"])
    point(tmp_path)
    for page in ("pages/overview.py", "pages/tour.py", "pages/calibration.py"):
        test = app(page)
        assert not test.exception and test.title[0].value == "No margins yet" and "metrics of 1 run," in words(test)
    assert app(PAGE).title[0].value.startswith("Retrieval metrics")


def test_metrics_stand_beside_margins_with_their_context(point: Point, evaluated: Path, measured: Path) -> None:
    point(evaluated)
    test = app("pages/overview.py", model="bm25:okapi", more="Retrieval metrics")
    table = next(t.value for t in test.dataframe if "metric" in t.value.columns)
    assert list(table["metric"]) == ["nDCG@10", "RR"] and set(table["cutoff"]) == {"10", "not applicable"}
    assert all("whole corpus" in pool for pool in table["candidate pool"])
    point(measured)
    assert "--metrics" in words(app("pages/overview.py", more="Retrieval metrics"))
