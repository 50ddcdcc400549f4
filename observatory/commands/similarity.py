"""observatory similarity: Spearman's correlation of a scorer with people's scores of sentence pairs."""

from __future__ import annotations

import argparse
import os
import sys

from observatory.cli import print_json
from observatory.commands.progress import Progress


def main(options: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch
    from observatory import benchmarks, scorers, similarity

    progress = Progress(options.quiet or (options.json and not sys.stderr.isatty()))
    benchmark = benchmarks.read(options.benchmark)
    found = similarity.measure(benchmark, scorers.load(options.scorer), progress)
    if options.json:
        print_json({"spearman": found.spearman, "n": found.n})
    else:
        print(f"Spearman {found.spearman:.4f} over {found.n:,} pairs of {benchmark.name}")
    return 0
