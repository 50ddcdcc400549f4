"""Generated queries: the same bytes for the same seed, distinctive terms, quotas, and a folder that validates."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory import benchmarks
from observatory.benchmarks.beir import read_items
from observatory.benchmarks.validate import validate
from observatory.cli import main
from observatory.errors import InputError
from observatory.generate import TEMPLATES, Options, generate, quotas, record
from observatory.records import Item
from tests.conftest import write_jsonl

ROOT = Path(__file__).resolve().parents[2]
WORDS = "anchor barrel copper dune ember ferry gravel harbour island jetty kettle lantern".split()
ITEMS = [Item(f"i{n}", f"{a} and {b} lie on {b}", domain=None, source_text=f"s{n % 3}") for n, (a, b) in enumerate(pairwise(WORDS))]
EVERYTHING = Options(max_share=1.0)
Capture = pytest.CaptureFixture[str]


def command(*words: object, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-m", "observatory", "generate-queries", *map(str, words)], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=120
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    write_jsonl(path, [{"_id": i.id, "title": "", "text": i.text} for i in ITEMS])
    return path


# -- quotas ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(1, 500), min_size=1, max_size=20), st.data())
def test_quotas_sum_to_the_size_and_are_within_one_of_the_exact_share(sizes: dict[str, int], data: Any) -> None:
    total = sum(sizes.values())
    size = data.draw(st.integers(0, total))
    found = quotas(sizes, size)
    assert sum(found.values()) == size and found.keys() == sizes.keys()
    for name, members in sizes.items():
        assert abs(found[name] - Fraction(size * members, total)) < 1 and 0 <= found[name] <= members


def test_quotas_by_hand() -> None:
    """10 of 6 + 3 + 1 = all; 5 of them are 3, 1.5 and 0.5: the remainders tie and the names decide."""
    assert quotas({"a": 6, "b": 3, "c": 1}, 5) == {"a": 3, "b": 2, "c": 0}
    assert quotas({"z": 1, "y": 1, "x": 1}, 1) == {"z": 0, "y": 0, "x": 1}


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 5))
def test_a_sample_keeps_each_stratums_share(size: int, seed: int) -> None:
    full = generate(ITEMS, EVERYTHING).queries
    bench = generate(ITEMS, Options(size=size, seed=seed, max_share=1.0))
    counts, all_ = Counter(q.stratum for q in bench.queries), Counter(q.stratum for q in full)
    assert len(bench.queries) == min(size, len(full))
    for name, members in all_.items():
        assert abs(counts[name] - Fraction(min(size, len(full)) * members, len(full))) < 1


# -- terms -----------------------------------------------------------------------------------------------------------


def test_rarest_terms_first_and_none_twice() -> None:
    """By hand: anchor and lantern stand in one item, every other word in two; lie, on, and: 'lie' is in all of them."""
    bench = generate(ITEMS, Options(terms=2, max_share=0.2))
    assert len({q.term for q in bench.queries}) == len(bench.queries) == len({q.text for q in bench.queries})
    first = {q.item_id: q for q in reversed(bench.queries)}
    assert first["i0"].term == "anchor" and first["i0"].document_frequency == 1
    assert bench.n_ambiguous == sum(q.document_frequency == 2 for q in bench.queries) == len(bench.queries) - 2
    assert {q.term for q in bench.queries} == set(WORDS), "and nothing that every item says"
    assert bench.n_repeated == 2 * len(ITEMS) - len(WORDS)
    for q in bench.queries:
        assert q.term in next(i.text for i in ITEMS if i.id == q.item_id) and q.text in {t.format(term=q.term) for t in TEMPLATES}


def test_a_term_of_two_items_goes_to_the_one_it_weighs_more_in() -> None:
    items = [Item("a", "copper gravel ember"), Item("b", "copper copper copper dune"), Item("c", "lantern"), Item("d", "kettle")]
    owner = {q.term: q.item_id for q in generate(items, Options(max_share=0.5)).queries}
    assert owner["copper"] == "b"


def test_equal_items_ask_once_and_are_counted_as_ambiguous() -> None:
    bench = generate([Item("b", "copper dune"), Item("a", "copper dune")], EVERYTHING)
    assert [(q.item_id, q.document_frequency) for q in bench.queries] == [("a", 2), ("a", 2)]
    assert (bench.n_candidates, bench.n_ambiguous, bench.n_repeated) == (2, 2, 2)


def test_one_item() -> None:
    bench = generate([Item("only", "copper lantern by the kettle")], Options())
    assert {q.term for q in bench.queries} == {"copper", "lantern", "kettle"} and {q.stratum for q in bench.queries} == {"everything"}


@pytest.mark.parametrize("texts", [[], ["the of and"], ["", ""], ["12 345"], ["a same b", "a same b"]])
def test_a_corpus_without_distinctive_terms(texts: list[str]) -> None:
    with pytest.raises(InputError, match=r"no distinctive term.*max-share"):
        generate([Item(str(n), t) for n, t in enumerate(texts)], Options())


@settings(deadline=None)
@given(st.permutations(ITEMS), st.integers(-3, 3))
def test_the_order_of_the_items_decides_the_order_of_the_queries_and_nothing_else(items: list[Item], seed: int) -> None:
    options = Options(size=9, seed=seed, max_share=1.0)
    one, other = generate(ITEMS, options), generate(items, options)
    assert set(one.queries) == set(other.queries)


def test_another_seed_makes_another_bench() -> None:
    assert len({generate(ITEMS, Options(size=9, seed=s, max_share=1.0)).sha256 for s in range(5)}) == 5


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_same_bytes_whatever_the_hash_seed(corpus: Path, tmp_path: Path) -> None:
    found = []
    for n in ("1", "2"):
        done = command("--corpus", corpus, "--out", tmp_path / n / "bench", "--size", 7, "--max-share", 1, "--seed", 4, "--json", seed=n)
        assert done.returncode == 0, done.stderr
        found.append({p.name: p.read_bytes() for p in sorted((tmp_path / n / "bench").iterdir())})
    assert found[0] == found[1] and set(found[0]) == {"items.jsonl", "queries.jsonl", "generated.json"}


def test_hashes_are_those_of_the_written_files(corpus: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "bench"
    assert main(["generate-queries", "--corpus", str(corpus), "--out", str(out), "--max-share", "1", "--json"]) == 0
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert summary["sha256"] == hashlib.sha256((out / "queries.jsonl").read_bytes()).hexdigest()
    assert summary["items_sha256"] == hashlib.sha256((out / "items.jsonl").read_bytes()).hexdigest()
    assert {"bench": str(out), **json.loads((out / "generated.json").read_text())} == summary
    assert f"{summary['ambiguous_candidates']} of {summary['candidates']} candidate terms stand in more than one item" in captured.err


def test_the_folder_is_read_and_validates(corpus: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "bench"
    write_jsonl(corpus, [*({"_id": i.id, "text": i.text} for i in ITEMS), {"_id": "empty", "title": "", "text": ""}])
    assert main(["generate-queries", "--corpus", str(corpus), "--out", str(out), "--max-share", "1", "--size", "500"]) == 0
    captured = capsys.readouterr()
    assert "1 items without text are left out" in captured.err and "fewer than the 500 asked for" in captured.err
    read = benchmarks.read(out)
    bench = generate(ITEMS, EVERYTHING)
    assert [q.id for q in read.queries] == [q.id for q in bench.queries] and bench.sha256 in captured.out
    assert [i.text for i in read.items] == [i.text for i in ITEMS]
    assert validate(out).valid and main(["validate", str(out)]) == 0
    assert main(["generate-queries", "--corpus", str(out), "--out", str(tmp_path / "again"), "--max-share", "1", "--quiet"]) == 0
    assert (tmp_path / "again" / "queries.jsonl").read_bytes() == (out / "queries.jsonl").read_bytes(), "from a RELATE folder the same"
    assert record(bench.queries[0])["target_item_id"] == bench.queries[0].item_id


@pytest.mark.parametrize(
    "words",
    [("--terms", "0"), ("--size", "0"), ("--size", "-1"), ("--max-share", "0"), ("--max-share", "1.1"), ("--max-share", "nan"), ("--terms", "x"), ("--seed", "1.5")],
)
def test_options_out_of_range(corpus: Path, tmp_path: Path, capsys: Capture, words: tuple[str, str]) -> None:
    assert main(["generate-queries", "--corpus", str(corpus), "--out", str(tmp_path / "o" / "bench"), *words]) == 2
    assert words[0].strip("-") in capsys.readouterr().err and not (tmp_path / "o").exists()


def test_what_is_there_is_never_touched_and_half_a_folder_never_seen(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    out = tmp_path / "o"
    (out / "bench").mkdir(parents=True)
    words = ["generate-queries", "--corpus", str(corpus), "--max-share", "1", "--out"]
    assert main([*words, str(out / "bench")]) == 2 and "is there already" in capsys.readouterr().err
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert main([*words, str(out / "other")]) == 2 and "No space left" in capsys.readouterr().err
    assert [p.name for p in out.iterdir()] == ["bench"] and not list((out / "bench").iterdir())
    assert main([*words, str(corpus / "under-a-file")]) == 2


@pytest.mark.parametrize("special", ["absent", "fifo", "empty", "folder"])
def test_a_corpus_that_is_none(tmp_path: Path, capsys: Capture, special: str) -> None:
    path = tmp_path / "corpus.jsonl"
    {"absent": lambda: None, "fifo": lambda: os.mkfifo(path), "empty": path.touch, "folder": path.mkdir}[special]()
    assert main(["generate-queries", "--corpus", str(path), "--out", str(tmp_path / "bench")]) == 2
    assert str(path) in capsys.readouterr().err and not (tmp_path / "bench").exists()


def test_five_thousand_abstracts_in_less_than_ten_seconds_of_work(shared_data: Path) -> None:
    items = read_items(shared_data / "scifact" / "corpus.jsonl")
    started = time.process_time()
    bench = generate(items, Options(size=1000))
    assert time.process_time() - started < 10
    assert len(bench.queries) == 1000 and bench.n_candidates > 15_000 and bench.n_ambiguous < bench.n_candidates / 4
