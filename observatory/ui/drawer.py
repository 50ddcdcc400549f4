"""The drawer: the queries behind a bar or dot with their texts, and one query's negatives. What is open is in the URL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.figures.histogram import Mark
from observatory.ui import readers, url

SHOWN = {
    "query": "query", "reference": "reference positive", "hardest": "hardest negative", "reference_score": "score of positive",
    "hardest_score": "score of negative", "margin": "margin", "outcome": "outcome",
}


def opened(customdata: list[Any]) -> None:
    """A mark was clicked: ``customdata`` is [set id] or [set id, bin, width, n]; [] closes the drawer."""
    if not customdata:
        return
    set_id, index, width = ([*map(str, customdata), *[None] * 3])[:3]
    url.changed(of=set_id, bin=index, width=width, query=None)
    st.toast("The queries behind this mark are listed under the figure.")


def marked(width: float) -> Mark | None:
    """The bar that is open, where bins are ``width`` wide."""
    index, set_id = url.first("bin"), url.first("of")
    same = _number(url.first("width")) == width
    return Mark(set_id, int(index or 0)) if set_id is not None and same and _whole(index) else None


def draw(sets: Sequence[Described], title: str, here: bool) -> None:
    """The queries that the URL names, among the shown sets; without one, how to open them.

    A page calls this twice: an open drawer stands right under the figure that was clicked (``here``), a closed one last.
    """
    set_id = url.first("of")
    if here != (set_id is not None) or all(s.published for s in sets):
        return
    names = {i: name for i, name in labels(sets).items() if i in {s.set_id for s in sets if not s.published}}
    st.subheader(title)
    if set_id is None:
        st.text("Click a mark in the figure to read the queries behind it, or choose a set here.")
    elif set_id not in names:
        st.warning("The link opens queries of a negative set that is not shown here; choose it in the sidebar first.")
    set_id = _choose_set(names, set_id)
    if set_id is None:
        return
    index, width = url.first("bin"), _number(url.first("width"))
    whole = width is None or not _whole(index)
    rows = readers.queries(set_id, None if whole else int(index or 0), width)
    _title(names[set_id], rows, None if whole else (int(index or 0) * (width or 0), (int(index or 0) + 1) * (width or 0)))
    if len(rows):
        listed(set_id, rows, f"{url.first('bin')} {url.first('width')}")


def _choose_set(names: dict[str, str], current: str | None) -> str | None:
    st.session_state["drawer set"] = current if current in names else None

    def follow() -> None:
        url.changed(of=st.session_state["drawer set"], bin=None, width=None, query=None)

    return st.selectbox(
        "Queries of", list(names), key="drawer set", format_func=lambda i: names[i], on_change=follow, index=None,
        placeholder="Choose a negative set",
    )


def _title(name: str, rows: pd.DataFrame, edges: tuple[float, float] | None) -> None:
    where = "all margins, smallest first" if edges is None else f"margins in [{edges[0]:.6g}, {edges[1]:.6g})"
    cut = " (the first 200)" if len(rows) == 200 else ""
    noun = "query" if len(rows) == 1 else "queries"
    st.text(f"{numbers.count(len(rows))} {noun}{cut} under {name}, {where}" if len(rows) else f"No query under {name} has {where}.")
    if edges is not None:
        st.button("Show all queries of this set", on_click=lambda: url.changed(bin=None, width=None, query=None))


def listed(set_id: str, rows: pd.DataFrame, place: str) -> None:
    """The queries as a table that ``place`` tells apart from others; a chosen row opens its negatives, arrow keys go on to the next."""
    ids = [str(i) for i in rows["query_id"]]
    wanted = url.first("query")
    at = ids.index(wanted) if wanted in ids else None
    if wanted is not None and at is None:
        st.warning("The link names a query that is not among these; choose one in the list.")
    key = f"rows {set_id} {place}"

    def follow() -> None:
        chosen = st.session_state[key].selection.rows
        url.changed(query=ids[chosen[0]] if chosen else None)

    text = {"margin": numbers.margin, "reference_score": _score, "hardest_score": _score}
    frame = rows[list(SHOWN)].assign(**{c: rows[c].map(f) for c, f in text.items()}).rename(columns=SHOWN)
    right = ("margin", "score of positive", "score of negative")
    st.dataframe(
        frame, hide_index=True, key=key, on_select=follow, selection_mode="single-row",
        selection_default={"selection": {"rows": [] if at is None else [at]}}, height=min(420, 38 + 35 * len(frame)),
        column_config={c: st.column_config.TextColumn(alignment="right" if c in right else "left") for c in frame.columns},
    )
    step(ids, at, key, "query")
    if at is not None:
        _query(set_id, rows.iloc[at])


def step(ids: Sequence[str], at: int | None, key: str, name: str) -> None:
    """Buttons and arrow keys to the previous and the next row of the table ``key``, whose opened one the URL has under ``name``."""

    def go(to: int) -> None:
        st.session_state[key] = {"selection": {"rows": [to], "columns": [], "cells": []}}
        url.changed(**{name: ids[to]})

    with st.container(horizontal=True, vertical_alignment="center"):
        before, after = (at or 0) - 1, 0 if at is None else at + 1
        st.button("Previous query", shortcut="Left", disabled=before < 0, on_click=go, args=(before,), icon=":material/arrow_back:")
        st.button("Next query", shortcut="Right", disabled=after >= len(ids), on_click=go, args=(after,), icon=":material/arrow_forward:")
        if at is not None:
            st.text(f"{numbers.count(at + 1)} of {numbers.count(len(ids))}")


def _query(set_id: str, row: pd.Series) -> None:
    """One query with everything it was measured against."""
    with st.container(border=True, key="opened-query"):
        st.text(f"{row['query']}")
        st.text(
            f"{row['outcome']}, margin {numbers.margin(row['margin'])} = {_score(row['reference_score'])} - "
            f"{_score(row['hardest_score'])}, against {numbers.count(row['n_negatives'])} negatives ({row['query_id']})"
        )
        query_id = str(row["query_id"])
        if st.button("Open in Query", icon=":material/search:", on_click=lambda: url.changed(q=query_id, query=query_id, under=set_id, find=None)):
            st.switch_page("pages/query.py")
        st.text(f"Reference positive {row['reference_item_id']}:\n{row['reference']}")
        found = readers.negatives(set_id, query_id)
        frame = pd.DataFrame(
            {
                "rank": found["rank"].astype(str), "negative": found["text"], "relation": found["relation"].fillna("none recorded"),
                "score": found["score"].map(_score), "pairwise margin": found["margin"].map(numbers.margin),
                "item": found["negative_item_id"],
            }
        )
        st.dataframe(
            frame, hide_index=True, height="content",
            column_config={
                c: st.column_config.TextColumn(alignment="right" if c in ("rank", "score", "pairwise margin") else "left")
                for c in frame.columns
            },
        )


def _score(value: float) -> str:
    return f"{value:.4f}"


def _whole(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"-?[0-9]{1,11}", text) is not None


def _number(text: str | None) -> float | None:
    """A positive finite width from the URL, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < 1e9 else None
