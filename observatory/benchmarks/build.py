"""Build the Fieldnotes benchmark from its hand-written sources, byte for byte the same every time.

    python -m observatory.benchmarks.build [--sources DIR] [--out DIR] [--check]

``--check`` builds into a temporary folder and compares bytes with ``--out``; the exit code is 1 on any difference, and
also when a validator finds a fault (nothing is written then).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

if __package__ in (None, ""):  # run as a file: resolve imports from the repository, not from this folder
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from observatory.benchmarks.build_datasheet import counts, datasheet
from observatory.benchmarks.build_records import Records, build_records, corpus_hash
from observatory.benchmarks.build_source import SourceError, read_sources
from observatory.benchmarks.build_text import Row
from observatory.benchmarks.build_validate import overlap_duels, overlap_table, validate, wordless_share

VERSION = "0.1.0"
FOLDER = Path(__file__).resolve().parents[2] / "data" / "benchmarks" / "fieldnotes"
TEMPLATE = "datasheet.template.md"
LICENCE = """Fieldnotes, a typed retrieval benchmark

This data is licensed under the Creative Commons Attribution 4.0 International licence (CC BY 4.0).
You may share and adapt it for any purpose if you give appropriate credit, link to the licence and say what you changed.

Licence text: https://creativecommons.org/licenses/by/4.0/legalcode

It covers every file of this folder, the sources included. The data comes without any warranty.
"""


class BuildError(ValueError):
    """The sources build, but a validator found faults; the message lists them."""


def json_lines(rows: list[Row]) -> str:
    """Return the rows as JSON Lines: sorted keys, characters unescaped, one line feed after each."""
    return "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows)


def pretty(record: Row) -> str:
    """Return an indented JSON document with sorted keys and a final line feed."""
    return json.dumps(record, sort_keys=True, ensure_ascii=False, indent=2) + "\n"


def report(records: Records, faults: dict[str, list[str]]) -> Row:
    """Return what the validators found and measured; shares are from 0 to 1, text sizes are in items."""
    texts: dict[str, int] = {}
    for item in records.items:
        texts[item["text_id"]] = texts.get(item["text_id"], 0) + 1
    return {
        "version": VERSION,
        "faults": faults,
        "counts": counts(records),
        "overlap_with_query": overlap_table(records),
        "structured_negative_against_target": overlap_duels(records),
        "grade_3_positives_with_at_most_one_common_word": round(wordless_share(records), 4),
        "items_per_text": texts,
    }


def release_files(sources: Path) -> dict[str, bytes]:
    """Return the content of every release file by name; raises SourceError or BuildError."""
    records = build_records(read_sources(sources))
    faults = validate(records)
    if any(faults.values()):
        raise BuildError("\n".join(f"{name}: {fault}" for name, found in faults.items() for fault in found))
    digest = corpus_hash(records.items, records.pairs, records.queries)
    template = (sources / TEMPLATE).read_text(encoding="utf-8")
    texts = {
        "items.jsonl": json_lines(records.items),
        "queries.jsonl": json_lines(records.queries),
        "pairs.jsonl": json_lines(records.pairs),
        "corpus_hash.txt": digest + "\n",
        "datasheet.md": datasheet(template, records, VERSION),
        "LICENSE.txt": LICENCE,
        "report.json": pretty(report(records, faults)),
    }
    files = {name: text.encode("utf-8") for name, text in texts.items()}
    manifest = {
        "name": "Fieldnotes",
        "version": VERSION,
        "licence": "CC-BY-4.0",
        "corpus_hash": digest,
        "counts": counts(records),
        "warnings": 0,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    files["manifest.json"] = pretty(manifest).encode("utf-8")
    return files


def write_release(sources: Path, out: Path) -> list[str]:
    """Build the release into ``out`` (made if missing) and return the names of the files written."""
    files = release_files(sources)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)  # bytes, not text: no platform may turn LF into CRLF
    return sorted(files)


def differences(sources: Path, out: Path) -> list[str]:
    """Build into a temporary folder and name every release file of ``out`` that is missing or has other bytes."""
    with tempfile.TemporaryDirectory() as folder:
        names = write_release(sources, Path(folder))
        different = []
        for name in names:
            shipped = out / name
            if not shipped.is_file():
                different.append(f"{name} is missing from {out}")
            elif shipped.read_bytes() != (Path(folder) / name).read_bytes():
                different.append(f"{name} in {out} differs from what the sources build")
    return different


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(prog="observatory.benchmarks.build", description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, default=FOLDER / "sources", help="folder of *.yaml sentence families")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the release (default: the one in data/)")
    parser.add_argument("--check", action="store_true", help="compare with --out and write nothing there")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            found = differences(options.sources, options.out)
            print("\n".join(found) or f"{options.out} is what the sources build")
            return 1 if found else 0
        names = write_release(options.sources, options.out)
    except (SourceError, BuildError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {len(names)} files to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
