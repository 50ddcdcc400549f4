"""A job in records: its plan, what happened to it so far, and how far a running one is. Reading them refuses what is malformed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from observatory.errors import InputError
from observatory.plans import Plan

QUEUED, RUNNING, FINISHED, FAILED, CANCELLED, INTERRUPTED = "queued", "running", "finished", "failed", "cancelled", "interrupted"
CANCELLING = "cancelling"
WRITTEN = (QUEUED, RUNNING, FINISHED, FAILED, CANCELLED, INTERRUPTED)
"""States that stand in a job's file. ``cancelling`` is a running job with a cancel file; a running one whose process died is interrupted."""
ACTIVE = (QUEUED, RUNNING, CANCELLING)
RESUMABLE = (INTERRUPTED, CANCELLED, FAILED)
ENCODING = "encode"
"""How the names of stages begin in which a model reads texts."""
MOST_EVENTS, LONGEST, LARGEST = 1000, 2000, 10**15
"""Events of a job, characters of a text and the size of any number in its files: a person may have written them."""


@dataclass(frozen=True)
class Stage:
    """One stage of a run: ``done`` of ``total`` when it was last heard of, of which ``first`` were there before it began."""

    seconds: float
    first: int
    done: int
    total: int

    @property
    def rate(self) -> float | None:
        """Done here a second; None before the first one is done."""
        return (self.done - self.first) / self.seconds if self.done > self.first and self.seconds > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds to go at this rate."""
        return (self.total - self.done) / self.rate if self.rate else None


Stages = Mapping[str, Stage]


@dataclass(frozen=True)
class Live:
    """What a job's process wrote last: its stages in order, the last one open; ``encoded`` as in :class:`Event`."""

    pid: int
    at: str
    stages: Stages
    encoded: int

    @property
    def stage(self) -> str:
        return list(self.stages)[-1] if self.stages else "start"

    @property
    def current(self) -> Stage | None:
        return self.stages.get(self.stage)


@dataclass(frozen=True)
class Event:
    """One change of state. ``seconds``, ``encoded`` (texts that a model read) and ``stages`` are of the attempt that ended here."""

    at: str
    state: str
    artifact: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    encoded: int | None = None
    stages: Stages = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """``state`` is what it is now. ``live`` is how far a running job is, None before it said so.

    An attempt whose process died unrecorded ends in an event all the same: read from what the process left, not from the file.
    """

    id: str
    path: Path
    plan: Plan
    events: tuple[Event, ...]
    state: str
    live: Live | None = None

    @property
    def last(self) -> Event:
        return self.events[-1]

    @property
    def created(self) -> str:
        return self.events[0].at

    @property
    def queued_at(self) -> str:
        return next(e.at for e in reversed(self.events) if e.state == QUEUED)

    @property
    def started_at(self) -> str | None:
        return next((e.at for e in reversed(self.events) if e.state == RUNNING), None)

    @property
    def ended_at(self) -> str | None:
        return None if self.state in ACTIVE else self.last.at

    @property
    def seconds(self) -> float:
        """Time of all attempts that ended, in seconds."""
        return sum(e.seconds or 0.0 for e in self.events)

    @property
    def encoded(self) -> int:
        """Texts that a model read for this job, over all attempts; those that came from the cache are not among them."""
        return sum(e.encoded or 0 for e in self.events) + (self.live.encoded if self.live is not None else 0)

    @property
    def attempts(self) -> int:
        return sum(e.state == RUNNING for e in self.events)


@dataclass(frozen=True)
class Broken:
    """A folder among the jobs that is none, and why."""

    id: str
    reason: str


# -- plain data, in and out ------------------------------------------------------------------------------------------


def event_record(event: Event) -> dict[str, Any]:
    """An event as JSON data; what does not apply is left out."""
    record: dict[str, Any] = {
        "at": event.at, "state": event.state, "artifact": event.artifact, "reason": event.reason,
        "exit_code": event.exit_code, "seconds": event.seconds, "encoded": event.encoded,
    }
    stages = {"stages": stages_record(event.stages)} if event.stages else {}
    return {name: value for name, value in record.items() if value is not None} | stages


def stages_record(stages: Stages) -> dict[str, list[float]]:
    return {name: [round(s.seconds, 3), s.first, s.done, s.total] for name, s in stages.items()}


def parse_events(data: Any, subject: str) -> tuple[Event, ...]:
    """The events of a job's file. InputError naming what is wrong."""
    records = data.get("events") if isinstance(data, dict) else None
    if not isinstance(records, list) or not 0 < len(records) <= MOST_EVENTS:
        raise InputError("holds no list of events", file=subject, field="events", mend="remove this folder")
    events = tuple(_event(record, subject) for record in records)
    if events[0].state != QUEUED:
        raise InputError("does not begin in the queue", file=subject, field="events", mend="remove this folder")
    return events


def parse_live(data: Any, subject: str) -> Live:
    if not isinstance(data, dict):
        raise InputError("is no record of progress", file=subject, mend="remove it")
    pid, at, encoded = data.get("pid"), data.get("at"), data.get("encoded")
    if type(pid) is not int or type(encoded) is not int or not _amount(encoded) or not isinstance(at, str) or not _time(at):
        raise InputError("is no record of progress", file=subject, field="pid, at, encoded", mend="remove it")
    return Live(pid, at, _stages(data.get("stages"), subject), encoded)


def _event(record: Any, subject: str) -> Event:
    kinds: dict[str, tuple[type, ...]] = {
        "artifact": (str,), "reason": (str,), "exit_code": (int,), "seconds": (int, float), "encoded": (int,),
    }
    if not isinstance(record, dict) or record.get("state") not in WRITTEN or not _time(record.get("at")):
        raise InputError("holds an event without a known state and time", file=subject, field="events", mend="remove this folder")
    values = {name: record.get(name) for name in kinds}
    for name, value in values.items():
        whole = isinstance(value, kinds[name]) and (_plain(value) if isinstance(value, str) else _amount(value))
        if value is not None and not whole:
            raise InputError("has another type than it should", file=subject, field=name, value=value, mend="remove this folder")
    return Event(record["at"], record["state"], stages=_stages(record.get("stages", {}), subject), **values)


def _stages(data: Any, subject: str) -> Stages:
    if not isinstance(data, dict) or len(data) > 100:
        raise InputError("holds no stages", file=subject, field="stages", mend="remove it")
    return {str(name)[:80]: _stage(value, subject) for name, value in data.items()}


def _stage(value: Any, subject: str) -> Stage:
    whole = isinstance(value, list) and len(value) == 4 and all(_amount(v) for v in value)
    if not whole or not value[1] <= value[2]:
        raise InputError("holds a stage that is none", file=subject, field="stages", value=value, mend="remove it")
    return Stage(float(value[0]), int(value[1]), int(value[2]), int(value[3]))


def _amount(value: Any) -> bool:
    """Whether it is a number that can be counted with and written: neither negative nor true, infinite or endless."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _plain(text: str) -> bool:
    """Whether it is one line of a bearable length, as this program writes it."""
    return len(text) <= LONGEST and text.isprintable()


def _time(text: Any) -> bool:
    """Whether it is a time with its zone, as this program writes it."""
    try:
        return isinstance(text, str) and len(text) < 40 and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
