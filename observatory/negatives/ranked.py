"""Rules that cut a slice from a ranking: bm25 (shipped or computed) and in_model."""

from __future__ import annotations

import hashlib

from observatory.descriptor import canonical
from observatory.errors import InputError
from observatory.negatives.base import (
    EXCLUSIONS,
    NONE,
    Candidates,
    Chosen,
    Corpus,
    Mined,
    Options,
    Spec,
    ranking,
    untyped,
    without,
)
from observatory.records import Benchmark

WHOLE_CORPUS = "the whole corpus"


class InModel:
    """Rank all items but the labelled positives by the evaluated scorer and take the named slice.

    ``[0:k]`` where none is named. Designated negatives stay in the ranking.
    """

    def __init__(self, spec: Spec, benchmark: Benchmark, corpus: Corpus, options: Options) -> None:
        self._start, self._stop = spec.slice or (0, options.k)

    def choose(self, candidates: Candidates) -> Chosen:
        return untyped(ranking(candidates.scores, candidates.positives, self._stop)[self._start :])

    def describe(self) -> Mined:
        return Mined(
            candidate_pool=WHOLE_CORPUS, exclusions=EXCLUSIONS, count_per_query=self._stop - self._start,
            ranking_rule="evaluated scorer's score, descending", ranking_source="computed: the evaluated scorer",
            slice=f"[{self._start}:{self._stop}]",
        )


class LexicalRank:
    """The top k by BM25 after excluding all labelled positives: from the benchmark's own ranking, or computed."""

    def __init__(self, spec: Spec, benchmark: Benchmark, corpus: Corpus, options: Options) -> None:
        self._start, self._stop = spec.slice or (0, options.k)
        self._source, self._corpus = options.bm25, corpus
        self._shipped = benchmark.shipped_bm25
        if self._source == "shipped" and self._shipped is None:
            raise InputError(
                f"{benchmark.name} ships no BM25 ranking", mend="add bm25_scores.jsonl, or use --bm25 okapi or --bm25 bm25s"
            )

    def choose(self, candidates: Candidates) -> Chosen:
        if self._source == "shipped":
            assert self._shipped is not None
            ranked = self._corpus.positions(self._shipped.get(candidates.query.id, ()))
            ranked = without(ranked, candidates.positives)
        else:
            assert candidates.bm25 is not None
            ranked = ranking(candidates.bm25, candidates.positives, self._stop)
        chosen = ranked[self._start : self._stop]
        return untyped(chosen) if chosen.size else NONE

    def _digest(self) -> str:
        """sha256 of the shipped ranking (query ids and item ids in file order): corpus_hash does not cover it."""
        return hashlib.sha256(canonical(list((self._shipped or {}).items())).encode("utf-8")).hexdigest()

    def describe(self) -> Mined:
        shipped = self._source == "shipped"
        return Mined(
            candidate_pool=WHOLE_CORPUS, exclusions=EXCLUSIONS, count_per_query=self._stop - self._start,
            ranking_rule="file order of the benchmark's ranking" if shipped else "BM25 score, descending",
            ranking_source=f"shipped with the benchmark, sha256 {self._digest()}" if shipped else f"computed: {self._source}",
            slice=f"[{self._start}:{self._stop}]",
        )
