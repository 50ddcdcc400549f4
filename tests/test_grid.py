"""A grid's failures: said for their own cells, costing no others; a bad file costs nothing, a killed grid goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from observatory import ablation, artifacts, benchmarks, lock, runs
from observatory.cli import main
from observatory.errors import DescriptorRefused, InputError, ManyFaults
from observatory.plans import Plan

THREE = "benchmark: {small}\nscorer: bm25:okapi\nrules: [random]\nmetrics: [nDCG@10]\nconfigurations: {{one: {{k: 1}}, two: {{k: 2}}, three: {{k: 3}}}}\n"


@pytest.fixture
def grid(small: Path, tmp_path: Path) -> Path:
    file = tmp_path / "grid.yaml"
    file.write_text(THREE.format(small=small))
    return file


def measure(grid: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Exit code, the JSON document and stderr."""
    code = main(["run", "--grid", str(grid), "--out", str(out), "--quiet", "--json"])
    streams = capsys.readouterr()
    return code, json.loads(streams.out), streams.err


def failing(monkeypatch: pytest.MonkeyPatch, k: int, error: BaseException) -> None:
    whole = runs.measure

    def broken(prepared: Any, *rest: Any) -> Any:
        if prepared.plan.k == k:
            raise error
        return whole(prepared, *rest)

    monkeypatch.setattr(runs, "measure", broken)


FAILURES = [
    (InputError("gives scores that are no finite numbers", file="table"), 2, "no finite numbers"), (DescriptorRefused("x", ["a: b"]), 4, "refused"),
    (RuntimeError("the tokenizer\nfell over"), 2, "RuntimeError: the tokenizer\\nfell over"), (MemoryError(), 2, "out of memory"),
    (OSError(28, "No space left on device"), 2, "No space left on device"), (UnicodeEncodeError("utf-8", "x", 0, 1, "why"), 2, "UnicodeEncodeError"),
]


@pytest.mark.parametrize(("error", "code", "said"), FAILURES, ids=lambda v: type(v).__name__)
def test_a_failure_costs_its_own_cells_and_no_others(
    error: Exception, code: int, said: str, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 2, error)
    found, document, stderr = measure(grid, tmp_path / "out", capsys)
    assert found == code == document["exit_code"] and said in document["failed"]["two"]["error"] and "failed, configuration two" in stderr
    assert set(document["artifacts"]) == {"one", "three"} and all(artifacts.read(Path(p)).locked for p in document["artifacts"].values())
    lost = [c for c in document["cells"] if c["configuration"] == "two"]
    assert [c["measure"] for c in lost] == ["nDCG@10", "win rate, random", "mean margin, random"]
    assert all(c["mean"] is None and c["note"].startswith("failed: ") for c in lost)
    assert document["accounting"] == {"attempted": 9, "scored": 6, "failed": 3} and len(document["cells"]) == 9
    assert [c["delta"] is not None for c in document["cells"] if c["configuration"] == "three"] == [True] * 3


def test_the_printed_table_says_what_failed_and_why(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 2, InputError("gives scores that are no finite numbers"))
    assert main(["run", "--grid", str(grid), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    printed = capsys.readouterr().out
    assert "9 cells attempted = 6 scored + 3 failed" in printed and "two: failed: gives scores that are no finite numbers." in printed
    assert sum(line.startswith("two ") and "failed" in line for line in printed.splitlines()) == 3


def test_without_its_baseline_a_table_has_means_and_no_deltas(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, 1, InputError("broke"))
    code, document, _ = measure(grid, tmp_path / "out", capsys)
    scored = [c for c in document["cells"] if c["mean"] is not None]
    assert code == 2 and len(scored) == 6 and document["family"] == "no difference was tested"
    assert all(c["delta"] is None and c["note"] == "the baseline was not measured" for c in scored)


def test_where_everything_fails_the_table_says_so(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(f"benchmark: {small}\nrules: [random]\nconfigurations: {{only: {{scorer: bm25:okapi}}}}\n")
    failing(monkeypatch, 5, InputError("broke"))
    code, document, _ = measure(file, tmp_path / "out", capsys)
    assert (code, document["accounting"], document["artifacts"]) == (2, {"attempted": 2, "scored": 0, "failed": 2}, {})


# -- before anything is measured ------------------------------------------------------------------------------------------


def test_every_fault_of_a_grid_file_is_listed() -> None:
    text = (
        "benchmark: b\nbaseline: z\nconfigurations:\n  a: {scorer: s, k: many, skorer: s}\n  b: 3\n  c: {scorer: s}\n  d: {scorer: s}\n  e: {scorer: ''}\n"
    )
    with pytest.raises(ManyFaults) as error:
        ablation.from_yaml(text, "grid.yaml")
    said = error.value.faults
    for part in ("configuration a, field 'k'", "configuration a, field 'skorer'", "configurations.b", "c and d are the same plan", "configuration e, field 'scorer'", "field 'baseline'"):
        assert sum(part in fault for fault in said) == 1 and part in str(error.value), part
    assert len(said) == 6 and "6 faults" in str(error.value)


def test_a_grid_that_cannot_be_measured_is_refused_whole_with_every_reason(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "grid.yaml", tmp_path / "out"
    file.write_text(
        f"benchmark: {small}\nscorer: bm25:okapi\nrules: [random]\nconfigurations:\n  good: {{}}\n  folder: {{scorer: /nowhere/model}}\n"
        "  rule: {rules: [lexical_overlap_matched]}\n  both: {scorer: /nowhere/model, benchmark: /nowhere/bench}\n"
    )
    code, document, _ = measure(file, out, capsys)
    assert code == 2 and not out.exists() and len(document["faults"]) == 3, document
    for part in ("configurations folder, both", "configuration rule", "configuration both, /nowhere/bench"):
        assert sum(part in fault for fault in document["faults"]) == 1, part


def test_an_unwritable_place_is_noticed_before_anything_is_read(
    grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "load_scorer", lambda plan: pytest.fail("a scorer was loaded"))
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / ("x" * 300)):
        code, document, _ = measure(grid, out, capsys)
        assert code == 2 and "cannot be written" in document["error"]


# -- killed, and started again --------------------------------------------------------------------------------------------

KILLED = """
import os, sys
from observatory import runs
from observatory.cli import main
whole = runs.measure
def measure(prepared, *rest):
    if prepared.plan.k == 2:
        os.kill(os.getpid(), 9)
    return whole(prepared, *rest)
runs.measure = measure
main(sys.argv[1:])
"""


def test_a_killed_grid_goes_on_from_what_it_had_finished(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["run", "--grid", str(grid), "--out", str(out), "--quiet"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], env=os.environ | {"PYTHONPATH": str(Path(runs.__file__).parents[1])}, timeout=120)
    (kept,) = [p for p in out.iterdir() if artifacts.is_artifact(p)]
    assert killed.returncode == -signal.SIGKILL
    code, document, stderr = measure(grid, out, capsys)
    assert code == 0 and document["found"] == ["one"] and document["artifacts"]["one"] == str(kept)
    assert f"configuration one: found finished, and not measured again (another --out does): {kept}" in stderr
    assert len(list(out.iterdir())) == 3 and document["accounting"] == {"attempted": 9, "scored": 9, "failed": 0}
    _, fresh, _ = measure(grid, tmp_path / "elsewhere", capsys)
    assert fresh["found"] == [] and fresh["cells"] == document["cells"]


def _tampered(kept: Path, grid: Path) -> None:
    (kept / "margins.parquet").write_bytes(b"")


def _unlocked(kept: Path, grid: Path) -> None:
    (kept / lock.LOCK).unlink()


def _other_texts(kept: Path, grid: Path) -> None:
    items = Path(grid.parent / "small-1.0" / "items.jsonl")
    items.write_text(items.read_text().replace("Harrow-3 was saved", "Harrow-3 was stored"))


def _other_plan(kept: Path, grid: Path) -> None:
    grid.write_text(grid.read_text().replace("rules: [random]", "rules: [random]\nseed: 7"))


def _no_manifest(kept: Path, grid: Path) -> None:
    (kept / artifacts.MANIFEST).write_text("[" * 10_000)


@pytest.mark.parametrize("change", [_tampered, _unlocked, _other_texts, _other_plan, _no_manifest])
def test_what_is_not_the_same_measurement_is_measured_again(change: Any, grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    _, first, _ = measure(grid, out, capsys)
    change(Path(first["artifacts"]["one"]), grid)
    code, again, _ = measure(grid, out, capsys)
    assert code == 0 and "one" not in again["found"] and again["artifacts"]["one"] != first["artifacts"]["one"]


def test_other_software_measures_again(grid: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    measure(grid, out, capsys)
    here = lock.environment()
    for other in ({"observatory": "9.9.9"}, {"git": {"commit": "0" * 40, "dirty": False}}, {"packages": {"numpy": "0"}}):
        copy = tmp_path / next(iter(other))
        shutil.copytree(out, copy)
        monkeypatch.setattr(lock, "environment", lambda other=other: here | other)
        code, document, _ = measure(grid, copy, capsys)
        assert code == 0 and document["found"] == [], other


def test_a_metrics_only_grid_is_found_again_too(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "grid.yaml"
    file.write_text(f"benchmark: {small}\nmetrics: [RR]\nconfigurations: {{a: {{scorer: 'bm25:okapi'}}, b: {{scorer: 'bm25:bm25s'}}}}\n")
    measure(file, tmp_path / "out", capsys)
    assert measure(file, tmp_path / "out", capsys)[1]["found"] == ["a", "b"]


def test_a_plan_is_the_same_by_its_content_and_not_by_its_name(small: Path, tmp_path: Path) -> None:
    """Two folders of one name: the record keeps the last part of a path only."""
    from observatory import earlier

    other = tmp_path / "copy" / small.name
    shutil.copytree(small, other)
    (other / "queries.jsonl").write_text((other / "queries.jsonl").read_text().replace("complete?", "finish?"))
    made = runs.run(Plan(str(small), "bm25:okapi", ("random",)), tmp_path / "out")
    known = earlier.by_plan(tmp_path / "out")
    for folder, found in ((small, made), (other, None)):
        plan = Plan(str(folder), "bm25:okapi", ("random",))
        identity = runs.identity(runs.prepare(plan, benchmarks.read(str(folder))), runs.load_scorer(plan))
        assert earlier.same(known, plan, identity) == found
