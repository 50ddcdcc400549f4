"""What is loaded, from where, and what a person stated about it; cached by the store's version and the ledger's time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import streamlit as st

from observatory import archives, artifacts, completion, lock, paths
from observatory.admission import admit
from observatory.artifacts import Artifact
from observatory.completion import Assertion, Completions
from observatory.ui import readers
from observatory.ui.readers import Token


@dataclass(frozen=True)
class Loaded:
    """One admitted artifact as a row."""

    id: str
    title: str
    kind: str
    benchmark: str
    model: str
    started: str
    source: str
    origin: str
    lock_state: str
    path: Path
    run: Mapping[str, Any]
    about: Mapping[str, Any]
    rules: tuple[str, ...]
    set_ids: tuple[str, ...]

    @property
    def published(self) -> bool:
        return self.kind == "summary"


def loaded() -> list[Loaded]:
    """Every admitted artifact: measurements first, newest first."""
    return _loaded(readers.token())


@st.cache_data(show_spinner=False, max_entries=8)
def _loaded(at: Token) -> list[Loaded]:
    store = readers.store()
    sets = store.sets()
    found = []
    for row in store.artifacts().to_dict("records"):
        mine = sets[sets["artifact_id"] == row["artifact_id"]].sort_values("position")
        path = Path(row["path"])
        found.append(
            Loaded(
                row["artifact_id"], row["title"], row["kind"], row["benchmark"], row["model"] or "not applicable", row["started"],
                row["source"], _origin(path), row["lock_state"], path, json.loads(row["run"]), json.loads(row["about"]),
                tuple(mine["rule"]), tuple(mine["set_id"]),
            )
        )
    return found


def _origin(path: Path) -> str:
    if path.parent == paths.store_root().resolve():
        return "store"
    return "shipped" if path.parent in [root.resolve() for root in paths.shipped_roots()] else "linked"


def read(artifact_id: str) -> Artifact:
    """Its descriptors and published tables, without rows."""
    return _read(readers.token(), artifact_id)


@st.cache_resource(show_spinner=False, max_entries=64)
def _read(at: Token, artifact_id: str) -> Artifact:
    return artifacts.read_descriptors(readers.store().folder(artifact_id))


def completions() -> Completions:
    """What people stated; read again when the ledger's file changes."""
    root = paths.store_root()
    try:
        status = (root / completion.PLACE).stat()
        stamp = (status.st_size, status.st_mtime_ns)
    except OSError:
        stamp = (0, 0)
    return _completions(str(root), stamp)


@st.cache_data(show_spinner=False, max_entries=4)
def _completions(root: str, stamp: tuple[int, int]) -> Completions:
    return completion.read(Path(root))


def asserted(artifact: Artifact, rule: str) -> dict[str, Assertion]:
    """Assertions in force for one set of a summary-only artifact; a measurement never has any."""
    if artifact.kind != "summary" or not artifact.locked:
        return {}
    return completions().of(artifact.id, completion.lock_hash(artifact), rule)


def lock_of(entry: Loaded) -> dict[str, Any]:
    """The content of lock.json, for reading; {} where there is none."""
    path = entry.path / lock.LOCK
    return dict(json.loads(path.read_bytes())) if path.is_file() else {}


def verify(entry: Loaded) -> str:
    """Hash every file and recompute every number, now: the sentence that says so. Raises what the check raises."""
    begun = time.monotonic()
    locked = artifacts.verify(entry.path)
    admit(entry.path)
    files = f"{len(lock.verify(entry.path)['files'])} files match lock.json" if locked else "There is no lock.json to compare the files with"
    numbers = "there are no rows to recompute from" if entry.published else "the rows give every number of the descriptors"
    when = datetime.now(UTC).strftime("%H:%M:%S UTC")
    return f"{files}, and {numbers}: checked at {when} in {time.monotonic() - begun:.1f} s."


def packed(entry: Loaded) -> bytes:
    """The artifact as zip."""
    return archives.pack(entry.path)
