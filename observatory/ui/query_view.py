"""Which query is open, in which order it stands, and the controls that step through it. All of it is in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.ui import picker, query_readers, url

SORTS = {"smallest": "smallest margin", "largest": "largest margin", "contrast": "largest contrast", "file": "file order"}
_DRAWER = "query of the drawer"
MOST = 50


@dataclass(frozen=True)
class View:
    """The open query and the list it stands in. ``index`` is None where the search finds nothing."""

    by: Described
    against: Described | None
    sort: str
    find: str
    ids: tuple[str, ...]
    index: int | None
    problem: str

    @property
    def query_id(self) -> str | None:
        return None if self.index is None else self.ids[self.index]


def comparable(sets: Sequence[Described], by: Described) -> list[Described]:
    """Other sets whose margins share a unit with this one's: the same scorer, corpus and queries."""
    def instrument(s: Described) -> tuple[str, str, str]:
        return s.descriptor.scorer.space_id, s.descriptor.corpus_hash, s.descriptor.query_set_id

    return [s for s in sets if s.set_id != by.set_id and instrument(s) == instrument(by)]


def current(sets: Sequence[Described]) -> View:
    """The view that the URL names, among sets that were measured; written back, so that the link reopens it.

    Its parameters are its own: Strata's column (``by``) and Compare's open comparison (``against``) outlast a visit here.
    """
    by = next((s for s in sets if s.set_id == url.first("under")), sets[0])
    others = comparable(sets, by)
    against = next((s for s in others if s.set_id == url.first("contrast")), others[0] if others else None)
    sort = picker.value("sort", _sorts(others))
    contrast = against if sort == "contrast" else None
    find = url.first("find") or ""
    ids = query_readers.order(by.set_id, sort, contrast.set_id if contrast else None, find)
    wanted = _wanted()
    index = ids.index(wanted) if wanted in ids else 0 if ids else None
    problem = ""
    if wanted is not None and wanted not in ids and ids:
        where = f"what the search '{find}' finds" if find else "the queries of this set"
        problem = f"The query '{wanted}' is not among {where}; shown is the first one instead."
    view = View(by, contrast, sort, find, ids, index, problem)
    url.put(q=view.query_id or wanted, under=by.set_id, contrast=contrast.set_id if contrast else None)
    return view


def _wanted() -> str | None:
    """The query of this page's links, or the one last opened under a figure, whichever was chosen later."""
    mine, drawer = url.first("q"), url.first("query")
    known, last = _DRAWER in st.session_state, st.session_state.get(_DRAWER)
    st.session_state[_DRAWER] = drawer
    return drawer if drawer is not None and (mine is None or (known and drawer != last)) else mine


def _sorts(others: Sequence[Described]) -> dict[str, str]:
    return {name: text for name, text in SORTS.items() if name != "contrast" or others}


def controls(view: View, sets: Sequence[Described]) -> None:
    """Search, order and steps."""
    names = labels(sets)
    others = comparable(sets, view.by)
    with st.container(horizontal=True, vertical_alignment="bottom", key="query-controls"):
        _search(view)
        picker.pick("sort", "Order", _sorts(others))
        if view.sort != "file":
            picker.pick("under", "Margins under", {s.set_id: names[s.set_id] for s in [view.by, *(s for s in sets if s != view.by)]})
        if view.sort == "contrast":
            picker.pick("contrast", "Against", {s.set_id: names[s.set_id] for s in others})
        with st.container(horizontal=True, width="content", key="query-steps"):
            _steps(view)


def _search(view: View) -> None:
    st.session_state["find"] = view.find

    def follow() -> None:
        url.changed(find=st.session_state["find"].strip() or None)

    st.text_input(
        "Search queries by text or id ( / )", key="find", on_change=follow, max_chars=url.LONGEST, placeholder="all queries", width=260
    )


def _steps(view: View) -> None:
    def go(by: int) -> None:
        url.changed(q=view.ids[(view.index or 0) + by])

    here, last = view.index, len(view.ids) - 1
    st.button("Previous", shortcut="Left", disabled=not here, on_click=go, args=(-1,), icon=":material/arrow_back:")
    st.button("Next", shortcut="Right", disabled=here is None or here >= last, on_click=go, args=(1,), icon=":material/arrow_forward:")
    with st.popover("Link", icon=":material/link:"):
        st.text("This address reopens exactly what is shown: the query, its place in the order, the search and the sets.")
        pairs = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
        st.code(f"{(st.context.url or '').split('?')[0]}?{urlencode(pairs)}", language=None, wrap_lines=True)


def place(view: View, names: dict[str, str]) -> str:
    """12 of 269 by smallest margin under bm25 [0:5]."""
    found = "" if not view.find else f" that hold '{view.find}'"
    under = "" if view.sort == "file" else f" under {names[view.by.set_id]}"
    against = f" against {names[view.against.set_id]}" if view.against is not None else ""
    if view.index is None:
        return f"No query holds '{view.find}'."
    return f"Query {numbers.count(view.index + 1)} of {numbers.count(len(view.ids))}{found}, by {SORTS[view.sort]}{under}{against}"


def listing(view: View) -> None:
    """The queries around the open one as a table; choosing a row opens it."""
    if view.index is None:
        return
    start = max(0, min(view.index - MOST // 2, len(view.ids) - MOST))
    ids = view.ids[start : start + MOST]
    rows = query_readers.listed(view.by.set_id, ids)
    key = f"listing {view.by.set_id} {view.sort} {view.find} {start}"

    def follow() -> None:
        chosen = st.session_state[key].selection.rows
        url.changed(q=ids[chosen[0]] if chosen else view.query_id)

    frame = rows.assign(
        margin=[numbers.written(m, numbers.margin) for m in rows["margin"]], style=rows["style"].fillna("not recorded"),
        place=[numbers.count(start + i + 1) for i in range(len(rows))],
    )[["place", "query", "style", "margin", "outcome", "query_id"]]
    right = ("place", "margin")
    with st.expander(f"Queries {start + 1} to {start + len(ids)} in this order", expanded=bool(view.find)):
        st.dataframe(
            frame, hide_index=True, key=key, on_select=follow, selection_mode="single-row", height=min(320, 38 + 35 * len(frame)),
            selection_default={"selection": {"rows": [view.index - start]}},
            column_config={c: st.column_config.TextColumn(alignment="right" if c in right else "left") for c in frame.columns},
        )
