"""Progress of a running job: what the measuring process writes down, at most four times a second."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from observatory.errors import Cancelled
from observatory.jobs import folder
from observatory.jobs.queue import now
from observatory.jobs.records import ENCODING, Stage, stages_record

EVERY, LOG_EVERY = 0.25, 5.0


class Recorder:
    """Called with (stage, done, total) like every progress. Raises Cancelled once the job's cancel file is there.

    A stage that comes up again, as one does for each block of queries, goes on where it was. Where texts are encoded it
    counts from its own beginning each time, so those counts add up.
    """

    def __init__(self, path: Path, encoded: Callable[[], int] = lambda: 0) -> None:
        """``encoded`` tells how many texts this process has encoded so far."""
        self._path, self._encoded = path, encoded
        self._stages: dict[str, Stage] = {}
        self._open, self._since = "", 0.0
        self._base = Stage(0.0, 0, 0, 0)
        self._written = self._logged = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if (self._path / folder.CANCEL).exists():
            raise Cancelled("cancelled by a person")
        at = time.monotonic()
        new = stage != self._open
        if new:
            self._begin(stage, done, at)
        base, seconds = self._base, self._base.seconds + at - self._since
        self._stages[stage] = Stage(seconds, base.first, base.done + done, base.total + total)
        if new or done >= total or at - self._written >= EVERY:
            self.write()
        if new or at - self._logged >= LOG_EVERY:
            self._logged = at
            log(f"{stage}: {done:,} of {total:,}" if total > 1 else stage)

    def _begin(self, stage: str, done: int, at: float) -> None:
        """Close the open stage and put this one last. ``_base`` is what its counts are added to."""
        self._close(at)
        known = self._stages.pop(stage, None)
        self._open, self._since = stage, at
        if known is None:
            self._base = Stage(0.0, done, 0, 0)
        elif stage.startswith(ENCODING):
            self._base = Stage(known.seconds, known.first + done, known.done, known.total)
        else:
            self._base = Stage(known.seconds, known.first, 0, 0)

    def _close(self, at: float) -> None:
        """A stage lasts until the next one begins."""
        if self._open:
            s = self._stages[self._open]
            self._stages[self._open] = Stage(self._base.seconds + at - self._since, s.first, s.done, s.total)

    def write(self) -> None:
        """Replaced whole, and not flushed to disk: after a power cut nobody asks how far it was."""
        self._written = time.monotonic()
        raw = json.dumps({"pid": os.getpid(), "at": now(), "encoded": self._encoded(), "stages": stages_record(self._stages)})
        temporary = self._path / f".tmp-{folder.PROGRESS}"
        with contextlib.suppress(OSError):  # a disk that is full for a while costs progress, not hours of measuring
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(raw)
            os.replace(temporary, self._path / folder.PROGRESS)

    def finish(self) -> None:
        self._close(time.monotonic())
        self.write()


def log(line: str) -> None:
    """A line with its time; stdout is the job's log."""
    with contextlib.suppress(OSError):
        print(f"{now()[:19].replace('T', ' ')} UTC  {line}", flush=True)
