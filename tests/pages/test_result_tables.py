"""Tables for other tools: the numbers of the computation to the bit, missing ones in words, descriptors inside, no formulas."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from observatory import exports, paired, result_tables, strata
from observatory.descriptor import NOT_MEASURED
from observatory.statistics import Interval
from observatory.store import Store
from tests.pages.test_compare import two_scorers  # noqa: F401


@pytest.fixture
def store(measured: Path) -> Store:
    return Store(measured, ())


def ids(store: Store) -> dict[str, str]:
    return {row["method"]: row["set_id"] for row in store.sets().to_dict("records")}


def measured_pair(store: Store, base: str, other: str, unit: bool = True) -> paired.Paired:
    return paired.measure((base, other), store.descriptor(base), store.descriptor(other), store.pairs(base, other), unit)


def means(store: Store) -> dict[str, float | str]:
    return {i: store.descriptor(i).outcomes.mean_margin for i in store.sets()["set_id"]}


def same(row: pd.Series, name: str, found: Interval) -> None:
    """The value, its bounds and how they were made; where there are none, why."""
    assert row[name] == found.estimate
    if found.low is None:
        assert found.note and row[f"{name}_low"] == row[f"{name}_high"] == row[f"{name}_interval"] == found.note
    else:
        assert (row[f"{name}_low"], row[f"{name}_high"]) == (found.low, found.high)
        assert row[f"{name}_interval"] == f"{found.level:g} {found.method}"


def test_comparisons_hold_the_numbers_of_the_computation(store: Store) -> None:
    here = ids(store)
    found = [measured_pair(store, here["random"], here[m]) for m in ("in_model", "bm25")]
    corrected = paired.family(found)
    frame = result_tables.comparisons(found, corrected, means(store))
    assert list(frame["other_set_id"]) == [here["in_model"], here["bm25"]] and set(frame["family"]) == {2}
    for c, (_, row) in zip(found, frame.iterrows(), strict=True):
        assert c.mean is not None and c.mean.low is not None and c.test is not None
        same(row, "mean_difference", c.mean)
        assert (row["cohens_d"], row["p"]) == (c.d, c.test.p)
        one, two = (store.descriptor(i).outcomes.mean_margin for i in (c.baseline, c.other))
        assert (row["baseline_mean_margin"], row["other_mean_margin"]) == (one, two) and isinstance(one, float) and isinstance(two, float)
        assert row["ratio_of_means"] == (one / two if two > 0 else "the other mean is not above 0")
        assert (row["p_holm"], row["p_bonferroni"]) == corrected[c.other]
        assert (row["n_better"], row["n_equal"], row["n_worse"]) == (c.better, c.equal, c.worse)
        assert (row["n_pairs"], row["n_clusters"], row["counted"]) == (28, 14, "margins") and row["instrument"] == c.verdict


def test_strata_hold_the_numbers_of_the_computation(store: Store) -> None:
    here = ids(store)
    found = strata.of_margins(here["bm25"], store.stratified(here["bm25"], "domain"))
    frame = result_tables.strata(found, "domain", pairwise=False)
    assert "mean_pairwise_margin" in result_tables.strata(found, "domain", pairwise=True) and "mean_pairwise_margin" not in frame
    for s, (_, row) in zip(found, frame.iterrows(), strict=True):
        assert (row["set_id"], row["stratified_by"], row["stratum"]) == (s.set_id, "domain", s.name)
        same(row, "mean_margin", s.mean)
        same(row, "win_rate", s.wins)
        assert row["mean_margin_low"] == "no interval under 10 clusters (7 here)"
    pairs = store.paired_strata(here["random"], here["bm25"], "query style")
    both = strata.of_pairs(pairs, True)
    frame = result_tables.paired_strata(both, "query style", (here["random"], here["bm25"]), False, True)
    for p, (_, row) in zip(both, frame.iterrows(), strict=True):
        assert p.delta is not None and p.delta.low is not None and row["counted"] == "queries by margin"
        same(row, "mean_difference", p.delta)
        same(row, "helped", p.helped)
        same(row, "hurt", p.hurt)
        assert (row["wins_gained"], row["wins_lost"], row["n"]) == (p.gained, p.lost, p.n)


def test_what_is_missing_is_written_and_why(refused_and_published: Path, two_scorers: Path) -> None:  # noqa: F811
    store = Store(refused_and_published, ())
    here = ids(store)
    row = result_tables.comparisons([measured_pair(store, here["random"], here["structured_perturbation"])], {}, means(store)).iloc[0]
    blank = ("mean_difference", "mean_difference_low", "mean_difference_interval", "cohens_d", "n_better", "n_worse", "p", "p_holm", "test")
    assert {row[c] for c in blank} == {NOT_MEASURED} and isinstance(row["other_mean_margin"], float)
    store = Store(two_scorers, ())
    one, two = store.sets().query("rule == 'random'")["set_id"]
    row = result_tables.comparisons([measured_pair(store, one, two, unit=False)], {}, means(store)).iloc[0]
    assert {row[c] for c in ("mean_difference", "mean_difference_high", "cohens_d", "ratio_of_means")} == {paired.NO_UNIT}
    assert row["counted"] == "outcomes" and isinstance(row["p"], float)
    frame = result_tables.paired_strata(strata.of_pairs(store.paired_strata(one, two, "domain"), False), "domain", (one, two), False, False)
    assert set(frame["mean_difference"]) == {paired.NO_UNIT} and set(frame["counted"]) == {"queries by outcome"}
    assert not frame.isna().any(axis=None)


def test_a_table_is_read_back_with_its_descriptors(store: Store, tmp_path: Path) -> None:
    here = ids(store)
    found = [measured_pair(store, here["random"], here[m]) for m in ("in_model", "bm25")]
    frame = result_tables.comparisons(found, paired.family(found), means(store))
    sets = [here[m] for m in ("random", "in_model", "bm25")]
    (tmp_path / "t.csv").write_bytes(exports.table_csv(store, sets, frame))
    descriptors, rows = exports.read_csv(tmp_path / "t.csv")
    assert descriptors == {i: store.descriptor(i).model_dump(mode="json") for i in sets}
    pd.testing.assert_frame_equal(rows, frame, check_dtype=False, check_exact=True)


@pytest.mark.parametrize("name", ["=1+1", "+cmd|'/c calc'!A1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_a_spreadsheet_would_run_is_harmless(name: str, store: Store, tmp_path: Path) -> None:
    set_id = ids(store)["bm25"]
    rows = store.stratified(set_id, "domain").assign(stratum=name)
    frame = result_tables.strata(strata.of_margins(set_id, rows), name, pairwise=False)
    body = exports.table_csv(store, [set_id], frame)
    (tmp_path / "t.csv").write_bytes(body)
    _, back = exports.read_csv(tmp_path / "t.csv")
    assert {back["stratum"][0], back["stratified_by"][0]} == {f"'{name}"}
    assert frame["stratum"][0] == name, "the table on the screen keeps its text"
    assert back["mean_margin"][0] == frame["mean_margin"][0], "negative numbers stay numbers"


def test_names_that_look_like_numbers_stay_names(store: Store, tmp_path: Path) -> None:
    set_id = ids(store)["bm25"]
    rows = store.stratified(set_id, "domain")
    rows["stratum"] = rows["stratum"].map({"harbour": "007", "library": "1e1"})
    (tmp_path / "t.csv").write_bytes(exports.table_csv(store, [set_id], result_tables.strata(strata.of_margins(set_id, rows), "domain", False)))
    assert set(exports.read_csv(tmp_path / "t.csv")[1]["stratum"]) == {"007", "1e1"}
