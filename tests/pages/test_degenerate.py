"""Calibration, tour and report on the smallest and the most hostile stores: a sentence or a figure, never a broken screen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from observatory.runs import Plan, run
from tests.pages.conftest import Point, app, words
from tests.report.test_report import DEGENERATE, benchmark

SCREENS = [
    *(("pages/tour.py", {"step": str(i)}) for i in range(1, 7)),
    *(("pages/calibration.py", {"part": part}) for part in ("Benchmark size", "Scores", "ROC and drift")), ("pages/report.py", {}),
]


@pytest.mark.parametrize("case", DEGENERATE)
def test_every_screen_stands(case: str, point: Point, tmp_path: Path) -> None:
    rules = ("random", "structured_perturbation")
    run(Plan(benchmark(tmp_path / "b-1.0", **DEGENERATE[case]), "bm25:okapi", rules, k=1, metrics=("RR",)), tmp_path / "store")
    point(tmp_path / "store")
    for page, link in SCREENS:
        test = app(page, **link)
        assert not test.exception and not test.error, (page, link)
        assert "nan" not in words(test).lower().split(), (page, link)
    assert len(next(b for b in test.button if b.label == "Make the report").click().run(timeout=120).get("download_button")) == 3


def test_an_artifact_that_is_removed_before_the_report_is_made(point: Point, measured: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(measured, store)
    point(store)
    test = app("pages/report.py")
    shutil.rmtree(next(store.iterdir()))
    test = next(b for b in test.button if b.label == "Make the report").click().run(timeout=60)
    assert not test.exception and not test.get("download_button") and test.title[0].value == "No measurement yet"
