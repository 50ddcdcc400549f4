"""The one selection of all screens: benchmark, models, runs, negative sets. A pure function of the URL and the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

FAMILIAR = ("random", "in_model", "structured_perturbation", "bm25")
"""Methods of the sets that are shown first, where there are more."""


@dataclass(frozen=True)
class Selection:
    """Resolved ids, and sentences about what a link asked for and this store does not hold."""

    benchmark: str
    models: tuple[str, ...]
    runs: tuple[str, ...]
    rules: tuple[str, ...]
    set_ids: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Offer:
    """What can be chosen at each level, given the levels above."""

    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    runs: tuple[str, ...]
    rules: tuple[str, ...]


def resolve(sets: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> tuple[Selection, Offer]:
    """What to show of a store that is not empty. ``wanted`` holds the parameters benchmark, model, run and set.

    A level that is not asked for gets its default; a link that names only a run or a model takes the levels above
    from it.
    """
    problems: list[str] = []
    named = _named(sets, wanted)
    benchmark = _one(sets, "benchmark", wanted.get("benchmark", ()), named, "benchmark", problems)
    here = sets[sets["benchmark"] == benchmark]
    models = _some(here, "model", wanted.get("model", ()), named, "model", problems) or _unique(here, "model")[:1]
    mine = here[here["model"].isin(models)]
    runs = _some(mine, "artifact_id", wanted.get("run", ()), None, "run", problems) or _latest(mine)
    chosen = mine[mine["artifact_id"].isin(runs)]
    rules = _some(chosen, "rule", wanted.get("set", ()), None, "negative set", problems) or _familiar(chosen)
    shown = chosen[chosen["rule"].isin(rules)]
    selection = Selection(benchmark, models, runs, rules, _in_order(shown, rules), tuple(problems))
    return selection, Offer(_unique(sets, "benchmark"), _unique(here, "model"), _unique(mine, "artifact_id"), _rules(chosen))


def parameters(selection: Selection) -> dict[str, list[str]]:
    """The selection as URL parameters."""
    return {
        "benchmark": [selection.benchmark], "model": list(selection.models), "run": list(selection.runs),
        "set": list(selection.rules),
    }


def _named(sets: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The sets that the most exact level of a link names."""
    for column, parameter in (("artifact_id", "run"), ("model", "model")):
        rows = sets[sets[column].isin(list(wanted.get(parameter, ())))]
        if len(rows):
            return rows
    return sets.iloc[:0]


def _one(
    sets: pd.DataFrame, column: str, wanted: Sequence[str], named: pd.DataFrame, word: str, problems: list[str]
) -> str:
    found = _some(sets, column, wanted, named, word, problems)
    return (found or _unique(sets, column))[0]


def _some(
    sets: pd.DataFrame, column: str, wanted: Sequence[str], named: pd.DataFrame | None, word: str, problems: list[str]
) -> tuple[str, ...]:
    """Those asked for that there are; without any, those of the named runs."""
    there = _unique(sets, column)
    for value in wanted:
        if value not in there:
            problems.append(f"this link asks for the {word} '{value}', which this store does not hold here")
    kept = tuple(value for value in there if value in wanted)
    if kept or named is None or wanted:
        return kept
    return tuple(value for value in there if value in set(named[column]))


def _unique(sets: pd.DataFrame, column: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sets[column].astype(str)))


def _latest(sets: pd.DataFrame) -> tuple[str, ...]:
    """The newest measurement of each model, and everything published about it (frames come newest first)."""
    fresh = sets[sets["kind"] == "measurement"].drop_duplicates("model")["artifact_id"]
    published = sets[sets["kind"] == "summary"]["artifact_id"]
    keep = {*fresh, *published}
    return tuple(run for run in _unique(sets, "artifact_id") if run in keep)


def _rules(sets: pd.DataFrame) -> tuple[str, ...]:
    return _unique(sets, "rule")


def _familiar(sets: pd.DataFrame) -> tuple[str, ...]:
    """One set for each familiar method, the first that was measured; all sets where there are four or fewer."""
    every = _rules(sets)
    if len(every) <= len(FAMILIAR):
        return every
    firsts = sets.drop_duplicates("method")
    return tuple(firsts[firsts["method"].isin(FAMILIAR)]["rule"]) or every[: len(FAMILIAR)]


def _in_order(sets: pd.DataFrame, rules: Sequence[str]) -> tuple[str, ...]:
    """Set ids by rule, model, fresh before published: what belongs together stands together."""
    keyed = sets.assign(
        by_rule=sets["rule"].map(list(rules).index), by_model=sets["model"], by_kind=sets["kind"] == "summary"
    )
    return tuple(keyed.sort_values(["by_rule", "by_model", "by_kind"], kind="stable")["set_id"])
