"""Every page on an empty store, on a small real one, and on one that holds only a refused and a published artifact."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from observatory.figures import numbers
from observatory.store import Store
from tests.conftest import ROOT
from tests.pages.conftest import HOSTILE, NUMBER, Point, app, words

PAGES = tuple(f"pages/{path.name}" for path in sorted((ROOT / "pages").glob("*.py")))
STANDING = ("pages/artifacts.py", "pages/metrics.py", "pages/published.py", "pages/run.py")
"""Pages that need no selected margin set; what they show of such stores is tested in their own files."""
SELECTED = tuple(page for page in PAGES if page not in STANDING)


def test_every_page_is_in_the_frame() -> None:
    frame = (ROOT / "app.py").read_text(encoding="utf-8")
    assert [page for page in PAGES if f'"{page}"' not in frame] == []


@pytest.mark.parametrize("page", SELECTED)
def test_an_empty_store_teaches_the_next_step(page: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "none")
    test = app(page)
    assert not test.exception
    assert test.title[0].value == "No measurement yet"
    assert any(".venv/bin/observatory run" in code.value for code in test.code)
    assert NUMBER.search(words(test)) is None


@pytest.mark.parametrize("page", SELECTED)
def test_a_small_store_is_shown_with_its_descriptor(page: str, point: Point, measured: Path) -> None:
    point(measured)
    test = app(page)
    assert not test.exception and not test.error
    chips = " ".join(button.label for button in test.button if (button.key or "").startswith("chip-")).replace("\\", "")
    corpus = Store(measured, ()).sets()["corpus_hash"][0][:8]
    for piece in (f"corpus {corpus}", "28 scored / 28 attempted", "first_grade_3", "bm25", "random, k 5", "unadjudicated", "locked"):
        assert piece in chips
    assert NUMBER.search(words(test)) is not None


def test_an_open_card_outlives_a_run_that_nobody_asked_for(point: Point, measured: Path) -> None:
    """A page may run again on its own while the card is open: when its figure is drawn, or when the theme changes."""
    point(measured)
    test = app("pages/margins.py")
    assert not any(box.label == "Negative set" for box in test.selectbox)
    next(b for b in test.button if (b.key or "").startswith("chip-corpus")).click().run()
    assert any(box.label == "Negative set" for box in test.selectbox)
    test.run()
    assert any(box.label == "Negative set" for box in test.selectbox) and not test.exception


@pytest.mark.parametrize("page", SELECTED)
def test_refused_numbers_never_appear_and_published_ones_say_what_is_missing(
    page: str, point: Point, refused_and_published: Path, measured: Path
) -> None:
    point(refused_and_published)
    test = app(page)
    assert not test.exception and not test.error
    text = words(test)
    assert "not measured" in text and "nan" not in text.lower().split() and "None" not in text
    assert any("fields not recorded" in button.label for button in test.button)
    for median in Store(measured, ()).sets()["median_margin"]:
        assert numbers.margin(median) not in text


@pytest.mark.parametrize("page", [*SELECTED, "pages/artifacts.py", "pages/metrics.py"])
def test_a_store_of_refused_artifacts_only_gives_reasons_and_no_number(
    page: str, point: Point, refused_and_published: Path, tmp_path: Path
) -> None:
    store = tmp_path / "refused"
    store.mkdir()
    (refused_and_published / "tampered").rename(store / "tampered")
    point(store)
    test = app(page)
    assert not test.exception
    text = words(test)
    assert "Refused artifacts" in text and "does not match lock.json" in text
    assert NUMBER.search(text) is None


def test_the_overview_has_the_numbers_of_the_store(point: Point, measured: Path) -> None:
    point(measured)
    table = app("pages/overview.py").dataframe[0].value.set_index("negative set")
    sets = Store(measured, ()).sets().set_index("rule")
    for name, rule in (("random", "random"), ("bm25 [0:5]", "bm25"), ("structured_perturbation", "structured_perturbation")):
        row = sets.loc[rule]
        shown = table.loc[name]
        assert shown["mean margin [95% interval]"] == (
            f"{numbers.margin(row.mean_margin)} {numbers.interval(row.mean_low, row.mean_high)}"
        )
        assert shown["median"] == numbers.margin(row.median_margin)
        assert shown["wins / ties / losses"] == f"{row.n_gt_zero} / {row.n_eq_zero} / {row.n_lt_zero}"
        base = sets.loc["random"].mean_margin
        assert shown["ratio to random"] == (f"{base / row.mean_margin:.2f}" if row.mean_margin > 0 else "mean not above 0")


def test_published_figures_stand_beside_fresh_ones(point: Point, measured: Path, refused_and_published: Path) -> None:
    point(measured, refused_and_published)
    test = app("pages/overview.py")
    table = test.dataframe[0].value
    assert list(table["source"][:2]) == ["fresh", "published"] and table["negative set"][0] == table["negative set"][1]
    assert set(table[table["source"] == "published"]["median"]) == {"not measured"}
    assert "fresh beside published" in words(test)


def test_under_ten_clusters_no_interval_is_shown_and_the_reason_is(point: Point, tmp_path: Path) -> None:
    from observatory.runs import Plan, run
    from tests.conftest import item, query, relate_folder

    items = [item(f"{kind}{i}", f"crate {i} {kind}", "d") for i in range(6) for kind in ("yes", "no")]
    queries = [query(f"q{i}", f"crate {i} yes", f"yes{i}", {f"yes{i}": 3}) for i in range(6)]
    run(Plan(str(relate_folder(tmp_path / "few", items, queries)), "bm25:okapi", ("random",)), tmp_path / "store")
    point(tmp_path / "store")
    for page in ("pages/overview.py", "pages/margins.py"):
        assert "no interval under 10 clusters (6 here)" in words(app(page))


def test_text_from_data_stays_text(point: Point, measured: Path) -> None:
    point(measured)
    set_id = next(i for i in Store(measured, ()).sets()["set_id"] if i.endswith("/bm25"))
    test = app("pages/margins.py", of=set_id, query="q0-keyword")
    assert not test.exception
    assert any(HOSTILE in element.value for element in test.text)
    for kind in ("markdown", "caption", "metric"):
        assert all("evil.example" not in str(element.value) for element in getattr(test, kind))


def test_the_app_starts_without_models_and_test_libraries() -> None:
    code = (
        "import sys, streamlit.testing.v1 as t\n"
        "t.AppTest.from_file('app.py', default_timeout=60).run()\n"
        "print([m for m in ('torch', 'transformers', 'sentence_transformers', 'statsmodels', 'sklearn', 'bm25s') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr[-500:]
