"""Every page that the frame lists, on an empty store, on the demo, and where only published and refused artifacts are."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from observatory.figures import numbers
from observatory.paths import DATA
from observatory.store import Store
from tests.conftest import ROOT
from tests.pages.conftest import NUMBER, Point, app, words


def listed() -> tuple[str, ...]:
    """The files in the frame's own list of pages."""
    tree = ast.parse((ROOT / "app.py").read_text(encoding="utf-8"))
    found = next(n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "PAGES")
    return tuple(file for file, *_ in ast.literal_eval(found))


PAGES = listed()
DESCRIBED = {
    "pages/metrics.py": "Measured against what", "pages/published.py": "Compared against what", "pages/artifacts.py": "corpus",
}
"""Where a screen that shows no selected margin set says what its numbers were measured against."""


def described(page: str, test: Any) -> bool:
    """Whether the numbers of a screen stand under the descriptor strip, or beside a context of their own."""
    if any((button.key or "").startswith("chip-corpus") for button in test.button):
        return True
    return page in DESCRIBED and DESCRIBED[page] in words(test) + " ".join(tab.label for tab in test.tabs)


def fine(page: str, test: Any) -> str:
    """The words of a screen without a fault, without a blank for a number and without an orphan."""
    assert not test.exception and not test.error
    text = words(test)
    assert "nan" not in text.lower().replace(",", " ").split()
    assert NUMBER.search(text) is None or described(page, test)
    return text


def test_the_frame_lists_pages() -> None:
    assert len(PAGES) >= 12 and all((ROOT / page).is_file() for page in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_store_has_no_number(page: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "none")
    test = app(page)
    assert NUMBER.search(fine(page, test)) is None
    assert test.title and (test.text or test.info or test.code), "an empty screen says what to do"


@pytest.mark.parametrize("page", PAGES)
def test_the_demo_is_shown_with_what_it_was_measured_against(page: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "none", DATA / "published", DATA / "demo")
    text = fine(page, app(page))
    assert "No measurement yet" not in text and "Nothing is loaded" not in text
    if page not in ("pages/run.py", "pages/report.py", "pages/artifacts.py"):
        assert NUMBER.search(text) is not None


@pytest.mark.parametrize("page", PAGES)
def test_published_and_refused_artifacts_alone_leave_no_orphan(
    page: str, point: Point, refused_and_published: Path, measured: Path
) -> None:
    point(refused_and_published)
    text = fine(page, app(page))
    for median in Store(measured, ()).sets()["median_margin"]:
        assert numbers.margin(median) not in text, "a number of the refused artifact, or one that was never published"
