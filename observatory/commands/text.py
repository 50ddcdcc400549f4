"""Plain-text tables for terminals, and numbers as the screens write them."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.descriptor import MeanInterval
from observatory.errors import one_line

__all__ = ["count", "interval", "margin", "missing", "one_line", "rate", "table"]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest cell; the first is left-aligned, the others right-aligned."""
    cells = [[one_line(c) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))) for row in cells]
    return "\n".join(line.rstrip() for line in [lines[0], "-" * len(lines[0]), *lines[1:]])


def margin(value: float | str) -> str:
    """Four decimals with sign; a missing value is written."""
    return value.replace("_", " ") if isinstance(value, str) else f"{value:+.4f}"


def rate(value: float | str) -> str:
    return value.replace("_", " ") if isinstance(value, str) else f"{value:.1%}"


def count(value: int | str) -> str:
    return value.replace("_", " ") if isinstance(value, str) else f"{value:,}"


def interval(value: MeanInterval | str, form: str = "+.4f") -> str:
    if isinstance(value, str):
        return missing(value)
    return value.note if isinstance(value.low, str) or isinstance(value.high, str) else f"[{value.low:{form}}, {value.high:{form}}]"


def missing(value: str) -> str:
    """A sentinel in words."""
    return value.replace("_", " ")
