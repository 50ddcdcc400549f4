"""Completing published descriptors by hand: asserted, signed, bound to the content, and never a measurement."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from observatory import artifacts, completion
from observatory.admission import admit
from observatory.artifacts import Artifact
from observatory.errors import InputError
from observatory.store import Store
from tests.conftest import ROOT

ROW = ROOT / "data" / "published" / "published-row-1.8"


@pytest.fixture
def published(tmp_path: Path) -> Artifact:
    shutil.copytree(ROW, tmp_path / "store" / ROW.name)
    return admit(tmp_path / "store" / ROW.name)


@pytest.fixture
def root(published: Artifact, tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_value_is_kept_with_who_when_and_the_lock(published: Artifact, root: Path) -> None:
    added = completion.record(root, published, ["random"], {"scorer.dtype": "float32", "mining.rng_seed": "1729"}, " Ada ")
    assert [(a.field, a.value, a.who) for a in added] == [("scorer.dtype", "float32", "Ada"), ("mining.rng_seed", 1729, "Ada")]
    assert added[0].when.endswith("Z") and len(added[0].lock_sha256) == 64
    found = completion.read(root).of(published.id, completion.lock_hash(published), "random")
    assert found == {a.field: a for a in added}
    assert completion.read(root).of(published.id, "0" * 64, "random") == {}, "other content is not completed"
    line = json.loads((root / "ledgers" / "completions.jsonl").read_text().splitlines()[0])
    assert set(line) == {*completion.KEYS, "previous", "sha256"}


def test_the_artifact_and_the_store_stay_what_they_are(published: Artifact, root: Path) -> None:
    before = {p.name: p.read_bytes() for p in (root / published.id).iterdir()}
    sets = Store(root, ()).sets()
    for rule in published.descriptors:
        fields = completion.fields(published.descriptors[rule])
        values = {f: "float32" for f in fields if f in ("scorer.dtype", "scorer.backend", "scorer.revision", "scorer.pooling")}
        completion.record(root, published, [rule], values, "Ada")
    assert {p.name: p.read_bytes() for p in (root / published.id).iterdir()} == before
    store = Store(root, ())
    assert store.sets().equals(sets) and set(store.artifacts()["kind"]) == {"summary"}
    assert set(sets["n_not_recorded"]) != {0} and store.rows("margins", list(sets["set_id"])).empty
    assert store.quarantine().empty, "a ledger is no artifact"


def test_a_measurement_and_a_refused_folder_cannot_be_completed(published: Artifact, root: Path, tmp_path: Path) -> None:
    measurement = Artifact(published.id, "measurement", {}, {}, published.descriptors, {}, locked=True, path=published.path)
    with pytest.raises(InputError, match="never completed by hand"):
        completion.record(root, measurement, ["random"], {"scorer.dtype": "float32"}, "Ada")
    orphan = root / "orphan"
    shutil.copytree(ROW, orphan)
    manifest = json.loads((orphan / "artifact.json").read_text())
    manifest |= {"kind": "measurement", "id": "orphan"}
    (orphan / "artifact.json").write_text(json.dumps(manifest))
    (orphan / "lock.json").unlink()
    completion.record(root, published, list(published.descriptors), {"scorer.dtype": "float32"}, "Ada")
    store = Store(root, ())
    assert list(store.quarantine()["artifact_id"]) == ["orphan"] and list(store.artifacts()["artifact_id"]) == [published.id]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("scorer.name", "another", "no field that can be completed"), ("outcomes.p05", "0.1", "no field that can be completed"),
        ("outcomes.mean_margin", "0.9", "no field that can be completed"), ("expectation", "{mean_margin: 1.0, win_rate: 1.0, sd_of_mean_margin: 0.0}", "no field"),
        ("scorer.space_id", "0" * 16, "no field that can be completed"), ("nowhere.at.all", "1", "no field that can be completed"),
        ("mining.rng_seed", "many", "cannot hold this"), ("mining.rng_seed", "-1", "cannot hold this"), ("mining.rng_seed", "1.5", "cannot hold this"),
        ("scorer.weights_sha256", "abc", "cannot hold this"), ("scorer.prompts", "{query: a}", "cannot hold this"),
        ("scorer.dtype", "not_recorded", "takes a value"), ("scorer.dtype", "not_measured", "takes a value"), ("scorer.dtype", "x" * 2001, "takes a value"),
        ("accounting.reasons", "!!python/object/apply:os.system [ls]", "cannot hold this"), ("scorer.dtype", "   ", "nothing was filled in"),
    ],
)
def test_what_cannot_be_stated(field: str, value: str, words: str, published: Artifact, root: Path) -> None:
    with pytest.raises(InputError, match=words):
        completion.record(root, published, ["random"], {field: value}, "Ada")
    assert completion.read(root).history == ()


@pytest.mark.parametrize("who", ["", "   ", "x" * 81])
def test_somebody_must_state_it(who: str, published: Artifact, root: Path) -> None:
    with pytest.raises(InputError, match="must be named"):
        completion.record(root, published, ["random"], {"scorer.dtype": "float32"}, who)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("scorer.dtype", "16", "16"), ("scorer.dtype", "yes", "yes"), ("scorer.max_length", "384", 384), ("mining.rng_seed", "not_applicable", "not_applicable"),
        ("scorer.prompts", "{query: 'q: ', item: ''}", {"query": "q: ", "item": ""}), ("scorer.revision", "2024-01-01", "2024-01-01"),
        ("accounting.reasons", "{no positive: 2}", {"no positive": 2}), ("scorer.backend", "a\nb: [", "a\nb: ["),
    ],
)
def test_text_becomes_what_the_descriptor_holds(field: str, text: str, value: object, published: Artifact, root: Path) -> None:
    assert completion.record(root, published, ["random"], {field: text}, "Ada")[0].value == value


def test_values_are_checked_together_with_earlier_ones(published: Artifact, root: Path) -> None:
    scored = published.descriptors["random"].accounting.n_scored
    completion.record(root, published, ["random"], {"accounting.n_excluded": "0", "accounting.n_failed": "0"}, "Ada")
    with pytest.raises(InputError, match="is not scored"):
        completion.record(root, published, ["random"], {"accounting.n_attempted": str(scored + 1)}, "Ada")
    completion.record(root, published, ["random"], {"accounting.n_attempted": str(scored)}, "Ada")


def test_the_latest_stands_and_may_be_withdrawn(published: Artifact, root: Path) -> None:
    for value, who in (("float32", "Ada"), ("bfloat16", "Bo")):
        completion.record(root, published, ["random"], {"scorer.dtype": value}, who)
    lock = completion.lock_hash(published)
    assert completion.read(root).of(published.id, lock, "random")["scorer.dtype"].who == "Bo"
    completion.record(root, published, ["random"], {"scorer.dtype": "not_recorded"}, "Ada")
    assert completion.read(root).of(published.id, lock, "random") == {} and len(completion.read(root).history) == 3


def test_several_sets_at_once_leave_recorded_fields_alone(published: Artifact, root: Path) -> None:
    added = completion.record(root, published, list(published.descriptors), {"mining.rng_seed": "1", "scorer.dtype": "float32"}, "Ada")
    by_field = {f: {a.rule for a in added if a.field == f} for f in ("mining.rng_seed", "scorer.dtype")}
    assert by_field["scorer.dtype"] == set(published.descriptors)
    assert by_field["mining.rng_seed"] == {r for r, d in published.descriptors.items() if d.mining.rng_seed == "not_recorded"}


def test_a_broken_ledger_is_said_to_be_and_not_used(published: Artifact, root: Path) -> None:
    completion.record(root, published, ["random"], {"scorer.dtype": "float32"}, "Ada")
    path = root / completion.PLACE
    path.write_bytes(path.read_bytes().replace(b"Ada", b"Bob"))
    found = completion.read(root)
    assert found.history == () and found.fault is not None and "line 1" in found.fault
    with pytest.raises(InputError, match="broken"):
        completion.record(root, published, ["random"], {"scorer.dtype": "float32"}, "Ada")


def test_an_unlocked_artifact_cannot_be_completed(published: Artifact, root: Path) -> None:
    (root / published.id / "lock.json").unlink()
    with pytest.raises(InputError, match=r"no lock\.json"):
        completion.record(root, artifacts.read_descriptors(root / published.id), ["random"], {"scorer.dtype": "float32"}, "Ada")


def test_comments_stay_comments(published: Artifact, root: Path) -> None:
    completion.record(root, published, ["random"], {"scorer.backend": "torch\nscorer: {name: other}"}, "A\nda")
    text = completion.as_comments(completion.read(root).of(published.id, completion.lock_hash(published), "random"))
    assert all(line.startswith("# asserted") for line in text.splitlines()) and "A\\nda" in text
