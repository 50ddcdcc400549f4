"""Deep links: on every page that the frame lists, a link restores every selection, and the address keeps all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from observatory.plans import Plan
from observatory.runs import run
from observatory.ui import run_plan
from tests.browser.conftest import serving
from tests.conftest import ROOT
from tests.pages.conftest import RULES
from tests.pages.test_every_page import PAGES

pytestmark = pytest.mark.browser

QUERY, REFERENCE = "q1-keyword", "The harbour keeps crate 1 on quay 3."
# Which of the expected words a screen does not show yet. Controls are written as kind and value: tab:, on: (one of several), box:.
LACKING = """wanted => {
  const texts = selector => [...document.querySelectorAll(selector)].map(e => e.innerText.trim());
  const main = document.querySelector('[data-testid="stMain"]'), side = document.querySelector('[data-testid="stSidebar"]');
  const shown = [
    ...texts('[role="tab"][aria-selected="true"]').map(t => 'tab:' + t),
    ...texts('[role="radio"][aria-checked="true"], [data-variant="pills"][aria-pressed="true"]').map(t => 'on:' + t),
    ...[...document.querySelectorAll('input, textarea')].map(e => 'box:' + e.value),
    ...texts('[data-tag]').map(t => 'tag:' + t),
  ];
  const all = (main ? main.innerText : '') + (side ? side.innerText : '');
  return wanted.filter(w => /^(tab|on|box|tag):/.test(w) ? !shown.some(s => s.startsWith(w)) : !all.includes(w));
}"""


@dataclass(frozen=True)
class Link:
    """An address and the words that must stand on the screen it opens."""

    page: str
    selections: dict[str, str | list[str]]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Served:
    address: str
    first: str  # two runs of one benchmark
    second: str
    benchmark: Path


@pytest.fixture(scope="module")
def served(store_folder: Path, tmp_path_factory: pytest.TempPathFactory, browser: object) -> Iterator[Served]:
    """Two measured runs with metrics and a document of published tables."""
    folder, store = store_folder.parent / "tiny-1.0", tmp_path_factory.mktemp("links") / "store"
    first = run(Plan(str(folder), "bm25:okapi", RULES, seed=3, metrics=("nDCG@10", "RR")), store)
    second = run(Plan(str(folder), "bm25:bm25s", ("random",), metrics=("nDCG@10",)), store)
    shutil.copytree(ROOT / "data" / "published" / "published-falsification-harness", store / "published-falsification-harness")
    with serving(store) as address:
        yield Served(address, first.name, second.name, folder)


def links(s: Served) -> list[Link]:
    a, b = s.first, s.second
    bm25, random, in_model = f"{a}/bm25", f"{a}/random", f"{a}/in_model"
    sets: dict[str, str | list[str]] = {"run": a, "set": ["random", "bm25"]}
    chosen = ("on:random", "on:bm25")
    return [
        Link("overview", {**sets, "more": "Accounting", "of": bm25, "query": QUERY}, (*chosen, "tab:Accounting", REFERENCE, "box:bm25 [0:5]")),
        Link("tour", {**sets, "step": "3"}, (*chosen, "Step 3 of 6")),
        Link("margins", {**sets, "view": "ECDF", "t": "0.5", "of": random, "query": QUERY},
             (*chosen, "on:ECDF", "box:0.5", "box:random", REFERENCE)),
        Link("margins", {**sets, "split": "query style", "styled": bm25, "more": "Quantiles"}, (*chosen, "on:query style", "tab:Quantiles", "box:bm25 [0:5]")),
        Link("compare", {"run": a, "compare": [bm25, random, in_model], "baseline": bm25, "against": in_model, "pair": QUERY, "side": "Three kinds of hardness"},
             ("Compared with bm25 [0:5]", "box:in_model [0:5]", "Choose sets (3 of 5)", "tab:Three kinds of hardness", REFERENCE)),
        Link("strata", {**sets, "by": "domain", "within": bm25, "stratum": "harbour", "query": QUERY},
             (*chosen, "box:domain", "14 queries under bm25 [0:5]", REFERENCE)),
        Link("strata", {**sets, "by": "query style", "strata": "two sets, paired", "baseline": bm25, "against": random, "stratum": "keyword", "pair": QUERY},
             ("on:two sets, paired", "box:query style", "box:bm25 [0:5]", "box:random", "14 queries with query style keyword", REFERENCE)),
        Link("calibration", {**sets, "part": "Benchmark size", "sized": random, "project": "500", "power": "90%"}, (*chosen, "tab:Benchmark size", "box:500", "on:90%")),
        Link("calibration", {**sets, "part": "ROC and drift", "domain": "library"}, ("tab:ROC and drift", "box:library")),
        Link("metrics", {"mrun": [a, b], "mbase": b, "metric": "RR", "mtab": "Accounting", "mopen": a}, ("deltas against bm25:bm25s", "on:RR", "tab:Accounting", "Open this run in Query")),
        Link("query", {**sets, "q": QUERY, "under": random, "sort": "contrast", "contrast": bm25, "find": "crate 1"},
             ("Query q1-keyword", "box:random", "box:largest contrast", "box:bm25 [0:5]", "box:crate 1")),
        Link("published", {"document": "published-falsification-harness"}, ("Compared against what",)),
        Link("report", sets, (*chosen, "Report")),
        Link("run", {n: v for n, v in run_plan.parameters(Plan(str(s.benchmark), "bm25:okapi", ("random", "bm25"), seed=7)).items() if v},
             ("box:tiny-1.0", "box:bm25:okapi", "box:7", "tag:bm25", "Nothing is missing")),
        Link("artifacts", {"artifact": a, "rule": "bm25", "about": "YAML"}, ("box:bm25", "tab:YAML", a)),
        Link("artifacts", {"part": "Import"}, ("on:Import",)),
    ]  # fmt: skip


def test_every_page_has_a_link(served: Served) -> None:
    assert {f"pages/{link.page}.py" for link in links(served)} == set(PAGES)


@pytest.fixture(scope="module")
def page(browser: Any) -> Iterator[Any]:
    """One window for all links: each visit is a session of its own, which knows its address and nothing else."""
    context = browser.new_context(viewport={"width": 1440, "height": 1400})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("number", range(16))
def test_a_link_restores_every_selection(number: int, served: Served, page: Any) -> None:
    link = links(served)[number]
    page.goto(f"{served.address}/{link.page}?{urlencode(link.selections, doseq=True)}")
    page.wait_for_selector("h1", timeout=60_000)
    for _ in range(80):
        lacking = page.evaluate(LACKING, list(link.shown))
        if not lacking:
            break
        page.wait_for_timeout(250)
    assert lacking == []
    page.wait_for_function("document.querySelector('.stApp').dataset.testScriptState === 'notRunning'", timeout=60_000)
    kept = parse_qs(urlsplit(page.url).query)
    assert {n: kept.get(n) for n in link.selections} == {n: [v] if isinstance(v, str) else list(v) for n, v in link.selections.items()}
    assert page.get_by_text("this link asks for").count() == 0


def test_no_link_is_left_out(served: Served) -> None:
    assert len(links(served)) == 16
