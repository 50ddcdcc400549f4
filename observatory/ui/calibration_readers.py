"""Cached readers of calibrations, kept by set or artifact id and the store's version as in :mod:`observatory.ui.readers`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from observatory.calibration import published, readings
from observatory.calibration.published import Published
from observatory.calibration.readings import SEED, Scored, Source, sources
from observatory.calibration.roc import Operating
from observatory.calibration.scores import Graded
from observatory.calibration.size import Size
from observatory.descriptor import EvaluationContext
from observatory.ui import artifact_readers, readers
from observatory.ui.readers import KEPT, Token, token

__all__ = ["SEED", "Scored", "Source", "grades", "operating", "projections", "scored", "size_of", "sources", "with_pairs"]


def size_of(source: Source) -> Size | None:
    """The size curve of a source; None where two sets share no query."""
    return _size_of(token(), source.set_ids, source.wins)


@st.cache_data(show_spinner="Drawing subsamples once ...", max_entries=KEPT)
def _size_of(at: Token, set_ids: tuple[str, ...], wins: bool) -> Size | None:
    return readings.size_of(readers.store(), set_ids, wins)


def projections() -> dict[str, tuple[str, Published]]:
    """Published projections by artifact: title, and the projection recomputed from the document's own numbers."""
    found = {}
    for entry in artifact_readers.loaded():
        if entry.published and (read := published.find(artifact_readers.read(entry.id).published)) is not None:
            found[entry.id] = (entry.title, read)
    return found


def with_pairs(artifact_ids: Sequence[str]) -> list[str]:
    """Those of the artifacts that kept scores of labelled pairs."""
    return [i for i in artifact_ids if _context(token(), i) is not None]


@st.cache_data(show_spinner=False, max_entries=KEPT)
def _context(at: Token, artifact_id: str) -> EvaluationContext | None:
    return readers.store().judged_context(artifact_id)


@st.cache_data(show_spinner=False, max_entries=32)
def _pairs(at: Token, artifact_id: str) -> pd.DataFrame:
    return readers.store().judged(artifact_id)


def grades(artifact_id: str) -> list[int]:
    """Grades from which an item can count as relevant: those that occur, from 1 on."""
    return readings.grades(_pairs(token(), artifact_id))


def scored(artifact_id: str, least_grade: int) -> Scored:
    return _scored(token(), artifact_id, least_grade)


@st.cache_data(show_spinner="Fitting maps once ...", max_entries=64)
def _scored(at: Token, artifact_id: str, least_grade: int) -> Scored:
    return readings.scored(readers.store(), artifact_id, _pairs(at, artifact_id), least_grade)


def operating(artifact_id: str, least_grade: int) -> tuple[Operating, tuple[Operating, ...], Graded, EvaluationContext, str]:
    """ROC of all pairs and of each domain, with the pairs, their context and the score's metric."""
    return _operating(token(), artifact_id, least_grade)


@st.cache_data(show_spinner="Resampling clusters once ...", max_entries=64)
def _operating(at: Token, artifact_id: str, least_grade: int) -> tuple[Operating, tuple[Operating, ...], Graded, EvaluationContext, str]:
    return readings.operating(readers.store(), artifact_id, _pairs(at, artifact_id), least_grade)
