"""Jobs on disk: one folder each below ``<store>/.jobs``, read without trust and changed under one lock.

    .jobs/.locks/queue          held for the moment of a change, by whoever makes it
    .jobs/.locks/slot-0, ...    held by each working worker: as many as run at once
    .jobs/<id>/plan.yaml        what to measure
    .jobs/<id>/job.json         its events, replaced whole
    .jobs/<id>/alive            locked by the worker and the process that runs the job, as long as one of them lives
    .jobs/<id>/progress.json, result.json, log.txt, cancel

Whether a job's process lives is asked of the kernel's lock, never of a process id: a lock ends with its process, also
after SIGKILL or a reboot, and an id may belong to another program by then.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from observatory import plans
from observatory.errors import InputError, ObservatoryError
from observatory.files import write_whole
from observatory.jobs import ending
from observatory.jobs.records import (
    CANCELLING,
    QUEUED,
    RUNNING,
    Broken,
    Event,
    Job,
    Live,
    event_record,
    parse_events,
    parse_live,
)
from observatory.plans import Plan

FOLDER, LOCKS, QUEUE_LOCK = ".jobs", ".locks", "queue"
PLAN, STATE, ALIVE, PROGRESS, RESULT, LOG, CANCEL = "plan.yaml", "job.json", "alive", "progress.json", "result.json", "log.txt", "cancel"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MOST_BYTES = 2**20
PATIENCE = 10.0  # seconds for the queue's lock: it is held for a few milliseconds


# -- reading -----------------------------------------------------------------------------------------------------------


def listing(root: Path) -> list[Job | Broken]:
    """Every job below a store, newest first; a folder that is no job is a Broken with its reason, never an error."""
    return [_read(root, name) for name in _names(root)]


def waiting(root: Path) -> list[Job]:
    """The jobs in the queue that can be changed here, the one that has waited longest first; of all others no more than the events is read.

    In a shared store a job may belong to somebody else: it waits for a worker of theirs, and holds up nobody.
    """
    ours = (n for n in _names(root) if _last_state(root / FOLDER / n) == QUEUED and os.access(root / FOLDER / n, os.W_OK | os.X_OK))
    found = [_read(root, name) for name in ours]
    return sorted((job for job in found if isinstance(job, Job) and job.state == QUEUED), key=lambda job: (job.queued_at, job.id))


def _last_state(path: Path) -> str:
    try:
        return _events(path)[-1].state
    except (ObservatoryError, OSError, ValueError, RecursionError):
        return ""  # whoever lists the jobs says why


def _names(root: Path) -> list[str]:
    """Everything among the jobs, newest first; nothing where there is no such folder."""
    try:
        return sorted((e.name for e in os.scandir(root / FOLDER) if not e.name.startswith(".")), reverse=True)
    except OSError:
        return []


def find(root: Path, identifier: str) -> Job:
    """The job called ``identifier``. InputError where there is none or its folder is corrupt."""
    if not NAME.fullmatch(identifier) or not (root / FOLDER / identifier).is_dir():
        raise InputError("there is no such job", value=identifier, mend="name an id that 'observatory jobs' lists")
    found = _read(root, identifier)
    if isinstance(found, Broken):
        raise InputError(f"the job is corrupt: {found.reason.rstrip('.')}", mend="submit its plan again and remove the folder")
    return found


def _read(root: Path, name: str) -> Job | Broken:
    path = root / FOLDER / name
    if not NAME.fullmatch(name):
        return Broken(name, "has a name that no job has")
    if path.is_symlink() or not path.is_dir():
        return Broken(name, "is no folder")
    try:
        return read_job(path)
    except OSError as error:
        return Broken(name, f"{Path(error.filename or name).name} cannot be read: {error.strerror}")
    except (ObservatoryError, ValueError, RecursionError) as error:
        return Broken(name, str(error))


def read_job(path: Path) -> Job:
    """One job's folder. InputError, OSError or ValueError where it is none.

    A job that its file calls running is so only while its lock is held. The lock is tried after the file was read, so
    the file is read again: the end may have been written in between.
    """
    plan = _plan(read_small(path / PLAN))
    events = _events(path)
    if os.path.lexists(path / ALIVE) and not stat.S_ISREG(os.lstat(path / ALIVE).st_mode):
        raise InputError("is no plain file", file=ALIVE, mend="remove this folder")  # it could never be locked, and hold up the queue
    if events[-1].state == RUNNING:
        if is_alive(path):
            return Job(path.name, path, plan, events, CANCELLING if (path / CANCEL).exists() else RUNNING, live_of(path))
        events = _events(path)
        if events[-1].state == RUNNING:
            events = (*events, closing(path, events[-1]))
    return Job(path.name, path, plan, events, events[-1].state)


def _plan(raw: bytes) -> Plan:
    """What the plan's file says. What is wrong with it is kept as well, and costs as little the next time."""
    found = _read_plan(raw)
    if isinstance(found, str):
        raise ValueError(found)
    return found


@lru_cache(maxsize=2**15)
def _read_plan(raw: bytes) -> Plan | str:
    """YAML takes milliseconds to read, and pages that follow a run read every job each second."""
    try:
        return plans.from_yaml(raw.decode("utf-8"), PLAN)
    except (ObservatoryError, ValueError) as error:
        return str(error)


def closing(path: Path, begun: Event, code: int | None = None, at: str | None = None) -> Event:
    """The event that closes the attempt that ``begun`` opened, from what its process left."""
    return ending.of(begun, live_of(path), result_of(path), (path / CANCEL).exists(), code, at)


def _events(path: Path) -> tuple[Event, ...]:
    return parse_events(json.loads(read_small(path / STATE)), f"{path.name}/{STATE}")


def live_of(path: Path) -> Live | None:
    """What the job's process wrote last; None before it wrote anything."""
    try:
        return parse_live(json.loads(read_small(path / PROGRESS)), PROGRESS)
    except (ObservatoryError, OSError, ValueError, RecursionError):
        return None  # progress is a courtesy: the state does not depend on it


def result_of(path: Path) -> dict[str, Any]:
    """What the job's process said at its end; {} where it ended without a word."""
    try:
        found = json.loads(read_small(path / RESULT))
    except (OSError, ValueError, RecursionError, ObservatoryError):
        return {}
    return found if isinstance(found, dict) else {}


def log_tail(path: Path, most: int = 16_384) -> str:
    """The last lines of a job's log."""
    try:
        with os.fdopen(_open_regular(path / LOG), "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - most))
            text = stream.read(most).decode("utf-8", "replace")
    except (OSError, ObservatoryError):
        return ""
    return text.partition("\n")[2] if size > most else text


def read_small(path: Path) -> bytes:
    """A regular file of at most a mebibyte; links, pipes and devices are an InputError."""
    with os.fdopen(_open_regular(path), "rb") as stream:
        raw = stream.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise InputError(f"is larger than {MOST_BYTES:,} bytes", file=path.name, mend="remove this folder")
    return raw


def _open_regular(path: Path) -> int:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError("is no plain file", file=path.name, mend="remove this folder")
    return handle


# -- changing ----------------------------------------------------------------------------------------------------------


def record(path: Path, events: tuple[Event, ...]) -> None:
    """Replace a job's file; to be called under :func:`changing`."""
    raw = json.dumps({"version": 1, "events": [event_record(e) for e in events]}, indent=1)
    write_whole(path / STATE, raw.encode("utf-8"))


@contextmanager
def changing(root: Path) -> Iterator[None]:
    """The lock of the whole queue, for a moment. InputError where somebody keeps it or the store cannot be written."""
    try:
        (root / FOLDER / LOCKS).mkdir(parents=True, exist_ok=True)
        handle = os.open(root / FOLDER / LOCKS / QUEUE_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=root, mend="choose another --store") from error
    try:
        until = time.monotonic() + PATIENCE
        while not _try_lock(handle):
            if time.monotonic() > until:
                raise InputError("the queue is held by another process", file=root / FOLDER, mend="end that process, or try again")
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)


def take_slot(root: Path, at_once: int) -> int | None:
    """A worker's right to work, as an open file that holds its lock; None where as many work as may."""
    for number in range(at_once):
        handle = os.open(root / FOLDER / LOCKS / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if _try_lock(handle):
            return handle
        os.close(handle)
    return None


def take_alive(path: Path) -> int | None:
    """The lock that says a job is being run, as an open file that a child process can inherit; None where it is held.

    Who only asks holds it for an instant, so it is tried for a while.
    """
    handle = os.open(path / ALIVE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    until = time.monotonic() + 0.3
    while not _try_lock(handle):
        if time.monotonic() > until:
            os.close(handle)
            return None
        time.sleep(0.01)
    return handle


def is_alive(path: Path) -> bool:
    """Whether a process holds the job's lock."""
    try:
        handle = os.open(path / ALIVE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
