"""observatory run --grid: every configuration of a grid file measured, and one table against the baseline.

A configuration that fails while it is measured costs its own cells and no others.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from observatory import ablation, benchmarks, earlier, runs
from observatory.ablation import Grid
from observatory.artifacts import check_writable
from observatory.cells import Cell
from observatory.cli import error_record, print_json
from observatory.commands import text
from observatory.errors import Cancelled, InputError, ObservatoryError
from observatory.files import read_text
from observatory.statistics import Interval
from observatory.store import Store

Progress = Callable[[str, int, int], None]
AGAIN = "found finished, and not measured again (another --out does)"


@dataclass(frozen=True)
class Planned:
    """What a configuration will measure, and what its artifact is known by before its first score."""

    measures: tuple[str, ...]
    identity: Mapping[str, Any]


@dataclass
class Measured:
    """Artifacts by configuration, those of them that were there before, and why the others failed."""

    folders: dict[str, Path] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    failed: dict[str, ObservatoryError] = field(default_factory=dict)


def main(options: argparse.Namespace, out: Path, progress: Progress) -> int:
    grid = ablation.from_yaml(read_text(Path(options.grid)), options.grid)
    check_writable(out)
    planned = _check(grid, options.grid)
    done = _measured(grid, planned, out, progress)
    store = Store.of(list(done.folders.values()))
    cells = ablation.table(store, {name: path.name for name, path in done.folders.items()}, grid.baseline)
    lost = [(name, measure) for name in done.failed for measure in planned[name].measures]
    show = _print_json if options.json else _print
    show(grid, done, cells, lost)
    return next((error.exit_code for error in done.failed.values()), 0)


def _check(grid: Grid, subject: str) -> dict[str, Planned]:
    """Resolve every configuration before the first is measured: the last one's mistake would cost all the time before it.

    All that cannot be used is said at once, a fault that several share only once.
    """
    read = lru_cache(lambda path, split: benchmarks.read(path, split=split))
    found: dict[str, Planned] = {}
    faults: dict[str, tuple[InputError, list[str]]] = {}
    for name, plan in grid.plans.items():
        scorer = prepared = None
        for step in ("scorer", "benchmark"):
            try:
                if step == "scorer":
                    scorer = runs.load_scorer(plan)
                else:
                    prepared = runs.prepare(plan, read(plan.benchmark, plan.split))
            except InputError as error:
                faults.setdefault(str(error), (error, []))[1].append(name)
        if scorer is not None and prepared is not None:
            margins = [f"{kind}, {spec.text}" for spec in prepared.specs for kind in ("win rate", "mean margin")]
            found[name] = Planned((*prepared.metrics, *margins), runs.identity(prepared, scorer))
    ablation.refuse(subject, [_of(names, error) for error, names in faults.values()])
    return found


def _measured(grid: Grid, planned: Mapping[str, Planned], out: Path, progress: Progress) -> Measured:
    """Every configuration's artifact, or its failure. Where a person stops it, what is finished is kept and named on stderr."""
    done, known = Measured(), earlier.by_plan(out)
    try:
        for i, (name, plan) in enumerate(grid.plans.items()):
            progress(f"configuration {text.one_line(name)}", i, len(grid.plans))
            with _failing(name, done.failed):
                before = earlier.same(known, plan, planned[name].identity)
                if before is not None:
                    done.found.append(name)
                    _say(f"configuration {name}: {AGAIN}: {before}")
                done.folders[name] = before or runs.run(plan, out, progress)
    except BaseException:
        for name, path in done.folders.items():
            _say(f"kept, configuration {name}: {path}")
        raise
    return done


@contextmanager
def _failing(name: str, failed: dict[str, ObservatoryError]) -> Iterator[None]:
    """A configuration's failure is its own: hours of measuring come before it and after it."""
    try:
        yield
    except Cancelled:
        raise
    except ObservatoryError as error:
        failed[name] = error
    except MemoryError:
        failed[name] = InputError("out of memory", mend="use a smaller block_size or a smaller benchmark")
    except Exception as error:
        failed[name] = InputError(f"the run broke off: {type(error).__name__}: {error}", mend="measure it alone with observatory run")
    if name in failed:
        _say(f"failed, configuration {name}: {failed[name]}")


def _of(names: list[str], error: InputError) -> InputError:
    """The same fault with the configurations it belongs to."""
    where = f"configuration{'s' * (len(names) > 1)} {', '.join(names)}" + (f", {error.file}" if error.file is not None else "")
    return InputError(error.problem, file=where, line=error.line, field=error.field, value=error.value, mend=error.mend)


def _say(line: str) -> None:
    print(text.one_line(line), file=sys.stderr, flush=True)


# -- the table ------------------------------------------------------------------------------------------------------------


def _print(grid: Grid, done: Measured, cells: list[Cell], lost: list[tuple[str, str]]) -> None:
    header = ["configuration", "measure", "mean [95% interval]", "n", "delta [95% interval]", "d", "p", "p (Holm)"]
    print(text.table(header, [*map(_row, cells), *([name, measure, "failed", "0", "", "", "", ""] for name, measure in lost)]))
    print(f"{len(cells) + len(lost)} cells attempted = {len(cells)} scored + {len(lost)} failed")
    print(f"baseline {text.one_line(grid.baseline)}; {ablation.family(cells)}; deltas are over the queries that both measured")
    for name, path in done.folders.items():
        print(text.one_line(f"{name}: {path}" + (f" ({AGAIN})" if name in done.found else "")))
    for name, error in done.failed.items():
        print(text.one_line(f"{name}: failed: {error}"))


def _print_json(grid: Grid, done: Measured, cells: list[Cell], lost: list[tuple[str, str]]) -> None:
    """The table; where something failed, the first failure stands where every command has its error."""
    first = next(iter(done.failed.values()), None)
    empty = dict.fromkeys(("mean", "delta", "d", "p", "p_holm"))
    print_json({
        **(error_record(first) if first is not None else {}), "baseline": grid.baseline,
        "artifacts": {name: str(path) for name, path in done.folders.items()}, "found": done.found,
        "failed": {name: error_record(error) for name, error in done.failed.items()},
        "accounting": {"attempted": len(cells) + len(lost), "scored": len(cells), "failed": len(lost)}, "family": ablation.family(cells),
        "cells": [*map(record, cells), *({"configuration": name, "measure": m, **empty, "note": f"failed: {done.failed[name]}"} for name, m in lost)],
    })


def record(cell: Cell) -> dict[str, Any]:
    """A cell as JSON."""
    return {
        "configuration": cell.configuration, "measure": cell.measure, "mean": _interval(cell.mean),
        "delta": _interval(cell.delta) if cell.delta else None, "d": cell.d, "p": cell.p, "p_holm": cell.holm, "note": cell.note,
    }


def _interval(i: Interval) -> dict[str, Any]:
    return {"estimate": i.estimate, "low": i.low, "high": i.high, "n": i.n, "n_clusters": i.n_clusters, "method": i.method, "note": i.note}


def _row(cell: Cell) -> list[str]:
    tests = ["" if v is None else f"{v:.4f}" for v in (cell.d, cell.p, cell.holm)]
    delta = " ".join(filter(None, [_written(cell.delta, "+.4f") if cell.delta else "", cell.note]))
    return [cell.configuration, cell.measure, _written(cell.mean, ".4f"), text.count(cell.mean.n), delta, *tests]


def _written(i: Interval, form: str) -> str:
    brackets = f"({i.note})" if i.low is None or i.high is None else f"[{i.low:{form}}, {i.high:{form}}]"
    return f"{i.estimate:{form}} {brackets}"
