"""NevIR pairs, triplets and polarity sets: one decision a query, dependent queries in one cluster, no answer as a negative."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory import benchmarks
from observatory.benchmarks import FORMATS
from observatory.benchmarks.faults import Faults
from observatory.errors import InputError
from observatory.records import Benchmark, DesignatedNegative
from observatory.runs import Plan, prepare

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [{"id": f"p{n}", "q1": f"who did {n}?", "q2": f"who did not {n}?", "doc1": f"it was, \"{n}\"", "doc2": f"it was not {n}"} for n in range(3)]
TRIPLETS = [{"id": f"t{n}", "anchor": f"a {n}", "entailment": f"e {n}", "negative": f"n {n}"} for n in range(3)]
FIELDS = ("query_positive", "query_negative", "doc_positive", "doc_negative", "paraphrase_positive", "paraphrase_negative")


def table(path: Path, records: Sequence[dict[str, Any]], change: Callable[[bytes], bytes] = lambda raw: raw) -> Path:
    """The records as the file's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(list(records)), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    else:
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(records[0]), delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
    path.write_bytes(change(path.read_bytes()))
    return path


def triplet(n: int, **more: Any) -> dict[str, Any]:
    return {"id": f"x-{n}", "kind": "antonym"} | {field: f"{field} {n}" for field in FIELDS} | more


def polarity(path: Path, en: list[Any], tr: list[Any] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"en": en} | ({"tr": tr} if tr is not None else {})), encoding="utf-8")
    return path


def decisions(b: Benchmark) -> list[tuple[str, str, str, list[str]]]:
    """(query, reference text, designated text, further positives' texts)."""
    text = {i.id: i.text for i in b.items}
    return [
        (q.text, text[q.positives[0].item_id], text[q.designated_negatives[0].item_id], [text[p.item_id] for p in q.positives[1:]])
        for q in b.queries
    ]


def clusters(path: Path, split: str | None = None) -> tuple[str, ...]:
    return prepare(Plan(str(path), "bm25:okapi", ("structured_perturbation",), split=split), benchmarks.read(path, split=split)).clusters


# -- what is read ----------------------------------------------------------------------------------------------------


SPELLINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda raw: raw, "crlf": lambda raw: raw.replace(b"\n", b"\r\n"), "bom": lambda raw: b"\xef\xbb\xbf" + raw, "gz": gzip.compress,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv"])
def test_nevir_in_every_table_format(tmp_path: Path, kind: str, spelling: str) -> None:
    read = benchmarks.read(table(tmp_path / f"nevir.{kind}", PAIRS, SPELLINGS[spelling]))
    assert (read.format, read.name, len(read.items)) == ("nevir", "nevir", 6)
    assert decisions(read) == [d for p in PAIRS for d in ((p["q1"], p["doc1"], p["doc2"], []), (p["q2"], p["doc2"], p["doc1"], []))]
    assert read == benchmarks.read(table(tmp_path / "again" / "nevir.jsonl", PAIRS))


@pytest.mark.parametrize("wanted", ["entailment", "positive"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet"])
def test_triplets_in_every_table_format(tmp_path: Path, kind: str, wanted: str) -> None:
    records = [{wanted if key == "entailment" else key: value for key, value in t.items()} for t in TRIPLETS]
    read = benchmarks.read(table(tmp_path / f"t.{kind}", records))
    assert (read.format, [q.id for q in read.queries]) == ("triplets", ["t0", "t1", "t2"])
    assert decisions(read) == [(t["anchor"], t["entailment"], t["negative"], []) for t in TRIPLETS]


def test_parquet_ids_that_are_numbers_stand_for_their_digits_and_further_columns_are_hashed(tmp_path: Path) -> None:
    records = [t | {"id": n, "raw": bytes([n, 255])} for n, t in enumerate(TRIPLETS)]
    read = benchmarks.read(table(tmp_path / "t.parquet", records))
    assert [q.id for q in read.queries] == ["0", "1", "2"]
    records[2]["raw"] = b""
    assert benchmarks.read(table(tmp_path / "u.parquet", records)).corpus_hash != read.corpus_hash


def test_rows_without_ids_are_named_by_their_line(tmp_path: Path) -> None:
    bare = [{k: v for k, v in t.items() if k != "id"} for t in TRIPLETS]
    assert [q.id for q in benchmarks.read(table(tmp_path / "t.csv", bare)).queries] == ["triplet-2", "triplet-3", "triplet-4"]


def test_nevir_sample_is_read_whole(shared_data: Path) -> None:
    path = shared_data / "nevir-100" / "test.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    read = benchmarks.read(path)
    assert len(rows) == 100
    assert decisions(read) == [d for r in rows for d in ((r["q1"], r["doc1"], r["doc2"], []), (r["q2"], r["doc2"], r["doc1"], []))]
    assert [q.id for q in read.queries[:2]] == [f"{rows[0]['id']}:q1", f"{rows[0]['id']}:q2"]
    assert len(set(clusters(path))) == len({r["doc1"] for r in rows}) == 96


def test_the_six_splits_of_the_shipped_polarity_set() -> None:
    folder = ROOT / "data" / "benchmarks" / "polarity"
    data = json.loads((folder / "triplets.json").read_text(encoding="utf-8"))
    hashes = set()
    for language in ("en", "tr"):
        for condition, right, wrong in (("same_wording", "doc", "doc"), ("different_wording", "paraphrase", "doc"), ("control", "paraphrase", "paraphrase")):
            read = benchmarks.read(folder, split=f"{language}/{condition}")
            also = [["doc_positive"], ["doc_negative"]] if condition == "different_wording" else [[], []]
            assert decisions(read) == [
                (t[f"query_{a}"], t[f"{right}_{a}"], t[f"{wrong}_{b}"], [t[field] for field in also[n]])
                for t in data[language] for n, (a, b) in enumerate((("positive", "negative"), ("negative", "positive")))
            ]
            assert {q.designated_negatives[0].relation for q in read.queries} == {"explicit_marker", "antonym", "state_change"}
            hashes.add(read.corpus_hash)
    assert len(hashes) == 6, "other items, another hash"
    assert benchmarks.read(folder) == benchmarks.read(folder, split="en/same_wording")
    assert FORMATS.get("polarity").splits(folder)[0] == "en/same_wording"


def test_polarity_without_kind_and_id_and_as_a_lone_file(tmp_path: Path) -> None:
    bare = [{k: v for k, v in triplet(n).items() if k not in ("id", "kind")} for n in range(2)]
    read = benchmarks.read(polarity(tmp_path / "mine.json", bare), split="en/control")
    assert (read.name, [q.id for q in read.queries][:2]) == ("mine/en/control", ["en-001:positive", "en-001:negative"])
    (tmp_path / "z" / "set").mkdir(parents=True)
    (tmp_path / "z" / "set" / "triplets.json.gz").write_bytes(gzip.compress((tmp_path / "mine.json").read_bytes()))
    assert benchmarks.read(tmp_path / "z" / "set").name == "set/en/same_wording"


def test_an_unknown_split_lists_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'fr/control'.*en/same_wording, en/different_wording, en/control"):
        benchmarks.read(polarity(tmp_path / "p.json", [triplet(1)]), split="fr/control")
    with pytest.raises(InputError, match="split"):
        benchmarks.read(table(tmp_path / "t.jsonl", TRIPLETS), split="test")


# -- clusters, ids, positives ----------------------------------------------------------------------------------------


def test_the_two_queries_of_a_pair_are_one_cluster(tmp_path: Path) -> None:
    found = clusters(table(tmp_path / "n.jsonl", PAIRS))
    assert found[::2] == found[1::2] and len(set(found)) == 3


@pytest.mark.parametrize("condition", ["same_wording", "different_wording", "control"])
def test_the_two_directions_of_a_triplet_are_one_cluster(tmp_path: Path, condition: str) -> None:
    found = clusters(polarity(tmp_path / "p.json", [triplet(n) for n in range(3)]), f"en/{condition}")
    assert found[::2] == found[1::2] and len(set(found)) == 3


def test_rows_of_one_anchor_are_one_cluster_and_share_their_positives(tmp_path: Path) -> None:
    rows = [TRIPLETS[0], TRIPLETS[1], TRIPLETS[0] | {"id": "more", "entailment": "e 9", "negative": "n 9"}]
    path = table(tmp_path / "t.jsonl", rows)
    first, _, last = decisions(benchmarks.read(path))
    assert first == ("a 0", "e 0", "n 0", ["e 9"]) and last == ("a 0", "e 9", "n 9", ["e 0"])
    a, b, c = clusters(path)
    assert a == c != b


def test_a_text_may_be_right_in_one_row_and_wrong_in_another(tmp_path: Path) -> None:
    rows = [TRIPLETS[0], TRIPLETS[1] | {"entailment": "n 0", "negative": "e 0"}]
    read = benchmarks.read(table(tmp_path / "t.jsonl", rows))
    assert [i.id for i in read.items] == ["t0:right", "t0:wrong"]
    assert decisions(read)[1] == ("a 1", "n 0", "e 0", [])
    assert read.queries[1].designated_negatives == (DesignatedNegative("t0:right", "structured_perturbation", "negation"),)


def test_ids_made_from_hostile_ones_never_collide(tmp_path: Path) -> None:
    names = ["a", "a:q1", "a:q2", "a:right", "a:q1:right", ":q1", "a:q1:q1"]
    read = benchmarks.read(table(tmp_path / "n.jsonl", [PAIRS[0] | {key: f"{key} {n}" for key in ("q1", "q2", "doc1", "doc2")} | {"id": n} for n in names]))
    assert len({i.id for i in read.items}) == len(read.items) == len({q.id for q in read.queries}) == 2 * len(names)
    assert len(decisions(read)) == 2 * len(names)


# -- faults ----------------------------------------------------------------------------------------------------------


BROKEN: dict[str, tuple[str, list[Any], tuple[str, ...]]] = {
    "nevir id twice": ("n.jsonl", [PAIRS[0], PAIRS[1] | {"id": "p0"}], ("line 2, field 'id'", "'p0'")),
    "nevir empty text": ("n.jsonl", [PAIRS[0], PAIRS[1] | {"doc2": " "}], ("line 2, field 'doc2'",)),
    "nevir number": ("n.jsonl", [PAIRS[0], PAIRS[1] | {"q1": 5}], ("line 2, field 'q1'", "5")),
    "nevir equal documents": ("n.jsonl", [PAIRS[0], PAIRS[1] | {"doc1": "x", "doc2": "x"}], ("line 2", "same", "'x'")),
    "nevir equal queries": ("n.jsonl", [PAIRS[0], PAIRS[1] | {"q1": "x", "q2": "x"}], ("line 2", "also a positive")),
    "nevir id of another type": ("n.jsonl", [PAIRS[0] | {"id": True}], ("line 1, field 'id'",)),
    "triplet id twice": ("t.jsonl", [TRIPLETS[0], TRIPLETS[1] | {"id": "t0"}], ("line 2, field 'id'", "'t0'")),
    "triplet wrong for its own anchor": ("t.jsonl", [TRIPLETS[0], TRIPLETS[1] | {"anchor": "a 0", "negative": "e 0"}], ("line 2", "also a positive")),
    "polarity no object": ("p.json", [triplet(0), 5], ("en[1]", "5")),
    "polarity empty text": ("p.json", [triplet(0), triplet(1, doc_negative="")], ("en[1].doc_negative",)),
    "polarity missing text": ("p.json", [{"id": "x"}], ("en[0].query_positive", "missing")),
    "polarity id twice": ("p.json", [triplet(0), triplet(1, id="x-0")], ("en[1].id", "'x-0'")),
    "polarity kind": ("p.json", [triplet(0, kind=3)], ("en[0].kind", "3")),
    "polarity equal documents": ("p.json", [triplet(0, doc_positive="x", doc_negative="x")], ("en[0]", "'x'")),
}


@pytest.mark.parametrize("name", BROKEN)
def test_faults_say_where(tmp_path: Path, name: str) -> None:
    file, records, fragments = BROKEN[name]
    path = polarity(tmp_path / file, records) if file == "p.json" else table(tmp_path / file, records)
    with pytest.raises(InputError) as caught:
        benchmarks.read(path)
    assert all(f in str(caught.value) for f in (file, *fragments)), str(caught.value)


@pytest.mark.parametrize("name", BROKEN)
def test_a_fault_hides_none_of_the_others(tmp_path: Path, name: str) -> None:
    """Beside each broken record two more: both of its empty fields are listed, and the duplicate in the last."""
    file, records, fragments = BROKEN[name]
    faults = Faults(strict=False)
    if file == "p.json":
        path = polarity(tmp_path / file, [*records, triplet(7, doc_positive="", paraphrase_negative=None)], [triplet(0, query_positive=1)])
        expected: tuple[str, ...] = (f"en[{len(records)}].doc_positive", f"en[{len(records)}].paraphrase_negative", "tr[0].query_positive")
        FORMATS.get("polarity").read(path, None, faults)
    else:
        first = PAIRS[2] if file == "n.jsonl" else TRIPLETS[2]
        empty = ("doc1", "q2") if file == "n.jsonl" else ("anchor", "negative")
        path = table(tmp_path / file, [*records, first | dict.fromkeys(empty, ""), first | {"id": "z"}, first | {"id": "z"}])
        expected = (*(f"line {len(records) + 1}, field '{key}'" for key in empty), f"line {len(records) + 3}, field 'id'")
        FORMATS.get("nevir" if file == "n.jsonl" else "triplets").read(path, None, faults)
    sentences = "\n".join(str(f) for f in faults.found)
    assert all(f in sentences for f in (*fragments, *expected)), sentences


@pytest.mark.parametrize("raw", ["[]", "{}", '{"en": {}}', '{"en": []}', '{"en": [1], "en": []}', "{", '{"en": NaN}'])
def test_what_is_no_polarity_set(tmp_path: Path, raw: str) -> None:
    (tmp_path / "triplets.json").write_text(raw)
    with pytest.raises(InputError, match=r"triplets\.json"):
        benchmarks.read(tmp_path)
