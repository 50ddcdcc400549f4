"""Metrics: retrieval metrics of several runs against a baseline, each with what defines its comparison set and labels."""

from __future__ import annotations

import streamlit as st

from observatory.ui import metric_readers, metric_view, picker, states, url
from observatory.ui.text import plain


def draw() -> None:
    frame = metric_readers.runs()
    if frame.empty:
        st.title("No metrics yet")
        st.text("A run keeps nDCG, recall and the like, query by query, when metrics are named; margins need none. This one measures two:")
        st.code(metric_view.COMMAND, language="bash", wrap_lines=True)
        states.refused()
        return
    title, names = st.container(), metric_readers.names(frame)
    benchmark, chosen, baseline = metric_view.choose(frame, names)
    cells = metric_readers.table(chosen, baseline)
    found = {i: metric_readers.evaluation(i) for i in chosen}
    measures = list(dict.fromkeys(name for e in found.values() for name in e.metrics))
    with title:
        st.title(plain(f"Retrieval metrics on {benchmark}"))
        scored = " / ".join(dict.fromkeys(f"{e.accounting.n_scored:,}" for e in found.values()))
        st.text(f"{scored} queries with a relevant judgment, full rankings of the whole corpus, deltas against {names[baseline]}")
    measure = picker.pick("metric", "Metric", {m: m for m in measures}) if len(measures) > 3 else url.choice("metric", "Metric", measures)
    metric_view.figure(cells, names, baseline, found, measure)
    metric_view.drawer(names, chosen, measure, found)
    metric_view.details(cells, names, found, measure)


states.standing(draw)
