"""An ablation grid: configurations by measures in one table, each cell beside a baseline, corrected over the whole table.

A grid file is one mapping: the plan fields that all configurations share, ``configurations`` (name -> the fields that
differ) and ``baseline`` (one of the names, else the first).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from observatory import paired, plans, resampling, statistics
from observatory.cells import Cell
from observatory.descriptor import NOT_RECORDED, Scorer, control, diff
from observatory.errors import InputError, ManyFaults
from observatory.plans import Plan
from observatory.statistics import Interval
from observatory.store import Store

TOP, MOST = "observatory_grid", 64
SEED, FLIPS = paired.SEED, paired.FLIPS


@dataclass(frozen=True)
class Grid:
    """Plans by configuration name, in the file's order."""

    plans: Mapping[str, Plan]
    baseline: str


def from_yaml(text: str, subject: str = "grid") -> Grid:
    """Read a grid file. InputError naming the field that cannot be used; ManyFaults listing them all where there are several."""
    data = plans.mapping(text, subject, TOP)
    configurations, baseline = data.pop("configurations", None), data.pop("baseline", None)
    if not isinstance(configurations, dict) or not 1 <= len(configurations) <= MOST:
        raise InputError(f"must name 1 to {MOST} configurations", file=subject, field="configurations", mend="write name: {scorer: ...}")
    found: dict[str, Plan] = {}
    faults: list[InputError] = []
    for name, own in configurations.items():
        label = str(name)
        mine = list(_faults(name, own, data, subject, found))
        if not mine:
            found[label] = plans.from_record({**data, **own}, f"{subject}, configuration {label}")
            if twin := next((n for n, plan in found.items() if n != label and plan == found[label]), None):
                mine.append(InputError(f"configurations {twin} and {label} are the same plan", file=subject, mend="change one of them, or leave it out"))
        faults += mine
    names = [str(name) for name in configurations]
    baseline = names[0] if baseline is None else str(baseline)
    if baseline not in names:
        faults.append(InputError("is no configuration", file=subject, field="baseline", value=baseline, mend=f"choose one of: {', '.join(names)}"))
    refuse(subject, faults)
    return Grid(found, baseline)


def refuse(subject: str, faults: Sequence[InputError]) -> None:
    """Raise one fault as it is, several as one; nothing where there is none."""
    if faults:
        raise faults[0] if len(faults) == 1 else ManyFaults(subject, faults)


def _faults(name: object, own: object, shared: Mapping[str, Any], subject: str, before: Mapping[str, Plan]) -> Iterator[InputError]:
    """Why one configuration is none. ``before``: those above it in the file."""
    if isinstance(name, bool) or not str(name).strip() or str(name) in before:
        yield InputError("is no name of its own", file=subject, field="configurations", value=name, mend="write each name once, as a text")
    if not isinstance(own, dict):
        yield InputError("is no mapping of plan fields", file=subject, field=f"configurations.{name}", mend="write {scorer: ...}")
        return
    yield from plans.faults({**shared, **own}, f"{subject}, configuration {name}")


def table(
    store: Store, artifacts: Mapping[str, str], baseline: str, seed: int = SEED, rules: Collection[str] | None = None
) -> list[Cell]:
    """All cells, measure by measure. ``artifacts``: configuration -> artifact id; ``baseline``: a configuration's name.

    Where the baseline is not among the artifacts (it failed), nothing has a delta and every cell says so.
    Measures are the metrics of any artifact, and for each rule (each of ``rules``, where given) the win rate and the mean margin.
    The correction runs over the cells that are returned.
    """
    sources = {name: _Source(store, artifact_id) for name, artifact_id in artifacts.items()}
    names = list(dict.fromkeys(m for source in sources.values() for m in source.measures if _wanted(m, rules)))
    cells = [
        _cell(name, measure, source, sources.get(baseline), name == baseline, seed)
        for measure in names for name, source in sources.items() if measure in source.measures
    ]
    tested = [i for i, cell in enumerate(cells) if cell.p is not None]
    holm = dict(zip(tested, resampling.holm([float(cells[i].p or 0) for i in tested]), strict=True))
    return [Cell(**{**_fields(cell), "holm": holm.get(i)}) for i, cell in enumerate(cells)]


def _wanted(measure: str, rules: Collection[str] | None) -> bool:
    _, _, rule = measure.partition(", ")
    return not rule or rules is None or rule in rules


def _fields(cell: Cell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in cell.__dataclass_fields__}


class _Source:
    """One artifact's values per query under each measure it has."""

    def __init__(self, store: Store, artifact_id: str) -> None:
        self._store, self._id = store, artifact_id
        evaluation = store.evaluation(artifact_id)
        sets = store.sets()
        self._rules = list(sets[(sets["artifact_id"] == artifact_id) & (sets["kind"] == "measurement")]["rule"])
        metrics = list(evaluation.metrics) if evaluation else []
        self.measures = [*metrics, *(f"{kind}, {rule}" for rule in self._rules for kind in ("win rate", "mean margin"))]
        if not self.measures:
            raise InputError("holds no metrics and no margins per query", value=artifact_id, mend="choose a fresh measurement")
        described = evaluation or store.descriptor(f"{artifact_id}/{self._rules[0]}")
        self.query_set: str = described.query_set_id
        self.scorer: Scorer = described.scorer

    def values(self, measure: str) -> pd.DataFrame:
        """query_id, cluster_id, value."""
        kind, _, rule = measure.partition(", ")
        if rule:
            rows = self._store.margins_of(f"{self._id}/{rule}").rename(columns={"margin": "value"})
            return rows if kind == "mean margin" else rows.assign(value=(rows["value"] > 0).astype(float))
        return self._store.metric_values(self._id, measure)

    def confounded(self, other: _Source, measure: str) -> str:
        """What else differs than the scorer or than one block of the descriptor; empty where the pair is controlled."""
        kind, _, rule = measure.partition(", ")
        if not rule:
            ours, theirs = (self._store.evaluation(i) for i in (self._id, other._id))
            same = ours is not None and theirs is not None and ours.metrics[kind].context == theirs.metrics[kind].context
            return "" if same else "confounded: another evaluation context than the baseline's"
        verdict = control(diff(self._store.descriptor(f"{other._id}/{rule}"), self._store.descriptor(f"{self._id}/{rule}")))
        return verdict if verdict.startswith("confounded") else ""


def _cell(name: str, measure: str, source: _Source, baseline: _Source | None, is_baseline: bool, seed: int) -> Cell:
    rows = source.values(measure)
    mean = _mean(rows["value"], rows["cluster_id"], measure)
    if is_baseline:
        return Cell(name, measure, mean, note="baseline")
    if baseline is None:
        return Cell(name, measure, mean, note="the baseline was not measured")
    if why := _incomparable(measure, source, baseline):
        return Cell(name, measure, mean, note=why)
    both = baseline.values(measure).merge(rows, on="query_id", suffixes=("_before", ""))
    if both.empty:
        return Cell(name, measure, mean, note="no query was measured in both")
    change, clusters = (both["value"] - both["value_before"]).to_numpy(), pd.factorize(both["cluster_id_before"])[0]
    test = resampling.permutation_test(change, clusters, np.random.default_rng(seed), FLIPS)
    note = source.confounded(baseline, measure)
    return Cell(name, measure, mean, statistics.cluster_mean(change, clusters), resampling.cohens_d(change), test.p, note=note)


def _mean(values: pd.Series, clusters: pd.Series, measure: str) -> Interval:
    codes = pd.factorize(clusters)[0]
    if measure.startswith("win rate, "):
        return statistics.rate(values.to_numpy() > 0, codes)
    return statistics.cluster_mean(values.to_numpy(), codes)


def _incomparable(measure: str, source: _Source, baseline: _Source) -> str:
    """Why there is no delta; empty where there is one."""
    if measure not in baseline.measures:
        return "the baseline did not measure it"
    if source.query_set != baseline.query_set:
        return "another query set than the baseline's"
    same_space = source.scorer.space_id == baseline.scorer.space_id != NOT_RECORDED
    if measure.startswith("mean margin, ") and not same_space:
        return "another scorer: margins share no unit, see the win rate"
    return ""


def family(cells: Sequence[Cell]) -> str:
    """What the correction runs over, in one sentence."""
    n = sum(cell.p is not None for cell in cells)
    return f"Holm over the {n} differences of this table" if n else "no difference was tested"
