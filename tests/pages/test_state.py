"""The selection in the URL: what a link restores, what it cannot find, and what a change of one level does to the others."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from observatory.figures.numbers import margin
from observatory.store import Store
from observatory.ui.selection import parameters, resolve
from observatory.ui.text import plain
from tests.pages.conftest import HOSTILE, Point, app, words
from tests.pages.test_compare import two_scorers  # noqa: F401


def _sets(*rows: tuple[str, str, str, str, str]) -> pd.DataFrame:
    columns = ["benchmark", "model", "artifact_id", "rule", "kind"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(method=frame["rule"].str.split("[").str[0], set_id=frame["artifact_id"] + "/" + frame["rule"])


SETS = _sets(
    *(("b1", "m1", "new", rule, "measurement") for rule in ("random", "in_model[2:7]", "in_model", "bm25", "entity_matched")),
    ("b1", "m1", "old", "random", "measurement"),
    ("b2", "m2", "other", "random", "measurement"),
    ("b1", "m1", "table", "random", "summary"),
)


def test_the_default_is_the_newest_run_with_everything_published_about_its_model() -> None:
    selection, offer = resolve(SETS, {})
    assert (selection.benchmark, selection.models, selection.runs) == ("b1", ("m1",), ("new", "table"))
    assert selection.rules == ("random", "in_model[2:7]", "bm25")
    assert selection.set_ids == ("new/random", "table/random", "new/in_model[2:7]", "new/bm25")
    assert offer.benchmarks == ("b1", "b2") and offer.rules == tuple(dict.fromkeys(SETS["rule"]))


def test_a_link_to_a_run_alone_takes_benchmark_and_model_from_it() -> None:
    selection, _ = resolve(SETS, {"run": ["other"]})
    assert (selection.benchmark, selection.models, selection.runs, selection.problems) == ("b2", ("m2",), ("other",), ())


@pytest.mark.parametrize("level", ["benchmark", "model", "run", "set"])
def test_an_unknown_id_is_named_and_the_rest_still_stands(level: str) -> None:
    selection, _ = resolve(SETS, {level: ["nowhere"]})
    assert len(selection.problems) == 1 and "'nowhere'" in selection.problems[0]
    assert selection.set_ids


def test_a_selection_written_to_a_link_and_read_again_is_the_same() -> None:
    wanted = {"benchmark": ["b1"], "model": ["m1"], "run": ["old", "new"], "set": ["bm25", "random"]}
    once, _ = resolve(SETS, wanted)
    twice, _ = resolve(SETS, parameters(once))
    assert once == twice and set(once.set_ids) == {"old/random", "new/random", "new/bm25"}


def test_the_sidebar_writes_the_selection_to_the_url(point: Point, measured: Path) -> None:
    point(measured)
    test = app()
    sets = Store(measured, ()).sets()
    assert test.query_params["run"] == sets["artifact_id"][0]
    assert test.query_params["set"] == list(sets["rule"])
    test.sidebar.button_group[0].set_value(["bm25"]).run()
    assert not test.exception
    assert test.query_params["set"] == "bm25"
    assert set(test.dataframe[0].value["negative set"]) == {"bm25 [0:5]"}


def test_a_deep_link_restores_the_bar_and_the_query(point: Point, measured: Path) -> None:
    point(measured)
    store = Store(measured, ())
    set_id = next(i for i in store.sets()["set_id"] if i.endswith("/random"))
    width = 0.25
    first = store.histogram([set_id], width).iloc[0]
    expected = store.queries_in_bin(set_id, int(first["bin"]), width)
    assert len(expected) == first["n"]
    query = str(expected["query_id"].iloc[-1])
    test = app("pages/margins.py", set="random", of=set_id, bin=str(int(first["bin"])), width=str(width), query=query)
    assert not test.exception
    listed = next(t.value for t in test.dataframe if "reference positive" in t.value)
    assert list(listed["query"]) == list(expected["query"])
    assert expected["reference"].iloc[-1] in words(test)
    negatives = next(t.value for t in test.dataframe if "pairwise margin" in t.value)
    assert list(negatives["negative"]) == list(store.negatives_of(set_id, query)["text"])
    assert test.query_params["query"] == query


@pytest.mark.parametrize(
    ("page", "tab", "column"),
    [
        ("pages/overview.py", "One random draw", "all draws: mean"), ("pages/overview.py", "Accounting", "cluster rule"),
        ("pages/margins.py", "Tail counts", "m < 0: loss"), ("pages/margins.py", "Quantiles", "p05 [95%]"),
    ],
)
def test_the_open_tab_is_in_the_link(page: str, tab: str, column: str, point: Point, measured: Path) -> None:
    point(measured)
    test = app(page, more=tab)
    assert not test.exception and not test.error
    assert column in [c for table in test.dataframe for c in table.value.columns]


def test_the_quantiles_are_those_of_the_descriptor(point: Point, measured: Path) -> None:
    point(measured)
    table = app("pages/margins.py", more="Quantiles").dataframe[0].value.set_index("negative set")
    for row in Store(measured, ()).sets().itertuples():
        name = row.rule if row.slice == "not_applicable" else f"{row.method} {row.slice}"
        shown = table.loc[name]
        for column, value in (("p05 [95%]", row.p05), ("p10 [95%]", row.p10), ("median [95%]", row.median_margin)):
            low, high = map(float, re.fullmatch(rf"{re.escape(margin(value))} \[([-+.0-9]+), ([-+.0-9]+)\]", shown[column]).groups())
            assert low <= value + 5e-5 and value - 5e-5 <= high
        assert shown["k"] == ("5" if row.method != "structured_perturbation" else "varies")


def test_the_threshold_moves_the_tail_counts_and_is_drawn(point: Point, measured: Path) -> None:
    point(measured)
    store = Store(measured, ())
    ids = list(store.sets()["set_id"])
    for t in (0.7, -1.25):
        test = app("pages/margins.py", more="Tail counts", t=repr(t))
        assert not test.exception and not test.error
        table = next(d.value for d in test.dataframe if f"m < {t:g}" in d.value.columns)
        counted = store.tails(ids, t).set_index("set_id")
        rules = dict(zip(store.sets()["set_id"], range(len(ids)), strict=True))
        for set_id, i in rules.items():
            n = counted.loc[set_id]
            assert (table[f"m < {t:g}"][i], table[f"m = {t:g}"][i], table[f"m > {t:g}"][i]) == (str(n.n_lt), str(n.n_eq), str(n.n_gt))
        assert f"t = {t:g}" in words(test)
    assert "m < 0: loss" in words(app("pages/margins.py", more="Tail counts", t="nan"))


@pytest.mark.parametrize("view", ["histogram", "ECDF"])
def test_margins_by_query_style(view: str, point: Point, measured: Path) -> None:
    point(measured)
    store = Store(measured, ())
    set_id = str(store.sets()["set_id"][1])
    test = app("pages/margins.py", split="query style", styled=set_id, view=view, scale="count")
    assert not test.exception and not test.error
    [figure] = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    assert {t["name"] for t in figure["data"]} == {"keyword", "question"}
    if view == "histogram":
        assert sum(sum(t["y"]) for t in figure["data"]) == 28


def test_each_scorer_has_axes_of_its_own(point: Point, two_scorers: Path) -> None:  # noqa: F811
    point(two_scorers)
    models = list(Store(two_scorers, ()).sets()["model"].unique())
    test = app("pages/margins.py", model=models)
    assert not test.exception and not test.error and len(test.get("plotly_chart")) == len(models) == 2


def test_pairwise_means_have_a_figure_of_their_own(point: Point, measured: Path) -> None:
    point(measured)
    test = app("pages/overview.py", more="Pairwise means by relation")
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    assert len(charts) == 2 and charts[1]["layout"]["xaxis"]["title"]["text"].startswith("pairwise mean")
    stratum = next(s for i in Store(measured, ()).sets()["set_id"] for s in Store(measured, ()).descriptor(i).strata.values())
    assert charts[1]["data"][0]["x"] == [stratum.mean_pairwise_margin]


@pytest.mark.parametrize(
    "params", [{"bin": "nan", "width": "inf", "of": "x"}, {"run": "../../etc", "set": "'; drop"}, {"view": "?", "width": "-1"}]
)
def test_a_broken_link_gives_a_sentence_and_no_exception(params: dict[str, str], point: Point, measured: Path) -> None:
    point(measured)
    test = app("pages/margins.py", **params)
    assert not test.exception and not test.error
    if "run" in params:
        assert len(test.warning) == 2 and all("shown instead" in w.value for w in test.warning)


def test_metrics_never_share_an_axis_and_each_model_has_its_overview(
    point: Point, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory import runs
    from tests.conftest import TableScorer
    from tests.pages.conftest import RULES, write_benchmark

    shutil.copytree(measured, tmp_path / "store")
    monkeypatch.setattr(runs.scorers, "load", lambda *_: TableScorer(lambda query, text: float(len(text) % 7)))
    runs.run(runs.Plan(str(write_benchmark(tmp_path / "tiny-1.0")), "table", RULES[:3]), tmp_path / "store")
    point(tmp_path / "store")
    test = app("pages/margins.py", model=["table", "bm25:okapi"])
    assert not test.exception and not test.error
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    assert len(charts) == 2
    axes = [{a["title"]["text"] for n, a in c["layout"].items() if n.startswith("xaxis") and "title" in a} for c in charts]
    assert axes[0] != axes[1] and any("table score" in t for t in axes[0] | axes[1])
    overview = app("pages/overview.py", model=["table", "bm25:okapi"], focus="table")
    assert not overview.exception and overview.title[0].value == "Mean margins of table"
    assert {r.removesuffix(" [0:5]") for r in overview.dataframe[0].value["negative set"]} == {
        "random", "in_model", "structured_perturbation"
    }


def test_an_error_inside_a_page_is_one_sentence_with_details_folded(point: Point, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point(measured)

    def fail(*_: object) -> None:
        raise RuntimeError("wires [crossed](http://x)")

    monkeypatch.setattr("observatory.ui.strip.draw", fail)
    test = app("pages/overview.py")
    assert not test.exception
    assert len(test.error) == 1 and "could not be drawn" in test.error[0].value
    assert test.expander[0].code[0].value == "RuntimeError: wires [crossed](http://x)"


def test_plain_leaves_no_markdown() -> None:
    escaped = plain(HOSTILE)
    for mark in ("*", "[", "<", "$", ":", "`"):
        assert escaped.count(mark) == escaped.count("\\" + mark)
    assert escaped.replace("\\", "") == HOSTILE
    assert "\n" not in plain("a\nb\x1b[31m") and len(plain("x" * 999)) == 300
