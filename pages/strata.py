"""Strata: where margins are small, by relation, source text, domain, style or any column; and what a second set changes there."""

from __future__ import annotations

import streamlit as st

from observatory.ui import chosen, readers, states, strata_view, strip, url, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain

EACH, TWO = "each set", "two sets, paired"


def draw(selection: Selection) -> None:
    picked = chosen.current(selection)
    sets = readers.descriptions(picked.set_ids)
    title, subtitle, chips = st.empty(), st.empty(), st.container()
    chosen.problems(picked.problems)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen.pick_sets(picked)
        view = url.choice("strata", "Show", [EACH, TWO])
        if view == TWO and picked.against is not None:
            sets = readers.descriptions((picked.baseline, picked.against))
        by = strata_view.column([s.set_id for s in sets], view == TWO)
    if view == TWO and picked.against is not None:
        chosen.pick_pair(picked)
    title.title(plain(f"Margins by {by}" if by else "Margins by stratum"))
    subtitle.text(words.subtitle(sets))
    with chips:
        strip.draw(sets)
    if view == TWO:
        _two(picked, by)
    elif by is None:
        states.nothing_per_query()
    else:
        strata_view.singles(sets, by)


def _two(picked: chosen.Chosen, by: str | None) -> None:
    pair = strata_view.pair_of(picked)
    if picked.against is None:
        st.info("A paired view needs two sets. Choose a second one above; it may be another rule, another model or another run.")
    elif pair is None:
        st.info("Not measured per query on both sides, so nothing is paired. Choose two fresh sets above; published tables give means only.")
    elif by is None:
        st.info("These two sets have no column in common that queries could be grouped by.")
    else:
        strata_view.two(*readers.descriptions(pair), by)


states.page(draw)
