"""Tables of published figures that are no margin sets: rates, ranks, latencies, each with what defines its comparison.

Every table carries an evaluation context; a cell that the source leaves out says ``not_recorded``, one that nobody
measured ``not_measured``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from observatory.descriptor import Block, EvaluationContext, Text, sentences
from observatory.errors import DescriptorRefused

Cell = Annotated[int | float | str, Field(union_mode="left_to_right")]
Unit = Literal["text", "rate", "difference", "score", "count", "seconds", "milliseconds", "tokens_per_second", "probability"]


class Column(Block):
    """A column's name and unit; text columns label rows."""

    name: Text
    unit: Unit


class PublishedTable(Block):
    """One table as its source states it. ``where`` names the section or paragraph, ``omissions`` what it does not say."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    title: Text
    where: Text
    context: EvaluationContext
    columns: list[Column]
    rows: list[list[Cell]]
    omissions: list[Text]
    note: str


def parse_tables(data: object, subject: str) -> tuple[PublishedTable, ...]:
    """Complete tables from plain data, or DescriptorRefused with every fault."""
    if not isinstance(data, list):
        raise DescriptorRefused(subject, ["tables: is no list"])
    tables, faults = [], []
    for position, entry in enumerate(data):
        try:
            table = PublishedTable.model_validate(entry)
        except ValidationError as error:
            faults += [f"tables[{position}].{fault}" for fault in sentences(error)]
            continue
        faults += [
            f"tables[{position}].rows[{i}]: has {len(row)} cells where {len(table.columns)} columns are"
            for i, row in enumerate(table.rows) if len(row) != len(table.columns)
        ]
        tables.append(table)
    ids = [t.id for t in tables]
    faults += [f"tables: the id {i} stands twice" for i in sorted({i for i in ids if ids.count(i) > 1})]
    if faults:
        raise DescriptorRefused(subject, faults)
    return tuple(tables)
