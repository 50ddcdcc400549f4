"""Artifact folders as zip or tar.gz. Unpacking believes nothing: no escapes, no links, no devices, and caps on every size."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from observatory import artifacts
from observatory.errors import InputError, shorten

BLOCK = 1 << 20
_ENTRY = b"PK\x01\x02"  # begins each entry of a zip's directory
_BROKEN = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Limits:
    """What an uploaded archive may hold, in bytes and files."""

    packed: int = 20 * 2**20
    unpacked: int = 256 * 2**20
    one_file: int = 128 * 2**20
    files: int = 200


LIMITS = Limits()


def pack(folder: Path) -> bytes:
    """A verified artifact folder as zip: one top folder of its name, always the same bytes for the same files."""
    artifacts.verify(folder)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}", (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


def unpack(raw: bytes, target: Path, limits: Limits = LIMITS) -> None:
    """Write the archive's plain files below ``target``, an empty folder. InputError for whatever else it holds."""
    if len(raw) > limits.packed:
        raise InputError(f"is larger than {_mib(limits.packed)}", mend="import it by its path on this machine instead")
    is_zip = raw[:4] in (b"PK\x03\x04", b"PK\x05\x06")
    if not is_zip and raw[:2] != b"\x1f\x8b":
        raise InputError("is neither a zip nor a tar.gz", mend="pack the artifact's folder as one of them")
    try:
        with tempfile.TemporaryFile(dir=target.parent) as plain:
            _write(_zipped(raw, limits) if is_zip else _tarred(raw, plain, limits), target, limits)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise _damaged(error) from error
        raise InputError(f"cannot be unpacked: {error.strerror or error}", mend="pack it again, or free some space") from error
    except _BROKEN as error:
        raise _damaged(error) from error


def _damaged(error: BaseException) -> InputError:
    return InputError(f"is cut off or damaged: {error or type(error).__name__}", mend="pack it again")


Member = tuple[str, bool, int, Callable[[], IO[bytes] | None]]
"""Name, whether it is a folder, the size it says, and what opens it."""


def _zipped(raw: bytes, limits: Limits) -> Iterator[Member]:
    if raw.count(_ENTRY) > 4 * limits.files:  # before the directory is read, which takes memory for each entry
        raise _too_many(limits)
    archive = zipfile.ZipFile(io.BytesIO(raw))
    for entry in archive.infolist():
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if entry.flag_bits & 0x1:
            raise InputError("holds an encrypted file", value=entry.filename, mend="pack it without a password")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _special(entry.filename)
        yield entry.orig_filename, entry.is_dir(), entry.file_size, lambda entry=entry: archive.open(entry)  # type: ignore[misc]


def _tarred(raw: bytes, plain: IO[bytes], limits: Limits) -> Iterator[Member]:
    """Unzipped into a file first, under the cap on all bytes: a tar's own headers may claim any size."""
    room = limits.unpacked + (limits.files + 64) * 1024
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        while block := stream.read(BLOCK):
            room -= len(block)
            if room < 0:
                raise _too_large(limits)
            plain.write(block)
    plain.seek(0)
    with tarfile.open(fileobj=plain, mode="r:") as archive:
        for entry in archive:
            if not (entry.isdir() or (entry.isreg() and not entry.issparse())):
                raise _special(entry.name)
            yield entry.name, entry.isdir(), entry.size, lambda entry=entry: archive.extractfile(entry)  # type: ignore[misc]


def _write(members: Iterator[Member], target: Path, limits: Limits) -> None:
    count, room, seen = 0, limits.unpacked, set()
    for name, folder, size, opened in members:
        count += 1
        if count > limits.files:
            raise _too_many(limits)
        if folder and not PurePosixPath(name).parts:
            continue  # "./", as tar writes it for the folder itself
        path = _inside(name, target)
        if path in seen and not folder:
            raise InputError("holds a name twice", value=name, mend="pack it again")
        seen.add(path)
        if folder:
            path.mkdir(parents=True, exist_ok=True)
            continue
        if size > limits.one_file:
            raise _file_too_large(name, limits)
        path.parent.mkdir(parents=True, exist_ok=True)
        source = opened()
        if source is None:
            raise _special(name)
        with source, path.open("xb") as sink:
            room -= _copy(source, sink, min(room, limits.one_file), name, limits)


def _copy(source: IO[bytes], sink: IO[bytes], room: int, name: str, limits: Limits) -> int:
    """Bytes copied; what an entry says about its size is not believed."""
    copied = 0
    while block := source.read(BLOCK):
        copied += len(block)
        if copied > room:
            raise _file_too_large(name, limits) if copied > limits.one_file else _too_large(limits)
        sink.write(block)
    sink.flush()
    os.fsync(sink.fileno())
    return copied


def _inside(name: str, target: Path) -> Path:
    """Where an entry goes: a plain relative path below ``target``, or InputError."""
    parts = PurePosixPath(name).parts
    odd = not name or not parts or len(name) > 255 or "\\" in name or ":" in name or not name.isprintable()
    if odd or name.startswith("/") or ".." in parts or len(parts) > 4:
        raise InputError("holds a name that leads out of its folder or is none", value=name, mend="pack the artifact's folder itself")
    return target.joinpath(*parts)


def _special(name: str) -> InputError:
    return InputError("holds a link, a device or another special file", value=name, mend="artifacts hold plain files only")


def _too_many(limits: Limits) -> InputError:
    return InputError(f"holds more than {limits.files} files", mend="pack one artifact's folder and nothing else")


def _too_large(limits: Limits) -> InputError:
    return InputError(f"unpacks to more than {_mib(limits.unpacked)}", mend="import it by its path on this machine instead")


def _file_too_large(name: str, limits: Limits) -> InputError:
    return InputError(
        f"{shorten(name)} unpacks to more than {_mib(limits.one_file)}", mend="import it by its path on this machine instead"
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:g} MiB"
