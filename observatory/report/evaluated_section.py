"""Sections about whole runs: retrieval metrics with their contexts, and the ablation table of several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from observatory import ablation
from observatory.cells import Cell
from observatory.figures import metric_means, numbers, standalone
from observatory.report import cells
from observatory.report.content import Block, Figure, Section, Table
from observatory.report.margin_sections import COLOURS
from observatory.report.selection import Run, Selected
from observatory.report.tables import table

MOST_DRAWN = 6


def fresh(chosen: Selected) -> list[Run]:
    """Measured runs on the baseline's benchmark, the baseline's own first where it is measured."""
    base = chosen.base
    mine = [r for r in chosen.runs if not r.published and r.benchmark == base.benchmark]
    return sorted(mine, key=lambda r: r.id != base.artifact_id)


def no_metrics(chosen: Selected) -> str:
    measured = any(chosen.evaluations[r.id].metrics for r in fresh(chosen) if r.id in chosen.evaluations)
    return "" if measured else "no selected run measured retrieval metrics"


def metrics(chosen: Selected) -> Section:
    """Each metric by run with what defines its comparison set and labels, and the accounting of its queries."""
    runs = [r for r in fresh(chosen) if r.id in chosen.evaluations and chosen.evaluations[r.id].metrics]
    names = {r.id: r.name for r in runs}
    found = {r.id: chosen.evaluations[r.id] for r in runs}
    every = ablation.table(chosen.store, {r.id: r.id for r in runs}, runs[0].id, rules=())
    measures = list(dict.fromkeys(c.measure for c in every))
    blocks: list[Block] = []
    for measure in measures[:MOST_DRAWN]:
        mine = [c for c in every if c.measure == measure]
        drawn = standalone.spec(metric_means.metric_means(mine, names, runs[0].id, COLOURS))
        blocks.append(Figure(f"Mean {measure} by run", drawn, metric_means.footer(mine, names), metric_means.essentials(list(found.values()), measure)))
    if len(measures) > MOST_DRAWN:
        blocks.append(f"Drawn are the first {MOST_DRAWN} of {numbers.count(len(measures))} metrics; all are in the table.")
    note = "Differences between runs stand under Runs side by side." if len(fresh(chosen)) > 1 else ""
    blocks.append(table("Retrieval metrics", [_value(c, names) for c in every], words=2, note=note))
    blocks += [table("Metrics, measured against what", _contexts(chosen, runs), words=4), _accounting(chosen, runs)]
    return Section("metrics", "Retrieval metrics", tuple(blocks), {"cells": [asdict(c) for c in every]})


def _contexts(chosen: Selected, runs: Sequence[Run]) -> list[dict[str, str]]:
    """One row a metric and context, with the runs that share it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for r in runs:
        e = chosen.evaluations[r.id]
        for name, m in e.metrics.items():
            where = f"{cells.context(m.context)}; corpus {e.corpus_hash[:12]}; query set {e.query_set_id}; clusters {e.clusters.rule}"
            groups.setdefault((name, where), []).append(r.name)
    return [{"metric": name, "runs": "; ".join(names), "measured against": where} for (name, where), names in groups.items()]


def _accounting(chosen: Selected, runs: Sequence[Run]) -> Table:
    rows = []
    for r in runs:
        a = chosen.evaluations[r.id].accounting
        counts = {w: numbers.written(getattr(a, f"n_{w}"), numbers.count) for w in ("attempted", "scored", "excluded", "failed")}
        rows.append({"run": r.name, **counts, "reasons": cells.reasons(a.reasons)})
    return table("Accounting of the metrics", rows, note="attempted = scored + excluded + failed.")


def one_run(chosen: Selected) -> str:
    return "" if len(fresh(chosen)) > 1 else "an ablation table needs two measured runs of one benchmark"


def runs(chosen: Selected) -> Section:
    """Metrics, and win rate and mean margin of the selected rules, by run: each beside the baseline's run."""
    mine = fresh(chosen)
    rules = {s.set_id.removeprefix(f"{s.artifact_id}/") for s in chosen.sets}
    every = ablation.table(chosen.store, {r.id: r.id for r in mine}, mine[0].id, rules=rules)
    names = {r.id: r.name for r in mine}
    rows = [
        {
            **_value(c, names), "delta [95%]": _delta(c), "d": "not computed" if c.d is None else f"{c.d:+.3f}", "p": cells.p(c.p),
            "Holm": cells.p(c.holm), "note": c.note or "none",
        }
        for c in every
    ]
    note = f"{ablation.family(every)}. Delta: run minus baseline over the queries that both measured; p flips whole clusters."
    text = f"The baseline run is {names[mine[0].id]}. Margins of two scorers share no unit, so their means have no delta."
    return Section("ablation", "Runs side by side", (text, table("Ablation table", rows, words=2, note=note)), {"baseline": mine[0].id, "cells": [asdict(c) for c in every]})


def _value(c: Cell, names: Mapping[str, str]) -> dict[str, str]:
    return {"measure": c.measure, "run": names[c.configuration], "mean [95%]": _mean(c), "n": numbers.count(c.mean.n)}


def _mean(c: Cell) -> str:
    return cells.rate(c.mean) if c.measure.startswith("win rate, ") else cells.margin(c.mean) if c.measure.startswith("mean margin, ") else metric_means.written(c)


def _delta(c: Cell) -> str:
    return cells.margin(c.delta) if c.delta is not None else "baseline" if c.note == "baseline" else "not comparable"
