"""Strata: every stratum with its n, two aggregations never on one axis, small ones marked, a stratum opens its queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from observatory import strata
from observatory.figures.numbers import margin, rate
from observatory.store import PAIRWISE, STRATA, Store
from observatory.ui.compare_readers import COLUMNS
from tests.pages.conftest import HOSTILE, Point, app, words
from tests.pages.test_compare import two_scorers  # noqa: F401

PAGE = "pages/strata.py"
TWO = "two sets, paired"


@pytest.fixture
def ids(measured: Path) -> dict[str, str]:
    return {row["rule"].split("[")[0]: row["set_id"] for row in Store(measured, ()).sets().to_dict("records")}


def charts(test: Any) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def table(test: Any, column: str) -> pd.DataFrame:
    return next(t.value for t in test.dataframe if column in t.value.columns)


@pytest.mark.parametrize("by", [c for c in COLUMNS if c != "source text"])
@pytest.mark.parametrize("view", ["each set", TWO])
def test_every_column_in_both_views(by: str, view: str, point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, by=by, strata=view)
    assert not test.exception and not test.error
    assert test.title[0].value.startswith("Margins by ")


def test_each_set_by_domain_has_the_numbers_of_the_computation(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, by="domain", set="bm25")
    shown = table(test, "win rate [95%]").set_index("domain")
    for s in strata.of_margins(ids["bm25"], Store(measured, ()).stratified(ids["bm25"], "domain")):
        row = shown.loc[s.name]
        assert row["mean margin to the hardest [95%]"].startswith(margin(s.mean.estimate)) and row["n queries"] == str(s.mean.n)
        assert row["win rate [95%]"].startswith(f"{rate(s.wins.estimate)} [") and row["mark"] == (s.small or "none")
    [figure] = charts(test)
    assert figure["layout"]["xaxis"]["title"]["text"].startswith("mean margin to the hardest")
    assert {c[1] for t in figure["data"] for c in t["customdata"]} == set(shown.index)
    assert all("n = 14" in t for t in figure["layout"]["yaxis"]["ticktext"])


def test_pairwise_means_have_an_axis_and_a_colour_of_their_own(point: Point, measured: Path) -> None:
    point(measured)
    [figure] = charts(app(PAGE, by=PAIRWISE))
    assert figure["layout"]["xaxis"]["title"]["text"].startswith("pairwise mean")
    assert {t["marker"]["symbol"] for t in figure["data"]} == {"square"}


def test_two_sets_show_delta_helped_and_hurt(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, by="domain", strata=TWO, baseline=ids["random"], against=ids["bm25"])
    shown = table(test, "Δ mean [95%]")
    found = strata.of_pairs(Store(measured, ()).paired_strata(ids["random"], ids["bm25"], "domain"), True)
    assert list(shown["domain"]) == [s.name for s in found]
    for row, s in zip(shown.to_dict("records"), found, strict=True):
        assert s.delta is not None and row["Δ mean [95%]"].startswith(margin(s.delta.estimate))
        assert row["% helped (margin rose)"].startswith(f"{rate(s.helped.estimate)} [")
        assert row["% hurt (margin fell)"].startswith(f"{rate(s.hurt.estimate)} [")
    assert "No test was made between strata" in words(test)


def test_two_scorers_have_no_delta(point: Point, two_scorers: Path) -> None:  # noqa: F811
    point(two_scorers)
    sets = Store(two_scorers, ()).sets()
    pair = list(sets[sets["rule"] == "structured_perturbation"]["set_id"])
    for by in ("domain", PAIRWISE):
        test = app(PAGE, by=by, strata=TWO, compare=pair)
        assert not test.exception and not test.error
        assert "share no unit, so there is no Δ" in words(test)
        shown = table(test, "wins gained")
        assert not any("Δ" in c for c in shown.columns) and "% helped (outcome rose)" in shown.columns
        [figure] = charts(test)
        assert {t["name"] for t in figure["data"]} == {"helped", "hurt"}


def test_a_link_opens_a_stratum_and_its_query(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, by="domain", within=ids["bm25"], stratum="library", query="q0-keyword")
    assert not test.exception and not test.error and not test.warning
    expected = Store(measured, ()).queries_in_stratum(ids["bm25"], "domain", "library")
    assert list(table(test, "reference positive")["query"]) == list(expected["query"])
    assert any(HOSTILE in element.value for element in test.text)
    both = app(PAGE, by="domain", strata=TWO, stratum="library", pair="q0-keyword", baseline=ids["random"], against=ids["bm25"])
    assert not both.exception and not both.error and not both.warning
    assert len(table(both, "reference positive")) == len(expected) and HOSTILE in words(both)


@pytest.mark.parametrize("params", [
    {"by": "nothing"}, {"by": "domain", "stratum": "nowhere"}, {"by": "domain", "within": "x", "stratum": "library"},
    {"by": "domain", "strata": TWO, "stratum": "nowhere"}, {"strata": "?", "query": "x"},
])  # fmt: skip
def test_a_broken_link_gives_a_sentence_and_no_exception(params: dict[str, str], point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, **params)
    assert not test.exception and not test.error
    if "stratum" in params:
        assert test.warning


def test_published_strata_have_no_interval_and_are_not_paired(point: Point, refused_and_published: Path) -> None:
    point(refused_and_published)
    test = app(PAGE)
    assert not test.exception and not test.error
    assert "interval not measured" in words(test)
    two = app(PAGE, strata=TWO)
    assert not two.exception and any("nothing is paired" in i.value for i in two.info)


def test_columns_are_known_to_the_store() -> None:
    assert set(COLUMNS) == {*STRATA, PAIRWISE}
