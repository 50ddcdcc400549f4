"""observatory validate and observatory benchmarks: every fault of every format, exit 2, fast on junk, JSON that says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from observatory import paths
from observatory.benchmarks.faults import MAX_LISTED
from observatory.benchmarks.validate import validate
from observatory.cli import main
from tests.conftest import item, query, relate_folder

ROOT = Path(__file__).resolve().parents[2]
Capture = pytest.CaptureFixture[str]
NEGATIVE = ("n", "structured_perturbation", "negation")


def report(capsys: Capture, *words: object) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON; the faults on stderr are those of the JSON."""
    code = main(["validate", *map(str, words), "--json"])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    faults = [line.removeprefix("fault: ") for line in captured.err.splitlines() if line.startswith("fault: ")]
    assert faults == document["faults"] and document["valid"] == (code == 0) == (not faults)
    for sentence in faults:
        assert sentence.endswith(".") and "; " in sentence and "\n" not in sentence, sentence
    return code, document


def has(document: dict[str, Any], *fragments: tuple[str, ...]) -> bool:
    """Whether there is one fault for each of ``fragments``, in whatever order, and no other."""
    assert len(document["faults"]) == len(fragments), document["faults"]
    return all(any(all(f in fault for f in wanted) for fault in document["faults"]) for wanted in fragments)


def broken_relate(folder: Path) -> Path:
    items = [item("t", "text"), item("n", "not text"), item("e", " "), item("t", "again"), item("x", "x", domain=5)]  # type: ignore[arg-type]
    queries = [
        query("q1", "ask", "t", {"t": 3, "ghost": 1}, [NEGATIVE, ("gone", "entity_matched", "r")]),
        query("q2", "ask", "nowhere", {"t": 3}),
        query("q3", "ask", "t", {"t": 1001, "n": -1}),
        query("q4", "", "t", {"t": 3}),
        query("q5", "ask", "t", {"t": 3, "n": 2}, [NEGATIVE]),
        {**query("q6", "ask", "t", {}), "positives": [{"item_id": "t", "grade": 3}, {"item_id": "t", "grade": 2}]},
        query("q1", "ask", "t", {"t": 3}),
    ]
    return relate_folder(folder, items, queries, pairs=[{"a_id": "t", "b_id": "void", "relation": "r"}], bm25_scores=[{"query_id": "q9", "item_id": "t"}])


def test_every_fault_of_a_relate_folder(tmp_path: Path, capsys: Capture) -> None:
    code, document = report(capsys, broken_relate(tmp_path / "b"))
    assert code == 2 and document["stopped"] == ""
    assert has(
        document, ("items.jsonl, line 3, field 'text'", "empty"), ("items.jsonl, line 4, field 'id'", "line 1"), ("items.jsonl, line 5, field 'domain'",),
        ("pairs.jsonl, line 1, field 'b_id'", "'void'"), ("line 1, field 'positives[1].item_id'", "'ghost'"),
        ("line 1, field 'hard_negatives[1].item_id'", "'gone'"), ("line 2, field 'target_item_id'", "'nowhere'"),
        ("line 3, field 'positives[0].grade'", "1001"), ("line 3, field 'positives[1].grade'", "-1"), ("line 4, field 'text'",),
        ("line 5, field 'hard_negatives[0].item_id'", "also a positive"), ("line 6, field 'positives[1].grade'", "grade 3"),
        ("line 7, field 'id'", "'q1'"), ("bm25_scores.jsonl, line 1, field 'query_id'", "'q9'"),
    )


def test_every_fault_of_every_beir_split(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "t"}\n{"_id": "1", "text": "u"}\n{"_id": 2}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "a", "text": ""}\n{"_id": "b", "text": "q"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("b\t1\t1\nb\t1\t2\nb\tghost\t1\nb\t1\n")
    (tmp_path / "qrels" / "train.tsv").write_text("ghost\t1\t1\nb\t1\tx\n")
    code, document = report(capsys, tmp_path)
    assert code == 2
    assert has(
        document, ("corpus.jsonl, line 2", "'1'"), ("corpus.jsonl, line 3, field '_id'",), ("queries.jsonl, line 1, field 'text'",),
        ("test.tsv, line 2, field 'score'",), ("test.tsv, line 3, field 'corpus-id'",), ("test.tsv, line 4", "2 tab"),
        ("train.tsv, line 1, field 'query-id'",), ("train.tsv, line 2, field 'score'",),
    )


def polarity(more: str) -> bytes:
    texts = {k: k for k in ("query_positive", "query_negative", "doc_positive", "doc_negative", "paraphrase_positive", "paraphrase_negative")}
    return json.dumps({"en": [texts | {"id": "x"}, texts | {"id": "x"}, texts | {"doc_positive": more}], "tr": [5]}).encode()


FILES: dict[str, tuple[str, bytes, int]] = {
    "nevir": ("a.jsonl", b'{"q1":"a","q2":"b","doc1":"c","doc2":""}\n{"q1":1}\nx\n', 6),
    "nevir csv": ("a.csv", b"q1,q2,doc1,doc2\na,b,c,c\na,b\n,b,c,\n", 4),
    "triplets": ("a.tsv", b"anchor\tpositive\tnegative\na\t\t\nb\tc\tc\nd\n", 4),
    "falsify-eval": ("a.jsonl", b'{"retrieved":[1],"gold":""}\n{"retrieved":["A"],"gold":"A","rel":-1}\n', 3),
    "sts": ("a.csv", b"\t\t\t\t5\ta\tb\n\t\t\t\t6\ta\tb\nx\n", 2),
    "trec": ("qrels", b"1 0 a 1\n1 0 a\n1 0 a 2\n1 0 b x\n", 3),
    "polarity": ("a.json", polarity(""), 3),
}


@pytest.mark.parametrize("name", FILES)
def test_every_fault_of_every_other_format(tmp_path: Path, capsys: Capture, name: str) -> None:
    file, raw, count = FILES[name]
    (tmp_path / file).write_bytes(raw)
    code, document = report(capsys, tmp_path / file)
    assert (code, len(document["faults"])) == (2, count), document["faults"]


def test_the_list_ends_at_the_cap_and_says_so(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"q1":"a","q2":"b","doc1":"c","doc2":""}\n' * 1000)
    code, document = report(capsys, path)
    assert code == 2 and len(document["faults"]) == MAX_LISTED and "reading stopped after 200" in document["stopped"]
    assert main(["validate", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "broken: 200 fault(s), and perhaps more\n" and captured.err.splitlines()[-1].startswith("reading stopped after 200")


PLACES: dict[str, tuple[Any, ...]] = {
    "absent": (lambda p: None, "does not exist"), "empty folder": (lambda p: p.mkdir(), "no benchmark"),
    "pipe": (os.mkfifo, "no benchmark"), "link to nowhere": (lambda p: p.symlink_to("void"), "does not exist"),
    "empty file": (lambda p: p.touch(), "no benchmark"),
    "folder as items.jsonl": (lambda p: (p / "items.jsonl").mkdir(parents=True), "items.jsonl: is not a file", "has no queries.jsonl"),
    "folder as triplets.json": (lambda p: (p / "triplets.json").mkdir(parents=True), "is not a file"),
    "folder as qrels": (lambda p: (p / "qrels.txt").mkdir(parents=True), "no benchmark"),
    "pipe as corpus.jsonl": (lambda p: (p.mkdir(), os.mkfifo(p / "corpus.jsonl")), "corpus.jsonl: is not a file", "has no queries.jsonl", "has no qrels"),
}


@pytest.mark.parametrize("name", PLACES)
def test_what_cannot_be_a_benchmark(tmp_path: Path, capsys: Capture, name: str) -> None:
    make, *problems = PLACES[name]
    make(tmp_path / "there")
    code, document = report(capsys, tmp_path / "there")
    assert code == 2 and has(document, *((str(tmp_path / "there"), problem) for problem in problems))


@pytest.mark.parametrize("format", ["polarity", "nevir", "triplets", "falsify-eval", "sts", "trec", "relate", "beir"])
def test_a_pipe_that_is_called_a_benchmark_never_hangs(tmp_path: Path, capsys: Capture, format: str) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    code, document = report(capsys, tmp_path / "a.jsonl", "--format", format)
    assert code == 2 and len(document["faults"]) == 1


def test_a_file_without_rights(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.jsonl").touch(mode=0)
    if os.access(tmp_path / "a.jsonl", os.R_OK):
        pytest.skip("root reads everything")
    for words in ((), ("--format", "nevir")):
        code, document = report(capsys, tmp_path / "a.jsonl", *words)
        assert code == 2 and has(document, ("a.jsonl", "rights"))


def test_a_folder_the_system_refuses(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "iterdir", refuse)
    code, document = report(capsys, tmp_path)
    assert code == 2 and has(document, (str(tmp_path), "Permission denied", "rights"))


def test_unknown_format_and_split(tmp_path: Path, capsys: Capture, small: Path) -> None:
    code, document = report(capsys, small, "--format", "xml")
    assert code == 2 and "falsify-eval" in document["faults"][0]
    assert report(capsys, small, "--split", "test")[0] == 2
    assert report(capsys, ROOT / "data" / "benchmarks" / "polarity", "--split", "fr/control")[0] == 2


JUNK: dict[str, tuple[str, bytes]] = {
    "random lines": ("a.jsonl", bytes(range(256)) * 4096), "zeros": ("items.jsonl", b"\0" * 2**20), "empty objects": ("items.jsonl", b"{}\n" * 350_000),
    "empty lines": ("items.jsonl", b"\n" * 2**20), "brackets": ("triplets.json", b"[" * 2**20), "short JSON lines": ("triplets.json", b"[1],\n" * 200_000),
    "one long line": ("qrels.txt", b"a " * 2**19), "quotes": ("a.csv", b'q1,q2,doc1,doc2\n"",,,\n' * 50_000), "binary": ("a.parquet", bytes(range(256)) * 4096),
}


@pytest.mark.parametrize("name", JUNK)
def test_junk_of_200_mb_is_refused_soon_and_in_little_memory(tmp_path: Path, name: str) -> None:
    """In a process of its own. VmHWM, not ru_maxrss: the latter carries the size of whoever started the process. 20 s is for busy machines."""
    file, raw = JUNK[name]
    with (tmp_path / file).open("wb") as stream:
        for _ in range(200 * 2**20 // len(raw) + 1):
            stream.write(raw)
    (tmp_path / "queries.jsonl").write_bytes(b"")
    target = tmp_path / file if file.startswith("a.") else tmp_path
    code = (
        "import sys; from observatory.cli import main; code = main(['validate', sys.argv[1], '--json']);"
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(int(peak.split()[1]) // 1024, file=sys.stderr); sys.exit(code)"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert time.monotonic() - started < 20
    (tmp_path / file).unlink()
    assert done.returncode == 2 and json.loads(done.stdout)["faults"], done.stderr
    assert int(done.stderr.splitlines()[-1]) < 500


def test_relate_is_valid_with_warnings(shared_data: Path, capsys: Capture) -> None:
    code, document = report(capsys, shared_data / "relate-0.1.0")
    assert code == 0 and any("4 queries repeat a positive" in w for w in document["warnings"])
    assert (document["facts"]["items"], document["facts"]["licence"]) == ("1,173", "Apache-2.0 (LICENSE)")


@pytest.mark.parametrize("name", ["fieldnotes", "polarity"])
def test_ours_are_valid(name: str, capsys: Capture) -> None:
    code, document = report(capsys, ROOT / "data" / "benchmarks" / name)
    assert code == 0 and document["facts"]["corpus_hash"] and "CC-BY-4.0" in document["facts"]["licence"]
    assert main(["validate", str(ROOT / "data" / "benchmarks" / name)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "valid"


def test_polarity_report_has_the_overlap_of_each_condition_and_the_rules_not_met(tmp_path: Path, capsys: Capture) -> None:
    facts = report(capsys, ROOT / "data" / "benchmarks" / "polarity")[1]["facts"]
    assert sum(name.startswith("words of the query found") for name in facts) == 6 and "tr/control" in facts["other splits, read as well"]
    texts = {f"{kind}_{side}": f"the {kind} is {side}" for kind in ("query", "doc", "paraphrase") for side in ("positive", "negative")}
    (tmp_path / "p.json").write_text(json.dumps({"en": [texts]}))
    code, document = report(capsys, tmp_path / "p.json")
    assert code == 0 and any("polarity rule 'trap' is not met" in w for w in document["warnings"])
    assert not any("'kind_count'" in w or "'mirror'" in w for w in document["warnings"]), "another set's make-up is its own"


@pytest.mark.parametrize(
    ("path", "format"),
    [("scifact", "beir"), ("nevir-100/test.jsonl", "nevir"), ("stsb-dev/sts-dev.csv", "sts"), ("trec_eval", "trec")],
)
def test_real_data_is_valid(shared_data: Path, path: str, format: str) -> None:
    found = validate(shared_data / path)
    assert found.valid and found.benchmark is not None and found.benchmark.format == format


def test_warnings_of_wording(tmp_path: Path) -> None:
    items = [item("t", "same"), item("n", "same"), item("o", "other")]
    queries = [query("1", "other", "o", {"t": 3}, [NEGATIVE]), query("2", "other", "t", {"t": 3})]
    found = validate(relate_folder(tmp_path / "b", items, queries))
    for sentence in (
        "1 items repeat another item's text", "1 queries have a designated negative with the text", "2 queries are word for word an item",
        "1 queries repeat another query's text", "1 queries have a target item that is none of their positives", "1 queries list no designated",
        "2 target items only",
    ):
        assert any(w.startswith(sentence) for w in found.warnings), sentence


# -- observatory benchmarks ------------------------------------------------------------------------------------------


def test_benchmarks_lists_what_ships(capsys: Capture) -> None:
    assert main(["benchmarks", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {r["name"]: r for r in document["benchmarks"]}
    assert document["broken"] == [] and len(found) == 7
    notes = found["Fieldnotes 0.1.0"]
    assert notes["items"] >= 1500 and notes["queries"] >= 400 and notes["bytes"] > 10**6
    assert notes["corpus_hash"] == (ROOT / "data" / "benchmarks" / "fieldnotes" / "corpus_hash.txt").read_text().strip()
    assert all(r["licence"].startswith("CC-BY-4.0") and (ROOT / r["path"]).is_dir() for r in found.values())
    assert found["polarity/tr/control"]["split"] == "tr/control"
    assert main(["benchmarks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9 and all(notes[key] in lines[2] for key in ("format", "corpus_hash", "licence", "path")) and f"{notes['items']:,}" in lines[2]


def test_benchmarks_with_a_broken_one_lists_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    assert main(["benchmarks", "--json"]) == 0 and json.loads(capsys.readouterr().out) == {"benchmarks": [], "broken": []}
    relate_folder(tmp_path / "data" / "benchmarks" / "good", [item("t", "x")], [query("q", "x", "t", {"t": 3})])
    broken_relate(tmp_path / "data" / "benchmarks" / "bad")
    assert main(["benchmarks", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [r["name"] for r in document["benchmarks"]] == ["good"] and len(document["broken"]) == 1


@pytest.mark.parametrize("broken", ["a folder", "a pipe", "damaged gzip", "too long a line", "absent"])
@pytest.mark.parametrize("name", ["items.jsonl", "queries.jsonl", "corpus.jsonl"])
def test_a_file_that_cannot_be_read_hides_no_fault_of_the_others(tmp_path: Path, capsys: Capture, name: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what refers to it is no fault: nobody knows what it holds."""
    monkeypatch.setattr("observatory.benchmarks.lines.MAX_LINE_BYTES", 200)
    folder = tmp_path / "set"
    if name == "corpus.jsonl":
        (folder / "qrels").mkdir(parents=True)
        (folder / "corpus.jsonl").touch()
        (folder / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n{cut', encoding="utf-8")
        (folder / "qrels" / "test.tsv").write_text("q\ti\t1\nq\ti\tmany\n", encoding="utf-8")
        format, others = "beir", [("queries.jsonl", "line 2"), ("test.tsv", "line 2")]
    else:
        relate_folder(folder, [item("i", "An item.")], [query("q", "?", None, {"i": 3}), query("q", "Twice?", None, {"i": 3})])
        (folder / "items.jsonl").open("a").write("[]\n")
        (folder / "pairs.jsonl").write_text("nonsense\n", encoding="utf-8")
        (folder / "bm25_scores.jsonl").write_text('{"query_id": "q", "item_id": "i"}\nnonsense\n', encoding="utf-8")
        format, others = "relate", [("pairs.jsonl", "line 1"), ("bm25_scores.jsonl", "line 2")]
        others.append(("queries.jsonl", "line 2") if name == "items.jsonl" else ("items.jsonl", "line 2"))
    path = folder / name
    path.unlink()
    {
        "a folder": path.mkdir, "a pipe": lambda: os.mkfifo(path), "damaged gzip": lambda: path.write_bytes(b"\x1f\x8bno gzip"),
        "too long a line": lambda: path.write_text('{"id": "' + "x" * 300), "absent": lambda: None,
    }[broken]()
    code, document = report(capsys, folder, "--format", format)
    assert code == 2 and has(document, (f"no {name}",) if broken == "absent" else (name,), *others)
