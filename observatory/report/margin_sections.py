"""Sections about margins: what was measured, means, distributions, published beside fresh, strata, accounting, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from observatory import statistics, strata
from observatory.figures import footer, histogram, limits, numbers, standalone, theme
from observatory.figures.bins import nice_width
from observatory.figures.described import Described
from observatory.figures.ecdf import ecdf
from observatory.figures.overview import mean_margins
from observatory.figures.pairwise import Stratum, pairwise_means
from observatory.report import tables
from observatory.report.content import Block, Figure, Listing, Section
from observatory.report.selection import Selected
from observatory.store import PAIRWISE

COLOURS = theme.LIGHT


def always(chosen: Selected) -> str:
    return ""


def figure(title: str, drawn: Any, foot: str, sets: Sequence[Described]) -> Figure:
    """A figure with its two lines: what it supports, and what it was measured against."""
    return Figure(title, standalone.spec(drawn), foot, footer.essentials(sets))


def of_unit(title: str, mine: Sequence[Described], chosen: Selected) -> str:
    """The title of one unit's figure: with its model where the report has several."""
    return f"{title}, {mine[0].model} ({mine[0].metric})" if len(chosen.units) > 1 else f"{title} ({mine[0].metric})"


def measured(chosen: Selected) -> Section:
    """Sets, runs and the one command that makes each run again."""
    commands = [str(r.record["command"]) for r in chosen.runs if r.record.get("command")]
    blocks: list[Block] = [tables.sets(chosen), tables.runs(chosen.runs)]
    if commands:
        blocks += ["Each run is made again by one command, with the same benchmark files, weights and package versions:", Listing(tuple(commands), code=True)]
    if (found := tables.asserted(chosen)) is not None:
        blocks += ["A person typed in what a published source leaves out. It is no part of the descriptors below, and turned nothing into a measurement.", found]
    data = {r.id: {"run": dict(r.record), "lock": dict(r.lock), "lock_state": r.lock_state, "published": r.published} for r in chosen.runs}
    return Section("measured", "What was measured", tuple(blocks), {"runs": data})


def means(chosen: Selected) -> Section:
    """Mean margin of each set, with the table of outcomes."""
    blocks: list[Block] = [
        figure(of_unit("Mean margins", mine, chosen), mean_margins(mine, COLOURS), footer.of_means(mine), mine) for mine in chosen.units
    ]
    blocks += [tables.outcomes(chosen)]
    if (drawn := tables.draws(chosen)) is not None:
        blocks.append(drawn)
    return Section("means", "Mean margins", tuple(blocks))


def no_rows(chosen: Selected) -> str:
    return "" if any(s.descriptor.accounting.n_scored for s in chosen.measured) else "no set here was measured per query"


def distributions(chosen: Selected) -> Section:
    """Histogram and ECDF of each unit, tails and quantiles. Margins are binned in the store; none leaves it one by one."""
    blocks: list[Block] = []
    for unit in chosen.units:
        mine = [s for s in unit if s.set_id in chosen.rates]
        if not mine:
            continue
        ids = [s.set_id for s in mine]
        width = nice_width(*(chosen.store.extent(ids) or (0.0, 1.0)))
        build = histogram.multiples if len(mine) > histogram.MOST_OVERLAID else histogram.overlaid
        binned = chosen.store.histogram(ids, width)
        foot = footer.of_margins(mine, {i: chosen.rates[i]["win"] for i in ids})
        blocks.append(figure(of_unit("Margins", mine, chosen), build(binned, width, chosen.store.tails(ids), mine, COLOURS), foot, mine))
        blocks.append(tables.histogram_note(binned, width))
        losses = {i: chosen.rates[i]["loss"] for i in ids}
        blocks.append(figure(of_unit("Share of queries at or below a margin", mine, chosen), ecdf(chosen.store.ecdf(ids), losses, mine, COLOURS), foot, mine))
    lacking = [chosen.names[s.set_id] for s in chosen.sets if s.set_id not in chosen.rates]
    if lacking:
        blocks.append(f"Not measured per query, so there is no distribution to draw: {'; '.join(lacking)}.")
    data = {i: {word: asdict(rate) for word, rate in found.items()} for i, found in chosen.rates.items()}
    return Section("distributions", "Distributions and tails", (*blocks, tables.tails(chosen), tables.quantiles(chosen)), {"rates": data})


def none_published(chosen: Selected) -> str:
    return "" if any(s.published for s in chosen.sets) else "no published set is selected"


def published(chosen: Selected) -> Section:
    """Published figures beside fresh ones."""
    text = "Published figures are as their source states them and were not measured here. Fresh are measurements of the same rule and model in this report."
    return Section("published", "Published beside fresh", (text, tables.beside(chosen)))


def no_relations(chosen: Selected) -> str:
    return "" if any(s.descriptor.strata for s in chosen.sets) else "no set lists its negatives by relation"


def relations(chosen: Selected) -> Section:
    """Pairwise means by relation, in figures and in one table."""
    found: list[Stratum] = []
    smalls: dict[tuple[str, str], str] = {}
    wins: dict[tuple[str, str], str] = {}
    for s in chosen.sets:
        rows = chosen.store.stratified(s.set_id, PAIRWISE) if not s.published else None
        for relation, stratum in s.descriptor.strata.items():
            mean = getattr(stratum, "mean_pairwise_margin", None)
            if mean is not None:
                found.append(_stratum(s, relation, stratum.n, mean, rows))
        for measured in strata.of_margins(s.set_id, rows) if rows is not None else []:
            at = (s.set_id, measured.name)
            smalls[at] = measured.small
            wins[at] = f"{numbers.rate(measured.wins.estimate)} {numbers.rate_interval(measured.wins.low or 0.0, measured.wins.high or 0.0)}"
    blocks: list[Block] = []
    for unit in chosen.units:
        mine = [s for s in unit if s.set_id in {t.set_id for t in found}]
        strips = [t for t in found if t.set_id in {s.set_id for s in mine}]
        if strips:
            blocks.append(figure(of_unit("Pairwise means by relation", mine, chosen), pairwise_means(strips, mine, COLOURS), footer.of_pairwise(strips), mine))
    blocks.append(tables.strata(found, smalls, wins, chosen))
    return Section("relations", "Strata by relation", tuple(blocks), {"strata": [asdict(t) for t in found]})


def _stratum(s: Described, relation: str, n: int | str, mean: float, rows: pd.DataFrame | None) -> Stratum:
    mine = rows[rows["stratum"] == relation] if rows is not None else None
    if mine is None or mine.empty:
        return Stratum(s.set_id, relation, n, mean, None, None, "interval not measured")
    interval = statistics.cluster_mean(mine["margin"].to_numpy(), mine["cluster"].to_numpy())
    return Stratum(s.set_id, relation, n, mean, interval.low, interval.high, interval.note)


def accounting(chosen: Selected) -> Section:
    """Who was counted, and who was left out."""
    return Section("accounting", "Accounting", (tables.accounting(chosen),))


def not_established(chosen: Selected) -> Section:
    """What the numbers of this very selection do not establish."""
    return Section("limits", "What these numbers do not establish", (Listing(tuple(limits.limits(chosen.sets))),))
