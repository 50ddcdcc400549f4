"""observatory benchmarks: what ships in data/benchmarks, with sizes, hash and licence."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from observatory import benchmarks, paths
from observatory.cli import print_json
from observatory.commands import text
from observatory.errors import InputError


def main(options: argparse.Namespace) -> int:
    """Exit code 2 where one of them cannot be read; the others are listed all the same."""
    root = paths.DATA / "benchmarks"
    found: list[dict[str, Any]] = []
    broken: list[InputError] = []
    for folder in sorted(p for p in root.iterdir() if p.is_dir()) if root.is_dir() else []:
        try:
            found += _records(folder)
        except InputError as error:
            broken.append(error)
    if options.json:
        print_json({"benchmarks": found, "broken": [str(fault) for fault in broken]})
    else:
        print(text.table(list(COLUMNS), [[_cell(r[key]) for key in COLUMNS.values()] for r in found]))
    for fault in broken:
        print(f"observatory: {fault}", file=sys.stderr)
    return 2 if broken else 0


COLUMNS = {
    "benchmark": "name", "format": "format", "items": "items", "queries": "queries", "pairs": "pairs", "bytes": "bytes",
    "licence": "licence", "path": "path", "corpus hash": "corpus_hash",
}


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _records(folder: Path) -> list[dict[str, Any]]:
    """One record for each split."""
    chosen = benchmarks.recognise(folder)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    read = [benchmarks.read(folder, split=split) for split in chosen.splits(folder)]
    return [
        {
            "name": f"{b.name} {b.version}" if b.version != "unversioned" else b.name, "format": b.format, "split": b.split,
            "items": len(b.items), "queries": len(b.queries), "pairs": len(b.pairs), "bytes": size,
            "corpus_hash": b.corpus_hash, "query_set_id": b.query_set_id, "licence": b.licence or "not recorded",
            "path": str(folder.relative_to(paths.ROOT)),
        }
        for b in read
    ]
