"""observatory models: what can be used as a scorer here, and why the rest cannot."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from observatory import offers
from observatory.cli import print_json
from observatory.commands import text
from observatory.errors import ObservatoryError
from observatory.scorers import models
from observatory.scorers.bm25 import VARIANTS, parameters


@dataclass(frozen=True)
class Entry:
    """One scorer as ``--scorer`` takes it. ``why`` is empty where it is usable."""

    scorer: str
    kind: str
    usable: bool
    detail: str
    why: str


def main(options: argparse.Namespace) -> int:
    found = [_entry(name) for name in (*offers.scorers(), *models.cached_in_hub())]
    if options.json:
        print_json({"models": [asdict(entry) for entry in found]})
        return 0
    print(text.table(["scorer", "kind", "usable", "what"], [[e.scorer, e.kind, "yes" if e.usable else "no", e.detail or e.why] for e in found]))
    print(f"Folders below {offers.MODELS} and the hub's cache are listed; any folder or hub/id@revision can be named.")
    return 0


def _entry(name: str) -> Entry:
    if name.startswith("bm25:"):
        variant = name.removeprefix("bm25:")
        return Entry(name, "lexical", True, f"{parameters(variant).variant}, {VARIANTS[variant].tokeniser}", "")
    kind = "bundled" if name == models.BUNDLED else "folder" if Path(name).is_dir() else "hub cache"
    try:
        folder = models.locate(name)
    except ObservatoryError as error:
        return Entry(name, kind, False, "", str(error))
    return Entry(name, kind, True, f"weights sha256 {folder.weights_sha256[:12]}…, {folder.revision}", "")
