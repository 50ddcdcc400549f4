"""A tiny benchmark, measured for real, and stores around it; every test points the app at its own folders."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from observatory import artifacts
from observatory.runs import Plan, run
from tests.conftest import ROOT, item, query, relate_folder

RULES = ("random", "in_model", "structured_perturbation", "bm25")
N_TARGETS = 14
HOSTILE = "Gate *four* opens [here](http://evil.example) <b>at</b> $x$ :red[noon] %{x}"
NUMBER = re.compile(r"[+-]\d\.\d{4}|\d\.\d{4}|\d+\.\d%")
Point = Callable[..., None]


def write_benchmark(folder: Path) -> Path:
    """14 targets in two domains, each with a negated twin as designated negative, and two queries a target."""
    items, queries = [], []
    for i in range(N_TARGETS):
        domain, place = ("harbour", "quay") if i % 2 else ("library", "shelf")
        items.append(item(f"i{i}", HOSTILE if i == 0 else f"The {domain} keeps crate {i} on {place} {i * 3}.", domain))
        items.append(item(f"n{i}", f"The {domain} does not keep crate {i} on {place} {i * 3}.", domain))
        for style, words in (("question", f"Where does the {domain} keep crate {i}?"), ("keyword", f"crate {i} {place}")):
            queries.append(
                query(f"q{i}-{style}", words, f"i{i}", {f"i{i}": 3}, [(f"n{i}", "structured_perturbation", "negation")], style)
            )
    return relate_folder(folder, items, queries)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one artifact, measured with BM25 on the tiny benchmark."""
    root = tmp_path_factory.mktemp("measured")
    run(Plan(str(write_benchmark(root / "tiny-1.0")), "bm25:okapi", RULES, seed=3), root / "store")
    return root / "store"


@pytest.fixture
def refused_and_published(measured: Path, tmp_path: Path) -> Path:
    """A store with a tampered artifact and a summary-only one, and nothing else."""
    store = tmp_path / "mixed"
    tampered = store / "tampered"
    shutil.copytree(next(measured.iterdir()), tampered)
    manifest = tampered / "artifact.json"
    manifest.write_text(manifest.read_text().replace('"mean_margin": ', '"mean_margin": 1'), encoding="utf-8")
    artifacts.write(store, published(next(measured.iterdir())))
    return store


def published(folder: Path) -> artifacts.Artifact:
    """Means and win rates of a measurement, as if only they had been published."""
    source = artifacts.read(folder)
    return artifacts.Artifact(
        "published-table", "summary", {"title": "A published table", "source": "published: a book"}, source.benchmark,
        {rule: _bare(d) for rule, d in source.descriptors.items()}, {},
    )


def _bare(d: artifacts.NegativeSetDescriptor) -> artifacts.NegativeSetDescriptor:
    data = json.loads(json.dumps(d.model_dump()))
    unmeasured = ("median_margin", "p05", "p10", "n_lt_zero", "n_eq_zero", "n_gt_zero", "mean_ci")
    data["outcomes"] |= dict.fromkeys(unmeasured, "not_measured")
    data["accounting"] |= dict.fromkeys(("n_attempted", "n_excluded", "n_failed", "reasons"), "not_recorded")
    data["clusters"]["n_clusters"] = data["scorer"]["space_id"] = "not_recorded"
    data["expectation"] = "not_recorded" if d.mining.method == "random" else "not_applicable"
    return artifacts.parse(data, subject="published", summary_only=True)


@pytest.fixture
def point(monkeypatch: pytest.MonkeyPatch) -> Point:
    """Point the app at a store, and at shipped folders (none unless given)."""

    def to(store: Path, *shipped: Path) -> None:
        monkeypatch.setenv("OBSERVATORY_STORE", str(store))
        monkeypatch.setenv("OBSERVATORY_SHIPPED", os.pathsep.join(str(p) for p in shipped))

    monkeypatch.chdir(ROOT)
    return to


def app(page: str | None = None, **params: str | list[str]) -> AppTest:
    """The app at a page, run once with the query parameters of a link."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in params.items():
        test.query_params[name] = value
    test.run()
    return test.switch_page(page).run() if page else test


def words(test: AppTest) -> str:
    """All words of a screen, with the cells of its tables and the texts inside its figures."""
    kinds = ("title", "subheader", "text", "warning", "error", "info", "code")
    parts = [str(element.value) for kind in kinds for element in getattr(test, kind)]
    parts += [table.value.to_csv(index=False) for table in test.dataframe]
    parts += [chart.proto.spec for chart in test.get("plotly_chart")]
    return "\n".join(parts)
