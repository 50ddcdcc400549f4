"""Cached readers of comparisons and strata, kept by set ids and the store's version as in :mod:`observatory.ui.readers`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from observatory import paired, strata
from observatory.figures.bins import nice_width
from observatory.figures.forest import Dot
from observatory.store import PAIRWISE, STRATA
from observatory.ui import readers
from observatory.ui.readers import KEPT, Token, token

Where = tuple[str, str] | None
COSINE_CUT = 0.05
COLUMNS = (*list(STRATA)[:3], PAIRWISE, *list(STRATA)[3:])
OF_TWO = (*list(STRATA)[:3], PAIRWISE, "outcome")
"""What two sets can be stratified by: what belongs to the query, or to the pair of query and negative."""


def measured(set_id: str) -> bool:
    """Whether a set has margins per query."""
    return not readers.descriptions([set_id])[0].published


def compared(baseline: str, other: str) -> paired.Paired:
    return _compared(token(), baseline, other)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _compared(at: Token, baseline: str, other: str) -> paired.Paired:
    a, b = readers.descriptions([baseline, other])
    unit = paired.same_unit(a.descriptor, b.descriptor, a.artifact_id == b.artifact_id)
    same = a.descriptor.query_set_id == b.descriptor.query_set_id
    rows = _aligned(readers.margins(baseline), readers.margins(other)) if same else readers.store().pairs(baseline, other)
    return paired.measure((baseline, other), a.descriptor, b.descriptor, rows, unit)


def _aligned(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """As ``Store.pairs`` for two sets over one query set, whose ids alone make a pair: cluster, before, after by query id."""
    both = before.rename(columns={"margin": "before"}).merge(after[["query_id", "margin"]].rename(columns={"margin": "after"}), on="query_id")
    return both.sort_values("query_id", ignore_index=True)[["cluster", "before", "after"]]


def points(baseline: str, other: str) -> pd.DataFrame:
    return _points(token(), baseline, other)


@st.cache_data(show_spinner=False, max_entries=64)
def _points(at: Token, baseline: str, other: str) -> pd.DataFrame:
    return readers.store().pair_points(baseline, other)


def differences(baseline: str, other: str) -> tuple[pd.DataFrame, float]:
    """Bins of the paired differences, and their width."""
    return _differences(token(), baseline, other)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _differences(at: Token, baseline: str, other: str) -> tuple[pd.DataFrame, float]:
    rows = readers.store().pairs(baseline, other)
    change = rows["after"].to_numpy() - rows["before"].to_numpy()
    width = nice_width(float(np.min(change)), float(np.max(change)), 40)
    return readers.store().pair_histogram(baseline, other, width), width


def pair_queries(
    baseline: str, other: str, *, index: int | None = None, width: float | None = None, query_id: str | None = None,
    stratum: Where = None, ranks: bool = False,
) -> pd.DataFrame:
    return _pair_queries(token(), baseline, other, index, width, query_id, stratum, ranks)


@st.cache_data(show_spinner=False, max_entries=64)
def _pair_queries(
    at: Token, baseline: str, other: str, index: int | None, width: float | None, query_id: str | None, stratum: Where, ranks: bool
) -> pd.DataFrame:
    return readers.store().pair_queries(baseline, other, index=index, width=width, query_id=query_id, stratum=stratum, ranks=ranks)


def hardness(set_id: str, threshold: float) -> pd.DataFrame:
    return _hardness(token(), set_id, threshold)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _hardness(at: Token, set_id: str, threshold: float) -> pd.DataFrame:
    return readers.store().hardness(set_id, threshold)


def threshold(set_id: str) -> float:
    """Where a margin begins to be large: 0.05 for cosine, else the median of this set's margins above 0."""
    return _threshold(token(), set_id)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _threshold(at: Token, set_id: str) -> float:
    if readers.descriptions([set_id])[0].metric == "cosine":
        return COSINE_CUT
    margin = readers.store().margins_of(set_id)["margin"]
    return float(margin[margin > 0].median()) if (margin > 0).any() else COSINE_CUT


def columns(set_ids: tuple[str, ...], two: bool) -> list[str]:
    """Columns to stratify by that have a value in any of the sets: those with several first."""
    counts = [_columns(token(), i) | ({PAIRWISE: len(published_pairwise(i))} if not measured(i) and not two else {}) for i in set_ids]
    most = {c: max((n[c] for n in counts), default=0) for c in (OF_TWO if two else COLUMNS)}
    return sorted((c for c, n in most.items() if n), key=lambda c: most[c] < 2)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _columns(at: Token, set_id: str) -> dict[str, int]:
    return readers.store().stratum_columns(set_id)


def of_margins(set_id: str, by: str) -> list[strata.Stratum]:
    return _of_margins(token(), set_id, by)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _of_margins(at: Token, set_id: str, by: str) -> list[strata.Stratum]:
    return strata.of_margins(set_id, readers.store().stratified(set_id, by))


def of_pairs(baseline: str, other: str, by: str) -> tuple[list[strata.PairedStratum], bool]:
    """Strata of two sets, and whether their margins share a unit."""
    return _of_pairs(token(), baseline, other, by)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _of_pairs(at: Token, baseline: str, other: str, by: str) -> tuple[list[strata.PairedStratum], bool]:
    a, b = readers.descriptions([baseline, other])
    unit = paired.same_unit(a.descriptor, b.descriptor, a.artifact_id == b.artifact_id)
    return strata.of_pairs(readers.store().paired_strata(baseline, other, by), unit), unit


def in_stratum(set_id: str, by: str, stratum: str) -> pd.DataFrame:
    return _in_stratum(token(), set_id, by, stratum)


@st.cache_data(show_spinner=False, max_entries=64)
def _in_stratum(at: Token, set_id: str, by: str, stratum: str) -> pd.DataFrame:
    return readers.store().queries_in_stratum(set_id, by, stratum)


def published_pairwise(set_id: str) -> list[Dot]:
    """Pairwise means that a published table gives, without an interval."""
    return [Dot(s.relation, set_id, s.mean, s.low, s.high, f"({s.note})", s.n, "") for s in readers.strata(set_id)]
