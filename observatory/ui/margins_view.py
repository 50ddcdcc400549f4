"""The Margins page: one figure a scorer, by negative set or by query style; tails at a movable threshold; quantiles with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from observatory.figures import by_style, footer, histogram, theme
from observatory.figures.bins import nice_width
from observatory.figures.described import Described, labels
from observatory.figures.ecdf import ecdf
from observatory.ui import chart, drawer, number_box, picker, readers, tables, url, words
from observatory.ui.text import plain

SETS, STYLES = "negative set", "query style"
PROBABILITIES = (0.05, 0.1, 0.5)
MOST_THRESHOLD = 1e6


def units(sets: Sequence[Described]) -> list[list[Described]]:
    """Sets whose margins share an axis: one model and one metric, published beside fresh."""
    groups: dict[tuple[str, str], list[Described]] = {}
    for s in sets:
        groups.setdefault((s.model, s.metric), []).append(s)
    return list(groups.values())


def figures(drawn: Sequence[Described]) -> None:
    """The controls and, under them, one figure a scorer: an axis never mixes units."""
    many = len(drawn) > histogram.MOST_OVERLAID
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = url.choice("view", "Figure", ["histogram", "ECDF"])
        split = url.choice("split", "Split by", [SETS, STYLES])
        count = kind == "histogram" and url.choice("scale", "Height", ["density", "count"]) == "count"
        small = False
        if kind == "histogram" and split == SETS:
            layouts = ["small multiples", "overlaid"] if many else ["overlaid", "small multiples"]
            small = url.choice("layout", "Sets", layouts) == "small multiples"
        names = labels(drawn)
        styled = picker.pick("styled", "Set", {s.set_id: names[s.set_id] for s in drawn}) if split == STYLES else None
    if styled is not None:
        _by_style(next(s for s in drawn if s.set_id == styled), kind, count)
        return
    found = units(drawn)
    for mine in found:
        if len(found) > 1:
            st.subheader(plain(f"{mine[0].model} ({mine[0].metric})"))
        _by_set(mine, kind, count, small)


def threshold() -> float:
    """The threshold of the tail counts that the URL names; 0 where it names none."""
    return number_box.read("t", 0.0, -MOST_THRESHOLD, MOST_THRESHOLD)


def _by_set(sets: list[Described], kind: str, count: bool, small: bool) -> None:
    ids, colours = [s.set_id for s in sets], chart.colours()
    rates = {i: readers.outcome_rates(i) for i in ids}
    if kind == "ECDF":
        figure = ecdf(readers.ecdf(ids), {i: r["loss"] for i, r in rates.items()}, sets, colours)
    else:
        width = nice_width(*(readers.extent(ids) or (0.0, 1.0)))
        build = histogram.multiples if small else histogram.overlaid
        scale: histogram.Scale = "count" if count else "density"
        figure = build(readers.histogram(ids, width), width, readers.tails(ids), sets, colours, scale, drawer.marked(width))
    theme.threshold(figure, colours, threshold())
    chart.draw(
        f"{'ecdf' if kind == 'ECDF' else 'margins'}-{words.slug(sets[0].model)}-{words.slug(sets[0].metric)}"[:80], figure,
        footer.of_margins(sets, {i: r["win"] for i, r in rates.items()}), sets, alt=words.alt(f"{kind} of margins", sets), on_click=drawer.opened,
    )


def _by_style(s: Described, kind: str, count: bool) -> None:
    width = nice_width(*(readers.extent([s.set_id]) or (0.0, 1.0)))
    frame, colours = readers.by_style(s.set_id, width), chart.colours()
    figure = by_style.ecdfs(readers.ecdf_by_style(s.set_id), s, colours) if kind == "ECDF" else by_style.histograms(frame, width, s, colours, count)
    theme.threshold(figure, colours, threshold())
    chart.draw(
        f"styles-{words.slug(s.set_id)}"[:80], figure, footer.of_margins([s], {s.set_id: readers.outcome_rates(s.set_id)["win"]}), [s],
        alt=words.alt(f"{kind} of margins by query style", [s]),
    )
    there = frame["style"].nunique()
    if there > by_style.MOST:
        st.text(f"Drawn are the {by_style.MOST} styles with most queries, of {there}. Strata has them all in a table, with intervals.")
    else:
        st.text("Strata has these styles in a table, each mean with its interval.")


def tails(sets: Sequence[Described]) -> None:
    """Counts below, at and above a threshold that the reader moves."""
    metrics = " / ".join(dict.fromkeys(s.metric for s in sets))
    low, high = readers.extent([s.set_id for s in sets if not s.published]) or (-1.0, 1.0)
    t = number_box.signed("t", f"Threshold t of the margin ({metrics}; 0 is the tie)", nice_width(low, high), MOST_THRESHOLD)
    rates = {s.set_id: readers.outcome_rates(s.set_id, t) for s in sets}
    frame = tables.tails(sets, rates) if t == 0 else tables.tails_at(sets, rates, t)
    tables.show(frame, pinned="negative set", key="tails")
    st.text("Shares with 95% intervals over clusters (Wilson at the effective number of queries).")


def quantiles(sets: Sequence[Described]) -> None:
    """p05, p10 and median with their intervals, and the ends."""
    found = {s.set_id: readers.quantile_intervals(s.set_id, PROBABILITIES) for s in sets}
    ends = {s.set_id: readers.extent([s.set_id]) for s in sets}
    tables.show(tables.quantiles(found, ends, PROBABILITIES, sets), pinned="negative set", key="quantiles")
    st.text("Linear quantiles with 95% intervals over clusters (Woodruff: the interval of the share at or below, read back as quantiles).")
