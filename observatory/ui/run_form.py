"""The form of a plan: every field a widget whose value lives in the URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from observatory import offers
from observatory.negatives import RULES
from observatory.plans import Plan
from observatory.references import REFERENCES
from observatory.runs import CLUSTER_RULES
from observatory.scorers.bm25 import VARIANTS
from observatory.scorers.options import BACKENDS, DTYPES
from observatory.ui import run_plan, url
from observatory.ui.text import plain

OWN = "the default"
METRICS = ("nDCG@10", "RR", "R@5", "R@10", "AP", "P@10", "Success@1")
SLICED = ("in_model", "bm25")
LONGEST = url.LONGEST - 1


def draw(plan: Plan) -> None:
    _instrument(plan)
    _rules(plan)
    _metrics(plan)
    with st.expander("How texts are read, and speed"):
        _reading(plan)


def _instrument(plan: Plan) -> None:
    _typed("benchmark", "Benchmark", offers.benchmark_paths(), plan.benchmark, "Choose one, or type a path", _file_name)
    if splits := offers.splits(plan.benchmark):
        _chosen("split", "Split", splits, plan.split, OWN)
    _typed("scorer", "Scorer", offers.scorers(), plan.scorer, "Choose one, or type a folder or hub/id@revision", _file_name)


def _rules(plan: Plan) -> None:
    offered = tuple(dict.fromkeys([*plan.rules, "random", "in_model[0:5]", "in_model[2:7]", *RULES.names()]))
    _several("rules", "Negative-selection rules", offered, plan.rules, "A rule such as bm25, or a slice such as in_model[10:20]")
    _slice(plan)
    left, right = st.columns(2)
    with left:
        _number("k", "k, negatives a query", plan.k, 1, "For rules without a slice of their own.")
        _chosen("reference", "Reference positive", REFERENCES.names(), plan.reference, OWN)
    with right:
        _number("seed", "Seed of the random draw", plan.seed, 0)
        _chosen("clusters", "Sampling unit", CLUSTER_RULES, plan.clusters, None)
    if any(rule.startswith("bm25") for rule in plan.rules):
        _chosen("bm25", "BM25 ranking", ("shipped", *VARIANTS), plan.bm25, OWN)


def _slice(plan: Plan) -> None:
    """A slice without knowing how one is written."""
    with st.popover("Add a slice of a ranking", icon=":material/content_cut:"):
        method = st.selectbox("Ranking", SLICED, key="slice of")
        first = int(st.number_input("From rank (0 is the best)", 0, run_plan.LARGEST, 0, key="slice from"))
        last = int(st.number_input("Up to, not with, rank", 1, run_plan.LARGEST, 5, key="slice to"))
        text = f"{method}[{first}:{last}]"
        st.button(
            plain(f"Add {text}"), disabled=first >= last or text in plan.rules, key="slice add",
            on_click=run_plan.put, args=("rules", (*plan.rules, text)),
        )


def _metrics(plan: Plan) -> None:
    offered = tuple(dict.fromkeys([*plan.metrics, *METRICS]))
    _several("metrics", "Retrieval metrics (optional)", offered, plan.metrics, "nDCG@10, or another name of ir-measures")


def _reading(plan: Plan) -> None:
    st.text("For bi-encoders. What is left as it is, the model decides; the descriptor records what was used.")
    left, right = st.columns(2)
    with left:
        _chosen("backend", "Backend", BACKENDS, plan.backend, None)
        _number("batch_size", "Texts read at once", plan.batch_size, 1, "Changes speed only.")
        _number("depth", "Ranks kept for a TREC run", plan.depth, 1)
    with right:
        _number("max_length", "Longest text in tokens", plan.max_length, 1, placeholder="the model's own")
        _chosen("dtype", "Arithmetic", DTYPES, plan.dtype, None)
        _number("block_size", "Queries scored at once", plan.block_size, 1, "Changes memory only.")
    _prompt("query_prompt", "Text put before each query", plan.query_prompt)
    _prompt("item_prompt", "Text put before each item", plan.item_prompt)


# -- one widget a field ------------------------------------------------------------------------------------------------


def _follow(name: str, key: str) -> Callable[[], None]:
    """Puts the widget's value into the URL."""

    def follow() -> None:
        value = st.session_state[key]
        run_plan.put(name, tuple(value) if isinstance(value, list) else value)

    return follow


def _ready(name: str, value: Any) -> tuple[str, Callable[[], None]]:
    """The widget's key with the URL's value in it, and its callback."""
    key = f"plan {name}"
    if st.session_state.get(key, key) != value:
        st.session_state[key] = value
    return key, _follow(name, key)


def _typed(name: str, label: str, offered: Sequence[str], value: str, placeholder: str, written: Callable[[str], str]) -> None:
    key, follow = _ready(name, value or None)
    options = list(dict.fromkeys([*offered, *([value] if value else [])]))
    st.selectbox(
        label, options, index=None, key=key, on_change=follow, accept_new_options=True, placeholder=placeholder, format_func=written
    )


def _file_name(path: str) -> str:
    """A path's last part first: it is what tells them apart."""
    return f"{Path(path).name}  ({Path(path).parent})" if "/" in path and "@" not in path else path


def _chosen(name: str, label: str, offered: Sequence[str], value: str | None, default: str | None) -> None:
    """One of a few; ``default`` is how no choice is written (a select box takes None for an empty box)."""
    options = list(dict.fromkeys([*([default] if default is not None else []), *offered, *([value] if value is not None else [])]))
    key = f"plan {name}"
    st.session_state[key] = default if value is None else value
    st.selectbox(
        label, options, key=key,
        on_change=lambda: run_plan.put(name, None if st.session_state[key] == default else st.session_state[key]),
    )


def _several(name: str, label: str, offered: Sequence[str], value: tuple[str, ...], placeholder: str) -> None:
    key, follow = _ready(name, list(value))
    st.multiselect(label, offered, key=key, on_change=follow, accept_new_options=True, placeholder=placeholder, max_selections=url.MOST)


def _number(name: str, label: str, value: int | None, least: int, help: str | None = None, placeholder: str | None = None) -> None:
    key, follow = _ready(name, value)
    least = least if value is None else min(least, value)  # a plan from elsewhere may hold what cannot be used: it is said below
    st.number_input(label, least, run_plan.LARGEST, None, key=key, on_change=follow, help=help, placeholder=placeholder)


def _prompt(name: str, label: str, value: str | None) -> None:
    """A prompt of one's own, which may be empty, or the model's."""
    key = f"plan own {name}"
    st.session_state[key] = value is not None
    st.checkbox(f"{label}: other than the model's own", key=key, on_change=lambda: run_plan.put(name, "" if st.session_state[key] else None))
    if value is not None:
        text_key, changed = _ready(name, value)
        st.text_input(label, key=text_key, on_change=changed, max_chars=LONGEST, label_visibility="collapsed", placeholder="no text")
