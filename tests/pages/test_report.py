"""The Report page: what will be in it, and files only when somebody asks for them."""

from __future__ import annotations

from pathlib import Path

from tests.pages.conftest import Point, app, words

PAGE = "pages/report.py"


def test_the_preview_lists_sections_and_the_files_come_on_request(point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE)
    assert not test.exception and not test.error and not test.get("download_button")
    sections = next(t.value for t in test.text if "Mean margins" in t.value).splitlines()
    assert "✓  Mean margins" in sections and any(s.startswith("–  Retrieval metrics (left out: ") for s in sections)
    test = next(b for b in test.button if b.label == "Make the report").click().run(timeout=120)
    assert not test.exception and not test.error and len(test.get("download_button")) == 3
    assert len(test.run().get("download_button")) == 3  # kept until the selection or the title changes
    test.text_input(key="report title").set_value("Another title").run()
    assert not test.get("download_button")


def test_a_published_table_has_a_report_too(point: Point, refused_and_published: Path) -> None:
    point(refused_and_published)
    test = app(PAGE)
    assert (not test.exception and "not measured" in words(test)) or "left out: " in words(test)
