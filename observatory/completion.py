"""What people state about a published artifact's fields that its source left out: *asserted*, with who and when.

Typed-in provenance never turns anything into a measurement: only summary-only artifacts can be completed, they stay
summary-only, their own files are not touched, and results (outcomes, expectation) cannot be typed in at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from observatory import ledger, lock, yaml_text
from observatory.artifacts import Artifact
from observatory.descriptor import (
    NOT_APPLICABLE,
    NOT_MEASURED,
    NOT_RECORDED,
    NegativeSetDescriptor,
    not_recorded,
    parse,
)
from observatory.errors import DescriptorRefused, InputError, one_line
from observatory.ledger import Ledger

PLACE = Path("ledgers") / "completions.jsonl"
RESULTS = ("outcomes", "expectation")
DERIVED = ("scorer.space_id",)
LONGEST_NAME, LONGEST_VALUE = 80, 2000
KEYS = ("who", "when", "artifact", "lock_sha256", "rule", "field", "value")


@dataclass(frozen=True)
class Assertion:
    """One value that a person stated. ``value`` is ``not_recorded`` where an earlier one was withdrawn."""

    who: str
    when: str
    artifact: str
    lock_sha256: str
    rule: str
    field: str
    value: Any


@dataclass(frozen=True)
class Completions:
    """Everything that was ever stated, oldest first; nothing, and ``fault``, where the ledger's chain is broken.

    ``unfinished``: the last line was cut off while it was written, and is no assertion.
    """

    history: tuple[Assertion, ...] = ()
    fault: str | None = None
    unfinished: bool = False

    def of(self, artifact_id: str, lock_sha256: str, rule: str) -> dict[str, Assertion]:
        """The latest assertion of each field of one set, for this very content of the artifact."""
        mine = (a for a in self.history if (a.artifact, a.lock_sha256, a.rule) == (artifact_id, lock_sha256, rule))
        return {field: a for field, a in {a.field: a for a in mine}.items() if a.value != NOT_RECORDED}

    def artifacts(self) -> set[str]:
        return {a.artifact for a in self.history}


def read(root: Path) -> Completions:
    """The completions in the store below ``root``, verified."""
    return _completions(ledger.read(root / PLACE))


def _completions(found: Ledger) -> Completions:
    if found.fault is not None:
        return Completions(fault=found.fault)
    try:
        return Completions(tuple(Assertion(**{key: entry[key] for key in KEYS}) for entry in found.entries), unfinished=found.unfinished)
    except KeyError as error:
        return Completions(fault=f"an entry has no {error}")


def fields(descriptor: NegativeSetDescriptor) -> tuple[str, ...]:
    """Paths that may be completed: what the source left out, but for results and hashes of other fields."""
    return tuple(p for p in not_recorded(descriptor) if p.split(".")[0] not in RESULTS and p not in DERIVED)


def lock_hash(artifact: Artifact) -> str:
    """The hash in an artifact's lock.json, which a completion is bound to. InputError where it has none."""
    if artifact.path is None or not artifact.locked:
        raise InputError("has no lock.json, so a completion could not say what it completes", value=artifact.id, mend="lock it first")
    return str(json.loads((artifact.path / lock.LOCK).read_bytes())["lock_sha256"])


def record(root: Path, artifact: Artifact, rules: Sequence[str], values: Mapping[str, str], who: str) -> tuple[Assertion, ...]:
    """Append one assertion for each rule and field of ``values`` (text as typed in; YAML for blocks).

    A field that the rule's source does record is left alone where several rules are named. Raises InputError for a
    measurement, an unknown field or an unusable value; then nothing is written.
    """
    if artifact.kind != "summary":
        raise InputError(
            "is a measurement, and a measurement's record is never completed by hand", value=artifact.id,
            mend="measure it again, so that the run records itself",
        )
    name, sha = _name(who), lock_hash(artifact)
    stated = {field: text for field, text in values.items() if text.strip()}
    if not stated:
        raise InputError("nothing was filled in", mend="write a value beside at least one field")
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def make(there: Ledger) -> list[dict[str, Any]]:
        entries = []
        for rule, field, value in _checked(_completions(there), artifact, sha, rules, stated):
            found = (name, when, artifact.id, sha, rule, field, value)
            entries.append(dict(zip(KEYS, found, strict=True)))
        return entries

    return tuple(Assertion(**{k: e[k] for k in KEYS}) for e in ledger.append(root / PLACE, make))


def _checked(
    there: Completions, artifact: Artifact, sha: str, rules: Sequence[str], stated: Mapping[str, str]
) -> Iterator[tuple[str, str, Any]]:
    """Rule, field and typed value of each new assertion; together with the earlier ones they must make a descriptor."""
    used: set[str] = set()
    for rule in rules:
        if rule not in artifact.descriptors:
            raise InputError("there is no such margin set in this artifact", value=rule, mend=f"choose one of: {', '.join(artifact.descriptors)}")
        descriptor = artifact.descriptors[rule]
        data = descriptor.model_dump()
        earlier = there.of(artifact.id, sha, rule)
        for field, assertion in earlier.items():
            _put(data, field, assertion.value)
        for field in (f for f in stated if f in fields(descriptor)):
            value = _typed(data, field, stated[field].strip(), withdrawn=field in earlier)
            _put(data, field, value)
            used.add(field)
            yield rule, field, value
    strangers = sorted(set(stated) - used)
    if strangers:
        raise InputError("is no field that can be completed: its source records it, or it is a result", field=strangers[0], mend="leave it out")


def _typed(data: dict[str, Any], field: str, text: str, withdrawn: bool) -> Any:
    """``text`` as the value that the descriptor's own rules accept for the field."""
    if text == NOT_RECORDED and withdrawn:
        return NOT_RECORDED
    if text in (NOT_RECORDED, NOT_MEASURED) or len(text) > LONGEST_VALUE:
        raise InputError(f"takes a value of at most {LONGEST_VALUE} characters", field=field, value=text, mend=f"write it, or {NOT_APPLICABLE}")
    faults: Sequence[str] = ()
    for value in _readings(text):
        candidate = json.loads(json.dumps(data))
        _put(candidate, field, value)
        try:
            parse(candidate, subject=field, summary_only=True)
            return value
        except DescriptorRefused as refused:
            faults = faults or refused.faults  # of the reading as a number or block, where there is one
    raise InputError(f"cannot hold this: {faults[0]}", field=field, value=text, mend="correct the value")


def _readings(text: str) -> Iterator[Any]:
    """A number, a truth value or a block of fields where YAML reads one; the text itself last."""
    try:
        value = yaml_text.load(text, "value")
        json.dumps(value, allow_nan=False)
        if isinstance(value, int | float | dict):
            yield value
    except (InputError, TypeError, ValueError, RecursionError):
        pass
    yield text


def _put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set a leaf by its dotted path; keys may hold dots themselves (a stratum's name)."""
    for key in data:
        if path == key:
            data[key] = value
            return
        if path.startswith(f"{key}.") and isinstance(data[key], dict):
            _put(data[key], path.removeprefix(f"{key}."), value)
            return
    raise InputError("there is no such field", field=path)


def _name(who: str) -> str:
    name = one_line(who).strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InputError(f"who states this must be named, in at most {LONGEST_NAME} characters", mend="write a name")
    return name


def as_comments(assertions: Mapping[str, Assertion]) -> str:
    """Assertions as YAML comments, to stand below a descriptor that they are no part of."""
    lines = [
        one_line(f"# asserted, not recorded by the source: {a.field} = {json.dumps(a.value, ensure_ascii=False)} (by {a.who}, {a.when})")
        for a in assertions.values()
    ]
    return "".join(line + "\n" for line in lines)
