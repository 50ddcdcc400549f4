"""The Query page: one query under every selected set, stepping, sorting, searching, and links that restore all of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from observatory.figures import numbers, theme
from observatory.figures.query import by_scorer, scores
from observatory.store import Store
from tests.pages.conftest import HOSTILE, Point, app, words

PAGE = "pages/query.py"


def passages(test: AppTest) -> list[dict[str, Any]]:
    """The data of the passages on the screen: what the browser makes text nodes of."""
    found = [json.loads(c.proto.json) for c in test.get("bidi_component") if c.proto.component_name.endswith("observatory_passages")]
    assert found, "no passages on this page"
    return found


def tables_of(test: AppTest) -> list[dict[str, Any]]:
    return [t for p in passages(test) for t in p.get("tables", [])]


def text_of(value: dict[str, Any]) -> str:
    return "".join(text for text, _ in value["segments"])


@pytest.fixture
def store(point: Point, measured: Path) -> Store:
    point(measured)
    return Store(measured, ())


def set_of(store: Store, rule: str) -> str:
    return next(str(row.set_id) for row in store.sets().itertuples() if row.rule == rule)


def test_a_query_is_shown_as_it_was_measured(store: Store) -> None:
    test = app(PAGE, q="q3-question")
    assert not test.exception and not test.error and not test.warning
    cards = passages(test)[0]["cards"]
    row = store.query_of(set_of(store, "bm25"), "q3-question")
    assert row is not None and text_of(cards[0]) == row["query"] and "question" in cards[0]["label"]
    assert text_of(cards[1]) == row["reference"] and f"{row['reference_score']:.4f}" in cards[1]["note"]
    shown = tables_of(test)
    assert len(shown) == 4
    for table, (_, s) in zip(shown, store.sets().sort_values("position").iterrows(), strict=True):
        expected = store.negatives_of(str(s["set_id"]), "q3-question")
        mine = store.query_of(str(s["set_id"]), "q3-question")
        assert mine is not None
        assert [r["cells"][0] for r in table["rows"]] == [str(r) for r in expected["rank"]]
        assert [text_of(r["cells"][1]) for r in table["rows"]] == list(expected["text"])
        assert [r["cells"][2] for r in table["rows"]] == [f"{v:.4f}" for v in expected["score"]]
        assert [r["cells"][3] for r in table["rows"]] == [numbers.margin(v) for v in expected["margin"]]
        assert [r["cells"][4] for r in table["rows"]] == ["win" if v > 0 else "loss" if v < 0 else "tie" for v in expected["margin"]]
        hardest = [i for i, r in zip(expected["negative_item_id"], table["rows"], strict=True) if r["hardest"]]
        assert hardest == [mine["hardest_item_id"]]
        assert numbers.margin(mine["margin"]) in table["about"] and mine["outcome"] in table["about"]


def test_differing_words_are_marked(store: Store) -> None:
    test = app(PAGE, q="q3-question", set="structured_perturbation")
    cell = tables_of(test)[0]["rows"][0]["cells"][1]
    assert [text for text, differs in cell["segments"] if differs] == ["does not keep"]
    assert cell["note"] == "only in the positive: keeps"


def test_text_from_data_stays_text(store: Store) -> None:
    test = app(PAGE, q="q0-keyword")
    assert not test.exception
    cards = passages(test)[0]["cards"]
    assert text_of(cards[1]) == HOSTILE, "as data, whole and unescaped, for a text node"
    for kind in ("markdown", "caption", "metric", "html"):
        assert all("evil.example" not in str(getattr(e, "value", "") or e.proto) for e in test.get(kind))
    assert all("<b>at" not in chart.proto.spec for chart in test.get("plotly_chart"))


def test_passages_are_made_of_text_nodes_only() -> None:
    from observatory.ui import passages as module

    assert "textContent" in module._JS and "createTextNode" in module._JS
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert word not in module._JS


@pytest.mark.parametrize("sort", ["smallest", "largest", "contrast", "file"])
def test_steps_follow_the_order(sort: str, store: Store) -> None:
    bm25, random = set_of(store, "bm25"), set_of(store, "random")
    margins = pd.DataFrame({
        name: store.margins_of(i).set_index("query_id")["margin"] for name, i in (("bm25", bm25), ("random", random))
    }).sort_index()
    expected = {
        "smallest": margins["bm25"].sort_values(kind="stable"), "largest": -(-margins["bm25"]).sort_values(kind="stable"),
        "contrast": -(-(margins["bm25"] - margins["random"]).abs()).sort_values(kind="stable"),
        "file": store.margins_of(bm25).set_index("query_id")["margin"],
    }[sort].index.tolist()
    test = app(PAGE, sort=sort, under=bm25, contrast=random)
    seen = [test.query_params["q"]]
    for _ in range(len(expected) - 1):
        button = next(b for b in test.button if b.label == "Next")
        assert not button.disabled
        test = button.click().run()
        seen.append(test.query_params["q"])
    assert not test.exception
    assert [str(v[0]) if isinstance(v, list) else v for v in seen] == expected
    assert next(b for b in test.button if b.label == "Next").disabled
    next(b for b in test.button if b.label == "Previous").click().run()
    assert test.query_params["q"] == expected[-2]


def test_a_link_restores_everything(store: Store) -> None:
    bm25, random = set_of(store, "bm25"), set_of(store, "random")
    wanted = {"q": "q5-keyword", "sort": "contrast", "under": bm25, "contrast": random, "find": "crate 5", "set": ["random", "bm25"]}
    test = app(PAGE, **wanted)
    assert not test.exception and not test.warning
    assert test.title[0].value == "Query q5\\-keyword"
    assert [s.value for s in test.selectbox if s.key.startswith("pick ")] == ["contrast", bm25, random]
    assert test.text_input(key="find").value == "crate 5"
    assert "of 2 that hold 'crate 5', by largest contrast under bm25 [0:5] against random" in words(test)
    assert {k: test.query_params[k] for k in wanted} == wanted
    address = next(c.value for c in test.code if "?" in c.value)
    for piece in ("q=q5-keyword", "sort=contrast", "find=crate+5", "set=random", "set=bm25"):
        assert piece in address


def test_the_search_looks_in_text_and_id_and_takes_words_as_words(store: Store) -> None:
    test = app(PAGE)
    for typed, n in (("CRATE 7 QUAY", 1), ("q7-", 2), ("%", 0), ("_", 0), ("' or 1=1 --", 0), ("", 28)):
        test.text_input(key="find").set_value(typed).run()
        assert not test.exception and not test.error
        if n:
            assert f"of {n}" in test.text[0].value
        else:
            assert test.title[0].value == "No query found" and "No query holds" in test.text[0].value and test.info


def test_a_chosen_row_and_a_query_of_the_drawer_open_it(store: Store) -> None:
    assert app(PAGE, query="q6-keyword").title[0].value == "Query q6\\-keyword"
    assert app(PAGE, query="q6-keyword", q="q2-keyword").title[0].value == "Query q2\\-keyword"


@pytest.mark.parametrize("start", ["overview", "compare", "strata"])
def test_open_in_query_opens_the_query_that_is_read(start: str, store: Store) -> None:
    """Also where a drawer opened another query since the last visit."""
    bm25, random = set_of(store, "bm25"), set_of(store, "random")
    opened = {
        "overview": {"of": bm25, "query": "q3-keyword"}, "compare": {"baseline": random, "against": bm25, "pair": "q3-keyword"},
        "strata": {"by": "domain", "within": bm25, "stratum": "harbour", "query": "q3-keyword"},
    }[start]
    test = app(PAGE)
    test.session_state["url state"].update({"query": ["q9-question"]} | {name: [value] for name, value in opened.items()})
    test = test.switch_page(f"pages/{start}.py").run()
    assert not test.exception and not test.error
    button = next(b for b in test.button if b.label == "Open in Query")
    button.click().run()
    state = test.session_state["url state"]
    assert (state["q"], state["under"]) == (["q3-keyword"], [bm25])
    test = test.switch_page(PAGE).run()
    assert not test.exception and test.title[0].value == "Query q3\\-keyword" and not test.warning


def test_a_visit_leaves_the_selections_of_other_screens(store: Store) -> None:
    bm25, random = set_of(store, "bm25"), set_of(store, "random")
    test = app("pages/strata.py", by="domain", strata="two sets, paired", baseline=random, against=bm25)
    test = test.switch_page(PAGE).run()
    assert not test.exception and not test.warning
    test = test.switch_page("pages/strata.py").run()
    assert not test.exception and test.title[0].value == "Margins by domain"
    assert [s.value for s in test.selectbox if (s.key or "").startswith("chosen ")] == [random, bm25]


@pytest.mark.parametrize("params", [{"q": "nowhere"}, {"q": "'; drop table x"}, {"under": "nowhere"}, {"sort": "?"}, {"contrast": "x", "sort": "contrast"}])
def test_a_broken_link_gives_a_sentence_and_the_first_query(params: dict[str, str], store: Store) -> None:
    test = app(PAGE, **params)
    assert not test.exception and not test.error and tables_of(test)
    assert len(test.warning) == ("q" in params)


def test_scorers_never_share_an_axis(
    point: Point, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory import runs
    from tests.conftest import TableScorer
    from tests.pages.conftest import RULES, write_benchmark

    shutil.copytree(measured, tmp_path / "store")
    monkeypatch.setattr(runs.scorers, "load", lambda *_: TableScorer(lambda query, text: float(len(text) % 7)))
    runs.run(runs.Plan(str(write_benchmark(tmp_path / "tiny-1.0")), "table", RULES[:3]), tmp_path / "store")
    point(tmp_path / "store")
    test = app(PAGE, model=["table", "bm25:okapi"], q="q4-question", sort="contrast")
    assert not test.exception and not test.error
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    titles = [c["layout"]["xaxis"]["title"]["text"] for c in charts]
    assert len(charts) == 2 and len(set(titles)) == 2
    against = next(s for s in test.selectbox if s.key == "pick contrast")
    by = next(s for s in test.selectbox if s.key == "pick under")
    assert len(by.options) == 7 and len(against.options) in (2, 3), "a contrast is offered within one scorer only"


def test_the_figure_refuses_two_scorers_and_draws_each_score_once(store: Store) -> None:
    from observatory.figures.described import described, labels
    from observatory.ui.query_readers import _with

    sets = [described({str(k): v for k, v in row.items()}, store.descriptor(str(row["set_id"]))) for _, row in store.sets().iterrows()]
    answers = []
    for s in sets:
        row = store.query_of(s.set_id, "q3-question")
        assert row is not None
        answers.append(_with(s, row, store.candidates_of(s.set_id, "q3-question").astype(object).to_dict("records")))
    (group,) = by_scorer(answers)
    figure = scores(group, labels(sets), theme.LIGHT)
    drawn = sorted(x for trace in figure.data for x in trace.x)
    assert drawn == sorted(c.score for a in answers for c in a.candidates)
    assert figure.layout.xaxis.range[0] < min(drawn) and figure.layout.xaxis.range[1] > max(*drawn, group[0].reference_score or 0)
    with pytest.raises(ValueError, match="several scorers"):
        scores([], {}, theme.LIGHT)


def test_candidates_keep_the_hardest_wherever_it_stands(store: Store) -> None:
    bm25 = set_of(store, "bm25")
    every = store.candidates_of(bm25, "q3-question")
    last = str(every["negative_item_id"].iloc[-1])
    assert list(store.candidates_of(bm25, "q3-question", last, limit=1)["negative_item_id"]) == [every["negative_item_id"].iloc[0], last]


def test_an_unscored_query_says_why(point: Point, tmp_path: Path) -> None:
    from observatory.runs import Plan, run
    from tests.conftest import item, query, relate_folder

    items = [item(f"{kind}{i}", f"crate {i} {kind}", "d") for i in range(12) for kind in ("yes", "no")]
    negatives = [("no0", "structured_perturbation", "negation")]
    queries = [query(f"q{i}", f"crate {i} yes", f"yes{i}", {f"yes{i}": 3}, negatives if i else ()) for i in range(12)]
    run(Plan(str(relate_folder(tmp_path / "b", items, queries)), "bm25:okapi", ("structured_perturbation",)), tmp_path / "store")
    point(tmp_path / "store")
    test = app(PAGE, q="q0", sort="file")
    assert not test.exception and not test.error
    (table,) = tables_of(test)
    assert table["rows"] == [] and table["about"].startswith("excluded: ")
    test = app(PAGE, sort="smallest")
    assert "of 12" in test.text[0].value, "queries without a margin are counted and come last"
