"""observatory compare: the first set is the baseline, the others are put beside it."""

from __future__ import annotations

import argparse
from typing import Any

from observatory.cli import print_json
from observatory.commands import text
from observatory.commands.sets import resolve
from observatory.comparison import Comparison, compare
from observatory.errors import InputError
from observatory.store import Store


def main(options: argparse.Namespace) -> int:
    store, ids = resolve(options.sets, options.store)
    if len(ids) < 2:
        raise InputError("a comparison needs two margin sets", mend="name an artifact with several rules, or two sets")
    found = [compare(store, ids[0], other) for other in ids[1:]]
    if options.json:
        print_json({"baseline": ids[0], "comparisons": [_record(store, c) for c in found]})
        return 0
    print(f"baseline {ids[0]}  mean margin {text.margin(store.descriptor(ids[0]).outcomes.mean_margin)}")
    for comparison in found:
        _print(store, comparison)
    return 0


def _record(store: Store, c: Comparison) -> dict[str, Any]:
    paired = c.paired
    return {
        "set": c.other, "control": c.control, "differences": {k: list(v) for k, v in c.differences.items()},
        "mean_margin": store.descriptor(c.other).outcomes.mean_margin, "ratio_of_means": c.ratio,
        "paired": None if paired is None else {
            "mean_difference": paired.estimate, "low": paired.low, "high": paired.high, "n": paired.n,
            "n_clusters": paired.n_clusters, "method": paired.method, "level": paired.level, "note": paired.note,
        },
        "note": c.note,
    }


def _print(store: Store, c: Comparison) -> None:
    print(f"\n{c.other}\n  {c.control}")
    for path, (a, b) in c.differences.items():
        print(f"    {path}: {text.one_line(str(a))} | {text.one_line(str(b))}")
    ratio = "not computed" if c.ratio is None else f"{c.ratio:.4f} (baseline mean / this mean)"
    print(f"  mean margin {text.margin(store.descriptor(c.other).outcomes.mean_margin)}, ratio {ratio}")
    if c.paired is None:
        print(f"  no paired difference: {c.note}")
    elif c.paired.low is None or c.paired.high is None:
        print(f"  paired difference {c.paired.estimate:+.4f} ({c.paired.n} queries; {c.paired.note})")
    else:
        print(
            f"  paired difference {c.paired.estimate:+.4f} [{c.paired.low:+.4f}, {c.paired.high:+.4f}] "
            f"({c.paired.n} queries in {c.paired.n_clusters} clusters; {c.paired.method})"
        )
