"""A plan: everything that decides a run's numbers, as a record, as YAML and as the one command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from observatory import paths, yaml_text
from observatory.errors import InputError

TOP = "observatory_plan"


@dataclass(frozen=True)
class Plan:
    """What is measured, and (``batch_size``, ``block_size``) what decides only its speed and memory.

    ``rules`` may be empty where ``metrics`` (ir-measures names such as nDCG@10) are not. ``depth`` is how much of each
    ranking is kept for a TREC run file. ``backend``, ``max_length``, ``query_prompt``, ``item_prompt`` and
    ``dtype`` are the bi-encoder's; None is the model's own.
    """

    benchmark: str
    scorer: str
    rules: tuple[str, ...] = ()
    split: str | None = None
    reference: str | None = None
    k: int = 5
    seed: int = 0
    bm25: str | None = None
    clusters: str = "target"
    metrics: tuple[str, ...] = ()
    depth: int = 1000
    backend: str = "auto"
    max_length: int | None = None
    query_prompt: str | None = None
    item_prompt: str | None = None
    dtype: str = "float32"
    batch_size: int = 32
    block_size: int = 256


TYPES: dict[str, str] = {f.name: str(f.type) for f in fields(Plan)}
DEFAULTS: dict[str, Any] = {f.name: None if f.default is MISSING else f.default for f in fields(Plan)}
WORDS = {"str": "a text", "int": "a whole number", "tuple[str, ...]": "a list of texts"}
SPEED_ONLY = ("batch_size", "block_size")
LARGEST = 10**9
"""Of any whole number in a plan: a larger one decides nothing that this one does not."""


def from_record(record: Mapping[str, Any], subject: str = "plan") -> Plan:
    """A plan from plain data; InputError naming the first field that is unknown, missing, of another type or out of range."""
    if (fault := next(faults(record, subject), None)) is not None:
        raise fault
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}
    return Plan(**values)


def faults(record: Mapping[str, Any], subject: str) -> Iterator[InputError]:
    """Everything in a record for which it is no plan, field by field; what is missing comes last."""
    for name, value in record.items():
        if (fault := _fault(name, value, subject)) is not None:
            yield fault
    for name in ("benchmark", "scorer"):
        if name not in record or record[name] == "":
            yield InputError("is missing", file=subject, field=name, mend=f"add {name}: ...")


def _fault(name: str, value: Any, subject: str) -> InputError | None:
    """Why a plan's field cannot hold this value.

    Half a surrogate pair (a file name in another encoding) and NUL can be written into no artifact: said before the first score.
    """
    if name not in TYPES:
        return InputError("a plan has no such field", file=subject, field=str(name), mend=f"use: {', '.join(TYPES)}")
    if not _fits(value, TYPES[name]):
        kind = WORDS[TYPES[name].removesuffix(" | None")]
        return InputError(f"is not {kind}", file=subject, field=name, value=value, mend=f"write {kind}")
    if isinstance(value, int) and abs(value) > LARGEST:
        return InputError("is out of range", file=subject, field=name, value=value, mend=f"write a number up to {LARGEST:,}")
    for text in [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            return InputError("holds a character that is none", file=subject, field=name, value=text, mend="write it in UTF-8 without NUL")
    return None


def _fits(value: Any, kind: str) -> bool:
    if kind.endswith(" | None"):
        return value is None or _fits(value, kind.removesuffix(" | None"))
    if kind == "str":
        return isinstance(value, str)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


def to_yaml(plan: Plan) -> str:
    """The whole plan, defaults too: a later version may have others."""
    record = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(plan).items()}
    text = yaml.safe_dump({TOP: record}, sort_keys=False, allow_unicode=True, width=100)
    # PyYAML writes a few characters (U+0085 is one) so that it reads them back as others; their escapes come back whole.
    return text if yaml.safe_load(text) == {TOP: record} else yaml.safe_dump({TOP: record}, sort_keys=False, width=100)


def from_yaml(text: str, subject: str = "plan") -> Plan:
    """Read :func:`to_yaml`'s text with the safe loader; fields left out take their defaults."""
    return from_record(mapping(text, subject), subject)


def mapping(text: str, subject: str, top: str = TOP) -> dict[str, Any]:
    """One YAML mapping, below ``top`` or without it. InputError where the text is none."""
    data = yaml_text.load(text, subject)
    if isinstance(data, dict) and set(data) == {top}:
        data = data[top]
    if not isinstance(data, dict):
        raise InputError("holds no mapping of fields", file=subject, mend=yaml_text.MEND)
    return data


def public(plan: Plan) -> dict[str, Any]:
    """The plan without folders of this machine: benchmark and model are identified by hash in the descriptor."""
    record = asdict(plan)
    record["benchmark"] = _public_path(plan.benchmark)
    record["scorer"] = _public_path(plan.scorer) if Path(plan.scorer).is_dir() else plan.scorer
    return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}


def _public_path(path: str) -> str:
    """Relative to the repository where it lies inside, else the last part only: artifacts are shared."""
    resolved = Path(path).resolve()
    return resolved.relative_to(paths.ROOT).as_posix() if resolved.is_relative_to(paths.ROOT) else resolved.name


def command(plan: Plan) -> str:
    """The one command that measures this again, from the repository's root; options at their defaults are left out."""
    record = public(plan)
    words = ["observatory", "run", "--benchmark", record.pop("benchmark"), "--scorer", record.pop("scorer")]
    for name, value in record.items():
        if name in SPEED_ONLY or value == DEFAULTS[name] or value == []:
            continue
        words += [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, list) else str(value)]
    return shlex.join(words)
