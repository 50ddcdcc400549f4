"""What every input format shares: content hashes, unique ids, references that resolve, positives without repeats."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from observatory.benchmarks.faults import Faults
from observatory.benchmarks.lines import Fields
from observatory.errors import InputError
from observatory.records import Positive, Query


class RecordHash:
    """sha256 over records, each as JSON with sorted keys, ``ensure_ascii=False``, default separators, then one newline.

    Source of the definition: RELATE 0.1.0 (``corpus_hash.txt``), fed with items, then pairs, then queries in file order.
    What JSON has no form for (a Parquet file's dates or bytes) counts as its ``str``.
    """

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def update(self, records: Iterable[Mapping[str, Any]]) -> RecordHash:
        for record in records:
            self._sha.update((json.dumps(record, sort_keys=True, ensure_ascii=False, default=str) + "\n").encode("utf-8"))
        return self

    def hexdigest(self) -> str:
        return self._sha.hexdigest()


def query_set_id(name: str, queries: Sequence[Query]) -> str:
    """``<name>:<n>:<hash>`` over ids, texts and positives of the queries, in order."""
    rows = [[q.id, q.text, [[p.item_id, p.grade] for p in q.positives]] for q in queries]
    digest = hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8")).hexdigest()
    return f"{name}:{len(queries)}:{digest[:16]}"


class Ids:
    """Ids seen so far and the line of each: a second one with the same id is an error that names both lines."""

    def __init__(self, kind: str) -> None:
        self.kind, self.whole = kind, True
        self._lines: dict[str, int] = {}

    @contextmanager
    def of_file(self, faults: Faults) -> Iterator[None]:
        """Around the reading of the file that has the ids. Where that ends early, an unknown id may be one of the rest."""
        self.whole = False
        with faults:
            yield
            self.whole = True

    def add(self, identifier: str, at: Fields, key: str) -> None:
        first = self._lines.setdefault(identifier, at.line)
        if first != at.line:
            raise at.fault(key, f"the {self.kind} id stands already in line {first}", "give each one its own id", identifier)

    def resolve(self, identifier: str, at: Fields, key: str) -> str:
        """``identifier``, or an InputError where there is no such record."""
        if self.whole and identifier not in self._lines:
            raise at.fault(key, f"there is no {self.kind} with this id", f"add the {self.kind} or correct the id", identifier)
        return identifier

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._lines

    def __len__(self) -> int:
        return len(self._lines)


class Positives:
    """A query's positives in order: a repeat with the same grade is counted and dropped, with another it is an error."""

    def __init__(self) -> None:
        self.grades: dict[str, int] = {}
        self.repeated = 0

    def add(self, item_id: str, grade: int, at: Fields, key: str) -> None:
        known = self.grades.setdefault(item_id, grade)
        if known != grade:
            raise at.fault(key, f"the item '{item_id}' has grade {known} for this query already", "keep one of them", grade)

    def judge(self, item_id: str, grade: int, at: Fields, key: str) -> None:
        """Add one judgment; grade 0 is kept as judged but is no positive."""
        if item_id in self.grades:
            self.repeated += 1
        self.add(item_id, grade, at, key)

    def records(self) -> tuple[Positive, ...]:
        return tuple(Positive(item_id, grade) for item_id, grade in self.grades.items() if grade >= 1)

    def irrelevant(self) -> tuple[str, ...]:
        """Items that were judged with grade 0."""
        return tuple(item_id for item_id, grade in self.grades.items() if grade == 0)


LICENCES = (
    ("Creative Commons Attribution 4.0", "CC-BY-4.0"), ("Creative Commons Attribution-ShareAlike 4.0", "CC-BY-SA-4.0"),
    ("CC BY 4.0", "CC-BY-4.0"), ("Apache License", "Apache-2.0"), ("MIT License", "MIT"),
)
"""What a licence file calls itself near its top, and the SPDX identifier."""


def licence_of(folder: Path) -> str | None:
    """The licence that a folder's LICENSE file names, else where to read it; None where there is no such file."""
    path = next((p for p in sorted(folder.glob("LICENSE*")) if p.is_file()), None)
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            head = stream.read(1000).decode("utf-8", errors="replace")
    except OSError:
        head = ""
    return next((f"{name} ({path.name})" for phrase, name in LICENCES if phrase in head), f"see {path.name}")


def no_split(path: Path, split: str | None) -> None:
    """InputError for a split of a format that has none."""
    if split is not None:
        raise InputError(f"has no split {split!r}", file=path, mend="leave the split out")


def stem(path: Path) -> str:
    """A file's name without ``.gz`` and its ending: the name of a benchmark that is one file."""
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def require_some(kind: str, count: int, file: object) -> None:
    """An empty corpus or query file is an error."""
    if count == 0:
        raise InputError(f"holds no {kind}", file=str(file), mend=f"add at least one {kind}")
