"""Published: tables of figures from documents, as they are stated, each with what defines its comparison."""

from __future__ import annotations

import streamlit as st

from observatory.figures.numbers import count
from observatory.published_tables import PublishedTable
from observatory.ui import artifact_readers, picker, published_view, states, url
from observatory.ui.artifact_readers import Loaded
from observatory.ui.text import plain


def draw() -> None:
    entries = {e.id: e for e in artifact_readers.loaded() if e.published}
    if not entries:
        st.title("No published figures")
        st.text(
            "Published figures are tables from a document, with their source and with what it does not say. They are written as YAML "
            "and turned into an artifact, which the store then shows here:"
        )
        st.code(".venv/bin/python -m observatory.published SOURCE.yaml data/store", language="bash", wrap_lines=True)
        return
    title = st.container()
    with st.container(horizontal=True):
        entry = entries[picker.pick("document", "Document", {i: e.title for i, e in entries.items()}, cleared=("table",))]
        found = {t.id: t for t in artifact_readers.read(entry.id).published}
        table = found[picker.pick("table", f"Table ({count(len(found))})", {i: t.title for i, t in found.items()})] if found else None
    with title:
        st.title(plain(published_view.in_words(table.title if table else entry.title)))
        st.text(f"Published figures, not measured here. {entry.source.removeprefix('published: ')}{f': {table.where}' if table else ''}")
    if table is not None:
        _table(table)
    if entry.rules:
        _margins(entry)


def _table(table: PublishedTable) -> None:
    published_view.show(table)
    if table.note:
        st.text(f"Note: {published_view.in_words(table.note)}")
    said, left_out = st.columns(2, gap="large")
    with said:
        st.subheader("Compared against what")
        st.text("\n".join(f"{word}: {value}" for word, value in published_view.context(table.context).items()))
    with left_out:
        st.subheader("What the source does not say")
        st.text("\n".join(f"• {published_view.in_words(o)}" for o in table.omissions) or "Nothing is listed as left out.")


def _margins(entry: Loaded) -> None:
    """Margin tables have a screen of their own, beside fresh measurements."""
    st.text(
        f"{plain(entry.title)} also states margins under {count(len(entry.rules))} negative sets, each with a descriptor. Overview shows "
        "them, hollow and labelled published, beside fresh measurements of the same rules."
    )

    def choose() -> None:
        url.changed(run=None, set=None, benchmark=entry.benchmark, model=entry.model.split(", "))

    if st.button("Open in Overview", icon=":material/scatter_plot:", on_click=choose):
        st.switch_page("pages/overview.py")


states.standing(draw)
