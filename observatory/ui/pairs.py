"""The queries behind a comparison: a list with both sets' hardest negatives, and one query with both sides in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.ui import compare_readers, drawer, readers, url

Pair = tuple[Described, Described]
Names = tuple[str, str]
LONGEST = 24  # names that fit into a column's header


def point_opened(customdata: list[Any]) -> None:
    """A point of the scatter was clicked: ``customdata`` is [query id]."""
    if customdata:
        url.changed(pair=str(customdata[0]), pbin=None, pwidth=None)
        st.toast("The query behind this point is opened under the figure.")


def bar_opened(customdata: list[Any]) -> None:
    """A bar of the differences was clicked: ``customdata`` is [bin, width, n]."""
    if customdata:
        url.changed(pbin=str(customdata[0]), pwidth=str(customdata[1]), pair=None)
        st.toast("The queries behind this bar are listed under the figure.")


def bar() -> tuple[int, float] | None:
    """The bar that the URL names, as bin and width."""
    index, width = url.first("pbin"), url.first("pwidth")
    try:
        found = int(index or ""), float(width or "")
    except ValueError:
        return None
    return found if abs(found[0]) < 10**9 and 0 < found[1] < 1e9 else None


def draw(pair: Pair, names: Names, same_unit: bool, here: bool) -> None:
    """The flips, or the bar that was clicked. An opened one stands right under the figures (``here``), a closed one lower."""
    opened = bar() is not None or url.first("pair") is not None
    if here != opened or pair[0].published or pair[1].published:
        return
    base, other = pair[0].set_id, pair[1].set_id
    at = bar() if same_unit else None
    st.subheader("Queries behind a bar" if at else "Queries that flip")
    if at is None:
        rows = compare_readers.pair_queries(base, other, ranks=not same_unit)
        what = f"with another outcome under {names[1]} than under {names[0]}, largest {'difference' if same_unit else 'contrast of percentiles'} first"
    else:
        rows = compare_readers.pair_queries(base, other, index=at[0], width=at[1])
        what = f"with a difference in [{at[0] * at[1]:.6g}, {(at[0] + 1) * at[1]:.6g}), largest first"
    listed(rows, pair, names, same_unit, what, f"{at}")
    if at is not None:
        st.button("Show the flips instead", on_click=lambda: url.changed(pbin=None, pwidth=None, pair=None))


def listed(rows: pd.DataFrame, pair: Pair, names: Names, same_unit: bool, what: str, place: str) -> None:
    """A list of shared queries, and the one that the URL opens: also one that is not in the list (a point that did not flip)."""
    cut = " (the first 200)" if len(rows) == 200 else ""
    st.text(f"{numbers.count(len(rows))} {'query' if len(rows) == 1 else 'queries'}{cut} {what}." if len(rows) else f"No query {what}.")
    ids = [str(i) for i in rows["query_id"]]
    wanted = url.first("pair")
    at = ids.index(wanted) if wanted in ids else None
    key = f"pairs {pair[0].set_id} {pair[1].set_id} {place}"
    if len(rows):
        _table(rows, names, same_unit, at, key, lambda i: url.changed(pair=None if i is None else ids[i]))
        drawer.step(ids, at, key, "pair")
    if wanted is None:
        return
    mine = rows.iloc[[at]] if at is not None else compare_readers.pair_queries(pair[0].set_id, pair[1].set_id, query_id=wanted)
    if mine.empty:
        st.warning("The link names a query that is not scored in both of these sets; choose one in the list.")
    else:
        _card(mine.iloc[0], pair, names, same_unit)


def _table(
    rows: pd.DataFrame, names: Names, same_unit: bool, at: int | None, key: str, chosen: Callable[[int | None], None]
) -> None:
    def follow() -> None:
        found = st.session_state[key].selection.rows
        chosen(found[0] if found else None)

    short = names if max(map(len, names)) <= LONGEST else ("baseline", "compared")
    frame = pd.DataFrame(
        {
            "query": rows["query"], "reference positive": rows["reference_before"],
            f"margin: {short[0]}": rows["before"].map(numbers.margin), f"margin: {short[1]}": rows["after"].map(numbers.margin),
            "difference" if same_unit else "percentile": _contrast(rows, same_unit),
            "outcome": rows["outcome_before"] + " to " + rows["outcome_after"],
            f"hardest: {short[0]}": rows["hardest_before"], f"hardest: {short[1]}": rows["hardest_after"],
        }
    )
    right = (f"margin: {short[0]}", f"margin: {short[1]}", "difference", "percentile")
    st.dataframe(
        frame, hide_index=True, key=key, on_select=follow, selection_mode="single-row",
        selection_default={"selection": {"rows": [] if at is None else [at]}}, height=min(320, 38 + 35 * len(frame)),
        column_config={
            c: st.column_config.TextColumn(
                alignment="right" if c in right else "left", width="medium" if c.startswith("hardest") or c in ("query", "reference positive") else None
            )
            for c in frame.columns
        },
    )


def _contrast(rows: pd.DataFrame, same_unit: bool) -> Sequence[str]:
    if same_unit:
        return [numbers.margin(v) for v in rows["difference"]]
    return [f"{100 * a:.0f}% to {100 * b:.0f}%" for a, b in zip(rows["before_rank"], rows["after_rank"], strict=True)]


def _card(row: pd.Series, pair: Pair, names: Names, same_unit: bool) -> None:
    """One query under both sets: reference, hardest negative and all negatives of each."""
    with st.container(border=True, key="opened-pair"):
        st.text(f"{row['query']}")
        change = f", difference {numbers.margin(row['difference'])}" if same_unit else " (the two margins share no unit)"
        st.text(f"{row['outcome_before']} under {names[0]}, {row['outcome_after']} under {names[1]}{change} ({row['query_id']})")
        query_id, set_id = str(row["query_id"]), pair[1].set_id
        if st.button("Open in Query", icon=":material/search:", key="pair in query", on_click=lambda: url.changed(q=query_id, query=None, under=set_id, find=None)):
            st.switch_page("pages/query.py")
        for column, side, s, name in zip(st.columns(2), ("before", "after"), pair, names, strict=True):
            with column:
                _side(row, side, s, name)


def _side(row: pd.Series, side: str, s: Described, name: str) -> None:
    st.text(
        f"{name}: margin {numbers.margin(row[side])} = {row[f'score_{side}']:.4f} - {row[f'against_{side}']:.4f}, "
        f"against {numbers.count(row[f'n_{side}'])} negatives"
    )
    st.text(f"Reference positive: {row[f'reference_{side}']}")
    found = readers.negatives(s.set_id, str(row["query_id"]))
    st.dataframe(
        pd.DataFrame(
            {
                "negative": found["text"], "score": found["score"].map("{:.4f}".format), "margin": found["margin"].map(numbers.margin),
                "relation": found["relation"].fillna("none recorded"), "rank": found["rank"].astype(str),
            }
        ),
        hide_index=True, height="content", key=f"negatives {side}",
        column_config={
            "negative": st.column_config.TextColumn(width=290),
            **{c: st.column_config.TextColumn(alignment="right") for c in ("score", "margin", "rank")},
        },
    )
