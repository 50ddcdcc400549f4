"""What a report holds, before anybody decides how it is written: sections of text, tables and figures, and the records behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    """Cells as they are read. The first ``words`` columns hold words, the others numbers with their intervals."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure as plotly's JSON. ``footer``: what it supports and what it does not establish; ``essentials``: measured against what."""

    title: str
    spec: str
    footer: str
    essentials: str


@dataclass(frozen=True)
class Listing:
    """Sentences one under the other; ``code`` where they are commands."""

    items: tuple[str, ...]
    code: bool = False


Block = str | Table | Figure | Listing


@dataclass(frozen=True)
class Section:
    """``data``: the section's numbers at full precision, as plain data."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A descriptor or an evaluation record: as a card (part, field, value), as YAML and as plain data."""

    kind: str
    id: str
    name: str
    badges: tuple[str, ...]
    fields: tuple[tuple[str, str, str], ...]
    yaml: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Report:
    """``facts``: the title page, word by word; ``absent``: sections that this selection cannot fill, with the reason."""

    title: str
    subtitle: str
    made: str
    version: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    records: tuple[Record, ...]
    absent: tuple[tuple[str, str], ...]
