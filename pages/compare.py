"""Compare: two to six described margin sets against a baseline, on the same queries; controlled or confounded, and by what."""

from __future__ import annotations

import streamlit as st

from observatory.figures.described import Described, labels
from observatory.paired import Paired
from observatory.ui import (
    chosen,
    compare_readers,
    compare_view,
    pairs,
    readers,
    states,
    strip,
    tables,
    url,
    words,
)
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    picked = chosen.current(selection)
    sets = readers.descriptions(picked.set_ids)
    names = labels(sets)
    st.title(plain(f"Compared with {names[picked.baseline]}"))
    st.text(words.subtitle(sets))
    strip.draw(sets)
    chosen.problems(picked.problems)
    if picked.against is None:
        _one(picked, sets)
        return
    found = [compare_readers.compared(picked.baseline, other) for other in picked.others]
    compare_view.verdicts(found, names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen.pick_sets(picked)
        compare_view.instruments(found, sets)
        chosen.pick_pair(picked)
    _pair(next(c for c in found if c.other == picked.against), found, sets, names)
    url.tabs(
        "side",
        {
            "Wins and losses": lambda: compare_view.outcomes(found, sets), "Mean margins": lambda: compare_view.means(sets),
            "Three kinds of hardness": lambda: compare_view.hardness(sets),
        },
    )


def _pair(p: Paired, found: list[Paired], sets: list[Described], names: dict[str, str]) -> None:
    """The open comparison in figures, all of them in the table, and the queries behind."""
    by_id = {s.set_id: s for s in sets}
    pair, two = (by_id[p.baseline], by_id[p.other]), (names[p.baseline], names[p.other])
    compare_view.figures(p, sets, pair, two)
    pairs.draw(pair, two, p.same_unit, here=True)
    compare_view.table(found, sets)
    pairs.draw(pair, two, p.same_unit, here=False)
    states.not_per_query([names[s.set_id] for s in sets if s.published])


def _one(picked: chosen.Chosen, sets: list[Described]) -> None:
    """One set is no comparison: what it measured, and how to get a second one."""
    st.info("A comparison needs two sets. Choose a second one here; it may be another rule, another model or another run.")
    chosen.pick_sets(picked)
    rates = {s.set_id: readers.outcome_rates(s.set_id) for s in sets}
    tables.show(tables.overview(sets, rates), pinned="negative set")
    if len(picked.offered) < 2:
        st.text("This benchmark holds no other set yet. A run under more rules measures them:")
        st.code(states.RUN, language="bash", wrap_lines=True)


states.page(draw)
