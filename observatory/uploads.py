"""Artifacts into the store: linked where they lie, or unpacked from an upload, checked, and only then moved in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from observatory import archives, artifacts, links, lock
from observatory.admission import admit
from observatory.archives import LIMITS, Limits
from observatory.artifacts import Artifact
from observatory.errors import DescriptorRefused, InputError, ObservatoryError, TamperedError, shorten
from observatory.files import flush

RESERVED = (links.FOLDER, "ledgers")
"""Names in a store that are no artifacts."""


def link(folder: Path, root: Path) -> Artifact:
    """Check an artifact and link it into the store below ``root``.

    One that is refused for its descriptor or its lock is linked too: the store shows it in quarantine, with the reasons
    and without its numbers. The error is raised all the same.
    """
    try:
        there = artifacts.is_artifact(folder)
    except (OSError, ValueError):  # a name that no file can have
        there = False
    if not there:
        raise InputError("is no artifact folder", file=shorten(str(folder), 200).strip("'\""), mend=f"name a folder that holds {artifacts.MANIFEST}")
    try:
        artifact = admit(folder)
    except (DescriptorRefused, TamperedError):
        links.add(root, folder)
        raise
    links.add(root, folder)
    return artifact


def receive(
    raw: bytes, name: str, root: Path, known: Mapping[str, Path] | None = None, limits: Limits = LIMITS
) -> tuple[Artifact, bool]:
    """An uploaded zip or tar.gz into the store; the artifact, and whether it is new there.

    Unpacked beside the artifacts under a name that no reader looks at, admitted, flushed, renamed. What is refused is
    removed, and the error (with every fault) names the upload. ``known`` maps the ids of loaded artifacts to their folders.
    """
    temporary = None
    try:
        root.mkdir(parents=True, exist_ok=True)
        artifacts.sweep(root)
        temporary = Path(tempfile.mkdtemp(prefix=f"{artifacts.TEMPORARY}{os.getpid()}-", dir=root))
        inside = temporary / "unpacked"
        inside.mkdir()
        archives.unpack(raw, inside, limits)
        folder = _artifact_in(inside)
        artifact = admit(folder)
        if artifact.id.casefold() in RESERVED:
            raise InputError("is a name that the store keeps for itself", field="id", value=artifact.id, mend="name the artifact otherwise")
        at, new = _move(folder, artifact, root, (known or {}).get(artifact.id))
        return replace(artifact, path=at), new
    except OSError as error:
        raise InputError(f"cannot be stored: {error.strerror or error}", file=name, mend="free some space or choose another store") from error
    except ObservatoryError as error:
        raise _about(name, temporary, error) from error
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _artifact_in(unpacked: Path) -> Path:
    """The folder that holds artifact.json: the archive's top, or its only folder."""
    children = sorted(unpacked.iterdir())
    places = [unpacked, *(children if len(children) == 1 else [])]
    for place in places:
        if place.is_dir() and (place / artifacts.MANIFEST).is_file():
            return place
    raise InputError(f"holds no {artifacts.MANIFEST}", mend="pack one artifact's folder and nothing else")


def _move(folder: Path, artifact: Artifact, root: Path, loaded: Path | None) -> tuple[Path, bool]:
    """Rename into the store; an equal artifact that is there already stays, another one of that name is an InputError."""
    target = root / artifact.id
    there = loaded if loaded is not None else target if target.exists() else None
    if there is None:
        os.chmod(folder, 0o755)
        for path in [folder, root]:
            flush(path)
        try:
            os.rename(folder, target)
            flush(root)
            return target, True
        except OSError:  # another upload of that name was first
            if not target.exists():
                raise
            there = target
    if lock.same(folder, there):
        _believed(there, artifact.id)
        return there, False
    raise InputError("is the id of another artifact that is loaded", field="id", value=artifact.id, mend="remove one of the two")


def _believed(there: Path, identifier: str) -> None:
    try:
        admit(there)
    except ObservatoryError as error:
        raise InputError("is the id of a folder that the store refuses", field="id", value=identifier, mend="remove that folder first") from error


def _about(name: str, temporary: Path | None, error: ObservatoryError) -> ObservatoryError:
    """The same error, about the upload and not about the folder it was unpacked to."""
    if isinstance(error, DescriptorRefused):
        return DescriptorRefused(name, error.faults)
    if isinstance(error, TamperedError):
        return TamperedError(name, error.files)
    if not isinstance(error, InputError):
        return error
    where = None if error.file is None or temporary is None else os.path.relpath(str(error.file), temporary / "unpacked")
    named = name if where is None else f"{name}: {where}"
    return InputError(error.problem, file=named, line=error.line, field=error.field, value=error.value, mend=error.mend)
