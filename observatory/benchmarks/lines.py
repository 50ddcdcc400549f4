"""Strict reading of line-based files: every fault names the file, the line, the field and the value.

LF and CRLF, a byte-order mark and gzip are accepted; anything that is not UTF-8 or not one JSON object a line is not.
"""

from __future__ import annotations

import codecs
import gzip
import json
import math
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from observatory.benchmarks.faults import STRICT, Faults
from observatory.errors import InputError

MAX_LINE_BYTES = 64 * 2**20
MAX_FILE_BYTES = 8 * 2**30  # after decompression: a gzip bomb stops here
MAX_JSON_BYTES = 64 * 2**20  # of a JSON file, which is read whole
MAX_PEEK_BYTES = 2**20  # of the first line, where it only tells what a file is
MAX_EMPTY_LINES = 1_000_000
GZIP_MAGIC = b"\x1f\x8b"

Record = dict[str, Any]


def find(folder: Path, name: str) -> Path | None:
    """``folder/name`` or its gzip, whichever is a regular file."""
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate
        if candidate.exists():
            raise InputError("is not a file", file=candidate, mend="replace the folder by the file of that name")
    return None


def named(folder: Path, name: str) -> bool:
    """Whether the folder has anything of that name, be it a file or not: then it is meant to be one."""
    return (folder / name).exists() or (folder / f"{name}.gz").exists()


def require_folder(path: Path) -> None:
    """InputError for what is no folder."""
    if not path.is_dir():
        raise InputError("is no folder", file=path, mend="name the folder that holds the files of the benchmark")


def require(folder: Path, name: str) -> Path:
    """Like :func:`find`, but a missing file is an InputError."""
    path = find(folder, name)
    if path is None:
        raise InputError(f"has no {name}", file=folder, mend=f"add {name} (or {name}.gz)")
    return path


def text_lines(path: Path, faults: Faults = STRICT, keep_empty: bool = False) -> Iterator[tuple[int, str]]:
    """Line numbers (from 1) and lines without their ends; faulty ones go to ``faults``, empty ones are skipped
    unless ``keep_empty``. A pipe or a device is refused before it is opened: it could wait for ever."""
    with _opened(path) as stream:
        for number, raw in _raw_lines(stream, path):
            text = ""
            with faults:
                text = _decode(raw, path, number).rstrip("\r\n")
            if keep_empty or text.strip():
                yield number, text


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile | BinaryIO]:
    """The file's bytes, unpacked where it is gzip; what the system or gzip says against it is an InputError."""
    require_regular(path)
    try:
        with path.open("rb") as plain:
            yield gzip.GzipFile(fileobj=plain) if plain.peek(2)[:2] == GZIP_MAGIC else plain
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the gzip stream is damaged: {error}", file=path, mend="fetch the file again") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, mend="check path and rights") from error


def require_regular(path: Path) -> None:
    """InputError for what is no regular file: a folder, a pipe, a device, or nothing at all."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check path and rights") from error
    if not stat.S_ISREG(mode):
        raise InputError("is not a regular file", file=path, mend="name the file itself, not a folder, a pipe or a device")


def first_line(path: Path) -> str:
    """The first line that is not empty, to tell what a file is; "" where there is none within 1 MiB or it cannot be read."""
    try:
        with _opened(path) as stream:
            head = stream.read(MAX_PEEK_BYTES)
        whole = head if len(head) < MAX_PEEK_BYTES else head[: head.rfind(b"\n") + 1]
        lines = whole.removeprefix(codecs.BOM_UTF8).split(b"\n")
        text = next((line for line in lines if line.strip()), b"").decode("utf-8")
    except (InputError, UnicodeDecodeError):
        return ""
    return text.rstrip("\r\n")


def _raw_lines(stream: gzip.GzipFile | BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines as bytes, within the caps."""
    read, empty = 0, 0
    for number in count(1):
        raw = stream.readline(MAX_LINE_BYTES + 1)
        if not raw:
            return
        read, empty = read + len(raw), empty + (len(raw) < 3 and not raw.strip())
        if len(raw) > MAX_LINE_BYTES or read > MAX_FILE_BYTES or empty > MAX_EMPTY_LINES:
            raise InputError(
                f"is larger than the cap ({MAX_LINE_BYTES >> 20} MiB a line, {MAX_FILE_BYTES >> 30} GiB a file, "
                f"{MAX_EMPTY_LINES:,} empty lines)",
                file=path, line=number, mend="check that this is the right file, or split it",
            )
        yield number, raw


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 at byte {error.start + 1} of the line", file=path, line=number,
            value=raw[max(0, error.start - 10) : error.start + 10], mend="save the file as UTF-8",
        ) from error


def parse_json(text: str, path: Path, number: int | None = None) -> Any:
    """JSON without NaN, infinities, repeated keys or lone surrogates."""

    def no_constant(name: str) -> NoReturn:
        raise InputError(f"holds {name}, which is no finite number", file=path, line=number, mend="write a finite number")

    def unique(pairs: list[tuple[str, Any]]) -> Record:
        record = dict(pairs)
        if len(record) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError("the key stands twice in one object", file=path, line=number, field=twice, mend="keep one")
        return record

    try:
        value = json.loads(text, parse_constant=no_constant, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"is not valid JSON: {error}", file=path, line=number, value=text[:60],
            mend="the line may be cut short; write one complete JSON object",
        ) from error
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                "holds half of a surrogate pair, which is no character", file=path, line=number, mend="remove the escape"
            ) from error
    return value


def records(path: Path, faults: Faults = STRICT) -> Iterator[tuple[int, Record]]:
    """Line numbers and JSON objects of a JSONL file; lines that are none go to ``faults``."""
    for number, text in text_lines(path, faults):
        value = None
        with faults:
            value = _object(text, path, number)
        if value is not None:
            yield number, value


def _object(text: str, path: Path, number: int) -> Record:
    value = parse_json(text, path, number)
    if not isinstance(value, dict):
        raise InputError(
            f"is {_kind(value)} where an object is expected", file=path, line=number, value=text[:60],
            mend="write one JSON object a line, like {\"id\": \"...\", \"text\": \"...\"}",
        )
    return value


def json_file(path: Path) -> Any:
    """The JSON value of a whole file of at most 64 MiB."""
    with _opened(path) as stream:
        raw = stream.read(MAX_JSON_BYTES + 1)
    if len(raw) > MAX_JSON_BYTES:
        raise InputError(
            f"is larger than {MAX_JSON_BYTES >> 20} MiB, too large for one JSON value", file=path,
            mend="check that this is the right file, or use a format of one record a line",
        )
    text = "\n".join(_decode(line, path, number) for number, line in enumerate(raw.split(b"\n"), 1))
    return parse_json(text, path)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def number(text: str) -> float | None:
    """A plain finite decimal number; None for anything else (``float`` alone takes "1_0", "nan" and other scripts' digits)."""
    if not text.isascii() or _NUMBER.fullmatch(text.strip()) is None:
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _kind(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")


class Fields:
    """Typed access to one record's fields, with errors that say where the record came from.

    ``line`` is 0 where a record has no line of its own; ``prefix`` then says which one it is.
    """

    def __init__(self, record: Record, path: Path, line: int, prefix: str = "") -> None:
        self.record, self.path, self.line, self.prefix = record, path, line, prefix

    def fault(self, key: str, problem: str, mend: str, value: object = None) -> InputError:
        """The error for ``key``, or for the whole record where ``key`` is empty."""
        field = (self.prefix + key).rstrip(".") or None
        return InputError(problem, file=self.path, line=self.line or None, field=field, value=value, mend=mend)

    def string(self, key: str) -> str:
        """A required, non-empty string."""
        if key not in self.record:
            raise self.fault(key, "is missing", f"add a string '{key}'")
        value = self.record[key]
        if not isinstance(value, str):
            raise self.fault(key, "is not a string", "write it in quotes", value)
        if not value.strip():
            raise self.fault(key, "is empty", "write at least one character, or remove the record", value)
        return value

    def optional(self, key: str) -> str | None:
        """A string, or None where the field is absent or null."""
        value = self.record.get(key)
        if value is not None and not isinstance(value, str):
            raise self.fault(key, "is neither a string nor null", "write it in quotes", value)
        return value

    def grade(self, key: str) -> int:
        """A whole number from 0 to 1000 (an integral float such as 2.0 counts as one)."""
        if key not in self.record:
            raise self.fault(key, "is missing", f"add a whole number '{key}'")
        value = self.record[key]
        whole = (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
        if not whole or not 0 <= value <= 1000:
            raise self.fault(key, "is not a whole number from 0 to 1000", "write a grade such as 0, 1, 2 or 3", value)
        return int(value)

    def objects(self, key: str, required: bool = True) -> list[Fields]:
        """An array of objects, each with its own prefix for errors."""
        value = self.record.get(key, None if required else [])
        if not isinstance(value, list):
            problem = "is missing" if key not in self.record else "is not an array"
            raise self.fault(key, problem, f"write '{key}': [...]", value)
        for position, entry in enumerate(value):
            if not isinstance(entry, dict):
                raise self.fault(f"{key}[{position}]", "is not an object", "write an object", entry)
        return [Fields(e, self.path, self.line, f"{self.prefix}{key}[{i}].") for i, e in enumerate(value)]
