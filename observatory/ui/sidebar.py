"""The sidebar: benchmark, models, runs, negative sets, each with counts. It draws the selection; the URL holds it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from observatory.figures.numbers import count
from observatory.ui import readers, url
from observatory.ui.selection import Offer, Selection, parameters, resolve
from observatory.ui.text import plain

LEVELS = ("benchmark", "model", "run", "set")
OPENED = ("of", "bin", "width", "query", "compare", "pair", "pbin", "pwidth", "within", "stratum")
"""Parameters of what was opened within a selection: another selection closes it."""


def current() -> Selection | None:
    """The selection of this rerun, also where no sidebar was drawn; None where the store holds no margin set."""
    resolved = _resolved()
    return None if resolved is None else resolved[0]


def draw() -> None:
    """Draw the sidebar and write what is selected to the URL."""
    resolved = _resolved()
    if resolved is None:
        return
    selection, offer = resolved
    sets = readers.sets()
    with st.sidebar:
        _benchmark(sets, selection, offer)
        _many("model", "Models", "models", "runs", sets, selection, offer.models, selection.models)
        _many("run", "Runs", "runs", "negative sets", sets, selection, offer.runs, selection.runs)
        _rules(sets, selection, offer)


def _resolved() -> tuple[Selection, Offer] | None:
    readers.follow()
    new_link = url.begin()
    sets = readers.sets()
    if sets.empty:
        return None
    wanted = {level: tuple(url.get(level)) for level in LEVELS}
    key = (readers.token(), tuple(wanted.items()))
    if st.session_state.get("resolved", (None,))[0] != key:  # frame and page ask the same in one run
        st.session_state["resolved"] = (key, resolve(sets, wanted))
    selection, offer = st.session_state["resolved"][1]
    if new_link:
        st.session_state["link problems"] = selection.problems
    url.put(**parameters(selection))
    return selection, offer


def link_problems() -> tuple[str, ...]:
    """Sentences about what the opened link asked for in vain, until somebody selects something else."""
    return tuple(st.session_state.get("link problems", ()))


def _changed(level: str, key: str) -> None:
    """A level was changed: the levels below fall back to their defaults; negative sets are kept where they exist."""
    value = st.session_state[key]
    below = dict.fromkeys(LEVELS[LEVELS.index(level) + 1 : -1])
    st.session_state["link problems"] = ()
    closed = dict.fromkeys(OPENED if level == "set" else (*OPENED, "baseline", "against"))
    url.changed(**{**below, **closed, level: value})


def _benchmark(sets: pd.DataFrame, selection: Selection, offer: Offer) -> None:
    st.session_state["side benchmark"] = selection.benchmark
    counts = sets.groupby("benchmark")["set_id"].count()
    st.selectbox(
        f"Benchmark ({len(offer.benchmarks)})", offer.benchmarks, key="side benchmark",
        format_func=lambda name: f"{name} ({count(counts[name])} sets)", on_change=_changed,
        args=("benchmark", "side benchmark"),
    )


def _many(
    level: str, title: str, noun: str, below: str, sets: pd.DataFrame, selection: Selection, offered: Sequence[str], chosen: Sequence[str]
) -> None:
    key = f"side {level}"
    st.session_state[key] = list(chosen)
    names = _run_names(sets, selection) if level == "run" else _model_names(sets, selection)
    st.multiselect(
        f"{title} ({len(chosen)} of {len(offered)})", offered, key=key, format_func=lambda value: names.get(value, value),
        on_change=_changed, args=(level, key), placeholder=f"Choose {noun}", help=f"The number is how many {below} there are.",
    )


def _model_names(sets: pd.DataFrame, selection: Selection) -> dict[str, str]:
    runs = sets[sets["benchmark"] == selection.benchmark].groupby("model")["artifact_id"].nunique()
    return {str(model): f"{model} ({n})" for model, n in runs.items()}


def _run_names(sets: pd.DataFrame, selection: Selection) -> dict[str, str]:
    names = {}
    for run, rows in sets.groupby("artifact_id"):
        row = rows.iloc[0]
        when = "published" if row["kind"] == "summary" else str(row["started"])[:16].replace("T", " ")
        model = f" {row['model']}" if len(selection.models) > 1 else ""
        names[str(run)] = f"{when}{model} ({len(rows)})"
    repeated = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {run: f"{name} {run[-4:]}" if name in repeated else name for run, name in names.items()}


def _rules(sets: pd.DataFrame, selection: Selection, offer: Offer) -> None:
    st.session_state["side set"] = list(selection.rules)
    chosen = sets[sets["artifact_id"].isin(selection.runs)]
    scored = chosen.groupby("rule")["n_scored"].max()
    st.pills(
        f"Negative sets ({len(selection.rules)} of {len(offer.rules)})", offer.rules, key="side set", selection_mode="multi",
        format_func=lambda rule: f"{plain(rule)} ({count(scored[rule])})", on_change=_changed, args=("set", "side set"),
        help="The number is how many queries were scored against that set.",
    )
