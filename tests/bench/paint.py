"""First paint of every page beside that of a one-plot page, in a real browser: ``python -m tests.bench.paint [ROUNDS]``.

Two times from a fresh browser context's navigation, on the artifacts that the repository ships: to the browser's first
contentful paint, and to the page's first figure (or table, or button where it has no figure). The pages take turns; what is
printed are medians and their ratios.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, chromium, serving
from tests.conftest import ROOT

HELLO = """import plotly.graph_objects as go
import streamlit as st
st.title("Hello")
st.plotly_chart(go.Figure(go.Bar(x=[1, 2, 3], y=[1, 2, 3])))
"""
PLOT = ".js-plotly-plot .main-svg"
TABLE = '[data-testid="stDataFrame"] canvas'
OTHER = {
    "artifacts": TABLE, "published": TABLE, "run": '[data-testid="stMain"] [data-testid="stSelectbox"]',
    "report": '[data-testid="stMain"] [data-testid="stDownloadButton"], [data-testid="stMain"] [data-testid="stButton"]',
}
SIZE = {"width": 1440, "height": 900}


def seconds(browser: Any, address: str, selector: str) -> tuple[float, float]:
    context = browser.new_context(viewport=SIZE)
    try:
        page = context.new_page()
        started = time.perf_counter()
        page.goto(address)
        page.wait_for_selector(selector, timeout=60_000, state="attached")
        figure = time.perf_counter() - started
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000")
        return paint, figure
    finally:
        context.close()


def measure(browser: Any, hello: str, app: str, rounds: int) -> None:
    pages = sorted(p.stem for p in (ROOT / "pages").glob("*.py"))
    opened: dict[str, Callable[[], tuple[float, float]]] = {"one plot": lambda: seconds(browser, hello, PLOT)}
    opened |= {name: lambda name=name: seconds(browser, f"{app}/{'' if name == 'overview' else name}", OTHER.get(name, PLOT)) for name in pages}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in opened}
    for number in range(rounds + 1):
        for name, once in opened.items():
            took = once()
            if number:  # the first round warms both servers
                taken[name].append(took)
    found = {name: [statistics.median(column) for column in zip(*times, strict=True)] for name, times in taken.items()}
    base = found["one plot"]
    for name, (paint, figure) in found.items():
        print(f"{name:12} paint {paint:.2f} s, {paint / base[0]:.2f} x one plot   figure {figure:.2f} s, {figure / base[1]:.2f} x", flush=True)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as play:
        script, store, empty = (Path(place) / name for name in ("hello.py", "a/demo", "b/empty"))
        script.write_text(HELLO, encoding="utf-8")
        for part in ("demo", "published"):
            shutil.copytree(ROOT / "data" / part, store, dirs_exist_ok=True)
        empty.mkdir(parents=True)
        browser = play.chromium.launch(executable_path=chromium(), args=FLAGS)
        with serving(empty, script) as hello, serving(store) as app:
            measure(browser, hello, app, rounds)
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
