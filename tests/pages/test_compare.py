"""Compare: what stands side by side, what a link restores, and that nothing is compared without a common unit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from observatory import paired, resampling
from observatory.figures.numbers import interval, margin
from observatory.store import Store
from observatory.ui.chosen import MOST, choose
from observatory.ui.selection import Selection
from tests.conftest import TableScorer
from tests.pages.conftest import RULES, Point, app, words, write_benchmark

PAGE = "pages/compare.py"


def _sets() -> pd.DataFrame:
    rows = [("b", f"r/{m}", "measurement", m) for m in ("bm25", "random", "in_model", *(f"x{i}" for i in range(5)))]
    rows += [("b", "p/random", "summary", "random"), ("other", "o/random", "measurement", "random")]
    return pd.DataFrame(rows, columns=["benchmark", "set_id", "kind", "method"])


def _selection(*ids: str) -> Selection:
    return Selection("b", ("m",), ("r",), (), ids)


def test_without_a_wish_the_screen_follows_the_sidebar() -> None:
    found = choose(_sets(), _selection("r/bm25", "p/random", "r/random"), (), None, None)
    assert (found.set_ids, found.baseline, found.against, found.own) == (("r/random", "r/bm25"), "r/random", "r/bm25", False)
    assert "o/random" not in found.offered and "r/x3" in found.offered
    only = choose(_sets(), _selection("p/random"), (), None, None)
    assert (only.set_ids, only.against) == (("p/random",), None)


def test_a_link_chooses_any_sets_of_the_benchmark_and_its_baseline() -> None:
    found = choose(_sets(), _selection("r/bm25"), ("r/x1", "r/x0", "p/random"), "r/x0", "p/random")
    assert (found.baseline, found.others, found.against, found.problems) == ("r/x0", ("r/x1", "p/random"), "p/random", ())
    assert len(choose(_sets(), _selection(), (*tuple(f"r/x{i}" for i in range(5)), "r/bm25", "r/random"), None, None).set_ids) == MOST


def test_what_a_link_asks_for_in_vain_is_named() -> None:
    found = choose(_sets(), _selection("r/bm25", "r/random"), ("o/random", "r/x1", "r/x2"), "nowhere", "gone")
    assert found.set_ids == ("r/x1", "r/x2") and len(found.problems) == 3
    assert all(name in " ".join(found.problems) for name in ("o/random", "nowhere", "gone"))


@pytest.fixture
def ids(measured: Path) -> dict[str, str]:
    return {row["rule"].split("[")[0]: row["set_id"] for row in Store(measured, ()).sets().to_dict("records")}


def charts(test: Any) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def table(test: Any, column: str) -> pd.DataFrame:
    return next(t.value for t in test.dataframe if column in t.value.columns)


def test_the_first_line_is_the_verdict_and_the_fields_are_there(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE)
    assert not test.exception and not test.error
    assert test.info[0].value.startswith("controlled\\: only mining differs")
    fields = table(test, "field that differs")
    store = Store(measured, ())
    differing = {f for i in ids.values() for f in paired.diff(store.descriptor(ids["random"]), store.descriptor(i))}
    assert set(fields["field that differs"]) == differing
    assert set(fields[fields["field that differs"] == "mining.method"]["bm25 [0:5]"]) == {"bm25"}


def test_the_table_has_the_numbers_of_the_computation(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE)
    shown = table(test, "paired difference [95%]").set_index("set")
    store = Store(measured, ())
    names = {"in_model": "in_model [0:5]", "structured_perturbation": "structured_perturbation", "bm25": "bm25 [0:5]"}
    base = store.descriptor(ids["random"])
    found = {r: paired.measure((ids["random"], ids[r]), base, store.descriptor(ids[r]), store.pairs(ids["random"], ids[r]), True) for r in names}
    holm = resampling.holm([c.test.p for c in found.values() if c.test])
    for (rule, c), adjusted in zip(found.items(), holm, strict=True):
        name = next((n for n in shown.index if n.startswith(rule)), "")
        row = shown.loc[name]
        assert c.mean is not None and c.mean.low is not None and c.mean.high is not None and c.test is not None
        assert row["paired difference [95%]"] == f"{margin(c.mean.estimate)} {interval(c.mean.low, c.mean.high)}"
        assert row["p"] == f"{c.test.p:.4f}" and row["Holm"] == f"{adjusted:.4f}"
        assert row["better / equal / worse"] == f"{c.better} / {c.equal} / {c.worse}" and row["pairs (clusters)"] == "28 (14)"
        assert row["only in baseline"] == row["only in this"] == "0"
    text = words(test)
    assert "10\u202f000 sign flips by cluster, seed 0" in text and "the family is the 3 comparisons" in text
    assert "significan" not in text.lower() and "p = 0.0000" not in text


def test_a_link_restores_baseline_comparison_query_and_tab(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    wanted = {"compare": [ids["bm25"], ids["random"], ids["in_model"]], "baseline": ids["bm25"], "against": ids["in_model"],
              "pair": "q0-keyword", "side": "Three kinds of hardness"}  # fmt: skip
    test = app(PAGE, **wanted)
    assert not test.exception and not test.error and not test.warning
    assert test.title[0].value.replace("\\", "") == "Compared with bm25 [0:5]"
    pair = Store(measured, ()).pair_queries(ids["bm25"], ids["in_model"], query_id="q0-keyword").iloc[0]
    text = words(test)
    assert f"margin {margin(pair['before'])}" in text and pair["reference_after"] in text and pair["hardest_after"] in text
    crossed = table(test, "semantic: relation of the hardest")
    assert crossed["queries"].astype(int).sum() == 3 * 28
    for name, value in wanted.items():
        assert test.query_params[name] == value


def test_a_bar_and_the_flips_list_their_queries(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    store = Store(measured, ())
    flips = table(app(PAGE, against=ids["bm25"]), "reference positive")
    assert list(flips["query"]) == list(store.pair_queries(ids["random"], ids["bm25"])["query"])
    drawn = charts(app(PAGE, against=ids["bm25"]))[1]["data"][0]["customdata"]
    index, width, n = max(drawn, key=lambda c: c[2])
    listed = table(app(PAGE, against=ids["bm25"], pbin=str(index), pwidth=str(width)), "reference positive")
    assert len(listed) == n


def test_every_point_is_a_query_and_flips_are_filled(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    scatter = charts(app(PAGE, against=ids["bm25"]))[0]
    expected = Store(measured, ()).pair_points(ids["random"], ids["bm25"])
    marks = {c[0]: trace["name"].startswith("flip") for trace in scatter["data"] for c in trace["customdata"]}
    assert marks == dict(zip(expected["query_id"], (bool(f) for f in expected["flip"]), strict=True))


@pytest.mark.parametrize("params", [
    {"pair": "nowhere"}, {"pbin": "x", "pwidth": "-1"}, {"pbin": "9", "pwidth": "inf"}, {"compare": "'; drop", "baseline": "../x"},
    {"within": "x", "stratum": "y", "side": "Three kinds of hardness"},
])  # fmt: skip
def test_a_broken_link_gives_a_sentence_and_no_exception(params: dict[str, str], point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, **params)
    assert not test.exception and not test.error
    if "pair" in params or "compare" in params:
        assert test.warning


def test_one_set_teaches_the_second(point: Point, measured: Path, ids: dict[str, str]) -> None:
    point(measured)
    test = app(PAGE, compare=ids["bm25"])
    assert not test.exception and not test.error and "needs two sets" in test.info[0].value


def test_published_sets_have_means_only_and_say_so(point: Point, refused_and_published: Path) -> None:
    point(refused_and_published)
    test = app(PAGE)
    assert not test.exception and not test.error
    assert any("Means only" in i.value for i in test.info)
    row = table(test, "paired difference [95%]").iloc[1]
    assert row["p"] == row["paired difference [95%]"] == row["better / equal / worse"] == "not measured"
    assert row["ratio"] != "not measured"


@pytest.fixture
def two_scorers(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    from observatory import runs

    shutil.copytree(measured, tmp_path / "store")
    monkeypatch.setattr(runs.scorers, "load", lambda *_: TableScorer(lambda query, text: float(len(text) % 7)))
    runs.run(runs.Plan(str(write_benchmark(tmp_path / "tiny-1.0")), "table", RULES[:3]), tmp_path / "store")
    return tmp_path / "store"


def test_two_scorers_share_no_difference_ratio_or_axis(point: Point, two_scorers: Path) -> None:
    point(two_scorers)
    sets = Store(two_scorers, ()).sets()
    pair = list(sets[sets["rule"] == "structured_perturbation"]["set_id"])
    test = app(PAGE, compare=pair)
    assert not test.exception and not test.error
    row = table(test, "paired difference [95%]").iloc[1]
    assert row["ratio"] == row["paired difference [95%]"] == row["d"] == "no common unit" and row["p"] != "no common unit"
    axes = [a["title"]["text"] for chart in charts(test) for n, a in chart["layout"].items() if n.startswith(("xaxis", "yaxis"))]
    assert axes and all(a.startswith("percentile of the margin") for a in axes)
    assert "p is about wins" in words(test) and "share no unit" in words(test)
