"""Numbers as they are written on screens and in figures. What is missing is written in words, never blank, 0 or nan."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from observatory.descriptor import SENTINELS, MeanInterval

THIN = "\u202f"  # narrow no-break space
NOT_MEASURED_HERE = "not measured"
T = TypeVar("T")


def margin(value: float) -> str:
    """A margin with its sign and four decimals; an exact tie has no sign."""
    return "0.0000" if value == 0 else f"{value:+.4f}"


def rate(value: float) -> str:
    """A share as a percentage with one decimal, which never rounds up to all or down to none."""
    text = f"{100 * value:.1f}%"
    if text == "100.0%" and value < 1:
        return ">99.9%"
    return "<0.1%" if text == "0.0%" and value > 0 else text


def count(value: int) -> str:
    """A whole number with thin separators."""
    return f"{int(value):,}".replace(",", THIN)


def quotient(value: float) -> str:
    return f"{value:.2f}"


def interval(low: float, high: float) -> str:
    return f"[{margin(low)}, {margin(high)}]"


def rate_interval(low: float, high: float) -> str:
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def written(value: T | str | None, as_text: Callable[[T], str]) -> str:
    """``value`` through ``as_text``, or the words for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOT_MEASURED_HERE
    if isinstance(value, str):
        return value.replace("_", " ") if value in SENTINELS else value
    return as_text(value)


def mean_interval(ci: MeanInterval | str) -> str:
    """The interval of a mean in brackets, or why there is none."""
    if isinstance(ci, str):
        return ci.replace("_", " ")
    if isinstance(ci.low, str) or isinstance(ci.high, str):
        return ci.note or "no interval"
    return interval(ci.low, ci.high)


def plain_interval(ci: MeanInterval | str) -> str:
    """As :func:`mean_interval`, for numbers that are no margins: four decimals and no sign."""
    if isinstance(ci, str) or isinstance(ci.low, str) or isinstance(ci.high, str):
        return f"({mean_interval(ci)})"
    return f"[{ci.low:.4f}, {ci.high:.4f}]"


def probability(p: float) -> str:
    """p = 0.0123. It is never written as 0."""
    return f"p = {p:.4f}" if p >= 0.00005 else "p < 0.0001"
