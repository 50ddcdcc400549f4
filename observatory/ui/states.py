"""What a screen says when it has nothing to show or something went wrong. No traceback ever reaches a reader."""

from __future__ import annotations

import logging
from collections.abc import Callable

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from observatory.errors import DescriptorRefused, ObservatoryError
from observatory.figures.numbers import count
from observatory.ui import metric_readers, readers, sidebar, style, url
from observatory.ui.selection import Selection
from observatory.ui.text import plain

RUN = (
    ".venv/bin/observatory run --benchmark data/benchmarks/fieldnotes --scorer all-MiniLM-L6-v2 "
    "--rules random,in_model[2:7],structured_perturbation,bm25"
)
log = logging.getLogger("observatory.ui")


def page(draw: Callable[[Selection], None]) -> None:
    """Run one page: its selection, or what to do where there is none; one guard around everything."""
    _in_the_frame()
    style.apply()
    guarded(lambda: _page(draw))


def standing(draw: Callable[[], None]) -> None:
    """Run a page that needs no selected margin set, also where the store holds none."""
    _in_the_frame()
    style.apply()

    def drawn() -> None:
        sidebar.current()  # takes over the link, and opens the store
        draw()
        url.write()

    guarded(drawn)


def _in_the_frame() -> None:
    """Start again inside app.py where Streamlit runs a page without it.

    It does so for the very first visitor of a server who opens a deep link: until ``st.navigation`` has run once, it takes
    the folder ``pages/`` for the older kind of app.
    """
    if getattr(PagesManager, "uses_pages_directory", False):
        PagesManager.uses_pages_directory = False
        st.rerun()


def _page(draw: Callable[[Selection], None]) -> None:
    selection = sidebar.current()
    if selection is None:
        empty()
        return
    for problem in sidebar.link_problems():
        st.warning(plain(f"{problem}; shown instead is what the sidebar says. `observatory show` lists what there is."))
    draw(selection)


def frame() -> None:
    """Draw the sidebar. Where that fails, the page fails for the same reason and says so, once."""
    try:
        sidebar.draw()
    except Exception:
        log.debug("the sidebar could not be drawn", exc_info=True)


def guarded(draw: Callable[[], None]) -> None:
    """Run ``draw``; an error becomes one sentence, its details fold out, and the log has the rest."""
    try:
        draw()
    except ObservatoryError as error:
        _error(str(error), error.faults if isinstance(error, DescriptorRefused) else ())
    except Exception as error:
        log.exception("a screen could not be drawn")
        _error(
            "This screen could not be drawn; reload it, and if it stays, choose other sets in the sidebar.",
            (f"{type(error).__name__}: {error}",),
        )


def _error(sentence: str, details: tuple[str, ...]) -> None:
    st.error(plain(sentence))
    if details:
        with st.expander("Details"):
            st.code("\n".join(details), language=None, wrap_lines=True)


def empty() -> None:
    """No margin set at all: how to get one, and what was refused."""
    with_metrics = len(metric_readers.runs())
    st.title("No margins yet" if with_metrics else "No measurement yet")
    st.text(
        "A measurement is an artifact: margins together with the record of what they were measured against. "
        + (f"This store holds retrieval metrics of {count(with_metrics)} run{'' if with_metrics == 1 else 's'}, on the page Metrics, and no margins."
           if with_metrics else "This store holds none.")
    )
    st.subheader("Measure a model on a benchmark")
    st.code(RUN, language="bash", wrap_lines=True)
    st.text("Name your own benchmark folder and model in their places. This page follows the store: reload it after the run.")
    st.subheader("Or look at the demonstration")
    st.code("make demo", language="bash")
    refused()


def refused() -> None:
    """Artifacts that were not let in, with every reason and none of their numbers."""
    frame = readers.quarantine()
    if frame.empty:
        return
    st.subheader(f"Refused artifacts ({count(len(frame))})")
    st.text("Their numbers are not shown: a margin without a complete descriptor that agrees with it is an orphan.")
    for row in frame.to_dict("records"):
        with st.expander(plain(f"{row['artifact_id']}: {count(len(row['reasons']))} reasons")):
            st.code("\n".join(row["reasons"]), language=None, wrap_lines=True)


def not_per_query(names: list[str]) -> None:
    """Sets that were published as a table: their distribution is unknown, and is said to be."""
    if names:
        st.text(f"Not measured per query, so there is no distribution to draw: {'; '.join(names)}.")


def nothing_per_query() -> None:
    """Only published tables are selected: what would give a distribution."""
    st.info("Margins are drawn from per-query values, and the selected sets have none. A fresh run measures them:")
    st.code(RUN, language="bash", wrap_lines=True)
