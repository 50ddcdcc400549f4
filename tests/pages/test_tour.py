"""The tour: every step on a fresh run, with its own numbers; on anything else it says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory.figures.numbers import margin, rate
from observatory.runs import Plan, run
from observatory.store import Store
from tests.pages.conftest import NUMBER, Point, app, published, words, write_benchmark

PAGE = "pages/tour.py"


@pytest.mark.parametrize("step", range(1, 7))
def test_every_step(step: int, point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, step=str(step))
    assert not test.exception and not test.error
    assert f"Step {step} of 6" in words(test)
    assert len(test.get("plotly_chart")) == (0, 1, 2, 1, 1, 1, 0)[step]


def test_the_first_step_has_the_numbers_of_the_store(point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE)
    assert test.header[0].value == "One model, four negative sets, four verdicts"
    sets = Store(measured, ()).sets().sort_values("mean_margin", ascending=False)
    assert [m.value for m in test.metric] == [margin(v) for v in sets["mean_margin"]]
    assert [rate(w) in m.delta for m, w in zip(test.metric, sets["win_rate"], strict=True)] == [True] * 4


def test_published_figures_stand_beside(point: Point, measured: Path, tmp_path: Path) -> None:
    from observatory import artifacts

    artifacts.write(tmp_path / "book", published(next(measured.iterdir())))
    point(measured, tmp_path / "book")
    assert "published mean" in words(app(PAGE)) and "Published: " in words(app(PAGE, step="2"))
    assert "fields of their record are not recorded" in words(app(PAGE, step="6"))


def test_a_run_of_one_set_and_a_published_one_say_what_is_missing(point: Point, refused_and_published: Path, tmp_path: Path) -> None:
    run(Plan(str(write_benchmark(tmp_path / "tiny-1.0")), "bm25:okapi", ("random",)), tmp_path / "one")
    for store in (tmp_path / "one", refused_and_published):
        point(store)
        test = app(PAGE)
        assert not test.exception and not test.error and not test.get("plotly_chart")
        assert "at least two negative sets" in words(test) and not NUMBER.search(words(test))


@pytest.mark.parametrize("step", ["0", "99", "-1", "two", "", "٣"])
def test_links_to_steps_that_are_not_there(step: str, point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, step=step)
    assert not test.exception and not test.error and " of 6" in words(test)


def test_an_empty_store(point: Point, tmp_path: Path) -> None:
    point(tmp_path)
    test = app(PAGE)
    assert not test.exception and test.title[0].value == "No measurement yet"


def test_buttons_lead_on_and_back(point: Point, measured: Path) -> None:
    point(measured)
    test = app(PAGE, step="5")
    test = next(b for b in test.button if b.label == "Next").click().run()
    assert "Step 6 of 6" in words(test) and next(b for b in test.button if b.label == "Next").disabled
    test = next(b for b in test.button if b.label == "Back").click().run()
    assert "Step 5 of 6" in words(test)
