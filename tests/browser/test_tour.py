"""The tour in a real browser: arrow keys lead through the six steps, and a link reopens one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import settled
from tests.browser.test_app import open_page  # noqa: F401

pytestmark = pytest.mark.browser


def ready(page: Any, step: int) -> None:
    """Wait until a step stands still and hears keys.

    The script must be done, and the browser with what it sent: a button hears its key only after the browser has drawn the step, which
    is as late as the figure (the last step has none, and by then the keys are heard).
    """
    page.wait_for_selector(f"text=Step {step} of 6", timeout=60_000)
    settled(page)
    if step < 6:
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=60_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))")


def test_arrow_keys_lead_through_the_steps_and_a_link_reopens_one(open_page: Any) -> None:  # noqa: F811
    page = open_page("/tour", "text=Step 1 of 6")
    ready(page, 1)
    for step in range(2, 7):
        page.keyboard.press("ArrowRight")
        ready(page, step)
    page.wait_for_selector("h2:has-text('do not establish')", timeout=60_000)
    page.wait_for_selector(".js-plotly-plot", state="detached", timeout=60_000)  # the last step's figures go when the script has ended
    page.keyboard.press("ArrowLeft")
    ready(page, 5)
    assert "step=5" in page.url
    again = open_page("/" + page.url.split("/", 3)[3], "text=Step 5 of 6")
    again.wait_for_selector(".js-plotly-plot .main-svg", timeout=60_000)
