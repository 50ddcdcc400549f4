"""The store: what is admitted, what is not, and many readers and writers at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from observatory.admission import admit
from observatory.errors import InputError
from observatory.runs import Plan, run
from observatory.store import Store


@pytest.fixture
def store(artifact: Path) -> Store:
    return Store(artifact.parent, shipped=())


def test_sets_equal_their_descriptors(store: Store, artifact: Path) -> None:
    sets = store.sets().set_index("rule")
    for rule, d in admit(artifact).descriptors.items():
        assert sets.loc[rule, "mean_margin"] == d.outcomes.mean_margin
        assert sets.loc[rule, "n_scored"] == d.accounting.n_scored
        assert store.descriptor(sets.loc[rule, "set_id"]) == d


def test_bins_have_zero_as_an_edge_and_lose_nobody(store: Store) -> None:
    ids = list(store.sets()["set_id"])
    for width in (0.05, 0.3, 1 / 3, 2.0):
        bins = store.histogram(ids, width)
        tails = store.tails(ids).set_index("set_id")
        for set_id, rows in bins.groupby("set_id"):
            assert rows["n"].sum() == tails.loc[set_id, "n"]
            assert rows.loc[rows["bin"] < 0, "n"].sum() == tails.loc[set_id, "n_lt"]


def test_ecdf_reads_the_loss_rate_off_exactly(store: Store) -> None:
    for set_id in store.sets()["set_id"]:
        steps, tails = store.ecdf([set_id], points=3), store.tails([set_id]).iloc[0]
        below = steps[steps["margin"] < 0]["share"]
        assert (below.max() if len(below) else 0) == pytest.approx(tails["n_lt"] / tails["n"])
        assert steps["share"].iloc[-1] == 1


def test_queries_of_a_bin_come_with_their_texts(store: Store) -> None:
    for set_id in store.sets()["set_id"]:
        found = store.queries_in(set_id, -1e9, 1e9)
        assert len(found) == store.tails([set_id]).iloc[0]["n"]
        assert found[["query", "reference", "hardest"]].notna().all().all()
        assert found["margin"].is_monotonic_increasing
        negatives = store.negatives_of(set_id, found["query_id"].iloc[0])
        assert negatives["score"].max() == found["hardest_score"].iloc[0]


def test_ids_with_quotes_are_only_values(store: Store) -> None:
    hostile = "x' or '1'='1"
    assert store.queries_in(hostile, -1, 1).empty
    assert store.negatives_of(hostile, hostile).empty
    with pytest.raises(InputError):
        store.descriptor(hostile)


def test_folders_with_quotes_and_spaces_are_read(artifact: Path, tmp_path: Path) -> None:
    odd = tmp_path / "it's a \"store\" {1}"
    shutil.copytree(artifact.parent, odd)
    assert len(Store(odd, shipped=()).rows("margins", [f"{artifact.name}/random"])) == 16


def test_a_set_without_descriptor_violates_a_constraint(store: Store) -> None:
    cursor = store._connection.cursor()
    with pytest.raises(duckdb.ConstraintException):
        cursor.execute("update margin_sets set descriptor = null")
    with pytest.raises(duckdb.ConstraintException):
        cursor.execute("insert into margin_sets (set_id, artifact_id) values ('x/y', 'x')")


def test_new_changed_and_removed_artifacts_are_followed(store: Store, artifact: Path, small: Path) -> None:
    assert not store.refresh()
    second = run(Plan(str(small), "bm25:bm25s", ("random",)), artifact.parent)
    assert store.refresh() and len(store.artifacts()) == 2
    (second / "margins.parquet").write_bytes(b"changed")
    assert store.refresh() and len(store.artifacts()) == 1
    assert store.quarantine()["exit_code"].tolist() == [3]
    shutil.rmtree(second)
    assert store.refresh() and store.quarantine().empty


def test_a_copy_counts_once_and_a_forgery_is_quarantined(store: Store, artifact: Path) -> None:
    shutil.copytree(artifact, artifact.parent / "copy")
    forged = artifact.parent / "forged"
    shutil.copytree(artifact, forged)
    (forged / "lock.json").unlink()
    store.refresh()
    assert len(store.artifacts()) == 1
    assert store.quarantine()["path"].tolist() == [str(forged)]


def test_readers_in_threads_agree(store: Store) -> None:
    expected, wrong = store.sets().to_json(), []

    def read() -> None:
        for _ in range(20):
            if store.sets().to_json() != expected or store.extent(list(store.sets()["set_id"])) is None:
                wrong.append(1)
            store.refresh()

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_processes_at_once_lose_nothing(small: Path, tmp_path: Path) -> None:
    """Four runs into one store while a reader follows it: all four are there, and nobody failed."""
    out = tmp_path / "shared"
    command = [sys.executable, "-m", "observatory", "run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--out", str(out), "--json"]
    processes = [subprocess.Popen([*command, "--seed", str(i)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(4)]
    store = Store(out, shipped=())
    while any(p.poll() is None for p in processes):
        store.refresh()
        assert store.quarantine().empty
    printed = [p.communicate() for p in processes]
    assert [p.returncode for p in processes] == [0] * 4, printed
    store.refresh()
    assert set(store.artifacts()["artifact_id"]) == {json.loads(o)["id"] for o, _ in printed}


def test_saved_copy_has_everything(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy.duckdb"
    store.save(target)
    with duckdb.connect(str(target), read_only=True) as copy:
        assert copy.execute("select count(*) from margins").fetchone() == (80,)
        assert copy.execute("select count(*) from margin_sets where descriptor is not null").fetchone() == (5,)
    with pytest.raises(InputError, match="there already"):
        store.save(target)
