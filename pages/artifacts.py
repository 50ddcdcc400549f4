"""Artifacts: what is loaded and from where, its record and its lock, what was refused and why, and how to bring in more."""

from __future__ import annotations

import streamlit as st

from observatory.figures.numbers import count
from observatory.ui import (
    artifact_card,
    artifact_readers,
    completion_form,
    import_box,
    quarantine_box,
    readers,
    states,
    url,
)
from observatory.ui.artifact_readers import Loaded
from observatory.ui.text import plain


def draw() -> None:
    entries, refused = artifact_readers.loaded(), len(readers.quarantine())
    st.title("Artifacts")
    measured = sum(not e.published for e in entries)
    st.text(f"{count(measured)} measured, {count(len(entries) - measured)} published, {count(refused)} refused")
    import_box.message()
    completion_form.broken()
    part = url.choice("part", "Show", ["Loaded", "Refused", "Import"])
    if part == "Refused":
        quarantine_box.draw()
    elif part == "Import":
        import_box.draw()
    else:
        _loaded(entries, refused)


def _loaded(entries: list[Loaded], refused: int) -> None:
    if not entries:
        st.subheader("Nothing is loaded yet")
        st.text(
            "An artifact is a folder with numbers and the record of what they were measured against. Choose Import to bring one in, "
            "or measure a model:"
        )
        st.code(states.RUN, language="bash", wrap_lines=True)
        if refused:
            quarantine_box.draw()
        return
    wanted = url.first("artifact")
    opened = next((e for e in entries if e.id == wanted), entries[0])
    if wanted is not None and wanted != opened.id:
        st.warning(plain(f"This link asks for the artifact '{wanted}', which is not loaded; shown is the first one. See Refused and Import."))
    artifact_card.table(entries, opened)
    artifact_card.draw(opened)


states.standing(draw)
