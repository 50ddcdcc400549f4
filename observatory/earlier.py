"""Finished measurements that need not be made again: the same plan, instrument and software, and files that still agree with their lock.

What a killed grid had finished is found this way. Uncommitted changes of our own code are not seen: two dirty checkouts of one commit count
as the same software, so whoever takes an earlier artifact says which one, and that another folder measures again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from observatory import lock, plans
from observatory.admission import admit
from observatory.artifacts import MANIFEST, Artifact, is_artifact
from observatory.descriptor import canonical
from observatory.errors import ObservatoryError
from observatory.files import read_text
from observatory.plans import Plan

LARGEST = 2**26  # bytes of a manifest
SOFTWARE = ("observatory", "python", "platform", "packages")


def by_plan(out: Path) -> dict[str, list[Path]]:
    """The artifacts below ``out`` by the plan that they record, newest first. Nothing is verified yet."""
    try:
        folders = [child for child in out.iterdir() if is_artifact(child)]
    except OSError:
        return {}
    found: dict[str, list[tuple[str, str]]] = {}
    for folder in folders:
        run = _run(folder)
        found.setdefault(_key(run.get("plan")), []).append((str(run.get("started")), folder.name))
    return {key: [out / name for _, name in sorted(entries, reverse=True)] for key, entries in found.items()}


def same(known: Mapping[str, list[Path]], plan: Plan, identity: Mapping[str, Any]) -> Path | None:
    """The newest of ``known`` that is this very measurement and whole; None where none is.

    ``identity``: what :func:`observatory.runs.identity` says of the plan: texts, weights and rules, not their names alone.
    """
    return next((folder for folder in known.get(_key(plans.public(plan)), ()) if _is(folder, identity)), None)


def _is(folder: Path, identity: Mapping[str, Any]) -> bool:
    try:
        artifact = admit(folder)
    except ObservatoryError:
        return False  # tampered with or incomplete: measured again
    return artifact.locked and _same_software(folder) and _holds(_stated(artifact), json.loads(canonical(identity)))


def _stated(artifact: Artifact) -> dict[str, Any]:
    """The artifact's side of an identity; every descriptor and the evaluation record carry the same corpus, queries and scorer."""
    sets = {rule: d.model_dump() for rule, d in artifact.descriptors.items()}
    record = artifact.evaluation.model_dump() if artifact.evaluation else next(iter(sets.values()))
    shared = {name: record[name] for name in ("corpus_hash", "query_set_id", "scorer")}
    found: dict[str, Any] = json.loads(canonical({**shared, "margin_sets": sets}))
    return found


def _same_software(folder: Path) -> bool:
    theirs, ours = json.loads(read_text(folder / lock.LOCK, LARGEST)), lock.environment()
    commits = [(made["git"] or {}).get("commit") for made in (theirs, ours)]
    return commits[0] == commits[1] and all(theirs.get(name) == ours[name] for name in SOFTWARE)


def _holds(stated: Any, wanted: Any) -> bool:
    """Whether everything in ``wanted`` is in ``stated``, which says more: it has the numbers too."""
    if isinstance(wanted, dict):
        return isinstance(stated, dict) and all(name in stated and _holds(stated[name], value) for name, value in wanted.items())
    return bool(stated == wanted)


def _run(folder: Path) -> dict[str, Any]:
    try:
        run = json.loads(read_text(folder / MANIFEST, LARGEST)).get("run")
    except (ObservatoryError, ValueError, AttributeError, RecursionError):
        return {}
    return run if isinstance(run, dict) else {}


def _key(plan: object) -> str:
    return json.dumps(plan, sort_keys=True)
