"""A projection that a document published, recomputed from its own mean and sigma: both stand side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from observatory.calibration.size import Projection
from observatory.descriptor import EvaluationContext
from observatory.published_tables import PublishedTable

DELTA, SIGMA, N = "delta", "sigma of the difference per query", "N"
LOW, HIGH, EXCLUDES, KIND = "interval low", "interval high", "excludes zero", "kind"
P, PLACE, RELATION = "p", "place", "relation"
P_TABLE = re.compile(r"p-at-(\d+)")
Number = int | float
Row = dict[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Stated:
    """One row of the published table: ``low`` to ``high`` as stated, and what mean and sigma give at that N."""

    n: int
    kind: str
    low: float
    high: float
    excludes_zero: str
    again_low: float
    again_high: float
    again_excludes_zero: bool

    @property
    def off(self) -> float:
        """The larger of the two ends' distances between text and arithmetic."""
        return max(abs(self.low - self.again_low), abs(self.high - self.again_high))


@dataclass(frozen=True, slots=True)
class StatedP:
    """A p-value as one place of the document words it, and what mean and sigma give at that N."""

    place: str
    relation: str
    p: float
    n: int
    again: float


@dataclass(frozen=True, slots=True)
class Published:
    """A published projection with the numbers that it starts from, and where and against what they were measured."""

    projection: Projection
    n: int
    rows: tuple[Stated, ...]
    ps: tuple[StatedP, ...]
    where: str
    context: EvaluationContext
    notes: tuple[str, ...]


def find(tables: Sequence[PublishedTable], level: float = 0.95) -> Published | None:
    """The projection among a document's tables; None where it states no mean with its sigma, or no interval by N.

    Looked for by column: a row with a delta, its sigma and N; a table of intervals by N; tables named p-at-N.
    """
    source = next(((t, r) for t in tables for r in _rows(t) if all(_number(r.get(c)) is not None for c in (DELTA, SIGMA, N))), None)
    table = next((t for t in tables if {N, LOW, HIGH, EXCLUDES} <= {c.name for c in t.columns}), None)
    if source is None or table is None:
        return None
    start = source[1]
    projection = Projection(float(start[DELTA]), float(start[SIGMA]), level=level)
    rows = tuple(_stated(r, projection) for r in _rows(table) if all(_number(r[c]) is not None for c in (N, LOW, HIGH)))
    named = [(t, int(m[1])) for t in tables if (m := P_TABLE.fullmatch(t.id))]
    ps = tuple(
        StatedP(str(r.get(PLACE, t.where)), str(r.get(RELATION, "")), float(r[P]), n, projection.p(n))
        for t, n in named for r in _rows(t) if _number(r.get(P)) is not None
    )
    notes = tuple(t.note for t in (table, *(t for t, _ in named)) if t.note)
    return Published(projection, int(start[N]), rows, ps, f"{source[0].where}; {table.where}", table.context, notes)


def _stated(row: Row, projection: Projection) -> Stated:
    n = int(row[N])
    low, high = projection.interval(n)
    return Stated(
        n, str(row.get(KIND, "")), float(row[LOW]), float(row[HIGH]), str(row[EXCLUDES]), low, high, projection.excludes_zero(n)
    )


def _rows(table: PublishedTable) -> list[Row]:
    names = [c.name for c in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _number(value: object) -> Number | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
