"""The golden values of DESIGN D7 on RELATE 0.1.0, with the real models."""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory.admission import admit
from observatory.artifacts import Artifact
from observatory.runs import Plan, run

FOUR = ("random", "in_model[2:7]", "structured_perturbation", "bm25")
MEASURED = {
    "random": (0.4738, 1.0000), "in_model[2:7]": (0.2094, 0.9814), "structured_perturbation": (0.0932, 0.9331), "bm25": (0.0595, 0.7621),
}  # fmt: skip
PAIRWISE = {"negation": (0.1357, 257), "relation-swap": (0.0252, 61), "temporal-mismatch": (0.0970, 24)}


@pytest.fixture(scope="module")
def measured(shared_data: Path, mpnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    plan = Plan(str(shared_data / "relate-0.1.0"), str(mpnet), FOUR, seed=1729, bm25="shipped")
    return admit(run(plan, tmp_path_factory.mktemp("golden")))


@pytest.mark.slow
@pytest.mark.parametrize("rule", FOUR)
def test_mean_margin_and_win_rate_to_four_decimals(measured: Artifact, rule: str) -> None:
    outcomes = measured.descriptors[rule].outcomes
    assert (round(outcomes.mean_margin, 4), round(outcomes.selected_positive_win_rate, 4)) == MEASURED[rule]
    assert outcomes.n_queries == 269


@pytest.mark.slow
def test_pairwise_margins_by_relation(measured: Artifact) -> None:
    strata = measured.descriptors["structured_perturbation"].strata
    assert {name: (round(s.mean_pairwise_margin, 4), s.n) for name, s in strata.items()} == PAIRWISE


@pytest.mark.slow
def test_the_draw_is_a_favourable_one(measured: Artifact) -> None:
    expectation = measured.descriptors["random"].expectation
    assert round(expectation.mean_margin, 4) == 0.4666
    assert round(expectation.sd_of_mean_margin, 3) == 0.007


@pytest.mark.slow
def test_ratios_are_quotients_of_the_means(measured: Artifact) -> None:
    """Published as 7.96, 5.08 and 2.26, from means rounded to four decimals; so are these."""
    means = {rule: round(measured.descriptors[rule].outcomes.mean_margin, 4) for rule in FOUR}
    ratios = [means["random"] / means[rule] for rule in ("bm25", "structured_perturbation", "in_model[2:7]")]
    assert [round(r, 2) for r in ratios] == [7.96, 5.08, 2.26]


@pytest.mark.slow
def test_bundled_model_fills_the_whole_table(shared_data: Path, tmp_path: Path) -> None:
    rules = (*FOUR, "in_model", "entity_matched", "lexical_overlap_matched")
    artifact = admit(run(Plan(str(shared_data / "relate-0.1.0"), "all-MiniLM-L6-v2", rules, seed=1729), tmp_path))
    assert list(artifact.descriptors) == list(rules)
    for descriptor in artifact.descriptors.values():
        assert descriptor.accounting.n_attempted == 269
        assert isinstance(descriptor.outcomes.mean_margin, float)
        assert not isinstance(descriptor.outcomes.mean_ci.low, str)
