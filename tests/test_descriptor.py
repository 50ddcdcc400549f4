"""The descriptor: complete or refused, in YAML and JSON, and its schema as published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from observatory import descriptor
from observatory.admission import admit
from observatory.descriptor import METHODS, NegativeSetDescriptor, control, diff, from_yaml, parse, to_yaml
from observatory.errors import DescriptorRefused, InputError
from observatory.published import from_yaml as published
from tests.conftest import ROOT


@pytest.fixture
def good(artifact: Path) -> NegativeSetDescriptor:
    return admit(artifact).descriptors["random"]


def test_yaml_and_json_round_trip(artifact: Path) -> None:
    for d in admit(artifact).descriptors.values():
        assert from_yaml(to_yaml(d)) == d
        assert from_yaml(json.dumps(d.model_dump())) == d
        assert to_yaml(d).startswith("negative_set_descriptor:")


def test_published_schema_is_the_code_s_schema() -> None:
    path = ROOT / "data" / "schema" / "negative-set-descriptor.schema.json"
    assert json.loads(path.read_text(encoding="utf-8")) == descriptor.json_schema()


def test_all_methods_of_the_design_are_known() -> None:
    expected = "random bm25 in_model cross_model score_window structured_perturbation entity_matched lexical_overlap_matched"
    assert set(METHODS) == set(expected.split())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mining.slice", "not_measured"), ("corpus_hash", "not_measured"), ("mining.method", "mined"),
        ("outcomes.mean_margin", float("nan")), ("outcomes.mean_margin", "0.5"), ("outcomes.n_queries", True),
        ("outcomes.selected_positive_win_rate", 1.5), ("accounting.n_excluded", -1), ("accounting.n_excluded", 1),
        ("scorer.space_id", "0" * 16), ("scorer.name", ""), ("corpus_hash", "8cad"), ("mining", None), ("scorer", []),
        ("corpus_hash", "not_recorded"), ("mining.rng_seed", "not_recorded"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused_and_named(good: NegativeSetDescriptor, path: str, value: object) -> None:
    data = good.model_dump()
    parent, _, key = path.rpartition(".")
    (data[parent] if parent else data)[key] = value
    with pytest.raises(DescriptorRefused) as caught:
        parse(data, subject="test")
    assert any(fault.startswith((path, path.split(".")[0])) for fault in caught.value.faults)


def test_a_fault_is_listed_once_a_field(good: NegativeSetDescriptor) -> None:
    data = good.model_dump()
    del data["mining"]["slice"], data["scorer"]["prompts"], data["outcomes"]["mean_ci"]
    with pytest.raises(DescriptorRefused) as caught:
        parse(data, subject="test")
    assert sorted(fault.split(":")[0] for fault in caught.value.faults) == ["mining.slice", "outcomes.mean_ci", "scorer.prompts"]


def test_published_alias_is_read_as_the_win_rate(good: NegativeSetDescriptor) -> None:
    data = good.model_dump()
    data["outcomes"]["recall_at_1_vs_negset"] = data["outcomes"].pop("selected_positive_win_rate")
    assert parse(data, subject="test") == good


def test_controlled_and_confounded(artifact: Path) -> None:
    sets = admit(artifact).descriptors
    assert control(diff(sets["random"], sets["bm25"])) == "controlled: only mining differs"
    assert control(diff(sets["random"], sets["random"])) == "identical: the same instrument"
    other = sets["bm25"].model_dump()
    other["corpus_hash"] = "0" * 64
    found = diff(sets["random"], parse(other, subject="test"))
    assert control(found) == "confounded: corpus_hash and mining differ"
    assert found["corpus_hash"][1] == "0" * 64


def test_row_1_8_ships_as_published() -> None:
    """Every figure of the article's two tables, and what was not measured said in words."""
    source = published(ROOT / "data" / "published" / "sources" / "row-1.8.yaml")
    shipped = admit(ROOT / "data" / "published" / "published-row-1.8")
    assert shipped.locked and dict(shipped.descriptors) == dict(source.descriptors)
    means = {rule: d.outcomes.mean_margin for rule, d in shipped.descriptors.items()}
    assert means == {"random": 0.4738, "in_model[2:7]": 0.2094, "structured_perturbation": 0.0932, "bm25": 0.0595}
    for d in shipped.descriptors.values():
        assert d.outcomes.median_margin == d.outcomes.n_eq_zero == d.outcomes.mean_ci == "not_measured"
        assert {"scorer.dtype", "scorer.prompts"} <= set(descriptor.not_recorded(d))
    assert "mining.rng_seed" in descriptor.not_recorded(shipped.descriptors["random"])
    strata = shipped.descriptors["structured_perturbation"].strata
    assert {k: s.mean_pairwise_margin for k, s in strata.items()} == {
        "negation": 0.1357, "relation-swap": 0.0252, "temporal-mismatch": 0.0970,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["[", "a: b: c", "- 1", "!!python/object/apply:os.system ['true']", ""])
def test_yaml_that_is_no_descriptor(text: str) -> None:
    with pytest.raises((InputError, DescriptorRefused)):
        from_yaml(text)
