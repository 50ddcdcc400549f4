"""The plan that is being written on the Run page: it lives in the URL, one parameter a field, and defaults are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from observatory import plans
from observatory.cli import DEFAULT_RULES
from observatory.errors import InputError, shorten
from observatory.plans import Plan
from observatory.ui import url

PREFIX = "plan-"
NONE = "none"
"""A list that is empty, where the default is not."""
EXACT = ("query_prompt", "item_prompt")
"""Texts whose emptiness and spaces mean something: written behind an equals sign."""
LARGEST = 10**9
START = Plan("", "", tuple(DEFAULT_RULES.split(",")))


def current() -> tuple[Plan, tuple[str, ...]]:
    """The plan in the URL, and sentences about what of it cannot be used."""
    return parse({f.name: url.get(PREFIX + f.name) for f in fields(Plan)})


def parse(values: Mapping[str, Sequence[str]]) -> tuple[Plan, tuple[str, ...]]:
    """A plan from lists of texts. A value that is no such value is named and its default taken."""
    record: dict[str, Any] = {}
    problems = []
    for name, kind in plans.TYPES.items():
        given = list(values.get(name, ()))
        if not given:
            continue
        if kind.startswith("tuple"):
            record[name] = () if given == [NONE] else tuple(given)
        elif kind.startswith("int"):
            if given[0].isdecimal() and int(given[0]) <= LARGEST:
                record[name] = int(given[0])
            else:
                problems.append(f"this link's value for {name} is no whole number up to {LARGEST:,} ({shorten(given[0])})")
        else:
            record[name] = given[0].removeprefix("=") if name in EXACT else given[0]
    return Plan(**({"benchmark": START.benchmark, "scorer": START.scorer, "rules": START.rules} | record)), tuple(problems)


def parameters(plan: Plan) -> dict[str, list[str] | None]:
    """The plan as URL parameters; None where a field has its default. InputError for a text that is too long for a link."""
    found: dict[str, list[str] | None] = {}
    for f in fields(Plan):
        value = getattr(plan, f.name)
        parts = [str(part) for part in value] if isinstance(value, tuple) else [str(value)]
        if value is not None and (len(parts) > url.MOST or any(len(part) > url.LONGEST - 1 for part in parts)):
            raise InputError(
                f"is longer than a link can hold ({url.LONGEST - 1} characters)", file="the plan", field=f.name,
                mend="submit it with: observatory jobs submit --plan FILE",
            )
        if isinstance(value, int) and not 0 <= value <= LARGEST:
            raise InputError(f"is no whole number from 0 to {LARGEST:,}", file="the plan", field=f.name, value=value, mend="write another")
        if value is None or value == getattr(START, f.name):
            found[PREFIX + f.name] = None
        elif f.name in EXACT:
            found[PREFIX + f.name] = [f"={value}"]
        else:
            found[PREFIX + f.name] = parts or [NONE]
    return found


def load(plan: Plan) -> None:
    """Put a whole plan into the URL, from a callback."""
    url.changed(**parameters(plan))


def put(name: str, value: Any) -> None:
    """One field into the URL, from a callback; None or an empty text is the default."""
    plan, _ = current()
    whole = START if value is None or (value == "" and name not in EXACT) else replace(plan, **{name: value})
    url.changed(**{PREFIX + name: parameters(whole)[PREFIX + name]})
