"""The Report screen: what a report of the selection would hold, and the files, made when somebody asks for them."""

from __future__ import annotations

import shlex
from functools import partial

import pandas as pd
import streamlit as st

from observatory import paths
from observatory.figures.described import Described, labels
from observatory.figures.numbers import count, margin, written
from observatory.report import build, formats
from observatory.report.selection import Selected, select
from observatory.ui import chosen, readers, tables, words
from observatory.ui.selection import Selection
from observatory.ui.text import plain

KINDS = {".html": ("HTML, one file", "text/html"), ".md": ("Markdown tables", "text/markdown"), ".tex": ("LaTeX tables", "application/x-tex")}
TITLE_LENGTH = 200
_MADE, _WANTED = "made report", "wanted report"


def draw(selection: Selection) -> None:
    """Preview and button; the button makes all three formats from one content."""
    baseline = chosen.current(selection).baseline
    baseline = baseline if baseline in selection.set_ids else selection.set_ids[0]
    picked = select(readers.store(), selection.set_ids, baseline, paths.store_root())
    outline = build.outline(picked)
    st.text(
        f"One HTML file that opens without a network, from a mail attachment too, with {words.small(sum(not why for _, why in outline))} sections, every figure "
        "interactive and every descriptor inside; and the same tables for a paper. Everything is about the sets selected in the sidebar."
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        title = st.text_input("Title", max_chars=TITLE_LENGTH, key="report title", placeholder=build.default_title(picked))
        _make(picked, title)
    with right:
        _command(picked, baseline, title)
    _preview(picked, outline)


def _make(picked: Selected, title: str) -> None:
    """Two steps: make, then download. What was made is kept until the selection or the title changes."""
    key = (readers.token(), tuple(s.set_id for s in picked.sets), picked.baseline, title)

    def wanted() -> None:
        st.session_state[_WANTED] = key

    st.button("Make the report", icon=":material/description:", type="primary", on_click=wanted)
    place = st.container()
    if st.session_state.pop(_WANTED, None) == key:
        with place:
            st.session_state[_MADE] = (key, _files(picked, title))
    kept, files = st.session_state.get(_MADE, (None, {}))
    if kept != key:
        st.text("It takes a few seconds: comparisons and calibrations are computed from the rows.")
        return
    with st.container(horizontal=True):
        for suffix, content in files.items():
            name, mime = KINDS[suffix]
            st.download_button(
                f"{name} ({_size(len(content))})", partial(bytes, content), f"observatory-report{suffix}", mime, key=f"report {suffix}",
                on_click="ignore", icon=":material/download:",
            )


def _files(picked: Selected, title: str) -> dict[str, bytes]:
    """All formats from one content, with a bar while it is made."""
    bar = st.progress(0.0)

    def progress(stage: str, done: int, total: int) -> None:
        bar.progress(done / total, text=plain(stage))

    made = build.build(picked, title, progress)
    files = {suffix: formats.render(made, suffix) for suffix in formats.FORMATS}
    bar.empty()
    return files


def _size(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n >= 1e5 else f"{max(1, n // 1000)} kB"


def _command(picked: Selected, baseline: str, title: str) -> None:
    """The same report from the command line."""
    named = [f"--title {shlex.quote(title)}"] if title.strip() else []
    parts = ["observatory report", *(shlex.quote(s.set_id) for s in picked.sets), f"--baseline {shlex.quote(baseline)}", *named, "--out report.html"]
    with st.popover("The same from the command line", icon=":material/terminal:"):
        st.code(" ".join(parts), language="bash", wrap_lines=True)


def _preview(picked: Selected, outline: list[tuple[str, str]]) -> None:
    st.subheader("What will be in it")
    left, right = st.columns([3, 4], gap="large")
    with left:
        st.text("\n".join(f"{'–' if why else '✓'}  {title}{f' (left out: {why})' if why else ''}" for title, why in outline))
    with right:
        names = labels(picked.sets)
        tables.show(pd.DataFrame([_row(s, names[s.set_id], picked) for s in picked.sets]), pinned="negative set", key="report sets")


def _row(s: Described, name: str, picked: Selected) -> dict[str, str]:
    stated = len(picked.asserted.get(s.set_id, {}))
    return {
        "negative set": name + (" (baseline)" if s.set_id == picked.baseline else ""),
        "mean margin": written(s.descriptor.outcomes.mean_margin, margin), "median": written(s.descriptor.outcomes.median_margin, margin),
        "scored": count(s.descriptor.accounting.n_scored),
        "state": s.state + (f", asserted by hand: {count(stated)}" if stated else ""),
    }
