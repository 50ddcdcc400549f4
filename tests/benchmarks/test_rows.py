"""Table files: what a cell holds survives, each record has its line, one broken row hides no other."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory.benchmarks import lines, rows
from observatory.benchmarks.faults import Faults
from observatory.errors import InputError


def read(path: Path) -> list[tuple[int, dict[str, object]]]:
    return list(rows.rows(path))


@settings(deadline=None)
@given(st.lists(st.tuples(st.text("ab\n\",\t '", min_size=1), st.text("x\n\"\t,")), min_size=1, max_size=5), st.sampled_from(["csv", "tsv"]))
def test_what_csv_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str]], kind: str) -> None:
    path = tmp_path_factory.mktemp("rows") / f"t.{kind}"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=rows.SEPARATORS[kind], lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows([("one", "two"), *cells])
    assert [tuple(record.values()) for _, record in read(path)] == cells


def test_line_numbers_are_where_a_record_begins(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\n\ny"\n\n2,z\n')
    assert read(path) == [(2, {"a": "1", "b": "x\n\ny"}), (6, {"a": "2", "b": "z"})]


def test_one_broken_row_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1\n"x"y,2\n3,4\n5,\xff\n6,7,8\n')
    faults = Faults(strict=False)
    assert list(rows.rows(path, faults)) == [(4, {"a": "3", "b": "4"})]
    assert [f.line for f in faults.found] == [2, 3, 5, 6]


def test_a_quote_that_never_closes_is_a_fault_and_not_the_rest_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\n2,y\n')
    with pytest.raises(InputError, match=r"line 2.*no valid CSV"):
        read(path)


def test_a_column_named_twice(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,a\n1,2\n")
    with pytest.raises(InputError, match="twice"):
        read(path)


def test_parquet_rows_of_any_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1, 2], "t": ["x", None], "b": [b"\xff", b""]}), path)
    assert read(path) == [(1, {"id": 1, "t": "x", "b": b"\xff"}), (2, {"id": 2, "t": None, "b": b""})]
    assert rows.columns(path) == {"id", "t", "b"}
    path.write_bytes(path.read_bytes()[:40])
    assert rows.columns(path) == frozenset()
    with pytest.raises(InputError, match="Parquet"):
        read(path)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.tsv", "t.parquet"])
@pytest.mark.parametrize("special", ["folder", "fifo", "absent"])
def test_something_else_than_a_file_never_hangs(tmp_path: Path, name: str, special: str) -> None:
    path = tmp_path / name
    {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "absent": lambda: None}[special]()
    assert rows.columns(path) == frozenset()
    with pytest.raises(InputError, match=name):
        read(path)


def test_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for raw in (b"\xef\xbb\xbf\r\n \n\na,b\r\n1,2\n", gzip.compress(b"a,b\n"), b"a,b"):
        path.write_bytes(raw)
        assert lines.first_line(path) == "a,b"
    for raw in (b"", b"\xff\n", b"\n\n", b"x" * (lines.MAX_PEEK_BYTES + 1), gzip.compress(b"a,b\n")[:12]):
        path.write_bytes(raw)
        assert lines.first_line(path) == ""


def test_other_names_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text("a")
    assert rows.kind_of(tmp_path / "t.xml") is None and rows.kind_of(tmp_path / "T.JSONL.gz") == "jsonl"
    with pytest.raises(InputError, match=r"\.parquet"):
        read(tmp_path / "t.xml")
