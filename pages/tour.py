"""Tour: six steps for stakeholders, from one model with several verdicts to what the numbers do not establish."""

from __future__ import annotations

import streamlit as st

from observatory.ui import readers, states, strip, tour_view
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    toured = tour_view.toured(selection)
    st.title(plain(f"Tour of {selection.models[0]} on {selection.benchmark}"))
    if toured is None:
        strip.draw(readers.descriptions(selection.set_ids))
        tour_view.missing(selection)
        return
    strip.draw([*toured.measured, *toured.published])
    tour_view.draw(toured)


states.page(draw)
