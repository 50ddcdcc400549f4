"""The full card: one set's descriptor as readable fields and as YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory import reading
from observatory.descriptor import NOT_RECORDED, to_yaml, walk
from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.ui import readers
from observatory.ui.text import plain

_OPEN = "card open"


def open_by(name: str) -> None:
    """A chip asks for the card. It stays until somebody closes it: a page may run again on its own meanwhile."""
    st.session_state[_OPEN] = (_page(), name)


def opened_by(name: str) -> bool:
    """Whether the chip of that name has the card open on this page."""
    return st.session_state.get(_OPEN) == (_page(), name)


def _page() -> str:
    return (st.context.url or "").partition("?")[0]


@st.dialog("Negative-set descriptor", width="large", on_dismiss=lambda: st.session_state.pop(_OPEN, None))
def show(sets: Sequence[Described], first: Described) -> None:
    """Choose one of the shown sets, at first ``first``, and read its descriptor."""
    names = labels(sets)
    by_id = {s.set_id: s for s in sets}
    chosen = by_id[st.selectbox("Negative set", list(by_id), list(by_id).index(first.set_id), format_func=lambda i: names[i])]
    st.text(f"{chosen.artifact_id}, {chosen.source}, {chosen.state}")
    if (read := reading.of(readers.run_record(chosen.artifact_id))) is not None:
        st.text(read)
    if chosen.missing:
        st.error(plain(f"Not recorded by the source: {', '.join(chosen.missing)}", limit=4000))
    if chosen.asserted:
        st.text(f"Asserted by hand: {numbers.count(chosen.asserted)} of them. Artifacts shows what, by whom and when; no number here uses it.")
    readable, as_yaml = st.tabs(["Card", "YAML"])
    with readable:
        st.dataframe(
            fields(chosen.descriptor.model_dump()), hide_index=True, height=480,
            column_config={"part": st.column_config.TextColumn(pinned=True), "value": st.column_config.TextColumn(width="large")},
        )
    as_yaml.code(to_yaml(chosen.descriptor), language="yaml", height=480, wrap_lines=True)


def fields(descriptor: Mapping[str, Any]) -> pd.DataFrame:
    """Part, field and value of every leaf; missing values in words."""
    rows = []
    for path, value in walk(descriptor):
        part, _, field = path.partition(".")
        rows.append({"part": part, "field": field or part, "value": _words(value)})
    return pd.DataFrame(rows, columns=["part", "field", "value"])


def _words(value: Any) -> str:
    if value == "":
        return "none"
    if value == NOT_RECORDED or isinstance(value, str):
        return numbers.written(value, str)
    return "yes" if value is True else "no" if value is False else str(value) if value != {} else "none"
