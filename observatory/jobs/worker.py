"""A worker: takes jobs from a store's queue, one after the other, until none waits. Each is done by a process of its own.

    python -m observatory.jobs.worker --store DIR

Any number may be started: as many work as OBSERVATORY_JOBS_AT_ONCE says (one, unless it is set), the others end.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from observatory import paths
from observatory.errors import ObservatoryError
from observatory.jobs import folder, queue
from observatory.jobs.records import Job

LOOK_EVERY = 0.1
GRACE = 1.0  # seconds between asking a job's process to stop and ending it


class Stopped(Exception):
    """Somebody asked this worker to end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True, type=Path)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        work(parser.parse_args().store)
    except Stopped:
        return 130
    except ObservatoryError as error:
        print(f"observatory: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _stop(signum: int, frame: FrameType | None) -> NoReturn:
    raise Stopped


def work(root: Path) -> None:
    """Work the queue off, where there is a slot.

    The queue is looked at again after the slot was given back: a job that came while this worker was about to end has a
    worker that ended at once, because the slot was taken.
    """
    with folder.changing(root):
        pass  # the folder of locks is there from now on
    while queue.waits(root) and (slot := _slot(root)) is not None:
        try:
            while (claimed := queue.claim(root)) is not None:
                _supervise(root, *claimed)
        finally:
            os.close(slot)
        time.sleep(LOOK_EVERY)  # what waits and could not be claimed has a process on its way out


def _slot(root: Path) -> int | None:
    """A slot; tried for a moment, because who only looks whether one is free holds it for an instant."""
    for _ in range(5):
        if (slot := folder.take_slot(root, queue.at_once())) is not None:
            return slot
        time.sleep(0.05)
    return None


def _supervise(root: Path, job: Job, alive: int) -> None:
    """Run one claimed job in a child process, which inherits the lock; stop it where its cancel file appears."""
    process = None
    try:
        process = _start(root, job, alive)
        while process.poll() is None:
            if (job.path / folder.CANCEL).exists():
                _end(process)
            time.sleep(LOOK_EVERY)
        queue.close(root, job, process.returncode)
    except BaseException:
        if process is not None:
            _end(process)
        queue.close(root, job, None)
        raise
    finally:
        os.close(alive)


def _start(root: Path, job: Job, alive: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "observatory.jobs.measure", "--store", str(root), "--job", str(job.path)]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    with os.fdopen(os.open(job.path / folder.LOG, flags, 0o644), "ab") as log:
        return subprocess.Popen(command, cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[alive])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, wait a moment, end."""
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
