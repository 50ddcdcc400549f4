"""BEIR folders: corpus.jsonl, queries.jsonl and qrels/<split>.tsv. An item's text is title, one space, text."""

from __future__ import annotations

from pathlib import Path

from observatory.benchmarks import lines
from observatory.benchmarks.assemble import Ids, Positives, RecordHash, query_set_id, require_some
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import Fields, Record
from observatory.errors import InputError
from observatory.records import Benchmark, Item, Query

HEADER = ("query-id", "corpus-id", "score")


def recognises(path: Path) -> bool:
    """Whether ``path`` looks like a BEIR folder."""
    return path.is_dir() and lines.named(path, "corpus.jsonl")


def read(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """Read one split (``test`` where there is one, else the only one there is).

    The query set is every query that no *other* split judges: those without a judgment anywhere are kept and
    counted, as queries without a positive. Raises InputError for the first fault, or collects them in ``faults``.
    """
    lines.require_folder(path)
    content, item_ids, query_ids = RecordHash(), Ids("item"), Ids("query")
    warnings: list[str] = []
    items: tuple[Item, ...] = ()
    texts: dict[str, Record] = {}
    judged: dict[str, Positives] = {}
    elsewhere: set[str] = set()
    split_name = split or ""
    with item_ids.of_file(faults):
        items = _items(lines.require(path, "corpus.jsonl"), item_ids, content, faults, warnings)
    with query_ids.of_file(faults):
        texts = _texts(lines.require(path, "queries.jsonl"), query_ids, faults)
    with faults:
        chosen, others = _splits(path, split)
        split_name = chosen.name.split(".")[0]
        judged = _qrels(chosen, item_ids, query_ids, content, faults, warnings)
        elsewhere = set().union(*(_judged_ids(other, faults) for other in others)) - judged.keys()
    queries = tuple(
        Query(i, str(record["text"]), positives=mine.records(), irrelevant=mine.irrelevant())
        for i, record in texts.items() if i not in elsewhere
        for mine in [judged.get(i) or Positives()]
    )
    content.update(texts[q.id] for q in queries)
    if elsewhere & texts.keys():
        warnings.append(f"{len(elsewhere & texts.keys())} queries are judged by other splits only and are left to them")
    unanswered = sum(not q.positives for q in queries)
    if unanswered:
        warnings.append(f"{unanswered} queries have no positive; they are kept and counted as excluded")
    name = path.resolve().name
    return Benchmark(
        name=name, version="unversioned", format="beir", split=split_name, corpus_hash=content.hexdigest(),
        query_set_id=query_set_id(f"{name}/{split_name}", queries), items=items, queries=queries, warnings=tuple(warnings),
    )


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of one corpus file, for those who have no queries yet. Raises InputError for the first fault."""
    return _items(path, Ids("item"), RecordHash(), STRICT, [])


def _items(path: Path, ids: Ids, content: RecordHash, faults: Faults, warnings: list[str]) -> tuple[Item, ...]:
    items, empty = [], 0
    for number, record in lines.records(path, faults):
        with faults:
            items.append(_item(Fields(record, path, number), ids))
            empty += not items[-1].text.strip()
        content.update([record])
    with faults:
        require_some("item", len(ids), path)
    if empty:
        warnings.append(f"{empty} items have neither title nor text")
    return tuple(items)


def _texts(path: Path, ids: Ids, faults: Faults) -> dict[str, Record]:
    """Records of all queries of the file by id, each with its text."""
    found: dict[str, Record] = {}
    for number, record in lines.records(path, faults):
        at = Fields(record, path, number)
        with faults:
            identifier = at.string("_id")
            ids.add(identifier, at, "_id")
            at.string("text")
            found[identifier] = record
    with faults:
        require_some("query", len(ids), path)
    return found


def _item(at: Fields, ids: Ids) -> Item:
    identifier = at.string("_id")
    ids.add(identifier, at, "_id")
    title, body = at.optional("title") or "", at.optional("text")
    if body is None:
        raise at.fault("text", "is missing", "add a string 'text'")
    return Item(id=identifier, text=f"{title} {body}" if title else body)


def splits(path: Path) -> tuple[str, ...]:
    """Names of the splits there are."""
    return tuple(dict.fromkeys(p.name.split(".")[0] for p in sorted((path / "qrels").glob("*.tsv*"))))


def _splits(folder: Path, wanted: str | None) -> tuple[Path, list[Path]]:
    qrels = folder / "qrels"
    found = sorted(p for p in qrels.glob("*.tsv*") if p.is_file()) if qrels.is_dir() else []
    if not found:
        raise InputError("has no qrels/*.tsv", file=folder, mend="add qrels/test.tsv")
    names = {p.name.split(".")[0]: p for p in found}
    name = wanted or ("test" if "test" in names else next(iter(names)) if len(names) == 1 else None)
    if name is None or name not in names:
        problem = f"has no split {wanted!r}" if wanted else "has several splits"
        raise InputError(problem, file=qrels, mend=f"choose one of: {', '.join(names)}")
    return names[name], [p for n, p in names.items() if n != name]


def _qrels(
    path: Path, items: Ids, queries: Ids, content: RecordHash, faults: Faults, warnings: list[str]
) -> dict[str, Positives]:
    judged: dict[str, Positives] = {}
    for at in _rows(path, faults):
        with faults:
            query_id = queries.resolve(at.string("query-id"), at, "query-id")
            item_id = items.resolve(at.string("corpus-id"), at, "corpus-id")
            judged.setdefault(query_id, Positives()).judge(item_id, _score(at), at, "score")
        content.update([at.record])
    repeats = sum(p.repeated > 0 for p in judged.values())
    if repeats:
        warnings.append(f"{repeats} queries repeat a judgment; the first occurrence stands")
    return judged


def _rows(path: Path, faults: Faults) -> list[Fields]:
    rows = []
    for number, text in lines.text_lines(path, faults):
        cells = text.split("\t")
        if number == 1 and tuple(cell.strip() for cell in cells) == HEADER:
            continue
        with faults:
            if len(cells) != 3:
                raise InputError(
                    f"has {len(cells)} tab-separated cells where 3 are expected", file=path, line=number, value=text[:60],
                    mend="write query-id, corpus-id and score",
                )
            record: Record = dict(zip(HEADER, cells, strict=True))
            rows.append(Fields(record, path, number))
    return rows


def _score(at: Fields) -> int:
    """The grade; BEIR writes whole numbers, and a negative one means judged not relevant."""
    text = at.string("score")
    value = lines.number(text)
    if value is None or value != int(value) or abs(value) > 1000:
        raise at.fault("score", "is not a whole number", "write a grade such as 0, 1 or 2", text)
    return max(int(value), 0)


def _judged_ids(path: Path, faults: Faults) -> set[str]:
    return {str(at.record["query-id"]) for at in _rows(path, faults)}
