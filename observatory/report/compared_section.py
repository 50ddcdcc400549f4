"""The section that puts every set beside the baseline, on the queries that both scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from observatory.figures import differences, numbers, paired_footer, scatter, theme
from observatory.figures.bins import nice_width
from observatory.paired import NO_UNIT, Paired, family
from observatory.report import cells
from observatory.report.content import Block, Figure, Table
from observatory.report.content import Section as Section
from observatory.report.margin_sections import COLOURS, figure
from observatory.report.selection import Selected
from observatory.report.tables import table

MOST_PAIRS, MOST_POINTS = 6, 2000
NONE = "no common unit"


def lacking(chosen: Selected) -> str:
    return "" if len(chosen.sets) > 1 else "a comparison needs two sets"


def compared(chosen: Selected) -> Section:
    """The instruments' differences, the comparisons with their corrections, and the figures of the first pairs."""
    found, base = chosen.compared, chosen.names[chosen.baseline]
    drawn = [p for p in found if p.n and p.outcomes is not None]
    blocks: list[Block] = [f"The baseline is {base}. A difference is the other set minus the baseline on the same query."]
    blocks += [table("Controlled or confounded", [_verdict(p, chosen) for p in found], words=3), _comparisons(found, chosen), _wins(found, chosen)]
    blocks += [f for p in drawn[:MOST_PAIRS] for f in _figures(p, chosen)]
    if len(drawn) > MOST_PAIRS:
        blocks.append(f"Drawn are the first {MOST_PAIRS} of {numbers.count(len(drawn))} comparisons; all are in the tables.")
    return Section("compared", "Compared with the baseline", tuple(blocks), {"baseline": chosen.baseline, "comparisons": [_data(p) for p in found]})


def _verdict(p: Paired, chosen: Selected) -> dict[str, str]:
    fields = [f"{path}: {cells.words(a)} | {cells.words(b)}" for path, (a, b) in p.differences.items()]
    return {"set": chosen.names[p.other], "instrument": p.verdict, "fields that differ (baseline | this set)": "; ".join(fields) or "none"}


def _comparisons(found: Sequence[Paired], chosen: Selected) -> Table:
    corrected = family(found)
    rows = []
    for p in found:
        holm, bonferroni = (cells.p(v) for v in corrected.get(p.other, (None, None)))
        none = NONE if not p.same_unit else numbers.NOT_MEASURED_HERE
        rows.append(
            {
                "set": chosen.names[p.other], "paired difference [95%]": cells.margin(p.mean) if p.mean is not None else none,
                "d": f"{p.d:+.2f}" if p.d is not None else none if p.mean is None else "differences do not vary",
                "baseline mean / this mean": numbers.quotient(p.ratio) if p.ratio is not None else none,
                "p": cells.p(p.test.p if p.test else None), "Holm": holm, "Bonferroni": bonferroni, "better / equal / worse": _counts(p),
                "pairs (clusters)": f"{numbers.count(p.n)} ({numbers.count(p.n_clusters)})" if p.n else numbers.NOT_MEASURED_HERE,
                "instrument": p.verdict.split(":")[0],
            }
        )
    return table("Paired comparisons", rows, note=_family_note(found))


def _counts(p: Paired) -> str:
    if p.better is None or p.equal is None or p.worse is None:
        return numbers.NOT_MEASURED_HERE
    return " / ".join(numbers.count(n) for n in (p.better, p.equal, p.worse)) + ("" if p.same_unit else " (outcomes)")


def _family_note(found: Sequence[Paired]) -> str:
    """How p was computed, and what the corrections run over."""
    tested = [p for p in found if p.test is not None]
    if not tested:
        return "No comparison here has margins per query on both sides: no paired difference and no p."
    hows = "; ".join(dict.fromkeys(paired_footer.how(p.test) for p in tested if p.test is not None))
    n = "the one comparison" if len(tested) == 1 else f"the {numbers.count(len(tested))} tested comparisons"
    about = " Where scorers share no unit, p is about wins." if any(not p.same_unit for p in tested) else ""
    return f"p: {hows}.{about} Holm and Bonferroni run over {n} of this table. d: Cohen's d for pairs."


def _wins(found: Sequence[Paired], chosen: Selected) -> Table:
    by_id = {s.set_id: s for s in chosen.sets}
    rows = []
    for p in found:
        o = p.outcomes
        counts = [numbers.NOT_MEASURED_HERE] * 5 if o is None else [*(numbers.count(n) for n in (o.both, o.lost, o.gained, o.neither)), cells.p(o.exact_p)]
        names = ("both win", "only the baseline", "only this", "neither", "exact p")
        rows.append({"set": chosen.names[p.other], **dict(zip(names, counts, strict=True)), "win rate [95%]": cells.win(by_id[p.other], chosen.rates)})
    base = cells.win(chosen.base, chosen.rates)
    return table(
        "Who won where", rows, note=f"Baseline's win rate: {base}. A win is a margin above 0. Exact p: McNemar's test, queries taken as independent.",
    )


def _figures(p: Paired, chosen: Selected) -> list[Figure]:
    """The scatter of one pair and, with a common unit, the distribution of its differences."""
    by_id = {s.set_id: s for s in chosen.sets}
    pair, names = (by_id[p.baseline], by_id[p.other]), (chosen.names[p.baseline], chosen.names[p.other])
    look = theme.styles(chosen.sets)[p.other]
    points = chosen.store.pair_points(p.baseline, p.other, MOST_POINTS)
    flips, against = int(points["flip"].sum()), f"{names[1]} against {names[0]}"
    foot = paired_footer.of_scatter(p, names, len(points), flips)
    if p.mean is None or p.worse is None or p.equal is None or p.better is None:
        o = p.outcomes
        assert o is not None, "pairs with outcomes are drawn"
        ties = ((p.n - o.both - o.lost) / p.n, (p.n - o.both - o.gained) / p.n)
        return [figure(f"Each query under two scorers: {against}", scatter.ranks(points, ties, names, look, COLOURS), foot, pair)]
    rows = chosen.store.pairs(p.baseline, p.other)
    change = rows["after"] - rows["before"]
    width = nice_width(float(change.min()), float(change.max()), 40)
    shares = (p.worse / p.n, p.equal / p.n, p.better / p.n)
    bars = differences.differences(
        chosen.store.pair_histogram(p.baseline, p.other, width), width, shares, p.mean, names, pair[0].metric, look, COLOURS,
    )
    return [
        figure(f"Each query under both: {against}", scatter.margins(points, pair, names, look, COLOURS), foot, pair),
        figure(f"Paired differences: {against}", bars, paired_footer.of_differences(p, names), pair),
    ]


def _data(p: Paired) -> dict[str, Any]:
    """A comparison as plain data."""
    record = {name: getattr(p, name) for name in ("other", "verdict", "same_unit", "ratio", "n", "n_clusters", "only_baseline", "only_other", "d", "better", "equal", "worse", "note")}
    return record | {
        "differences": {k: list(v) for k, v in p.differences.items()}, "mean": asdict(p.mean) if p.mean is not None else None,
        "outcomes": asdict(p.outcomes) | {"exact_p": p.outcomes.exact_p} if p.outcomes is not None else None,
        "test": None if p.test is None else {"p": p.test.p, "statistic": p.test.statistic, "method": p.test.method, "resamples": p.test.resamples},
        "why_no_difference": NO_UNIT if not p.same_unit else p.note,
    }
