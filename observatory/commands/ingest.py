"""observatory ingest: check artifacts and link them into the store; a refused one is quarantined with its reasons."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from observatory import paths, uploads
from observatory.cli import error_record, print_json
from observatory.errors import DescriptorRefused, ObservatoryError, one_line


def main(options: argparse.Namespace) -> int:
    root = paths.store_root(options.store)
    ingested: list[dict[str, Any]] = []
    failed: list[tuple[str, ObservatoryError]] = []
    for name in options.paths:
        try:
            ingested.append(_ingest(Path(name), root))
        except ObservatoryError as refusal:
            failed.append((name, refusal))
    if options.json:
        refused = [{"path": name, **error_record(error)} for name, error in failed]
        print_json({"ingested": ingested} | ({"refused": refused} if refused else {}))
    for entry in [] if options.json else ingested:
        print(one_line(f"{entry['artifact']}: {entry['lock']}, margin sets {', '.join(entry['margin_sets'])}"))
    for _, error in failed:
        print(f"observatory: {error}", file=sys.stderr)
        for fault in error.faults if isinstance(error, DescriptorRefused) and not options.json else ():
            print(f"  {fault}", file=sys.stderr)
    return max((error.exit_code for _, error in failed), default=0)


def _ingest(folder: Path, root: Path) -> dict[str, Any]:
    artifact = uploads.link(folder, root)
    return {
        "artifact": artifact.id, "path": str(folder), "kind": artifact.kind,
        "lock": "locked" if artifact.locked else "unlocked", "margin_sets": list(artifact.descriptors),
    }
