"""What a figure must know about each margin set it draws. A frame with rows of any other set is an orphan and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from observatory.descriptor import NOT_APPLICABLE, NOT_RECORDED, NegativeSetDescriptor, not_recorded
from observatory.errors import InputError


@dataclass(frozen=True)
class Described:
    """One margin set: its descriptor, and the artifact it lies in."""

    set_id: str
    artifact_id: str
    model: str
    benchmark: str
    published: bool
    lock_state: str
    started: str
    source: str
    descriptor: NegativeSetDescriptor
    asserted: int = 0
    """How many fields a person typed in that the source left out; always 0 for a measurement."""

    @property
    def method(self) -> str:
        return self.descriptor.mining.method

    @property
    def slice(self) -> str:
        return self.descriptor.mining.slice

    @property
    def rule(self) -> str:
        """The rule with its slice, as it is written everywhere."""
        return self.method if self.slice in (NOT_APPLICABLE, NOT_RECORDED) else f"{self.method} {self.slice}"

    @property
    def k(self) -> str:
        """k beside every maximum over k."""
        k = str(self.descriptor.mining.count_per_query)
        if k.isdigit():
            return f"k {k}"
        return "k not recorded" if k == NOT_RECORDED else "k varies"

    @property
    def metric(self) -> str:
        return self.descriptor.scorer.metric

    @property
    def corpus(self) -> str:
        """The corpus hash, short."""
        whole = self.descriptor.corpus_hash
        return "not recorded" if whole == NOT_RECORDED else whole[:8]

    @property
    def missing(self) -> tuple[str, ...]:
        """Paths of the fields that the source left out."""
        return not_recorded(self.descriptor)

    @property
    def state(self) -> str:
        """The badge: locked, unlocked, or published with what is not recorded."""
        if not self.published:
            return self.lock_state
        by_hand = f", {self.asserted} asserted" if self.asserted else ""
        return (f"published: {len(self.missing)} fields not recorded" if self.missing else "published") + by_hand


def described(row: Mapping[str, Any], descriptor: NegativeSetDescriptor) -> Described:
    """One row of ``Store.sets`` with its descriptor."""
    return Described(
        set_id=str(row["set_id"]), artifact_id=str(row["artifact_id"]), model=descriptor.scorer.name,
        benchmark=str(row["benchmark"]), published=row["kind"] == "summary", lock_state=str(row["lock_state"]),
        started=str(row["started"]), source=str(row["source"]), descriptor=descriptor,
    )


def labels(sets: Sequence[Described]) -> dict[str, str]:
    """A name for each set that no other set in view has: the rule, then model, published, run as far as needed."""
    several = len({s.model for s in sets}) > 1
    names = {s.set_id: s.rule + (f", {s.model}" if several else "") + (", published" if s.published else "") for s in sets}
    repeated = {name for name, times in Counter(names.values()).items() if times > 1}
    return {s.set_id: names[s.set_id] + (f", run {_when(s)}" if names[s.set_id] in repeated else "") for s in sets}


def _when(described_set: Described) -> str:
    """Start of a run and the end of its id: two runs may begin in one second."""
    return f"{described_set.started[:19].replace('T', ' ')} {described_set.artifact_id[-4:]}"


def require(frame: pd.DataFrame, sets: Iterable[Described]) -> None:
    """Raise InputError where the frame holds numbers of a set that is not described."""
    orphans = sorted(set(frame["set_id"].astype(str)) - {s.set_id for s in sets})
    if orphans:
        raise InputError("a number without a descriptor is not drawn", value=orphans[0], mend="describe the set")
