"""The parts of the Compare screen: the verdict, the figures of one pair, and its second questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from observatory import result_tables
from observatory.figures import differences, paired_footer, scatter, theme
from observatory.figures import footer as feet
from observatory.figures.described import Described, labels
from observatory.figures.overview import mean_margins
from observatory.paired import Paired, family
from observatory.store import MISSING
from observatory.ui import chart, compare_readers, compare_tables, drawer, pairs, readers, tables, url, words
from observatory.ui.text import plain

HARDNESS = "relation of the hardest negative"


def verdicts(found: Sequence[Paired], names: dict[str, str]) -> None:
    """Controlled or confounded, in one line for all comparisons that share a verdict."""
    grouped: dict[str, list[str]] = {}
    for c in found:
        grouped.setdefault(c.verdict, []).append(names[c.other])
    for verdict, others in grouped.items():
        box = st.warning if verdict.startswith("confounded") else st.info
        box(plain(f"{verdict} ({'; '.join(others)})", limit=600), icon=":material/balance:")


def instruments(found: Sequence[Paired], sets: Sequence[Described]) -> None:
    """The descriptors' difference, field by field, folded away: the verdict above names what matters."""
    frame = compare_tables.instruments(found, sets)
    with st.popover(f"What differs ({len(frame)} {'field' if len(frame) == 1 else 'fields'})", icon=":material/difference:"):
        if frame.empty:
            st.text("No field of the instrument differs: these are repetitions of one measurement.")
            return
        st.dataframe(
            frame, hide_index=True, key="instruments", height=min(424, 39 + 35 * len(frame)), width=900,
            column_config={frame.columns[0]: st.column_config.TextColumn(pinned=True, width=180)},
        )


def table(found: Sequence[Paired], sets: Sequence[Described]) -> None:
    """Every comparison with the baseline; a row opens its figures, as a mark under Mean margins does."""
    corrected, others = family(found), [c.other for c in found]
    at = others.index(url.first("against") or "") + 1 if url.first("against") in others else 1
    compare_tables.choose_row(compare_tables.comparisons(found, corrected, sets), 1, "comparisons", lambda i: _against([others[i - 1]] if i else []), at)
    means = {s.set_id: s.descriptor.outcomes.mean_margin for s in sets}
    compare_tables.take_away("comparisons", sets, lambda: result_tables.comparisons(found, corrected, means))
    st.text(compare_tables.family_note(found))


def figures(p: Paired, sets: Sequence[Described], pair: tuple[Described, Described], names: tuple[str, str]) -> None:
    """The scatter of one pair, and beside it the paired differences or, without a common unit, who won where."""
    if not (p.n and p.outcomes):
        _means_only(sets, names, pair)
        return
    look, colours = theme.styles(sets)[p.other], chart.colours()
    rows, opened = compare_readers.points(p.baseline, p.other), url.first("pair")
    left, right = st.columns(2)
    with left:
        if p.same_unit:
            figure = scatter.margins(rows, pair, names, look, colours, opened)
        else:
            ties = tuple((p.n - p.outcomes.both - won) / p.n for won in (p.outcomes.lost, p.outcomes.gained))
            figure = scatter.ranks(rows, (ties[0], ties[1]), names, look, colours, opened)
        chart.draw(
            "pair-scatter", figure, paired_footer.of_scatter(p, names, len(rows), int(rows["flip"].sum())), pair,
            alt=words.alt("Each query under two negative sets", pair), on_click=pairs.point_opened,
        )
    with right:
        if p.mean is None or p.better is None or p.worse is None:
            _no_unit(p, sets)
            return
        bins, width = compare_readers.differences(p.baseline, p.other)
        at = pairs.bar()
        figure = differences.differences(
            bins, width, (p.worse / p.n, (p.n - p.worse - p.better) / p.n, p.better / p.n), p.mean, names, pair[0].metric, look, colours,
            at[0] if at and at[1] == width else None,
        )
        chart.draw(
            "pair-differences", figure, paired_footer.of_differences(p, names), pair,
            alt=words.alt("Distribution of paired differences", pair), on_click=pairs.bar_opened,
        )


def _means_only(sets: Sequence[Described], names: tuple[str, str], pair: tuple[Described, Described]) -> None:
    """A published table has no rows: its means stand, and the screen says what is missing."""
    lacking = [name for name, s in zip(names, pair, strict=True) if s.published]
    if lacking:
        st.info(plain(
            f"Means only. Not measured per query: {'; '.join(lacking)}. So the paired difference, its interval and p, who won where and the "
            "queries that flip are not measured. A fresh run of the same rule measures them.", limit=600,
        ))
    else:
        st.info("No query has a margin in both sets, so nothing is paired. Choose sets over the same queries.")
    means(list(pair))


def _no_unit(p: Paired, sets: Sequence[Described]) -> None:
    st.text(
        "Two scorers: their raw margins share no unit, so there is no difference, no ratio and no common axis. What can be compared "
        "is who won, the tails, and ranks within each set."
    )
    mine = [s for s in sets if s.set_id in (p.baseline, p.other)]
    rates = {s.set_id: readers.outcome_rates(s.set_id) for s in mine}
    st.subheader("Who won where")
    table = compare_tables.outcomes([p], sets, rates).drop(columns="set").T.reset_index()
    table.columns = ["paired outcome", "queries"]
    compare_tables.show(table, key="who won")
    st.subheader("Tails")
    tables.show(tables.tails(mine, rates), pinned="negative set", key="pair tails")


def means(sets: Sequence[Described]) -> None:
    """Mean margins, one figure a scorer: scorers share no axis. A mark opens its comparison."""
    groups: dict[str, list[Described]] = {}
    for s in sets:
        groups.setdefault(s.descriptor.scorer.space_id + s.metric + (s.artifact_id if s.published else ""), []).append(s)
    for key, mine in groups.items():
        chart.draw(
            f"compared-means-{words.slug(key)}", mean_margins(mine, chart.colours()), feet.of_means(mine), mine,
            alt=words.alt("Mean margin with interval", mine), on_click=_against, export=False,
        )


def _against(customdata: list[Any]) -> None:
    if customdata:
        url.changed(against=str(customdata[0]), pair=None, pbin=None, pwidth=None)
        st.toast("The figures above show this set against the baseline.")


def outcomes(found: Sequence[Paired], sets: Sequence[Described]) -> None:
    """Paired wins and losses of every comparison, and the tails of every set."""
    rates = {s.set_id: readers.outcome_rates(s.set_id) for s in sets}
    compare_tables.show(compare_tables.outcomes(found, sets, rates))
    st.text("A win is a margin above 0. Exact p: McNemar's test on queries that only one of the two wins, taken as independent.")
    tables.show(tables.tails(sets, rates), pinned="negative set")


def hardness(sets: Sequence[Described]) -> None:
    """The three hardnesses kept apart and crossed. A row opens its queries."""
    st.text(
        "Selection: how the negative was mined. Semantic: which distinction the query's hardest negative tests, where it is typed. "
        "Geometric: how large the margin is, t being 0.05 for cosine and the median of the first set's margins above 0 for other scores."
    )
    measured = [s for s in sets if not s.published]
    firsts = {s.metric: s.set_id for s in reversed(measured)}
    cuts = {s.set_id: compare_readers.threshold(firsts[s.metric]) for s in measured}
    frames = {s.set_id: compare_readers.hardness(s.set_id, cuts[s.set_id]) for s in measured}
    frame = compare_tables.hardness(frames, cuts, sets)
    owners = [(s.set_id, str(r)) for s in sets for r in (frames[s.set_id]["relation"] if s.set_id in frames else [""])]

    def follow() -> None:
        rows = st.session_state["hardness"].selection.rows
        at = owners[rows[0]] if rows else None
        url.changed(within=at[0] if at else None, stratum=at[1] if at else None, query=None)

    wanted = (url.first("within") or "", url.first("stratum") or "")
    st.dataframe(
        frame, hide_index=True, key="hardness", on_select=follow, selection_mode="single-row", height="content",
        selection_default={"selection": {"rows": [owners.index(wanted)] if wanted in owners else []}},
        column_config={
            c: st.column_config.TextColumn(alignment="left" if i < 2 else "right", pinned=i == 0) for i, c in enumerate(frame.columns)
        },
    )
    if wanted in owners and wanted[0] in frames:
        name = labels(sets)[wanted[0]]
        rows = compare_readers.in_stratum(wanted[0], HARDNESS, wanted[1])
        kind = "of no recorded relation" if wanted[1] == MISSING else f"of relation {wanted[1]}"
        st.text(f"Queries under {name} whose hardest negative is {kind}, smallest margin first (at most 200).")
        drawer.listed(wanted[0], rows, f"hardness {wanted[1]}")
    else:
        st.text("Choose a row to read its queries.")
