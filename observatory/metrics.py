"""Retrieval metrics on full rankings, and scores of labelled pairs: each with what defines its comparison set and labels.

The metrics are ir-measures' (trec_eval underneath). It is given each query's ranking down to the largest cutoff, and to
the last relevant item where a measure has no cutoff; none looks further, so the values are those of the full ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from observatory import statistics
from observatory.descriptor import NOT_APPLICABLE, NOT_MEASURED, EvaluationContext
from observatory.errors import InputError
from observatory.summary import interval_record
from observatory.tables import MEASURED, UNSCORED

FAMILIES = ("nDCG", "AP", "RR", "R", "P", "Success", "Rprec", "Judged")
"""Measures that need the ranking no further than the last relevant item and the cutoff."""
LARGEST = 10**9
"""Of cutoffs and grades: trec_eval keeps them in machine integers and says nothing where one does not fit."""
NO_RELEVANT = "no relevant judgment"
TIES = "equal scores rank in the order of the corpus"
MISSING = "every query is ranked against the whole pool; queries without a relevant judgment are excluded and counted"


# -- names -------------------------------------------------------------------------------------------------------------


def measure(name: str) -> Any:
    """ir-measures' measure of that name (MRR, MAP and Recall@k are aliases); InputError where it is not offered."""
    import ir_measures

    mend = "write for example nDCG@10, RR, R@5, AP, P@10, Success@1, Rprec or Judged@10"
    try:
        found = ir_measures.parse_measure(name.strip())
    except (ValueError, NameError, KeyError, SyntaxError, TypeError) as error:
        raise InputError("is no metric", value=name, mend=mend) from error
    cutoff, whole = found.params.get("cutoff"), [found.params[p] for p in ("cutoff", "rel") if p in found.params]
    usable = all(type(v) is int and 1 <= v <= LARGEST for v in whole)
    if found.NAME not in FAMILIES or set(found.params) - {"cutoff", "rel"} or not usable:
        raise InputError("is no metric that is offered here", value=name, mend=mend)
    if found.NAME in ("R", "P", "Success", "Judged") and cutoff is None:
        raise InputError("needs a cutoff", value=name, mend=f"write {found.NAME}@10")
    return found


def parse_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as they will be shown; one that is named twice, under whatever alias, is an InputError."""
    found = [str(measure(name)) for name in names]
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise InputError("the metric is named twice", value=twice[0], mend="name each metric once")
    return tuple(found)


def context(name: str, n_items: int) -> EvaluationContext:
    """What defines the comparison set and the labels of one metric."""
    found = measure(name)
    lowest = found.params.get("rel", 1)
    gain = "the grade itself (linear), discount log2(rank + 1)" if found.NAME == "nDCG" else "1 for a relevant item, else 0"
    return EvaluationContext(
        candidate_pool=f"the whole corpus ({n_items:,} items), nothing left out",
        relevance_definition=f"grade >= {lowest}; an unjudged item counts as not relevant", gain=gain,
        cutoff=found.params["cutoff"] if "cutoff" in found.params else "not_applicable", tie_policy=TIES,
        missing_queries_policy=MISSING + (f"; one whose judgments are all below grade {lowest} counts as 0" if lowest > 1 else ""),
    )


def judged_context(n_items: int) -> EvaluationContext:
    """The pool of calibration: labelled pairs only, so its prevalence is the benchmark's and not that of a search."""
    return EvaluationContext(
        candidate_pool=f"labelled pairs only: positives, items judged with grade 0, and designated negatives (corpus of {n_items:,} items)",
        relevance_definition="grade >= 1; the screen may ask for more; a designated negative has grade 0",
        gain=NOT_APPLICABLE, cutoff="not_applicable", tie_policy="equal scores fall into one bin",
        missing_queries_policy="queries without a labelled pair add nothing",
    )


# -- values ------------------------------------------------------------------------------------------------------------


def depth(measures: Sequence[Any], last_relevant: Callable[[], int]) -> int:
    """How many ranks the measures look at: the largest cutoff and, where one has no cutoff, the last relevant item's rank."""
    cutoffs = [m.params.get("cutoff") for m in measures]
    return max([c or 0 for c in cutoffs] + ([last_relevant()] if None in cutoffs else []), default=0)


def values(measures: Sequence[Any], grades: Mapping[str, int], ranked: Sequence[str]) -> dict[str, float]:
    """One query's value of each measure, in their order. ``grades``: judgments; ``ranked``: item ids, best first, deep enough."""
    import ir_measures

    # Ranks instead of scores: trec_eval orders ties by id, and ours go by the corpus. Numbers instead of ids: it ends an id
    # at a NUL, takes two that agree so far for one, and reads beyond its memory then.
    number = {item: str(n) for n, item in enumerate(dict.fromkeys([*ranked, *grades]))}
    run = {"q": {number[item]: -float(rank) for rank, item in enumerate(ranked)}}
    judged = {"q": {number[item]: grade for item, grade in grades.items()}}
    found = {str(m.measure): float(m.value) for m in ir_measures.iter_calc(measures, judged, run)}
    return {str(m): found[str(m)] for m in measures}  # ir-measures goes through a set: another order in every process


# -- numbers of a record, from rows ------------------------------------------------------------------------------------


def accounting(rows: pa.Table) -> dict[str, Any]:
    """attempted = scored + excluded + failed, from the ``attempts`` rows of a run."""
    outcomes, reasons = rows["outcome"].to_pylist(), [r for r in rows["reason"].to_pylist() if r is not None]
    return {
        "n_attempted": len(outcomes), "n_scored": outcomes.count(MEASURED),
        **{f"n_{word}": outcomes.count(word) for word in UNSCORED},
        "reasons": {reason: reasons.count(reason) for reason in sorted(set(reasons))},
    }


def metric_numbers(name: str, rows: pa.Table) -> dict[str, Any]:
    """Mean, n and interval of one metric from its rows."""
    mine = rows.filter(pc.equal(rows["metric"], name))
    found = mine["value"].to_numpy()
    if found.size == 0:
        return {"mean": NOT_MEASURED, "n": 0, "mean_ci": NOT_MEASURED}
    interval = statistics.cluster_mean(found, np.asarray(mine["cluster_id"].to_pylist()))
    return {"mean": float(found.mean()), "n": int(found.size), "mean_ci": interval_record(interval)}


def judged_numbers(rows: pa.Table) -> dict[str, int]:
    return {"n": rows.num_rows, "n_relevant": int(pc.sum(pc.greater_equal(rows["grade"], 1)).as_py() or 0)}


def numbers(metrics: Sequence[str], tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """Every number of an :class:`Evaluation` that is computed from rows; written by a run, recomputed at ingest."""
    clusters = {c for c, o in zip(tables["attempts"]["cluster_id"].to_pylist(), tables["attempts"]["outcome"].to_pylist(), strict=True) if o == MEASURED}
    return {
        "accounting": accounting(tables["attempts"]),
        "clusters": {"n_clusters": len(clusters)},
        "metrics": {name: metric_numbers(name, tables["metrics"]) for name in metrics},
        "judged": judged_numbers(tables["judged"]) if tables["judged"].num_rows else NOT_APPLICABLE,
    }
