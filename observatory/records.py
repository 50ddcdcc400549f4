"""Frozen records in the words of the field. They hold data, have no behaviour and import nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Item:
    """A passage that can be retrieved."""

    id: str
    text: str
    domain: str | None = None
    source_text: str | None = None
    time: str | None = None


@dataclass(frozen=True, slots=True)
class Positive:
    """A judgment with grade >= 1: the item answers the query, the better the higher the grade."""

    item_id: str
    grade: int


@dataclass(frozen=True, slots=True)
class DesignatedNegative:
    """A typed hard negative that the benchmark itself lists for a query."""

    item_id: str
    method: str
    relation: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its positives in the benchmark's order; ``irrelevant`` are the items that were judged with grade 0."""

    id: str
    text: str
    style: str | None = None
    target_item_id: str | None = None
    positives: tuple[Positive, ...] = ()
    designated_negatives: tuple[DesignatedNegative, ...] = ()
    irrelevant: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two items with a typed relation or a graded similarity, judged apart from any query."""

    a_id: str
    b_id: str
    relation: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry of a run: an item and the score some system gave it."""

    item_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Everything that was read from one benchmark, whatever its format.

    ``shipped_bm25`` maps a query id to item ids in the benchmark's own ranking, in file order;
    ``None`` where the benchmark ships no ranking. ``runs`` maps a run's name to each query's entries, best first
    (TREC runs, falsify-eval benches). ``has_texts`` is False where the format holds ids only: nothing can be encoded then.
    ``warnings`` are sentences with counts.
    """

    name: str
    version: str
    format: str
    split: str | None
    corpus_hash: str
    query_set_id: str
    items: tuple[Item, ...]
    queries: tuple[Query, ...]
    pairs: tuple[Pair, ...] = ()
    shipped_bm25: Mapping[str, tuple[str, ...]] | None = None
    licence: str | None = None
    runs: Mapping[str, Mapping[str, tuple[Ranked, ...]]] = field(default_factory=dict)
    has_texts: bool = True
    warnings: tuple[str, ...] = field(default=())
