"""Numbers as a report writes them: the value beside its interval, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping

from observatory.descriptor import SENTINELS, EvaluationContext
from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.figures.numbers import written
from observatory.statistics import Interval

CONTEXT = {
    "candidate_pool": "candidate pool", "relevance_definition": "relevant means", "gain": "gain", "cutoff": "cutoff",
    "tie_policy": "ties", "missing_queries_policy": "queries without a result",
}


def mean(s: Described) -> str:
    """+0.0932 [+0.0811, +0.1053], of the descriptor."""
    value, ci = s.descriptor.outcomes.mean_margin, numbers.mean_interval(s.descriptor.outcomes.mean_ci)
    if not isinstance(value, float):
        return written(value, numbers.margin)
    return f"{numbers.margin(value)} " + (ci if ci.startswith("[") else f"(interval {ci})" if ci.startswith("not") else f"({ci})")


def margin(i: Interval | None) -> str:
    """The mean of margins with its interval."""
    if i is None:
        return numbers.NOT_MEASURED_HERE
    bracket = f"({i.note})" if i.low is None or i.high is None else numbers.interval(i.low, i.high)
    return f"{numbers.margin(i.estimate)} {bracket}"


def rate(i: Interval | None) -> str:
    """A share with its interval, in per cent."""
    if i is None:
        return numbers.NOT_MEASURED_HERE
    bracket = f"({i.note})" if i.low is None or i.high is None else numbers.rate_interval(i.low, i.high)
    return f"{numbers.rate(i.estimate)} {bracket}"


def win(s: Described, rates: Mapping[str, Mapping[str, Interval]]) -> str:
    """The win rate with its interval; a published one has none."""
    if s.set_id in rates:
        return rate(rates[s.set_id]["win"])
    text = written(s.descriptor.outcomes.selected_positive_win_rate, numbers.rate)
    return text if text.startswith("not") else f"{text} (interval not measured)"


def p(value: float | None) -> str:
    """p under a header that says so."""
    return "not tested" if value is None else numbers.probability(value).removeprefix("p = ").removeprefix("p ")


def words(text: object) -> str:
    """Text in which the words for missing values are written as words, also inside a sentence."""
    found = "none" if text in ("", {}, []) else "yes" if text is True else "no" if text is False else str(text)
    for sentinel in SENTINELS:
        found = found.replace(sentinel, sentinel.replace("_", " "))
    return found


def context(c: EvaluationContext) -> str:
    """What defines a metric's comparison set and labels, in one line."""
    return "; ".join(f"{word}: {words(getattr(c, name))}" for name, word in CONTEXT.items())


def reasons(found: Mapping[str, int] | str) -> str:
    """Why queries were left out, counted."""
    return words(found) if isinstance(found, str) else "; ".join(f"{n} {why}" for why, n in found.items()) or "none"
