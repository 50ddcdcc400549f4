"""observatory verify: every file against the lock, then every number against the rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from observatory import artifacts, lock
from observatory.admission import admit
from observatory.cli import print_json
from observatory.errors import InputError


def main(options: argparse.Namespace) -> int:
    verified = []
    for name in options.paths:
        folder = Path(name)
        if not artifacts.verify(folder):
            raise InputError("has no lock.json, so there is nothing to verify against", file=folder, mend="ingest it as unlocked")
        admit(folder)
        verified.append({"artifact": str(folder), "lock": "locked", "files": len(lock.files_of(folder)) - 1})  # all but the lock
    if options.json:
        print_json({"verified": verified})
        return 0
    for entry in verified:
        print(f"{entry['artifact']}: {entry['files']} files match lock.json, and the rows give the descriptors' numbers")
    if not options.quiet:
        print("A lock is an integrity check, not a seal against someone who can rewrite both files and lock.")
    return 0
