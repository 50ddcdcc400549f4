"""RELATE release folders: items and queries; pairs, bm25_scores, splits, manifest and corpus_hash.txt are optional."""

from __future__ import annotations

import hashlib
from pathlib import Path

from observatory.benchmarks import lines
from observatory.benchmarks.assemble import Ids, Positives, RecordHash, licence_of, query_set_id, require_some
from observatory.benchmarks.faults import STRICT, Faults
from observatory.benchmarks.lines import Fields, Record
from observatory.errors import InputError
from observatory.records import Benchmark, DesignatedNegative, Item, Pair, Query


def recognises(path: Path) -> bool:
    """Whether ``path`` looks like a RELATE release folder."""
    return path.is_dir() and lines.named(path, "items.jsonl")


def read(path: Path, split: str | None = None, faults: Faults = STRICT) -> Benchmark:
    """Read a release folder. Raises InputError for the first fault, with file, line, field and value; a collecting
    ``faults`` takes them instead and reading goes on with the next record, or file."""
    if split is not None:
        raise InputError(f"a RELATE folder has no query split {split!r}", file=path, mend="leave the split out")
    lines.require_folder(path)
    content, item_ids, query_ids = RecordHash(), Ids("item"), Ids("query")
    warnings: list[str] = []
    items: tuple[Item, ...] = ()
    pairs: tuple[Pair, ...] | None = None
    queries: tuple[Query, ...] = ()
    ranking: dict[str, tuple[str, ...]] | None = None
    manifest: Record = {}
    with item_ids.of_file(faults):
        items = _items(lines.require(path, "items.jsonl"), item_ids, content, faults)
    with faults:
        pairs = _pairs(path, item_ids, content, faults)
    with query_ids.of_file(faults):
        queries = _queries(lines.require(path, "queries.jsonl"), item_ids, query_ids, content, faults, warnings)
    with faults:
        ranking = _shipped_bm25(path, item_ids, query_ids, faults)
    digest = content.hexdigest()
    with faults:
        manifest = _manifest(path, warnings)
    if item_ids.whole and query_ids.whole:
        with faults:
            _check_hash(path, digest, pairs is not None, warnings)
    name = str(manifest.get("name") or "-".join(filter(None, [_stem(path), str(manifest.get("version") or "")])))
    return Benchmark(
        name=name, version=str(manifest.get("version") or "unversioned"), format="relate", split=None,
        corpus_hash=digest, query_set_id=query_set_id(name, queries), items=items, queries=queries,
        pairs=pairs or (), shipped_bm25=ranking, licence=_licence(path, manifest), warnings=tuple(warnings),
    )


def read_items(path: Path) -> tuple[Item, ...]:
    """The items of one corpus file, for those who have no queries yet. Raises InputError for the first fault."""
    return _items(path, Ids("item"), RecordHash(), STRICT)


def _items(path: Path, ids: Ids, content: RecordHash, faults: Faults) -> tuple[Item, ...]:
    items = []
    for number, record in lines.records(path, faults):
        with faults:
            items.append(_item(Fields(record, path, number), ids))
        content.update([record])
    with faults:
        require_some("item", len(ids), path)
    return tuple(items)


def _pairs(folder: Path, items: Ids, content: RecordHash, faults: Faults) -> tuple[Pair, ...] | None:
    """None where there is no such file."""
    path = lines.find(folder, "pairs.jsonl")
    if path is None:
        return None
    pairs = []
    for number, record in lines.records(path, faults):
        with faults:
            pairs.append(_pair(Fields(record, path, number), items))
        content.update([record])
    return tuple(pairs)


def _queries(
    path: Path, items: Ids, ids: Ids, content: RecordHash, faults: Faults, warnings: list[str]
) -> tuple[Query, ...]:
    queries, repeats = [], 0
    for number, record in lines.records(path, faults):
        with faults:
            query, repeated = _query(Fields(record, path, number), items, ids, faults)
            queries.append(query)
            repeats += repeated > 0
        content.update([record])
    with faults:
        require_some("query", len(ids), path)
    if repeats:
        warnings.append(f"{repeats} queries repeat a positive; the first occurrence stands")
    unanswered = sum(not q.positives for q in queries)
    if unanswered:
        warnings.append(f"{unanswered} queries have no positive; they are kept and counted as excluded")
    return tuple(queries)


def _stem(path: Path) -> str:
    """The folder's name without a trailing version, which the manifest states."""
    name = path.resolve().name
    head, _, tail = name.rpartition("-")
    return head if head and tail[:1].isdigit() else name


def _item(at: Fields, ids: Ids) -> Item:
    identifier = at.string("id")
    ids.add(identifier, at, "id")
    return Item(
        id=identifier, text=at.string("text"), domain=at.optional("domain"),
        source_text=at.optional("text_id"), time=at.optional("time_index"),
    )


def _pair(at: Fields, items: Ids) -> Pair:
    a, b = (items.resolve(at.string(key), at, key) for key in ("a_id", "b_id"))
    return Pair(a, b, at.string("relation"))


def _query(at: Fields, items: Ids, queries: Ids, faults: Faults) -> tuple[Query, int]:
    """The query and how many of its positives were repeats; faults inside its lists are one each."""
    identifier = at.string("id")
    queries.add(identifier, at, "id")
    positives = Positives()
    for entry in at.objects("positives"):
        with faults:
            item_id = items.resolve(entry.string("item_id"), entry, "item_id")
            positives.judge(item_id, entry.grade("grade"), entry, "grade")
    target = at.optional("target_item_id")
    if target is not None:
        items.resolve(target, at, "target_item_id")
    designated = []
    for entry in at.objects("hard_negatives", required=False):
        with faults:
            designated.append(_designated(entry, items, positives))
    query = Query(
        id=identifier, text=at.string("text"), style=at.optional("query_style"), target_item_id=target,
        positives=positives.records(), designated_negatives=tuple(designated), irrelevant=positives.irrelevant(),
    )
    return query, positives.repeated


def _designated(at: Fields, items: Ids, positives: Positives) -> DesignatedNegative:
    item_id = items.resolve(at.string("item_id"), at, "item_id")
    if positives.grades.get(item_id, 0) >= 1:
        raise at.fault("item_id", "the designated negative is also a positive of this query", "keep one of them", item_id)
    return DesignatedNegative(item_id, at.string("method"), at.string("underlying_relation"))


def _shipped_bm25(folder: Path, items: Ids, queries: Ids, faults: Faults) -> dict[str, tuple[str, ...]] | None:
    """The release's own ranking, in file order and never re-sorted; None where there is no such file."""
    path = lines.find(folder, "bm25_scores.jsonl")
    if path is None:
        return None
    ranking: dict[str, list[str]] = {}
    for number, record in lines.records(path, faults):
        at = Fields(record, path, number)
        with faults:
            query_id = queries.resolve(at.string("query_id"), at, "query_id")
            ranking.setdefault(query_id, []).append(items.resolve(at.string("item_id"), at, "item_id"))
    return {query_id: tuple(dict.fromkeys(ranked)) for query_id, ranked in ranking.items()}


def _manifest(folder: Path, warnings: list[str]) -> Record:
    """manifest.json, after its sha256 of each file that is there has been checked (line ends do not count)."""
    path = lines.find(folder, "manifest.json")
    if path is None:
        return {}
    manifest = lines.json_file(path)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files", {}), dict):
        raise InputError("is not an object with an object 'files'", file=path, mend="restore it or remove it")
    absent = 0
    for name, expected in manifest.get("files", {}).items():
        found = [p for p in (folder / name, folder / "splits" / name, folder / "views" / name) if p.is_file()]
        if "/" in name.replace("\\", "/") or not found:
            absent += 1
        elif not isinstance(expected, str) or expected not in _hashes(found[0]):
            raise InputError(
                "does not match its sha256 in manifest.json", file=found[0], value=expected,
                mend="restore the released file, or remove manifest.json if the change is meant",
            )
    if absent:
        warnings.append(f"{absent} files of manifest.json are not in the folder")
    return manifest


def _hashes(path: Path) -> set[str]:
    """sha256 of the bytes as they are, with LF ends and with CRLF ends: check-outs change line ends."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check its rights") from error
    unix = raw.replace(b"\r\n", b"\n")
    return {hashlib.sha256(b).hexdigest() for b in (raw, unix, unix.replace(b"\n", b"\r\n"))}


def _check_hash(folder: Path, computed: str, whole: bool, warnings: list[str]) -> None:
    path = lines.find(folder, "corpus_hash.txt")
    if path is None:
        return
    stated = "".join(text for _, text in lines.text_lines(path)).strip()
    if stated == computed:
        return
    if not whole:
        warnings.append("pairs.jsonl is absent, so corpus_hash differs from corpus_hash.txt")
        return
    raise InputError(
        f"states another corpus_hash than the records have ({computed})", file=path, value=stated,
        mend="restore the released files, or remove corpus_hash.txt if the change is meant",
    )


def _licence(folder: Path, manifest: Record) -> str | None:
    if isinstance(manifest.get("licence"), str):
        return str(manifest["licence"])
    return licence_of(folder)
