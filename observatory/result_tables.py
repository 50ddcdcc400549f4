"""Comparisons and strata as rows of unrounded numbers, for other tools; what is missing is written, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from observatory.descriptor import NOT_MEASURED
from observatory.paired import NO_UNIT, Paired
from observatory.statistics import Interval
from observatory.strata import PairedStratum, Stratum

Cell = str | int | float
Row = dict[str, Cell]
ALIKE, NOT_ABOVE = "the differences do not vary", "the other mean is not above 0"


def comparisons(found: Sequence[Paired], corrected: Mapping[str, tuple[float, float]], means: Mapping[str, float | str]) -> pd.DataFrame:
    """One row a comparison.

    ``corrected``: Holm and Bonferroni p by the other set, as :func:`observatory.paired.family` gives them. ``means``: the mean margin of
    each set by id, as its descriptor states it.
    """
    rows: list[Row] = []
    for c in found:
        why = NOT_MEASURED if c.same_unit else NO_UNIT
        adjusted = corrected.get(c.other)
        row: Row = {"baseline_set_id": c.baseline, "other_set_id": c.other, "instrument": c.verdict, "n_pairs": c.n, "n_clusters": c.n_clusters}
        row |= {"baseline_mean_margin": means[c.baseline], "other_mean_margin": means[c.other]}
        row |= _interval("mean_difference", c.mean, why)
        row |= {"cohens_d": _cell(c.d, ALIKE if c.mean else why), "ratio_of_means": _cell(c.ratio, _no_ratio(c, means[c.other]))}
        row |= {"n_better": _cell(c.better), "n_equal": _cell(c.equal), "n_worse": _cell(c.worse), "counted": "margins" if c.same_unit else "outcomes"}
        row |= {"p": _cell(c.test.p if c.test else None), "p_holm": _cell(adjusted[0] if adjusted else None)}
        row |= {"p_bonferroni": _cell(adjusted[1] if adjusted else None), "test": f"{c.test.method}, {c.test.resamples} flips" if c.test else NOT_MEASURED}
        rows.append(row | {"family": len(corrected)})
    return pd.DataFrame(rows)


def strata(found: Sequence[Stratum], by: str, pairwise: bool) -> pd.DataFrame:
    """One row a stratum and set. The column of means says which aggregation it is: pairwise, or to the hardest negative."""
    name = "mean_pairwise_margin" if pairwise else "mean_margin"
    return pd.DataFrame(
        [
            {"set_id": s.set_id, "stratified_by": by, "stratum": s.name, "n": s.mean.n, "n_clusters": s.mean.n_clusters}
            | _interval(name, s.mean) | _interval("win_rate", s.wins) | {"mark": s.small or "none"}
            for s in found
        ]
    )  # fmt: skip


def paired_strata(found: Sequence[PairedStratum], by: str, sets: tuple[str, str], pairwise: bool, same_unit: bool) -> pd.DataFrame:
    """One row a stratum of two sets, ``sets`` being baseline and other."""
    unit = f"{'pairs' if pairwise else 'queries'} by {'margin' if same_unit else 'outcome'}"
    return pd.DataFrame(
        [
            {"baseline_set_id": sets[0], "other_set_id": sets[1], "stratified_by": by, "stratum": s.name, "n": s.n, "n_clusters": s.n_clusters, "counted": unit}
            | _interval("mean_difference", s.delta, NO_UNIT) | _interval("helped", s.helped) | _interval("hurt", s.hurt)
            | {"wins_gained": s.gained, "wins_lost": s.lost, "mark": s.small or "none"}
            for s in found
        ]
    )  # fmt: skip


def _interval(name: str, found: Interval | None, why: str = NOT_MEASURED) -> Row:
    if found is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high", f"{name}_interval"), why)
    missing = found.note or NOT_MEASURED
    return {
        name: found.estimate, f"{name}_low": _cell(found.low, missing), f"{name}_high": _cell(found.high, missing),
        f"{name}_interval": f"{found.level:g} {found.method}" if found.low is not None else missing,
    }


def _no_ratio(c: Paired, mean: float | str) -> str:
    """Why there is no ratio, where there is none."""
    if not c.same_unit:
        return NO_UNIT
    return NOT_ABOVE if isinstance(mean, float) and mean <= 0 else NOT_MEASURED


def _cell(value: float | int | None, why: str = NOT_MEASURED) -> Cell:
    return why if value is None else value
