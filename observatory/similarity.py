"""Semantic textual similarity: rank correlation of a scorer's scores with people's, over sentence pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from observatory.errors import InputError
from observatory.records import Benchmark
from observatory.scorers import Progress, Scorer, silent

BLOCK = 256


@dataclass(frozen=True)
class Similarity:
    """Spearman's correlation over ``n`` pairs, ties at their mean rank."""

    spearman: float
    n: int


def measure(benchmark: Benchmark, scorer: Scorer, progress: Progress = silent) -> Similarity:
    """Score the second sentence of each pair against the first, as a query against an item.

    Raises InputError for a benchmark without scored pairs, and where a side does not vary (there is no correlation then).
    """
    texts = {item.id: item.text for item in benchmark.items}
    pairs = [(texts[p.a_id], texts[p.b_id], p.score) for p in benchmark.pairs if p.score is not None]
    if len(pairs) < 2:
        raise InputError(f"{benchmark.name} ({benchmark.format}) holds no pairs with a score", mend="name an STS file")
    items = list(dict.fromkeys(b for _, b, _ in pairs))
    place = {text: i for i, text in enumerate(items)}
    index, found = scorer.index(items, progress), []
    for start in range(0, len(pairs), BLOCK):
        progress("score pairs", start, len(pairs))
        block = pairs[start : start + BLOCK]
        scores = index.scores([a for a, _, _ in block])
        found += [float(scores[row, place[b]]) for row, (_, b, _) in enumerate(block)]
    progress("score pairs", len(pairs), len(pairs))
    gold = [score for _, _, score in pairs]
    for values, what in ((found, "scores of the model"), (gold, "scores of people")):
        if np.ptp(values) == 0:
            raise InputError(f"all {what} are equal, so there is no correlation", value=values[0], mend="name another file or scorer")
    return Similarity(float(stats.spearmanr(gold, found).statistic), len(pairs))
