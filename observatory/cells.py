"""One cell of a table of configurations by measures: a record that figures and tables share."""

from __future__ import annotations

from dataclasses import dataclass

from observatory.statistics import Interval


@dataclass(frozen=True)
class Cell:
    """One configuration under one measure. ``delta`` is configuration minus baseline over the queries that both measured.

    ``p`` flips whole clusters; ``holm`` corrects it over all cells of the table. ``note`` says why a delta is missing, or what confounds it.
    """

    configuration: str
    measure: str
    mean: Interval
    delta: Interval | None = None
    d: float | None = None
    p: float | None = None
    holm: float | None = None
    note: str = ""
