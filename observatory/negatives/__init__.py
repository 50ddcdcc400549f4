"""Negative-selection rules. A new rule is one file and one line here; contract tests walk this registry."""

from __future__ import annotations

from observatory.errors import InputError
from observatory.negatives.base import (
    Candidates,
    Chosen,
    Corpus,
    Factory,
    Mined,
    Options,
    Rule,
    Spec,
    parse_spec,
    parse_specs,
)
from observatory.negatives.designated import Designated
from observatory.negatives.random_draw import RandomDraw
from observatory.negatives.ranked import InModel, LexicalRank
from observatory.records import Benchmark
from observatory.registry import Registry

__all__ = [
    "RULES", "Candidates", "Chosen", "Corpus", "Mined", "Options", "Rule", "Spec", "parse_spec", "parse_specs", "prepare",
]

RULES: Registry[Factory] = Registry("negative-selection rule")
RULES.register("random", RandomDraw)
RULES.register("bm25", LexicalRank)
RULES.register("in_model", InModel)
RULES.register("structured_perturbation", Designated)
RULES.register("entity_matched", Designated)
RULES.register("lexical_overlap_matched", Designated)


def prepare(spec: Spec, benchmark: Benchmark, corpus: Corpus, options: Options) -> Rule:
    """A rule ready for one benchmark; InputError where the name, slice or benchmark does not allow it."""
    factory = RULES.get(spec.method)
    if spec.slice is not None and spec.slice[0] >= len(corpus):
        raise InputError(
            f"the slice starts behind the last of {len(corpus)} items", value=spec.text, mend="choose smaller ranks"
        )
    return factory(spec, benchmark, corpus, options)
