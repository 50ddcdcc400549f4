"""The fast backend: the outcomes of torch, an export that is checked, and a plain word where it cannot run."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from observatory import benchmarks, demo, paths, runs
from observatory.errors import InputError
from observatory.plans import Plan
from observatory.scorers import Options, exported, models
from observatory.scorers.bi_encoder import BiEncoder
from observatory.scorers.fast import LABEL
from observatory.scorers.torch_backend import LABEL as TORCH
from tests.conftest import ROOT

TEXTS = ["the nightly copy", "copy", "", "a much longer text than all of the others here " * 4, "the nightly copy"]


def encoder(model: Path, **options: object) -> BiEncoder:
    return BiEncoder(models.locate(str(model)), paths.cache_root(), 32, Options(**options))  # type: ignore[arg-type]


def vectors(model: Path, **options: object) -> np.ndarray:
    made, rows = encoder(model, **options).encode(TEXTS, "")
    return made[rows]


@pytest.mark.slow
def test_no_outcome_differs_from_torch_on_the_demo_benchmark() -> None:
    """Every rule of the demo; where a margin is nearer to 0 than 1e-4 its sign may turn, and nothing else."""
    notes = benchmarks.read(ROOT / "data" / "benchmarks" / "fieldnotes")
    plan = Plan(str(ROOT / "data" / "benchmarks" / "fieldnotes"), models.BUNDLED, demo.FIELDNOTES_RULES)
    tables = []
    for backend in ("torch", "fast"):
        prepared = runs.prepare(replace(plan, backend=backend), notes)
        tables.append(runs.measure(prepared, runs.load_scorer(prepared.plan))["margins"].to_pandas())
    torch, fast = tables
    assert len(torch) == len(fast) > 400 and (torch["query_id"] == fast["query_id"]).all() and (torch["rule"] == fast["rule"]).all()
    scored = torch["margin"].notna().to_numpy()
    assert (scored == fast["margin"].notna().to_numpy()).all() and scored.sum() > 0.9 * len(torch)
    ours, theirs = fast["margin"].to_numpy()[scored], torch["margin"].to_numpy()[scored]
    assert np.abs(ours - theirs).max() < 1e-5
    turned = np.sign(ours) != np.sign(theirs)
    assert (np.abs(theirs[turned]) < 1e-4).all()


def test_auto_is_fast_and_the_descriptor_says_so(tiny: Path) -> None:
    assert [encoder(tiny, backend=b).description.backend for b in ("auto", "fast", "torch")] == [LABEL, LABEL, TORCH]
    spaces = {encoder(tiny, backend=b).description.space_id for b in ("fast", "torch")}
    assert len(spaces) == 2, "vectors that differ in the last bits are of two spaces"


def test_both_backends_give_one_direction(tiny: Path) -> None:
    fast, torch = ((v / np.linalg.norm(v, axis=1, keepdims=True)) for v in (vectors(tiny), vectors(tiny, backend="torch")))
    assert np.abs(fast - torch).max() < 1e-6
    assert (fast[0] == fast[4]).all()


def test_a_model_of_another_build_runs_in_torch_and_says_why(tiny_models: Path) -> None:
    found = encoder(tiny_models / "dense")
    assert found.description.backend == TORCH
    assert "Dense" in str(found.reading()["backend_note"])
    with pytest.raises(InputError, match="fast backend cannot run dense: its modules are Transformer, Pooling, Dense"):
        encoder(tiny_models / "dense", backend="fast").description  # noqa: B018


def test_an_exported_model_runs_without_torch(tiny: Path) -> None:
    vectors(tiny)
    code = (
        "import sys; from observatory import paths; from observatory.scorers import models; from observatory.scorers.bi_encoder import BiEncoder\n"
        f"BiEncoder(models.locate({str(tiny)!r}), paths.cache_root()).encode(['one more text'], ''); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("damage", ["graph cut", "graph other", "record cut", "record strange", "tokeniser gone", "another version", "a name that leads away"])
def test_a_damaged_export_is_made_again(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "cache"))
    before = vectors(tiny)
    place = exported.place(models.locate(str(tiny)), paths.cache_root())
    (graph,), (tokeniser,), record = place.glob("*.onnx"), place.glob("*.tokeniser.json"), place / exported.RECORD
    said = json.loads(record.read_text())
    if damage == "graph cut":
        graph.write_bytes(graph.read_bytes()[:-100])
    elif damage == "graph other":
        graph.write_bytes(b"\x08\x07" * 40)
    elif damage == "record cut":
        record.write_text(record.read_text()[:-9])
    elif damage == "record strange":
        record.write_text("[1]")
    elif damage == "tokeniser gone":
        tokeniser.unlink()
    else:
        change = {"version": 0} if damage == "another version" else {"graph": f"../{place.name}/{graph.name}"}
        record.write_text(json.dumps(said | change))
    assert exported.read(place) is None
    for shard in paths.cache_root().glob("*/*.npz"):
        shard.unlink()
    assert np.abs(vectors(tiny) - before).max() < 1e-6 and exported.read(place) is not None


def test_an_export_that_gives_other_vectors_is_not_used(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tracing froze shows against torch: the model falls back, and the note says by how much it differed."""
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(exported, "TOLERANCE", -1.0)
    found = encoder(tiny)
    assert found.description.backend == TORCH and "differ from torch's by" in found.reading()["backend_note"]
    assert exported.read(exported.place(models.locate(str(tiny)), paths.cache_root())) is None


def test_a_cache_that_cannot_be_written_is_named(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="exported model cannot be written") as raised:
        encoder(tiny).description  # noqa: B018
    assert "OBSERVATORY_CACHE" in str(raised.value)
    with pytest.raises(InputError, match="embedding cache cannot be written"):
        vectors(tiny, backend="torch")
