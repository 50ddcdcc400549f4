"""observatory run: one fresh measurement, or a grid of them, each written as an artifact."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from observatory import paths, plans
from observatory.cli import DEFAULT_RULES, DEFAULT_SCORER, print_json
from observatory.commands.progress import Progress
from observatory.commands.show import metrics_json, print_artifact
from observatory.errors import InputError
from observatory.files import read_text
from observatory.plans import Plan

LISTS = ("rules", "metrics")


def main(options: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: spinning threads cost five sixths of the speed
    out = Path(options.out) if options.out else paths.store_root(options.store)
    progress = Progress(options.quiet or (options.json and not sys.stderr.isatty()))
    if options.grid:
        from observatory.commands import grid

        if beside := ["plan"] * bool(options.plan) + list(given(options)):
            words = ", ".join(f"--{name.replace('_', '-')}" for name in beside)
            raise InputError(f"a grid file says everything, and {words} beside --grid would change nothing", file="run", mend="write it into the grid file")
        return grid.main(options, out, progress)
    plan = plan_of(options)
    from observatory import runs
    from observatory.artifacts import read_descriptors

    path = runs.run(plan, out, progress)
    artifact = read_descriptors(path)
    if options.json:
        found = {"artifact": str(path), "id": artifact.id, "kind": artifact.kind, "margin_sets": list(artifact.descriptors)}
        print_json(found | metrics_json(artifact))
    else:
        print(path)
        print_artifact(artifact)
    return 0


def plan_of(options: argparse.Namespace) -> Plan:
    """The plan file's fields, overridden by the options that were given; defaults for the rest."""
    record = plans.mapping(read_text(Path(options.plan)), options.plan) if options.plan else {}
    record |= given(options)
    if not record.get("benchmark"):
        raise InputError("names no benchmark", file="run", mend="write --benchmark PATH, or --plan FILE")
    record.setdefault("scorer", DEFAULT_SCORER)
    if "rules" not in record and not record.get("metrics"):  # a list that somebody left empty is not filled behind their back
        record["rules"] = DEFAULT_RULES.split(",")
    return plans.from_record(record, options.plan or "run")


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Plan fields that stand on the command line."""
    found = {name: getattr(options, name) for name in plans.TYPES if getattr(options, name, None) is not None}
    return {name: [part.strip() for part in value.split(",")] if name in LISTS else value for name, value in found.items()}
