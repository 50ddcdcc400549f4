"""lock.json: sha256 and size of every file, and what the measurement was made with.

It is an integrity check, not a seal: someone who can rewrite both the files and the lock is not stopped by it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from observatory import __version__, paths
from observatory.descriptor import canonical
from observatory.errors import InputError, TamperedError

LOCK = "lock.json"
PACKAGES = (
    "torch", "sentence-transformers", "transformers", "tokenizers", "numpy", "scipy", "pyarrow", "duckdb", "rank-bm25",
    "bm25s", "pydantic",
)


def files_of(folder: Path) -> list[Path]:
    """Every file below ``folder``; links and other special files are an InputError."""
    found = []
    for base, folders, names in os.walk(folder):
        for path in (Path(base) / name for name in [*folders, *names]):
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise InputError("is a link or a special file", file=path, mend="artifacts hold plain files only")
            if path.is_file():
                found.append(path)
    return sorted(found)


def digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check its rights") from error


def environment() -> dict[str, Any]:
    """Git state, python and package versions of this process."""
    return {
        "observatory": __version__, "git": _git(), "python": platform.python_version(),
        "platform": platform.system() + " " + platform.machine(),
        "packages": {name: version for name in PACKAGES if (version := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit and dirtiness of our own checkout; None where it is none."""
    if not (paths.ROOT / ".git").exists():
        return None
    try:
        commit = _ask_git("rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_ask_git("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _ask_git(*words: str) -> str:
    command = ["git", "-C", str(paths.ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def render(folder: Path, weights: dict[str, str]) -> bytes:
    """The lock of a folder's files as they are now. ``weights`` maps a scorer to the sha256 of its weights."""
    files = {
        path.relative_to(folder).as_posix(): {"sha256": digest(path), "bytes": path.stat().st_size}
        for path in files_of(folder) if path.name != LOCK
    }
    content = {"lock_version": 1, "files": files, "weights_sha256": weights, **environment()}
    return _seal(content)


def _seal(content: dict[str, Any]) -> bytes:
    own = hashlib.sha256(canonical(content).encode("utf-8")).hexdigest()
    return (json.dumps({**content, "lock_sha256": own}, sort_keys=True, indent=1) + "\n").encode("utf-8")


def is_locked(folder: Path) -> bool:
    return (folder / LOCK).is_file()


def same(a: Path, b: Path) -> bool:
    """Whether two artifact folders carry the same lock, and so the same content."""
    one, other = a / LOCK, b / LOCK
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def verify(folder: Path) -> dict[str, Any]:
    """The lock's content, after every file has been hashed and before any is parsed.

    Raises TamperedError that names each file changed, missing or added, lock.json among them.
    """
    raw = (folder / LOCK).read_bytes()
    try:
        content = json.loads(raw)
        rest = {k: v for k, v in content.items() if k != "lock_sha256"}
        intact = _seal(rest) == raw and all(isinstance(entry, dict) for entry in content["files"].values())
    except (ValueError, AttributeError, KeyError, RecursionError):
        intact = False
    if not intact:
        raise TamperedError(folder, [LOCK])
    expected: dict[str, dict[str, Any]] = content["files"]
    there = {p.relative_to(folder).as_posix(): p for p in files_of(folder) if p.name != LOCK or p.parent != folder}
    faults = [
        name for name in sorted(expected.keys() | there.keys())
        if name not in there or name not in expected or digest(there[name]) != expected[name].get("sha256")
    ]
    if faults:
        raise TamperedError(folder, faults)
    return dict(content)
