"""What a negative-selection rule sees of a query, and what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from observatory.errors import InputError
from observatory.records import Benchmark, Query

Positions = NDArray[np.int64]
Scores = NDArray[np.float64]

EXCLUSIONS = "all labelled positives of the query (grade >= 1)"
DESIGNATED_EXCLUSIONS = "none beyond the benchmark's own list"
TIE_RULE = "0 is a tie and not a win; equal texts are scored once; equal ranks go by item order"


class Corpus:
    """Positions of items in file order, by id and by domain."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.ids = tuple(item.id for item in benchmark.items)
        self.position: Mapping[str, int] = {identifier: i for i, identifier in enumerate(self.ids)}
        self.domains = tuple(item.domain for item in benchmark.items)
        self.by_domain: dict[str, Positions] = {}
        for domain in dict.fromkeys(d for d in self.domains if d is not None):
            self.by_domain[domain] = np.array([i for i, d in enumerate(self.domains) if d == domain])

    def positions(self, item_ids: tuple[str, ...]) -> Positions:
        return np.array([self.position[i] for i in item_ids], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Candidates:
    """One query's scored candidate table.

    ``positives``: positions of all labelled positives. ``scores``: (n_items,) by the evaluated scorer.
    ``bm25``: (n_items,) lexical scores, where a rule asked for them.
    """

    query: Query
    positives: Positions
    scores: Scores
    bm25: Scores | None = None


@dataclass(frozen=True)
class Chosen:
    """The negatives of one query in the rule's order: item positions and, where typed, their relations.

    ``pool`` is the pool a random draw was made from (None for rules without chance).
    """

    positions: Positions
    relations: tuple[str | None, ...]
    pool: Positions | None = None


NONE = Chosen(np.empty(0, dtype=np.int64), ())


def untyped(positions: Positions, pool: Positions | None = None) -> Chosen:
    return Chosen(positions, (None,) * len(positions), pool)


@dataclass(frozen=True)
class Mined:
    """How a rule mines, in the descriptor's words (``mining`` without method, seed and BM25 parameters)."""

    candidate_pool: str
    exclusions: str
    count_per_query: int | str
    ranking_rule: str
    ranking_source: str
    slice: str


class Rule(Protocol):
    """A negative-selection rule, prepared for one benchmark; called for the queries in file order."""

    def choose(self, candidates: Candidates) -> Chosen: ...

    def describe(self) -> Mined: ...


@dataclass(frozen=True)
class Spec:
    """One rule as written by a person: ``in_model[2:7]`` is method in_model, slice (2, 7)."""

    text: str
    method: str
    slice: tuple[int, int] | None = None


@dataclass(frozen=True)
class Options:
    """What all rules of a run share. ``bm25`` is shipped, okapi or bm25s."""

    k: int
    seed: int
    bm25: str


Factory = Callable[[Spec, Benchmark, Corpus, Options], Rule]

_SPEC = re.compile(r"([A-Za-z0-9_]+)(?:\[([0-9]+):([0-9]+)\])?")


def parse_spec(text: str) -> Spec:
    """Read ``method`` or ``method[start:stop]``; InputError for any other shape or an empty slice."""
    found = _SPEC.fullmatch(text.strip())
    if found is None:
        raise InputError("is not a rule", value=text, mend="write a method such as bm25, or a slice such as in_model[2:7]")
    method, start, stop = found.groups()
    if start is None:
        return Spec(text.strip(), method)
    if int(start) >= int(stop):
        raise InputError("the slice is empty", value=text, mend="write start before stop, such as in_model[0:5]")
    if int(stop) > 10**9:
        raise InputError("the slice is out of range", value=text, mend="write numbers below a billion")
    return Spec(text.strip(), method, (int(start), int(stop)))


def parse_specs(text: str) -> tuple[Spec, ...]:
    """Read a comma-separated list; a rule written twice is an error."""
    specs = tuple(parse_spec(part) for part in text.split(","))
    twice = [s.text for i, s in enumerate(specs) if s.text in [t.text for t in specs[:i]]]
    if twice:
        raise InputError("the rule is named twice", value=twice[0], mend="name each rule once")
    return specs


def ranking(scores: Scores, excluded: Positions, stop: int | None = None) -> Positions:
    """The first ``stop`` positions (all, without it) but ``excluded``, best score first; ties by item order.

    A slice near the top needs no full sort: everything that scores at least as high as the last one wanted is sorted.
    """
    wanted = scores.size if stop is None else stop + len(excluded)
    if wanted * 4 >= scores.size:
        order = np.argsort(-scores, kind="stable")
    else:
        least = np.partition(scores, scores.size - wanted)[scores.size - wanted]
        near = np.flatnonzero(scores >= least)
        order = near[np.argsort(-scores[near], kind="stable")]
    return order[~np.isin(order, excluded)][:stop]


def without(pool: Positions, excluded: Positions) -> Positions:
    return pool[~np.isin(pool, excluded)]
