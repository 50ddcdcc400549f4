"""Artifact folders elsewhere that were ingested: one small file each, so that any number of processes may add some."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from observatory.errors import InputError
from observatory.files import write_whole

FOLDER = "links"


def add(root: Path, folder: Path) -> None:
    """Remember ``folder`` in the store below ``root``; once is enough."""
    folder = folder.resolve()
    if folder.parent == root.resolve():
        return
    name = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    try:
        (root / FOLDER).mkdir(parents=True, exist_ok=True)
        write_whole(root / FOLDER / f"{name}.json", (json.dumps({"path": str(folder)}) + "\n").encode("utf-8"))
    except (OSError, UnicodeError) as error:
        raise InputError(f"cannot be written: {error}", file=root, mend="choose another --store") from error


def all_linked(root: Path) -> list[Path]:
    """Folders that were linked and are still there."""
    found = []
    for path in sorted((root / FOLDER).glob("*.json")):
        try:
            folder = Path(json.loads(path.read_text(encoding="utf-8"))["path"]) if path.is_file() else path
            if folder.is_dir():
                found.append(folder)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # a link is a convenience; the artifact itself is not touched
    return found
