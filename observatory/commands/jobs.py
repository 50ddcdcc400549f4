"""observatory jobs: runs in the background, listed, submitted, cancelled, resumed."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from observatory import jobs, paths, plans
from observatory.cli import print_json
from observatory.commands import text
from observatory.errors import InputError
from observatory.files import read_text
from observatory.jobs import Broken, Job

WIDEST = 120  # characters of a cell; --json has all of them
CHANGES = {"cancel": jobs.cancel, "resume": jobs.resume}


def main(options: argparse.Namespace) -> int:
    root = paths.store_root(options.store)
    if options.action == "list":
        return _list(root, options.json)
    if options.action == "submit":
        if not options.plan:
            raise InputError("names no plan", file="jobs submit", mend="write --plan FILE")
        found = jobs.submit(root, plans.from_yaml(read_text(Path(options.plan)), options.plan))
    else:
        if not options.id:
            raise InputError("names no job", file=f"jobs {options.action}", mend="write the id that 'observatory jobs' lists")
        found = CHANGES[options.action](root, options.id)
    if options.json:
        print_json(as_json(found))
    else:
        print(f"{found.id}  {found.state}")
    return 0


def _list(root: Path, as_document: bool) -> int:
    found = jobs.listing(root)
    broken = [job for job in found if isinstance(job, Broken)]
    whole = [job for job in found if isinstance(job, Job)]
    if as_document:
        print_json({"jobs": [as_json(j) for j in whole], "broken": [{"id": b.id, "reason": b.reason} for b in broken]})
        return 0
    if whole:
        header = ["job", "state", "scorer", "benchmark", "progress", "seconds", "texts encoded", "artifact or reason"]
        print(text.table(header, [_row(job) for job in whole]))
    for entry in broken:
        print(text.one_line(f"{entry.id}: is no job: {entry.reason}"))
    if not found:
        print("no jobs; start one on the Run page or with: observatory jobs submit --plan FILE")
    return 0


def _row(job: Job) -> list[str]:
    current = job.live.current if job.live is not None else None
    progress = f"{job.live.stage} {current.done:,}/{current.total:,}" if job.live and current else ""
    cells = [
        job.id, job.state, job.plan.scorer, Path(job.plan.benchmark).name, progress, f"{job.seconds:,.1f}", f"{job.encoded:,}",
        job.last.artifact or job.last.reason or "",
    ]
    return [cell if len(cell) <= WIDEST else cell[: WIDEST - 1] + "…" for cell in map(text.one_line, cells)]


def as_json(job: Job) -> dict[str, Any]:
    """The public shape of one job."""
    return {
        "id": job.id, "state": job.state, "plan": asdict(job.plan), "created": job.created, "started": job.started_at,
        "ended": job.ended_at, "attempts": job.attempts, "seconds": round(job.seconds, 3), "texts_encoded": job.encoded,
        "artifact": job.last.artifact, "reason": job.last.reason, "exit_code": job.last.exit_code, "progress": _progress(job),
    }


def _progress(job: Job) -> dict[str, Any] | None:
    if job.live is None or (stage := job.live.current) is None:
        return None
    return {
        "pid": job.live.pid, "stage": job.live.stage, "done": stage.done, "total": stage.total, "per_second": stage.rate,
        "seconds_left": stage.left,
    }
