"""A server of our own on a free loopback port, and a real browser; both are ended by their own handles."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from observatory.runs import Plan, run
from tests.conftest import ROOT
from tests.pages.conftest import RULES, published, write_benchmark

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]


def chromium() -> str:
    """Where a Chromium is: OBSERVATORY_CHROMIUM, else on the path; a skip where there is none."""
    found = os.environ.get("OBSERVATORY_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not found or not Path(found).exists():
        pytest.skip("no Chromium here: install it (apt-get install chromium) or set OBSERVATORY_CHROMIUM")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    path = chromium()
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


def settled(page: Any) -> None:
    """Wait until the page stands still: its script is done, and nothing of the run before is left (it could be found twice)."""
    page.wait_for_function(
        """() => document.querySelector('.stApp')?.dataset.testScriptState === 'notRunning' && !document.querySelector('[data-stale="true"]')""",
        timeout=60_000,
    )


def press(page: Any, button: str) -> None:
    """Press the button of this name on a page that stands still."""
    settled(page)
    page.get_by_role("button", name=button).click()


@pytest.fixture(scope="session")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One measurement and one published table of it."""
    from observatory import artifacts

    root = tmp_path_factory.mktemp("browser")
    path = run(Plan(str(write_benchmark(root / "tiny-1.0")), "bm25:okapi", RULES, seed=3), root / "store")
    artifacts.write(root / "store", published(path))
    return root / "store"


@pytest.fixture(scope="session")
def server(store_folder: Path, browser: object) -> Iterator[str]:
    """The app on a free port; its address. (It needs the browser only so that it is not started in vain.)"""
    with serving(store_folder) as address:
        yield address


@contextmanager
def serving(store: Path, script: Path = ROOT / "app.py") -> Iterator[str]:
    """The app, or another script, over one store, on a free port of its own, ended by its own handle."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port), "--server.headless", "true"]
    environment = os.environ | {"OBSERVATORY_STORE": str(store), "OBSERVATORY_SHIPPED": "", "PYTHONPATH": str(ROOT)}
    log = (store.parent / "server.log").open("wb")
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.close()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(150):
        if process.poll() is not None:
            pytest.fail(f"the server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the server did not answer within 30 s")
