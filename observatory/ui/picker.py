"""Select boxes whose value lives in the URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from observatory.ui import url


def value(name: str, options: Mapping[str, str]) -> str:
    """The chosen option of a parameter; the first where the URL names none or an unknown one."""
    wanted = url.first(name)
    return wanted if wanted is not None and wanted in options else next(iter(options))


def pick(name: str, label: str, options: Mapping[str, str], cleared: tuple[str, ...] = (), then: Callable[[str], None] | None = None) -> str:
    """Choose one of ``options`` (value -> how it is written). A change removes the ``cleared`` parameters from the URL."""
    key = f"pick {name}"
    st.session_state[key] = value(name, options)

    def follow() -> None:
        url.changed(**{**dict.fromkeys(cleared), name: st.session_state[key]})
        if then is not None:
            then(st.session_state[key])

    return str(st.selectbox(label, list(options), key=key, format_func=lambda v: options.get(v, v), on_change=follow))
