"""From rows to a descriptor's numbers. A run writes these numbers and ingest recomputes them: one piece of code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from observatory import statistics
from observatory.descriptor import NOT_APPLICABLE, NOT_MEASURED
from observatory.tables import SCORED

Plain = dict[str, Any]
PAIRWISE_METHODS = ("structured_perturbation", "entity_matched", "lexical_overlap_matched")


def of_rule(table: pa.Table, rule: str) -> pa.Table:
    return table.filter(pc.equal(table["rule"], rule))


def scored(margins: pa.Table) -> pa.Table:
    return margins.filter(pc.is_in(margins["outcome"], pa.array(SCORED)))


def accounting(margins: pa.Table) -> Plain:
    """attempted = scored + excluded + failed, with the reasons of the last two."""
    outcomes = margins["outcome"].to_pylist()
    reasons = [r for r in margins["reason"].to_pylist() if r is not None]
    return {
        "n_attempted": len(outcomes),
        "n_scored": sum(o in SCORED for o in outcomes),
        "n_excluded": outcomes.count("excluded"),
        "n_failed": outcomes.count("failed"),
        "reasons": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
    }


def outcomes(margins: pa.Table) -> Plain:
    """Mean, median, tails and counts of one rule's scored margins. Quantiles are linear (Hyndman-Fan type 7)."""
    rows = scored(margins)
    values = rows["margin"].to_numpy()
    n = len(values)
    if n == 0:
        unmeasured = (
            "mean_margin", "median_margin", "fraction_margin_le_zero", "selected_positive_win_rate", "p05", "p10", "mean_ci"
        )
        return {
            "n_queries": 0, **dict.fromkeys(unmeasured, NOT_MEASURED), "n_lt_zero": 0, "n_eq_zero": 0, "n_gt_zero": 0
        }
    wins, ties = int((values > 0).sum()), int((values == 0).sum())
    p05, p10, median = (float(q) for q in np.quantile(values, [0.05, 0.10, 0.5]))
    return {
        "n_queries": n, "mean_margin": float(values.mean()), "median_margin": median,
        "fraction_margin_le_zero": (n - wins) / n, "selected_positive_win_rate": wins / n, "p05": p05, "p10": p10,
        "n_lt_zero": n - wins - ties, "n_eq_zero": ties, "n_gt_zero": wins,
        "mean_ci": interval_record(statistics.cluster_mean(values, np.asarray(rows["cluster_id"].to_pylist()))),
    }


def interval_record(interval: statistics.Interval) -> Plain:
    """An interval as the descriptor holds it."""
    absent = interval.low is None
    return {
        "low": NOT_APPLICABLE if absent else interval.low, "high": NOT_APPLICABLE if absent else interval.high,
        "level": interval.level, "method": interval.method, "resamples": NOT_APPLICABLE, "seed": NOT_APPLICABLE,
        "note": interval.note,
    }


def n_clusters(margins: pa.Table) -> int:
    """Clusters among the scored queries."""
    return len(set(scored(margins)["cluster_id"].to_pylist()))


def strata(method: str, pairwise: pa.Table) -> Plain:
    """Mean pairwise margin by relation: one row for each designated negative. Mined sets have none."""
    if method not in PAIRWISE_METHODS:
        return {}
    relations, values = np.asarray(pairwise["relation"].to_pylist()), pairwise["margin"].to_numpy()
    return {
        str(relation): {
            "n": int((relations == relation).sum()),
            "mean_pairwise_margin": float(values[relations == relation].mean()),
        }
        for relation in sorted(set(relations.tolist()))
    }


def expectation(method: str, draws: pa.Table) -> Plain | str:
    """Exact mean, win rate and standard deviation of the mean over all draws of a random set."""
    if method != "random" or draws.num_rows == 0:
        return NOT_APPLICABLE
    n = draws.num_rows
    return {
        "mean_margin": float(draws["expected_margin"].to_numpy().mean()),
        "win_rate": float(draws["win_rate"].to_numpy().mean()),
        "sd_of_mean_margin": float(np.sqrt(draws["variance"].to_numpy().sum()) / n),
    }


def measured(method: str, rule: str, tables: Mapping[str, pa.Table]) -> Plain:
    """Every descriptor field that is computed from one rule's rows."""
    margins = of_rule(tables["margins"], rule)
    return {
        "accounting": accounting(margins),
        "outcomes": outcomes(margins),
        "expectation": expectation(method, of_rule(tables["draws"], rule)),
        "strata": strata(method, of_rule(tables["pairwise"], rule)),
    }
