"""Peak memory and time of ranking and mining 10,000 queries against 100,000 items: ``python -m tests.bench.memory [N_QUERIES N_ITEMS]``.

The vectors are made, not encoded: 384 numbers a text, as the bundled model gives. What is printed is the peak of this
process less the vectors, and what of it was there before the first score (the interpreter, the libraries, the texts).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from observatory import runs
from observatory.records import Benchmark, Item, Positive, Query
from observatory.runs import Plan
from observatory.scorers.base import describe, silent

DIMENSIONS, LIMIT_MB = 384, 1024
RULES = ("random", "in_model[0:5]", "in_model[2:7]")


def status(name: str) -> float:
    """VmRSS or VmHWM of this process in MB."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


class Made:
    """A scorer whose vectors are random but fixed."""

    description = describe(
        name="made", family="bi-encoder", metric="cosine", revision="1", weights_sha256="0" * 64, pooling="none", normalisation="L2",
        prompts="not_applicable", dtype="float32", backend="numpy", max_length="not_applicable", bm25="not_applicable",
    )

    def index(self, texts: Sequence[str], progress: object = silent) -> Made:
        rng = np.random.default_rng(0)
        self.vectors = rng.standard_normal((len(texts), DIMENSIONS), dtype=np.float32)
        self.vectors /= np.linalg.norm(self.vectors, axis=1, keepdims=True)
        self.rng = rng
        return self

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        left = self.rng.standard_normal((len(queries), DIMENSIONS), dtype=np.float32)
        return (left @ self.vectors.T).astype(np.float64)


def benchmark(n_queries: int, n_items: int) -> Benchmark:
    rng = np.random.default_rng(1)
    items = tuple(Item(f"item-{i}", f"passage number {i} about subject {i % 97} and some more words to be as long as a passage") for i in range(n_items))
    targets = rng.integers(0, n_items, size=(n_queries, 3))
    queries = tuple(
        Query(f"query-{i}", f"question {i}", positives=tuple(Positive(f"item-{t}", 1) for t in dict.fromkeys(row))) for i, row in enumerate(targets.tolist())
    )
    return Benchmark("made", "1", "made", None, "0" * 64, "made", items, queries)


def main(n_queries: int, n_items: int) -> int:
    made = benchmark(n_queries, n_items)
    prepared = runs.prepare(Plan("made", "made", RULES, metrics=("nDCG@10", "R@100"), depth=100), made)
    before, started = status("VmRSS"), time.monotonic()
    tables = runs.measure(prepared, Made())
    seconds, peak, vectors = time.monotonic() - started, status("VmHWM"), n_items * DIMENSIONS * 4 / 2**20
    beyond = peak - vectors
    print(f"{n_queries:,} queries x {n_items:,} items, {len(RULES)} rules and two metrics: {seconds:.0f} s, {tables['pairwise'].num_rows:,} pairwise rows")
    print(f"peak {peak:.0f} MB, vectors {vectors:.0f} MB, beyond them {beyond:.0f} MB ({before:.0f} MB of it before the first score); limit {LIMIT_MB} MB")
    return int(beyond > LIMIT_MB)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*(sizes if len(sizes) == 2 else (10_000, 100_000))))
