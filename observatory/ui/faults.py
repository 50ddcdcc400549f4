"""Why something was refused: a row for each field, with what is wrong there and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from observatory.errors import DescriptorRefused, ObservatoryError, TamperedError

MEANINGS = {2: "cannot be read", 3: "files changed after they were locked", 4: "description incomplete, or in disagreement with its numbers"}
_OF_SET = re.compile(r"margin_sets\.(?P<set>.+?)\.descriptor\.(?P<field>[^:]+): (?P<fault>.*)", re.S)
_OF_FIELD = re.compile(r"(?P<field>[\w.\[\]-]+): (?P<fault>.*)", re.S)
_MENDS = (
    ("required", "write the value that the run recorded; where nobody knows it, measure again"),
    ("extra", "remove the field"),
    ("not_recorded may stand", "write the value that the run recorded; only published figures may leave one out"),
    ("not_measured may stand", "write the value that the run recorded"),
    ("does not match lock.json", "restore this file from where it came, or measure again"),
    ("the rows give", "restore artifact.json, or measure again: the number must come from its rows"),
    ("disagrees with the descriptor inside", "restore artifact.json: the tables carry the record they were written with"),
)


def mend(fault: str) -> str:
    """What to do about one fault."""
    return next((text for mark, text in _MENDS if mark in fault.lower() or mark in fault), "correct it from the run's record, or measure again")


def table(reasons: Sequence[str]) -> pd.DataFrame:
    """Negative set, field, fault and mend of each reason."""
    rows = []
    for reason in reasons:
        found = _OF_SET.fullmatch(reason) or _OF_FIELD.fullmatch(reason)
        parts = found.groupdict() if found else {"field": "the folder", "fault": reason}
        rows.append(
            {"negative set": parts.get("set") or "all", "field": parts["field"], "fault": parts["fault"], "how to mend": mend(parts["fault"])}
        )
    return pd.DataFrame(rows, columns=["negative set", "field", "fault", "how to mend"])


def show(reasons: Sequence[str], key: str) -> None:
    """Every fault as a table, each cell whole."""
    frame = table(reasons)
    widths = {c: min(520, 24 + 8 * max(len(c), *(len(v) for v in frame[c]))) for c in frame.columns}
    st.dataframe(
        frame, hide_index=True, key=key, height=min(420, 38 + 35 * len(frame)),
        column_config={c: st.column_config.TextColumn(width=widths[c], pinned=c == "field") for c in frame.columns},
    )


def reasons_of(error: ObservatoryError) -> list[str]:
    """The single faults of an error, where it lists them."""
    if isinstance(error, DescriptorRefused):
        return list(error.faults)
    return [f"{name}: does not match lock.json" for name in error.files] if isinstance(error, TamperedError) else [str(error)]
