"""A store for jobs, workers of our own that are ended by their own handles, and waiting without busy loops."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from observatory.jobs import ACTIVE, Job, folder, queue
from observatory.plans import Plan
from tests.conftest import ROOT

Work = Callable[[], subprocess.Popen[bytes]]
RULES = ("random", "in_model[0:3]")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def plan(small: Path) -> Plan:
    return Plan(str(small), "bm25:okapi", RULES, k=3)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submitting starts no worker: the test starts its own, or none."""
    monkeypatch.setattr(queue, "start_worker", lambda root: None)


@pytest.fixture
def work(root: Path, by_hand: None) -> Iterator[Work]:
    """Starts a worker on the store."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "observatory.jobs.worker", "--store", str(root)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=20)


def until(root: Path, identifier: str, wanted: Callable[[Job], bool], seconds: float = 60) -> Job:
    """The job once it is as wanted."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        job = folder.find(root, identifier)
        if wanted(job):
            return job
        time.sleep(0.03)
    raise AssertionError(f"after {seconds} s: {folder.find(root, identifier)}\n{folder.log_tail(root / folder.FOLDER / identifier)}")


def ended(job: Job) -> bool:
    return job.state not in ACTIVE


def states(job: Job) -> list[str]:
    return [event.state for event in job.events]
