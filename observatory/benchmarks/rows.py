"""Records of a table file, whatever holds it: JSON lines, CSV, TSV or Parquet, each with its line or row number."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import (
    MAX_LINE_BYTES,
    Record,
    first_line,
    parse_json,
    records,
    require_regular,
    text_lines,
)
from observatory.errors import InputError

MAX_PARQUET_BYTES = 4 * 2**30
SEPARATORS = {"csv": ",", "tsv": "\t"}
KINDS = ("jsonl", "csv", "tsv", "parquet")


def kind_of(path: Path) -> str | None:
    """jsonl, csv, tsv or parquet by the file's name (``.gz`` aside); None for any other."""
    name = path.name.lower().removesuffix(".gz")
    return next((kind for kind in KINDS if name.endswith(f".{kind}")), None)


def rows(path: Path, faults: Faults = STRICT) -> Iterator[tuple[int, Record]]:
    """Numbers (the line a record begins in; the row for Parquet) and records; what is no record goes to ``faults``."""
    kind = kind_of(path)
    if kind == "jsonl":
        yield from records(path, faults)
    elif kind == "parquet":
        yield from _parquet(path)
    elif kind is not None:
        yield from _separated(path, SEPARATORS[kind], faults)
    else:
        raise InputError("is no table file", file=path, mend=f"name a file that ends in {', '.join('.' + k for k in KINDS)}")


def columns(path: Path) -> frozenset[str]:
    """The field names of the header or the first record; empty where there are none or they cannot be read."""
    try:
        kind = kind_of(path)
        if kind == "parquet":
            return frozenset(_open_parquet(path).schema_arrow.names)
        line = first_line(path)
        if kind == "jsonl":
            value = parse_json(line, path, 1)
            return frozenset(value) if isinstance(value, dict) else frozenset()
        return frozenset(next(csv.reader([line], delimiter=SEPARATORS[kind], strict=True), [])) if kind else frozenset()
    except (InputError, csv.Error):
        return frozenset()


def _separated(path: Path, separator: str, faults: Faults) -> Iterator[tuple[int, Record]]:
    """CSV or TSV with a header and RFC 4180 quoting; every row needs as many cells as the header."""
    last = 0

    def feed() -> Iterator[str]:
        nonlocal last
        for number, text in text_lines(path, faults, keep_empty=True):  # a quoted cell may hold empty lines
            last = number
            yield text + "\n"

    csv.field_size_limit(MAX_LINE_BYTES)  # Python's own limit is 131,072 characters a cell
    reader = csv.reader(feed(), delimiter=separator, strict=True)
    header: list[str] | None = None
    while True:
        first, cells, record = last + 1, [""], None
        with faults:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:  # the reader goes on with the next line
                raise InputError(f"is no valid CSV: {error}", file=path, line=first, mend="check the quotes") from error
            if not "".join(cells[:1]).strip() and len(cells) < 2:  # an empty line
                continue
            if header is None:
                header = _header(cells, path, first)
            else:
                record = _record(header, cells, path, first)
        if record is not None:
            yield first, record


def _header(cells: list[str], path: Path, line: int) -> list[str]:
    if len(set(cells)) != len(cells):
        twice = next(name for name in cells if cells.count(name) > 1)
        raise InputError("the header names a column twice", file=path, line=line, value=twice, mend="name it once")
    return cells


def _record(header: list[str], cells: list[str], path: Path, line: int) -> Record:
    if len(cells) != len(header):
        raise InputError(
            f"has {len(cells)} cells where the header has {len(header)}", file=path, line=line,
            mend="quote cells that hold the separator",
        )
    return dict(zip(header, cells, strict=True))


def _open_parquet(path: Path) -> Any:
    """The file, after a look at its size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    require_regular(path)
    if path.stat().st_size > MAX_PARQUET_BYTES:
        raise InputError(f"is larger than {MAX_PARQUET_BYTES >> 30} GiB", file=path, mend="split the file")
    try:
        return pq.ParquetFile(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"cannot be read as Parquet: {error}", file=path, mend="fetch the file again") from error


def _parquet(path: Path) -> Iterator[tuple[int, Record]]:
    import pyarrow as pa

    number, batches = 0, _open_parquet(path).iter_batches(batch_size=4096)
    while True:
        try:
            batch = next(batches, None)
            found = batch.to_pylist() if batch is not None else []
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"cannot be read as Parquet: {error}", file=path, mend="fetch the file again") from error
        if batch is None:
            return
        for record in found:
            number += 1
            yield number, record
