"""Queries for corpora that have none: distinctive terms of each item by TF-IDF, put into question templates.

Source of the method: seed 002, section 5.8.a. Up to ``terms`` terms an item, the rarest in the corpus first and among
equally rare ones those of highest TF-IDF; one of eight templates each; no term is asked for twice; then a sample that
keeps each stratum's share (stratified by gold).

Everything follows from the items and the seed, and nothing from chance or from hash randomisation: templates and
samples are chosen by sha256 over seed, item id and term. The order of the items decides the order of the queries and
nothing else. The queries are hashed, so that a bench can be registered before it is run.

What such a bench is not: a query names one word of one item. Where the word stands in other items too, the query is
ambiguous (its other answers are not labelled), which ``Bench`` counts; and a word that is found in one item only is
easy for any lexical ranking.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from observatory.benchmarks.assemble import RecordHash
from observatory.errors import InputError
from observatory.records import Item

TEMPLATES = (
    "What is said about {term}?",
    "Where is {term} described?",
    "Which passage deals with {term}?",
    "How does {term} come up?",
    "What do we know of {term}?",
    "In what connection is {term} mentioned?",
    "Is there anything on {term}?",
    "Tell me about {term}.",
)
TOKEN = r"(?u)\b[^\W\d_][\w'-]{2,}\b"


@dataclass(frozen=True)
class Options:
    """``terms`` distinctive terms an item; ``size`` queries in all (None: every one); ``max_share`` caps how many
    items a term may stand in, as a share, before it is common (one item is always allowed)."""

    terms: int = 3
    size: int | None = None
    seed: int = 0
    max_share: float = 0.01


@dataclass(frozen=True)
class Generated:
    """One query and the item it was made from. ``document_frequency`` is the number of items that its term stands in;
    ``stratum`` is the item's source text, else its domain, else everything."""

    id: str
    text: str
    term: str
    document_frequency: int
    item_id: str
    stratum: str


@dataclass(frozen=True)
class Bench:
    """The sampled queries and the sha256 over their records in order (``queries.jsonl`` as it is written).

    ``n_candidates`` queries were to be sampled from, ``n_ambiguous`` of them (``n_ambiguous_chosen`` of the sampled
    ones) with a term that stands in more than one item; ``n_repeated`` more would have asked for a term again.
    """

    queries: tuple[Generated, ...]
    n_candidates: int
    n_ambiguous: int
    n_ambiguous_chosen: int
    n_repeated: int
    sha256: str


def generate(items: Sequence[Item], options: Options) -> Bench:
    """Make a bench. Raises InputError where the corpus gives no distinctive term or the options make no sense."""
    if options.terms < 1 or (options.size is not None and options.size < 1) or not 0 < options.max_share <= 1:
        raise InputError(
            "terms and size must be at least 1 and max-share above 0 and at most 1", mend="correct the option",
            value={"terms": options.terms, "size": options.size, "max-share": options.max_share},
        )
    offered = _terms(items, options)
    candidates = _candidates(items, offered, options.seed)
    if not candidates:
        raise InputError(
            "the corpus gives no distinctive term", mend="raise --max-share, or check that the items have words of their own"
        )
    chosen = _sample(candidates, options.size, options.seed)
    return Bench(
        queries=tuple(chosen), n_candidates=len(candidates), n_ambiguous=_ambiguous(candidates), n_ambiguous_chosen=_ambiguous(chosen),
        n_repeated=sum(map(len, offered)) - len(candidates), sha256=RecordHash().update(record(q) for q in chosen).hexdigest(),
    )


def record(query: Generated) -> dict[str, object]:
    """The query as a RELATE record: its target is the only positive, with grade 3."""
    return {
        "id": query.id, "text": query.text, "query_style": "generated", "target_item_id": query.item_id,
        "positives": [{"item_id": query.item_id, "grade": 3}], "hard_negatives": [],
    }


def quotas(sizes: dict[str, int], size: int) -> dict[str, int]:
    """How many of each stratum's ``sizes`` members a sample of ``size`` takes: in proportion, by largest remainders.

    The quotas sum to ``size`` and each is within 1 of the exact share; equal remainders go by the stratum's name.
    """
    total = sum(sizes.values())
    found = {name: size * members // total for name, members in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(size * sizes[name] % total), name))
    for name in by_remainder[: size - sum(found.values())]:
        found[name] += 1
    return found


@dataclass(frozen=True)
class _Term:
    text: str
    weight: float
    document_frequency: int


def _terms(items: Sequence[Item], options: Options) -> list[list[_Term]]:
    """Each item's terms: rarest first, then of highest TF-IDF weight, then by alphabet."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    limit = max(1, int(options.max_share * len(items)))
    vectorizer = TfidfVectorizer(lowercase=True, token_pattern=TOKEN, max_df=limit, stop_words="english", sublinear_tf=True)
    try:
        matrix = vectorizer.fit_transform([item.text for item in items]).tocsr()
    except ValueError:  # an empty vocabulary
        return [[] for _ in items]
    names = vectorizer.get_feature_names_out()
    frequency = np.bincount(matrix.indices, minlength=len(names))
    return [
        _best(matrix.indices[a:b], matrix.data[a:b], names, frequency, options.terms)
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    ]


def _best(
    columns: NDArray[Any], weights: NDArray[np.float64], names: NDArray[Any], frequency: NDArray[Any], count: int
) -> list[_Term]:
    found = [
        _Term(str(names[c]), round(float(w), 9), int(frequency[c]))  # rounded: the last bits depend on the order of summation
        for c, w in zip(columns, weights, strict=True)
    ]
    return sorted(found, key=lambda t: (t.document_frequency, -t.weight, t.text))[:count]


def _candidates(items: Sequence[Item], offered: Sequence[Sequence[_Term]], seed: int) -> list[Generated]:
    """One query for each term: for the item it weighs most in, and of equal ones for that with the smallest id."""
    owner: dict[str, tuple[float, str]] = {}
    for item, terms in zip(items, offered, strict=True):
        for term in terms:
            owner[term.text] = min(owner.get(term.text, (0.0, item.id)), (-term.weight, item.id))
    found = []
    for item, terms in zip(items, offered, strict=True):
        stratum = f"text {item.source_text}" if item.source_text else f"domain {item.domain}" if item.domain else "everything"
        for term in terms:
            if owner[term.text][1] == item.id:
                text = TEMPLATES[_draw(seed, "template", item.id, term.text) % len(TEMPLATES)].format(term=term.text)
                identifier = f"g-{_draw(item.id, text):064x}"[:18]
                found.append(Generated(identifier, text, term.text, term.document_frequency, item.id, stratum))
    return found


def _sample(candidates: list[Generated], size: int | None, seed: int) -> list[Generated]:
    """In proportion to the strata, without replacement, in the candidates' order."""
    if size is None or size >= len(candidates):
        return candidates
    strata: dict[str, list[Generated]] = {}
    for query in candidates:
        strata.setdefault(query.stratum, []).append(query)
    quota = quotas({name: len(members) for name, members in strata.items()}, size)
    kept: set[str] = set()
    for name, members in strata.items():
        kept.update(q.id for q in sorted(members, key=lambda q: _draw(seed, "sample", q.item_id, q.term))[: quota[name]])
    return [query for query in candidates if query.id in kept]


def _ambiguous(queries: Sequence[Generated]) -> int:
    return sum(query.document_frequency > 1 for query in queries)


def _draw(*parts: object) -> int:
    """A number that looks random and depends on ``parts`` alone: their sha256."""
    return int.from_bytes(hashlib.sha256("\n".join(map(str, parts)).encode("utf-8")).digest(), "big")
