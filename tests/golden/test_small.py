"""A small benchmark whose every margin is worked out by hand: always tested, no model needed.

Scores are written down below; three queries, two domains. q2 has no grade-3 positive and is excluded. q3's negative
has the text of its positive, so their scores are one score and the margin is a tie.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from observatory import benchmarks, runs
from observatory.runs import Plan
from tests.conftest import TableScorer, item, query, relate_folder

SCORES = {
    ("one", "A"): 0.9, ("one", "B"): 0.7, ("one", "C"): 0.6, ("one", "D"): 0.95, ("one", "E"): 0.1, ("one", "F"): 0.3,
    ("three", "A"): 0.2, ("three", "B"): 0.1, ("three", "C"): 0.4, ("three", "D"): 0.3, ("three", "E"): 0.8, ("three", "F"): 0.5,
}  # fmt: skip
NEGATIVES = {
    "q1": [("b", "structured_perturbation", "negation"), ("d", "structured_perturbation", "relation-swap"), ("f", "entity_matched", "entity-related")],
    "q3": [("e2", "structured_perturbation", "negation"), ("f", "structured_perturbation", "negation")],
}  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, list[dict]]:
    items = [item(i, i.upper(), "x" if i in "abc" else "y") for i in "abcdef"] + [item("e2", "E", "y")]
    queries = [
        query("q1", "one", "a", {"a": 3, "c": 1}, NEGATIVES["q1"]),
        query("q2", "two", "b", {"b": 2}),
        query("q3", "three", "e", {"e": 3}, NEGATIVES["q3"]),
    ]
    ranking = [
        {"query_id": q, "item_id": i, "bm25": 1.0} for q, order in (("q1", "dacb"), ("q3", "fda")) for i in order
    ]
    folder = relate_folder(tmp_path / "tiny", items, queries, bm25_scores=ranking)
    rules = ("random", "in_model", "in_model[1:3]", "bm25", "structured_perturbation", "entity_matched")
    prepared = runs.prepare(Plan(str(folder), "table", rules, k=2, seed=7), benchmarks.read(folder))
    scorer = TableScorer(lambda q, t: SCORES.get((q, t), 0.0))
    measured = runs.measure(prepared, scorer)
    self_described = runs.describe(prepared, scorer, measured)
    return {name: t.to_pylist() for name, t in measured.items()} | {"descriptors": [self_described]}  # type: ignore[list-item]


def margin_row(tables: dict, rule: str, query_id: str) -> dict:
    (row,) = [r for r in tables["margins"] if r["rule"] == rule and r["query_id"] == query_id]
    return row


def chosen(tables: dict, rule: str, query_id: str) -> list[str]:
    return [r["negative_item_id"] for r in tables["pairwise"] if r["rule"] == rule and r["query_id"] == query_id]


def test_in_model_is_the_models_own_ranking_without_positives(tables: dict) -> None:
    assert chosen(tables, "in_model", "q1") == ["d", "b"]
    assert margin_row(tables, "in_model", "q1")["margin"] == 0.9 - 0.95
    assert margin_row(tables, "in_model", "q1")["outcome"] == "loss"
    assert chosen(tables, "in_model[1:3]", "q1") == ["b", "f"]
    assert margin_row(tables, "in_model[1:3]", "q1")["margin"] == pytest.approx(0.2)


def test_equal_texts_tie_exactly(tables: dict) -> None:
    row = margin_row(tables, "structured_perturbation", "q3")
    assert (row["margin"], row["outcome"], row["hardest_item_id"]) == (0.0, "tie", "e2")
    assert chosen(tables, "in_model", "q3") == ["e2", "f"]


def test_shipped_bm25_is_used_in_file_order(tables: dict) -> None:
    assert chosen(tables, "bm25", "q1") == ["d", "b"], "a and c are positives"
    assert chosen(tables, "bm25", "q3") == ["f", "d"]
    assert margin_row(tables, "bm25", "q3")["margin"] == pytest.approx(0.3)


def test_queries_without_reference_or_negatives_are_counted(tables: dict) -> None:
    assert margin_row(tables, "random", "q2")["reason"] == "no grade-3 positive"
    assert margin_row(tables, "entity_matched", "q3")["reason"] == "empty negative set"
    (descriptors,) = tables["descriptors"]
    accounting = descriptors["entity_matched"].accounting
    assert (accounting.n_attempted, accounting.n_scored, accounting.n_excluded, accounting.n_failed) == (3, 1, 2, 0)
    assert accounting.reasons == {"empty negative set": 1, "no grade-3 positive": 1}


def test_pairwise_strata_are_means_over_negatives(tables: dict) -> None:
    (descriptors,) = tables["descriptors"]
    strata = descriptors["structured_perturbation"].strata
    assert strata["negation"].n == 3  # b for q1, e2 and f for q3
    assert strata["negation"].mean_pairwise_margin == pytest.approx((0.2 + 0.0 + 0.3) / 3)
    assert strata["relation-swap"].mean_pairwise_margin == pytest.approx(-0.05)


def test_random_draws_from_the_targets_domain_and_knows_its_expectation(tables: dict) -> None:
    assert chosen(tables, "random", "q1") == ["b"], "domain x without the positives a and c: all of the pool"
    assert set(chosen(tables, "random", "q3")) <= {"d", "f", "e2"}
    (descriptors,) = tables["descriptors"]
    # q1: one draw possible, 0.2. q3: pool 0.3, 0.5, 0.8 and two drawn: maximum 0.5 in 1 of 3 draws, 0.8 in 2 of 3.
    assert descriptors["random"].expectation.mean_margin == pytest.approx((0.2 + (0.3 * 1 + 0.0 * 2) / 3) / 2)
    assert descriptors["random"].expectation.win_rate == pytest.approx((1 + 1 / 3) / 2)


def test_outcomes(tables: dict) -> None:
    (descriptors,) = tables["descriptors"]
    o = descriptors["structured_perturbation"].outcomes
    assert (o.n_lt_zero, o.n_eq_zero, o.n_gt_zero, o.n_queries) == (1, 1, 0, 2)
    assert o.mean_margin == pytest.approx(-0.025)
    assert (o.selected_positive_win_rate, o.fraction_margin_le_zero) == (0.0, 1.0)
    assert o.mean_ci.low == "not_applicable" and "under 10 clusters" in o.mean_ci.note
