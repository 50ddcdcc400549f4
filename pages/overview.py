"""Overview: one model under several negative sets; fresh measurements beside published figures."""

from __future__ import annotations

import streamlit as st

from observatory.figures import footer
from observatory.figures.described import Described
from observatory.figures.overview import mean_margins
from observatory.figures.pairwise import pairwise_means
from observatory.ui import chart, drawer, metric_view, readers, states, strip, style, tables, url, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    model = url.choice("focus", "Model", selection.models) if len(selection.models) > 1 else selection.models[0]
    sets = [s for s in readers.descriptions(selection.set_ids) if s.model == model]
    st.title(plain(f"Mean margins of {model}"))
    st.text(words.subtitle(sets))
    chips = st.container()  # above the figure, and filled after it
    for metric in dict.fromkeys(s.metric for s in sets):
        mine = [s for s in sets if s.metric == metric]
        chart.draw(
            f"means-{words.slug(metric)}", mean_margins(mine, chart.colours()), footer.of_means(mine), mine,
            alt=words.alt("Mean margin with interval", mine), on_click=drawer.opened,
        )
    with chips:
        strip.draw(sets)
    if style.figure_first():
        return
    drawer.draw(sets, "Queries behind a mark", here=True)
    rates = {s.set_id: readers.outcome_rates(s.set_id) for s in sets}
    tables.show(tables.overview(sets, rates), pinned="negative set")
    _second_questions(sets)
    drawer.draw(sets, "Queries behind a mark", here=False)


def _second_questions(sets: list[Described]) -> None:
    url.tabs(
        "more",
        {
            "Published beside fresh": lambda: _beside(sets), "One random draw": lambda: _random(sets),
            "Pairwise means by relation": lambda: _pairwise(sets),
            "Retrieval metrics": lambda: metric_view.beside([s.artifact_id for s in sets]),
            "Accounting": lambda: tables.show(tables.accounting(sets), pinned="negative set"),
        },
    )


def _beside(sets: list[Described]) -> None:
    if any(s.published for s in sets):
        tables.show(tables.beside(sets), pinned="negative set")
    else:
        st.text("No published figures are selected for this model. Choose a published run in the sidebar, where there is one.")


def _random(sets: list[Described]) -> None:
    if any(s.method == "random" for s in sets):
        st.text("One draw is luck: the exact expectation is over every draw that could have been made.")
        tables.show(tables.expectation(sets), pinned="negative set")
    else:
        st.text("No random set is selected.")


def _pairwise(sets: list[Described]) -> None:
    """Another aggregation than the hardest margin, so a figure of its own with another colour and axis."""
    owners = [s for s in sets if readers.strata(s.set_id)]
    if not owners:
        st.text("None of the selected sets lists its negatives by relation; structured_perturbation does.")
        return
    st.text("Each designated negative is one row here; the figure above takes only the hardest negative of each query.")
    for metric in dict.fromkeys(s.metric for s in owners):
        mine = [s for s in owners if s.metric == metric]
        strata = [stratum for s in mine for stratum in readers.strata(s.set_id)]
        chart.draw(
            f"pairwise-{words.slug(metric)}", pairwise_means(strata, mine, chart.colours()), footer.of_pairwise(strata), mine,
            alt=words.alt("Pairwise mean margin by relation", mine), export=False,
        )


states.page(draw)
