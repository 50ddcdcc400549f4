"""Paired comparisons and strata against numpy, scipy and counting by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from observatory import paired, resampling, statistics, strata
from observatory.descriptor import NOT_RECORDED, NegativeSetDescriptor
from observatory.errors import InputError
from observatory.store import MISSING, PAIRWISE, STRATA, Store
from observatory.summary import PAIRWISE_METHODS


@pytest.fixture
def store(artifact: Path) -> Store:
    return Store(artifact.parent, ())


@pytest.fixture
def ids(store: Store) -> dict[str, str]:
    return {row["method"]: row["set_id"] for row in store.sets().to_dict("records")}


def rows_of(store: Store, set_id: str) -> pd.DataFrame:
    """Everything about one set's scored queries, joined by pandas."""
    margins = store.rows("margins", [set_id]).dropna(subset=["margin"])
    folder = Path(store.artifacts()["path"][0])
    queries, items = (pd.read_parquet(folder / f"{name}.parquet") for name in ("queries", "items"))
    joined = margins.merge(queries.rename(columns={"text": "query"}), on="query_id")
    return joined.merge(items.rename(columns={"text": "reference"}), left_on="reference_item_id", right_on="item_id", how="left")


def test_pairs_are_a_join_of_the_rows(store: Store, ids: dict[str, str]) -> None:
    base, other = ids["random"], ids["entity_matched"]
    found = store.pairs(base, other)
    by_hand = rows_of(store, base).merge(rows_of(store, other), on="query_id").sort_values("query_id")
    assert list(found["before"]) == list(by_hand["margin_x"]) and list(found["after"]) == list(by_hand["margin_y"])
    assert (pd.factorize(found["cluster"])[0] == pd.factorize(by_hand["cluster_id_x"])[0]).all()


def test_points_have_every_flip_and_scipys_ranks(store: Store, ids: dict[str, str]) -> None:
    base, other = ids["random"], ids["structured_perturbation"]
    pairs = store.pairs(base, other)
    flips = int((np.sign(pairs["before"]) != np.sign(pairs["after"])).sum())
    every = store.pair_points(base, other)
    assert len(every) == len(pairs) and int(every["flip"].sum()) == flips
    for margin, rank in (("before", "before_rank"), ("after", "after_rank")):
        assert list(every[rank]) == pytest.approx((stats.rankdata(every[margin]) - 0.5) / len(every))
    few = store.pair_points(base, other, flips + 2)
    assert len(few) == flips + 2 and int(few["flip"].sum()) == flips
    assert list(few["query_id"]) == list(store.pair_points(base, other, flips + 2)["query_id"])


def test_a_bar_of_differences_and_its_queries_are_the_same(store: Store, ids: dict[str, str]) -> None:
    base, other, width = ids["random"], ids["bm25"], 0.5
    pairs = store.pairs(base, other)
    bins = np.floor((pairs["after"] - pairs["before"]) / width).astype(int)
    drawn = dict(zip(*store.pair_histogram(base, other, width)[["bin", "n"]].to_numpy().T, strict=True))
    assert drawn == bins.value_counts().to_dict()
    for index, n in drawn.items():
        listed = store.pair_queries(base, other, index=int(index), width=width)
        assert len(listed) == n and list(listed["difference"].abs()) == sorted(listed["difference"].abs(), reverse=True)
    flips = store.pair_queries(base, other)
    assert (np.sign(flips["before"]) != np.sign(flips["after"])).all()
    one = store.pair_queries(base, other, query_id="q3")
    assert list(one["query_id"]) == ["q3"] and one["reference_before"][0] and one["hardest_after"][0]
    assert one["before"][0] == one["score_before"][0] - one["against_before"][0]


def test_queries_of_other_texts_are_no_pairs(store: Store, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the query sets differ, an id that stands for another text pairs nothing."""
    base, other = ids["random"], ids["bm25"]
    real = store.descriptor
    monkeypatch.setattr(store, "descriptor", lambda i: real(i).model_copy(update={"query_set_id": i}))
    assert len(store.pairs(base, other)) == 16
    source = store._source
    changed = "(select query_id, text || case when query_id = 'q3' then '?' else '' end as text, style, target_item_id from {})"
    monkeypatch.setattr(
        store, "_source", lambda i, name: changed.format(source(i, name)) if (i, name) == (other, "queries") else source(i, name)
    )
    assert len(store.pairs(base, other)) == 15


@pytest.mark.parametrize("by", STRATA)
def test_strata_are_a_group_by(by: str, store: Store, ids: dict[str, str]) -> None:
    base, other = ids["structured_perturbation"], ids["random"]
    frame = rows_of(store, base)
    relations = store.rows("pairwise", [base]).drop_duplicates(["query_id", "negative_item_id"])
    frame = frame.merge(relations[["query_id", "negative_item_id", "relation"]], left_on=["query_id", "hardest_item_id"],
                        right_on=["query_id", "negative_item_id"], how="left")  # fmt: skip
    column = {"source text": "source_text", "query style": "style", "relation of the hardest negative": "relation",
              "number of negatives": "n_negatives"}.get(by, by)  # fmt: skip
    keys = frame[column].map(lambda v: MISSING if v is None or v != v else str(v))
    found = strata.of_margins(base, store.stratified(base, by))
    assert {s.name for s in found} == set(keys) and [s.mean.estimate for s in found] == sorted(s.mean.estimate for s in found)
    for s in found:
        mine = frame[keys == s.name]
        expected = statistics.cluster_mean(mine["margin"].to_numpy(), mine["cluster_id"].to_numpy())
        assert (s.mean.n, s.mean.n_clusters, s.mean.note) == (expected.n, expected.n_clusters, expected.note)
        assert s.mean.estimate == pytest.approx(mine["margin"].mean())
        ci = stats.binomtest(int((mine["margin"] > 0).sum()), len(mine)).proportion_ci(method="exact")
        assert (s.wins.low, s.wins.high) == pytest.approx((ci.low, ci.high))
        listed = store.queries_in_stratum(base, by, s.name)
        assert set(listed["query_id"]) == set(mine["query_id"]) and list(listed["margin"]) == sorted(mine["margin"])
    paired_rows = store.paired_strata(base, other, by)
    assert paired_rows.groupby("stratum")["before"].mean().to_dict() == pytest.approx(
        {s.name: s.mean.estimate for s in found}
    )
    for s in found:
        assert len(store.pair_queries(base, other, stratum=(by, s.name))) == s.mean.n
    assert store.stratum_columns(base)[by] == len(set(keys) - {MISSING})


def test_pairwise_strata_are_those_of_the_descriptor(store: Store, ids: dict[str, str]) -> None:
    for method in set(PAIRWISE_METHODS) & set(ids):
        set_id = ids[method]
        found = {s.name: s for s in strata.of_margins(set_id, store.stratified(set_id, PAIRWISE))}
        described = store.descriptor(set_id).strata
        assert set(found) == set(described)
        for name, s in described.items():
            assert (found[name].mean.n, found[name].mean.estimate) == (s.n, pytest.approx(s.mean_pairwise_margin))
            listed = store.queries_in_stratum(set_id, PAIRWISE, name)
            rows = store.rows("pairwise", [set_id])
            least = rows[rows["relation"] == name].groupby("query_id")["margin"].min()
            assert dict(zip(listed["query_id"], listed["margin"], strict=True)) == least.to_dict()
        same = store.paired_strata(set_id, set_id, PAIRWISE)
        assert len(same) == sum(s.n for s in described.values()) and (same["before"] == same["after"]).all()


def test_hardness_counts_every_query_once(store: Store, ids: dict[str, str]) -> None:
    for set_id in ids.values():
        frame, margin = store.hardness(set_id, 0.5), store.margins_of(set_id)["margin"]
        assert frame["n"].sum() == len(margin) and frame["n_le_zero"].sum() == (margin <= 0).sum()
        assert frame["n_le"].sum() == ((margin > 0) & (margin <= 0.5)).sum() and frame["n_gt"].sum() == (margin > 0.5).sum()


def test_an_unknown_set_is_an_input_error(store: Store, ids: dict[str, str]) -> None:
    with pytest.raises(InputError, match="no such margin set"):
        store.stratified("nowhere", "domain")


def frame(before: list[float], after: list[float], clusters: list[int] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"before": before, "after": after, "cluster": clusters or list(range(len(before)))})


@pytest.fixture
def descriptors(store: Store, ids: dict[str, str]) -> tuple[NegativeSetDescriptor, NegativeSetDescriptor]:
    return store.descriptor(ids["random"]), store.descriptor(ids["bm25"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), st.sampled_from([-1.0, 0.0, 0.25, 1.0])), min_size=2, max_size=40))
def test_outcomes_and_differences_are_counted(margins: list[tuple[float, float]]) -> None:
    before, after = np.array(margins).T
    found = paired._numbers(before, after, np.arange(len(before)), True, 0)
    change = after - before
    assert (found["better"], found["equal"], found["worse"]) == (sum(change > 0), sum(change == 0), sum(change < 0))
    o = found["outcomes"]
    assert o.both + o.gained + o.lost + o.neither == len(before)
    assert o.gained == sum(b <= 0 < a for b, a in margins) and o.lost == sum(a <= 0 < b for b, a in margins)
    expected = stats.binomtest(o.gained, o.gained + o.lost).pvalue if o.gained + o.lost else 1.0
    assert o.exact_p == pytest.approx(expected) and 0 < found["test"].p <= 1
    assert found["mean"].estimate == pytest.approx(change.mean())
    if np.ptp(change) > 0:
        assert found["d"] == pytest.approx(change.mean() / change.std(ddof=1))
    unlike = paired._numbers(before, after, np.arange(len(before)), False, 0)
    assert unlike["mean"] is None and unlike["d"] is None and unlike["note"] == paired.NO_UNIT
    assert unlike["better"] == sum(np.sign(after) > np.sign(before))


def test_p_is_that_of_the_permutation_test_with_the_seed_shown(descriptors: tuple[NegativeSetDescriptor, NegativeSetDescriptor]) -> None:
    rng = np.random.default_rng(4)
    before, after, clusters = rng.normal(size=90), rng.normal(0.2, 1, 90), list(np.repeat(np.arange(30), 3))
    found = paired.measure(("a", "b"), *descriptors, frame(list(before), list(after), clusters), True)
    again = resampling.permutation_test(after - before, clusters, np.random.default_rng(paired.SEED), paired.FLIPS)
    assert found.test is not None and (found.test.p, found.test.resamples) == (again.p, 10_000) and found.test.distribution is None
    theirs = stats.permutation_test(
        (np.add.reduceat(after - before, range(0, 90, 3)), np.zeros(30)), lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=20_000, rng=rng,
    )
    assert found.test.p == pytest.approx(theirs.pvalue, abs=0.015)
    assert found.mean == statistics.cluster_mean(after - before, np.array(clusters))
    assert (found.verdict, found.n, found.n_clusters) == ("controlled: only mining differs", 90, 30)


def test_the_ratio_is_exact_and_in_one_space_only(descriptors: tuple[NegativeSetDescriptor, NegativeSetDescriptor]) -> None:
    a, b = descriptors
    same = paired.measure(("a", "b"), a, b, frame([1.0] * 12, [0.5] * 12), True)
    right = b.outcomes.mean_margin
    assert same.ratio == (a.outcomes.mean_margin / right if right > 0 else None)  # type: ignore[operator]
    assert paired.measure(("a", "b"), a, b, frame([1.0], [0.5]), False).ratio is None
    assert same.d is None and same.worse == 12 and same.test is not None and same.test.p < 0.01
    unnamed = a.model_copy(update={"scorer": a.scorer.model_copy(update={"space_id": NOT_RECORDED})})
    assert paired.same_unit(a, b, False) and paired.same_unit(unnamed, unnamed, True)
    assert not paired.same_unit(unnamed, unnamed, False) and not paired.same_unit(a, unnamed, True)


def test_without_pairs_nothing_is_made_up(descriptors: tuple[NegativeSetDescriptor, NegativeSetDescriptor]) -> None:
    found = paired.measure(("a", "b"), *descriptors, frame([], []), True)
    assert (found.mean, found.d, found.test, found.outcomes, found.better, found.n) == (None, None, None, None, None, 0)
    assert found.note == "no query has a margin in both sets" and paired.family([found]) == {}


def test_the_family_is_what_is_on_the_screen(descriptors: tuple[NegativeSetDescriptor, NegativeSetDescriptor]) -> None:
    rng = np.random.default_rng(1)
    found = [
        paired.measure(("a", name), *descriptors, frame(list(rng.normal(size=40)), list(rng.normal(shift, 1, 40))), True)
        for name, shift in (("x", 0.3), ("y", 0.6), ("z", 0.0))
    ]
    raw = [c.test.p for c in found if c.test]
    adjusted = paired.family(found)
    assert [adjusted[i][0] for i in "xyz"] == resampling.holm(raw) and [adjusted[i][1] for i in "xyz"] == resampling.bonferroni(raw)


def test_paired_strata_in_the_shape_of_the_per_text_table() -> None:
    rows = pd.DataFrame(
        {
            "stratum": ["big"] * 20 + ["few clusters"] * 12 + ["few"] * 3, "cluster": [*range(20), *[0, 1, 2, 3] * 3, 0, 1, 2],
            "before": [0.0] * 35, "after": [0.1] * 15 + [-0.1] * 5 + [0.2] * 12 + [-0.3, 0.0, 0.1],
        }
    )
    found = strata.of_pairs(rows, True)
    assert [s.name for s in found] == ["few clusters", "big", "few"]
    assert [s.small for s in found] == ["small: 4 clusters", "", "small: n = 3, 3 clusters"]
    big = found[1]
    assert big.delta is not None and big.delta.estimate == pytest.approx(0.05) and big.delta.low is not None
    assert (big.helped.estimate, big.hurt.estimate, big.gained, big.lost) == (0.75, 0.25, 15, 0)
    ci = stats.binomtest(15, 20).proportion_ci(method="exact")
    assert (big.helped.low, big.helped.high) == pytest.approx((ci.low, ci.high))
    assert found[2].delta is not None and "no interval under 10 clusters (3 here)" == found[2].delta.note
    unlike = strata.of_pairs(rows, False)
    assert all(s.delta is None for s in unlike) and next(s for s in unlike if s.name == "few").hurt.estimate == pytest.approx(1 / 3)
    assert strata.of_pairs(rows.iloc[:0], True) == [] and strata.of_margins("s", rows.iloc[:0]) == []
