"""Sections on calibration: how many queries a mean needs, and what a score is worth as a probability and as a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from observatory.calibration import readings
from observatory.calibration import size as sizes
from observatory.calibration.readings import SEED, Scored, Source
from observatory.calibration.roc import Operating
from observatory.calibration.scores import METHODS, Graded, Reliability
from observatory.calibration.size import Size
from observatory.errors import InputError
from observatory.figures import calibration_footer, numbers, theme
from observatory.figures.calibration_footer import score_interval
from observatory.figures.described import Described
from observatory.figures.half_width import half_width
from observatory.figures.reliability import by_score, reliability
from observatory.figures.roc import drift, roc
from observatory.report import cells
from observatory.report.content import Block, Figure, Section
from observatory.report.margin_sections import COLOURS, figure
from observatory.report.selection import Run, Selected
from observatory.report.tables import table
from observatory.statistics import Interval

MOST_DRAWN, TIMES = 6, 10


def size(chosen: Selected) -> Section:
    """Half-width of each measured mean against the number of queries, and what half of it would need."""
    measured = [s for s in chosen.measured if s.set_id in chosen.rates]
    own = {s.set_id: s for s in measured}
    found = [(source, readings.size_of(chosen.store, source.set_ids, source.wins)) for source in readings.sources(measured, "").values()]
    drawn = [f for source, result in found if (f := _curve(source, result, own[source.set_ids[0]], chosen)) is not None]
    blocks: list[Block] = [
        "Subsamples of whole clusters show how an interval narrows with the number of queries; the projection continues it by the central limit theorem.",
        *drawn[:MOST_DRAWN],
    ]
    if len(drawn) > MOST_DRAWN:
        blocks.append(f"Drawn are the first {MOST_DRAWN} of {numbers.count(len(drawn))} sets; all are in the table.")
    rows = [_size_row(chosen.names[source.set_ids[0]], result) for source, result in found]
    note = f"Subsamples: seed {SEED}. Needed for half of it: queries whose projected 95% interval is half as wide, if mean, spread and clusters stay what they are."
    data = {source.set_ids[0]: _size_data(result) for source, result in found}
    return Section("size", "Benchmark size", (*blocks, table("Benchmark size", rows, note=note)), {"sizes": data})


def _curve(source: Source, result: Size | None, s: Described, chosen: Selected) -> Figure | None:
    if result is None or result.projection is None:
        return None
    half = result.curve[-1].half_width / 2
    needed = sizes.for_half_width(result.projection, half) if half > 0 else None
    n = TIMES * result.observed.n
    drawn = half_width(result, [(n, f"N = {numbers.count(n)}")], source.unit, theme.styles(chosen.sets)[s.set_id].colour, COLOURS)
    return figure(f"Half-width by number of queries: {chosen.names[s.set_id]}", drawn, calibration_footer.of_size(result, f"the {source.label}", needed, half), [s])


def _size_row(name: str, result: Size | None) -> dict[str, str]:
    if result is None or result.projection is None:
        why = result.note if result is not None else numbers.NOT_MEASURED_HERE
        return {"negative set": name, **dict.fromkeys(("queries", "clusters", "half-width", "excludes 0", f"half-width at {TIMES} times the queries", "needed for half of it"), why)}
    o, p, now = result.observed, result.projection, result.curve[-1].half_width
    needed = sizes.for_half_width(p, now / 2) if now > 0 else None
    return {
        "negative set": name, "queries": numbers.count(o.n), "clusters": numbers.count(o.n_clusters), "half-width": f"{now:.4f}",
        "excludes 0": "yes" if p.excludes_zero(o.n) else "no", f"half-width at {TIMES} times the queries": f"{p.half_width(TIMES * o.n):.4f}",
        "needed for half of it": f"{numbers.count(needed.queries)} queries, about {numbers.count(needed.clusters)} clusters" if needed else "nothing: it is 0",
    }


def _size_data(result: Size | None) -> dict[str, Any] | None:
    if result is None:
        return None
    projection = asdict(result.projection) if result.projection is not None else None
    return {"observed": asdict(result.observed), "sigma": result.sigma, "projection": projection, "curve": [asdict(p) for p in result.curve], "note": result.note}


# -- labelled pairs ------------------------------------------------------------------------------------------------------


def with_pairs(chosen: Selected) -> list[Run]:
    """Runs that kept scores of labelled pairs."""
    return [r for r in chosen.runs if r.id in chosen.evaluations and not isinstance(chosen.evaluations[r.id].judged, str)]


def no_pairs(chosen: Selected) -> str:
    return "" if with_pairs(chosen) else "no selected run kept scores of labelled pairs"


def scores(chosen: Selected) -> Section:
    """P(relevant | score), ROC and drift of each run's labelled pairs, relevant from the lowest grade that occurs."""
    blocks: list[Block] = []
    data: dict[str, Any] = {}
    for r in with_pairs(chosen):
        pairs = chosen.store.judged(r.id)
        least = readings.grades(pairs)[0]
        mine = [s for s in chosen.sets if s.artifact_id == r.id]
        try:
            s = readings.scored(chosen.store, r.id, pairs, least)
        except InputError as error:  # scores that no map can take cost this run its curves, and nobody the report
            blocks.append(f"{r.name}: nothing is calibrated: {error.problem}.")
            data[r.id] = {"note": error.problem}
            continue
        blocks += [f"{r.name}: {_pool(s.graded)} Measured against what: {cells.context(s.context)}.", *_reliability(r, s, mine)]
        pooled, domains, _, context, metric = readings.operating(chosen.store, r.id, pairs, least)
        if pooled.fpr.size:
            blocks.append(figure(f"ROC: {r.name}", roc(pooled, domains, None, COLOURS), calibration_footer.of_roc(pooled, context), mine))
            blocks.append(figure(f"Equal-error threshold by domain: {r.name}", drift(domains, pooled, metric, None, COLOURS), calibration_footer.of_drift(domains), mine))
        note = f"Intervals resample clusters (seed {SEED}), a domain and the pool together; none under 10 clusters."
        blocks.append(table(f"Operating points: {r.name}", [_point(d, d is pooled) for d in (pooled, *domains)], note=note))
        data[r.id] = {"maps": {m: _quality_data(q) for m, q in s.maps.items()}, "operating": [_point_data(d) for d in (pooled, *domains)]}
    return Section("scores", "Scores as probabilities and thresholds", tuple(blocks), data)


def _pool(g: Graded) -> str:
    drawn = f" Of {numbers.count(g.n_all)} pairs, whole clusters were drawn at random up to these (seed {SEED})." if g.n < g.n_all else ""
    return (
        f"{numbers.count(g.n)} labelled pairs in {numbers.count(g.n_clusters)} clusters; relevant is grade {g.least_grade} or more: {cells.rate(g.prevalence)} "
        f"of them. Another prevalence moves every curve.{drawn}"
    )


def _reliability(r: Run, s: Scored, mine: Sequence[Described]) -> list[Block]:
    if s.note:
        return [f"Nothing is calibrated: {s.note}."]
    method = METHODS[0]
    best = s.maps[method]
    series = [(f"{method} map, cross-fitted", best.bins), *([("raw score", s.raw.bins)] if s.raw is not None else [])]
    foot = calibration_footer.of_scores(s.graded, best, method, s.context)
    curves = by_score(s.bins, s.curves, s.graded.prevalence.estimate, s.metric, COLOURS)
    rows = [_quality(f"{m} map, cross-fitted", q) for m, q in s.maps.items()]
    rows.append(_quality(s.raw_note, s.raw) if s.raw is not None else {**dict.fromkeys(rows[0], "not applicable"), "probabilities": s.raw_note})
    note = f"Maps are fitted on other clusters (5 folds, seed {SEED}); ECE over 10 equal-mass bins. ECE never averages to 0: beside it stands what exactly right probabilities would show."
    return [
        figure(f"Predicted and observed relevance: {r.name}", reliability(series, COLOURS), foot, mine),
        figure(f"Relevance by score: {r.name}", curves, foot, mine), table(f"Quality of the probabilities: {r.name}", rows, note=note),
    ]


def _quality(name: str, q: Reliability) -> dict[str, str]:
    return {
        "probabilities": name, "ECE [95%]": score_interval(q.ece), "ECE if exactly right": f"{q.floor:.4f}", "Brier [95%]": score_interval(q.brier),
        "Brier of the prevalence": f"{q.baseline:.4f}",
    }


def _quality_data(q: Reliability) -> dict[str, Any]:
    return {"ece": asdict(q.ece), "brier": asdict(q.brier), "floor": q.floor, "baseline": q.baseline}


def _point(d: Operating, pooled: bool) -> dict[str, str]:
    one = "one class only"
    return {
        "domain": d.name, "pairs": numbers.count(d.n), "relevant": f"{numbers.count(d.n_relevant)} ({numbers.rate(d.n_relevant / d.n)})", "clusters": numbers.count(d.n_clusters),
        "AUC [95%]": _score(d.auc), "equal error [95%]": cells.rate(d.eer) if d.eer else one, "its threshold [95%]": _score(d.threshold),
        "threshold minus pooled [95%]": "is the pooled one" if pooled else cells.margin(d.drift) if d.drift else one, "mark": d.note or "none",
    }


def _score(i: Interval | None) -> str:
    return "one class only" if i is None else score_interval(i)


def _point_data(d: Operating) -> dict[str, Any]:
    intervals = {name: asdict(i) if (i := getattr(d, name)) is not None else None for name in ("auc", "eer", "threshold", "drift")}
    return {"name": d.name, "n": d.n, "n_relevant": d.n_relevant, "n_clusters": d.n_clusters, "note": d.note, **intervals}
