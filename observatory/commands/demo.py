"""observatory demo: one measurement with the bundled model, made once; a second call finds it and does nothing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from observatory import artifacts, paths
from observatory.cli import main as run_command


def main(options: argparse.Namespace) -> int:
    root = paths.store_root(options.store)
    if any(_is_measurement(folder) for parent in (root, paths.DATA / "demo") if parent.is_dir() for folder in parent.iterdir()):
        return 0
    print("No measurement is there yet: measuring the demo benchmark with the bundled model (a few minutes, once).", file=sys.stderr)
    arguments = ["run", "--benchmark", options.benchmark, "--rules", options.rules, "--out", str(root)]
    return run_command(arguments + (["--quiet"] if options.quiet else []))


def _is_measurement(folder: Path) -> bool:
    return artifacts.is_artifact(folder) and (folder / "margins.parquet").is_file()
