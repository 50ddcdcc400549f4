"""Sentences that several pages share: what is shown, against what."""

from __future__ import annotations

import re
from collections.abc import Sequence

from observatory.figures import numbers
from observatory.figures.described import Described, labels

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def subtitle(sets: Sequence[Described]) -> str:
    """269 queries, first_grade_3 positive, four negative sets, cosine."""
    queries = spread([s.descriptor.accounting.n_scored for s in sets])
    references = " / ".join(dict.fromkeys(s.descriptor.reference_positive.rule for s in sets))
    rules = len({(s.rule, s.k) for s in sets})
    metrics = " / ".join(dict.fromkeys(s.metric for s in sets))
    published = sum(s.published for s in sets)
    kinds = "" if not published else ", published only" if published == len(sets) else ", fresh beside published"
    return f"{queries} queries, reference positive by {references}, {small(rules)} negative set{'' if rules == 1 else 's'}, {metrics}{kinds}"


def small(n: int) -> str:
    """A small number as a word."""
    return _SMALL[n] if n < len(_SMALL) else numbers.count(n)


def spread(counts: Sequence[int]) -> str:
    """One count, or the least and the most."""
    if not counts:
        return "no"
    low, high = min(counts), max(counts)
    return numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"


def alt(what: str, sets: Sequence[Described]) -> str:
    """A short description of a figure for those who do not see it."""
    return f"{what}: {'; '.join(labels(sets).values())}"[:300]


def slug(text: str) -> str:
    """Text as part of a key."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "x"


def duration(seconds: float) -> str:
    """Time in the unit that a person would use."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
