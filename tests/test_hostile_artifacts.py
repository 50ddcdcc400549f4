"""Artifacts made to deceive or to break: each is refused alone, and the rest of the store stays as it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from observatory import exports
from observatory.admission import admit
from observatory.errors import ObservatoryError
from observatory.store import Store

Change = Callable[[Path], None]


def edit(change: Callable[[dict[str, Any]], None]) -> Change:
    def apply(folder: Path) -> None:
        path = folder / "artifact.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        change(data)
        path.write_text(json.dumps(data), encoding="utf-8")

    return apply


def retable(name: str, change: Callable[[pa.Table], pa.Table]) -> Change:
    def apply(folder: Path) -> None:
        path = folder / f"{name}.parquet"
        table = pq.read_table(path)
        pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)

    return apply


def without_relations(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("relation")
    return table.set_column(at, table.schema.field(at), pa.nulls(table.num_rows, pa.string()))


def pipe(folder: Path) -> None:
    (folder / "items.parquet").unlink()
    os.mkfifo(folder / "items.parquet")


def link(folder: Path) -> None:
    shutil.move(folder / "items.parquet", folder.parent / "elsewhere.parquet")
    (folder / "items.parquet").symlink_to(folder.parent / "elsewhere.parquet")


HOSTILE: dict[str, Change] = {
    "half a surrogate pair in the run": edit(lambda d: d["run"].update(title="\ud800")),
    "half a surrogate pair in the benchmark": edit(lambda d: d["benchmark"].update(name="\ud800")),
    "a measurement called summary": edit(lambda d: d.update(kind="summary")),
    "an alias that disagrees": edit(
        lambda d: d["margin_sets"]["random"]["descriptor"]["outcomes"].update(recall_at_1_vs_negset=0.123)
    ),
    "a typed set without relations": retable("pairwise", without_relations),
    "items twice": retable("items", lambda t: pa.concat_tables([t, t])),
    "no items": retable("items", lambda t: t.slice(0, 0)),
    "a pipe for a table": pipe,
    "a link for a table": link,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_refused_alone(name: str, artifact: Path, unlocked: Path, tmp_path: Path) -> None:
    store = tmp_path / "hostile"
    shutil.copytree(artifact, store / "good")
    shutil.copytree(unlocked, store / "bad")
    edit(lambda d: d.update(id="bad"))(store / "bad")
    HOSTILE[name](store / "bad")
    with pytest.raises(ObservatoryError):
        admit(store / "bad")
    loaded = Store(store, shipped=())
    assert loaded.artifacts()["artifact_id"].tolist() == [artifact.name]
    assert [Path(p).name for p in loaded.quarantine()["path"]] == ["bad"]


@pytest.mark.parametrize("name", ["x*", "st?x", "a[b]"])
def test_a_folder_name_is_no_pattern(name: str, artifact: Path, unlocked: Path, tmp_path: Path) -> None:
    """The refused neighbour's rows must not come in because the admitted folder's name matches it."""
    store = tmp_path / "globs"
    shutil.copytree(artifact, store / name)
    for neighbour in ("xevil", "stox", "ab"):
        shutil.copytree(unlocked, store / neighbour)
        (store / neighbour / "artifact.json").write_text("{}")
    loaded = Store(store, shipped=())
    assert len(loaded.rows("margins", list(loaded.sets()["set_id"]))) == 80
    assert loaded._connection.cursor().execute("select count(*) from margins").fetchone() == (80,)


def test_a_twin_comes_back_when_the_first_is_removed(artifact: Path, tmp_path: Path) -> None:
    store = tmp_path / "twins"
    for name in ("one", "two"):
        shutil.copytree(artifact, store / name)
    loaded = Store(store, shipped=())
    shutil.rmtree(store / "one")
    loaded.refresh()
    assert loaded.artifacts()["artifact_id"].tolist() == [artifact.name]


def test_the_descriptor_line_of_a_csv_is_no_formula(artifact: Path) -> None:
    store = Store(artifact.parent, shipped=())
    first = exports.csv_bytes(store, list(store.sets()["set_id"])).split(b"\n", 1)[0].decode()
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in first.replace(";", ",").split(","))


def test_leftovers_with_odd_names_stop_no_run(artifact: Path) -> None:
    from observatory.artifacts import sweep

    for name in (".tmp-99999999999999999999999-x", ".tmp-²-x"):
        (artifact.parent / name).mkdir()
    sweep(artifact.parent)
    assert artifact.is_dir()
