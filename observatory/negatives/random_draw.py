"""random: k items of the target item's domain, drawn without replacement, all labelled positives excluded."""

from __future__ import annotations

import numpy as np

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
    untyped,
    without,
)
from observatory.records import Benchmark


class RandomDraw:
    """One generator for the run; queries and pools in file order, so that a seed fixes every draw."""

    def __init__(self, spec: Spec, benchmark: Benchmark, corpus: Corpus, options: Options) -> None:
        if spec.slice is not None:
            raise InputError("a random draw takes no slice", value=spec.text, mend="write random")
        self._corpus, self._k = corpus, options.k
        self._rng = np.random.default_rng(options.seed)
        self._everything = np.arange(len(corpus))
        self._without = sum(self._pool(q.target_item_id) is self._everything for q in benchmark.queries)
        self._n_queries = len(benchmark.queries)

    def choose(self, candidates: Candidates) -> Chosen:
        pool = without(self._pool(candidates.query.target_item_id), candidates.positives)
        if pool.size == 0:
            return NONE
        drawn = self._rng.choice(pool, size=min(self._k, pool.size), replace=False)
        return untyped(drawn, pool)

    def _pool(self, target: str | None) -> np.ndarray:
        domain = self._corpus.domains[self._corpus.position[target]] if target is not None else None
        return self._everything if domain is None else self._corpus.by_domain[domain]

    def describe(self) -> Mined:
        pool = "items of the target item's domain"
        if not self._corpus.by_domain:
            pool = "the whole corpus (no domains)"
        elif self._without == self._n_queries:
            pool = "the whole corpus (no query has a target item with a domain)"
        elif self._without:
            pool += f"; the whole corpus for {self._without} queries without one"
        return Mined(
            candidate_pool=pool, exclusions=EXCLUSIONS, count_per_query=self._k,
            ranking_rule="uniform draw without replacement; all of the pool where it is smaller",
            ranking_source="numpy default_rng, queries and pool in file order", slice="not_applicable",
        )
