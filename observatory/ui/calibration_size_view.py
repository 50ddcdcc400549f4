"""The tab Benchmark size: half-width against the number of queries, what N is needed, and a published projection beside its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from observatory.calibration import size as sizes
from observatory.calibration.published import Published
from observatory.calibration.size import Projection, Required, Size
from observatory.figures import calibration_footer, numbers, theme
from observatory.figures.described import Described
from observatory.figures.half_width import half_width, undrawn
from observatory.figures.numbers import count
from observatory.statistics import Interval
from observatory.ui import calibration_readers as found
from observatory.ui import chart, compare_tables, number_box, picker, published_view, states, url, words
from observatory.ui.calibration_readers import Source
from observatory.ui.text import plain

POWERS = {"80%": 0.8, "90%": 0.9}
NOT_HERE = "not measured"


def draw(sets: Sequence[Described], baseline: str) -> None:
    sources, projections = found.sources(sets, baseline), found.projections()
    options = {key: s.label for key, s in sources.items()} | {f"published:{i}": title for i, (title, _) in projections.items()}
    if not sources:
        st.info("The selected sets were not measured per query, so there is nothing to subsample. A fresh run measures them:")
        st.code(states.RUN, language="bash", wrap_lines=True)
    if not options:
        return
    controls = st.container(horizontal=True, vertical_alignment="bottom")
    with controls:
        chosen = picker.pick("sized", "Number whose interval is followed", options, cleared=("interest", "project"))
    if chosen in sources:
        _measured(sources[chosen], sets, controls)
    else:
        _published(*projections[chosen.removeprefix("published:")], controls)


def _measured(source: Source, sets: Sequence[Described], controls: DeltaGenerator) -> None:
    result = found.size_of(source)
    if result is None or result.projection is None:
        why = result.note if result is not None else "these two sets share no query"
        st.info(plain(f"No curve for the {source.label}: {why}."))
        return
    p = result.projection
    start = float(f"{result.curve[-1].half_width / 2:.1g}")  # half of what there is
    with controls:
        n = number_box.whole("project", "Project to N queries", 10 * result.observed.n, 10, 10**9)
        margin = number_box.real("interest", "Margin of interest", start, start / 1e4, start * 1e4, "%.6g")
        power = POWERS[url.choice("power", "Power", list(POWERS))]
    narrow, telling = sizes.for_half_width(p, margin), sizes.for_power(p, margin, power)
    mine = [s for s in sets if s.set_id in source.set_ids]
    colour = theme.styles(sets)[source.set_ids[-1]].colour
    marks = [(n, f"N = {count(n)}"), *([(narrow.queries, f"±{margin:.4g}")] if narrow.queries < 10**9 else [])]
    chart.draw(
        f"half-width-{words.slug(source.key)}"[:80], half_width(result, marks, source.unit, colour, chart.colours()),
        calibration_footer.of_size(result, f"the {source.label}", narrow, margin), mine,
        alt=words.alt("Half-width of the interval against the number of queries", mine),
    )
    if left_out := undrawn(result):
        st.text(f"{count(left_out)} sizes are not drawn: most of their subsamples hold equal values only, and a half-width of 0 has no place on a logarithmic axis.")
    st.text(_needed(result, p, margin, narrow, telling, power))
    compare_tables.show(_table(result, p, n), key="size table")
    st.text(
        f"Subsamples: {count(result.repetitions)} repetitions, each a shuffle of the clusters of which the first ones are taken, seed {found.SEED}. Coverage: share of "
        "subsamples whose interval holds the mean of all queries. Drawing without replacement from a finite set of clusters brings that mean "
        "nearer than new queries would, so the interval is first narrowed by √(1 - drawn / all); beyond half of the clusters coverage says "
        "nothing and is left out. Its brackets are the noise of the simulation."
    )


def curve(source: Source, sets: Sequence[Described]) -> None:
    """The figure alone, projected to ten times the queries, and what a half-width of half the present one needs."""
    result = found.size_of(source)
    if result is None or result.projection is None:
        st.info(plain(f"No curve for the {source.label}: {result.note if result is not None else 'no query was measured'}."))
        return
    p, now = result.projection, result.curve[-1].half_width
    n, half = 10 * result.observed.n, float(f"{now / 2:.2g}")
    narrow = sizes.for_half_width(p, half)
    st.text(
        f"The {source.label} is known to ±{now:.4f} from {count(result.observed.n)} queries. ±{half:g} would need {_many(narrow)}; "
        f"{count(n)} queries like these would give ±{p.half_width(n):.4f}."
    )
    colour = theme.styles(sets)[source.set_ids[-1]].colour
    chart.draw(
        f"tour-size-{words.slug(source.key)}"[:80], half_width(result, [(n, f"N = {count(n)}")], source.unit, colour, chart.colours()),
        calibration_footer.of_size(result, f"the {source.label}", narrow, half), sets,
        alt=words.alt("Half-width of the interval against the number of queries", sets),
    )


def _needed(result: Size, p: Projection, margin: float, narrow: Required, telling: Required, power: float) -> str:
    observed = result.observed
    return (
        f"For ±{margin:.4g} at 95%: {_many(narrow)}. To tell a true {margin:.4g} from 0 with {power:.0%} power, two-sided at 5%: {_many(telling)}. "
        f"Here: {count(observed.n)} queries in {count(observed.n_clusters)} clusters, standard deviation {result.sigma:.4f}, design effect "
        f"{p.design_effect:.2f}{' (queries of one cluster differ more than clusters do)' if p.design_effect < 0.95 else ''}: they are worth {count(round(observed.n / p.design_effect))} independent queries."
    )


def _many(needed: Required) -> str:
    return f"{count(needed.queries)} queries in about {count(needed.clusters)} clusters"


def _table(result: Size, p: Projection, n: int) -> pd.DataFrame:
    """Measured sizes, then the size that was typed, where only the projection speaks."""
    rows = [
        {
            "queries": count(s.n), "clusters": count(s.n_clusters),
            "half-width, median (5% to 95%)": f"{s.half_width:.4f}" + (f" ({s.low:.4f} to {s.high:.4f})" if s.repetitions > 1 else " (all of them)"),
            "subsamples that exclude 0": _share(s.excludes_zero) if s.repetitions > 1 else ("yes" if s.excludes_zero.estimate else "no"),
            **_projected(p, s.n), "coverage (nominal 95%)": _coverage(s.coverage), "coverage, not narrowed": _coverage(s.coverage_raw),
        }
        for s in result.curve
    ]
    typed = {
        "queries": count(n), "clusters": f"about {count(max(1, round(n / p.per_cluster)))}", "half-width, median (5% to 95%)": NOT_HERE,
        "subsamples that exclude 0": NOT_HERE, **_projected(p, n), "coverage (nominal 95%)": NOT_HERE, "coverage, not narrowed": NOT_HERE,
    }
    return pd.DataFrame([*rows, typed])


def _projected(p: Projection, n: int) -> dict[str, str]:
    return {
        "projected half-width": f"{p.half_width(n):.4f}", "projected interval": numbers.interval(*p.interval(n)),
        "projection excludes 0": "yes" if p.excludes_zero(n) else "no", "projected p": probability(p.p(n)),
    }


def probability(p: float) -> str:
    """p with two digits, however small."""
    return f"{p:.4f}" if p >= 0.001 else f"{p:.1e}"


def _coverage(share: Interval | None) -> str:
    return "left out" if share is None else _share(share)


def _share(share: Interval) -> str:
    return f"{numbers.rate(share.estimate)} {numbers.rate_interval(share.low or 0.0, share.high or 0.0)}"


def _published(title: str, p: Published, controls: DeltaGenerator) -> None:
    """What the document states, and what its own mean and sigma give: nothing was measured here."""
    projection = p.projection
    with controls:
        n = number_box.whole("project", "Project to N queries", 2 * max((r.n for r in p.rows), default=p.n), 10, 10**9)
    st.subheader(plain(published_view.in_words(title)))
    st.text(
        f"Published, not measured here: {p.where}. The projection starts from a mean of {numbers.margin(projection.mean)} and a standard deviation per query of "
        f"{projection.sigma:g} over {count(p.n)} queries; recomputed is mean ± {projection.z:.2f} σ/√N, queries taken as independent."
    )
    rows = [
        {
            "N": count(r.n), "kind": published_view.in_words(r.kind), "stated interval": f"[{r.low:+.3f}, {r.high:+.3f}]",
            "recomputed": numbers.interval(r.again_low, r.again_high), "largest distance of an end": f"{r.off:.4f}", "stated: excludes 0": r.excludes_zero,
            "recomputed: excludes 0": "yes" if r.again_excludes_zero else "no", "recomputed p": probability(projection.p(r.n)),
        }
        for r in p.rows
    ]
    typed = {
        "N": count(n), "kind": "projected here", "stated interval": "not stated", "recomputed": numbers.interval(*projection.interval(n)),
        "largest distance of an end": "not stated", "stated: excludes 0": "not stated",
        "recomputed: excludes 0": "yes" if projection.excludes_zero(n) else "no", "recomputed p": probability(projection.p(n)),
    }
    compare_tables.show(pd.DataFrame([*rows, typed]), 2, key="published projection")
    if p.ps:
        st.subheader("The p-value, in the text and by arithmetic")
        frame = pd.DataFrame(
            [
                {"N": count(s.n), "place": s.place, "stated p": f"{s.relation} {s.p:g}".strip(), "by arithmetic": probability(s.again), "quotient": f"{s.p / s.again:,.0f}"}
                for s in p.ps
            ]
        )
        compare_tables.show(frame, 2, key="published p")
    for note in p.notes:
        st.text(f"Note: {published_view.in_words(note)}")
    st.text("\n".join(f"{word}: {value}" for word, value in published_view.context(p.context).items()))
    farthest = max((r.off for r in p.rows if r.kind != "observed"), default=0.0)
    st.text(
        f"Supports: the document's projected rows follow from its own mean and sigma to within {farthest:.4f}. Does not establish: that mean or sigma stay what "
        f"they are beyond the {count(p.n)} queries that were measured, or that queries made from one passage are independent."
    )
