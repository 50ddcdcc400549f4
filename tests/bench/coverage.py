"""How often each interval holds the truth: 2,000 repetitions a row. Run: python -m tests.bench.coverage [repetitions]"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from observatory import resampling, statistics
from observatory.statistics import Interval

Sample = tuple[np.ndarray, np.ndarray]
TRUTH = 0.1


def clustered(rng: np.random.Generator, n: int, groups: int) -> Sample:
    """Unequal clusters with an intra-cluster correlation of about 0.3 and skewed margins; the true mean is 0.1."""
    share = rng.dirichlet(np.full(groups, 2.0))
    labels = np.concatenate([np.arange(groups), rng.choice(groups, n - groups, p=share)])
    effect = rng.normal(0, np.sqrt(0.3), groups)[labels]
    noise = (rng.gamma(4.0, 0.5, n) - 2.0) * np.sqrt(0.7)
    return TRUTH + 0.15 * (effect + noise), labels


def independent(rng: np.random.Generator, n: int) -> Sample:
    return TRUTH + 0.15 * (rng.gamma(4.0, 0.5, n) - 2.0), np.arange(n)


DESIGNS: dict[str, Callable[[np.random.Generator], Sample]] = {
    "n = 269 in 100 unequal clusters": lambda rng: clustered(rng, 269, 100),
    "n = 50, no clusters": lambda rng: independent(rng, 50),
    "n = 60 in 12 unequal clusters": lambda rng: clustered(rng, 60, 12),
}
METHODS: dict[str, Callable[[Sample, np.random.Generator], Interval]] = {
    "cluster t (CR2)": lambda s, rng: statistics.cluster_mean(*s),
    "cluster bootstrap-t": lambda s, rng: resampling.bootstrap_t(*s, rng, resamples=399),
    "naive t (beside only)": lambda s, rng: statistics.cluster_mean(s[0], np.arange(len(s[0]))),
}


def coverage(design: str, method: str, repetitions: int, seed: int = 0) -> float:
    """Share of repetitions whose interval holds the true mean."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(repetitions):
        interval = METHODS[method](DESIGNS[design](rng), rng)
        assert interval.low is not None and interval.high is not None
        held += interval.low <= TRUTH <= interval.high
    return held / repetitions


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for design_name in DESIGNS:
        for method_name in METHODS:
            print(f"{design_name:34} {method_name:24} {coverage(design_name, method_name, count):.1%}", flush=True)
