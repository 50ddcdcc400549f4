"""Runs in a real browser: started, watched, left and found again; cancelled; killed and resumed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from observatory import jobs
from observatory.jobs import Job, folder
from observatory.plans import Plan
from observatory.ui import run_plan
from tests.browser.conftest import serving
from tests.conftest import item, query, relate_folder
from tests.pages.conftest import write_benchmark

pytestmark = [pytest.mark.browser, pytest.mark.slow]
N_LONG = 10_000  # queries, scored one by one: several seconds on a fast machine, while the page looks once a second
CARD = '[class*="st-key-active-"]'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_benchmark(root / "tiny-1.0")
    items = [item(f"i{i}", f"Crate {i} holds a lamp.", "d") for i in range(50)]
    queries = [query(f"q{i}", f"Which crate holds lamp {i}?", f"i{i % 50}", {f"i{i % 50}": 3}) for i in range(N_LONG)]
    relate_folder(root / "long-1.0", items, queries)
    return root


@pytest.fixture(scope="module")
def address(place: Path, browser: Any) -> Iterator[str]:
    """A server with an empty store and an empty cache; what still runs at the end is cancelled."""
    before = os.environ.get("OBSERVATORY_CACHE")
    os.environ["OBSERVATORY_CACHE"] = str(place / "cache")
    try:
        with serving(place / "store") as found:
            yield found
        for job in jobs.listing(place / "store"):
            if isinstance(job, Job) and job.state in jobs.ACTIVE:
                jobs.cancel(place / "store", job.id)
    finally:
        os.environ.pop("OBSERVATORY_CACHE")
        if before is not None:
            os.environ["OBSERVATORY_CACHE"] = before


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Any]:
    """Opens the Run page with a plan, each time in a browser of its own."""
    contexts = []

    def opened(plan: Plan | None = None, **more: str) -> Any:
        contexts.append(browser.new_context(viewport={"width": 1440, "height": 1400}))
        page = contexts[-1].new_page()
        values = {n: v for n, v in run_plan.parameters(plan).items() if v is not None} if plan is not None else {}
        page.goto(f"{address}/run?{urlencode({**values, **more}, doseq=True)}")
        page.wait_for_selector("h1 >> text=Run", timeout=60_000)
        return page

    yield opened
    for context in contexts:
        context.close()


def start(page: Any) -> None:
    page.wait_for_selector("text=Nothing is missing", timeout=60_000)
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_selector("text=The run is in the queue")


def newest(place: Path) -> Job:
    found = jobs.listing(place / "store")[0]
    assert isinstance(found, Job)
    return found


def until(place: Path, identifier: str, *states: str, seconds: float = 60) -> Job:
    end = time.monotonic() + seconds
    while (job := folder.find(place / "store", identifier)).state not in states:
        assert time.monotonic() < end, job
        time.sleep(0.05)
    return job


def test_a_run_is_started_left_and_found_again(visit: Any, place: Path) -> None:
    page = visit(Plan(str(place / "tiny-1.0"), "bm25:okapi", ("random", "bm25")))
    start(page)
    job = newest(place)
    page.context.close()
    job = until(place, job.id, "finished", seconds=120)
    page = visit(job=job.id)
    page.locator('.st-key-outcome >> text=finished').wait_for()
    page.locator(".st-key-outcome").get_by_text("Open in Overview").click()
    page.wait_for_selector("h1 >> text=Mean margins of bm25:okapi", timeout=60_000)
    page.wait_for_function("run => new URL(location).searchParams.get('run') === run", arg=job.last.artifact)


def test_a_run_is_watched_cancelled_resumed_killed_and_resumed(visit: Any, place: Path) -> None:
    """What is kept of an encoder's work is tested with the jobs; this run has none to keep."""
    page = visit(Plan(str(place / "long-1.0"), "bm25:okapi", ("random",), block_size=1))
    start(page)
    job = newest(place)
    page.wait_for_selector(f"{CARD} >> text=left in this stage", timeout=60_000)
    asked = time.monotonic()
    page.locator(CARD).get_by_role("button", name="Cancel").click()
    until(place, job.id, "cancelled", seconds=10)
    assert time.monotonic() - asked < 2.5, "two seconds, and the way from the click to the server"
    page.locator(".st-key-outcome >> text=cancelled").wait_for()

    page.get_by_role("button", name="Resume").click()
    page.wait_for_selector(f"{CARD} >> text=left in this stage", timeout=60_000)
    running = folder.find(place / "store", job.id)
    assert running.live is not None
    os.kill(running.live.pid, signal.SIGKILL)
    page.locator(".st-key-outcome >> text=interrupted").wait_for()
    assert not list((place / "store").glob("long*")), "numbers of a run that did not finish"

    page.get_by_role("button", name="Resume").click()
    finished = until(place, job.id, "finished", seconds=120)
    page.locator(".st-key-outcome >> text=finished").wait_for()
    assert finished.attempts == 3 and [p.name for p in (place / "store").glob("long*")] == [finished.last.artifact]
