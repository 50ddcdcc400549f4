"""Tables as they are read: every number beside its interval, every missing one in words. Display only, no statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.figures.numbers import written
from observatory.statistics import Interval

Rates = Mapping[str, Mapping[str, Interval]]


def show(frame: pd.DataFrame, pinned: str, key: str | None = None) -> None:
    """A read-only table that scrolls inside itself, numbers right-aligned, its first column pinned, no cell cut off."""
    config = {
        column: st.column_config.TextColumn(
            column, alignment="left" if column in (pinned, "source", "state") else "right", pinned=column == pinned,
            width=_width(column, frame[column]),
        )
        for column in frame.columns
    }
    st.dataframe(frame, hide_index=True, column_config=config, key=key, height="content")


def _width(header: str, cells: pd.Series) -> int:
    """Pixels that the longest text of a column needs: the table measures only its first rows."""
    return min(460, 24 + 8 * max(len(header), *(len(str(cell)) for cell in cells))) if len(cells) else 120


def overview(sets: Sequence[Described], rates: Rates) -> pd.DataFrame:
    """Outcomes of each set, a published one right under the fresh one of the same rule."""
    names = labels(sets)
    rows = []
    for s in sets:
        o = s.descriptor.outcomes
        rows.append(
            {
                "negative set": names[s.set_id].removesuffix(", published"),
                "source": "published" if s.published else "fresh",
                "mean margin [95% interval]": _mean(s), "win rate [95% interval]": _win(s, rates), "ratio to random": ratio(s, sets), "median": written(o.median_margin, numbers.margin),
                "p05": written(o.p05, numbers.margin), "p10": written(o.p10, numbers.margin),
                "wins / ties / losses": _counts(s), "k": s.k.removeprefix("k "),
                "scored": numbers.count(o.n_queries), "state": s.state,
            }
        )
    return pd.DataFrame(rows)


def ratio(s: Described, sets: Sequence[Described]) -> str:
    """Exact quotient of the random set's mean and this set's mean, in the same artifact."""
    base = next((r for r in sets if r.method == "random" and r.artifact_id == s.artifact_id), None)
    mine = s.descriptor.outcomes.mean_margin
    if base is None:
        return "random set not shown"
    mean = base.descriptor.outcomes.mean_margin
    if not isinstance(mean, float) or not isinstance(mine, float):
        return numbers.NOT_MEASURED_HERE
    return numbers.quotient(mean / mine) if mine > 0 else "mean not above 0"


def _mean(s: Described) -> str:
    mean, ci = s.descriptor.outcomes.mean_margin, numbers.mean_interval(s.descriptor.outcomes.mean_ci)
    if not isinstance(mean, float):
        return written(mean, numbers.margin)
    return f"{numbers.margin(mean)} " + (ci if ci.startswith("[") else f"(interval {ci})" if ci.startswith("not") else f"({ci})")


def _win(s: Described, rates: Rates) -> str:
    win = rates.get(s.set_id, {}).get("win")
    if win is None:
        text = written(s.descriptor.outcomes.selected_positive_win_rate, numbers.rate)
        return text if text.startswith("not") else f"{text} (interval not measured)"
    return _with_interval(win)


def _with_interval(rate: Interval) -> str:
    brackets = f"({rate.note})" if rate.low is None or rate.high is None else numbers.rate_interval(rate.low, rate.high)
    return f"{numbers.rate(rate.estimate)} {brackets}"


def _counts(s: Described) -> str:
    o = s.descriptor.outcomes
    values = [written(n, numbers.count) for n in (o.n_gt_zero, o.n_eq_zero, o.n_lt_zero)]
    return values[0] if len(set(values)) == 1 and values[0].startswith("not") else " / ".join(values)


def accounting(sets: Sequence[Described]) -> pd.DataFrame:
    """attempted = scored + excluded + failed, the sampling unit, and what the descriptor lacks."""
    names = labels(sets)
    rows = []
    for s in sets:
        a, c = s.descriptor.accounting, s.descriptor.clusters
        reasons = a.reasons if isinstance(a.reasons, str) else "; ".join(f"{n} {why}" for why, n in a.reasons.items()) or "none"
        rows.append(
            {
                "negative set": names[s.set_id], "attempted": written(a.n_attempted, numbers.count),
                "scored": numbers.count(a.n_scored), "excluded": written(a.n_excluded, numbers.count),
                "failed": written(a.n_failed, numbers.count), "reasons": written(reasons, str),
                "clusters": written(c.n_clusters, numbers.count), "cluster rule": written(c.rule, str), "state": s.state,
                "fields not recorded": numbers.count(len(s.missing)),
            }
        )
    return pd.DataFrame(rows)


def expectation(sets: Sequence[Described]) -> pd.DataFrame:
    """A random draw beside the exact expectation over all draws."""
    names = labels(sets)
    rows = []
    for s in sets:
        e, o = s.descriptor.expectation, s.descriptor.outcomes
        if s.method != "random":
            continue
        mean, sd, wins = [written(e, str)] * 3 if isinstance(e, str) else (
            numbers.margin(e.mean_margin), f"{e.sd_of_mean_margin:.4f}", numbers.rate(e.win_rate)
        )
        rows.append(
            {
                "negative set": names[s.set_id], "k": s.k.removeprefix("k "), "seed": written(s.descriptor.mining.rng_seed, str),
                "this draw: mean": written(o.mean_margin, numbers.margin),
                "all draws: mean": mean, "all draws: sd of a draw's mean": sd,
                "this draw: win rate": written(o.selected_positive_win_rate, numbers.rate),
                "all draws: win rate": wins,
            }
        )
    return pd.DataFrame(rows)


def beside(sets: Sequence[Described]) -> pd.DataFrame:
    """Published figures and fresh ones of the same rule and model in one row, with their difference."""
    fresh = {(s.rule, s.model): s for s in reversed(sets) if not s.published}
    rows = []
    for s in (s for s in sets if s.published):
        mine, theirs = fresh.get((s.rule, s.model)), s.descriptor.outcomes
        ours = mine.descriptor.outcomes if mine else None
        rows.append(
            {
                "negative set": s.rule, "published mean": written(theirs.mean_margin, numbers.margin),
                "fresh mean": written(ours.mean_margin if ours else None, numbers.margin),
                "fresh - published mean": _difference(ours.mean_margin if ours else None, theirs.mean_margin),
                "published win rate": written(theirs.selected_positive_win_rate, numbers.rate),
                "fresh win rate": written(ours.selected_positive_win_rate if ours else None, numbers.rate),
                "published median": written(theirs.median_margin, numbers.margin),
                "fresh median": written(ours.median_margin if ours else None, numbers.margin),
            }
        )
    return pd.DataFrame(rows)


def _difference(ours: object, theirs: object) -> str:
    if not isinstance(ours, float) or not isinstance(theirs, float):
        return numbers.NOT_MEASURED_HERE
    return "same to 4 decimals" if numbers.margin(ours) == numbers.margin(theirs) else numbers.margin(ours - theirs)


def tails(sets: Sequence[Described], rates: Rates) -> pd.DataFrame:
    """Losses, ties and wins of each set, counted, with their shares and intervals."""
    names = labels(sets)
    rows = []
    for s in sets:
        o, mine = s.descriptor.outcomes, rates.get(s.set_id, {})
        row = {"negative set": names[s.set_id], "k": s.k.removeprefix("k ")}
        for word, sign, n in (("loss", "m < 0", o.n_lt_zero), ("tie", "m = 0", o.n_eq_zero), ("win", "m > 0", o.n_gt_zero)):
            row[f"{sign}: {word}"] = written(n, numbers.count)
            row[f"{word} rate"] = _with_interval(mine[word]) if word in mine else _rate_without_rows(s, word)
        rows.append(row | {"scored": numbers.count(o.n_queries)})
    return pd.DataFrame(rows)


def _rate_without_rows(s: Described, word: str) -> str:
    return _win(s, {}) if word == "win" else numbers.NOT_MEASURED_HERE


def tails_at(sets: Sequence[Described], rates: Rates, t: float) -> pd.DataFrame:
    """Margins below, at and above a threshold, counted, with their shares and intervals; published tables hold none."""
    names, form = labels(sets), f"{t:g}"
    rows = []
    for s in sets:
        mine = rates.get(s.set_id, {})
        row = {"negative set": names[s.set_id], "k": s.k.removeprefix("k ")}
        for word, sign in (("loss", "<"), ("tie", "="), ("win", ">")):
            rate = mine.get(word)
            row[f"m {sign} {form}"] = numbers.NOT_MEASURED_HERE if rate is None else numbers.count(round(rate.estimate * rate.n))
            row[f"share {sign} {form}"] = numbers.NOT_MEASURED_HERE if rate is None else _with_interval(rate)
        rows.append(row | {"scored": numbers.count(s.descriptor.outcomes.n_queries)})
    return pd.DataFrame(rows)


def quantiles(
    found: Mapping[str, Sequence[Interval]], ends: Mapping[str, tuple[float, float] | None], probabilities: Sequence[float], sets: Sequence[Described]
) -> pd.DataFrame:
    """Quantiles of each set's margins with their intervals; a published set gives what its table states, or says that it does not."""
    names = labels(sets)
    rows = []
    for s in sets:
        o, (low, high) = s.descriptor.outcomes, ends.get(s.set_id) or (None, None)
        stated = {0.05: o.p05, 0.1: o.p10, 0.5: o.median_margin}
        row = {"negative set": names[s.set_id], "k": s.k.removeprefix("k "), "smallest": written(low, numbers.margin)}
        for i, p in enumerate(probabilities):
            mine = found.get(s.set_id)
            row[f"{_quantile(p)} [95%]"] = _quantile_cell(mine[i]) if mine else written(stated.get(p), numbers.margin)
        rows.append(row | {"largest": written(high, numbers.margin), "scored": numbers.count(o.n_queries)})
    return pd.DataFrame(rows)


def _quantile_cell(q: Interval) -> str:
    brackets = f"({q.note})" if q.low is None or q.high is None else numbers.interval(q.low, q.high)
    return f"{numbers.margin(q.estimate)} {brackets}"


def _quantile(p: float) -> str:
    return {0.0: "smallest", 0.5: "median", 1.0: "largest"}.get(p, f"p{100 * p:02.0f}")
