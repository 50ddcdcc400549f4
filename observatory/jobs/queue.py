"""What happens to a job: submitted, claimed, ended, cancelled, resumed. Every change is made under the queue's lock."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from observatory import paths, plans
from observatory.errors import InputError
from observatory.files import flush, write_whole
from observatory.jobs import folder
from observatory.jobs.records import ACTIVE, CANCELLED, INTERRUPTED, MOST_EVENTS, QUEUED, RESUMABLE, RUNNING, Event, Job
from observatory.plans import Plan

AT_ONCE = "OBSERVATORY_JOBS_AT_ONCE"
MOST_AT_ONCE = 16
LONGEST_ATTEMPT = 4  # events: queued, running, ended, and cancelled after that


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def at_once() -> int:
    """How many jobs run at the same time: ``OBSERVATORY_JOBS_AT_ONCE``, else one. InputError where it is no such number."""
    text = os.environ.get(AT_ONCE, "1")
    if not text.isdecimal() or not 1 <= int(text) <= MOST_AT_ONCE:
        raise InputError(f"is no number from 1 to {MOST_AT_ONCE}", field=AT_ONCE, value=text, mend=f"set {AT_ONCE}=1")
    return int(text)


# -- by people ---------------------------------------------------------------------------------------------------------


def submit(root: Path, plan: Plan) -> Job:
    """Queue a plan and see that a worker is there; it returns at once.

    Paths are made absolute: the worker has a working directory of its own. InputError where the store cannot be written.
    """
    at_once()  # a worker would have nobody to tell
    text = plans.to_yaml(absolute(plan))
    plans.from_yaml(text)  # what cannot be read back would never run
    identifier = f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%fZ')}-{secrets.token_hex(3)}"
    with folder.changing(root):
        try:
            temporary = Path(tempfile.mkdtemp(prefix=".tmp-", dir=root / folder.FOLDER))
            try:
                write_whole(temporary / folder.PLAN, text.encode("utf-8"))
                folder.record(temporary, (Event(now(), QUEUED),))
                (temporary / folder.ALIVE).touch()
                temporary.chmod(0o755)
                temporary.rename(root / folder.FOLDER / identifier)
                flush(root / folder.FOLDER)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=root, mend="check space and rights") from error
    start_worker(root)
    return folder.find(root, identifier)


def absolute(plan: Plan) -> Plan:
    """The plan with the benchmark, and a scorer that is a folder, named from the root of the file system."""
    benchmark, scorer = Path(plan.benchmark).expanduser(), Path(plan.scorer).expanduser()
    return replace(plan, benchmark=str(benchmark.absolute()), scorer=str(scorer.absolute()) if scorer.is_dir() else plan.scorer)


def cancel(root: Path, identifier: str) -> Job:
    """Stop a job: a queued or interrupted one at once, a running one by its worker. InputError where it has ended."""
    with folder.changing(root):
        job = folder.find(root, identifier)
        if job.state == RUNNING:
            (job.path / folder.CANCEL).touch()
        elif job.state in (QUEUED, INTERRUPTED):
            folder.record(job.path, (*job.events, Event(now(), CANCELLED)))
        elif job.state not in ACTIVE:
            raise InputError(f"the job is {job.state}", value=identifier, mend="cancel one that waits or runs")
    return folder.find(root, identifier)


def resume(root: Path, identifier: str) -> Job:
    """Queue a job again that was interrupted or cancelled, or that failed; embeddings that were finished are not encoded twice."""
    with folder.changing(root):
        job = folder.find(root, identifier)
        if job.state not in (*RESUMABLE, QUEUED):
            raise InputError(
                f"the job is {job.state}", value=identifier, mend="resume one that was interrupted or cancelled, or that failed"
            )
        if len(job.events) > MOST_EVENTS - LONGEST_ATTEMPT:
            raise InputError(f"the job was tried {job.attempts} times", value=identifier, mend="submit its plan as a new job")
        if job.state != QUEUED:  # one that waits needs no more than a worker
            folder.record(job.path, (*job.events, Event(now(), QUEUED)))
            (job.path / folder.CANCEL).unlink(missing_ok=True)
    start_worker(root)
    return folder.find(root, identifier)


# -- by workers --------------------------------------------------------------------------------------------------------


def claim(root: Path) -> tuple[Job, int] | None:
    """The job that has waited longest, now running, and the open file whose lock keeps it so; None where none waits."""
    with folder.changing(root):
        for job in folder.waiting(root):
            handle = folder.take_alive(job.path)
            if handle is None:
                continue  # a process of an earlier attempt is still on its way out
            for name in (folder.PROGRESS, folder.RESULT, folder.CANCEL):
                (job.path / name).unlink(missing_ok=True)
            folder.record(job.path, (*job.events, Event(now(), RUNNING)))
            return folder.read_job(job.path), handle
    return None


def close(root: Path, job: Job, code: int | None) -> None:
    """Record how a claimed job ended; ``code`` is how its process did, None where it was stopped with its worker."""
    with folder.changing(root):
        there = folder.read_job(job.path)
        if there.last.state == RUNNING:
            folder.record(job.path, (*there.events, folder.closing(job.path, there.last, code, now())))


def waits(root: Path) -> bool:
    return bool(folder.waiting(root))


def wake(root: Path) -> None:
    """Start a worker where a job waits and nobody works, as after a reboot."""
    if waits(root) and (handle := folder.take_slot(root, at_once())) is not None:
        os.close(handle)
        start_worker(root)


def start_worker(root: Path) -> None:
    """A worker process in a session of its own: it outlives whoever started it. One too many ends by itself."""
    command = [sys.executable, "-m", "observatory.jobs.worker", "--store", str(root.absolute())]
    environment = dict(
        os.environ, OMP_WAIT_POLICY="passive", PYTHONPATH=_search_path(), OBSERVATORY_CACHE=str(paths.cache_root().absolute())
    )
    process = subprocess.Popen(
        command, cwd=paths.ROOT, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    threading.Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie behind


def _search_path() -> str:
    return os.pathsep.join(filter(None, [str(paths.ROOT), os.environ.get("PYTHONPATH", "")]))
