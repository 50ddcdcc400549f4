"""Cached readers for one query: the order it stands in, its texts, and its candidates under each selected set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory.figures.described import Described
from observatory.figures.query import Answer, Candidate
from observatory.ui import readers
from observatory.ui.readers import KEPT, Token


def order(set_id: str, sort: str, against: str | None, find: str) -> tuple[str, ...]:
    """Ids of a set's queries that the search finds, sorted."""
    return _order(readers.token(), set_id, sort, against, find)


@st.cache_data(show_spinner=False, max_entries=64)
def _order(at: Token, set_id: str, sort: str, against: str | None, find: str) -> tuple[str, ...]:
    return tuple(readers.store().query_ids(set_id, sort, against, find))


def listed(set_id: str, query_ids: Sequence[str]) -> pd.DataFrame:
    """These queries with text, style, margin and outcome."""
    return _listed(readers.token(), set_id, tuple(query_ids))


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _listed(at: Token, set_id: str, query_ids: tuple[str, ...]) -> pd.DataFrame:
    return readers.store().query_list(set_id, query_ids)


def query(set_id: str, query_id: str) -> dict[str, str]:
    """Text, style and target of a query; what is not recorded says so."""
    row = (_answer(readers.token(), set_id, query_id) or ({}, []))[0]
    return {name: str(row.get(name) or "not recorded") for name in ("query", "style", "target_item_id")}


def answers(sets: Sequence[Described], query_id: str) -> list[Answer]:
    """The query under each set that attempted it."""
    found = ((s, _answer(readers.token(), s.set_id, query_id)) for s in sets)
    return [_with(s, *rows) for s, rows in found if rows is not None]


@st.cache_data(show_spinner=False, max_entries=4 * KEPT)
def _answer(at: Token, set_id: str, query_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    store = readers.store()
    row = store.query_of(set_id, query_id)
    if row is None:
        return None
    rows = store.candidates_of(set_id, query_id, str(row["hardest_item_id"])).to_dict("records")
    return row, [{str(k): None if pd.isna(v) else v for k, v in r.items()} for r in rows]


def _with(s: Described, row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Answer:
    candidates = tuple(
        Candidate(
            r["negative_item_id"], r["text"] or "text not recorded", int(r["rank"]), float(r["score"]), float(r["margin"]),
            r["relation"] or "none recorded", r["negative_item_id"] == row["hardest_item_id"],
        )
        for r in rows
    )
    return Answer(
        s, row["query_id"], row["reference_item_id"] or "none", row["reference"] or "none", row["reference_score"],
        row["hardest_score"], row["margin"], int(row["n_negatives"]), row["outcome"], row["reason"] or "", candidates,
    )
