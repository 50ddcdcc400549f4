"""Query: one query with its reference positive and every candidate under each selected negative set and scorer."""

from __future__ import annotations

import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.figures.query import Answer, by_scorer, footer, scores
from observatory.ui import chart, passages, query_readers, query_view, readers, states, strip, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain


def draw(selection: Selection) -> None:
    sets = readers.descriptions(selection.set_ids)
    measured = [s for s in sets if not s.published]
    if not measured:
        st.title("One query and its candidates")
        strip.draw(sets)
        st.text(f"What happened in one query is not measured: {'; '.join(labels(sets).values())} state no values per query.")
        states.nothing_per_query()
        return
    view, names = query_view.current(measured), labels(measured)
    st.title(plain(f"Query {view.query_id}" if view.query_id else "No query found"))
    st.text(f"{query_view.place(view, names)}. {words.subtitle(measured)}")
    strip.draw(measured)
    query_view.controls(view, measured)
    if view.problem:
        st.warning(plain(view.problem, limit=600))
    query_view.listing(view)
    if view.query_id is None:
        st.info("Search for other words or for a part of an id; an empty search shows all queries again.")
    else:
        _query(view, measured, names)
    if len(measured) < len(sets):
        st.text(f"Published sets state no values per query: {'; '.join(labels(sets)[s.set_id] for s in sets if s.published)}.")


def _query(view: query_view.View, sets: list[Described], names: dict[str, str]) -> None:
    answers = query_readers.answers(sets, view.query_id or "")
    missing = [names[s.set_id] for s in sets if s.set_id not in {a.set.set_id for a in answers}]
    about = query_readers.query(view.by.set_id, view.query_id or "")
    passages.cards("query-passages", [
        passages.card(f"query, {about['style']}, target {about['target_item_id']}", about["query"]), *_positives(answers),
    ])
    for i, group in enumerate(by_scorer(answers)):
        mine = [a.set for a in group]
        chart.draw(
            f"scores-{i}", scores(group, names, chart.colours()), footer(group), mine,
            alt=words.alt("Scores of the reference positive and of each negative", mine),
        )
    st.subheader("Candidates of each negative set")
    st.text("In the rule's own order. Underlined words are not in the reference positive at that place.")
    passages.tables("query-candidates", answers, names)
    if missing:
        st.text(f"This query was not attempted under: {'; '.join(missing)}.")


def _positives(answers: list[Answer]) -> list[dict[str, object]]:
    """One card for each reference positive: the rule may choose another one in another run."""
    cards = []
    for key in dict.fromkeys((a.reference_id, a.reference) for a in answers):
        mine = [a for a in answers if (a.reference_id, a.reference) == key]
        found = dict.fromkeys(
            f"{a.set.model} ({a.set.metric}) {numbers.written(a.reference_score, lambda v: f'{v:.4f}')}" for a in mine
        )
        rules = " / ".join(dict.fromkeys(a.set.descriptor.reference_positive.rule for a in mine))
        cards.append(passages.card(f"reference positive p0, {key[0]}, chosen by {rules}", key[1], f"score: {'; '.join(found)}"))
    return cards


states.page(draw)
