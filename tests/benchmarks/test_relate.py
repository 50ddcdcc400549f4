"""RELATE folders: every good spelling gives one Benchmark, every fault one sentence that says where it is."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observatory import benchmarks
from observatory.errors import InputError
from observatory.records import Benchmark, Positive

RELEASE_HASH = "8cad6816d90e06bc49e5b0b64cd460945e17ea4b1ec3c46054409669eda525b3"
Record = dict[str, Any]

ITEMS: list[Record] = [
    {"id": "a", "text": "Die Kopie lief über Nacht – ganz. 🐿", "domain": "d", "text_id": "log", "time_index": "t1"},
    {"id": "b", "text": "Die Kopie lief nicht.", "domain": "d"},
    {"id": "c", "text": "Etwas anderes.", "domain": None},
]
PAIRS: list[Record] = [{"a_id": "a", "b_id": "b", "relation": "negation"}]
QUERIES: list[Record] = [
    {
        "id": "q", "text": "Lief die Kopie?", "target_item_id": "a", "query_style": "question",
        "positives": [{"item_id": "a", "grade": 3}],
        "hard_negatives": [{"item_id": "b", "method": "structured_perturbation", "underlying_relation": "negation"}],
    },
    {"id": "r", "text": "Etwas?", "target_item_id": "c", "query_style": "keyword", "positives": [{"item_id": "c", "grade": 2}]},
]
BM25: list[Record] = [{"query_id": "q", "item_id": "b", "bm25": 1.0}, {"query_id": "q", "item_id": "a", "bm25": 2.0}]


def text_of(records: list[Record]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def write(folder: Path, **replaced: str | bytes | list[Record] | None) -> Path:
    """A good folder; ``items=...`` and the like replace one file's records or raw content, None leaves it out."""
    folder.mkdir(parents=True)
    files: dict[str, Any] = {"items": ITEMS, "pairs": PAIRS, "queries": QUERIES, "bm25_scores": BM25} | replaced
    for name, content in files.items():
        raw = text_of(content) if isinstance(content, list) else content
        if raw is not None:
            (folder / f"{name}.jsonl").write_bytes(raw.encode("utf-8") if isinstance(raw, str) else raw)
    return folder


def spelled(folder: Path, change: Callable[[bytes], bytes], suffix: str = "") -> Benchmark:
    """The good folder with every file's bytes changed."""
    write(folder)
    for path in list(folder.iterdir()):
        raw = path.read_bytes()
        path.unlink()
        path.with_name(path.name + suffix).write_bytes(change(raw))
    return benchmarks.read(folder)


@pytest.mark.parametrize(
    ("change", "suffix"),
    [
        (lambda raw: raw.replace(b"\n", b"\r\n"), ""),
        (lambda raw: b"\xef\xbb\xbf" + raw, ""),
        (lambda raw: b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n"), ""),
        (gzip.compress, ".gz"),
        (gzip.compress, ""),  # gzip is known by its first bytes, whatever the name
        (lambda raw: raw.rstrip(b"\n"), ""),
        (lambda raw: raw.replace(b"\n", b"\n\n"), ""),
    ],
    ids=["crlf", "bom", "bom-crlf", "gz", "gz-unnamed", "no-last-newline", "blank-lines"],
)
def test_line_ends_bom_and_gzip_do_not_matter(tmp_path: Path, change: Callable[[bytes], bytes], suffix: str) -> None:
    plain = spelled(tmp_path / "plain" / "bench-1.0", lambda raw: raw)
    other = spelled(tmp_path / "other" / "bench-1.0", change, suffix)
    assert other == plain
    assert other.corpus_hash == plain.corpus_hash


def test_records_as_written(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench"))
    assert [i.text for i in read.items] == [i["text"] for i in ITEMS]
    assert (read.items[0].domain, read.items[0].source_text, read.items[0].time) == ("d", "log", "t1")
    assert read.items[2].domain is None
    first = read.queries[0]
    assert (first.style, first.target_item_id, first.positives) == ("question", "a", (Positive("a", 3),))
    assert [(n.item_id, n.method, n.relation) for n in first.designated_negatives] == [("b", "structured_perturbation", "negation")]
    assert [(p.a_id, p.b_id, p.relation) for p in read.pairs] == [("a", "b", "negation")]
    assert read.shipped_bm25 == {"q": ("b", "a")}, "file order, never re-sorted by score"
    assert read.format == "relate" and read.split is None


def test_corpus_hash_is_that_of_the_definition(tmp_path: Path) -> None:
    lines = [json.dumps(r, sort_keys=True, ensure_ascii=False) + "\n" for r in [*ITEMS, *PAIRS, *QUERIES]]
    expected = hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()
    assert benchmarks.read(write(tmp_path / "bench")).corpus_hash == expected


@pytest.mark.parametrize("change", ["item", "pair", "query", "order"])
def test_corpus_hash_changes_with_any_record(tmp_path: Path, change: str) -> None:
    before = benchmarks.read(write(tmp_path / "before")).corpus_hash
    changed: dict[str, list[Record]] = {
        "item": {"items": [ITEMS[0] | {"text": "x"}, *ITEMS[1:]]}, "pair": {"pairs": [PAIRS[0] | {"relation": "x"}]},
        "query": {"queries": [QUERIES[0] | {"text": "x"}, QUERIES[1]]}, "order": {"items": ITEMS[::-1]},
    }[change]
    assert benchmarks.read(write(tmp_path / "after", **changed)).corpus_hash != before


@pytest.mark.parametrize("identifier", ["007", "1e5", " led", "Ünïcode", "a/b", "null", "a\tb", "x" * 300])
def test_ids_survive_unchanged(tmp_path: Path, identifier: str) -> None:
    queries = [{"id": identifier, "text": "q", "positives": [{"item_id": identifier, "grade": 1}]}]
    folder = write(
        tmp_path / "bench", items=[{"id": identifier, "text": "t"}], pairs=None, queries=queries,
        bm25_scores=[{"query_id": identifier, "item_id": identifier}],
    )
    read = benchmarks.read(folder)
    assert read.items[0].id == read.queries[0].id == read.queries[0].positives[0].item_id == identifier
    assert read.shipped_bm25 == {identifier: (identifier,)}


def test_optional_files_may_be_absent(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench-1.0", pairs=None, bm25_scores=None))
    assert read.pairs == () and read.shipped_bm25 is None
    assert (read.name, read.version, read.licence, read.warnings) == ("bench", "unversioned", None, ())


def manifest(folder: Path, value: object) -> None:
    (folder / "manifest.json").write_text(json.dumps(value), encoding="utf-8")


def test_manifest_names_version_and_licence(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench-1.0")
    digest = hashlib.sha256((folder / "items.jsonl").read_bytes()).hexdigest()
    manifest(folder, {"version": "1.0", "licence": "CC0", "files": {"items.jsonl": digest, "absent.jsonl": digest}})
    read = benchmarks.read(folder)
    assert (read.name, read.version, read.licence) == ("bench-1.0", "1.0", "CC0")
    assert any("1 files of manifest.json are not in the folder" in w for w in read.warnings)


def test_manifest_holds_whatever_the_line_ends(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    raw = (folder / "items.jsonl").read_bytes()
    manifest(folder, {"files": {"items.jsonl": hashlib.sha256(raw).hexdigest()}})
    (folder / "items.jsonl").write_bytes(raw.replace(b"\n", b"\r\n"))
    assert benchmarks.read(folder).warnings == ()


def test_manifest_mismatch_names_the_file_and_the_hash(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    manifest(folder, {"files": {"items.jsonl": "0" * 64}})
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert "items.jsonl" in str(caught.value) and "manifest.json" in str(caught.value) and "0000" in str(caught.value)


@pytest.mark.parametrize("entry", [{"sha256": "0" * 64}, ["0" * 64], 5, None], ids=["object", "array", "number", "null"])
def test_manifest_entries_that_are_no_hash_are_bad_input(tmp_path: Path, entry: object) -> None:
    folder = write(tmp_path / "bench")
    manifest(folder, {"files": {"items.jsonl": entry}})
    with pytest.raises(InputError, match=r"items\.jsonl"):
        benchmarks.read(folder)


@pytest.mark.parametrize("value", [[], "x", {"files": ["items.jsonl"]}])
def test_manifest_of_another_shape_is_bad_input(tmp_path: Path, value: object) -> None:
    folder = write(tmp_path / "bench")
    manifest(folder, value)
    with pytest.raises(InputError, match=r"manifest\.json"):
        benchmarks.read(folder)


def test_stated_corpus_hash_is_checked(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    right = benchmarks.read(folder).corpus_hash
    (folder / "corpus_hash.txt").write_text(right + "\r\n")
    assert benchmarks.read(folder).corpus_hash == right
    (folder / "corpus_hash.txt").write_text("f" * 64)
    with pytest.raises(InputError, match=r"corpus_hash\.txt.*ffff"):
        benchmarks.read(folder)


def test_positive_repeated_with_the_same_grade_is_a_counted_warning(tmp_path: Path) -> None:
    positives = [{"item_id": "b", "grade": 2}, {"item_id": "a", "grade": 3}, {"item_id": "b", "grade": 2}]
    read = benchmarks.read(write(tmp_path / "bench", queries=[{"id": "q", "text": "t", "positives": positives}], bm25_scores=None))
    assert read.queries[0].positives == (Positive("b", 2), Positive("a", 3)), "the first occurrence stands"
    assert read.warnings == ("1 queries repeat a positive; the first occurrence stands",)


def test_query_without_positive_is_kept_and_counted(tmp_path: Path) -> None:
    queries = [*QUERIES, {"id": "s", "text": "t", "positives": []}, {"id": "u", "text": "t", "positives": [{"item_id": "a", "grade": 0}]}]
    read = benchmarks.read(write(tmp_path / "bench", queries=queries))
    assert [q.id for q in read.queries] == ["q", "r", "s", "u"]
    assert read.queries[3].positives == ()
    assert any(w.startswith("2 queries have no positive") for w in read.warnings)


def test_relate_release(shared_data: Path) -> None:
    read = benchmarks.read(shared_data / "relate-0.1.0")
    assert read.corpus_hash == RELEASE_HASH
    assert (len(read.items), len(read.queries), len(read.pairs)) == (1173, 269, 1181)
    assert read.warnings == ("4 queries repeat a positive; the first occurrence stands",)
    assert read.shipped_bm25 is not None and len(read.shipped_bm25) == 269


# -- broken folders -------------------------------------------------------------------------------------------------


def item(**more: Any) -> str:
    return json.dumps({"id": "z", "text": "t"} | more) + "\n"


def query(**more: Any) -> str:
    return json.dumps({"id": "z", "text": "t", "positives": [{"item_id": "a", "grade": 1}]} | more) + "\n"


def graded(literal: str) -> str:
    return '{"id": "z", "text": "t", "positives": [{"item_id": "a", "grade": %s}]}\n' % literal  # noqa: UP031


def designated(**more: Any) -> str:
    entry = {"item_id": "b", "method": "m", "underlying_relation": "r"} | more
    return query(hard_negatives=[{k: v for k, v in entry.items() if v is not ...}])


GOOD_ITEMS = text_of(ITEMS)
LINE = len(ITEMS) + 1  # a bad item after the good ones
GRADE = "field 'positives[0].grade'"

BROKEN: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "empty corpus": ("items", "", ("item",)),
    "blank corpus": ("items", "\n \n\r\n", ("item",)),
    "empty queries": ("queries", "", ("query",)),
    "duplicate item id": ("items", GOOD_ITEMS + item(id="a"), (f"line {LINE}", "field 'id'", "'a'", "line 1")),
    "duplicate query id": ("queries", query() + query(), ("line 2", "field 'id'", "'z'", "line 1")),
    "dangling positive": ("queries", query(positives=[{"item_id": "ghost", "grade": 1}]), ("line 1", "positives[0].item_id", "'ghost'")),
    "dangling second positive": (
        "queries", query(positives=[{"item_id": "a", "grade": 1}, {"item_id": "ghost", "grade": 1}]), ("positives[1].item_id", "'ghost'"),
    ),
    "dangling target": ("queries", query(target_item_id="ghost"), ("line 1", "field 'target_item_id'", "'ghost'")),
    "dangling hard negative": ("queries", designated(item_id="ghost"), ("line 1", "hard_negatives[0].item_id", "'ghost'")),
    "dangling pair a": ("pairs", '{"a_id": "ghost", "b_id": "a", "relation": "r"}\n', ("line 1", "field 'a_id'", "'ghost'")),
    "dangling pair b": ("pairs", '{"a_id": "a", "b_id": "ghost", "relation": "r"}\n', ("line 1", "field 'b_id'", "'ghost'")),
    "dangling bm25 item": ("bm25_scores", '{"query_id": "q", "item_id": "ghost"}\n', ("line 1", "field 'item_id'", "'ghost'")),
    "dangling bm25 query": ("bm25_scores", '{"query_id": "ghost", "item_id": "a"}\n', ("line 1", "field 'query_id'", "'ghost'")),
    "grade as text": ("queries", graded('"3"'), ("line 1", GRADE, "'3'")),
    "grade true": ("queries", graded("true"), ("line 1", GRADE, "True")),
    "grade null": ("queries", graded("null"), ("line 1", GRADE)),
    "grade as array": ("queries", graded("[3]"), ("line 1", GRADE, "[3]")),
    "grade missing": ("queries", '{"id": "z", "text": "t", "positives": [{"item_id": "a"}]}\n', ("line 1", GRADE)),
    "grade NaN": ("queries", graded("NaN"), ("line 1", "NaN")),
    "grade Infinity": ("queries", graded("Infinity"), ("line 1", "Infinity")),
    "grade -Infinity": ("queries", graded("-Infinity"), ("line 1", "-Infinity")),
    "grade overflowing to infinity": ("queries", graded("1e999"), ("line 1", GRADE, "inf")),
    "grade overflowing to -infinity": ("queries", graded("-1e999"), ("line 1", GRADE, "inf")),
    "grade huge": ("queries", graded("1e300"), ("line 1", GRADE, "1e+300")),
    "grade of 400 digits": ("queries", graded("9" * 400), ("line 1", GRADE, "999")),
    "grade of 5000 digits": ("queries", graded("9" * 5000), ("line 1",)),
    "grade above the cap": ("queries", graded("1001"), ("line 1", GRADE, "1001")),
    "grade negative": ("queries", graded("-1"), ("line 1", GRADE, "-1")),
    "grade with a fraction": ("queries", graded("2.5"), ("line 1", GRADE, "2.5")),
    "repeated with another grade": (
        "queries", query(positives=[{"item_id": "a", "grade": 1}, {"item_id": "a", "grade": 2}]), ("line 1", "positives[1].grade", "2", "'a'"),
    ),
    "cut line": ("items", GOOD_ITEMS + '{"id": "z", "te', (f"line {LINE}", '{"id": "z", "te')),
    "two objects in a line": ("items", item().rstrip() + item(id="y"), ("line 1",)),
    "single quotes": ("items", "{'id': 'z'}\n", ("line 1", "{'id': 'z'}")),
    "invalid UTF-8": ("items", GOOD_ITEMS.encode() + b'{"id": "z", "text": "\xff"}\n', (f"line {LINE}", "UTF-8", r"\xff")),
    "UTF-16": ("items", GOOD_ITEMS.encode("utf-16"), ("line 1", "UTF-8")),
    "latin-1": ("items", '{"id": "z", "text": "Größe"}\n'.encode("latin-1"), ("line 1", "UTF-8")),
    "an array": ("items", '["z", "t"]\n', ("line 1", "array", '["z", "t"]')),
    "a string": ("items", '"z"\n', ("line 1", "a string")),
    "a number": ("items", "17\n", ("line 1", "a number", "17")),
    "null": ("items", "null\n", ("line 1", "null")),
    "duplicate keys": ("items", '{"id": "z", "text": "t", "text": "u"}\n', ("line 1", "field 'text'")),
    "duplicate keys inside": ("queries", '{"id": "z", "text": "t", "positives": [{"item_id": "a", "item_id": "b", "grade": 1}]}\n', ("line 1", "'item_id'")),
    "lone surrogate": ("items", '{"id": "z", "text": "\\ud800"}\n', ("line 1", "surrogate")),
    "lone surrogate in a key": ("items", '{"id": "z", "text": "t", "\\udc00": 1}\n', ("line 1", "surrogate")),
    "encoded surrogate": ("items", b'{"id": "z", "text": "\xed\xa0\x80"}\n', ("line 1", "UTF-8")),
    "deeply nested": ("items", "[" * 100_000 + "]" * 100_000 + "\n", ("line 1",)),
    "deeply nested field": ("items", '{"id": "z", "text": "t", "x": ' + '{"y": ' * 50_000 + "1" + "}" * 50_000 + "}\n", ("line 1",)),
    "empty item text": ("items", item(text=""), ("line 1", "field 'text'", "''")),
    "blank item text": ("items", item(text=" \t"), ("line 1", "field 'text'")),
    "empty query text": ("queries", query(text=""), ("line 1", "field 'text'", "''")),
    "empty id": ("items", item(id=""), ("line 1", "field 'id'", "''")),
    "number as id": ("items", item(id=7), ("line 1", "field 'id'", "7")),
    "number as item_id": ("queries", query(positives=[{"item_id": 7, "grade": 1}]), ("line 1", "positives[0].item_id", "7")),
    "number as text": ("items", item(text=7), ("line 1", "field 'text'", "7")),
    "number as domain": ("items", item(domain=7), ("line 1", "field 'domain'", "7")),
    "number as target": ("queries", query(target_item_id=7), ("line 1", "field 'target_item_id'", "7")),
    "missing id": ("items", '{"text": "t"}\n', ("line 1", "field 'id'")),
    "missing text": ("items", '{"id": "z"}\n', ("line 1", "field 'text'")),
    "missing positives": ("queries", '{"id": "z", "text": "t"}\n', ("line 1", "field 'positives'")),
    "positives as object": ("queries", query(positives={"a": 1}), ("line 1", "field 'positives'")),
    "positive as string": ("queries", query(positives=["a"]), ("line 1", "positives[0]", "'a'")),
    "hard_negatives null": ("queries", query(hard_negatives=None), ("line 1", "field 'hard_negatives'")),
    "designated without method": ("queries", designated(method=...), ("line 1", "hard_negatives[0].method")),
    "designated without relation": ("queries", designated(underlying_relation=...), ("line 1", "hard_negatives[0].underlying_relation")),
    "designated negative is a positive": ("queries", designated(item_id="a"), ("line 1", "hard_negatives[0].item_id", "'a'", "positive")),
    "pair without relation": ("pairs", '{"a_id": "a", "b_id": "b"}\n', ("line 1", "field 'relation'")),
}


def assert_one_sentence(error: InputError, *fragments: str) -> None:
    sentence = str(error)
    for fragment in fragments:
        assert fragment in sentence, (fragment, sentence)
    assert "\n" not in sentence and len(sentence) < 700
    assert re.search(r"; .+\.$", sentence), f"does not say how to mend it: {sentence}"


@pytest.mark.parametrize("name", BROKEN)
def test_broken_record_is_one_sentence_that_says_where(tmp_path: Path, name: str) -> None:
    file, content, fragments = BROKEN[name]
    extra = {} if file in ("bm25_scores", "pairs") else {"pairs": None, "bm25_scores": None}
    folder = write(tmp_path / "bench", **(extra | {file: content}))
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, f"{file}.jsonl", *fragments)


def test_a_good_table_entry_would_be_read(tmp_path: Path) -> None:
    """The builders behind the table above make good records when nothing is changed."""
    for i, good in enumerate((query(), graded("1"), designated())):
        folder = write(tmp_path / str(i), items=GOOD_ITEMS + item(), queries=good, bm25_scores=None)
        assert benchmarks.read(folder).queries[0].positives == (Positive("a", 1),)


@pytest.mark.parametrize("depth", range(300, 1100, 20))
def test_nesting_is_read_or_refused_whatever_the_depth(tmp_path: Path, depth: int) -> None:
    """Between what the parser takes and what the hash takes there is no depth that crashes."""
    nested = '{"id": "z", "text": "t", "x": ' + "[" * depth + "]" * depth + "}\n"
    try:
        benchmarks.read(write(tmp_path / "bench", items=GOOD_ITEMS + nested))
    except InputError as error:
        assert_one_sentence(error, "items.jsonl", f"line {LINE}")


@pytest.mark.parametrize("name", ["items", "queries", "pairs", "bm25_scores"])
@pytest.mark.parametrize("special", ["folder", "fifo"])
def test_something_else_where_a_file_should_be(tmp_path: Path, name: str, special: str) -> None:
    folder = write(tmp_path / "bench", **{name: None})
    os.mkfifo(folder / f"{name}.jsonl") if special == "fifo" else (folder / f"{name}.jsonl").mkdir()
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, f"{name}.jsonl")


@pytest.mark.parametrize("damage", ["cut", "flipped", "header only", "trailing garbage"])
def test_damaged_gzip(tmp_path: Path, damage: str) -> None:
    letters = random.Random(1)
    raw = bytearray(gzip.compress("".join(item(id=str(i), text=str(letters.random())) for i in range(500)).encode()))
    if damage == "flipped":
        raw[len(raw) // 2] ^= 0xFF
    content = {"cut": raw[: len(raw) // 2], "flipped": raw, "header only": raw[:5], "trailing garbage": raw + b"garbage"}[damage]
    with pytest.raises(InputError) as caught:
        benchmarks.read(write(tmp_path / "bench", items=bytes(content)))
    assert_one_sentence(caught.value, "items.jsonl")


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "bench")
    opened = Path.open

    def refuse(self: Path, *args: Any, **more: Any) -> Any:
        if self.name == "queries.jsonl":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *args, **more)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, "queries.jsonl", "Permission denied")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file_on_disk(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    (folder / "items.jsonl").chmod(0)
    with pytest.raises(InputError, match=r"items\.jsonl"):
        benchmarks.read(folder)


@pytest.mark.parametrize("missing", ["items", "queries"])
def test_missing_required_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path / "bench", **{missing: None})
    with pytest.raises(InputError, match=rf"{missing}\.jsonl"):
        benchmarks.read(folder, format="relate")


def test_a_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'test'"):
        benchmarks.read(write(tmp_path / "bench"), split="test")


def test_absent_path_plain_file_and_empty_folder(tmp_path: Path) -> None:
    plain, empty = tmp_path / "plain.jsonl", tmp_path / "empty"
    plain.write_text(GOOD_ITEMS)
    empty.mkdir()
    for path in (tmp_path / "absent", plain, empty):
        for format in (None, "relate"):
            with pytest.raises(InputError, match=re.escape(str(path))):
                benchmarks.read(path, format=format)


def test_records_cannot_be_changed(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.items[0].text = "other"  # type: ignore[misc]
