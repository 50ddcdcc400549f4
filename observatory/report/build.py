"""The report's parts in their order, and a report from a selection. A new section is one line in ``PARTS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import yaml

from observatory import __version__, completion
from observatory.artifacts import is_artifact
from observatory.descriptor import to_yaml, walk
from observatory.errors import InputError
from observatory.evaluation import Evaluation
from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.report import calibrated_section, cells, compared_section, evaluated_section, margin_sections, tables
from observatory.report.content import Record, Report, Section
from observatory.report.selection import Run, Selected

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Part:
    """A section that a report may have. ``lacking``: why this selection cannot fill it, or nothing."""

    title: str
    lacking: Callable[[Selected], str]
    build: Callable[[Selected], Section]


PARTS = (
    Part("What was measured", margin_sections.always, margin_sections.measured),
    Part("Mean margins", margin_sections.always, margin_sections.means),
    Part("Distributions and tails", margin_sections.no_rows, margin_sections.distributions),
    Part("Published beside fresh", margin_sections.none_published, margin_sections.published),
    Part("Compared with the baseline", compared_section.lacking, compared_section.compared),
    Part("Strata by relation", margin_sections.no_relations, margin_sections.relations),
    Part("Retrieval metrics", evaluated_section.no_metrics, evaluated_section.metrics),
    Part("Runs side by side", evaluated_section.one_run, evaluated_section.runs),
    Part("Benchmark size", margin_sections.no_rows, calibrated_section.size),
    Part("Scores as probabilities and thresholds", calibrated_section.no_pairs, calibrated_section.scores),
    Part("Accounting", margin_sections.always, margin_sections.accounting),
    Part("What these numbers do not establish", margin_sections.always, margin_sections.not_established),
)


def silent(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def outline(chosen: Selected) -> list[tuple[str, str]]:
    """Each part's title with why it is left out; empty where it is in."""
    return [(part.title, part.lacking(chosen)) for part in PARTS]


def build(chosen: Selected, title: str = "", progress: Progress = silent, now: datetime | None = None) -> Report:
    """The whole content. ``now`` is the time that the title page states, by default this moment in UTC.

    InputError where an artifact was removed since it was selected: rows are read only as sections need them.
    """
    try:
        return _build(chosen, title, progress, now)
    except Exception as error:
        gone = [a for a in dict.fromkeys(s.artifact_id for s in chosen.sets) if not is_artifact(chosen.store.folder(a))]
        if not gone:
            raise
        raise InputError("was removed while the report was made", file=gone[0], mend="restore it, or select other sets") from error


def _build(chosen: Selected, title: str, progress: Progress, now: datetime | None) -> Report:
    left_out = outline(chosen)
    parts = [part for part, (_, why) in zip(PARTS, left_out, strict=True) if not why]
    sections = []
    for i, part in enumerate(parts):
        progress(part.title, i, len(parts))
        sections.append(part.build(chosen))
    progress("report", len(parts), len(parts))
    made = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    return Report(
        title.strip() or default_title(chosen), _subtitle(chosen), made, __version__, _facts(chosen, made), tuple(sections), records(chosen),
        tuple((name, why) for name, why in left_out if why),
    )


def default_title(chosen: Selected) -> str:
    """What is shown, and nothing claimed about it."""
    benchmarks = " and ".join(dict.fromkeys(s.benchmark for s in chosen.sets))
    return f"Retrieval margins of {', '.join(dict.fromkeys(s.model for s in chosen.sets))} on {benchmarks}"


def _subtitle(chosen: Selected) -> str:
    counts = sorted({s.descriptor.accounting.n_scored for s in chosen.sets})
    queries = " to ".join(numbers.count(n) for n in dict.fromkeys((counts[0], counts[-1])))
    references = " / ".join(dict.fromkeys(s.descriptor.reference_positive.rule for s in chosen.sets))
    n, published = len(chosen.sets), sum(s.published for s in chosen.sets)
    kinds = f", {numbers.count(published)} of them published" if published else ""
    return f"{queries} queries, reference positive by {references}, {numbers.count(n)} negative set{'' if n == 1 else 's'}{kinds}, {' / '.join(dict.fromkeys(s.metric for s in chosen.sets))}"


def _facts(chosen: Selected, made: str) -> tuple[tuple[str, str], ...]:
    """The title page."""
    each = [
        ("What was measured", "the margin of each query: the score of its reference positive minus the highest score in its negative set"),
        ("Benchmark", "; ".join(dict.fromkeys(f"{s.benchmark}, corpus {s.corpus}" for s in chosen.sets))),
        ("Models", "; ".join(dict.fromkeys(f"{s.model} ({s.metric})" for s in chosen.sets))),
        ("Negative sets", "; ".join(chosen.names.values())), ("Baseline", chosen.names[chosen.baseline]),
        ("Measured", "; ".join(dict.fromkeys(_when(r) for r in chosen.runs))),
        ("Measured by", "; ".join(dict.fromkeys(tables.software(r) for r in chosen.runs))),
        ("State", "; ".join(dict.fromkeys(tables.badge(s, chosen) for s in chosen.sets))), ("Report made", f"{made} by observatory {__version__}"),
    ]
    return tuple(each)


def _when(r: Run) -> str:
    when = cells.words(r.started)[:16].replace("T", " ")
    if r.published:
        return "published, date not recorded" if when == "not recorded" else f"published, {when}"
    return f"{when} UTC" if r.started.endswith(("+00:00", "Z")) else when


def records(chosen: Selected) -> tuple[Record, ...]:
    """Every descriptor, then every evaluation record of the fresh runs."""
    return (*(_descriptor(s, chosen) for s in chosen.sets), *(_evaluation(r, chosen.evaluations[r.id], chosen) for r in chosen.runs if r.id in chosen.evaluations))


def _descriptor(s: Described, chosen: Selected) -> Record:
    stated = chosen.asserted.get(s.set_id, {})
    return Record(
        "descriptor", s.set_id, chosen.names[s.set_id], (tables.badge(s, chosen),), _fields(s.descriptor.model_dump()),
        to_yaml(s.descriptor) + completion.as_comments(stated), s.descriptor.model_dump(),
    )


def _evaluation(r: Run, e: Evaluation, chosen: Selected) -> Record:
    data = e.model_dump()
    text = yaml.safe_dump({"evaluation": data}, sort_keys=False, allow_unicode=True, width=100)
    return Record("evaluation", r.id, f"{r.name}: metrics and labelled pairs", (r.lock_state,), _fields(data), text, data)


def _fields(data: dict[str, object]) -> tuple[tuple[str, str, str], ...]:
    """Part, field and value of every leaf; missing values in words."""
    rows = []
    for path, value in walk(data):
        part, _, name = path.partition(".")
        rows.append((part, name or part, cells.words(value)))
    return tuple(rows)
