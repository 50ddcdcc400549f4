"""Cached readers. Finished artifacts never change, so results are kept by set ids and the store's version, without a clock."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from observatory import artifacts, completion, paths, statistics
from observatory.figures.described import Described, described, labels
from observatory.figures.pairwise import Stratum
from observatory.statistics import Interval
from observatory.store import Store

Ids = tuple[str, ...]
Token = tuple[str, int]
KEPT = 256


@st.cache_resource(show_spinner="Reading the artifacts once ...")
def _open(root: str, shipped: str) -> Store:
    return Store(Path(root), tuple(Path(p) for p in shipped.split(os.pathsep) if p))


def _place() -> tuple[str, str]:
    return str(paths.store_root()), os.pathsep.join(str(p) for p in paths.shipped_roots())


def store() -> Store:
    """The process's store, as it was when this rerun began."""
    return _open(*_place())


def follow() -> None:
    """Look at the folders' names and times, and load what is new: once a rerun, before anything is read."""
    store().refresh()


def token() -> Token:
    """What cached results belong to: this store in this version."""
    return "|".join(_place()), store().version


def sets() -> pd.DataFrame:
    """One row a margin set, as ``Store.sets`` gives them."""
    return _sets(token())


@st.cache_data(show_spinner=False, max_entries=8)
def _sets(at: Token) -> pd.DataFrame:
    return store().sets()


def run_record(artifact_id: str) -> dict[str, Any]:
    """How an artifact was made, as its run recorded it."""
    return _run_record(token(), artifact_id)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _run_record(at: Token, artifact_id: str) -> dict[str, Any]:
    return store().run_record(artifact_id)


def quarantine() -> pd.DataFrame:
    """Refused folders with every reason."""
    return store().quarantine()


def descriptions(set_ids: Sequence[str]) -> list[Described]:
    """The described sets, in the order asked for."""
    frame = sets().set_index("set_id", drop=False)
    found = [_described(token(), set_id, frame.loc[set_id].to_dict()) for set_id in set_ids]
    if not any(s.published for s in found):
        return found
    stated = _asserted(token(), _ledger_stamp())
    return [replace(s, asserted=stated[s.set_id]) if s.set_id in stated else s for s in found]


def names(set_ids: Sequence[str]) -> dict[str, str]:
    """How each set is written beside the others, for lists of everything there is."""
    return _names(token(), tuple(set_ids))


@st.cache_data(show_spinner=False, max_entries=64)
def _names(at: Token, set_ids: Ids) -> dict[str, str]:
    return labels(descriptions(set_ids))


def _ledger_stamp() -> tuple[int, int]:
    """Size and time of the ledger of completions; what people state there is read again when it changes."""
    try:
        status = (paths.store_root() / completion.PLACE).stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


@st.cache_data(show_spinner=False, max_entries=8)
def _asserted(at: Token, stamp: tuple[int, int]) -> dict[str, int]:
    """How many fields of each published set a person stated, where any were."""
    if stamp == (0, 0):
        return {}
    stated, found = completion.read(paths.store_root()), {}
    for row in store().sets().query("kind == 'summary' and lock_state == 'locked'").to_dict("records"):
        artifact = artifacts.read_descriptors(store().folder(str(row["artifact_id"])))
        mine = stated.of(artifact.id, completion.lock_hash(artifact), str(row["rule"]))
        if mine:
            found[str(row["set_id"])] = len(mine)
    return found


@st.cache_resource(show_spinner=False, max_entries=4096)
def _described(at: Token, set_id: str, _row: Mapping[Hashable, Any]) -> Described:
    return described({str(k): v for k, v in _row.items()}, store().descriptor(set_id))


def extent(set_ids: Sequence[str]) -> tuple[float, float] | None:
    return _extent(token(), tuple(set_ids))


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _extent(at: Token, set_ids: Ids) -> tuple[float, float] | None:
    return store().extent(set_ids)


def histogram(set_ids: Sequence[str], width: float) -> pd.DataFrame:
    return _histogram(token(), tuple(set_ids), width)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _histogram(at: Token, set_ids: Ids, width: float) -> pd.DataFrame:
    return store().histogram(set_ids, width)


def ecdf(set_ids: Sequence[str]) -> pd.DataFrame:
    return _ecdf(token(), tuple(set_ids))


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _ecdf(at: Token, set_ids: Ids) -> pd.DataFrame:
    return store().ecdf(set_ids)


def tails(set_ids: Sequence[str]) -> pd.DataFrame:
    return _tails(token(), tuple(set_ids))


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _tails(at: Token, set_ids: Ids) -> pd.DataFrame:
    return store().tails(set_ids)


def margins(set_id: str) -> pd.DataFrame:
    """Scored margins of one set, kept as one frame that nobody may change: query_id, cluster (a number), margin.

    Clusters are numbered in the order of their names, so that two sets over the same queries agree.
    """
    return _margins(token(), set_id)


@st.cache_resource(show_spinner=False, max_entries=64)
def _margins(at: Token, set_id: str) -> pd.DataFrame:
    rows = store().margins_of(set_id)
    return rows.assign(cluster=pd.factorize(rows["cluster_id"], sort=True)[0])[["query_id", "cluster", "margin"]]


def outcome_rates(set_id: str, threshold: float = 0.0) -> dict[str, Interval]:
    """Shares of losses, ties and wins (of margins below, at and above another threshold) with their intervals over clusters.

    Empty where no query was measured.
    """
    return _outcome_rates(token(), set_id, threshold)


@st.cache_data(show_spinner=False, max_entries=4 * KEPT)
def _outcome_rates(at: Token, set_id: str, threshold: float) -> dict[str, Interval]:
    rows = margins(set_id)
    if rows.empty:
        return {}
    margin, clusters = rows["margin"].to_numpy(), rows["cluster"].to_numpy()
    return {
        name: statistics.rate(hit, clusters)
        for name, hit in (("loss", margin < threshold), ("tie", margin == threshold), ("win", margin > threshold))
    }


def quantile_intervals(set_id: str, probabilities: Sequence[float]) -> list[Interval]:
    """Quantiles of a set's margins with their intervals over clusters; empty where no query was measured."""
    return _quantile_intervals(token(), set_id, tuple(probabilities))


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _quantile_intervals(at: Token, set_id: str, probabilities: tuple[float, ...]) -> list[Interval]:
    rows = margins(set_id)
    margin, clusters = rows["margin"].to_numpy(), rows["cluster"].to_numpy()
    return [statistics.quantile(margin, clusters, p) for p in probabilities] if len(rows) else []


def by_style(set_id: str, width: float) -> pd.DataFrame:
    """Bins of a set's margins by query style, as ``Store.style_histogram`` gives them."""
    return _by_style(token(), set_id, width)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _by_style(at: Token, set_id: str, width: float) -> pd.DataFrame:
    return store().style_histogram(set_id, width)


def ecdf_by_style(set_id: str) -> pd.DataFrame:
    """Steps of a set's distribution by query style, as ``Store.style_ecdf`` gives them."""
    return _ecdf_by_style(token(), set_id)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _ecdf_by_style(at: Token, set_id: str) -> pd.DataFrame:
    return store().style_ecdf(set_id)


def strata(set_id: str) -> list[Stratum]:
    """The descriptor's pairwise strata, each with its interval over clusters where there are rows."""
    return _strata(token(), set_id)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _strata(at: Token, set_id: str) -> list[Stratum]:
    rows = store().pairwise_of(set_id)
    found = []
    for relation, stratum in store().descriptor(set_id).strata.items():
        mean = getattr(stratum, "mean_pairwise_margin", None)
        if mean is None:
            continue
        mine = rows[rows["relation"] == relation]
        interval = statistics.cluster_mean(mine["margin"].to_numpy(), mine["cluster_id"].to_numpy()) if len(mine) else None
        found.append(
            Stratum(
                set_id, relation, stratum.n, mean, interval.low if interval else None, interval.high if interval else None,
                interval.note if interval else "interval not measured",
            )
        )
    return found


def queries(set_id: str, index: int | None, width: float | None) -> pd.DataFrame:
    """The queries behind a bar, or all of a set, smallest margin first (at most 200), with their texts."""
    return _queries(token(), set_id, index, width)


@st.cache_data(show_spinner=False, max_entries=64)
def _queries(at: Token, set_id: str, index: int | None, width: float | None) -> pd.DataFrame:
    if index is None or width is None:
        return store().queries_in(set_id, float("-inf"), float("inf"))
    return store().queries_in_bin(set_id, index, width)


def negatives(set_id: str, query_id: str) -> pd.DataFrame:
    return _negatives(token(), set_id, query_id)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _negatives(at: Token, set_id: str, query_id: str) -> pd.DataFrame:
    return store().negatives_of(set_id, query_id)
