"""BEIR folders: title, space, text; one split; qrels that point somewhere; faults say where they are."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observatory import benchmarks
from observatory.errors import InputError
from observatory.records import Benchmark, Positive

CORPUS = [
    {"_id": "1", "title": "Harbour", "text": "The gate was closed – für immer."},
    {"_id": "2", "title": "", "text": "No title."},
    {"_id": "3", "text": "Title absent.", "metadata": {"x": 1}},
]
QUERIES = [{"_id": "a", "text": "Was the gate closed?"}, {"_id": "b", "text": "Second?"}]
QRELS = "query-id\tcorpus-id\tscore\na\t1\t1\nb\t2\t2\n"


def text_of(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)


def write(folder: Path, corpus: Any = None, queries: Any = None, **qrels: str | bytes) -> Path:
    """A good folder; records or raw content replace the corpus, the queries or the qrels of named splits."""
    (folder / "qrels").mkdir(parents=True)
    files: dict[str, Any] = {"corpus.jsonl": CORPUS if corpus is None else corpus, "queries.jsonl": QUERIES if queries is None else queries}
    files |= {f"qrels/{name}.tsv": content for name, content in (qrels or {"test": QRELS}).items()}
    for name, content in files.items():
        raw = text_of(content) if isinstance(content, list) else content
        (folder / name).write_bytes(raw.encode("utf-8") if isinstance(raw, str) else raw)
    return folder


def spelled(folder: Path, change: Callable[[bytes], bytes], suffix: str = "") -> Benchmark:
    write(folder)
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        raw = path.read_bytes()
        path.unlink()
        path.with_name(path.name + suffix).write_bytes(change(raw))
    return benchmarks.read(folder)


@pytest.mark.parametrize(
    ("change", "suffix"),
    [
        (lambda raw: raw.replace(b"\n", b"\r\n"), ""), (lambda raw: b"\xef\xbb\xbf" + raw, ""), (gzip.compress, ".gz"),
        (lambda raw: raw.rstrip(b"\n"), ""),
    ],
    ids=["crlf", "bom", "gz", "no-last-newline"],
)
def test_line_ends_bom_and_gzip_do_not_matter(tmp_path: Path, change: Callable[[bytes], bytes], suffix: str) -> None:
    plain = spelled(tmp_path / "plain" / "bench", lambda raw: raw)
    other = spelled(tmp_path / "other" / "bench", change, suffix)
    assert other == plain
    assert other.corpus_hash == plain.corpus_hash


def test_records_as_written(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench"))
    assert [i.text for i in read.items] == ["Harbour The gate was closed – für immer.", "No title.", "Title absent."]
    assert [q.positives for q in read.queries] == [(Positive("1", 1),), (Positive("2", 2),)]
    assert (read.format, read.split, read.name) == ("beir", "test", "bench")
    assert read.warnings == () and read.shipped_bm25 is None


def test_qrels_without_header_are_read(tmp_path: Path) -> None:
    with_header = benchmarks.read(write(tmp_path / "one" / "bench"))
    without = benchmarks.read(write(tmp_path / "two" / "bench", test=QRELS.partition("\n")[2]))
    assert without == with_header


@pytest.mark.parametrize("change", ["corpus", "queries", "qrels"])
def test_corpus_hash_changes_with_any_record(tmp_path: Path, change: str) -> None:
    before = benchmarks.read(write(tmp_path / "before")).corpus_hash
    changed: dict[str, Any] = {
        "corpus": {"corpus": [CORPUS[0] | {"text": "x"}, *CORPUS[1:]]}, "queries": {"queries": [QUERIES[0] | {"text": "x"}, QUERIES[1]]},
        "qrels": {"test": QRELS.replace("b\t2\t2", "b\t2\t1")},
    }[change]
    assert benchmarks.read(write(tmp_path / "after", **changed)).corpus_hash != before


@pytest.mark.parametrize("identifier", ["007", "1e5", "Ünïcode", "null", "in ner", " led"])
def test_ids_survive_unchanged(tmp_path: Path, identifier: str) -> None:
    folder = write(
        tmp_path / "bench", [{"_id": identifier, "text": "t"}], [{"_id": identifier, "text": "q"}], test=f"{identifier}\t{identifier}\t1\n"
    )
    read = benchmarks.read(folder)
    assert read.items[0].id == read.queries[0].id == read.queries[0].positives[0].item_id == identifier


def test_splits(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", train="a\t1\t1\n", test="b\t2\t1\n")
    assert [q.id for q in benchmarks.read(folder).queries] == ["b"], "test where there is one"
    assert [q.id for q in benchmarks.read(folder, split="train").queries] == ["a"]
    assert any("1 queries are judged by other splits" in w for w in benchmarks.read(folder).warnings)
    only = write(tmp_path / "only", dev="a\t1\t1\n")
    assert benchmarks.read(only).split == "dev"


def test_two_splits_without_test_must_be_chosen_from(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench", train="a\t1\t1\n", dev="b\t2\t1\n")
    with pytest.raises(InputError, match="dev, train"):
        benchmarks.read(folder)


def test_unknown_split_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'dev'.*test"):
        benchmarks.read(write(tmp_path / "bench"), split="dev")


def test_repeated_judgment_is_a_counted_warning(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench", test="a\t2\t1\na\t1\t1\na\t2\t1\nb\t2\t1\n"))
    assert read.queries[0].positives == (Positive("2", 1), Positive("1", 1))
    assert read.warnings == ("1 queries repeat a judgment; the first occurrence stands",)


@pytest.mark.parametrize("qrels", ["b\t2\t1\n", "b\t2\t1\na\t1\t0\n", "b\t2\t1\na\t1\t-1\n"], ids=["unjudged", "grade 0", "grade -1"])
def test_query_without_positive_is_kept_and_counted(tmp_path: Path, qrels: str) -> None:
    read = benchmarks.read(write(tmp_path / "bench", test=qrels))
    assert [q.id for q in read.queries] == ["a", "b"]
    assert read.queries[0].positives == ()
    assert any(w.startswith("1 queries have no positive") for w in read.warnings)


def test_item_without_title_and_text_is_kept_and_counted(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "bench", [*CORPUS, {"_id": "4", "title": "", "text": ""}]))
    assert len(read.items) == 4
    assert any(w.startswith("1 items have neither") for w in read.warnings)


def test_scifact(shared_data: Path) -> None:
    read = benchmarks.read(shared_data / "scifact", split="test")
    assert (len(read.items), len(read.queries)) == (5183, 300)
    assert sum(len(q.positives) for q in read.queries) == 339
    with (shared_data / "scifact" / "corpus.jsonl").open(encoding="utf-8") as stream:
        for item, line in zip(read.items, stream, strict=True):
            record = json.loads(line)
            assert item.text == record["title"] + " " + record["text"]


def corpus(**more: Any) -> str:
    return json.dumps({"_id": "9", "title": "t", "text": "t"} | more) + "\n"


def query(**more: Any) -> str:
    return json.dumps({"_id": "9", "text": "t"} | more) + "\n"


GOOD, HEAD = text_of(CORPUS), "query-id\tcorpus-id\tscore\n"
SCORE = "field 'score'"
BROKEN: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    "empty corpus": ("corpus", "", ("corpus.jsonl", "item")),
    "empty queries": ("queries", "\n", ("queries.jsonl", "query")),
    "duplicate item id": ("corpus", GOOD + corpus(_id="1"), ("corpus.jsonl", "line 4", "field '_id'", "'1'", "line 1")),
    "duplicate query id": ("queries", query() + query(), ("queries.jsonl", "line 2", "field '_id'", "'9'", "line 1")),
    "number as id": ("corpus", corpus(_id=9), ("corpus.jsonl", "line 1", "field '_id'", "9")),
    "number as query id": ("queries", query(_id=9), ("queries.jsonl", "line 1", "field '_id'", "9")),
    "text missing": ("corpus", '{"_id": "9"}\n', ("corpus.jsonl", "line 1", "field 'text'")),
    "text null": ("corpus", corpus(text=None), ("corpus.jsonl", "line 1", "field 'text'")),
    "text number": ("corpus", corpus(text=5), ("corpus.jsonl", "line 1", "field 'text'", "5")),
    "title number": ("corpus", corpus(title=5), ("corpus.jsonl", "line 1", "field 'title'", "5")),
    "empty query text": ("queries", query(text=""), ("queries.jsonl", "line 1", "field 'text'", "''")),
    "cut line": ("corpus", GOOD + '{"_id": "9", "ti', ("corpus.jsonl", "line 4", '"ti')),
    "an array": ("corpus", "[]\n", ("corpus.jsonl", "line 1", "array")),
    "invalid UTF-8": ("corpus", GOOD.encode() + b"\xff\n", ("corpus.jsonl", "line 4", "UTF-8", r"\xff")),
    "duplicate keys": ("corpus", '{"_id": "9", "text": "a", "text": "b"}\n', ("corpus.jsonl", "line 1", "field 'text'")),
    "lone surrogate": ("corpus", '{"_id": "9", "text": "\\udfff"}\n', ("corpus.jsonl", "line 1", "surrogate")),
    "deeply nested": ("corpus", "[" * 100_000 + "\n", ("corpus.jsonl", "line 1")),
    "dangling query": ("test", HEAD + "ghost\t1\t1\n", ("test.tsv", "line 2", "field 'query-id'", "'ghost'")),
    "dangling item": ("test", HEAD + "a\tghost\t1\n", ("test.tsv", "line 2", "field 'corpus-id'", "'ghost'")),
    "four columns": ("test", "a\t0\t1\t1\n", ("test.tsv", "line 1", "4", "a")),
    "two columns": ("test", HEAD + "a\t1\n", ("test.tsv", "line 2", "2")),
    "spaces for tabs": ("test", "a 1 1\n", ("test.tsv", "line 1", "a 1 1")),
    "grade as word": ("test", "a\t1\thigh\n", ("test.tsv", "line 1", SCORE, "'high'")),
    "grade true": ("test", "a\t1\ttrue\n", ("test.tsv", "line 1", SCORE, "'true'")),
    "grade empty": ("test", "a\t1\t\n", ("test.tsv", "line 1", SCORE)),
    "grade NaN": ("test", "a\t1\tnan\n", ("test.tsv", "line 1", SCORE, "'nan'")),
    "grade infinite": ("test", "a\t1\tinf\n", ("test.tsv", "line 1", SCORE, "'inf'")),
    "grade overflowing": ("test", "a\t1\t1e999\n", ("test.tsv", "line 1", SCORE, "'1e999'")),
    "grade huge": ("test", "a\t1\t1e300\n", ("test.tsv", "line 1", SCORE, "'1e300'")),
    "grade with a fraction": ("test", "a\t1\t0.5\n", ("test.tsv", "line 1", SCORE, "'0.5'")),
    "grade with an underscore": ("test", "a\t1\t1_0\n", ("test.tsv", "line 1", SCORE, "'1_0'")),
    "other grade for the same item": ("test", "a\t1\t1\na\t1\t2\n", ("test.tsv", "line 2", SCORE, "'1'", "2")),
    "qrels not UTF-8": ("test", b"a\t1\t1\nb\t\xff\t1\n", ("test.tsv", "line 2", "UTF-8")),
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
    folder = write(tmp_path / "bench", **{file: content}) if file != "test" else write(tmp_path / "bench", test=content)
    if file != "test":
        (folder / "qrels" / "test.tsv").write_text(QRELS)
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, *fragments)


def test_no_qrels(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    (folder / "qrels" / "test.tsv").unlink()
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, str(folder), "qrels")
    (folder / "qrels").rmdir()
    with pytest.raises(InputError, match="qrels"):
        benchmarks.read(folder)
    (folder / "qrels").write_text(QRELS)
    with pytest.raises(InputError, match="qrels"):
        benchmarks.read(folder)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
@pytest.mark.parametrize("special", ["folder", "fifo"])
def test_something_else_where_a_file_should_be(tmp_path: Path, name: str, special: str) -> None:
    folder = write(tmp_path / "bench")
    (folder / name).unlink()
    os.mkfifo(folder / name) if special == "fifo" else (folder / name).mkdir()
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, name.partition("/")[0])


@pytest.mark.parametrize("name", ["corpus.jsonl", "qrels/test.tsv"])
def test_damaged_gzip(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "bench")
    (folder / name).write_bytes(gzip.compress(b"x" * 5000)[:20])
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert_one_sentence(caught.value, name)


def test_missing_queries_file_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "bench")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"queries\.jsonl"):
        benchmarks.read(folder)


def test_absent_path_and_plain_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text(GOOD)
    for path in (tmp_path / "absent", plain):
        with pytest.raises(InputError, match=re.escape(str(path))):
            benchmarks.read(path, format="beir")
