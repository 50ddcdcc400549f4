"""falsify-eval bench JSONL: ``{"retrieved": [...], "gold": "A", "rel": 3}`` a line; ``id`` and ``query`` are optional.

Labels are items without texts. The retrieved list becomes a run whose scores are -1, -2, ... in its order. Labels keep
their identity: a number is not the text of that number, so only strings are accepted. ``rel`` is 3 where it is left
out, as falsify-eval has it.
"""

from __future__ import annotations

from pathlib import Path

from observatory.benchmarks.assemble import Ids, RecordHash, licence_of, no_split, query_set_id, require_some, stem
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import Fields, records
from observatory.benchmarks.rows import columns, kind_of
from observatory.records import Benchmark, Item, Positive, Query, Ranked

REQUIRED = frozenset({"retrieved", "gold"})
RUN_NAME = "retrieved"
DEFAULT_REL = 3


def recognises(path: Path) -> bool:
    return path.is_file() and kind_of(path) == "jsonl" and columns(path) >= REQUIRED


def read(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """One query a line, in file order; a line without ``id`` is ``line-<number>``. A gold label of ``rel`` 0 leaves its
    query without a positive. Raises InputError for labels that are no strings or stand twice in a list."""
    no_split(path, split)
    content, ids, queries = RecordHash(), Ids("query"), []
    labels: dict[str, None] = {}
    run: dict[str, tuple[Ranked, ...]] = {}
    for number, record in records(path, faults):
        at = Fields(record, path, number)
        with faults:
            query, retrieved = _query(at, ids, faults)
            labels.update(dict.fromkeys([at.string("gold"), *retrieved]))
            queries.append(query)
            run[query.id] = tuple(Ranked(label, -float(rank)) for rank, label in enumerate(retrieved, 1))
        content.update([record])
    with faults:
        require_some("query", len(ids) + len(faults.found), path)
    warnings = ["the bench holds labels without texts: its ranking can be measured, nothing can be encoded"]
    if unanswered := sum(not q.positives for q in queries):
        warnings.append(f"{unanswered} queries have no positive; they are kept and counted as excluded")
    name = stem(path)
    return Benchmark(
        name=name, version="unversioned", format="falsify-eval", split=None, corpus_hash=content.hexdigest(),
        query_set_id=query_set_id(name, queries), items=tuple(Item(i, i) for i in labels), queries=tuple(queries),
        runs={RUN_NAME: run}, has_texts=False, licence=licence_of(path.parent), warnings=tuple(warnings),
    )


def _query(at: Fields, ids: Ids, faults: Faults) -> tuple[Query, list[str]]:
    """A line's query and its retrieved labels; each of its faults is one of its own."""
    query_id = at.string("id") if at.record.get("id") is not None else f"line-{at.line}"
    with faults:
        ids.add(query_id, at, "id")
    retrieved: list[str] = []
    with faults:
        retrieved = _labels(at, faults)
    grade = DEFAULT_REL
    with faults:
        grade = at.grade("rel") if "rel" in at.record else DEFAULT_REL
    gold, text = at.string("gold"), at.optional("query") or query_id
    return Query(query_id, text, positives=(Positive(gold, grade),) if grade else ()), retrieved


def _labels(at: Fields, faults: Faults) -> list[str]:
    value = at.record.get("retrieved")
    if not isinstance(value, list):
        raise at.fault("retrieved", "is no array", 'write "retrieved": ["A", "B"]', value)
    found: dict[str, None] = {}
    for position, label in enumerate(value):
        key = f"retrieved[{position}]"
        with faults:
            if not isinstance(label, str) or not label:
                raise at.fault(key, "is no label", "write labels as strings in quotes", label)
            if label in found:
                raise at.fault(key, "holds a label that stands before it already", "keep its first place", label)
            found[label] = None
    return list(found)
