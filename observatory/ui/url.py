"""State of the screens in the URL: every selection is a query parameter, and every link restores all of them.

The state is a mapping of parameter names to values, held in the session and written to the URL. A link that somebody
opens (or the browser's back button) replaces the state; a page switch, which clears the URL, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

State = dict[str, list[str]]
_STATE, _WRITTEN, _TOUCHED = "url state", "url written", "url touched"
MOST, LONGEST = 64, 300  # values of one parameter and characters of one value that are read from a link


def begin() -> bool:
    """Take over a new link; whether there was one. To be called before anything is read, any number of times a run."""
    params = {name: st.query_params.get_all(name) for name in st.query_params}
    touched = st.session_state.pop(_TOUCHED, False)
    first = _STATE not in st.session_state
    opened = bool(params) and params != st.session_state.get(_WRITTEN)
    if first or (opened and not touched):
        st.session_state[_STATE] = {name: [v[:LONGEST] for v in values[:MOST]] for name, values in params.items()}
        st.session_state[_WRITTEN] = params
    return first or (opened and not touched)


def get(name: str) -> list[str]:
    return list(st.session_state.get(_STATE, {}).get(name, []))


def first(name: str) -> str | None:
    """The only value of a parameter, or None."""
    values = get(name)
    return values[0] if values else None


def put(**values: Sequence[str] | str | None) -> None:
    """Set parameters (None removes one) and write the URL."""
    state: State = st.session_state.setdefault(_STATE, {})
    for name, value in values.items():
        listed = [value] if isinstance(value, str) else list(value or [])
        if listed:
            state[name] = listed
        else:
            state.pop(name, None)
    write()


def changed(**values: Sequence[str] | str | None) -> None:
    """As :func:`put`, from a widget's callback: a click that overtakes the browser's URL must win over the old URL."""
    st.session_state[_TOUCHED] = True
    put(**values)


def write() -> None:
    """Write the state to the URL where they differ (a page switch clears the URL)."""
    state: State = st.session_state.get(_STATE, {})
    current = {name: st.query_params.get_all(name) for name in st.query_params}
    if current != state:
        st.query_params.from_dict(state)
    st.session_state[_WRITTEN] = {name: list(values) for name, values in state.items()}


def choice(name: str, label: str, options: Sequence[str], at: str = "") -> str:
    """A segmented control whose value lives in the URL; the first option is the default, also for an unknown value.

    ``at`` tells apart several controls of one parameter on a page.
    """
    key, fallback, wanted = f"choice {name} {at}", options[0], first(name)
    st.session_state[key] = wanted if wanted in options else fallback

    def follow() -> None:
        value = st.session_state[key]
        changed(**{name: None if value == fallback else value})

    chosen = st.segmented_control(label, list(options), key=key, on_change=follow, required=True)
    return chosen or fallback


def tabs(name: str, contents: Mapping[str, Callable[[], None]]) -> None:
    """Tabs whose choice lives in the URL. Only the open one is filled: the others would cost first paint."""
    labels, key, wanted = list(contents), f"tabs {name}", first(name)

    def follow() -> None:
        value = st.session_state[key]
        changed(**{name: None if value == labels[0] else value})

    opened = st.tabs(labels, key=key, default=wanted if wanted in labels else labels[0], on_change=follow)
    for tab, draw in zip(opened, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()
