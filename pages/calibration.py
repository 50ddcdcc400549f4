"""Calibration: how many queries a margin needs, and what a score is worth as a probability and as a threshold."""

from __future__ import annotations

import streamlit as st

from observatory.ui import calibration_scores_view, calibration_size_view, chosen, readers, states, strip, url, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    sets = readers.descriptions(selection.set_ids)
    st.title(plain(f"Calibration of {', '.join(selection.models)}"))
    st.text(words.subtitle(sets))
    strip.draw(sets)
    url.tabs(
        "part",
        {
            "Benchmark size": lambda: calibration_size_view.draw(sets, chosen.current(selection).baseline),
            "Scores": lambda: calibration_scores_view.scores(sets),
            "ROC and drift": lambda: calibration_scores_view.operating(sets),
        },
    )


states.page(draw)
