"""structured_perturbation, entity_matched, lexical_overlap_matched: the benchmark's own typed negatives of a method."""

from __future__ import annotations

from observatory.errors import InputError
from observatory.negatives.base import DESIGNATED_EXCLUSIONS, NONE, Candidates, Chosen, Corpus, Mined, Options, Spec
from observatory.records import Benchmark


class Designated:
    """All designated negatives of one method, in the benchmark's order; their number varies by query."""

    def __init__(self, spec: Spec, benchmark: Benchmark, corpus: Corpus, options: Options) -> None:
        self._method, self._corpus = spec.method, corpus
        if spec.slice is not None:
            raise InputError("a designated set takes no slice", value=spec.text, mend=f"write {spec.method}")
        there = dict.fromkeys(n.method for q in benchmark.queries for n in q.designated_negatives)
        if self._method not in there:
            raise InputError(
                f"{benchmark.name} lists no designated negatives of method {self._method!r}",
                mend=f"choose one of: {', '.join(there) or 'random, bm25, in_model (it lists none at all)'}",
            )

    def choose(self, candidates: Candidates) -> Chosen:
        own = dict.fromkeys(
            (n.item_id, n.relation) for n in candidates.query.designated_negatives if n.method == self._method
        )
        if not own:
            return NONE
        items, relations = zip(*own, strict=True)
        return Chosen(self._corpus.positions(items), relations)

    def describe(self) -> Mined:
        return Mined(
            candidate_pool=f"the benchmark's designated negatives of method {self._method}",
            exclusions=DESIGNATED_EXCLUSIONS, count_per_query="variable: all that the benchmark lists",
            ranking_rule="not_applicable", ranking_source="the benchmark's designated negatives",
            slice="not_applicable",
        )
