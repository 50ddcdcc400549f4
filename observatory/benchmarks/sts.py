"""STS pairs: tab-separated without quoting; column 5 is the gold score (0 to 5), columns 6 and 7 the sentences.

Further columns are allowed (STS Benchmark has some) and left out. Quotes are part of the sentence. Pairs carry the
score; there are no queries.
"""

from __future__ import annotations

from pathlib import Path

from observatory.benchmarks.assemble import RecordHash, licence_of, no_split, require_some, stem
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import first_line, number, text_lines
from observatory.errors import InputError
from observatory.records import Benchmark, Item, Pair

SCORE, LEFT, RIGHT = 4, 5, 6
MAX_SCORE = 5.0


def recognises(path: Path) -> bool:
    """A file whose first line has seven tab-separated cells with a number from 0 to 5 in the fifth."""
    return path.is_file() and _gold(_cells(first_line(path))) is not None


def read(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """All pairs of the file. Raises InputError for the first line that is no pair, or collects them in ``faults``."""
    no_split(path, split)
    content, pairs = RecordHash(), []
    items: dict[str, Item] = {}
    for line, text in text_lines(path, faults):
        with faults:
            left, right, score = _pair(text, path, line)
            for sentence in (left, right):
                items.setdefault(sentence, Item(f"s{len(items) + 1}", sentence))
            pairs.append(Pair(items[left].id, items[right].id, "similarity", score))
            content.update([{"score": score, "sentence1": left, "sentence2": right}])
    with faults:
        require_some("pair", len(pairs) + len(faults.found), path)
    name = stem(path)
    return Benchmark(
        name=name, version="unversioned", format="sts", split=None, corpus_hash=content.hexdigest(),
        query_set_id=f"{name}:0:none", items=tuple(items.values()), queries=(), pairs=tuple(pairs),
        licence=licence_of(path.parent),
    )


def _pair(text: str, path: Path, line: int) -> tuple[str, str, float]:
    cells = _cells(text)
    score = _gold(cells)
    if score is None:
        raise InputError(
            "is no STS pair: seven tab-separated cells with a score from 0 to 5 in the fifth are expected", file=path,
            line=line, value=text[:60], mend="correct the line",
        )
    if not cells[LEFT].strip() or not cells[RIGHT].strip():
        raise InputError("has an empty sentence", file=path, line=line, value=text[:60], mend="write both sentences")
    return cells[LEFT], cells[RIGHT], score


def _cells(text: str) -> list[str]:
    """The seven cells that count, and at most one more that holds the rest."""
    return text.split("\t", RIGHT + 1)


def _gold(cells: list[str]) -> float | None:
    score = number(cells[SCORE]) if len(cells) > RIGHT else None
    return score if score is not None and 0 <= score <= MAX_SCORE else None
