"""Margins: how far the reference positive was from its hardest negative, query by query, and the queries behind each bar."""

from __future__ import annotations

import streamlit as st

from observatory.figures.described import labels
from observatory.ui import drawer, margins_view, readers, states, strip, style, url, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    sets = readers.descriptions(selection.set_ids)
    drawn = [s for s in sets if readers.outcome_rates(s.set_id)]
    names = labels(sets)
    st.title(plain(f"Margins of {', '.join(selection.models)}"))
    st.text(words.subtitle(sets))
    chips = st.container()  # above the figure, and filled after it
    if drawn:
        margins_view.figures(drawn)
    else:
        states.nothing_per_query()
    with chips:
        strip.draw(sets)
    if drawn and style.figure_first():
        return
    drawer.draw(sets, "Queries behind a bar", here=True)
    states.not_per_query([names[s.set_id] for s in sets if s not in drawn])
    url.tabs("more", {"Tail counts": lambda: margins_view.tails(sets), "Quantiles": lambda: margins_view.quantiles(sets)})
    drawer.draw(sets, "Queries behind a bar", here=False)


states.page(draw)
