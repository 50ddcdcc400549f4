"""Summary-only artifacts: a published table with its source, without per-query values.

``python -m observatory.published SOURCE.yaml OUT`` writes the artifact; what the source left out is ``not_recorded``,
what nobody measured ``not_measured``, and the screens say so.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from observatory.artifacts import Artifact, write
from observatory.descriptor import parse
from observatory.errors import InputError, ObservatoryError
from observatory.published_tables import parse_tables

REQUIRED = {"id", "run", "benchmark"}
OPTIONAL = {"shared", "margin_sets", "tables"}


def from_yaml(path: Path) -> Artifact:
    """Read a summary: margin sets with their descriptors, tables with their contexts, or both. ``shared`` holds the descriptor blocks that all sets have in common; a set may override each.

    Raises InputError for what is no such YAML, DescriptorRefused for an incomplete descriptor.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"cannot be read as YAML: {error}", file=path, mend="correct the file") from error
    if not isinstance(data, dict) or not REQUIRED <= set(data) <= REQUIRED | OPTIONAL:
        keys = f"{', '.join(sorted(REQUIRED))}; and may have {', '.join(sorted(OPTIONAL))}"
        raise InputError(f"needs the keys {keys}", file=path, mend="add what is missing")
    shared = data.get("shared") or {}
    sets = {rule: {**shared, **own} for rule, own in (data.get("margin_sets") or {}).items()}
    descriptors = {
        rule: parse(block, subject=f"{path} {rule}", summary_only=True) for rule, block in sets.items()
    }
    tables = parse_tables(data.get("tables") or [], str(path))
    if not descriptors and not tables:
        raise InputError("holds neither margin sets nor tables", file=path, mend="add one")
    return Artifact(data["id"], "summary", _dated(data["run"]), data["benchmark"], descriptors, tables={}, published=tables)


def _dated(run: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, str) else str(value) for key, value in run.items()}


def main(source: str, out: str) -> int:
    try:
        print(write(Path(out), from_yaml(Path(source))))
    except ObservatoryError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m observatory.published SOURCE.yaml OUT")
    sys.exit(main(*sys.argv[1:]))
