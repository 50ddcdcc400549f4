"""THE margin. It is computed here and nowhere else.

margin(q, S) = score(q, p0) - max over n in S(q) of score(q, n); win iff > 0, strictly; 0 is a tie and not a win.
Source: seed 000, "The experimental unit and the margin"; DESIGN D7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Outcome = Literal["win", "tie", "loss", "excluded", "failed"]
EMPTY_SET = "empty negative set"


@dataclass(frozen=True, slots=True)
class Margin:
    """One query's margin; ``hardest`` is a position in the negative set."""

    value: float
    hardest: int
    hardest_score: float
    outcome: Outcome


def difference(reference_score: float, negative_score: float) -> float:
    """score(q, p0) - score(q, n), in float64; NaN and infinities are a ValueError."""
    value = float(reference_score) - float(negative_score)
    if not np.isfinite(value):
        raise ValueError(f"a margin needs finite scores, got {reference_score!r} and {negative_score!r}")
    return value


def outcome(value: float) -> Outcome:
    """win, tie or loss, strictly."""
    return "win" if value > 0 else "tie" if value == 0 else "loss"


def margin(reference_score: float, negative_scores: NDArray[np.float64]) -> Margin:
    """The margin to the hardest of a non-empty negative set (ties: the first in the order given)."""
    if negative_scores.size == 0:
        raise ValueError("a margin needs at least one negative")
    hardest = int(np.argmax(negative_scores))
    value = difference(reference_score, negative_scores[hardest])
    return Margin(value, hardest, float(negative_scores[hardest]), outcome(value))


@dataclass(frozen=True, slots=True)
class RandomExpectation:
    """One query's exact distribution over all draws of k: mean and variance of the margin, chance of a win."""

    mean: float
    variance: float
    win_rate: float


def random_expectation(reference_score: float, pool_scores: NDArray[np.float64], k: int) -> RandomExpectation:
    """Exact over all draws of ``k`` without replacement from a pool (all of it where it is smaller).

    With pool scores sorted ascending, the maximum of k of n is the i-th with probability C(i-1, k-1) / C(n, k).
    """
    n = pool_scores.size
    if n == 0:
        raise ValueError("an expectation needs a pool of at least one")
    k = min(k, n)
    ordered = np.sort(pool_scores)
    probability = _chance_of_maximum(n, k)
    values = reference_score - ordered
    mean = float(probability @ values)
    variance = float(probability @ (values - mean) ** 2)
    below = int(np.searchsorted(ordered, reference_score, side="left"))
    return RandomExpectation(mean, variance, float(probability[:below].sum()))


@lru_cache(maxsize=64)
def _chance_of_maximum(n: int, k: int) -> NDArray[np.float64]:
    """(n,) chance that the i-th smallest of n is the largest of k drawn. Kept: pools of one size come by the thousand."""
    probability = np.exp(_log_choose(np.arange(n), k - 1) - _log_choose(np.array([n]), k))
    probability /= probability.sum()  # removes the rounding of the logarithms
    probability.setflags(write=False)
    return probability


def _log_choose(n: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """log C(n, k) elementwise; -inf where n < k."""
    safe = np.maximum(n, k)
    return np.where(n >= k, gammaln(safe + 1.0) - gammaln(k + 1.0) - gammaln(safe - k + 1.0), -np.inf)
