"""The tabs Scores and ROC and drift: what a score is worth as a probability, and where each domain would cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory import exports
from observatory.calibration.roc import Operating
from observatory.calibration.scores import METHODS, Bin, Graded, Reliability
from observatory.descriptor import EvaluationContext
from observatory.figures import calibration_footer, numbers
from observatory.figures.calibration_footer import score_interval
from observatory.figures.described import Described
from observatory.figures.numbers import count
from observatory.figures.reliability import by_score, reliability
from observatory.figures.roc import drift, roc
from observatory.statistics import Interval
from observatory.ui import calibration_readers as found
from observatory.ui import chart, compare_tables, picker, published_view, readers, states, url, words
from observatory.ui.calibration_readers import SEED, Scored
from observatory.ui.text import plain

FIGURES = ("reliability", "P(relevant | score)")
NONE = "none"


def scores(sets: Sequence[Described]) -> None:
    """P(relevant | score): the map's reliability, or the map itself."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = _asked(sets)
        if at is None:
            return
        method = url.choice("map", "Map", METHODS)
        kind = url.choice("curve", "Figure", FIGURES)
    artifact_id, least, mine = at
    s = found.scored(artifact_id, least)
    st.text(_pool(s.graded))
    if s.note:
        st.info(plain(f"Nothing is calibrated: {s.note}."))
    else:
        _figure(s, method, kind, mine)
        compare_tables.show(_qualities(s), key="score quality")
        st.text(
            f"Maps are fitted on the other folds (5, whole clusters, seed {SEED}); ECE over 10 equal-mass bins. Intervals resample clusters and keep the fits. ECE never "
            "averages to 0: beside it stands what exactly right probabilities would show. Brier of the prevalence: saying it every time."
        )
        url.tabs("detail", {"Bins": lambda: _bins(s, method), "Measured against what": lambda: _context(s.context)})
    _take_away(artifact_id)


def operating(sets: Sequence[Described]) -> None:
    """ROC, AUC and equal error by domain, and the drift of thresholds."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = _asked(sets)
        if at is None:
            return
        artifact_id, least, mine = at
        pooled, domains, g, context, metric = found.operating(artifact_id, least)
        names = [NONE, *(d.name for d in domains if d.fpr.size)]
        marked = picker.pick("domain", "Marked domain", {n: n for n in names})
    st.text(_pool(g))
    if not pooled.fpr.size:
        st.info(plain(f"No curve: {pooled.note}."))
    else:
        only = None if marked == NONE else marked
        left, right = st.columns(2)
        with left:
            chart.draw(
                "roc", roc(pooled, domains, only, chart.colours()), calibration_footer.of_roc(pooled, context), mine,
                alt=words.alt("ROC curves of all labelled pairs and of each domain", mine),
            )
        with right:
            chart.draw(
                "drift", drift(domains, pooled, metric, only, chart.colours()), calibration_footer.of_drift(domains), mine,
                alt=words.alt("Each domain's equal-error threshold minus the pooled one", mine), on_click=_mark,
            )
    compare_tables.show(_domains(pooled, domains), key="operating points")
    st.text(
        "Equal error: the threshold at which the share of relevant pairs below it equals the share of others at or above it. Intervals resample clusters "
        f"(seed {SEED}), a domain and the pool together; none under 10 clusters. Domains are those of the query's target."
    )
    _context(context)
    _take_away(artifact_id)


def _asked(sets: Sequence[Described]) -> tuple[str, int, list[Described]] | None:
    """The run with labelled pairs, the least grade that counts as relevant, and the run's described sets; None where no run has any."""
    runs = list(dict.fromkeys(s.artifact_id for s in sets if not s.published))
    there = found.with_pairs(runs)
    if not there:
        with st.container():
            st.info(
                "Scores of labelled pairs were not measured in the selected runs: published tables hold none, and older runs did not keep them. "
                "Run the benchmark again; every run now keeps the score of each judged pair:"
            )
            st.code(states.RUN, language="bash", wrap_lines=True)
        return None
    first = {i: next(s for s in sets if s.artifact_id == i) for i in there}
    artifact_id = there[0]
    if len(there) > 1:
        artifact_id = picker.pick("pairs_of", "Run", {i: f"{s.model}, {s.started[:16].replace('T', ' ')}" for i, s in first.items()}, cleared=("domain",))
    offered = [str(g) for g in found.grades(artifact_id)]
    least = int(url.choice("grade", "Relevant from grade", offered)) if len(offered) > 1 else int(offered[0])
    return artifact_id, least, [s for s in sets if s.artifact_id == artifact_id]


def _pool(g: Graded) -> str:
    drawn = f" Of {count(g.n_all)} pairs, whole clusters were drawn at random up to these (seed {SEED})." if g.n < g.n_all else ""
    return (
        f"{count(g.n)} labelled pairs in {count(g.n_clusters)} clusters; relevant is grade {g.least_grade} or more: {_rate(g.prevalence)} of them. "
        f"That prevalence comes from how pairs were labelled, and another one moves every curve below.{drawn}"
    )


def _figure(s: Scored, method: str, kind: str, mine: Sequence[Described]) -> None:
    best = s.maps[method]
    if kind == FIGURES[0]:
        series: list[tuple[str, Sequence[Bin]]] = [(f"{method} map, cross-fitted", best.bins)]
        series += [("raw score", s.raw.bins)] if s.raw is not None else []
        figure = reliability(series, chart.colours())
    else:
        ordered = sorted(s.curves, key=lambda c: c[0] != method)
        figure = by_score(s.bins, ordered, s.graded.prevalence.estimate, s.metric, chart.colours())
    chart.draw(
        f"scores-{words.slug(kind)}", figure, calibration_footer.of_scores(s.graded, best, method, s.context), mine,
        alt=words.alt(f"{kind} of the scores of labelled pairs", mine),
    )


def _qualities(s: Scored) -> pd.DataFrame:
    rows = [_quality(f"{m} map, cross-fitted", r) for m, r in s.maps.items()]
    if s.raw is not None:
        rows.append(_quality(s.raw_note, s.raw))
    else:
        rows.append({**dict.fromkeys(rows[0], "not applicable"), "probabilities": s.raw_note})
    return pd.DataFrame(rows)


def _quality(name: str, r: Reliability) -> dict[str, str]:
    return {
        "probabilities": name, "ECE [95%]": score_interval(r.ece), "ECE if exactly right": f"{r.floor:.4f}", "Brier [95%]": score_interval(r.brier),
        "Brier of the prevalence": f"{r.baseline:.4f}", "bins": count(len(r.bins)),
    }


def _bins(s: Scored, method: str) -> None:
    series = [(f"{method} map", s.maps[method].bins), *([("raw score", s.raw.bins)] if s.raw is not None else [])]
    frame = pd.DataFrame(
        [
            {
                "probabilities": name, "from": f"{b.low:.4f}", "to": f"{b.high:.4f}", "mean predicted": f"{b.predicted:.4f}",
                "observed [95%]": _rate(b.observed), "pairs": count(b.n), "clusters": count(b.observed.n_clusters),
            }
            for name, bins in series for b in bins
        ]
    )
    compare_tables.show(frame, key="score bins")
    st.text("Observed shares: Wilson at the effective number of pairs over clusters. Equal predictions stay in one bin, so bins may differ in size.")


def _domains(pooled: Operating, domains: Sequence[Operating]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "domain": d.name, "pairs": count(d.n), "relevant": f"{count(d.n_relevant)} ({numbers.rate(d.n_relevant / d.n)})", "clusters": count(d.n_clusters),
                "AUC [95%]": _score(d.auc), "equal error [95%]": _rate(d.eer) if d.eer else "one class only", "its threshold [95%]": _score(d.threshold),
                "threshold minus pooled [95%]": "is the pooled one" if d is pooled else _score(d.drift, sign=True), "mark": d.note or NONE,
            }
            for d in (pooled, *domains)
        ]
    )


def _score(i: Interval | None, sign: bool = False) -> str:
    if i is None:
        return "one class only"
    if not sign:
        return score_interval(i)
    bracket = f"({i.note})" if i.low is None or i.high is None else numbers.interval(i.low, i.high)
    return f"{numbers.margin(i.estimate)} {bracket}"


def _rate(i: Interval) -> str:
    bracket = f"({i.note})" if i.low is None or i.high is None else numbers.rate_interval(i.low, i.high)
    return f"{numbers.rate(i.estimate)} {bracket}"


def _context(context: EvaluationContext) -> None:
    st.text("\n".join(f"{word}: {value}" for word, value in published_view.context(context).items()))


def _mark(customdata: list[Any]) -> None:
    if customdata:
        url.changed(domain=str(customdata[0]))


def _take_away(artifact_id: str) -> None:
    store = readers.store()
    st.download_button(
        "Labelled pairs as CSV", lambda: exports.judged_csv(store, artifact_id), "labelled-pairs.csv", "text/csv", on_click="ignore",
        icon=":material/download:", help="Every pair with its grade and score; the first line holds scorer, corpus and evaluation context.",
    )
