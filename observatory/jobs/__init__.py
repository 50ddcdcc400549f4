"""Runs as jobs: a queue of plans on disk, worked off by processes of their own, with progress, cancel, resume and history.

A job is a folder below the store (:mod:`observatory.jobs.folder`); what happens to it is :mod:`observatory.jobs.queue`;
:mod:`observatory.jobs.worker` takes jobs from the queue and :mod:`observatory.jobs.measure` does one of them.
"""

from __future__ import annotations

from observatory.jobs.folder import find, listing
from observatory.jobs.queue import cancel, resume, submit, wake
from observatory.jobs.records import ACTIVE, RESUMABLE, Broken, Event, Job, Live, Stage

__all__ = [
    "ACTIVE", "RESUMABLE", "Broken", "Event", "Job", "Live", "Stage", "cancel", "find", "listing", "resume", "submit", "wake",
]
