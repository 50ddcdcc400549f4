"""Writing files so that a reader sees all of one or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from observatory.errors import InputError


def write_whole(path: Path, raw: bytes) -> None:
    """Write through a temporary sibling, flushed to disk and renamed: readers see all of it or nothing."""
    handle, temporary = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp's files are for their owner alone, and a report is made to be passed on
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def flush(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_text(path: Path, most: int = 2**20) -> str:
    """A small text file in UTF-8. InputError where it is missing, larger than ``most`` bytes, or no UTF-8."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(most + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check the name and the rights") from error
    if len(raw) > most:
        raise InputError(f"is larger than {most:,} bytes", file=path, mend="name a small text file")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=path, mend="save it as UTF-8") from error
