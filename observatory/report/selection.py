"""What a report is about: described margin sets of one store, the baseline among them, and what several sections read from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from observatory import artifacts, completion, lock, paired, statistics
from observatory.completion import Assertion
from observatory.errors import InputError
from observatory.evaluation import Evaluation
from observatory.figures.described import Described, described, labels
from observatory.paired import Paired
from observatory.statistics import Interval
from observatory.store import Store

MOST = 24
"""Sets in one report: beyond, colours and tables can no longer be told apart."""


@dataclass(frozen=True)
class Run:
    """An artifact that sets of the report lie in. ``lock``: the content of lock.json without its files, {} where there is none."""

    id: str
    name: str
    title: str
    published: bool
    benchmark: str
    model: str
    started: str
    source: str
    lock_state: str
    record: Mapping[str, Any]
    lock: Mapping[str, Any]


@dataclass(frozen=True)
class Selected:
    """Sets in the order they are shown; ``asserted``: what people stated about fields that a published set's source left out."""

    store: Store
    sets: tuple[Described, ...]
    baseline: str
    asserted: Mapping[str, Mapping[str, Assertion]]

    @cached_property
    def names(self) -> dict[str, str]:
        return labels(self.sets)

    @property
    def measured(self) -> list[Described]:
        """Sets with margins per query."""
        return [s for s in self.sets if not s.published]

    @property
    def base(self) -> Described:
        return next(s for s in self.sets if s.set_id == self.baseline)

    @cached_property
    def units(self) -> list[list[Described]]:
        """Sets whose margins may share an axis: one model and metric, published beside fresh."""
        groups: dict[tuple[str, str], list[Described]] = {}
        for s in self.sets:
            groups.setdefault((s.model, s.metric), []).append(s)
        return list(groups.values())

    @cached_property
    def rates(self) -> dict[str, dict[str, Interval]]:
        """Shares of losses, ties and wins of each measured set, with intervals over clusters."""
        return {s.set_id: found for s in self.measured if (found := _rates(self.store, s.set_id))}

    @cached_property
    def compared(self) -> list[Paired]:
        """Every other set against the baseline, on the queries that both scored."""
        base = self.base
        return [
            paired.measure(
                (base.set_id, s.set_id), base.descriptor, s.descriptor, self.store.pairs(base.set_id, s.set_id),
                paired.same_unit(base.descriptor, s.descriptor, base.artifact_id == s.artifact_id),
            )
            for s in self.sets if s.set_id != base.set_id
        ]

    @cached_property
    def runs(self) -> list[Run]:
        """The artifacts of the sets, in their order."""
        rows = {str(r["artifact_id"]): r for r in self.store.artifacts().to_dict("records")}
        ids = list(dict.fromkeys(s.artifact_id for s in self.sets))
        models = [str(rows[i]["model"]) for i in ids]
        return [_run(rows[i], several=models.count(str(rows[i]["model"])) > 1) for i in ids]

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        """What the fresh runs measured beside margins, by artifact."""
        found = {r.id: self.store.evaluation(r.id) for r in self.runs if not r.published}
        return {i: e for i, e in found.items() if e is not None}


def select(store: Store, set_ids: Sequence[str], baseline: str | None = None, root: Path | None = None) -> Selected:
    """The sets of a report; the baseline is the first random set unless one is named, and is added where it is not among them.

    ``root`` is where the ledger of completions lies. Raises InputError for no set, an unknown one, or more than ``MOST``.
    """
    ids = list(dict.fromkeys([*([baseline] if baseline and baseline not in set_ids else []), *set_ids]))
    if not ids:
        raise InputError("a report needs a margin set", mend="name an artifact that 'observatory show' lists")
    if len(ids) > MOST:
        raise InputError(f"a report holds at most {MOST} margin sets, and {len(ids)} are named", mend="name single sets as ARTIFACT/RULE")
    rows = {str(r["set_id"]): {str(k): v for k, v in r.items()} for r in store.sets().to_dict("records")}
    missing = [i for i in ids if i not in rows]
    if missing:
        raise InputError("there is no such margin set", value=missing[0], mend="see: observatory show")
    sets = tuple(described(rows[i], store.descriptor(i)) for i in ids)
    first = baseline or next((s.set_id for s in sets if s.method == "random"), ids[0])
    return Selected(store, sets, first, _asserted(store, sets, root))


def _asserted(store: Store, sets: Sequence[Described], root: Path | None) -> dict[str, Mapping[str, Assertion]]:
    """Assertions in force for each published set that has a lock to bind them to."""
    published = [s for s in sets if s.published and s.lock_state == "locked"]
    stated = completion.read(root) if root is not None and published else completion.Completions()
    found: dict[str, Mapping[str, Assertion]] = {}
    for s in published:
        sha = completion.lock_hash(artifacts.read_descriptors(store.folder(s.artifact_id)))
        if mine := stated.of(s.artifact_id, sha, s.set_id.removeprefix(f"{s.artifact_id}/")):
            found[s.set_id] = mine
    return found


def _rates(store: Store, set_id: str) -> dict[str, Interval]:
    rows = store.margins_of(set_id)
    if rows.empty:
        return {}
    margin, clusters = rows["margin"].to_numpy(), pd.factorize(rows["cluster_id"])[0]
    hits = (("loss", margin < 0), ("tie", margin == 0), ("win", margin > 0))
    return {name: statistics.rate(hit, clusters) for name, hit in hits}


def _run(row: Mapping[Any, Any], several: bool) -> Run:
    identifier, model, started = str(row["artifact_id"]), str(row["model"]), str(row["started"])
    when = started[:16].replace("T", " ")
    name = str(row["title"]) if row["kind"] == "summary" else f"{model}, {when} {identifier[-4:]}" if several else model
    path = Path(str(row["path"])) / lock.LOCK
    locked = json.loads(path.read_bytes()) if row["lock_state"] == "locked" else {}
    return Run(
        identifier, name, str(row["title"]), row["kind"] == "summary",
        str(row["benchmark"]), model, started, str(row["source"]), str(row["lock_state"]), json.loads(str(row["run"])),
        {k: v for k, v in locked.items() if k != "files"},
    )
