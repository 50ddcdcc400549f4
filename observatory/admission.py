"""Which artifacts are believed: outcomes are recomputed from the rows, and one that disagrees is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from observatory import artifacts, evaluation_rows, metrics, summary
from observatory.artifacts import Artifact
from observatory.descriptor import walk
from observatory.errors import DescriptorRefused, InputError, ObservatoryError
from observatory.tables import SCORED, UNSCORED

TOLERANCE = 1e-9  # sums may be taken in another order on another machine


def admit(folder: Path) -> Artifact:
    """Read, verify and recompute. Raises what :func:`artifacts.read` raises, and DescriptorRefused for numbers."""
    try:
        artifact = artifacts.read(folder)
        faults = list(_row_faults(artifact)) if artifact.kind == "measurement" else []
        faults = faults or list(_number_faults(artifact))
    except (ObservatoryError, MemoryError):
        raise
    except Exception as error:  # a hostile file finds a way that nobody thought of: it is refused, and the store lives on
        raise InputError(f"cannot be read: {type(error).__name__}: {str(error)[:200]}", file=folder, mend="restore the artifact") from error
    if faults:
        raise DescriptorRefused(folder, faults)
    return artifact


def _number_faults(artifact: Artifact) -> Iterator[str]:
    if artifact.kind == "summary":
        return
    if artifact.evaluation:
        yield from _evaluation_faults(artifact)
    for rule, descriptor in artifact.descriptors.items():
        computed = summary.measured(descriptor.mining.method, rule, artifact.tables)
        computed["clusters"] = {"n_clusters": summary.n_clusters(summary.of_rule(artifact.tables["margins"], rule))}
        stated = descriptor.model_dump()
        stated["clusters"] = {"n_clusters": stated["clusters"]["n_clusters"]}
        yield from _differences(f"margin_sets.{rule}.descriptor", stated, computed)


def _evaluation_faults(artifact: Artifact) -> Iterator[str]:
    assert artifact.evaluation is not None
    stated = artifact.evaluation.model_dump()
    computed = metrics.numbers(list(artifact.evaluation.metrics), artifact.tables)
    stated["clusters"] = {"n_clusters": stated["clusters"]["n_clusters"]}
    for record in (*stated["metrics"].values(), *([stated["judged"]] if isinstance(stated["judged"], dict) else [])):
        del record["context"]
    yield from _differences("evaluation", stated, computed)


def _differences(where: str, stated: dict[str, Any], computed: dict[str, Any]) -> Iterator[str]:
    left, right = (dict(walk({key: d[key] for key in computed})) for d in (stated, computed))
    for path in sorted(left.keys() | right.keys()):
        if not _agree(left.get(path), right.get(path)):
            yield f"{where}.{path}: is {left.get(path)!r}, the rows give {right.get(path)!r}"


def _agree(stated: Any, computed: Any) -> bool:
    if isinstance(stated, float) and isinstance(computed, float):
        return abs(stated - computed) <= TOLERANCE
    return bool(stated == computed)


def _row_faults(artifact: Artifact) -> Iterator[str]:
    tables = artifact.tables
    rules = list(artifact.descriptors)
    for name in ("margins", "pairwise", "draws"):
        strangers = sorted(set(tables[name]["rule"].to_pylist()) - set(rules))
        if strangers:
            yield f"{name}.parquet: holds rows of {', '.join(strangers)}, which no descriptor describes"
    yield from _text_faults(artifact)
    if artifact.evaluation:
        yield from evaluation_rows.faults(artifact.evaluation, artifact.descriptors, tables)
    known = tables["queries"]["query_id"].to_pylist()
    for rule in rules:
        margins = summary.of_rule(tables["margins"], rule)
        if margins["query_id"].to_pylist() != known:
            yield f"margins.parquet: {rule} does not have exactly one row for each attempted query, in order"
            continue
        yield from _margin_faults(rule, margins, summary.of_rule(tables["pairwise"], rule))


def _text_faults(artifact: Artifact) -> Iterator[str]:
    """One text for each query and each item that a row mentions: a margin leads back to its sentences, once."""
    tables = artifact.tables
    for name, column in (("queries", "query_id"), ("items", "item_id")):
        if len(pc.unique(tables[name][column])) != tables[name].num_rows:
            yield f"{name}.parquet: an id stands twice"
    mentioned = [tables["margins"]["reference_item_id"], tables["margins"]["hardest_item_id"], tables["pairwise"]["negative_item_id"]]
    lacking = set().union(*(pc.unique(c).to_pylist() for c in mentioned)) - {None} - set(tables["items"]["item_id"].to_pylist())
    if lacking:
        yield f"items.parquet: has no text of {len(lacking)} item(s) that are mentioned, such as {min(lacking)}"
    for rule, descriptor in artifact.descriptors.items():
        pairwise = summary.of_rule(tables["pairwise"], rule)
        if descriptor.mining.method in summary.PAIRWISE_METHODS and pairwise["relation"].null_count:
            yield f"pairwise.parquet: {rule} has designated negatives without a relation"


def _margin_faults(rule: str, margins: pa.Table, pairwise: pa.Table) -> Iterator[str]:
    """The invariants of one rule's rows, to the bit; each names the first query that breaks it."""
    ids = margins["query_id"].to_pylist()
    rows = {query_id: i for i, query_id in enumerate(ids)}
    owner = np.array([rows.get(q, -1) for q in pairwise["query_id"].to_pylist()], dtype=np.int64)
    if (owner < 0).any():
        yield f"pairwise.parquet: {rule} has negatives of queries that were not attempted"
        return
    for problem, broken in _invariants(margins, pairwise, owner):
        at = np.flatnonzero(broken)
        if at.size:
            yield f"margins.parquet: {rule}, query {ids[at[0]]}: {problem}"


def _invariants(margins: pa.Table, pairwise: pa.Table, owner: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Each rule that a row must keep, and which rows break it."""
    outcomes = np.array(margins["outcome"].to_pylist(), dtype=object)
    reference, hardest, margin = (_floats(margins[c]) for c in ("reference_score", "hardest_score", "margin"))
    is_scored, is_unscored = np.isin(outcomes, SCORED), np.isin(outcomes, UNSCORED)
    n = len(outcomes)
    count = np.bincount(owner, minlength=n)
    score, pair_margin = _floats(pairwise["score"]), _floats(pairwise["margin"])
    top = np.full(n, -np.inf)
    np.maximum.at(top, owner, score)
    named = margins["hardest_item_id"].to_pylist()
    is_hardest = np.array(
        [named[i] == item for i, item in zip(owner, pairwise["negative_item_id"].to_pylist(), strict=True)], dtype=bool
    ) & (score == hardest[owner])
    reasons = np.array([bool(r) for r in margins["reason"].to_pylist()], dtype=bool)
    finite = np.isfinite(reference) & np.isfinite(hardest) & np.isfinite(margin)
    signs = np.where(margin > 0, "win", np.where(margin == 0, "tie", "loss"))
    yield "unknown outcome", ~(is_scored | is_unscored)
    yield "an unscored row needs a reason", is_unscored & ~reasons
    yield "an unscored row has no margin and no negatives", is_unscored & (~np.isnan(margin) | (count > 0))
    yield "a scored row needs finite scores", is_scored & ~finite
    yield "margin is not reference_score - hardest_score", is_scored & (reference - hardest != margin)
    yield "the outcome is not the sign of the margin", is_scored & (outcomes != signs)
    yield "n_negatives is not the number of pairwise rows", _floats(margins["n_negatives"]) != count
    yield "hardest_score is not the highest of the pairwise rows", is_scored & (top != hardest)
    wrong_pair = np.bincount(owner, weights=reference[owner] - score != pair_margin, minlength=n) > 0
    yield "a pairwise margin is not reference_score - score", is_scored & wrong_pair
    yield "hardest_item_id is not the hardest negative", is_scored & (np.bincount(owner, weights=is_hardest, minlength=n) == 0)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column as float64 with NaN for null."""
    return np.asarray(column.to_numpy(), dtype=np.float64)
