"""Tables of comparisons and strata as they are read: numbers beside intervals, missing ones in words. Display only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory import exports
from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.figures.numbers import written
from observatory.figures.paired_footer import bracket, how
from observatory.paired import Paired
from observatory.statistics import Interval
from observatory.strata import PairedStratum, Stratum
from observatory.ui import readers, tables

TALLEST = 740
NO_UNIT = "no common unit"


def instruments(comparisons: Sequence[Paired], sets: Sequence[Described]) -> pd.DataFrame:
    """Every field that differs from the baseline's in any comparison: one row a field, one column a set."""
    names = labels(sets)
    fields = sorted({field for c in comparisons for field in c.differences})
    rows = []
    for field in fields:
        base = next(c.differences[field][0] for c in comparisons if field in c.differences)
        row = {"field that differs": field, f"{names[comparisons[0].baseline]} (baseline)": _value(base)}
        rows.append(row | {names[c.other]: _value(c.differences[field][1]) if field in c.differences else "same" for c in comparisons})
    return pd.DataFrame(rows)


def _value(value: object) -> str:
    return "none" if value == "" else str(written(value, str))


def comparisons(found: Sequence[Paired], corrected: Mapping[str, tuple[float, float]], sets: Sequence[Described]) -> pd.DataFrame:
    """One row a comparison with the baseline, effect sizes first."""
    names, by_id = labels(sets), {s.set_id: s for s in sets}
    rows: list[dict[str, str]] = []
    for c in found:
        adjusted = [_plain_p(p) for p in corrected.get(c.other, ())] or [numbers.NOT_MEASURED_HERE] * 2
        rows.append(
            {
                "set": names[c.other], "paired difference [95%]": _difference(c), "better / equal / worse": _counts(c), "d": _d(c), "p": _p(c),
                "Holm": adjusted[0], "Bonferroni": adjusted[1], "mean margin [95%]": _mean(by_id[c.other]), "ratio": _ratio(c, by_id),
                "pairs (clusters)": _pairs(c),
                "only in baseline": _only(c, c.only_baseline), "only in this": _only(c, c.only_other),
                "instrument": c.verdict.split(":")[0],
            }
        )
    base = dict.fromkeys(rows[0], "baseline") if rows else {}
    first = by_id[found[0].baseline]
    mine = {"set": f"{names[first.set_id]} (baseline)", "mean margin [95%]": _mean(first), "ratio": "1.00"}
    return pd.DataFrame([base | mine, *rows])


def _mean(s: Described) -> str:
    return str(tables.overview([s], {})["mean margin [95% interval]"][0])


def _ratio(c: Paired, by_id: Mapping[str, Described]) -> str:
    if not c.same_unit:
        return NO_UNIT
    if c.ratio is not None:
        return numbers.quotient(c.ratio)
    mean = by_id[c.other].descriptor.outcomes.mean_margin
    return "mean not above 0" if isinstance(mean, float) and mean <= 0 else numbers.NOT_MEASURED_HERE


def _difference(c: Paired) -> str:
    if c.mean is not None:
        return f"{numbers.margin(c.mean.estimate)} {bracket(c.mean)}"
    return NO_UNIT if not c.same_unit else numbers.NOT_MEASURED_HERE


def _d(c: Paired) -> str:
    if c.d is not None:
        return f"{c.d:+.2f}"
    if c.mean is not None:
        return "differences do not vary"
    return NO_UNIT if not c.same_unit else numbers.NOT_MEASURED_HERE


def _p(c: Paired) -> str:
    return numbers.NOT_MEASURED_HERE if c.test is None else _plain_p(c.test.p)


def _plain_p(p: float) -> str:
    """p under a header that says so."""
    return numbers.probability(p).removeprefix("p = ").removeprefix("p ")


def _counts(c: Paired) -> str:
    if c.better is None or c.equal is None or c.worse is None:
        return numbers.NOT_MEASURED_HERE
    counts = " / ".join(numbers.count(n) for n in (c.better, c.equal, c.worse))
    return counts if c.same_unit else f"{counts} (outcomes)"


def _pairs(c: Paired) -> str:
    return f"{numbers.count(c.n)} ({numbers.count(c.n_clusters)})" if c.n else numbers.NOT_MEASURED_HERE


def _only(c: Paired, n: int) -> str:
    return numbers.count(n) if c.n else numbers.NOT_MEASURED_HERE


def family_note(found: Sequence[Paired]) -> str:
    """How p was computed and what the family of the corrections is."""
    tested = [c.test for c in found if c.test is not None]
    if not tested:
        return "No comparison here has margins per query on both sides, so there is no paired difference and no p."
    hows = "; ".join(dict.fromkeys(how(t) for t in tested))
    n = len(tested)
    about = "p is about wins where the scorers share no unit, about margins elsewhere. " if len({c.same_unit for c in found if c.test}) > 1 else ""
    about = about or ("" if any(c.same_unit for c in found if c.test) else "p is about wins: the scorers share no unit. ")
    return (
        f"p: {hows}. {about}Holm and Bonferroni: the family is the {'one comparison' if n == 1 else f'{numbers.count(n)} comparisons'} "
        "on this screen, no more. Paired difference: the set's margin minus the baseline's on the same query; d: Cohen's d for pairs; "
        "better, equal and worse count queries by that difference; ratio: the baseline's mean over this set's, exactly."
    )


def outcomes(found: Sequence[Paired], sets: Sequence[Described], rates: Mapping[str, Mapping[str, Interval]]) -> pd.DataFrame:
    """Who won where: the paired counts of each comparison with the exact test on what changed."""
    names = labels(sets)
    rows = []
    for c in found:
        o = c.outcomes
        cells = ["not measured"] * 5 if o is None else [
            *(numbers.count(n) for n in (o.both, o.lost, o.gained, o.neither)),
            _plain_p(o.exact_p),
        ]
        rows.append(
            {
                "set": names[c.other], "both win": cells[0], "only the baseline": cells[1], "only this": cells[2],
                "neither": cells[3], "exact p": cells[4],
                "baseline win rate": _win(c.baseline, rates, sets), "win rate": _win(c.other, rates, sets),
            }
        )
    return pd.DataFrame(rows)


def _win(set_id: str, rates: Mapping[str, Mapping[str, Interval]], sets: Sequence[Described]) -> str:
    mine = next(s for s in sets if s.set_id == set_id)
    return str(tables.overview([mine], rates)["win rate [95% interval]"][0])


def hardness(frames: Mapping[str, pd.DataFrame], cuts: Mapping[str, float], sets: Sequence[Described]) -> pd.DataFrame:
    """Selection x semantic x geometric: one row a rule and relation of the hardest negative, shares of its margins."""
    names = labels(sets)
    rows = []
    for s in sets:
        frame, cut = frames.get(s.set_id), cuts.get(s.set_id)
        if frame is None or cut is None:
            missing = dict.fromkeys(("queries", "geometric: margin <= 0", "0 < margin <= t", "margin > t", "t"), numbers.NOT_MEASURED_HERE)
            rows.append({"selection: rule": names[s.set_id], "semantic: relation of the hardest": numbers.NOT_MEASURED_HERE, **missing})
            continue
        for r in frame.to_dict("records"):
            shares = [f"{numbers.rate(r[c] / r['n'])} ({numbers.count(r[c])})" for c in ("n_le_zero", "n_le", "n_gt")]
            rows.append(
                {
                    "selection: rule": names[s.set_id], "semantic: relation of the hardest": str(r["relation"]),
                    "queries": numbers.count(r["n"]), "geometric: margin <= 0": shares[0], "0 < margin <= t": shares[1],
                    "margin > t": shares[2], "t": f"{cut:.4g}",
                }
            )
    return pd.DataFrame(rows)


def strata(found: Sequence[Stratum], by: str, pairwise: bool, sets: Sequence[Described]) -> pd.DataFrame:
    """One row a stratum and set: mean with its cluster interval, win rate with Clopper-Pearson, n, and a mark where small."""
    names = labels(sets)
    mean, unit = ("pairwise mean [95%]", "pairs") if pairwise else ("mean margin to the hardest [95%]", "queries")
    return pd.DataFrame(
        [
            {
                by: s.name, "negative set": names[s.set_id], f"n {unit}": numbers.count(s.mean.n), "clusters": numbers.count(s.mean.n_clusters),
                mean: f"{numbers.margin(s.mean.estimate)} {bracket(s.mean)}", "win rate [95%]": _rate(s.wins),
                "mark": s.small or "none",
            }
            for s in found
        ]
    )


def paired_strata(found: Sequence[PairedStratum], by: str, pairwise: bool, same_unit: bool) -> pd.DataFrame:
    """The shape of seed 002's per-text table: stratum, n, Delta mean, % helped, % hurt; small strata marked."""
    unit = "pairs" if pairwise else "queries"
    rows = []
    for s in found:
        row = {by: s.name, f"n {unit}": numbers.count(s.n), "clusters": numbers.count(s.n_clusters)}
        if s.delta is not None:
            row["Δ mean [95%]"] = f"{numbers.margin(s.delta.estimate)} {bracket(s.delta)}"
        kind = "margin" if same_unit else "outcome"
        row |= {
            f"% helped ({kind} rose)": _rate(s.helped), f"% hurt ({kind} fell)": _rate(s.hurt),
            "wins gained": numbers.count(s.gained), "wins lost": numbers.count(s.lost), "mark": s.small or "none",
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _rate(rate: Interval) -> str:
    return f"{numbers.rate(rate.estimate)} {numbers.rate_interval(rate.low or 0.0, rate.high or 0.0)}"


def show(frame: pd.DataFrame, words: int = 1, key: str | None = None) -> None:
    """A read-only table, its first ``words`` columns and marks left-aligned; a long one scrolls inside itself."""
    st.dataframe(frame, hide_index=True, column_config=_columns(frame, words), key=key, height=_height(frame))


def choose_row(frame: pd.DataFrame, words: int, key: str, on_row: Callable[[int | None], None], opened: int | None) -> None:
    """As :func:`show`, and a row can be chosen. ``on_row`` gets its number, or None where it was let go; ``opened`` stands chosen."""

    def follow() -> None:
        rows = st.session_state[key].selection.rows
        on_row(rows[0] if rows else None)

    wanted, state = [] if opened is None else [opened], st.session_state.get(key)
    if state is not None and list(state["selection"]["rows"]) != wanted:  # a click in a figure, or a link, opened another one since
        st.session_state[key] = {"selection": {"rows": wanted, "columns": [], "cells": []}}
    st.dataframe(
        frame, hide_index=True, column_config=_columns(frame, words), key=key, height=_height(frame), on_select=follow,
        selection_mode="single-row", selection_default={"selection": {"rows": wanted}},
    )


def _columns(frame: pd.DataFrame, words: int) -> dict[str, Any]:
    return {
        column: st.column_config.TextColumn(
            column, alignment="left" if i < words or column == "mark" else "right", pinned=i == 0, width=_width(column, frame[column])
        )
        for i, column in enumerate(frame.columns)
    }


def _height(frame: pd.DataFrame) -> int:
    return min(TALLEST, 38 + 35 * len(frame))


def take_away(key: str, sets: Sequence[Described], rows: Callable[[], pd.DataFrame]) -> None:
    """The table above as CSV: unrounded numbers under the descriptors that they belong to. ``rows`` is asked when somebody clicks."""
    store, ids = readers.store(), [s.set_id for s in sets]
    st.download_button(
        "This table as CSV", lambda: exports.table_csv(store, ids, rows()), f"observatory-{key}.csv", "text/csv", key=f"table {key}",
        icon=":material/download:", on_click="ignore", help="Unrounded numbers; the first line holds the descriptors of these sets.",
    )


def _width(header: str, cells: pd.Series) -> int:
    return min(420, 22 + round(7.6 * max(len(header), *(len(str(cell)) for cell in cells))))
