"""The committed demo artifacts: small, locked, and computed again from their own run records."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from observatory import benchmarks, plans, runs
from observatory.admission import admit
from observatory.artifacts import Artifact, is_artifact
from observatory.cli import build_parser
from observatory.runs import Plan
from tests.conftest import ROOT

FOLDERS = sorted(f for f in (ROOT / "data" / "demo").iterdir() if is_artifact(f)) if (ROOT / "data" / "demo").is_dir() else []
HERE = ("all-MiniLM-L6-v2", "bm25:okapi")


def test_they_are_there_and_small() -> None:
    models = {d.scorer.name for f in FOLDERS for d in admit(f).descriptors.values()}
    assert models == {"all-MiniLM-L6-v2", "all-mpnet-base-v2", "bm25:okapi"}
    size = sum(p.stat().st_size for f in FOLDERS for p in f.iterdir())
    assert size < 12 * 2**20


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_locked_and_repeatable_by_one_command(folder: Path) -> None:
    artifact = admit(folder)
    assert artifact.locked
    words = shlex.split(artifact.run["command"])
    options = build_parser().parse_args(words[1:])
    assert words[0] == "observatory" and options.command == "run"
    assert (options.scorer, options.split) == (artifact.run["plan"]["scorer"], artifact.run["plan"]["split"])
    assert (ROOT / options.benchmark).exists()


def plan_of(artifact: Artifact) -> Plan:
    record = dict(artifact.run["plan"])
    return plans.from_record(record | {"benchmark": str(ROOT / record["benchmark"])})


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_recomputed_numbers_are_those_committed(folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes and negatives equal; margins within 1e-5, for another machine's BLAS sums in another order."""
    artifact = admit(folder)
    plan = plan_of(artifact)
    if plan.scorer not in HERE:
        pytest.skip(f"{plan.scorer} is not bundled")
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path_factory.getbasetemp() / "demo-cache"))
    prepared = runs.prepare(plan, benchmarks.read(plan.benchmark, split=plan.split))
    tables = runs.measure(prepared, runs.load_scorer(plan))
    for name, column, same in (("metrics", "value", ["query_id", "metric"]), ("judged", "score", ["query_id", "item_id", "grade"])):
        ours, theirs = tables[name], artifact.tables[name]
        assert ours.select(same).equals(theirs.select(same))
        gaps = abs(ours[column].to_numpy() - theirs[column].to_numpy())
        # Two items that score the same to the last bit but one may change places, and with them a rank.
        assert (gaps > 1e-5).mean() < (0.002 if name == "metrics" else 1e-9) if gaps.size else name == "metrics"
    fresh = tables["margins"].to_pylist()
    committed = artifact.tables["margins"].to_pylist()
    assert len(fresh) == len(committed)
    for ours, theirs in zip(fresh, committed, strict=True):
        assert {k: ours[k] for k in ("rule", "query_id", "reference_item_id", "n_negatives", "reason")} == {
            k: theirs[k] for k in ("rule", "query_id", "reference_item_id", "n_negatives", "reason")
        }
        assert abs(ours["margin"] - theirs["margin"]) < 1e-5
        assert ours["outcome"] == theirs["outcome"] or abs(theirs["margin"]) < 1e-5
