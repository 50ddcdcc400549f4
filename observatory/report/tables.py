"""Tables about margin sets: outcomes, draws, tails, quantiles, published beside fresh, strata, accounting. Display only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from observatory.descriptor import Outcomes
from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.figures.numbers import written
from observatory.figures.pairwise import Stratum
from observatory.report import cells
from observatory.report.content import Table
from observatory.report.selection import Run, Selected

PROBABILITIES = (0.0, 0.05, 0.10, 0.25, 0.5, 0.75, 0.90, 0.95, 1.0)


def table(title: str, rows: Sequence[dict[str, str]], words: int = 1, note: str = "") -> Table:
    """A table from rows that all have the same keys, at least one."""
    return Table(title, tuple(rows[0]), tuple(tuple(r.values()) for r in rows), words, note)


def badge(s: Described, chosen: Selected) -> str:
    """locked, unlocked, or published with what is not recorded; and how much of that people asserted."""
    stated = len(chosen.asserted.get(s.set_id, {}))
    return s.state + (f", asserted by hand: {numbers.count(stated)}" if stated else "")


def sets(chosen: Selected) -> Table:
    """What each set is: the instrument in one row."""
    rows = [
        {
            "negative set": chosen.names[s.set_id], "k": s.k.removeprefix("k "), "reference positive": s.descriptor.reference_positive.rule,
            "scorer": f"{s.model}, {s.metric}", "corpus": s.corpus, "labels": cells.words(s.descriptor.label_quality.adjudication_method),
            "state": badge(s, chosen),
        }
        for s in chosen.sets
    ]
    return table("Margin sets", rows, words=7)


def runs(found: Sequence[Run]) -> Table:
    rows = [
        {
            "run": r.name, "benchmark": r.benchmark, "started": cells.words(r.started)[:19].replace("T", " "), "software": software(r),
            "lock": f"{r.lock_state}, {str(r.lock['lock_sha256'])[:12]}" if "lock_sha256" in r.lock else r.lock_state, "artifact": r.id, "source": r.source,
        }
        for r in found
    ]
    return table("Runs", rows, words=7)


def software(r: Run) -> str:
    """observatory 0.1.0, commit f27e670a: of the run where it says so, else of its lock. Who measured a published table is not recorded."""
    if r.published:
        return "not recorded"
    version = r.record.get("observatory") or r.lock.get("observatory")
    git = r.lock.get("git") or {}
    commit = f", commit {str(git['commit'])[:8]}{' with changes' if git.get('dirty') else ''}" if git.get("commit") else ""
    return f"observatory {version}{commit}" if version else "not recorded"


def outcomes(chosen: Selected) -> Table:
    rows = []
    for s in chosen.sets:
        o = s.descriptor.outcomes
        rows.append(
            {
                "negative set": chosen.names[s.set_id], "k": s.k.removeprefix("k "), "mean margin [95%]": cells.mean(s), "win rate [95%]": cells.win(s, chosen.rates),
                "random mean / this mean": _ratio(s, chosen), "median": written(o.median_margin, numbers.margin), "p05": written(o.p05, numbers.margin),
                "p10": written(o.p10, numbers.margin), "scored": numbers.count(o.n_queries),
            }
        )
    return table("Outcomes", rows, note="Win rate: share of queries whose reference positive scores above its hardest negative, strictly. Quantiles are linear.")


def _ratio(s: Described, chosen: Selected) -> str:
    base = next((r for r in chosen.sets if r.method == "random" and r.artifact_id == s.artifact_id), None)
    if base is None:
        return "no random set here"
    mean, mine = base.descriptor.outcomes.mean_margin, s.descriptor.outcomes.mean_margin
    if not isinstance(mean, float) or not isinstance(mine, float):
        return numbers.NOT_MEASURED_HERE
    return numbers.quotient(mean / mine) if mine > 0 else "mean not above 0"


def draws(chosen: Selected) -> Table | None:
    """Random draws beside the exact expectation over all draws."""
    rows = []
    for s in chosen.sets:
        e, o = s.descriptor.expectation, s.descriptor.outcomes
        if s.method == "random":
            known = [cells.words(e)] * 3 if isinstance(e, str) else [numbers.margin(e.mean_margin), f"{e.sd_of_mean_margin:.4f}", numbers.rate(e.win_rate)]
            rows.append(
                {
                    "negative set": chosen.names[s.set_id], "seed": cells.words(s.descriptor.mining.rng_seed), "this draw: mean": written(o.mean_margin, numbers.margin),
                    "all draws: mean": known[0], "all draws: sd of a draw's mean": known[1],
                    "this draw: win rate": written(o.selected_positive_win_rate, numbers.rate), "all draws: win rate": known[2],
                }
            )
    return table("One random draw and all of them", rows, note="One draw is luck: the expectation is exact, over every draw that could have been made.") if rows else None


def tails(chosen: Selected) -> Table:
    rows = []
    for s in chosen.sets:
        o, mine = s.descriptor.outcomes, chosen.rates.get(s.set_id, {})
        row = {"negative set": chosen.names[s.set_id]}
        for word, sign, n in (("loss", "m < 0", o.n_lt_zero), ("tie", "m = 0", o.n_eq_zero), ("win", "m > 0", o.n_gt_zero)):
            row[f"{sign} ({word})"] = written(n, numbers.count)
            row[f"{word} rate [95%]"] = cells.win(s, chosen.rates) if word == "win" else cells.rate(mine.get(word))
        rows.append(row | {"scored": numbers.count(o.n_queries)})
    return table("Tails", rows, note="Rates: Wilson at the effective number of queries over clusters.")


def quantiles(chosen: Selected) -> Table:
    """Linear quantiles of each measured set's margins."""
    ids = [s.set_id for s in chosen.measured]
    frame = chosen.store.quantiles(ids, PROBABILITIES)
    known = {str(i): q for i, q in zip(frame["set_id"], frame["quantiles"], strict=True)}
    names = ["smallest" if q == 0 else "median" if q == 0.5 else "largest" if q == 1 else f"p{100 * q:02.0f}" for q in PROBABILITIES]
    rows = [
        {"negative set": chosen.names[i]} | {n: written(v, numbers.margin) for n, v in zip(names, known.get(i, [None] * len(names)), strict=True)} for i in ids
    ]
    return table("Quantiles of the margins", rows)


def beside(chosen: Selected) -> Table:
    """Published figures and fresh ones of the same rule and model in one row."""
    fresh = {(s.rule, s.model): s for s in reversed(chosen.measured)}
    rows = []
    for s in (s for s in chosen.sets if s.published):
        mine, theirs = fresh.get((s.rule, s.model)), s.descriptor.outcomes
        ours = mine.descriptor.outcomes if mine else None
        rows.append(
            {
                "negative set": s.rule, "model": s.model, **_two("mean", theirs, ours, "mean_margin", numbers.margin),
                "fresh minus published mean": _change(ours.mean_margin if ours else None, theirs.mean_margin),
                **_two("win rate", theirs, ours, "selected_positive_win_rate", numbers.rate), **_two("median", theirs, ours, "median_margin", numbers.margin),
            }
        )
    return table("Published beside fresh", rows, words=2)


def _two(what: str, theirs: Outcomes, ours: Outcomes | None, field: str, form: Callable[[float], str]) -> dict[str, str]:
    return {f"published {what}": written(getattr(theirs, field), form), f"fresh {what}": written(getattr(ours, field, None), form)}


def _change(ours: object, theirs: object) -> str:
    if not isinstance(ours, float) or not isinstance(theirs, float):
        return numbers.NOT_MEASURED_HERE
    return "same to 4 decimals" if numbers.margin(ours) == numbers.margin(theirs) else numbers.margin(ours - theirs)


def strata(found: Sequence[Stratum], smalls: dict[tuple[str, str], str], wins: dict[tuple[str, str], str], chosen: Selected) -> Table:
    """Pairwise means by relation: one row a relation and set."""
    rows = []
    for s in sorted(found, key=lambda s: (s.relation, chosen.names[s.set_id])):
        bracket = numbers.interval(s.low, s.high) if s.low is not None and s.high is not None else f"({s.note})"
        at = (s.set_id, s.relation)
        rows.append(
            {
                "relation": s.relation, "negative set": chosen.names[s.set_id], "n pairs": written(s.n, numbers.count),
                "pairwise mean [95%]": f"{numbers.margin(s.mean)} {bracket}", "share above 0 [95%]": wins.get(at, numbers.NOT_MEASURED_HERE),
                "mark": smalls.get(at) or "none",
            }
        )
    return table(
        "Pairwise means by relation", rows, words=2,
        note="One row is one designated negative, not a query's hardest one: another aggregation than the means above. Shares: Clopper-Pearson, pairs taken as independent.",
    )


def accounting(chosen: Selected) -> Table:
    """attempted = scored + excluded + failed, and the sampling unit."""
    rows = []
    for s in chosen.sets:
        a, c = s.descriptor.accounting, s.descriptor.clusters
        rows.append(
            {
                "negative set": chosen.names[s.set_id], "attempted": written(a.n_attempted, numbers.count), "scored": numbers.count(a.n_scored),
                "excluded": written(a.n_excluded, numbers.count), "failed": written(a.n_failed, numbers.count), "reasons": cells.reasons(a.reasons),
                "clusters": written(c.n_clusters, numbers.count), "cluster rule": cells.words(c.rule), "fields not recorded": numbers.count(len(s.missing)),
                "state": badge(s, chosen),
            }
        )
    return table("Accounting", rows, note="attempted = scored + excluded + failed.")


def asserted(chosen: Selected) -> Table | None:
    """What people stated about fields that a source left out, each with who and when."""
    rows = [
        {"negative set": chosen.names[i], "field": field, "asserted": cells.words(a.value), "by": a.who, "when": f"{a.when[:16].replace('T', ' ')} UTC"}
        for i, stated in chosen.asserted.items() for field, a in stated.items()
    ]
    return table("Asserted by hand, not recorded by the source", rows, words=5) if rows else None


def histogram_note(frame: pd.DataFrame, width: float) -> str:
    return f"Bins of {width:g}, the same for all sets, zero always an edge; {numbers.count(int(frame['n'].sum()))} margins."
