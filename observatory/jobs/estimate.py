"""How long a run will take, from what finished runs of the same scorer took; None where nothing comparable has finished."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from observatory.jobs.queue import absolute
from observatory.jobs.records import ENCODING, FINISHED, Broken, Job, Stages
from observatory.plans import Plan

SCORING, INDEXED = "score queries", ("encode items", "index")
RECENT = 5
LEAST = 32  # texts that must have been encoded for a rate: fewer measure the start of a model and not its speed


@dataclass(frozen=True)
class Estimate:
    """Seconds at most (texts in the cache cost nothing), and how many finished runs it is drawn from."""

    seconds: float
    runs: int


def model_calls(plan: Plan, n_texts: int) -> int:
    """Texts that a model will read at most: none for lexical scorers, which have no model."""
    return 0 if plan.scorer.startswith("bm25:") else n_texts


def estimate(history: Sequence[Job | Broken], plan: Plan, n_queries: int, n_items: int, n_texts: int) -> Estimate | None:
    """Reading of texts by the model's rate, scoring by its rate over pairs, and the median of everything else."""
    mine = _comparable(history, plan)
    pairs, scoring = _sums((_pairs(stages), stages[SCORING].seconds) for stages in mine if SCORING in stages)
    texts, encoding = _sums((s.done - s.first, s.seconds) for st in mine for name, s in st.items() if name.startswith(ENCODING))
    calls = model_calls(plan, n_texts)
    if not pairs or (calls and texts < LEAST):
        return None
    rest = statistics.median(_rest(stages) for stages in mine)
    return Estimate(rest + n_queries * n_items * scoring / pairs + (calls * encoding / texts if calls else 0.0), len(mine))


def _comparable(history: Sequence[Job | Broken], plan: Plan) -> list[Stages]:
    """Stages of the newest finished runs by the same scorer, read in the same way."""
    wanted = absolute(plan)
    same = [
        job for job in history
        if isinstance(job, Job) and job.state == FINISHED
        and (job.plan.scorer, job.plan.backend, job.plan.max_length) == (wanted.scorer, wanted.backend, wanted.max_length)
    ]
    return [job.last.stages for job in sorted(same, key=lambda job: job.last.at)[-RECENT:]]


def _pairs(stages: Stages) -> int:
    """Queries times texts that were scored; 0 where the number of texts is not known."""
    return stages[SCORING].done * max((stages[name].total for name in INDEXED if name in stages), default=0)


def _rest(stages: Stages) -> float:
    return sum(s.seconds for name, s in stages.items() if name != SCORING and not name.startswith(ENCODING))


def _sums(parts: Iterable[tuple[int, float]]) -> tuple[int, float]:
    """Totals of amounts and of seconds."""
    found = [(amount, seconds) for amount, seconds in parts if amount > 0]
    return sum(amount for amount, _ in found), sum(seconds for _, seconds in found)
