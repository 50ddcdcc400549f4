"""Bin widths that people can read: a round number, 40 to 60 bins over the data, zero always an edge."""

from __future__ import annotations

import math

STEPS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
WANTED = 50


def nice_width(low: float, high: float, wanted: int = WANTED) -> float:
    """The round width nearest to ``wanted`` bins over [low, high]; zero counts as part of the range.

    Raises ValueError for bounds that are not finite or in the wrong order.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or wanted < 1:
        raise ValueError(f"no range: {low} to {high} in {wanted} bins")
    raw = (max(high, 0.0) - min(low, 0.0)) / wanted
    if raw <= 0:
        return 0.01
    power = math.floor(math.log10(raw))
    choices = [float(f"{step}e{exponent}") for exponent in (power - 1, power, power + 1) for step in STEPS]
    return min(choices, key=lambda width: abs(math.log(width / raw)))
