"""Every fault of a benchmark and what else a reader should know before measuring on it."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from observatory import benchmarks, polarity_check
from observatory.benchmarks import contrast
from observatory.benchmarks.build_text import lexical_overlap
from observatory.benchmarks.faults import Faults, TooManyFaults
from observatory.errors import InputError
from observatory.records import Benchmark

BANDS = (0.2, 0.5)
"""Edges of the low, middle and high band of word overlap (the bands of RELATE's datasheet)."""

SHIPPED_SET_RULES = frozenset({"language", "kind_count", "kind", "keys", "empty", "mirror"})
"""Rules of the polarity checker about the make-up of the shipped set, which another set need not share."""


@dataclass(frozen=True)
class Report:
    """``faults`` make a benchmark unusable, ``warnings`` qualify it, ``facts`` describe it.

    ``stopped`` says that reading ended before the end because there were so many faults; it is empty otherwise.
    """

    faults: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    benchmark: Benchmark | None = None
    stopped: str = ""

    @property
    def valid(self) -> bool:
        return not self.faults


def validate(path: str | Path, format: str | None = None, split: str | None = None) -> Report:
    """Read the whole benchmark, going on after each fault: every split of it unless one is named.

    Facts and warnings are those of the named split, else of ``test``, else of the first.
    """
    faults, stopped = Faults(strict=False), ""
    read: list[Benchmark] = []
    try:
        chosen = benchmarks.recognise(Path(path), format)
        for name in [split] if split is not None else _splits(chosen, Path(path)):
            read.append(chosen.read(Path(path), name, faults))
    except InputError as error:  # no record's fault but the whole file's: nothing more can be read
        with contextlib.suppress(TooManyFaults):
            faults.add(error)
    except TooManyFaults:
        stopped = f"reading stopped after {len(faults.found)} faults: mend these first, or check that this is the right file"
    if faults.found:
        return Report(tuple(str(fault) for fault in faults.found), stopped=stopped)
    facts, warnings = list(_facts(read[0])), [*read[0].warnings, *_warnings(read[0])]
    if len(read) > 1:
        facts.insert(1, ("other splits, read as well", ", ".join(f"{b.split} ({len(b.queries):,} queries)" for b in read[1:])))
    if read[0].format == "polarity":
        more = _polarity_report(Path(path))
        facts, warnings = facts + more[0], warnings + more[1]
    return Report((), tuple(warnings), tuple(facts), read[0])


def _splits(chosen: benchmarks.Format, path: Path) -> list[str | None]:
    """The format's default split first, where it is one of them."""
    return sorted(chosen.splits(path), key=lambda name: name != "test") or [None]


def _facts(b: Benchmark) -> Iterator[tuple[str, str]]:
    yield "name", f"{b.name} {b.version} ({b.format}{', split ' + b.split if b.split else ''})"
    yield "licence", b.licence or "not recorded"
    yield "corpus_hash", b.corpus_hash
    yield "items", f"{len(b.items):,}"
    yield "queries", f"{len(b.queries):,}" + _counted(q.style for q in b.queries)
    yield "domains", f"{len({i.domain for i in b.items} - {None})}" + _counted(i.domain for i in b.items)
    texts = Counter(i.source_text for i in b.items if i.source_text is not None)
    yield "source texts", f"{len(texts)}" + (f" ({min(texts.values())} to {max(texts.values())} items each)" if texts else "")
    yield "clusters by target item", f"{len({q.target_item_id for q in b.queries} - {None}):,}" if b.queries else "none"
    yield "positives by grade", _counted((f"grade {p.grade}" for q in b.queries for p in q.positives), bare=True)
    yield "designated negatives by method", _counted((n.method for q in b.queries for n in q.designated_negatives), bare=True)
    yield "pairs", f"{len(b.pairs):,}" + _counted(p.relation for p in b.pairs)
    yield from ((f"run {name}", f"{sum(map(len, run.values())):,} entries for {len(run):,} queries") for name, run in b.runs.items())
    yield from _overlap(b)


def _counted(values: Iterator[str | None], bare: bool = False) -> str:
    counts = Counter(v for v in values if v is not None)
    text = ", ".join(f"{name} {n:,}" for name, n in counts.most_common(12))
    return (text or "none") if bare else (f" ({text})" if text else "")


def _overlap(b: Benchmark) -> Iterator[tuple[str, str]]:
    """Word overlap of queries with their top positives and with each relation's negatives: can words alone explain a result?"""
    if not b.has_texts or b.format == "polarity":  # which has an overlap of its own, for its own languages
        return
    text = {item.id: item.text for item in b.items}
    found: dict[str, list[float]] = {}
    for q in b.queries:
        top = max((p.grade for p in q.positives), default=0)
        for p in q.positives:
            if p.grade == top:
                found.setdefault("top-grade positives", []).append(lexical_overlap(q.text, text[p.item_id]))
        for n in q.designated_negatives:
            found.setdefault(f"{n.method}, {n.relation}", []).append(lexical_overlap(q.text, text[n.item_id]))
    for name, values in found.items():
        array = np.array(values)
        low, high = (array < BANDS[0]).mean(), (array >= BANDS[1]).mean()
        yield (
            f"word overlap with the query: {name}",
            f"mean {array.mean():.2f}; low {low:.0%}, middle {1 - low - high:.0%}, high {high:.0%} (n = {len(values):,})",
        )


def _warnings(b: Benchmark) -> Iterator[str]:
    if b.has_texts:
        yield from _text_warnings(b)
    astray = sum(bool(q.target_item_id and q.positives) and q.target_item_id not in {p.item_id for p in q.positives} for q in b.queries)
    if astray and b.format == "relate":  # elsewhere a target only names the cluster
        yield f"{astray} queries have a target item that is none of their positives"
    without = sum(not q.designated_negatives for q in b.queries)
    if 0 < without < len(b.queries):
        yield f"{without} queries list no designated negative; structured sets exclude and count them"
    clusters = len({q.target_item_id for q in b.queries if q.target_item_id})
    if 0 < clusters < 10:
        yield f"{clusters} target items only: no interval can be given under 10 clusters"


def _text_warnings(b: Benchmark) -> Iterator[str]:
    """What word for word repetition does to a measurement."""
    text = {item.id: item.text for item in b.items}
    if repeated := len(b.items) - len(set(text.values())):
        yield f"{repeated} items repeat another item's text; where one is a positive and the other is not, the margin is a tie"
    leaked = sum(not {text[n.item_id] for n in q.designated_negatives}.isdisjoint(text[p.item_id] for p in q.positives) for q in b.queries)
    if leaked:
        yield f"{leaked} queries have a designated negative with the text of one of their positives"
    known = set(text.values())
    if asked := sum(q.text in known for q in b.queries):
        yield f"{asked} queries are word for word an item"
    if twice := len(b.queries) - len({q.text for q in b.queries}):
        yield f"{twice} queries repeat another query's text; they are not independent"


def _polarity_report(path: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """The polarity checker's overlap of each condition, and its rules of wording that are not met, each with a count."""
    triplets = contrast.polarity_triplets(path)
    facts = [
        (f"words of the query found, {r.language}/{r.condition}", f"right {r.right:.2f}, wrong {r.wrong:.2f} (n = {r.n_decisions})")
        for r in polarity_check.overlap_report(triplets)
    ]
    found: dict[str, list[str]] = {}
    for fault in polarity_check.check(triplets):
        if fault.rule not in SHIPPED_SET_RULES:
            found.setdefault(fault.rule, []).append(str(fault))
    return facts, [f"the polarity rule '{rule}' is not met {len(all_)} times, first: {all_[0]}" for rule, all_ in found.items()]
