"""STS pairs: quotes and extra columns as they are, scores from 0 to 5, each fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory import benchmarks
from observatory.benchmarks import sts
from observatory.benchmarks.faults import Faults
from observatory.errors import InputError

ROW = "g\tf\ty\t1\t{}\t{}\t{}"


def write(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "sts-x.csv"
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def test_sts_dev_is_read_whole(shared_data: Path) -> None:
    path = shared_data / "stsb-dev" / "sts-dev.csv"
    read = benchmarks.read(path)
    text = {i.id: i.text for i in read.items}
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    assert len(read.pairs) == len(rows) == 1500
    assert [(p.score, text[p.a_id], text[p.b_id]) for p in read.pairs] == [(float(r[4]), r[5], r[6].rstrip("\r")) for r in rows]
    assert sum(len(r) > 7 for r in rows) == 22, "rows with extra columns"
    assert any(t.count('"') == 1 for t in text.values()), "quotes that never close"
    assert (read.format, read.queries, read.licence) == ("sts", (), "see LICENSE.txt")


def test_texts_survive_unchanged_and_equal_ones_are_one_item(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path, ROW.format("5.000", '"a" b', " a ") + "\tmore\tand more", ROW.format("0", '"a" b', "c")))
    assert [i.text for i in read.items] == ['"a" b', " a ", "c"]
    assert [(p.a_id, p.b_id, p.score) for p in read.pairs] == [("s1", "s2", 5.0), ("s1", "s3", 0.0)]


@pytest.mark.parametrize("row", ["a\tb", ROW.format("5.1", "a", "b"), ROW.format("-1", "a", "b"), ROW.format("nan", "a", "b"), ROW.format("x", "a", "b"), ROW.format("1", " ", "b")])
def test_a_row_that_is_no_pair_is_named(tmp_path: Path, row: str) -> None:
    with pytest.raises(InputError, match="line 2"):
        benchmarks.read(write(tmp_path, ROW.format("1", "a", "b"), row))


def test_every_fault(tmp_path: Path) -> None:
    faults = Faults(strict=False)
    sts.read(write(tmp_path, "x", ROW.format("1", "a", "b"), ROW.format("9", "a", "b"), ROW.format("1", "a", "")), None, faults)
    assert [f.line for f in faults.found] == [1, 3, 4]
