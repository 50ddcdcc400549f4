"""The numbers of the HTML file, read back as a program or a reader would, beside what the store's own rows give without our statistics."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from observatory.calibration import readings, scores
from observatory.figures import numbers
from observatory.report import build, formats, selection
from observatory.runs import Plan, run
from observatory.store import PAIRWISE, Store
from tests.pages.conftest import RULES, write_benchmark


class Page(HTMLParser):
    """Tables by the heading above them, as rows of cells, and JSON by the id of its script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[dict[str, str]]] = {}
        self.json: dict[str, Any] = {}
        self.titles: dict[str, str] = {}
        self._rows: list[list[str]] = []
        self._text, self._heading, self._caption = "", "", ""
        self._script: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in ("h3", "th", "td", "figcaption", "script"):
            self._text = ""
        if tag == "script":
            self._script = found.get("id")
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if "data-spec" in found:
            self.titles[self._caption] = str(found["data-spec"])

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "h3":
            self._heading = self._text
        if tag == "figcaption":
            self._caption = self._text
        if tag in ("th", "td"):
            self._rows[-1].append(self._text)
        if tag == "table":
            self.tables.setdefault(self._heading, [dict(zip(self._rows[0], row, strict=True)) for row in self._rows[1:]])
        if tag == "script" and self._script:
            self.json[self._script] = json.loads(self._text)
            self._script = None


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    root = tmp_path_factory.mktemp("readback")
    plan = Plan(str(write_benchmark(root / "tiny-1.0")), "bm25:okapi", RULES, seed=3, metrics=("nDCG@10", "RR"))
    return Store.of([run(plan, root / "store")])


@pytest.fixture(scope="module")
def page(store: Store) -> Page:
    report = build.build(selection.select(store, list(store.sets()["set_id"])))
    return Page(formats.render(report, ".html").decode("utf-8"))


@pytest.fixture(scope="module")
def sections(page: Page) -> Any:
    return page.json["numbers"]["sections"]


def ids(store: Store) -> list[str]:
    return [str(i) for i in store.sets()["set_id"]]


def test_rates_and_sizes_are_those_of_the_rows(sections: Any, store: Store) -> None:
    for set_id in ids(store):
        margin = store.margins_of(set_id)["margin"].to_numpy()
        rates, size = sections["distributions"]["rates"][set_id], sections["size"]["sizes"][set_id]
        for name, hit in (("win", margin > 0), ("tie", margin == 0), ("loss", margin < 0)):
            assert (rates[name]["estimate"], rates[name]["n"]) == (pytest.approx(hit.mean()), margin.size)
        assert size["observed"]["estimate"] == pytest.approx(margin.mean()) and size["sigma"] == pytest.approx(margin.std(ddof=1))


def test_comparisons_are_those_of_the_rows(sections: Any, store: Store) -> None:
    base = sections["compared"]["baseline"]
    before = store.margins_of(base).set_index("query_id")["margin"]
    found = sections["compared"]["comparisons"]
    assert {c["other"] for c in found} == set(ids(store)) - {base}
    for c in found:
        both = store.margins_of(c["other"]).set_index("query_id")["margin"].to_frame("after").join(before.rename("before"), how="inner")
        change = (both["after"] - both["before"]).to_numpy()
        assert c["n"] == change.size and c["mean"]["estimate"] == pytest.approx(change.mean())
        assert (c["better"], c["equal"], c["worse"]) == ((change > 0).sum(), (change == 0).sum(), (change < 0).sum())
        assert c["d"] is None or c["d"] == pytest.approx(change.mean() / change.std(ddof=1))
        assert c["outcomes"]["both"] == ((both["after"] > 0) & (both["before"] > 0)).sum()


def test_strata_and_metrics_are_those_of_the_rows(sections: Any, store: Store) -> None:
    assert sections["relations"]["strata"]
    for s in sections["relations"]["strata"]:
        rows = store.stratified(s["set_id"], PAIRWISE)
        mine = rows[rows["stratum"] == s["relation"]]["margin"]
        assert (s["n"], s["mean"]) == (len(mine), pytest.approx(mine.mean()))
    cells = sections["metrics"]["cells"]
    assert {c["measure"] for c in cells} == {"nDCG@10", "RR"}
    for c in cells:
        values = store.metric_values(c["configuration"], c["measure"])["value"]
        assert (c["mean"]["estimate"], c["mean"]["n"]) == (pytest.approx(values.mean()), len(values))


def test_calibration_in_the_file_is_scikit_learns(sections: Any, store: Store) -> None:
    (artifact_id,) = sections["scores"]
    pairs = store.judged(artifact_id)
    relevant, score = (pairs["grade"] >= readings.grades(pairs)[0]).to_numpy(), pairs["score"].to_numpy()
    found = sections["scores"][artifact_id]
    pooled, *domains = found["operating"]
    assert pooled["auc"]["estimate"] == pytest.approx(roc_auc_score(relevant, score)) and pooled["n"] == len(pairs)
    assert {d["name"] for d in domains} == set(pairs["domain"])
    for d in domains:
        mine = (pairs["domain"] == d["name"]).to_numpy()
        assert d["auc"]["estimate"] == pytest.approx(roc_auc_score(relevant[mine], score[mine]))
    g = scores.graded(pairs, readings.grades(pairs)[0], np.random.default_rng(readings.SEED))
    fold = scores.folds(g.clusters, np.random.default_rng(readings.SEED))
    for method in scores.METHODS:
        expected = brier_score_loss(relevant, scores.cross_fit(g, method, fold))
        assert found["maps"][method]["brier"]["estimate"] == pytest.approx(expected)


def test_the_tables_a_reader_sees_hold_the_rows_numbers(page: Page, store: Store) -> None:
    outcomes, accounting = page.tables["Outcomes"], page.tables["Accounting"]
    assert len(outcomes) == len(accounting) == len(RULES)
    for set_id, seen, counted in zip(ids(store), outcomes, accounting, strict=True):
        margin = store.margins_of(set_id)["margin"].to_numpy()
        assert seen["mean margin [95%]"].startswith(numbers.margin(margin.mean())) and seen["win rate [95%]"].startswith(numbers.rate((margin > 0).mean()))
        assert (seen["median"], seen["p05"], seen["scored"]) == (numbers.margin(np.median(margin)), numbers.margin(np.quantile(margin, 0.05)), str(margin.size))
        assert int(counted["attempted"]) == int(counted["scored"]) + int(counted["excluded"]) + int(counted["failed"]) and int(counted["scored"]) == margin.size
    for row in page.tables["Retrieval metrics"]:
        (artifact_id,) = set(store.sets()["artifact_id"])
        assert row["mean [95%]"].startswith(f"{store.metric_values(artifact_id, row['measure'])['value'].mean():.4f}")


def _values(axis: Any) -> list[float]:
    if isinstance(axis, dict):
        return [float(v) for v in np.frombuffer(base64.b64decode(axis["bdata"]), dtype=axis["dtype"])]
    return [float(v) for v in axis or [] if isinstance(v, int | float)]


def test_the_figures_draw_the_rows_numbers(page: Page, store: Store) -> None:
    drawn = {title: page.json[key]["data"] for title, key in page.titles.items()}
    means = next(traces for title, traces in drawn.items() if title.startswith("Mean margins"))
    points = [v for trace in means for axis in ("x", "y") for v in _values(trace.get(axis))]
    for set_id in ids(store):
        mean = store.margins_of(set_id)["margin"].mean()
        assert min(abs(p - mean) for p in points) < 1e-12, set_id
    bars = next(traces for title, traces in drawn.items() if title.startswith("Margins ("))
    bars = [t for t in bars if t["type"] == "bar"]
    assert {b["customdata"][0][0] for b in bars} == set(ids(store))
    for b in bars:  # what a bar carries: set, bin, width and count; its area is the share of queries
        margin = store.margins_of(b["customdata"][0][0])["margin"].to_numpy()
        for (_, at, width, count), height in zip(b["customdata"], _values(b["y"]), strict=True):
            assert height * width == pytest.approx(count / margin.size) and at * width < margin.max() + width
        assert sum(c[3] for c in b["customdata"]) == margin.size


def test_a_run_whose_scores_no_map_takes_costs_nobody_the_report(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = store.judged
    monkeypatch.setattr(store, "judged", lambda artifact_id: whole(artifact_id).assign(score=1e150))
    found = Page(formats.render(build.build(selection.select(store, ids(store))), ".html").decode("utf-8"))
    assert "too large to be squared" in json.dumps(found.json["numbers"]["sections"]["scores"]) and len(found.tables["Outcomes"]) == len(RULES)


def test_the_file_in_its_folder_is_what_was_read(store: Store, page: Page, tmp_path: Path) -> None:
    """The command writes the same numbers as the page's own button."""
    from observatory.cli import main

    (artifact_id,) = set(store.sets()["artifact_id"])
    out = tmp_path / "r.html"
    assert main(["report", str(store.folder(artifact_id)), "--out", str(out), "--quiet"]) == 0
    again = Page(out.read_text(encoding="utf-8"))
    assert again.json["numbers"]["sections"] == page.json["numbers"]["sections"] and again.tables == page.tables
