"""How an attempt ended, read from what its process left behind: pure, and the same for a worker and for a reader after a reboot."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from observatory.errors import one_line
from observatory.jobs.records import CANCELLED, FAILED, FINISHED, INTERRUPTED, LONGEST, Event, Live

UNSAID = "its process ended without a word: it was killed, the disk was full, or the machine went down"


def of(
    begun: Event, live: Live | None, result: Mapping[str, Any], cancelled: bool, code: int | None = None, at: str | None = None
) -> Event:
    """The event that closes the attempt that ``begun`` opened.

    ``result`` is what the process said ({}: nothing), ``cancelled`` whether somebody asked it to stop, ``code`` how it
    ended where that is known, ``at`` the time of the end (else the last that was heard of it).
    """
    last = live.at if live is not None else begun.at
    seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(begun.at)).total_seconds()
    state, fields = _state(result, cancelled, code)
    encoded, stages = (live.encoded, live.stages) if live is not None else (None, {})
    return Event(at or last, state, seconds=max(0.0, seconds), encoded=encoded, stages=stages, **fields)


def _state(result: Mapping[str, Any], cancelled: bool, code: int | None) -> tuple[str, dict[str, Any]]:
    if isinstance(result.get("artifact"), str):
        return FINISHED, {"artifact": one_line(result["artifact"])[:LONGEST]}
    if isinstance(result.get("error"), str):
        kind = result.get("exit_code")
        known = type(kind) is int and 0 <= kind <= 255
        return FAILED, {"reason": one_line(result["error"])[:LONGEST], "exit_code": kind if known else None}
    if cancelled:
        return CANCELLED, {}
    if code is None:
        return INTERRUPTED, {"reason": UNSAID}
    if code < 0:
        name = signal.Signals(-code).name
        return INTERRUPTED, {"reason": f"its process was ended from outside ({name}): somebody killed it, or memory ran out"}
    if "cancelled" in result:
        return INTERRUPTED, {"reason": "its process was told to stop"}
    return FAILED, {"reason": f"its process ended with code {code} and said nothing; the log may say why", "exit_code": 2}
