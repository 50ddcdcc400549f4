"""Speed of the fast backend against torch, in one run: ``python -m tests.bench.encoders [--scifact FOLDER [--whole]]``.

Short texts are the bundled benchmark's, long ones SciFact's where its folder is given: a tenth of it, or all with --whole, which
also prints nDCG@10 by both. Each time is that of the whole path, from texts to vectors in an empty cache; the two alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from observatory import benchmarks, paths, runs
from observatory.artifacts import read_descriptors
from observatory.commands.progress import Progress
from observatory.plans import Plan
from observatory.scorers import models
from observatory.scorers.bi_encoder import BiEncoder, unit
from observatory.scorers.fast import threads
from observatory.scorers.options import Options

BACKENDS = ("torch", "fast")
ROUNDS = 3
WANTED = 1.9


def timed(backend: str, texts: Sequence[str]) -> tuple[float, np.ndarray]:
    """Seconds and unit vectors; loading the model and exporting it once are left out."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "exported").symlink_to(paths.cache_root() / "exported")
        encoder = BiEncoder(models.locate(models.BUNDLED), Path(place), 32, Options(backend))
        encoder.encode(["a first text"], "")
        begin = time.perf_counter()
        vectors, rows = encoder.encode(texts, "")
        return time.perf_counter() - begin, unit(vectors)[rows]


def compare(name: str, texts: Sequence[str], rounds: int = ROUNDS) -> None:
    taken: dict[str, list[float]] = {backend: [] for backend in BACKENDS}
    made: dict[str, np.ndarray] = {}
    for _ in range(rounds):
        for backend in BACKENDS:
            seconds, made[backend] = timed(backend, texts)
            taken[backend].append(seconds)
    torch, fast = (statistics.median(taken[backend]) for backend in BACKENDS)
    gap = float(np.abs(made["torch"] - made["fast"]).max())
    print(f"{name:<32}{len(texts):>6,} texts  torch {torch:8.2f} s  fast {fast:8.2f} s  ratio {torch / fast:.2f}  largest difference {gap:.1e}", flush=True)


def whole(folder: Path) -> None:
    """The published number, by both: a fresh run each, with its progress on stderr."""
    seconds = {}
    for backend in BACKENDS:
        with tempfile.TemporaryDirectory() as place:
            os.environ["OBSERVATORY_CACHE"] = place
            runs.load_scorer(Plan("", models.BUNDLED, (), backend=backend)).description  # noqa: B018  exports, once
            begin = time.perf_counter()
            plan = Plan(str(folder), models.BUNDLED, (), split="test", metrics=("nDCG@10", "R@5"), backend=backend)
            found = read_descriptors(runs.run(plan, Path(place) / "out", Progress(False))).evaluation
            seconds[backend] = time.perf_counter() - begin
            assert found is not None
            score = found.metrics["nDCG@10"]
            print(f"SciFact, {backend}: nDCG@10 {score.mean:.4f} over {score.n} queries in {seconds[backend]:.0f} s", flush=True)
    print(f"SciFact whole: ratio {seconds['torch'] / seconds['fast']:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scifact", type=Path)
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    print(f"{models.BUNDLED}, float32, batches of 32, {threads()} threads, median of {ROUNDS}; wanted: {WANTED} on long texts")
    notes = benchmarks.read(paths.DATA / "benchmarks" / "fieldnotes")
    compare("Fieldnotes (short)", [i.text for i in notes.items] + [q.text for q in notes.queries])
    if options.scifact:
        compare("SciFact, every tenth (long)", [i.text for i in benchmarks.read(options.scifact, split="test").items][::10])
        if options.whole:
            whole(options.scifact)


if __name__ == "__main__":
    main()
