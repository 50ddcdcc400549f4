"""Calibration: its numbers are those of the computation, everything is in the link, and what is missing is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from observatory import artifacts
from observatory.calibration import roc, scores, size
from observatory.figures import numbers
from observatory.store import Store
from tests.conftest import ROOT
from tests.pages.conftest import Point, app, words
from tests.pages.test_compare import two_scorers  # noqa: F401

PAGE = "pages/calibration.py"
SIZE, SCORES, ROC = "Benchmark size", "Scores", "ROC and drift"
PARTS = (SIZE, SCORES, ROC)
RIVAL = ROOT / "data" / "published" / "published-falsification-harness"


@pytest.fixture
def store(measured: Path) -> Store:
    return Store(measured, ())


@pytest.fixture
def ids(store: Store) -> dict[str, str]:
    return {row["method"]: row["set_id"] for row in store.sets().to_dict("records")}


def table(test: Any, column: str) -> pd.DataFrame:
    return next(t.value for t in test.dataframe if column in t.value.columns)


def charts(test: Any) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def fine(test: Any) -> str:
    assert not test.exception and not test.error
    text = words(test)
    assert "nan" not in text.lower().replace(",", " ").split() and "None" not in text
    return text


@pytest.mark.parametrize("part", PARTS)
def test_every_part_draws_and_says_what_it_does_not_establish(part: str, point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, part=part)
    assert "Does not establish" in fine(test) and charts(test)


def test_the_size_table_has_the_numbers_of_the_computation(point: Point, measured: Path, store: Store, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, sized=ids["bm25"], project="4000", interest="0.5")
    rows = store.margins_of(ids["bm25"])
    found = size.measure(rows["margin"], pd.factorize(rows["cluster_id"])[0], np.random.default_rng(0))
    assert found.projection is not None
    shown = table(test, "projected half-width")
    assert list(shown["queries"]) == [*(numbers.count(p.n) for p in found.curve), numbers.count(4000)]
    for row, p in zip(shown.to_dict("records"), found.curve, strict=False):
        assert row["half-width, median (5% to 95%)"].startswith(f"{p.half_width:.4f}")
        assert row["projected half-width"] == f"{found.projection.half_width(p.n):.4f}"
        assert row["coverage (nominal 95%)"] == "left out" or p.coverage is not None
    last = shown.iloc[-1]
    assert last["half-width, median (5% to 95%)"] == "not measured" and last["projected interval"] == numbers.interval(*found.projection.interval(4000))
    needed = size.for_half_width(found.projection, 0.5)
    assert f"For ±0.5 at 95%: {numbers.count(needed.queries)} queries" in fine(test)


def test_a_paired_difference_and_its_projection(point: Point, measured: Path, store: Store, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, sized=f"{ids['bm25']} minus {ids['random']}")
    rows = store.pairs(ids["random"], ids["bm25"])
    mean = float((rows["after"] - rows["before"]).mean())
    assert f"the difference in mean margin: bm25 [0:5] minus random is {numbers.margin(mean)}" in fine(test)


def test_two_scorers_are_compared_by_wins_only(point: Point, two_scorers: Path) -> None:  # noqa: F811
    point(two_scorers)
    sets = Store(two_scorers, ()).sets()
    test = app(PAGE, model=sorted(set(sets["model"])), run=sorted(set(sets["artifact_id"])))
    options = next(s for s in test.selectbox if s.label == "Number whose interval is followed").options
    assert any(o.startswith("difference in win rate: ") for o in options)
    mine = sets[sets["method"] == "random"]["set_id"].tolist()
    wins = app(PAGE, model=sorted(set(sets["model"])), run=sorted(set(sets["artifact_id"])), baseline=mine[0], sized=f"{mine[1]} minus {mine[0]}")
    assert "the difference in win rate: " in fine(wins)


def test_the_published_projection_stands_beside_its_arithmetic(point: Point, measured: Path, tmp_path: Path) -> None:
    shutil.copytree(RIVAL, tmp_path / "shipped" / RIVAL.name)
    point(measured, tmp_path / "shipped")
    test = app(PAGE, sized=f"published:{RIVAL.name}", project="50000")
    shown = table(test, "stated interval").set_index("N")
    assert shown.loc[numbers.count(10000), "stated interval"] == "[-0.011, -0.005]"
    assert shown.loc[numbers.count(10000), "recomputed"] == "[-0.0105, -0.0051]"
    assert shown.loc[numbers.count(50000), "stated interval"] == "not stated"
    ps = table(test, "by arithmetic")
    assert list(ps["stated p"]) == ["below 0.001", "about 0.0001"] and set(ps["by arithmetic"]) == {"2.3e-08"}
    assert "candidate pool" in fine(test)


def test_scores_have_the_numbers_of_the_computation(point: Point, measured: Path, store: Store) -> None:
    point(measured)
    test = app(PAGE, part=SCORES, map="Platt")
    identifier = str(store.artifacts()["artifact_id"][0])
    rng = np.random.default_rng(0)
    g = scores.graded(store.judged(identifier), 1, rng)
    shown = table(test, "ECE [95%]").set_index("probabilities")
    brier = np.mean((scores.cross_fit(g, "isotonic", scores.folds(g.clusters, np.random.default_rng(0))) - g.relevant) ** 2)
    assert shown.loc["isotonic map, cross-fitted", "Brier [95%]"].startswith(f"{brier:.4f}")
    assert any("are no probabilities" in name for name in shown.index), "BM25 scores"
    text = fine(test)
    assert f"{g.n} labelled pairs in 14 clusters" in text and numbers.rate(g.prevalence.estimate) in text
    other = app(PAGE, part=SCORES, curve="P(relevant | score)", detail="Measured against what")
    assert "candidate pool: labelled pairs only" in fine(other)
    assert charts(other)[0]["layout"]["xaxis"]["title"]["text"].startswith("score (")


def test_roc_by_domain_and_a_marked_one(point: Point, measured: Path, store: Store) -> None:
    point(measured)
    test = app(PAGE, part=ROC, domain="harbour")
    g = scores.graded(store.judged(str(store.artifacts()["artifact_id"][0])), 1, np.random.default_rng(0))
    pooled, domains = roc.operating(g, np.random.default_rng(0))
    shown = table(test, "AUC [95%]").set_index("domain")
    assert list(shown.index) == ["all domains", *(d.name for d in domains)]
    assert pooled.auc is not None and shown.loc["all domains", "AUC [95%]"].startswith(f"{pooled.auc.estimate:.4f} [")
    assert "under 10 clusters (7 here)" in shown.loc["harbour", "mark"]
    assert len(charts(test)) == 2 and any(t.get("name") == "harbour" for t in charts(test)[0]["data"])
    assert "candidate pool" in fine(test)


@pytest.mark.parametrize("params", [
    {"sized": "nowhere", "project": "x", "interest": "nan", "power": "?"}, {"part": SCORES, "grade": "9", "map": "?", "curve": "?", "pairs_of": "x"},
    {"part": ROC, "domain": "nowhere"}, {"part": "nowhere", "project": "-5", "interest": "1e999"},
])  # fmt: skip
def test_a_broken_link_gives_the_defaults(params: dict[str, str], point: Point, measured: Path) -> None:
    point(measured)
    fine(app(PAGE, **params))


def test_an_older_run_without_pairs_says_how_to_measure_them(point: Point, measured: Path, tmp_path: Path) -> None:
    whole = artifacts.read(next(measured.iterdir()))
    tables = {k: v for k, v in whole.tables.items() if k not in ("attempts", "metrics", "rankings", "judged")}
    artifacts.write(tmp_path / "old", artifacts.Artifact(whole.id, whole.kind, whole.run, whole.benchmark, whole.descriptors, tables))
    point(tmp_path / "old")
    for part in (SCORES, ROC):
        test = app(PAGE, part=part)
        assert "not measured in the selected runs" in fine(test) and not charts(test)
        assert any("observatory run" in code.value for code in test.code)
    assert charts(app(PAGE, part=SIZE))


@pytest.mark.parametrize("part", PARTS)
def test_published_tables_alone_are_not_subsampled(part: str, point: Point, refused_and_published: Path) -> None:
    point(refused_and_published)
    test = app(PAGE, part=part)
    assert "not measured" in fine(test) and not charts(test)
