"""What the Metrics page reads: runs with metrics, their table against a baseline, and the queries behind a mean."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from observatory import ablation
from observatory.cells import Cell
from observatory.evaluation import Evaluation
from observatory.ui import readers
from observatory.ui.readers import Token

MOST = 8


def runs() -> pd.DataFrame:
    """One row a run with metrics, newest first, as ``Store.evaluated`` gives them."""
    return _runs(readers.token())


@st.cache_data(show_spinner=False, max_entries=8)
def _runs(at: Token) -> pd.DataFrame:
    return readers.store().evaluated()


def evaluation(artifact_id: str) -> Evaluation:
    """The record of a run's metrics."""
    found = _evaluation(readers.token(), artifact_id)
    assert found is not None, "the page offers runs with metrics only"
    return found


@st.cache_resource(show_spinner=False, max_entries=256)
def _evaluation(at: Token, artifact_id: str) -> Evaluation | None:
    return readers.store().evaluation(artifact_id)


def names(frame: pd.DataFrame) -> dict[str, str]:
    """How each run is written: its model, and its start and id where a model has several on a benchmark."""
    times = frame[["benchmark", "model"]].value_counts()
    return {
        str(r["artifact_id"]): str(r["model"]) if times[r["benchmark"], r["model"]] == 1 else f"{r['model']}, {str(r['started'])[:16].replace('T', ' ')} {str(r['artifact_id'])[-4:]}"
        for r in frame.to_dict("records")
    }


def table(artifact_ids: tuple[str, ...], baseline: str) -> list[Cell]:
    """The whole table of the runs, corrected over all of it."""
    return _table(readers.token(), artifact_ids, baseline)


@st.cache_data(show_spinner="Comparing query by query ...", max_entries=64)
def _table(at: Token, artifact_ids: tuple[str, ...], baseline: str) -> list[Cell]:
    return ablation.table(readers.store(), {i: i for i in artifact_ids}, baseline)


def queries(artifact_id: str, metric: str) -> pd.DataFrame:
    """The queries of a run with the lowest values first, at most 200: query_id, query, value."""
    return _queries(readers.token(), artifact_id, metric)


@st.cache_data(show_spinner=False, max_entries=64)
def _queries(at: Token, artifact_id: str, metric: str) -> pd.DataFrame:
    return readers.store().metric_queries(artifact_id, metric)


def rules(artifact_id: str) -> Mapping[str, str]:
    """Set ids of a run's margin sets by rule: the way on to the sentences."""
    sets = readers.sets()
    mine = sets[sets["artifact_id"] == artifact_id]
    return dict(zip(mine["rule"], mine["set_id"], strict=True))
