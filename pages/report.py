"""Report: the selection as one self-contained file for stakeholders, or as tables for a paper."""

from __future__ import annotations

import streamlit as st

from observatory.ui import readers, report_view, states, strip, words
from observatory.ui.selection import Selection


def draw(selection: Selection) -> None:
    sets = readers.descriptions(selection.set_ids)
    st.title("Report")
    st.text(words.subtitle(sets))
    strip.draw(sets)
    report_view.draw(selection)


states.page(draw)
