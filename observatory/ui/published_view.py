"""Published tables as their source states them: cells by unit, the context in words, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from observatory.descriptor import SENTINELS, EvaluationContext
from observatory.figures import numbers
from observatory.published_tables import Column, PublishedTable

UNITS = {"seconds": "s", "milliseconds": "ms", "tokens_per_second": "tokens/s", "rate": "%"}
CONTEXT = {
    "candidate_pool": "candidate pool", "relevance_definition": "relevant means", "gain": "gain", "cutoff": "cutoff",
    "tie_policy": "ties", "missing_queries_policy": "queries without a result",
}
MOST_DIGITS = 6


def in_words(text: object) -> str:
    """Text in which the words for missing values are written as words, also inside a sentence."""
    found = str(text)
    for sentinel in SENTINELS:
        found = found.replace(sentinel, sentinel.replace("_", " "))
    return found


def frame(table: PublishedTable) -> pd.DataFrame:
    """The table's cells as text, with as many digits as its source states in that column."""
    return pd.DataFrame(
        {heading: cells(column, [row[i] for row in table.rows]) for i, (heading, column) in enumerate(zip(headings(table), table.columns, strict=True))}
    )


def headings(table: PublishedTable) -> list[str]:
    """Column names with their units, told apart where a name stands twice."""
    names = [f"{in_words(c.name)} ({UNITS[c.unit]})" if c.unit in UNITS else in_words(c.name) for c in table.columns]
    return [f"{name} [{names[: i + 1].count(name)}]" if names.count(name) > 1 else name for i, name in enumerate(names)]


def cells(column: Column, values: Sequence[int | float | str]) -> list[str]:
    """One column as text."""
    shift = 2 if column.unit == "rate" else 0
    digits = max((_digits(v) - shift for v in values if isinstance(v, float)), default=0)
    return [_cell(column.unit, v, min(max(digits, 0), MOST_DIGITS)) for v in values]


def _cell(unit: str, value: int | float | str, digits: int) -> str:
    if isinstance(value, str):
        return in_words(value)
    if unit == "count":
        return numbers.count(int(value)) if float(value).is_integer() else f"{value:g}"
    if unit == "rate":
        return f"{100 * value:.{digits}f}"
    return f"{value:+.{digits}f}" if unit == "difference" and value != 0 else f"{value:,.{digits}f}".replace(",", numbers.THIN)


def _digits(value: float) -> int:
    """Digits after the point in the shortest text that is this number."""
    text = f"{value:.12f}".rstrip("0")
    return len(text.partition(".")[2])


def context(c: EvaluationContext) -> dict[str, str]:
    """What defines the table's comparison set and labels, in words."""
    return {word: in_words(getattr(c, field)) for field, word in CONTEXT.items()}


def show(table: PublishedTable) -> None:
    """The table: words to the left, numbers to the right, no cell cut off."""
    cells_as_text = frame(table)
    widths = {name: min(520, 24 + 8 * max([len(name), *map(len, cells_as_text[name])])) for name in cells_as_text.columns}
    config = {
        name: st.column_config.TextColumn(  # a wide first column, pinned, would leave a phone no room for the others
            alignment="left" if column.unit == "text" else "right", pinned=i == 0 and widths[name] <= 200, width=widths[name],
        )
        for i, (name, column) in enumerate(zip(cells_as_text.columns, table.columns, strict=True))
    }
    st.dataframe(cells_as_text, hide_index=True, column_config=config, height="content", key=f"published {table.id}")
