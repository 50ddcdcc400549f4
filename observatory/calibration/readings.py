"""From a store's rows to calibrations: what the screens cache and the report writes down. Every draw starts from ``SEED``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from observatory import paired
from observatory.calibration import roc, scores, size
from observatory.calibration.roc import Operating
from observatory.calibration.scores import Bin, Graded, Reliability
from observatory.calibration.size import Size
from observatory.descriptor import EvaluationContext
from observatory.errors import InputError
from observatory.figures.described import Described, labels
from observatory.store import Store

SEED, CURVE_POINTS = 0, 200


@dataclass(frozen=True)
class Source:
    """What the size of a benchmark is asked about: a mean margin, or a paired difference of margins or of wins."""

    key: str
    label: str
    unit: str
    set_ids: tuple[str, ...]
    wins: bool = False


@dataclass(frozen=True)
class Scored:
    """Scores of one artifact's labelled pairs: reliability of each map and of the raw scores; ``note`` says why there is none."""

    graded: Graded
    context: EvaluationContext
    metric: str
    note: str
    maps: dict[str, Reliability]
    raw: Reliability | None
    raw_note: str
    bins: tuple[Bin, ...]
    curves: tuple[tuple[str, list[float], list[float]], ...]


def sources(sets: Sequence[Described], baseline: str) -> dict[str, Source]:
    """Every measured set's mean, then each other set against the baseline. Two scorers are compared by their wins under one rule."""
    measured = [s for s in sets if not s.published]
    names = labels(sets)
    found = [Source(s.set_id, f"mean margin under {names[s.set_id]}", s.metric, (s.set_id,)) for s in measured]
    base = next((s for s in measured if s.set_id == baseline), None)
    if base is None:
        return {s.key: s for s in found}
    for s in [s for s in measured if s.set_id != baseline]:
        unit = paired.same_unit(base.descriptor, s.descriptor, base.artifact_id == s.artifact_id)
        if unit or base.rule == s.rule:
            what = "mean margin" if unit else "win rate"
            label = f"difference in {what}: {names[s.set_id]} minus {names[base.set_id]}"
            found.append(Source(f"{s.set_id} minus {baseline}", label, s.metric if unit else "share of queries", (baseline, s.set_id), not unit))
    return {s.key: s for s in found}


def size_of(store: Store, set_ids: Sequence[str], wins: bool) -> Size | None:
    """The size curve of a source: one set's margins, or two sets' differences; None where no query was measured, or none in both."""
    if len(set_ids) == 1:
        rows = store.margins_of(set_ids[0])
        values, clusters = rows["margin"].to_numpy(), pd.factorize(rows["cluster_id"])[0]
    else:
        rows = store.pairs(set_ids[0], set_ids[1])
        before, after = rows["before"].to_numpy(), rows["after"].to_numpy()
        values, clusters = (after > 0) * 1.0 - (before > 0) if wins else after - before, rows["cluster"].to_numpy()
    return size.measure(values, clusters, np.random.default_rng(SEED)) if len(rows) else None


def grades(pairs: pd.DataFrame) -> list[int]:
    """Grades from which an item can count as relevant: those that occur, from 1 on."""
    return sorted({int(g) for g in pairs["grade"].unique() if g >= 1}) or [1]


def scored(store: Store, artifact_id: str, pairs: pd.DataFrame, least_grade: int) -> Scored:
    """Maps from score to probability on labelled pairs (rows of ``Store.judged``), each judged on clusters it never saw."""
    g, context, metric = graded(store, artifact_id, pairs, least_grade)
    rng = np.random.default_rng(SEED)
    if g.lacking:
        return Scored(g, context, metric, g.lacking, {}, None, "", (), ())
    folds = scores.folds(g.clusters, rng)
    try:
        fitted = {m: scores.cross_fit(g, m, folds) for m in scores.METHODS}
    except InputError as error:
        return Scored(g, context, metric, str(error), {}, None, "", (), ())
    maps: dict[str, Reliability] = {m: scores.reliability(p, g.relevant, g.clusters, rng) for m, p in fitted.items()}
    plain, raw_note = scores.as_probability(g.score, metric)
    raw = scores.reliability(plain, g.relevant, g.clusters, rng) if plain is not None else None
    grid = np.linspace(g.score.min(), g.score.max(), CURVE_POINTS)
    curves = tuple((m, grid.tolist(), scores.fit(m, g.score, g.relevant)(grid).tolist()) for m in scores.METHODS)
    return Scored(g, context, metric, "", maps, raw, raw_note, scores.binned(g.score, g.relevant, g.clusters), curves)


def operating(
    store: Store, artifact_id: str, pairs: pd.DataFrame, least_grade: int
) -> tuple[Operating, tuple[Operating, ...], Graded, EvaluationContext, str]:
    """ROC of all pairs and of each domain, with the pairs, their context and the score's metric."""
    g, context, metric = graded(store, artifact_id, pairs, least_grade)
    return (*roc.operating(g, np.random.default_rng(SEED)), g, context, metric)


def graded(store: Store, artifact_id: str, pairs: pd.DataFrame, least_grade: int) -> tuple[Graded, EvaluationContext, str]:
    """Labelled pairs of a run with their context and the score's metric; InputError where it kept none."""
    found = store.evaluation(artifact_id)
    if found is None or isinstance(found.judged, str):
        raise InputError("this run kept no scores of labelled pairs", value=artifact_id, mend="run it again")
    g = scores.graded(pairs, least_grade, np.random.default_rng(SEED))
    return g, found.judged.context, found.scorer.metric
