"""The parts of the Strata screen: one set after another, or two sets on the same queries, and the queries of a stratum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from observatory import result_tables
from observatory.figures import numbers, paired_footer
from observatory.figures.described import Described, labels
from observatory.figures.forest import Dot, Kind, forest
from observatory.figures.paired_footer import bracket
from observatory.statistics import Interval
from observatory.store import PAIRWISE
from observatory.strata import PairedStratum, Stratum
from observatory.ui import chart, chosen, compare_readers, compare_tables, drawer, pairs, states, url, words

MOST_DRAWN = 30


def opened(customdata: list[Any]) -> None:
    """A stratum was clicked: ``customdata`` is [set id, stratum]; a click beside the dots leaves what is open."""
    if customdata:
        url.changed(within=str(customdata[0]), stratum=str(customdata[1]), query=None, pair=None)
        st.toast("The queries of this stratum are listed under the figure.")


def chosen_row(mark: list[str] | None) -> None:
    """A row of the table was chosen, which opens its stratum as a click does, or was let go, which closes it."""
    opened(list(mark or []))
    if mark is None:
        close()


def column(set_ids: Sequence[str], two: bool) -> str | None:
    """The column to stratify by, of those that these sets have; None where there is none."""
    found = compare_readers.columns(tuple(set_ids), two)
    wanted = url.first("by")
    if wanted is not None and wanted not in found:
        st.text(f"{wanted[:60]}: " + ("belongs to one set, so two sets are not grouped by it." if two else "no such column in these sets."))
    return _select("by", "Stratify by", found) if found else None


def _select(name: str, label: str, options: Sequence[str]) -> str:
    key, wanted = f"select {name}", url.first(name)
    st.session_state[key] = wanted if wanted in options else options[0]

    def follow() -> None:
        url.changed(**{name: st.session_state[key]}, within=None, stratum=None, query=None, pair=None)

    return str(st.selectbox(label, list(options), key=key, on_change=follow))


def singles(sets: Sequence[Described], by: str) -> None:
    """Each set's strata: one figure a metric, one table, the queries of the opened stratum."""
    pairwise = by == PAIRWISE
    found = [s for d in sets if not d.published for s in compare_readers.of_margins(d.set_id, by)]
    extra = [dot for d in sets if d.published and pairwise for dot in compare_readers.published_pairwise(d.set_id)]
    for metric in dict.fromkeys(d.metric for d in sets):
        mine = [d for d in sets if d.metric == metric]
        ids = {d.set_id for d in mine}
        dots = [_dot(s) for s in found if s.set_id in ids] + [dot for dot in extra if dot.set_id in ids]
        shown = [d for d in mine if d.set_id in {dot.set_id for dot in dots}]
        if not dots:
            continue
        title = f"pairwise mean: one row a designated negative ({metric})" if pairwise else f"mean margin to the hardest negative ({metric})"
        _figure(dots, shown, "pairwise" if pairwise else "hardest", title, by, f"strata-{words.slug(metric)}")
    if found or extra:
        _queries_of_set(sets, by, here=True)
        if found:
            at = next((i for i, s in enumerate(found) if (s.set_id, s.name) == (url.first("within"), url.first("stratum"))), None)
            compare_tables.choose_row(
                compare_tables.strata(found, by, pairwise, sets), 2, "strata table", lambda i: chosen_row(None if i is None else [found[i].set_id, found[i].name]), at
            )
            compare_tables.take_away("strata", [d for d in sets if not d.published], lambda: result_tables.strata(found, by, pairwise))
            st.text("Win rates: Clopper-Pearson inside each stratum, queries taken as independent. Means: over clusters, none under 10.")
        _queries_of_set(sets, by, here=False)
    names = labels(sets)
    states.not_per_query([names[d.set_id] for d in sets if d.published])


def two(base: Described, other: Described, by: str) -> None:
    """Two sets on the same queries: Delta, helped, hurt and n by stratum."""
    names = labels(sorted([base, other], key=lambda s: s.set_id))
    found, unit = compare_readers.of_pairs(base.set_id, other.set_id, by)
    pairwise = by == PAIRWISE
    if not found:
        st.info("These two sets share no query in any stratum of this column. Choose another column or another pair.")
        return
    if unit:
        title = f"mean of {names[other.set_id]} minus {names[base.set_id]} ({base.metric})"
        _figure([_delta(s, other.set_id) for s in found], [other], "difference", title, by, "strata-delta")
    else:
        st.text(
            "Two scorers: their margins share no unit, so there is no Δ. Helped and hurt count "
            f"{'pairs of query and negative' if pairwise else 'queries'} whose outcome (loss, tie, win) rose or fell."
        )
        dots = [_share(s, other.set_id, what) for what in ("helped", "hurt") for s in found]
        order = {s.name: i for i, s in enumerate(found)}
        dots.sort(key=lambda d: order[d.stratum])
        _figure(dots, [other], "share", "share whose outcome fell (left) or rose (right)", by, "strata-share")
    where = (names[base.set_id], names[other.set_id])
    _queries_of_pair((base, other), where, unit, by, here=True)
    at = next((i for i, s in enumerate(found) if s.name == url.first("stratum")), None)
    compare_tables.choose_row(
        compare_tables.paired_strata(found, by, pairwise, unit), 1, "paired strata table", lambda i: chosen_row(None if i is None else [other.set_id, found[i].name]), at
    )
    both = (base.set_id, other.set_id)
    compare_tables.take_away("strata-paired", [base, other], lambda: result_tables.paired_strata(found, by, both, pairwise, unit))
    st.text(
        f"Helped and hurt: {names[other.set_id]} against {names[base.set_id]} on the same {'query and negative' if pairwise else 'query'}; "
        "Clopper-Pearson inside each stratum, queries taken as independent. No test was made between strata."
    )
    if by == "outcome":
        st.text("Strata by the baseline's own outcome: what lost there can only stay or rise, so a difference here is partly a return to the mean.")
    _queries_of_pair((base, other), where, unit, by, here=False)


def _figure(dots: Sequence[Dot], sets: Sequence[Described], kind: Kind, title: str, by: str, key: str) -> None:
    drawn = list(dots)
    rows = list(dict.fromkeys(d.stratum for d in dots))
    if len(rows) > MOST_DRAWN:
        if url.choice("drawn", "Strata drawn", [f"the {MOST_DRAWN} largest", f"all {numbers.count(len(rows))}"]).startswith("the"):
            size = {r: max(d.n for d in dots if d.stratum == r and isinstance(d.n, int)) for r in rows}
            kept = set(sorted(rows, key=lambda r: -size[r])[:MOST_DRAWN])
            drawn = [d for d in dots if d.stratum in kept]
            st.text(f"Drawn are the {MOST_DRAWN} strata with most queries; all {numbers.count(len(rows))} are in the table.")
    order = {r: i for i, r in enumerate(_order(drawn))} if kind in ("hardest", "pairwise") else {}
    drawn.sort(key=lambda d: order.get(d.stratum, 0))
    chart.draw(
        key, forest(drawn, sets, kind, title, chart.colours(), url.first("stratum")), paired_footer.of_strata(drawn, kind, by, sets), sets,
        alt=words.alt(f"Strata by {by}", sets), on_click=opened,
    )


def _order(dots: Sequence[Dot]) -> list[str]:
    """Strata by their lowest value of the first set that has them."""
    value: dict[str, float] = {}
    for d in dots:
        value.setdefault(d.stratum, d.value)
    return sorted(value, key=lambda name: (value[name], name))


def _dot(s: Stratum) -> Dot:
    return Dot(s.name, s.set_id, s.mean.estimate, s.mean.low, s.mean.high, bracket(s.mean), s.mean.n, s.small)


def _delta(s: PairedStratum, set_id: str) -> Dot:
    delta = s.delta or Interval(0.0, None, None, s.n, s.n_clusters, 0.95, "none")
    return Dot(s.name, set_id, delta.estimate, delta.low, delta.high, bracket(delta), s.n, s.small)


def _share(s: PairedStratum, set_id: str, what: str) -> Dot:
    rate, sign = (s.helped, 1.0) if what == "helped" else (s.hurt, -1.0)
    edges = sorted(sign * v for v in (rate.low or 0.0, rate.high or 0.0))
    note = numbers.rate_interval(rate.low or 0.0, rate.high or 0.0)
    return Dot(s.name, set_id, sign * rate.estimate, edges[0], edges[1], note, s.n, s.small, what)


def _queries_of_set(sets: Sequence[Described], by: str, here: bool) -> None:
    """The queries of the stratum in the URL: right under the figure where one is open, else how to open one, below."""
    set_id, stratum = url.first("within"), url.first("stratum")
    if here != (stratum is not None) or all(s.published for s in sets):
        return
    st.subheader("Queries of a stratum")
    names = {s.set_id: labels(sets)[s.set_id] for s in sets if not s.published}
    if stratum is None:
        st.text("Click a dot in the figure, or choose a row in the table, to read the queries of that stratum.")
        return
    if set_id is None or set_id not in names:
        st.warning("The link opens a stratum of a set without per-query values or that is not shown here; click a dot in the figure.")
        return
    rows = compare_readers.in_stratum(set_id, by, stratum)
    what = f"{names[set_id]}, {by}: {stratum}"
    if rows.empty:
        st.warning("The link opens a stratum that is not among these; click a dot in the figure.")
        return
    cut = " (the first 200)" if len(rows) == 200 else ""
    per = ", each with its hardest negative of that relation" if by == PAIRWISE else ""
    st.text(f"{numbers.count(len(rows))} {'query' if len(rows) == 1 else 'queries'}{cut} under {what}{per}, smallest margin first.")
    _close()
    drawer.listed(set_id, rows, f"{by} {stratum}")


def _queries_of_pair(pair: tuple[Described, Described], names: tuple[str, str], unit: bool, by: str, here: bool) -> None:
    stratum = url.first("stratum")
    if here != (stratum is not None):
        return
    st.subheader("Queries of a stratum")
    if stratum is None:
        st.text("Click a dot in the figure, or choose a row in the table, to read the queries of that stratum under both sets.")
        return
    rows = compare_readers.pair_queries(pair[0].set_id, pair[1].set_id, stratum=(by, stratum), ranks=not unit)
    if rows.empty:
        st.warning("The link opens a stratum that is not among these; click a dot in the figure.")
        return
    _close()
    pairs.listed(rows, pair, names, unit, f"with {by} {stratum}, largest {'difference' if unit else 'contrast of percentiles'} first", f"{by} {stratum}")


def close() -> None:
    """No stratum is open."""
    url.changed(within=None, stratum=None, query=None, pair=None)


def _close() -> None:
    st.button("Close the stratum", icon=":material/close:", on_click=close)


def pair_of(picked: chosen.Chosen) -> tuple[str, str] | None:
    """Baseline and other, where both are measured per query."""
    if picked.against is None:
        return None
    both = picked.baseline, picked.against
    return both if all(compare_readers.measured(i) for i in both) else None
