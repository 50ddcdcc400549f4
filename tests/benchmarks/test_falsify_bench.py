"""falsify-eval bench JSONL: labels keep their identity, the retrieved order is a run, each fault says where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from observatory import benchmarks
from observatory.benchmarks import falsify_bench
from observatory.benchmarks.faults import Faults
from observatory.errors import InputError
from observatory.records import Positive, Ranked


def write(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "bench.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_bench(tmp_path: Path) -> None:
    rows = [{"retrieved": ["A", "B"], "gold": "B", "rel": 2}, {"retrieved": [], "gold": "C", "id": "x", "query": "why?"}]
    read = benchmarks.read(write(tmp_path, *rows))
    assert (read.format, read.name, read.has_texts) == ("falsify-eval", "bench", False)
    assert [(q.id, q.text, q.positives) for q in read.queries] == [
        ("line-1", "line-1", (Positive("B", 2),)), ("x", "why?", (Positive("C", 3),)),
    ], "rel is 3 where it is left out"
    assert read.runs == {"retrieved": {"line-1": (Ranked("A", -1.0), Ranked("B", -2.0)), "x": ()}}
    assert [i.id for i in read.items] == ["B", "A", "C"]


def test_a_gold_label_of_rel_0_is_kept_and_counted(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path, {"retrieved": ["A"], "gold": "A", "rel": 0}))
    assert read.queries[0].positives == () and any("1 queries have no positive" in w for w in read.warnings)


GOOD = {"retrieved": ["A", "B"], "gold": "A", "rel": 3}
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "number as label": ({"retrieved": ["A", 1]}, "retrieved[1]"), "null as label": ({"retrieved": [None]}, "retrieved[0]"),
    "empty label": ({"retrieved": [""]}, "retrieved[0]"), "label twice": ({"retrieved": ["A", "B", "A"]}, "retrieved[2]"),
    "no list": ({"retrieved": "A"}, "retrieved"), "number as gold": ({"gold": 1}, "gold"), "list as gold": ({"gold": ["A"]}, "gold"),
    "negative rel": ({"rel": -1}, "rel"), "rel as text": ({"rel": "3"}, "rel"), "rel true": ({"rel": True}, "rel"),
    "id twice": ({"id": "first"}, "id"), "number as id": ({"id": 4}, "id"), "number as query": ({"query": 4}, "query"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_faults_say_where(tmp_path: Path, name: str) -> None:
    change, field = BROKEN[name]
    with pytest.raises(InputError) as caught:
        benchmarks.read(write(tmp_path, GOOD | {"id": "first"}, GOOD | change))
    assert (caught.value.line, caught.value.field) == (2, field)


def test_every_fault_of_a_line_is_one(tmp_path: Path) -> None:
    faults = Faults(strict=False)
    falsify_bench.read(write(tmp_path, GOOD, {"retrieved": [1, "A", "A"], "gold": 2, "rel": -1}, {"gold": "A"}), None, faults)
    assert [(f.line, f.field) for f in faults.found] == [(2, "retrieved[0]"), (2, "retrieved[2]"), (2, "rel"), (2, "gold"), (3, "retrieved")]
