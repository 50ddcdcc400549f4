"""What the numbers of a selection do not establish, in sentences made from its own descriptors."""

from __future__ import annotations

from collections.abc import Sequence

from observatory.descriptor import NOT_MEASURED, NOT_RECORDED
from observatory.figures import numbers
from observatory.figures.described import Described, labels
from observatory.statistics import MIN_CLUSTERS

MINED = ("random", "bm25", "in_model", "cross_model", "score_window")


def limits(sets: Sequence[Described]) -> list[str]:
    """One sentence a limit, the one that weighs most first. Sentences that do not apply are left out."""
    found = [
        _labels(sets), _comparison(sets), _draw(sets), _excluded(sets), _clusters(sets), _units(sets), _published(sets), _lock(sets),
        "Why the margins differ: differences were measured, and no cause was tested.",
        "Anything about generated text, or about users: nothing here was generated, and nobody was asked.",
    ]
    return [sentence for sentence in found if sentence]


def _labels(sets: Sequence[Described]) -> str:
    mined = [s for s in sets if s.method in MINED]
    rates = {s.descriptor.label_quality.estimated_false_negative_rate for s in mined}
    if not mined:
        return ""
    names = "; ".join(dict.fromkeys(s.rule for s in mined))
    if rates <= {NOT_MEASURED, NOT_RECORDED}:
        return f"That every mined negative is a wrong answer: nobody looked at those of {names}, and their share of false negatives is not measured."
    return f"That every mined negative is a wrong answer: of {names}, an estimated share up to {numbers.rate(max(r for r in rates if isinstance(r, float)))} is none."


def _comparison(sets: Sequence[Described]) -> str:
    sizes = ", ".join(dict.fromkeys(f"{s.rule} {s.k.removeprefix('k ').replace('varies', 'as many as are listed')}" for s in sets))
    return f"Recall over the whole corpus: the positive had to beat the chosen negatives only (a query: {sizes}), and no others."


def _draw(sets: Sequence[Described]) -> str:
    for s in sets:
        e, mean = s.descriptor.expectation, s.descriptor.outcomes.mean_margin
        if s.method == "random" and not isinstance(e, str) and isinstance(mean, float):
            return (
                f"What another random draw would give: this one has {numbers.margin(mean)}, all draws together have {numbers.margin(e.mean_margin)}, "
                f"and a draw's mean varies by {e.sd_of_mean_margin:.4f} (standard deviation)."
            )
    return ""


def _excluded(sets: Sequence[Described]) -> str:
    worst = max((s for s in sets if isinstance(s.descriptor.accounting.n_excluded, int)), key=lambda s: s.descriptor.accounting.n_excluded, default=None)
    if worst is None or worst.descriptor.accounting.n_excluded == 0:
        return ""
    a = worst.descriptor.accounting
    attempted, excluded = (numbers.written(n, numbers.count) for n in (a.n_attempted, a.n_excluded))
    reasons = "" if isinstance(a.reasons, str) else f" ({'; '.join(a.reasons)})"
    return f"How the {excluded} of {attempted} queries do that were left out under {labels(sets)[worst.set_id]}{reasons}."


def _clusters(sets: Sequence[Described]) -> str:
    counts = [s.descriptor.clusters.n_clusters for s in sets if isinstance(s.descriptor.clusters.n_clusters, int)]
    if not counts:
        return "How sure the published means are: their queries' clusters are not recorded."
    if min(counts) < MIN_CLUSTERS:
        return f"How sure these means are: {min(counts)} clusters of queries are too few for an interval."
    return (
        f"What holds for other queries than these: the intervals speak of queries drawn like these {numbers.count(min(counts))} clusters "
        f"({sets[0].descriptor.clusters.rule}), on this corpus ({', '.join(dict.fromkeys(s.corpus for s in sets))})."
    )


def _units(sets: Sequence[Described]) -> str:
    models = list(dict.fromkeys(s.model for s in sets))
    return (
        f"How {models[0]} compares with other models: raw margins of different scorers share no unit." if len(models) == 1
        else f"Which of {' and '.join(models)} has the larger margins: their raw margins share no unit."
    )


def _published(sets: Sequence[Described]) -> str:
    lacking = [(s, len(s.missing)) for s in sets if s.published and s.missing]
    if not lacking:
        return ""
    most = max(n for _, n in lacking)
    return f"That the published figures were measured just like the fresh ones: up to {most} fields of their record are not recorded."


def _lock(sets: Sequence[Described]) -> str:
    if any(s.lock_state == "unlocked" for s in sets if not s.published):
        return "That the files are as they were written: at least one of these artifacts has no lock."
    return "That nobody rewrote both the files and their lock: a lock checks integrity and is no seal."
