"""Quarantine: folders that were not let in, with their exit code, every faulty field, and how to mend each."""

from __future__ import annotations

import shlex

import streamlit as st

from observatory.figures.numbers import count
from observatory.ui import faults, readers
from observatory.ui.text import plain


def draw() -> None:
    frame = readers.quarantine()
    if frame.empty:
        st.text("Nothing was refused.")
        st.text(
            "A folder lands here when a descriptor field is missing, a number disagrees with its rows, or a file with its lock. "
            "Its reasons are then listed and none of its numbers is shown anywhere."
        )
        return
    st.subheader(f"Refused artifacts ({count(len(frame))})")
    st.text("Their numbers are shown nowhere: a margin without a complete descriptor that agrees with it is an orphan.")
    for i, row in enumerate(frame.to_dict("records")):
        with st.container(border=True, key=f"refused-{i}"):
            _one(row["path"], row["artifact_id"], int(row["exit_code"]), list(row["reasons"]), i)


def _one(path: str, name: str, code: int, reasons: list[str], i: int) -> None:
    st.markdown(f"**{plain(name)}**")
    st.text(f"Exit code {code}: {faults.MEANINGS.get(code, 'refused')}. {count(len(reasons))} fault{'' if len(reasons) == 1 else 's'}.")
    faults.show(reasons, f"faults {i}")
    with st.expander("Look again after mending"):
        st.text("The store looks again as soon as a file of the folder changes; reload this page. Or on the command line:")
        st.code(f".venv/bin/observatory ingest {shlex.quote(path)}", language="bash", wrap_lines=True)
        st.text("What a measurement leaves out cannot be typed in here: only published figures can be completed by hand.")
