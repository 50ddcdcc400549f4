"""observatory validate: the report on any benchmark; exit code 2 with every fault of a broken one."""

from __future__ import annotations

import argparse
import sys

from observatory.benchmarks.validate import validate
from observatory.cli import print_json
from observatory.errors import one_line


def main(options: argparse.Namespace) -> int:
    report = validate(options.path, options.format, options.split)
    if options.json:
        print_json(
            {
                "path": options.path, "valid": report.valid, "faults": report.faults, "stopped": report.stopped,
                "warnings": report.warnings, "facts": dict(report.facts),
            }
        )
    else:
        for name, value in report.facts:
            print(one_line(f"{name}: {value}"))
        for warning in report.warnings:
            print(one_line(f"warning: {warning}"))
        print("valid" if report.valid else f"broken: {len(report.faults)} fault(s){', and perhaps more' if report.stopped else ''}")
    for fault in report.faults:
        print(f"fault: {fault}", file=sys.stderr)
    if report.stopped:
        print(report.stopped, file=sys.stderr)
    return 0 if report.valid else 2
