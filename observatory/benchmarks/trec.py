"""TREC qrels (4 columns) and runs (6 columns): ids without texts. A folder, or one qrels file.

In a folder, the first file whose name holds ``qrels`` is the qrels file and every other one with six columns a run;
what is neither is named in a warning. Run entries are put in trec_eval's order: score descending, ties by item id
descending; the rank column is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from observatory.benchmarks.assemble import Positives, RecordHash, licence_of, no_split, query_set_id, require_some
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import Fields, first_line, number, text_lines
from observatory.errors import InputError
from observatory.records import Benchmark, Item, Query, Ranked

QRELS = ("query", "iteration", "item", "grade")
RUN = ("query", "q0", "item", "rank", "score", "tag")
Run = dict[str, tuple[Ranked, ...]]


def recognises(path: Path) -> bool:
    """A folder with a qrels file, or a qrels file itself."""
    return _qrels_file(path) is not None


def read(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """Judgments and runs. Items are the ids that any of them names; they have no texts.

    A judged query that a run does not answer stays a query; a run's query without judgments is counted in a warning.
    Raises InputError for the first fault, or collects them in ``faults``.
    """
    no_split(path, split)
    qrels = _qrels_file(path) if path.is_dir() else path
    if qrels is None:
        raise InputError("holds no qrels file of four columns", file=path, mend="add one whose name holds 'qrels'")
    content = RecordHash()
    judged = _judgments(qrels, content, faults)
    with faults:
        require_some("judgment", len(judged) + len(faults.found), qrels)
    others = sorted(p for p in path.iterdir() if p.is_file() and p != qrels) if path.is_dir() else []
    runs = {file.name: read_run(file, content, faults) for file in others if _is_run(file)}
    mentioned = dict.fromkeys(i for p in judged.values() for i in p.grades)
    mentioned.update(dict.fromkeys(r.item_id for run in runs.values() for entries in run.values() for r in entries))
    queries = tuple(Query(id=i, text=i, positives=p.records(), irrelevant=p.irrelevant()) for i, p in judged.items())
    name = path.resolve().name if path.is_dir() else qrels.name
    ignored = [file.name for file in others if file.name not in runs]
    return Benchmark(
        name=name, version="unversioned", format="trec", split=None, corpus_hash=content.hexdigest(),
        query_set_id=query_set_id(name, queries), items=tuple(Item(id=i, text=i) for i in mentioned), queries=queries,
        licence=licence_of(qrels.parent), runs=runs, has_texts=False, warnings=tuple(_warnings(judged, runs, ignored)),
    )


def read_run(path: Path, content: RecordHash | None = None, faults: Faults = STRICT) -> Run:
    """One run file: each query's entries in trec_eval's order. An item twice in one query is an error."""
    found: dict[str, dict[str, float]] = {}
    for at in _rows(path, RUN, faults):
        with faults:
            entries, item, score = found.setdefault(at.string("query"), {}), at.string("item"), _number(at, "score")
            if item in entries:
                raise at.fault("item", "the item stands twice in this query", "keep one", item)
            entries[item] = score
        if content is not None:
            content.update([at.record])
    return {
        query: tuple(Ranked(i, s) for i, s in sorted(entries.items(), key=lambda e: (e[1], e[0]), reverse=True))
        for query, entries in found.items()
    }


def read_qrels(path: Path, faults: Faults = STRICT) -> dict[str, dict[str, int]]:
    """Every judgment by query and item, those of grade 0 too: measures such as Bpref tell not relevant from not judged.
    A grade below 0 is read as 0."""
    return {query: dict(judged.grades) for query, judged in _judgments(path, RecordHash(), faults).items()}


def _judgments(path: Path, content: RecordHash, faults: Faults) -> dict[str, Positives]:
    judged: dict[str, Positives] = {}
    for at in _rows(path, QRELS, faults):
        with faults:
            grade = _number(at, "grade")
            if grade != int(grade) or abs(grade) > 1000:
                raise at.fault("grade", "is no whole number from -1000 to 1000", "write a grade such as 0, 1 or 2", at.record["grade"])
            judged.setdefault(at.string("query"), Positives()).judge(at.string("item"), max(int(grade), 0), at, "grade")
        content.update([at.record])
    return judged


def _rows(path: Path, columns: tuple[str, ...], faults: Faults) -> Iterator[Fields]:
    for line, text in text_lines(path, faults):
        cells = text.split(None, len(columns))  # no more than one too many, however long the line is
        if len(cells) == len(columns):
            yield Fields(dict(zip(columns, cells, strict=True)), path, line)
            continue
        with faults:
            found = str(len(cells)) if len(cells) < len(columns) else f"more than {len(columns)}"
            raise InputError(
                f"has {found} columns where {len(columns)} are expected", file=path, line=line, value=text[:60],
                mend=f"write {', '.join(columns)}",
            )


def _number(at: Fields, key: str) -> float:
    value = number(at.record[key])
    if value is None:
        raise at.fault(key, "is no finite number", "write a number", at.record[key])
    return value


def _qrels_file(path: Path) -> Path | None:
    """The file itself, or the first of a folder's that is named so and looks so."""
    try:
        named = sorted(p for p in path.iterdir() if "qrels" in p.name.lower()) if path.is_dir() else [path]
    except OSError:
        return None
    return next((p for p in named if p.is_file() and _is_qrels(p)), None)


def _is_qrels(path: Path) -> bool:
    """Four columns with a number in the last: prose can have four words too."""
    cells = first_line(path).split(None, len(QRELS))
    return len(cells) == len(QRELS) and number(cells[3]) is not None


def _is_run(path: Path) -> bool:
    """Six columns with numbers for rank and score."""
    cells = first_line(path).split(None, len(RUN))
    return len(cells) == len(RUN) and number(cells[3]) is not None and number(cells[4]) is not None


def _warnings(judged: Mapping[str, Positives], runs: Mapping[str, Run], ignored: list[str]) -> Iterator[str]:
    yield "TREC files hold ids without texts: runs can be measured, nothing can be encoded"
    if ignored:
        yield f"{len(ignored)} files are neither the qrels nor a run and are left out: {', '.join(ignored[:5])}"
    if repeats := sum(p.repeated > 0 for p in judged.values()):
        yield f"{repeats} queries repeat a judgment; the first occurrence stands"
    if unanswered := sum(not p.records() for p in judged.values()):
        yield f"{unanswered} queries have no positive; they are kept and counted as excluded"
    for name, run in runs.items():
        if strangers := len(run.keys() - judged.keys()):
            yield f"{strangers} queries of {name} are not judged"
        if missing := len(judged.keys() - run.keys()):
            yield f"{missing} judged queries are not answered by {name}"
