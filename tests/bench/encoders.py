"""Speed of the fast backend against torch, in one run: ``python -m tests.bench.encoders [--scifact FOLDER [--whole]]``.

Short texts are the bundled benchmark's, long ones SciFact's where its folder is given: a tenth of it, or all with --whole, which
also prints nDCG@10 by both. Each time is that of the whole path, from texts to vectors in an empty cache; the two alternate.
Beside the ratio stands the largest one that float32 can have on this machine: torch's time over that of the model's
multiplications alone at the rate of torch's fastest matrix product.
"""

from __future__ import annotations

import argparse
import json
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
from observatory.scorers.torch_backend import TorchBackend

BACKENDS = ("torch", "fast")
ROUNDS = 3
WANTED = 1.9


def timed(backend: str, texts: Sequence[str]) -> tuple[float, np.ndarray]:
    """Seconds and unit vectors; loading the model and exporting it once are left out."""
    with tempfile.TemporaryDirectory() as place:
        exported = paths.cache_root() / "exported"
        exported.mkdir(parents=True, exist_ok=True)
        (Path(place) / "exported").symlink_to(exported)
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
    print(
        f"{name:<32}{len(texts):>6,} texts  torch {torch:8.2f} s  fast {fast:8.2f} s  ratio {torch / fast:.2f} of at most {_limit(texts, torch):.2f}"
        f"  largest difference {gap:.1e}", flush=True,
    )


def _limit(texts: Sequence[str], seconds: float) -> float:
    """``seconds`` over those of the multiplications alone: per token and layer 12 d^2 in weights and 2 d per token attended to."""
    folder = models.locate(models.BUNDLED)
    config = json.loads((folder.path / "config.json").read_text())
    lengths = np.array([len(ids) for ids in TorchBackend(folder).tokenise(texts, 256).ids], dtype=float)
    d, layers = config["hidden_size"], config["num_hidden_layers"]
    multiplications = float((lengths * layers * (12 * d * d + 2 * d * lengths)).sum())
    return seconds / (multiplications / _rate(d))


def _rate(d: int) -> float:
    """Multiplications with an addition a second, of the best of many products in the model's own shapes, on all threads."""
    import torch

    best = 0.0
    for rows, inner, columns in ((512, d, 4 * d), (512, 4 * d, d), (4096, 4096, 4096)):
        a, b = torch.randn(rows, inner), torch.randn(inner, columns)
        repeated = max(1, 4096**3 // (rows * inner * columns))
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            for _ in range(repeated):
                torch.mm(a, b)
            best = max(best, repeated * rows * inner * columns / (time.perf_counter() - begin))
    return best


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
