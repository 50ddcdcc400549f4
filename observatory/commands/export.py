"""observatory export: rows with their descriptors inside, or everything as a DuckDB file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from observatory import exports
from observatory.admission import admit
from observatory.cli import print_json
from observatory.commands.sets import open_store, resolve
from observatory.commands.show import find
from observatory.errors import InputError
from observatory.files import write_whole
from observatory.store import Store


def main(options: argparse.Namespace) -> int:
    if options.duckdb:
        store = resolve(options.sets, options.store)[0] if options.sets else open_store(options.store)
        store.save(Path(options.duckdb))
        return _done(options, Path(options.duckdb))
    if not options.sets:
        raise InputError("names no margin set", mend="write: observatory export ARTIFACT[/RULE] --out FILE")
    if options.format == "trec":
        return _trec(options)
    if options.format not in exports.FORMATS:
        raise InputError("is no export format", value=options.format, mend=f"choose one of: {', '.join([*exports.FORMATS, 'trec'])}")
    if options.json and options.out in (None, "-"):
        raise InputError("--json and rows cannot share stdout", mend="add --out FILE, or leave --json out")
    store, ids = resolve(options.sets, options.store)
    content = exports.FORMATS[options.format](store, ids, options.table)
    if options.out in (None, "-"):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return 0
    _write(Path(options.out), content)
    return _done(options, Path(options.out))


def _trec(options: argparse.Namespace) -> int:
    """A run file and, beside it, the record of what it was measured against."""
    if len(options.sets) != 1 or options.out in (None, "-"):
        raise InputError("a TREC run is one artifact in one file", mend="write: observatory export ARTIFACT --format trec --out run.txt")
    folder = find(options.sets[0], options.store)
    store, identifier = Store.of([folder]), admit(folder).id
    out = Path(options.out)
    run, record = exports.trec_run(store, identifier), exports.trec_context(store, identifier)
    _write(out.with_name(out.name + ".json"), record)
    _write(out, run)
    return _done(options, out)


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path, mend="choose another place") from error


def _done(options: argparse.Namespace, path: Path) -> int:
    if options.json:
        print_json({"exported": str(path), "bytes": path.stat().st_size})
    else:
        print(f"{path} ({path.stat().st_size:,} bytes)")
    return 0
