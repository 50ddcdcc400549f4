"""Reference positives: the named rules that pick the one positive p0 whose margin is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from observatory.errors import InputError
from observatory.records import Benchmark, Query
from observatory.registry import Registry

Score = Callable[[str], float]
Rule = Callable[[Query, Score], str | None]

NO_POSITIVE = "no labelled positive"
NO_GRADE_3 = "no grade-3 positive"

REFERENCES: Registry[Rule] = Registry("reference rule")


def first_grade_3(query: Query, score: Score) -> str | None:
    """The first grade-3 positive in the benchmark's order; no fallback."""
    return next((p.item_id for p in query.positives if p.grade == 3), None)


def first_top_grade(query: Query, score: Score) -> str | None:
    """The first positive of the highest grade there is."""
    if not query.positives:
        return None
    top = max(p.grade for p in query.positives)
    return next(p.item_id for p in query.positives if p.grade == top)


def best_scored(query: Query, score: Score) -> str | None:
    """The positive that the evaluated scorer likes best (ties: benchmark order)."""
    return max((p.item_id for p in query.positives), key=score, default=None)


def worst_scored(query: Query, score: Score) -> str | None:
    """The positive that the evaluated scorer likes least (ties: benchmark order)."""
    return min((p.item_id for p in query.positives), key=score, default=None)


for _rule in (first_grade_3, first_top_grade, best_scored, worst_scored):
    REFERENCES.register(_rule.__name__, _rule)


def default_rule(queries: Sequence[Query]) -> str:
    """``first_grade_3`` where grades reach 3, else ``first_top_grade``."""
    return "first_grade_3" if any(p.grade >= 3 for q in queries for p in q.positives) else "first_top_grade"


def reason_without(rule: str, query: Query) -> str:
    """Why ``query`` has no reference positive under ``rule``."""
    return NO_GRADE_3 if query.positives and rule == "first_grade_3" else NO_POSITIVE


def check(benchmark: Benchmark, rule: str) -> None:
    """InputError where no query of the benchmark can have a reference positive."""
    pick = REFERENCES.get(rule)
    if not any(pick(query, lambda _: 0.0) for query in benchmark.queries):
        have = sorted({p.grade for q in benchmark.queries for p in q.positives})
        raise InputError(
            f"no query of {benchmark.name} has a reference positive under {rule} (grades there are: {have or 'none'})",
            mend="judge at least one item relevant, or choose another rule with --reference "
            f"({', '.join(REFERENCES.names())})",
        )
