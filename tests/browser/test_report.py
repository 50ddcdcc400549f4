"""The report in a real browser with the network off: every figure is there and answers, and nothing is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from observatory.cli import main

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_it_opens_offline_and_every_figure_is_interactive(width: int, scheme: str, browser: Any, store_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    sets = [str(child) for child in sorted(store_folder.iterdir()) if (child / "artifact.json").is_file()]
    assert main(["report", *sets, "--out", str(out), "--quiet"]) == 0
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(out.as_uri())
    page.wait_for_function("[...document.querySelectorAll('.plot')].every(p => p.querySelector('.main-svg'))", timeout=60_000)
    plots = page.evaluate("[...document.querySelectorAll('.plot')].map(p => p.data.length)")
    assert len(plots) >= 4 and all(plots)
    moved = page.evaluate(
        """async () => {
          const plots = [...document.querySelectorAll('.plot')], found = [];
          for (const plot of plots) {
            const before = plot._fullLayout.xaxis.range.slice();
            await Plotly.relayout(plot, {'xaxis.range': [before[0], before[0] + (before[1] - before[0]) / 2]});
            found.push(Math.abs(plot._fullLayout.xaxis.range[1] - before[1]) > 1e-12 && plot._fullLayout.xaxis.fixedrange === false);
          }
          return found;
        }"""
    )
    assert all(moved) and len(moved) == len(plots)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert asked == [out.as_uri()] and said == []
    context.close()
