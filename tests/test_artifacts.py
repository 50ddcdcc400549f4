"""Artifacts: whole or absent, locked to the byte, refused where description and numbers disagree."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory import artifacts, lock
from observatory.admission import admit
from observatory.cli import main
from observatory.descriptor import DescriptorRefused, walk
from observatory.errors import InputError, TamperedError
from observatory.runs import Plan, run
from observatory.store import Store


def test_round_trip(artifact: Path) -> None:
    read = admit(artifact)
    assert read.locked
    assert list(read.descriptors) == ["random", "in_model[0:3]", "bm25", "structured_perturbation", "entity_matched"]
    assert read.tables["margins"].num_rows == 16 * 5


def test_margin_is_the_difference_to_the_bit(artifact: Path) -> None:
    for row in admit(artifact).tables["margins"].to_pylist():
        assert row["margin"] == row["reference_score"] - row["hardest_score"]


def test_every_flipped_byte_is_found_and_its_file_named(artifact: Path, tmp_path: Path) -> None:
    """One byte in each file, at its start, middle and end."""
    for path in sorted(artifact.iterdir()):
        size = path.stat().st_size
        for position in (0, size // 2, size - 1):
            flipped = tmp_path / "flipped"
            shutil.copytree(artifact, flipped)
            raw = bytearray((flipped / path.name).read_bytes())
            raw[position] ^= 0x01
            (flipped / path.name).write_bytes(raw)
            with pytest.raises(TamperedError) as caught:
                artifacts.verify(flipped)
            assert path.name in caught.value.files, (path.name, position)
            assert main(["verify", str(flipped)]) == 3
            shutil.rmtree(flipped)


def test_every_byte_of_the_lock_counts(artifact: Path) -> None:
    raw = (artifact / "lock.json").read_bytes()
    for position in range(0, len(raw), 7):
        changed = bytearray(raw)
        changed[position] ^= 0x02
        (artifact / "lock.json").write_bytes(changed)
        with pytest.raises(TamperedError):
            lock.verify(artifact)


@pytest.mark.parametrize("change", ["added", "removed"])
def test_added_and_removed_files_are_named(artifact: Path, change: str) -> None:
    if change == "added":
        (artifact / "extra.txt").write_text("x")
    else:
        (artifact / "pairwise.parquet").unlink()
    with pytest.raises(TamperedError) as caught:
        lock.verify(artifact)
    assert caught.value.files == (("extra.txt",) if change == "added" else ("pairwise.parquet",))


def test_links_are_refused(artifact: Path) -> None:
    (artifact / "link").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="link"):
        admit(artifact)


def test_unlocked_copy_is_admitted_with_its_badge(unlocked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", str(unlocked), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["ingested"]
    assert entry["lock"] == "unlocked"
    assert list(Store().artifacts()["lock_state"]) == ["unlocked"]


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))


def _at(data: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path[:-1]:
        data = data[key]
    return data


def _falsified(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 1e-6 if value < 0.5 else value - 1e-6
    if isinstance(value, str):
        return value + "x" if value else "x"
    return {**value, "invented": 1} if isinstance(value, dict) else [value]


def test_every_field_removed_or_falsified_is_refused(unlocked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = unlocked / "artifact.json"
    good = json.loads(manifest.read_text(encoding="utf-8"))
    tried = 0
    for rule in ("random", "structured_perturbation", "bm25"):
        paths = list(_leaves(good["margin_sets"][rule]["descriptor"]))
        assert len(paths) > 55
        for path in paths:
            for mode in ("removed", "falsified"):
                bad = copy.deepcopy(good)
                parent = _at(bad["margin_sets"][rule]["descriptor"], path)
                if mode == "removed":
                    del parent[path[-1]]
                else:
                    parent[path[-1]] = _falsified(parent[path[-1]])
                manifest.write_text(json.dumps(bad), encoding="utf-8")
                assert main(["ingest", str(unlocked), "--json"]) == 4, (rule, path, mode)
                faults = json.loads(capsys.readouterr().out)["refused"][0]["faults"]
                assert any(path[-1] in fault or path[0] in fault for fault in faults), (rule, path, mode, faults)
                tried += 1
    assert tried > 300
    manifest.write_text(json.dumps(good), encoding="utf-8")
    assert main(["ingest", str(unlocked)]) == 0


def test_quarantine_lists_the_fields_and_shows_no_number(unlocked: Path) -> None:
    manifest = unlocked / "artifact.json"
    data = json.loads(manifest.read_text(encoding="utf-8"))
    del data["margin_sets"]["random"]["descriptor"]["mining"]["rng_seed"]
    manifest.write_text(json.dumps(data), encoding="utf-8")
    assert main(["ingest", str(unlocked), "--quiet"]) == 4
    store = Store()
    assert store.sets().empty
    assert store.rows("margins", ["anything"]).empty
    (reasons,) = store.quarantine()["reasons"]
    assert any("mining.rng_seed" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("column", "change"), [("margin", 0.5), ("outcome", "loss"), ("hardest_item_id", "t3"), ("n_negatives", 9), ("cluster_id", "t1")]
)
def test_falsified_rows_are_refused(unlocked: Path, column: str, change: Any) -> None:
    path = unlocked / "margins.parquet"
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[0] = change
    index = table.schema.get_field_index(column)
    changed = table.set_column(index, table.schema.field(column), pa.array(values, table.schema.field(column).type))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(DescriptorRefused):
        admit(unlocked)


def test_missing_rows_are_refused(unlocked: Path) -> None:
    path = unlocked / "margins.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(0, table.num_rows - 1), path)
    with pytest.raises(DescriptorRefused, match="one row for each attempted query"):
        admit(unlocked)


def test_tables_without_descriptor_are_refused(unlocked: Path) -> None:
    path = unlocked / "pairwise.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with pytest.raises(DescriptorRefused, match="carries no descriptor"):
        admit(unlocked)


@pytest.mark.parametrize("garbage", [b"", b"PAR1", b"\x00" * 1000])
def test_broken_parquet_is_bad_input(unlocked: Path, garbage: bytes) -> None:
    (unlocked / "margins.parquet").write_bytes(garbage)
    assert main(["ingest", str(unlocked)]) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', '{"schema_version": 1}', "[" * 5000, '{"schema_version": 1, "kind": "measurement"}'])
def test_broken_manifest_is_refused_with_a_sentence(unlocked: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (unlocked / "artifact.json").write_text(text)
    assert main(["ingest", str(unlocked)]) in (2, 4)
    assert "Traceback" not in capsys.readouterr().err


def test_an_artifact_is_never_overwritten(artifact: Path) -> None:
    read = admit(artifact)
    with pytest.raises(InputError, match="there already"):
        artifacts.write(artifact.parent, read)


def test_full_disk_leaves_nothing(artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    read = admit(artifact)
    with pytest.raises(InputError, match="No space left"):
        artifacts.write(tmp_path / "full", read)
    assert list((tmp_path / "full").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="a full file system needs root and mount")
def test_a_really_full_disk_exits_2(small: Path, tmp_path: Path) -> None:
    """A 20 KiB file system: the artifact does not fit, and nothing of it stays."""
    target = tmp_path / "tiny"
    target.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", str(target)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        done = _run_cli("run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random", "--out", str(target))
        assert done.returncode == 2, done.stderr
        assert "No space left" in done.stderr and "Traceback" not in done.stderr
        assert list(target.iterdir()) == []
    finally:
        subprocess.run(["umount", str(target)], check=True)


def _run_cli(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "observatory", *words], capture_output=True, text=True, timeout=300, **more)


KILLER = """
import os, signal, sys, time
from pathlib import Path
import sentence_transformers  # loaded once: each child starts where the work starts
from observatory import artifacts, runs
from observatory.admission import admit
small, out, cache = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
plan = runs.Plan(small, "all-MiniLM-L6-v2", ("random", "bm25", "structured_perturbation"))

def child():
    pid = os.fork()
    if pid == 0:
        os.environ["OBSERVATORY_CACHE"] = str(cache / str(attempt // 8))  # a cold cache every eight attempts
        runs.run(plan, out)
        os._exit(0)
    return pid

attempt, killed, whole = 0, 0, None
while killed < 24 and attempt < 90:
    started = time.monotonic()
    pid = child()
    if whole is not None:
        time.sleep(whole * (attempt % 12 + 0.5) / 12)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        killed += 1
    else:
        assert status == 0, status
        whole = time.monotonic() - started
    attempt += 1
    for folder in out.iterdir() if out.is_dir() else ():
        if artifacts.is_artifact(folder):
            admit(folder)
        else:
            assert folder.name.startswith(artifacts.TEMPORARY), folder
print(killed)
"""


@pytest.mark.slow
def test_killed_at_any_moment(small: Path, tmp_path: Path) -> None:
    """SIGKILL at 24 points of a run with the bundled model: only whole artifacts, and the next run finishes and sweeps."""
    out, cache = tmp_path / "killed", tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(small), str(out), str(cache)], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 20
    last = _run_cli("run", "--benchmark", str(small), "--rules", "random", "--out", str(out), "--quiet")
    assert last.returncode == 0, last.stderr
    assert all(artifacts.is_artifact(folder) for folder in out.iterdir()), "a later run sweeps what killed ones left"


@pytest.mark.slow
def test_finished_work_is_not_done_again(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that dies while encoding leaves its shards; the next one encodes only what is missing."""
    from observatory.scorers import bi_encoder
    from observatory.scorers.cache import EmbeddingCache, Vectors

    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bi_encoder, "SHARD", 8)
    kept: list[bytes] = []
    add = EmbeddingCache.add

    def counting(self: EmbeddingCache, keys: Sequence[bytes], vectors: Vectors) -> None:
        if len(kept) == 24:
            monkeypatch.setattr(EmbeddingCache, "add", recording)
            raise KeyboardInterrupt
        recording(self, keys, vectors)

    def recording(self: EmbeddingCache, keys: Sequence[bytes], vectors: Vectors) -> None:
        kept.extend(keys)
        add(self, keys, vectors)

    monkeypatch.setattr(EmbeddingCache, "add", counting)
    plan = Plan(str(small), "all-MiniLM-L6-v2", ("in_model",), batch_size=8)
    with pytest.raises(KeyboardInterrupt):
        run(plan, tmp_path / "out")
    assert len(kept) == 24
    run(plan, tmp_path / "out")
    assert len(kept) == len(set(kept)) == 64 + 16, "64 items and 16 queries, each once over both runs"


def test_leaf_walk_of_the_test_matches_the_descriptor(artifact: Path) -> None:
    """The falsification test above visits every leaf that the descriptor has."""
    for d in admit(artifact).descriptors.values():
        data = json.loads(json.dumps(d.model_dump()))
        visited = {".".join(p) for p in _leaves(data) if not isinstance(_at(data, p)[p[-1]], dict)}
        assert {path for path, _ in walk(data)} == visited
