"""Number boxes whose value lives in the URL."""

from __future__ import annotations

import math

import streamlit as st

from observatory.ui import url


def whole(name: str, label: str, default: int, low: int, high: int) -> int:
    """A whole number; the default where the URL holds none, or one that is no number or out of range."""
    return int(_ask(name, label, default, low, high, max(1, default // 10), "%d"))


def real(name: str, label: str, default: float, low: float, high: float, form: str) -> float:
    """A number written as ``form`` says, as :func:`whole`."""
    return float(_ask(name, label, default, low, high, default / 10, form))


def signed(name: str, label: str, step: float, most: float) -> float:
    """A number between -``most`` and ``most``, 0 where the URL holds none."""
    return float(_ask(name, label, 0.0, -most, most, step, "%.6g"))


def _ask(name: str, label: str, default: float, low: float, high: float, step: float, form: str) -> float:
    key = f"number {name}"
    st.session_state[key] = read(name, default, low, high)

    def follow() -> None:
        value = st.session_state[key]
        changed = value is not None and value != default
        url.changed(**{name: repr(value) if changed else None})

    found = st.number_input(label, min_value=low, max_value=high, step=step, format=form, key=key, on_change=follow)
    return default if found is None else found


def read(name: str, default: float, low: float, high: float) -> float:
    """The number that the URL holds, without a box; the default as :func:`whole`."""
    text = url.first(name)
    try:
        value = type(default)(text) if text is not None else default
    except ValueError:
        return default
    return value if math.isfinite(value) and low <= value <= high else default
