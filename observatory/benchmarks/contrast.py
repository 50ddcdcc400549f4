"""Formats made of contrasts: a query, the text it wants and one that says the opposite. They share one assembly.

NevIR pairs (``q1``, ``q2``, ``doc1``, ``doc2``), anchor / entailment (or positive) / negative triplets, and polarity
triplets (``{"en": [...], "tr": [...]}``). Each decision becomes a query with one reference positive and one designated
negative of method ``structured_perturbation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from observatory.benchmarks import rows as table
from observatory.benchmarks.assemble import RecordHash, licence_of, no_split, query_set_id, require_some, stem
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import Fields, Record, find, json_file, require
from observatory.errors import InputError
from observatory.polarity_check import CONDITIONS, TEXT_FIELDS, conditions
from observatory.records import Benchmark, DesignatedNegative, Item, Positive, Query

NEVIR = frozenset({"q1", "q2", "doc1", "doc2"})
ANCHORED = frozenset({"anchor", "negative"})
WANTED = ("entailment", "positive")  # the paper's name and that of sentence-transformers


@dataclass(frozen=True)
class Contrast:
    """One decision: ``query`` wants ``right`` and not ``wrong``. ``source`` names the pair, triplet or anchor it comes
    from; ``also`` are further texts of the same source that answer the query; ``at`` is where it was read."""

    id: str
    source: str
    query: str
    right: str
    wrong: str
    relation: str
    at: Fields
    also: tuple[str, ...] = ()


def recognises_nevir(path: Path) -> bool:
    return path.is_file() and table.kind_of(path) in ("jsonl", "csv", "tsv") and table.columns(path) >= NEVIR


def recognises_triplets(path: Path) -> bool:
    if not path.is_file() or table.kind_of(path) is None:
        return False
    names = table.columns(path)
    return names >= ANCHORED and not names.isdisjoint(WANTED)


def recognises_polarity(path: Path) -> bool:
    """A folder with ``triplets.json``, or a JSON file that holds lists by language."""
    if path.is_dir():
        return find(path, "triplets.json") is not None
    if not path.is_file() or not path.name.lower().removesuffix(".gz").endswith(".json"):
        return False
    try:
        data = json_file(path)
    except InputError:
        return False
    return isinstance(data, dict) and bool(data) and all(isinstance(v, list) and v for v in data.values())


def read_nevir(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """NevIR pairs: q1 wants doc1 and not doc2, q2 wants doc2 and not doc1. A row without ``id`` is ``pair-<line>``."""
    no_split(path, split)
    raw, contrasts = [], []
    for at in _rows(path, faults):
        raw.append(at.record)
        with faults:
            name = _row_id(at, "pair")
            q1, q2, doc1, doc2 = _texts(at, ("q1", "q2", "doc1", "doc2"), faults)
            contrasts.append(Contrast(f"{name}:q1", name, q1, doc1, doc2, "negation", at))
            contrasts.append(Contrast(f"{name}:q2", name, q2, doc2, doc1, "negation", at))
    return _assemble(path, "nevir", None, raw, contrasts, faults)


def read_triplets(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """Anchor / entailment / negative: the anchor wants the entailment. Rows of one anchor are one source: each of its
    entailments is a positive of all of them. A row without ``id`` is ``triplet-<line>``."""
    no_split(path, split)
    raw, contrasts = [], []
    sources: dict[str, str] = {}
    for at in _rows(path, faults):
        raw.append(at.record)
        with faults:
            name = _row_id(at, "triplet")
            wanted = next((key for key in WANTED if key in at.record), WANTED[0])
            anchor, right, wrong = _texts(at, ("anchor", wanted, "negative"), faults)
            contrasts.append(Contrast(name, sources.setdefault(anchor, name), anchor, right, wrong, "negation", at))
    return _assemble(path, "triplets", None, raw, contrasts, faults)


def read_polarity(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """One language and condition of a polarity set: ``en/same_wording`` (the first by default), ``tr/control`` and so
    on. Every language is checked, whichever is read.

    A triplet's ``domain`` becomes no item's domain: it names one event, and the random rule would find nothing in it.
    """
    file = _polarity_file(path)
    data = _languages(file)
    splits = _conditions_of(data)
    wanted = split or splits[0]
    if wanted not in splits:
        raise InputError(f"has no split {wanted!r}", file=file, mend=f"choose one of: {', '.join(splits)}")
    language, _, condition = wanted.rpartition("/")
    raw, contrasts = [], []
    for at, triplet in {name: _triplets(file, name, data[name], faults) for name in data}[language]:
        for d in conditions(triplet):
            if d.condition == condition:
                # The document in the query's words answers it too: unlabelled, it would be mined as a negative.
                also = (triplet[f"doc_{d.direction}"],) if condition == "different_wording" else ()
                raw.append(asdict(d))
                contrasts.append(Contrast(f"{d.triplet_id}:{d.direction}", d.triplet_id, d.query, d.right, d.wrong, d.kind, at, also))
    name = file.parent.resolve().name if stem(file) == "triplets" else stem(file)
    return _assemble(file, "polarity", wanted, raw, contrasts, faults, f"{name}/{wanted}")


def polarity_splits(path: Path) -> tuple[str, ...]:
    """language/condition, for every language of the file."""
    return _conditions_of(_languages(_polarity_file(path)))


def polarity_triplets(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every language's triplets with ``id``, ``kind`` and ``domain`` filled in, as the polarity checker wants them."""
    file = _polarity_file(path)
    return {name: [t | {"domain": "unnamed"} for _, t in _triplets(file, name, rows, STRICT)] for name, rows in _languages(file).items()}


def _conditions_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(f"{language}/{condition}" for language in data for condition in CONDITIONS)


def _polarity_file(path: Path) -> Path:
    return require(path, "triplets.json") if path.is_dir() else path


def _languages(file: Path) -> dict[str, list[Any]]:
    data = json_file(file)
    if not isinstance(data, dict) or not data or not all(isinstance(rows, list) for rows in data.values()):
        raise InputError("is no object with a list for each language", file=file, mend='write {"en": [...], "tr": [...]}')
    return data


def _triplets(file: Path, language: str, entries: Sequence[Any], faults: Faults) -> list[tuple[Fields, dict[str, Any]]]:
    """A language's triplets; id and kind are filled in where they are left out."""
    found = []
    for position, entry in enumerate(entries):
        at = Fields(entry if isinstance(entry, dict) else {}, file, 0, f"{language}[{position}].")
        with faults:
            if not isinstance(entry, dict):
                raise at.fault("", "is no object", "write an object with the six texts of a triplet", entry)
            texts = dict(zip(TEXT_FIELDS, _texts(at, TEXT_FIELDS, faults), strict=True))
            identifier = at.string("id") if "id" in entry else f"{language}-{position + 1:03d}"
            kind = at.string("kind") if "kind" in entry else "polarity"
            found.append((at, {"id": identifier, "kind": kind, **texts}))
    return found


def _rows(path: Path, faults: Faults) -> Iterable[Fields]:
    return (Fields(record, path, number) for number, record in table.rows(path, faults))


def _row_id(at: Fields, kind: str) -> str:
    """The row's own id (a whole number, as Parquet files have, stands for its digits), else its line's."""
    value = at.record.get("id")
    if value is None:
        return f"{kind}-{at.line}"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else at.string("id")


def _texts(at: Fields, keys: Sequence[str], faults: Faults) -> list[str]:
    """The fields' texts; each that is none is a fault of its own, and then so is the record."""
    found = []
    for key in keys[:-1]:
        with faults:
            found.append(at.string(key))
    found.append(at.string(keys[-1]))
    if len(found) < len(keys):
        raise faults.found[-1]  # known already: it only ends this record
    return found


def _assemble(
    path: Path, format: str, split: str | None, raw: Sequence[Record], contrasts: Sequence[Contrast], faults: Faults,
    name: str | None = None,
) -> Benchmark:
    """Items are the distinct texts in order of first mention, under the id of that mention and its role.

    Queries of one source are dependent (a pair's second answer follows from its first), so they are one cluster: all of
    them name the source's first right text as their target, whether it is their own positive or not. Clusters by the
    reference positive would count a pair twice and make every interval too narrow.
    """
    with faults:
        require_some("contrast", len(contrasts) + len(faults.found), path)
    name = name or stem(path)
    items: dict[str, Item] = {}
    answers: dict[tuple[str, str], dict[str, None]] = {}
    targets: dict[str, str] = {}
    for c in contrasts:
        for role, text in (("right", c.right), ("wrong", c.wrong)):
            items.setdefault(text, Item(f"{c.id}:{role}", text, source_text=c.source))
        answers.setdefault((c.source, c.query), {}).update(dict.fromkeys([c.right, *c.also]))
        targets.setdefault(c.source, items[c.right].id)
    queries: dict[str, Query] = {}
    for c in contrasts:
        right = [c.right, *(text for text in answers[c.source, c.query] if text != c.right)]
        with faults:
            _check(c, right, queries)
            queries[c.id] = Query(
                c.id, c.query, None, targets[c.source], tuple(Positive(items[text].id, 1) for text in right if text in items),
                (DesignatedNegative(items[c.wrong].id, "structured_perturbation", c.relation),),
            )
    return Benchmark(
        name=name, version="unversioned", format=format, split=split, corpus_hash=RecordHash().update(raw).hexdigest(),
        query_set_id=query_set_id(name, tuple(queries.values())), items=tuple(items.values()), queries=tuple(queries.values()),
        licence=licence_of(path.parent),
    )


def _check(c: Contrast, right: Sequence[str], queries: Mapping[str, Query]) -> None:
    """A query's id stands once, and what it does not want is none of the texts that it wants."""
    if c.id in queries:
        raise c.at.fault("id", "the id stands twice", "give each one its own id", c.at.record.get("id", c.id))
    if c.wrong == c.right:
        raise c.at.fault("", "the text that is wanted and the one that is not are the same", "write two texts that differ", c.wrong)
    if c.wrong in right:
        raise c.at.fault("", "the designated negative is also a positive of this query", "keep one of them", c.wrong)
