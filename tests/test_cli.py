"""The command line: JSON shapes, exit codes, one sentence for each fault, and what a process leaves behind."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from observatory import exports
from observatory.artifacts import is_artifact
from observatory.cli import build_parser, main

ROOT = Path(__file__).resolve().parent.parent
RULES = ("random", "in_model[0:3]", "bm25", "structured_perturbation", "entity_matched")  # those of the artifact fixture
Capture = pytest.CaptureFixture[str]


def process(*words: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, buffered as on a user's machine (PYTHONUNBUFFERED hides late write errors)."""
    command = [sys.executable, "-m", "observatory", *words]
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=120, env=buffered | environment, cwd=ROOT)


def bench(folder: Path, items: Sequence[dict[str, Any]], queries: Sequence[dict[str, Any]], **files: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    for name, records in {"items": items, "queries": queries, **files}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return folder


def tiny_bench(folder: Path, prefix: str = "", text: str = "gate copy") -> Path:
    """Four items, two queries; every id starts with ``prefix`` and every text with ``text``."""
    items = [{"id": f"{prefix}i{n}", "text": f"{text} {n} {'x' * n}"} for n in range(4)]
    queries = [
        {"id": f"{prefix}q{n}", "text": f"{text} {n}", "positives": [{"item_id": f"{prefix}i{n}", "grade": 3}]} for n in range(2)
    ]
    return bench(folder, items, queries)


def measure(benchmark: Path, out: Path, rules: str = "random,bm25") -> Path:
    """One BM25 artifact through the command; its path as ``run --json`` tells it."""
    before = set(out.iterdir()) if out.is_dir() else set()
    assert main(["run", "--benchmark", str(benchmark), "--scorer", "bm25:okapi", "--rules", rules, "--out", str(out), "--quiet"]) == 0
    (made,) = set(out.iterdir()) - before
    return made


# -- JSON shapes -----------------------------------------------------------------------------------------------------


def test_run_json_is_one_document_alone_on_stdout(small: Path, tmp_path: Path, capsys: Capture) -> None:
    code = main(["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", ",".join(RULES), "--out", str(tmp_path / "o"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert is_artifact(Path(document["artifact"]))
    assert Path(document["artifact"]).name == document["id"]
    assert document["kind"] == "measurement" and document["margin_sets"] == list(RULES)


def test_run_without_out_writes_to_the_store(small: Path, tmp_path: Path, capsys: Capture) -> None:
    for words, root in ((["--store", str(tmp_path / "s")], tmp_path / "s"), ([], Path(os.environ["OBSERVATORY_STORE"]))):
        assert main(["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--json", *words]) == 0
        assert Path(json.loads(capsys.readouterr().out)["artifact"]).parent == root


def test_run_text_names_the_artifact_and_each_set(small: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", "--benchmark", str(small), "--scorer", "bm25:bm25s", "--rules", "random,in_model[1:4]", "--out", str(tmp_path / "o")]) == 0
    out = capsys.readouterr().out
    assert is_artifact(Path(out.splitlines()[0]))
    for word in ("random", "in_model[1:4]", "16/16", "win rate"):
        assert word in out


def test_show_json(artifact: Path, capsys: Capture) -> None:
    assert main(["show", str(artifact), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["artifact"], document["kind"], document["lock"]) == (str(artifact), "measurement", "locked")
    assert list(document["margin_sets"]) == list(RULES)
    for rule in RULES:
        descriptor = document["margin_sets"][rule]["descriptor"]
        assert descriptor["mining"]["method"] == rule.partition("[")[0]
        assert descriptor["outcomes"]["n_queries"] == 16
        assert len(descriptor["corpus_hash"]) == 64


def test_show_everything_json(artifact: Path, tmp_path: Path, capsys: Capture) -> None:
    broken = artifact.parent / "broken"
    shutil.copytree(artifact, broken)
    (broken / "margins.parquet").write_bytes(b"")
    assert main(["show", "--store", str(artifact.parent), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [a["id"] for a in document["artifacts"]] == [artifact.name]
    assert [(r["artifact"], r["exit_code"]) for r in document["refused"]] == [(str(broken), 3)]


def test_show_by_id_and_of_an_empty_store(artifact: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["show", artifact.name, "--store", str(artifact.parent)]) == 0
    assert artifact.name not in capsys.readouterr().err
    assert main(["show", "--store", str(tmp_path / "none")]) == 0
    assert "no artifacts" in capsys.readouterr().out


def test_ingest_json(artifact: Path, capsys: Capture) -> None:
    assert main(["ingest", str(artifact), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["ingested"]
    (entry,) = document["ingested"]
    assert (entry["artifact"], entry["kind"], entry["lock"]) == (artifact.name, "measurement", "locked")
    assert entry["margin_sets"] == list(RULES)
    assert main(["show", artifact.name, "--json"]) == 0, "an ingested artifact is found by its id"


def test_verify_json(artifact: Path, capsys: Capture) -> None:
    assert main(["verify", str(artifact), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["verified"]
    assert entry == {"artifact": str(artifact), "lock": "locked", "files": len(list(artifact.iterdir())) - 1}


def test_compare_json(artifact: Path, capsys: Capture) -> None:
    assert main(["compare", str(artifact), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["baseline"] == f"{artifact.name}/random"
    assert [c["set"] for c in document["comparisons"]] == [f"{artifact.name}/{rule}" for rule in RULES[1:]]
    for comparison in document["comparisons"]:
        assert comparison["control"] == "controlled: only mining differs"
        assert comparison["differences"]["mining.method"][0] == "random"
        assert comparison["paired"]["n"] == 16


def test_compare_ratio_is_the_quotient_of_the_means(artifact: Path, capsys: Capture) -> None:
    assert main(["show", str(artifact), "--json"]) == 0
    sets = json.loads(capsys.readouterr().out)["margin_sets"]
    assert main(["compare", f"{artifact}/random", f"{artifact}/bm25", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    left, right = (sets[r]["descriptor"]["outcomes"]["mean_margin"] for r in ("random", "bm25"))
    assert comparison["ratio_of_means"] == left / right
    assert comparison["paired"]["mean_difference"] == pytest.approx(right - left, abs=1e-12)


def test_compare_across_scorers_mixes_no_units(artifact: Path, small: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["run", "--benchmark", str(small), "--scorer", "bm25:bm25s", "--rules", "random", "--out", str(tmp_path / "o"), "--json"]) == 0
    other = json.loads(capsys.readouterr().out)["artifact"]
    assert main(["compare", f"{artifact}/random", f"{other}/random", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison["control"].startswith("confounded")
    assert comparison["ratio_of_means"] is None and comparison["paired"] is None and comparison["note"]


def test_export_json_tells_file_and_size(artifact: Path, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "x.csv"
    assert main(["export", str(artifact), "--out", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"exported": str(target), "bytes": target.stat().st_size}


def test_export_json_to_stdout_stays_json(artifact: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """--json promises one JSON document on stdout; CSV cannot share it."""
    code = main(["export", f"{artifact}/random", "--json"])
    out = capfd.readouterr().out
    assert code == 2 or out == ""
    json.loads(out) if out else None


def test_doctor_json(capsys: Capture) -> None:
    code = main(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == (0 if document["ok"] else 2)
    assert [c["name"] for c in document["checks"]] == ["python", "packages", "bundled model", "fast backend", "store", "cache", "processors"]
    assert document["ok"] == all(c["ok"] for c in document["checks"])
    assert all(c["detail"] for c in document["checks"])


def test_doctor_finds_an_unusable_store(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("")
    assert main(["doctor", "--store", str(tmp_path / "file" / "store"), "--json"]) == 2
    checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert not checks["store"]["ok"] and "cannot be written" in checks["store"]["detail"]


# -- faults ----------------------------------------------------------------------------------------------------------


def assert_fault(code: int, expected: int, out: str, err: str, *fragments: str) -> None:
    """One sentence on stderr that tells and mends, and on stdout nothing but JSON."""
    assert code == expected, err
    lines = err.splitlines()
    assert len(lines) == 1, err
    assert re.fullmatch(r"observatory: .+\.", lines[0]) and "Traceback" not in err, err
    for fragment in fragments:
        assert fragment in err, (fragment, err)
    if out:
        document = json.loads(out)
        assert document["exit_code"] == expected and f"observatory: {document['error']}" == lines[0]


RUN_FAULTS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "unknown rule": (["--rules", "nearest"], ("'nearest'", "random", "in_model", "structured_perturbation")),
    "second rule unknown": (["--rules", "random,nearest"], ("'nearest'",)),
    "no rule": (["--rules", ""], ("rule",)),
    "trailing comma": (["--rules", "random,"], ("rule",)),
    "bad slice": (["--rules", "in_model[a:b]"], ("in_model[a:b]",)),
    "open slice": (["--rules", "in_model[2:]"], ("in_model[2:]",)),
    "negative slice": (["--rules", "in_model[-2:3]"], ("in_model[-2:3]",)),
    "empty slice": (["--rules", "in_model[5:5]"], ("in_model[5:5]", "empty")),
    "backward slice": (["--rules", "in_model[7:2]"], ("in_model[7:2]",)),
    "slice beyond the corpus": (["--rules", "in_model[5000:5005]"], ("in_model[5000:5005]", "64 items")),
    "slice behind the last negative": (["--rules", "in_model[62:64]"], ("in_model[62:64]",)),
    "slice beyond a billion": (["--rules", "in_model[0:99999999999999999999]"], ("in_model[0:99999999999999999999]",)),
    "slice of a random draw": (["--rules", "random[0:3]"], ("random[0:3]",)),
    "slice of a designated set": (["--rules", "entity_matched[0:3]"], ("entity_matched[0:3]",)),
    "rule named twice": (["--rules", "random,bm25,random"], ("twice", "'random'")),
    "designated method that the benchmark lacks": (["--rules", "lexical_overlap_matched"], ("'lexical_overlap_matched'", "entity_matched")),
    "rule with a line break": (["--rules", "bm\n25"], (r"bm\n25",)),
    "unknown scorer": (["--scorer", "no-such-model"], ("'no-such-model'", "bm25:okapi")),
    "empty scorer": (["--scorer", ""], ()),
    "unknown bm25 scorer": (["--scorer", "bm25:plus"], ("bm25:plus", "bm25:okapi", "bm25:bm25s")),
    "bm25 scorer without variant": (["--scorer", "bm25"], ("bm25:okapi",)),
    "folder that is no model": (["--scorer", "/"], ("/", "modules.json")),
    "hub model that is not in the cache": (["--scorer", "no/such@main"], ("no/such@main",)),
    "unknown reference": (["--reference", "best"], ("'best'", "first_grade_3", "best_scored")),
    "k zero": (["--k", "0"], ("k ", "0")),
    "k negative": (["--k", "-3"], ("-3",)),
    "k no number": (["--k", "five"], ("five", "--k")),
    "k fraction": (["--k", "2.5"], ("2.5",)),
    "seed negative": (["--seed", "-1"], ("seed", "-1")),
    "batch size zero": (["--batch-size", "0"], ("batch",)),
    "block size zero": (["--block-size", "0"], ("block",)),
    "unknown bm25 source": (["--bm25", "lucene"], ("'lucene'", "shipped", "okapi", "bm25s")),
    "unknown cluster rule": (["--clusters", "style"], ("'style'", "target", "text")),
    "clusters by few texts": (["--clusters", "text"], ("5 source texts", "40")),
    "split of a RELATE folder": (["--split", "dev"], ("'dev'",)),
    "benchmark absent": (["--benchmark", "/no/such"], ("/no/such",)),
    "benchmark is a file": (["--benchmark", __file__], ("test_cli.py",)),
    "unknown option": (["--rulez", "random"], ("--rulez", "--help")),
}


@pytest.mark.parametrize(("name", "as_json"), [*((name, True) for name in RUN_FAULTS), ("unknown rule", False), ("k no number", False)])
def test_faulty_run_is_one_sentence_and_writes_nothing(
    small: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, name: str, as_json: bool
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    out, (words, fragments) = tmp_path / "out", RUN_FAULTS[name]
    good = ["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(out), "--quiet"]
    code = main([*good, *words, *(["--json"] if as_json else [])])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, *fragments)
    assert bool(streams.out) == as_json
    assert not out.exists() or not list(out.iterdir())


def test_the_run_behind_the_faults_is_good(small: Path, tmp_path: Path) -> None:
    assert is_artifact(measure(small, tmp_path / "out", "random"))


@pytest.mark.parametrize(
    ("positives", "words", "fragments"),
    [
        ([], [], ("no query", "none")),
        ([{"item_id": "a", "grade": 0}], [], ("no query",)),
        ([{"item_id": "a", "grade": 2}], ["--reference", "first_grade_3"], ("first_grade_3", "[2]")),
    ],
    ids=["no positive", "grade 0", "no grade 3"],
)
def test_no_reference_positive_anywhere(
    tmp_path: Path, capsys: Capture, positives: list[dict[str, Any]], words: list[str], fragments: tuple[str, ...]
) -> None:
    items = [{"id": "a", "text": "gate"}, {"id": "b", "text": "copy"}]
    folder = bench(tmp_path / "b", items, [{"id": "q", "text": "gate", "positives": positives}])
    code = main(["run", "--benchmark", str(folder), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(tmp_path / "out"), *words, "--quiet"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, *fragments)
    assert not (tmp_path / "out").exists()


def test_everything_positive_leaves_no_negative(tmp_path: Path, capsys: Capture) -> None:
    folder = bench(tmp_path / "b", [{"id": "a", "text": "gate"}], [{"id": "q", "text": "gate", "positives": [{"item_id": "a", "grade": 3}]}])
    code = main(["run", "--benchmark", str(folder), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(tmp_path / "out"), "--quiet"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, "random", "negative")


def test_shipped_bm25_where_none_ships(small: Path, tmp_path: Path, capsys: Capture) -> None:
    (small / "bm25_scores.jsonl").unlink()
    words = ["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "bm25", "--out", str(tmp_path / "out"), "--quiet"]
    code = main([*words, "--bm25", "shipped"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, "BM25 ranking", "--bm25 okapi")
    assert main(words) == 0, "computed where none ships"


def test_broken_benchmark_names_file_and_line(small: Path, tmp_path: Path, capsys: Capture) -> None:
    with (small / "items.jsonl").open("a") as stream:
        stream.write('{"id": "cut')
    code = main(["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--out", str(tmp_path / "out"), "--json", "--quiet"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, "items.jsonl", "line 65")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("place", ["a file", "below a file", "/proc"])
def test_out_that_cannot_be_written(small: Path, tmp_path: Path, capsys: Capture, place: str) -> None:
    (tmp_path / "f").write_text("kept")
    out = {"a file": tmp_path / "f", "below a file": tmp_path / "f" / "g", "/proc": Path("/proc/observatory")}[place]
    code = main(["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(out), "--quiet"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, str(out))
    assert (tmp_path / "f").read_text() == "kept"
    assert main(["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(out)]) == 2
    assert "score queries" not in capsys.readouterr().err, "it is noticed before hours of scoring"


OTHER_FAULTS: dict[str, tuple[list[str], int, tuple[str, ...]]] = {
    "no command": ([], 2, ("COMMAND",)),
    "unknown command": (["measure"], 2, ("measure", "run")),
    "run without benchmark": (["run"], 2, ("--benchmark",)),
    "show nothing there": (["show", "/no/such"], 2, ("/no/such",)),
    "show empty name": (["show", ""], 2, ()),
    "show no artifact": (["show", "EMPTY"], 2, ("EMPTY", "artifact.json")),
    "show tampered": (["show", "TAMPERED"], 3, ("margins.parquet",)),
    "show refused": (["show", "REFUSED"], 4, ("mining.rng_seed",)),
    "ingest nothing there": (["ingest", "/no/such"], 2, ("/no/such",)),
    "ingest tampered": (["ingest", "TAMPERED"], 3, ("margins.parquet",)),
    "verify nothing there": (["verify", "/no/such"], 2, ("/no/such",)),
    "verify unlocked": (["verify", "UNLOCKED"], 2, ("lock.json",)),
    "verify tampered": (["verify", "TAMPERED"], 3, ("margins.parquet",)),
    "verify one of two tampered": (["verify", "GOOD", "TAMPERED"], 3, ("margins.parquet",)),
    "compare one set": (["compare", "GOOD/random"], 2, ("two",)),
    "compare unknown rule": (["compare", "GOOD/random", "GOOD/nearest"], 2, ("'nearest'", "structured_perturbation")),
    "compare tampered": (["compare", "GOOD/random", "TAMPERED/random"], 3, ("margins.parquet",)),
    "compare refused": (["compare", "GOOD/random", "REFUSED/bm25"], 4, ("mining.rng_seed",)),
    "export nothing": (["export"], 2, ("margin set",)),
    "export unknown format": (["export", "GOOD", "--format", "xlsx"], 2, ("'xlsx'", "csv, parquet, jsonl")),
    "export unknown table": (["export", "GOOD", "--table", "items"], 2, ("'items'", "pairwise")),
    "export unknown rule": (["export", "GOOD/nearest"], 2, ("'nearest'",)),
    "export to nowhere": (["export", "GOOD", "--out", "/no/such/x.csv"], 2, ("/no/such/x.csv",)),
    "export onto a folder": (["export", "GOOD", "--out", "EMPTY"], 2, ("EMPTY",)),
    "export refused": (["export", "REFUSED"], 4, ("mining.rng_seed",)),
    "export tampered": (["export", "TAMPERED"], 3, ("margins.parquet",)),
    "duckdb that exists": (["export", "GOOD", "--duckdb", "EXISTS"], 2, ("EXISTS",)),
    "duckdb to nowhere": (["export", "GOOD", "--duckdb", "/no/such/x.duckdb"], 2, ("/no/such/x.duckdb",)),
    "serve on no port": (["serve", "--port", "0"], 2, ("0", "port")),
}


@pytest.mark.parametrize("name", OTHER_FAULTS)
def test_faulty_command_is_one_sentence(artifact: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    words, expected, fragments = OTHER_FAULTS[name]
    places = {key: tmp_path / f"place-{key}" for key in ("TAMPERED", "REFUSED", "UNLOCKED", "EMPTY", "EXISTS")} | {"GOOD": artifact}
    for key in ("TAMPERED", "REFUSED", "UNLOCKED"):
        shutil.copytree(artifact, places[key])
    with (places["TAMPERED"] / "margins.parquet").open("r+b") as stream:
        stream.write(b"X")
    (places["UNLOCKED"] / "lock.json").unlink()
    (places["REFUSED"] / "lock.json").unlink()
    manifest = json.loads((places["REFUSED"] / "artifact.json").read_text())
    del manifest["margin_sets"]["random"]["descriptor"]["mining"]["rng_seed"]
    (places["REFUSED"] / "artifact.json").write_text(json.dumps(manifest))
    places["EMPTY"].mkdir()
    places["EXISTS"].write_text("kept")
    code = main([re.sub(r"^[A-Z]+", lambda m: str(places.get(m[0], m[0])), word) for word in words])
    streams = capfd.readouterr()
    assert_fault(code, expected, streams.out, streams.err, *fragments)
    assert streams.out == ""
    assert places["EXISTS"].read_text() == "kept"
    assert not list(tmp_path.glob("**/.tmp-*"))


def test_ingest_goes_on_after_a_refusal_and_reports_the_worst(unlocked: Path, artifact: Path, capsys: Capture) -> None:
    manifest = unlocked / "artifact.json"
    manifest.write_text(manifest.read_text().replace('"rng_seed"', '"seed"', 1))
    assert main(["ingest", "/no/such", str(unlocked), str(artifact), "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert [e["artifact"] for e in document["ingested"]] == [artifact.name]
    assert [(e["path"], e["exit_code"]) for e in document["refused"]] == [("/no/such", 2), (str(unlocked), 4)]
    assert any("rng_seed" in fault for fault in document["refused"][1]["faults"])


# -- models ----------------------------------------------------------------------------------------------------------


def run_model(model: Path, small: Path, out: Path, *words: str) -> int:
    return main(["run", "--benchmark", str(small), "--scorer", str(model), "--rules", "random,in_model[0:3]", "--out", str(out), "--quiet", *words])


def rewrite(model: Path, change: Any) -> None:
    """Save the model's tensors again, each as ``change(name, tensor)`` makes it (None drops it)."""
    from safetensors.torch import load_file, save_file

    changed = {name: change(name, tensor) for name, tensor in load_file(model / "model.safetensors").items()}
    save_file({k: v for k, v in changed.items() if v is not None}, model / "model.safetensors", metadata={"format": "pt"})


def test_a_local_model_is_measured(tiny: Path, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_model(tiny, small, tmp_path / "out", "--json") == 0
    out = capfd.readouterr().out
    assert main(["show", json.loads(out)["artifact"], "--json"]) == 0
    scorer = json.loads(capfd.readouterr().out)["margin_sets"]["random"]["descriptor"]["scorer"]
    assert scorer["name"] == "tiny" and scorer["family"] == "bi-encoder" and len(scorer["weights_sha256"]) == 64


@pytest.mark.slow
def test_a_local_model_says_nothing_when_quiet(tiny: Path, small: Path, tmp_path: Path) -> None:
    done = process(
        "run", "--benchmark", str(small), "--scorer", str(tiny), "--rules", "random", "--out", str(tmp_path / "out"), "--quiet", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    json.loads(done.stdout)


BAD_WEIGHTS = ("garbage", "empty", "cut", "removed", "a folder", "a dangling link", "pickle only", "tensor missing", "tensor of other shape", "no config")


def spoil(model: Path, how: str) -> None:
    weights = model / "model.safetensors"
    if how == "garbage":
        weights.write_bytes(b"garbage" * 1000)
    elif how == "empty":
        weights.write_bytes(b"")
    elif how == "cut":
        weights.write_bytes(weights.read_bytes()[:-1000])
    elif how == "tensor missing":
        rewrite(model, lambda name, tensor: None if name.endswith("attention.self.query.weight") else tensor)
    elif how == "tensor of other shape":
        rewrite(model, lambda name, tensor: tensor[:8].clone() if name.endswith("attention.self.query.weight") else tensor)
    elif how == "no config":
        (model / "config.json").unlink()
    else:
        if how == "pickle only":
            import torch
            from safetensors.torch import load_file

            torch.save(load_file(weights), model / "pytorch_model.bin")
        weights.unlink()
        if how == "a folder":
            weights.mkdir()
        if how == "a dangling link":
            weights.symlink_to("/no/such/weights")


@pytest.mark.parametrize("how", BAD_WEIGHTS)
def test_unloadable_model_is_bad_input(tiny: Path, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], how: str) -> None:
    """Also a missing tensor: a library that fills it with chance would measure chance."""
    spoil(tiny, how)
    capfd.readouterr()
    code = run_model(tiny, small, tmp_path / "out", "--json")
    streams = capfd.readouterr()
    assert_fault(code, 2, streams.out, streams.err.splitlines()[-1] if streams.err else "", str(tiny))
    assert "Traceback" not in streams.err
    assert not (tmp_path / "out").exists()


def test_pickled_weights_of_a_later_module_are_not_read(
    tiny_models: Path, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Safetensors only, in every module: another file than the hashed ones must not decide a score."""
    import torch
    from safetensors.torch import load_file

    model = Path(shutil.copytree(tiny_models / "dense", tmp_path / "dense"))
    assert run_model(model, small, tmp_path / "good") == 0
    weights = model / "2_Dense" / "model.safetensors"
    torch.save(load_file(weights), weights.with_name("pytorch_model.bin"))
    weights.unlink()
    capfd.readouterr()
    code = run_model(model, small, tmp_path / "out")
    streams = capfd.readouterr()
    assert_fault(code, 2, streams.out, streams.err, str(model))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("value", "fragment"), [(float("nan"), "NaN"), (0.0, "zero vector")], ids=["nan", "zero"])
def test_model_without_usable_vectors(
    tiny: Path, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], value: float, fragment: str
) -> None:
    rewrite(tiny, lambda name, tensor: tensor.new_full(tensor.shape, value) if tensor.is_floating_point() else tensor)
    code = run_model(tiny, small, tmp_path / "out", "--json")
    streams = capfd.readouterr()
    assert_fault(code, 2, streams.out, streams.err, fragment, "tiny")
    assert not (tmp_path / "out").exists()


def test_model_code_is_never_run(tiny: Path, small: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    marker = tmp_path / "ran"
    (tiny / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Evil: pass\n")
    modules = json.loads((tiny / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "", "type": "evil.Evil"})
    (tiny / "modules.json").write_text(json.dumps(modules))
    code = run_model(tiny, small, tmp_path / "out")
    streams = capfd.readouterr()
    assert_fault(code, 2, streams.out, streams.err.splitlines()[-1], str(tiny))
    assert not marker.exists()


# -- processes -------------------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(tmp_path: Path, capsys: Capture) -> Path:
    """An artifact whose benchmark's name, texts and ids are not ASCII."""
    made = measure(tiny_bench(tmp_path / "Größe-🐿", "ü", "Größe 🐿 の"), tmp_path / "foreign-out")
    capsys.readouterr()
    return made


@pytest.mark.parametrize("words", [["--json"], []], ids=["json", "text"])
def test_ascii_terminals_can_show_everything(foreign: Path, words: list[str]) -> None:
    done = process("show", str(foreign), *words, PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode("ascii")
    if words:
        assert "Größe-🐿" in json.loads(text)["run"]["title"]
    else:
        assert "Gr\\xf6\\xdfe" in text


def test_ascii_terminals_can_run_and_fail(tmp_path: Path) -> None:
    folder = tiny_bench(tmp_path / "Größe-🐿", "ü")
    ascii_only = {"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    done = process("run", "--benchmark", str(folder), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(tmp_path / "o"), "--json", **ascii_only)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stderr
    assert is_artifact(Path(json.loads(done.stdout.decode("ascii"))["artifact"]))
    done = process("show", str(tmp_path / "Größe-🐿" / "fehlt"), "--json", **ascii_only)
    assert done.returncode == 2 and b"Traceback" not in done.stderr
    assert "Größe-🐿" in json.loads(done.stdout.decode("ascii"))["error"]


@pytest.mark.parametrize("words", [["show", "ART"], ["run", "--help"]], ids=["show", "help"])
def test_a_reader_that_leaves_early_is_no_error(artifact: Path, words: list[str]) -> None:
    """As ``observatory show | head -1`` does; the reader here is gone before the first byte."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = process(*(w.replace("ART", str(artifact)) for w in words), stdout=writing)
    finally:
        os.close(writing)
    assert done.stderr == b""
    assert done.returncode in (0, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_not_success(artifact: Path) -> None:
    with open("/dev/full", "w") as full:
        done = process("show", str(artifact), stdout=full)
    assert_fault(done.returncode, 2, "", done.stderr.decode(), "No space left")


def test_show_starts_without_heavy_imports(artifact: Path) -> None:
    code = (
        "import sys; from observatory.cli import main; "
        f"assert main(['show', {str(artifact)!r}]) == 0; "
        "heavy = {'torch', 'numpy', 'pandas', 'pyarrow', 'duckdb', 'scipy', 'streamlit', 'plotly', 'transformers', 'sentence_transformers'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0 and done.stderr.strip() == "[]", done.stderr


def test_bm25_runs_without_torch_and_silently_when_quiet(small: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from observatory.cli import main; "
        f"assert main(['run', '--benchmark', {str(small)!r}, '--scorer', 'bm25:okapi', '--out', {str(tmp_path / 'o')!r}, '--quiet']) == 0; "
        "print(sorted({'torch', 'streamlit', 'plotly'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0 and done.stderr == "[]\n", done.stderr


def test_progress_is_plain_lines_on_stderr(small: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ["run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(tmp_path / "o")]
    assert main(words) == 0
    streams = capsys.readouterr()
    assert "read benchmark" in streams.err and "score queries" in streams.err
    assert "\r" not in streams.err and "\x1b" not in streams.err and "score queries" not in streams.out


def test_sigterm_stops_a_run_with_130_and_leaves_nothing(shared_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "observatory", "run", "--benchmark", str(shared_data / "scifact"), "--scorer", "bm25:okapi", "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as running:
        assert running.stderr is not None and running.stdout is not None
        assert "read benchmark" in running.stderr.readline()
        running.terminate()
        err = running.stderr.read()
        assert running.wait(30) == 130
        assert running.stdout.read() == ""
    assert "Traceback" not in err and err.splitlines()[-1].startswith("observatory: stopped")
    assert not out.exists() or not list(out.iterdir())


def test_no_stdout_at_all_is_no_traceback(artifact: Path) -> None:
    done = subprocess.run(f"{sys.executable} -m observatory export {artifact} >&-", shell=True, capture_output=True, timeout=60, cwd=ROOT)
    assert b"Traceback" not in done.stderr, done.stderr[-300:]


def test_the_installed_command_is_this_one() -> None:
    command = Path(sys.executable).with_name("observatory")
    if not command.is_file():
        pytest.skip("the console script is not installed")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and re.fullmatch(r"observatory \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="file names are bytes on Unix only")
def test_a_benchmark_whose_name_is_no_text(tmp_path: Path, capsys: Capture) -> None:
    """A folder name that is not UTF-8 is measured, or refused with a sentence."""
    folder = str(tiny_bench(tmp_path / "plain").rename(tmp_path / os.fsdecode(b"bench-\xff")))
    code = main(["run", "--benchmark", folder, "--scorer", "bm25:okapi", "--rules", "random", "--out", str(tmp_path / "o"), "--quiet", "--json"])
    streams = capsys.readouterr()
    assert code in (0, 2, 4) and len(streams.err.splitlines()) == bool(code)
    json.loads(streams.out)
    assert code == 0 or not (tmp_path / "o").exists()


@pytest.mark.parametrize("name", ["日本語", "--", "x" * 120, "a/b", "v1.0"], ids=["no letter", "dashes", "long", "slash", "plain"])
def test_any_benchmark_name_makes_an_artifact_that_can_be_read(tmp_path: Path, capsys: Capture, name: str) -> None:
    """And a second run makes a second one."""
    folder = tiny_bench(tmp_path / "bench")
    (folder / "manifest.json").write_text(json.dumps({"name": name}), encoding="utf-8")
    for _ in range(2):
        made = measure(folder, tmp_path / "out")
        assert main(["show", str(made), "--json"]) == 0
    capsys.readouterr()
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_lists_left_empty_in_a_plan_are_not_filled(small: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "p.yaml").write_text(f"benchmark: {small}\nscorer: bm25:okapi\nrules: []\nmetrics: []\n")
    code = main(["run", "--plan", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "out"), "--quiet"])
    streams = capsys.readouterr()
    assert_fault(code, 2, streams.out, streams.err, "neither rules nor metrics")


def test_show_prints_no_control_characters_from_data(unlocked: Path, capsys: Capture) -> None:
    """An artifact from elsewhere cannot clear or colour the terminal."""
    manifest = unlocked / "artifact.json"
    data = json.loads(manifest.read_text(encoding="utf-8"))
    data["run"]["title"] = "\x1b[2J\x07title\nsecond line"
    manifest.write_text(json.dumps(data), encoding="utf-8")
    assert main(["show", str(unlocked)]) == 0
    out = capsys.readouterr().out
    assert "title" in out and "\x1b" not in out and "\x07" not in out
    assert not any(line.startswith("second line") for line in out.splitlines())


# -- help and README -------------------------------------------------------------------------------------------------


def subcommands() -> dict[str, argparse.ArgumentParser]:
    action = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def test_the_commands_there_are() -> None:
    assert set(subcommands()) >= {"run", "show", "compare", "ingest", "verify", "export", "doctor", "demo", "serve"}


@pytest.mark.parametrize("command", ["", *subcommands()])
def test_help_of_every_command(command: str, capsys: Capture) -> None:
    try:
        code: Any = main([*([command] if command else []), "--help"])
    except SystemExit as done:  # argparse's way
        code = done.code
    assert code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: observatory{' ' + command if command else ''}")
    for option in ("--json", "--quiet", "--store") if command else subcommands():
        assert option in out


def test_every_command_can_be_loaded() -> None:
    from observatory.cli import _load

    for parser in subcommands().values():
        assert callable(_load(parser.get_default("module")))


def readme_calls(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each ``observatory COMMAND ...`` of a code block or code span: the command and the options beside it."""
    code = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, re.S | re.M) + re.findall(r"`([^`\n]+)`", text))
    for line in code.replace("\\\n", " ").splitlines():
        for call in re.findall(r"(?:^|[\s/])observatory\s+([a-z]+\b[^|;&#]*)", line):
            words = call.split()
            yield words[0], [w.partition("=")[0] for w in words if w.startswith("--")]


def test_every_command_and_option_in_the_readme_exists() -> None:
    readme = ROOT / "README.md"
    if not readme.is_file():
        pytest.skip("there is no README.md yet")
    calls, commands = list(readme_calls(readme.read_text(encoding="utf-8"))), subcommands()
    assert calls, "README.md shows no command"
    for command, options in calls:
        assert command in commands, f"README.md: observatory {command}"
        for option in options:
            assert option in commands[command]._option_string_actions, f"README.md: observatory {command} {option}"


def test_the_readme_reader_finds_calls() -> None:
    text = "`observatory verify X --json`\n```\n.venv/bin/observatory run --benchmark B \\\n  --k=3 | head\nobservatory show\n```\n"
    assert list(readme_calls(text)) == [("run", ["--benchmark", "--k"]), ("show", []), ("verify", ["--json"])]


# -- exports ---------------------------------------------------------------------------------------------------------


def exported(artifact: Path, target: Path, *words: str) -> Path:
    assert main(["export", str(artifact), "--out", str(target), "--format", target.suffix[1:], *words]) == 0
    return target


def read_jsonl(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    return json.loads(head)["observatory-descriptors"], pd.DataFrame([json.loads(row) for row in rows])


READERS = {"csv": exports.read_csv, "parquet": exports.read_parquet, "jsonl": read_jsonl}


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize(("table", "rows"), [("margins", 16 * 5), ("pairwise", None), ("draws", 16)])
def test_exports_read_back_with_their_descriptors(artifact: Path, tmp_path: Path, capsys: Capture, format: str, table: str, rows: int | None) -> None:
    assert main(["show", str(artifact), "--json"]) == 0
    sets = json.loads(capsys.readouterr().out)["margin_sets"]
    descriptors, frame = READERS[format](exported(artifact, tmp_path / f"x.{format}", "--table", table))
    assert descriptors == {f"{artifact.name}/{rule}": sets[rule]["descriptor"] for rule in RULES}
    assert set(frame["set_id"]) <= set(descriptors)
    assert rows is None or len(frame) == rows


@pytest.mark.parametrize("format", READERS)
def test_exported_numbers_are_those_of_the_artifact_to_the_bit(artifact: Path, tmp_path: Path, format: str) -> None:
    import pyarrow.parquet as pq

    original = pq.read_table(artifact / "margins.parquet").to_pandas()
    _, frame = READERS[format](exported(artifact, tmp_path / f"x.{format}"))
    for column in ("reference_score", "hardest_score", "margin"):
        assert (frame[column].to_numpy() == original[column].to_numpy()).all(), column
    assert (frame["margin"] == frame["reference_score"] - frame["hardest_score"]).all()


@pytest.mark.parametrize("format", READERS)
def test_one_set_alone_and_stdout(artifact: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], format: str) -> None:
    target = tmp_path / f"x.{format}"
    assert main(["export", f"{artifact}/bm25", "--out", str(target), "--format", format, "--quiet"]) == 0
    descriptors, frame = READERS[format](target)
    assert list(descriptors) == [f"{artifact.name}/bm25"] and len(frame) == 16


def test_csv_on_stdout_is_the_same_file(artifact: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    content = exported(artifact, tmp_path / "x.csv").read_bytes()
    capfdbinary.readouterr()
    assert main(["export", str(artifact)]) == 0
    assert capfdbinary.readouterr().out == content


@pytest.mark.parametrize("prefix", ["00", "NA", "1e"])
@pytest.mark.parametrize("format", READERS)
def test_ids_survive_export(tmp_path: Path, format: str, prefix: str) -> None:
    items = [{"id": f"{prefix}{n}" if n else prefix, "text": f"gate {'x' * n}"} for n in range(4)]
    folder = bench(tmp_path / "b", items, [{"id": prefix, "text": "gate", "positives": [{"item_id": prefix, "grade": 3}]}])
    _, frame = READERS[format](exported(measure(folder, tmp_path / "out", "random"), tmp_path / f"x.{format}"))
    assert list(frame["query_id"]) == [prefix]
    assert list(frame["reference_item_id"]) == [prefix]
    assert frame["hardest_item_id"][0] in {i["id"] for i in items}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_formulas_in_ids_are_neutralised_in_csv(tmp_path: Path, start: str) -> None:
    folder = tiny_bench(tmp_path / "b", f"{start}cmd|' /C calc'!A1,\"")
    target = exported(measure(folder, tmp_path / "out"), tmp_path / "x.csv")
    rows = pd.read_csv(target, skiprows=1, dtype=str)
    assert len(rows) == 4
    for column in ("query_id", "reference_item_id", "hardest_item_id"):
        assert rows[column].str.startswith("'" + start).all(), column


def test_no_cell_of_any_table_starts_like_a_formula(tmp_path: Path) -> None:
    made = measure(tiny_bench(tmp_path / "b", "=1+1"), tmp_path / "out")
    for table in ("margins", "pairwise", "draws"):
        rows = pd.read_csv(exported(made, tmp_path / f"{table}.csv", "--table", table), skiprows=1, dtype=str)
        text = rows.drop(columns=[c for c in rows if pd.to_numeric(rows[c], errors="coerce").notna().any()])
        assert len(text.columns) >= 2
        for column in text:
            assert not rows[column].dropna().str.match(r"[=+\-@\t\r]").any(), (table, column)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_file_without_descriptors_is_refused_by_its_reader(tmp_path: Path, format: str) -> None:
    from observatory.errors import InputError

    path = tmp_path / f"x.{format}"
    frame = pd.DataFrame({"margin": [0.1]})
    frame.to_csv(path) if format == "csv" else frame.to_parquet(path)
    with pytest.raises(InputError, match="no descriptors"):
        READERS[format](path)


def test_duckdb_file_opens_and_has_the_rows(artifact: Path, tmp_path: Path, capsys: Capture) -> None:
    import duckdb

    target = tmp_path / "it's.duckdb"
    assert main(["export", str(artifact), "--duckdb", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"exported": str(target), "bytes": target.stat().st_size}
    with duckdb.connect(str(target), read_only=True) as file:
        assert file.sql("select count(*) from margins").fetchall() == [(16 * 5,)]
        assert file.sql("select count(*) from margin_sets").fetchall() == [(5,)]
        assert file.sql("select artifact_id from artifacts").fetchall() == [(artifact.name,)]
        assert file.sql("select count(*) from margins where margin <> reference_score - hardest_score").fetchall() == [(0,)]
        ((text,),) = file.sql("select descriptor from margin_sets where rule = 'random'").fetchall()
        assert json.loads(text)["mining"]["method"] == "random"


def test_duckdb_of_the_store_holds_what_was_admitted(artifact: Path, unlocked: Path, tmp_path: Path) -> None:
    import duckdb

    broken = artifact.parent / "broken"
    shutil.copytree(artifact, broken)
    (broken / "margins.parquet").write_bytes(b"")
    assert main(["export", "--store", str(artifact.parent), "--duckdb", str(tmp_path / "x.duckdb")]) == 0
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as file:
        assert file.sql("select artifact_id from artifacts").fetchall() == [(artifact.name,)]
