"""Append-only ledgers: JSON lines, each with the hash of the one before, so that a changed or removed line is seen.

A chain is an integrity check, not a seal: someone who can rewrite the whole file, or cut off its end, is not stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from observatory.descriptor import canonical
from observatory.errors import InputError

START = "0" * 64
MOST_BYTES = 64 * 2**20
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Ledger:
    """What a ledger holds. Where its chain is broken there are no entries, and ``fault`` says where and how.

    ``unfinished``: the last line has no end. Its writer stopped before it was acknowledged, so it was never an entry.
    """

    entries: tuple[Entry, ...] = ()
    fault: str | None = None
    unfinished: bool = False


def read(path: Path) -> Ledger:
    """The verified entries of a ledger; an empty one where there is no file. InputError where it cannot be read."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH)
            raw = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Ledger()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check its rights") from error
    return verified(raw)


def append(path: Path, make: Callable[[Ledger], Sequence[Entry]]) -> tuple[Entry, ...]:
    """Add what ``make`` returns for the ledger as it is now, under a lock and flushed to disk: all of it or nothing.

    Any number of processes may append at once. InputError where the chain is broken or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(handle, "r+b", buffering=0) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            raw = stream.read(MOST_BYTES + 1) or b""
            there = verified(raw)
            if there.fault is not None:
                raise InputError(f"is broken: {there.fault}", file=path, mend="move it aside; nothing is added to a broken chain")
            added = _chained(there.entries[-1]["sha256"] if there.entries else START, make(there))
            _write(stream.fileno(), raw.rfind(b"\n") + 1, "".join(canonical(entry) + "\n" for entry in added).encode("utf-8"))
        _flush_folder(path.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path, mend="free some space or check its rights") from error
    return added


def verified(raw: bytes) -> Ledger:
    """The entries in ``raw``, each checked against the one before."""
    if len(raw) > MOST_BYTES:
        return Ledger(fault=f"it is larger than {MOST_BYTES >> 20} MiB")
    lines, entries, previous = raw.split(b"\n"), [], START
    for number, line in enumerate(lines[:-1], 1):
        entry = _entry(line)
        if entry is None:
            return Ledger(fault=f"line {number} is not what was written")
        if entry["previous"] != previous:
            return Ledger(fault=f"line {number} does not follow the line before it")
        entries.append(entry)
        previous = entry["sha256"]
    return Ledger(tuple(entries), unfinished=bool(lines[-1]))


def _entry(line: bytes) -> Entry | None:
    """A line as an entry, or None where its own hash does not fit it."""
    try:
        entry = json.loads(line)
        rest = {key: value for key, value in entry.items() if key != "sha256"}
        whole = _hash(rest) == entry["sha256"] and isinstance(entry["previous"], str)
        return entry if whole and canonical(entry).encode("utf-8") == line else None
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return None


def _chained(previous: str, records: Sequence[Entry]) -> tuple[Entry, ...]:
    found = []
    for record in records:
        entry = {**record, "previous": previous}
        previous = _hash(entry)
        found.append({**entry, "sha256": previous})
    return tuple(found)


def _hash(record: Entry) -> str:
    return hashlib.sha256(canonical(record).encode("utf-8")).hexdigest()


def _write(handle: int, end: int, raw: bytes) -> None:
    """Write after byte ``end`` (what stands behind it was never acknowledged); a failed write leaves the file as it was."""
    try:
        os.ftruncate(handle, end)
        written = 0
        while written < len(raw):
            written += os.write(handle, raw[written:])
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, end)
        raise


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
