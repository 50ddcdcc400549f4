"""Calibration: projections, subsamples, cross-fitted maps and equal-error points against what must hold of them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory import artifacts, exports, statistics
from observatory.calibration import published, roc, scores, size
from observatory.calibration.size import Projection
from observatory.errors import InputError
from observatory.store import Store
from tests.conftest import ROOT

RIVAL = ROOT / "data" / "published" / "published-falsification-harness"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def frame(n_clusters: int = 60, each: int = 20, seed: int = 0, **columns: object) -> pd.DataFrame:
    """Pairs whose score is their true probability."""
    draw = rng(seed)
    n = n_clusters * each
    p = draw.beta(1.2, 2.0, n)
    cluster = np.repeat(np.arange(n_clusters), each)
    data: dict[str, object] = {
        "query_id": [f"q{c}" for c in cluster], "cluster_id": [f"c{c}" for c in cluster], "item_id": [f"i{i}" for i in range(n)],
        "domain": [f"d{c % 3}" for c in cluster], "grade": np.where(draw.random(n) < p, 3, 0), "relation": None, "score": p,
    }
    return pd.DataFrame(data | columns)


# -- benchmark size ----------------------------------------------------------------------------------------------------


def found_published() -> published.Published:
    read = published.find(artifacts.read_descriptors(RIVAL).published)
    assert read is not None
    return read


def test_the_published_table_comes_out_of_its_own_mean_and_sigma() -> None:
    read = found_published()
    assert [r.n for r in read.rows] == [300, 500, 1000, 2500, 5000, 10000]
    for row in read.rows:
        if row.kind == "observed":  # a bootstrap, 0.00099 off
            assert row.off < 0.0011
        else:
            assert row.off < 0.001
        assert (row.excludes_zero == "yes") == row.again_excludes_zero
    assert (read.projection.mean, read.projection.sigma, read.n) == (-0.0078, 0.1395, 300)


def test_both_stated_p_values_stand_beside_the_arithmetic() -> None:
    read = found_published()
    assert [(p.relation, p.p, p.n) for p in read.ps] == [("below", 0.001, 10000), ("about", 0.0001, 10000)]
    for p in read.ps:
        assert p.again == pytest.approx(2.3e-8, rel=0.03)


def test_a_document_without_a_projection_has_none() -> None:
    tables = artifacts.read_descriptors(RIVAL).published
    assert published.find([t for t in tables if t.id != "projection"]) is None
    assert published.find([t for t in tables if t.id != "headline"]) is None
    assert published.find([]) is None


def test_the_projection_is_sigma_z_over_root_n() -> None:
    p = Projection(0.1, 0.5, design_effect=2.0, per_cluster=4.0)
    assert p.half_width(400) == pytest.approx(1.959964 * 0.5 * math.sqrt(2 / 400), rel=1e-6)
    assert not p.excludes_zero(100) and p.excludes_zero(1000)
    assert p.p(192) > 0.05 > p.p(193), "the interval and the test agree"
    assert not p.excludes_zero(192) and p.excludes_zero(193)
    assert 0 < p.p(10**9)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.001, 1.0), st.floats(0.5, 4.0), st.floats(0.0005, 0.5))
def test_the_required_size_is_the_smallest_that_does_it(sigma: float, effect: float, half: float) -> None:
    p = Projection(0.0, sigma, effect, 2.0)
    needed = size.for_half_width(p, half)
    assert p.half_width(needed.queries) <= half * (1 + 1e-9)
    floor = statistics.MIN_CLUSTERS * 2
    assert needed.queries == floor or p.half_width(needed.queries - 1) > half * (1 - 1e-9)
    assert needed.clusters == math.ceil(needed.queries / 2)


def test_required_power_is_reached_in_simulation() -> None:
    p = Projection(0.0, 1.0)
    needed = size.for_power(p, 0.3, 0.8)
    draws = rng(3).normal(0.3, 1.0, (4000, needed.queries))
    won = np.abs(draws.mean(axis=1)) > p.half_width(needed.queries)
    assert abs(won.mean() - 0.8) < 4 * math.sqrt(0.16 / 4000)


@pytest.mark.parametrize("bad", [{"sigma": 0.0}, {"sigma": -1.0}, {"design_effect": 0.0}, {"mean": math.nan}, {"per_cluster": 0.5}, {"level": 1.0}])
def test_a_projection_of_nothing_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"level|projection"):
        Projection(**({"mean": 0.1, "sigma": 0.2} | bad))
    with pytest.raises(ValueError, match="half-width"):
        size.for_half_width(Projection(0.1, 0.2), 0.0)
    with pytest.raises(ValueError, match="effect"):
        size.for_power(Projection(0.1, 0.2), 0.0)


def clustered(groups: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = rng(seed)
    labels = np.repeat(np.arange(groups), draw.integers(1, 6, groups))
    return 0.1 + draw.normal(0, 0.1, groups)[labels] + draw.normal(0, 0.2, labels.size), labels


def test_the_curve_ends_at_the_measured_interval_and_takes_whole_clusters() -> None:
    values, labels = clustered(80, 1)
    found = size.measure(values, labels, rng())
    last, observed = found.curve[-1], statistics.cluster_mean(values, labels)
    assert observed.low is not None and observed.high is not None
    assert (last.n, last.n_clusters, last.repetitions) == (values.size, 80, 1)
    assert last.half_width == last.low == last.high
    assert last.half_width == pytest.approx((observed.high - observed.low) / 2, rel=1e-12)
    assert found.projection is not None
    assert found.projection.standard_error(values.size) == pytest.approx(observed.standard_error, rel=1e-12)
    assert [p.n_clusters for p in found.curve] == sorted({p.n_clusters for p in found.curve}) and found.curve[0].n_clusters == 10
    widths = [p.half_width for p in found.curve]
    assert widths == sorted(widths, reverse=True)
    assert all(p.coverage is None for p in found.curve if p.n_clusters > 40)
    assert found == size.measure(values, labels, rng()), "the same generator gives the same curve"


def test_an_interval_of_sums_is_the_cluster_interval() -> None:
    values, labels = clustered(25, 2)
    _, sizes, sums = statistics.by_cluster(values, labels)
    mean, half = statistics.interval_of_sums(sizes, sums)
    expected = statistics.cluster_mean(values, labels)
    assert expected.low is not None
    assert (mean, mean - half) == pytest.approx((expected.estimate, expected.low), rel=1e-12)


def test_subsamples_cover_the_full_mean_at_the_nominal_level_once_narrowed() -> None:
    """1,000 shuffles of 200 clusters: 95 % within four standard errors; not narrowed, half the clusters cover too often."""
    values, labels = clustered(200, 4)
    found = size.measure(values, labels, rng(5), repetitions=1000)
    read = [p for p in found.curve if p.coverage is not None and p.n_clusters >= 20]
    assert len(read) >= 3
    for p in read:
        assert p.coverage is not None and p.coverage_raw is not None
        assert abs(p.coverage.estimate - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 1000)
        assert p.coverage_raw.estimate >= p.coverage.estimate
    assert read[-1].coverage_raw is not None and read[-1].coverage_raw.estimate > 0.965


@pytest.mark.parametrize(
    ("values", "labels", "words"),
    [
        (np.arange(9.0), np.arange(9), "no interval under 10 clusters"), (np.full(30, 0.2), np.arange(30), "equal"),
        (np.tile([0.0, 1.0], 20), np.repeat(np.arange(20), 2), "same mean"),
    ],
)
def test_no_curve_is_said_in_words(values: np.ndarray, labels: np.ndarray, words: str) -> None:
    found = size.measure(values, labels, rng())
    assert found.projection is None and found.curve == () and words in found.note


def test_fewer_repetitions_where_clusters_are_many() -> None:
    values = rng().normal(size=100_000)
    assert size.measure(values, np.arange(values.size), rng()).repetitions == size.LEAST_REPETITIONS


# -- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_calibrated_scores_have_no_more_error_than_exact_probabilities_would_show(seed: int) -> None:
    g = scores.graded(frame(seed=seed), 1, rng())
    found = scores.reliability(g.score, g.relevant, g.clusters, rng())
    assert found.ece.estimate < 2 * found.floor and found.floor < 0.05
    assert found.brier.estimate < found.baseline
    half = scores.reliability(g.score / 2, g.relevant, g.clusters, rng())
    assert half.ece.low is not None and half.ece.low > 3 * half.floor, "and a wrong one is found out"


def test_a_map_mends_what_is_wrong_with_the_raw_score() -> None:
    g = scores.graded(frame(score=frame()["score"] ** 3), 1, rng())
    fold = scores.folds(g.clusters, rng())
    raw = scores.reliability(g.score, g.relevant, g.clusters, rng())
    for method in scores.METHODS:
        mapped = scores.reliability(scores.cross_fit(g, method, fold), g.relevant, g.clusters, rng())
        assert mapped.ece.estimate < raw.ece.estimate / 2 and mapped.brier.estimate < raw.brier.estimate


def test_no_cluster_is_in_two_folds() -> None:
    g = scores.graded(frame(), 1, rng())
    fold = scores.folds(g.clusters, rng())
    assert set(fold) == set(range(scores.FOLDS))
    assert (pd.DataFrame({"cluster": g.clusters, "fold": fold}).groupby("cluster")["fold"].nunique() == 1).all()


@pytest.mark.parametrize("method", scores.METHODS)
def test_a_prediction_does_not_know_the_labels_of_its_own_cluster(method: scores.Method) -> None:
    """Turning every label of one cluster over leaves that cluster's own predictions as they were, to the bit, and moves others."""
    g = scores.graded(frame(), 1, rng())
    fold, mine = scores.folds(g.clusters, rng()), g.clusters == 7
    turned = dataclasses.replace(g, relevant=np.where(mine, ~g.relevant, g.relevant))
    before, after = scores.cross_fit(g, method, fold), scores.cross_fit(turned, method, fold)
    same_fold = fold == fold[mine][0]
    assert (before[same_fold] == after[same_fold]).all()
    assert (before[~same_fold] != after[~same_fold]).any()


def test_noise_that_identifies_a_cluster_gives_no_skill() -> None:
    """Every cluster has one score and one label, a coin toss: a map that saw its own cluster would be nearly right."""
    toss, level = rng(1).random(200) < 0.5, rng(2).random(200)
    g = scores.graded(frame(200, 5, score=np.repeat(level, 5), grade=np.repeat(toss, 5) * 1), 1, rng())
    predicted = scores.cross_fit(g, "isotonic", scores.folds(g.clusters, rng()))
    found = scores.reliability(predicted, g.relevant, g.clusters, rng())
    assert found.brier.estimate > 0.95 * found.baseline


def test_ties_share_a_bin_and_bins_hold_every_pair() -> None:
    values = np.repeat([0.1, 0.4, 0.9], [50, 30, 20])
    bins = scores.binned(values, np.arange(100) % 2 == 0, np.arange(100))
    assert sum(b.n for b in bins) == 100 and [b.n for b in bins] == [50, 30, 20]
    assert all(b.low == b.high == pytest.approx(b.predicted) for b in bins)


@pytest.mark.parametrize(("grades", "least", "words"), [(0, 1, "none of the"), (3, 1, "all of the"), (2, 3, "none of the")])
def test_one_class_is_said_in_words(grades: int, least: int, words: str) -> None:
    assert words in scores.graded(frame(grade=grades), least, rng()).lacking


def test_constant_scores_and_one_cluster_are_said_in_words() -> None:
    assert "same score" in scores.graded(frame(score=0.5), 1, rng()).lacking
    assert "one cluster" in scores.graded(frame(cluster_id="c"), 1, rng()).lacking
    assert scores.graded(frame(), 1, rng()).lacking == ""


def test_few_clusters_have_estimates_and_no_interval() -> None:
    g = scores.graded(frame(6, 40), 1, rng())
    found = scores.reliability(g.score, g.relevant, g.clusters, rng())
    assert found.ece.low is None and "under 10 clusters" in found.ece.note and math.isfinite(found.ece.estimate)
    pooled, _ = roc.operating(g, rng())
    assert pooled.auc is not None and pooled.auc.low is None and "under 10 clusters" in pooled.note


def test_a_fold_without_both_classes_is_an_error_with_a_sentence() -> None:
    data = frame(12, 5, grade=0)
    data.loc[data["cluster_id"] == "c3", "grade"] = 3
    g = scores.graded(data, 1, rng())
    with pytest.raises(InputError, match="too few clusters"):
        scores.cross_fit(g, "Platt", scores.folds(g.clusters, rng()))


def test_many_pairs_are_bounded_by_whole_clusters() -> None:
    data = frame(100, 50)
    g = scores.graded(data, 1, rng(), most=1000)
    assert (g.n, g.n_all) == (1000, 5000)
    assert (np.bincount(g.clusters)[np.unique(g.clusters)] == 50).all()
    assert scores.graded(data, 1, rng()).n == 5000


@pytest.mark.parametrize("broken", [pd.DataFrame(), frame().drop(columns="domain"), frame(score=math.inf), frame(score=1e308), frame(score=-1e200)])
def test_unusable_pairs_are_refused(broken: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="labelled pair"):
        scores.graded(broken, 1, rng())


def test_raw_scores_are_read_as_probabilities_only_where_they_can_be() -> None:
    inside, note = scores.as_probability(np.array([0.0, 0.5, 1.0]), "logit")
    assert inside is not None and "as they are" in note
    cosine, note = scores.as_probability(np.array([-0.2, 0.5]), "cosine")
    assert cosine is not None and cosine.tolist() == [0.0, 0.5] and "1 below 0" in note
    none, note = scores.as_probability(np.array([-3.0, 12.5]), "BM25")
    assert none is None and "from -3 to 12.5" in note
    with pytest.raises(ValueError, match="predictions"):
        scores.reliability(np.array([0.5, 1.2]), np.array([True, False]), np.array([0, 1]), rng())


# -- operating points --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=60).filter(lambda x: len({b for _, b in x}) == 2))
def test_the_equal_error_point_lies_on_scikit_learns_curve(pairs: list[tuple[int, bool]]) -> None:
    score, relevant = np.array([float(s) for s, _ in pairs]), np.array([b for _, b in pairs])
    rate, threshold = roc.equal_error(score, relevant)
    assert 0 <= rate <= 1 and score.min() <= threshold <= score.max()
    fpr, tpr, _ = roc.curve(score, relevant)
    start, way = np.stack([fpr[:-1], tpr[:-1]]), np.stack([np.diff(fpr), np.diff(tpr)])
    along = np.clip((([[rate], [1 - rate]] - start) * way).sum(axis=0) / (way**2).sum(axis=0), 0, 1)
    assert np.linalg.norm(start + along * way - [[rate], [1 - rate]], axis=0).min() < 1e-9


def test_the_equal_error_point_by_hand() -> None:
    """Others 0 1 2 3, relevant 2 3 4 5. At 2: none missed, half false; at 3: 1/4 missed and 1/4 false."""
    score = np.array([0.0, 1, 2, 3, 2, 3, 4, 5])
    relevant = np.array([False] * 4 + [True] * 4)
    assert roc.equal_error(score, relevant) == pytest.approx((0.25, 3.0))
    assert roc.equal_error(np.array([0.0, 1.0]), np.array([False, True]))[0] == 0.0
    assert roc.equal_error(np.array([0.5, 0.5]), np.array([False, True])) == pytest.approx((0.5, 0.5))
    with pytest.raises(ValueError, match="both classes"):
        roc.equal_error(score, np.ones(8, dtype=bool))


def test_a_domain_that_is_shifted_drifts_by_the_shift_and_the_others_do_not_apart() -> None:
    data = frame(90, 30, seed=3)
    shifted = np.where(data["domain"] == "d2", data["score"] + 0.5, data["score"])
    pooled, domains = roc.operating(scores.graded(data.assign(score=shifted), 1, rng()), rng())
    by_name = {d.name: d for d in domains}
    drift = by_name["d2"].drift
    assert drift is not None and drift.low is not None and drift.low > 0
    assert by_name["d2"].threshold is not None and by_name["d0"].threshold is not None and by_name["d2"].drift is not None
    apart = by_name["d2"].threshold.estimate - by_name["d0"].threshold.estimate
    assert apart == pytest.approx(0.5, abs=0.06)
    for d in domains:
        assert d.drift is not None and d.threshold is not None and pooled.threshold is not None
        assert d.drift.estimate == pytest.approx(d.threshold.estimate - pooled.threshold.estimate, abs=1e-12)
    assert sum(d.n for d in domains) == pooled.n


def test_domains_with_one_class_without_a_name_or_with_few_clusters_say_so() -> None:
    data = frame(60, 20)
    data.loc[data["domain"] == "d0", "grade"] = 0
    data["domain"] = data["domain"].where(data["domain"] != "d1", None)
    data.loc[data["cluster_id"].isin(["c2", "c5"]), "domain"] = "small"
    _, domains = roc.operating(scores.graded(data, 1, rng()), rng())
    by_name = {d.name: d for d in domains}
    assert set(by_name) == {"d0", "d2", "small", scores.NO_DOMAIN}
    assert by_name["d0"].auc is None and by_name["d0"].drift is None and "none relevant" in by_name["d0"].note
    small = by_name["small"]
    assert small.auc is not None and small.auc.low is None and "under 10 clusters (2 here)" in small.note
    for d in domains:
        for i in (d.auc, d.eer, d.threshold, d.drift):
            assert i is None or math.isfinite(i.estimate)


def test_where_no_interval_is_to_be_had_nothing_is_resampled() -> None:
    """Few clusters of very many pairs: a resample takes room for each score."""
    rng = np.random.default_rng(0)
    assert sum(len(block) for block in scores.draws(rng, 9, 400)) == 1
    assert [len(block) for block in scores.draws(rng, 10, 10, block=4)] == [4, 4, 2]


def test_resamples_that_lack_a_class_are_counted() -> None:
    data = frame(40, 5, grade=0)
    data.loc[data["cluster_id"] == "c0", "grade"] = 1
    pooled, _ = roc.operating(scores.graded(data, 1, rng()), rng())
    assert pooled.auc is not None and pooled.auc.low is None and "resamples lack a class" in pooled.note


def test_constant_scores_have_auc_one_half_and_say_so() -> None:
    pooled, _ = roc.operating(scores.graded(frame(score=0.5), 1, rng()), rng())
    assert pooled.auc is not None and pooled.auc.estimate == 0.5 and pooled.note == "all scores are equal"


# -- what leaves -------------------------------------------------------------------------------------------------------


def test_labelled_pairs_leave_with_their_record(artifact: object) -> None:
    store = Store.of([artifact])  # type: ignore[list-item]
    identifier = str(store.artifacts()["artifact_id"][0])
    head, _, body = exports.judged_csv(store, identifier).decode().partition("\n")
    assert head.startswith(exports.EVALUATION_MARK) and "candidate_pool" in head and identifier in head
    assert len(body.splitlines()) == 1 + len(store.judged(identifier))
    summary = Store.of([RIVAL])
    with pytest.raises(InputError, match="no labelled pairs"):
        exports.judged_csv(summary, "published-falsification-harness")


def test_an_interval_without_width_is_none() -> None:
    """Perfectly separated pairs: every resample has an AUC of 1, which is no certainty about the next cluster."""
    data = frame(20, 4)
    data["grade"] = (np.arange(len(data)) % 2).astype(int)
    data["score"] = np.where(data["grade"] >= 1, 2.0, 1.0) + np.linspace(0, 0.1, len(data))
    pooled, _ = roc.operating(scores.graded(data, 1, rng()), rng())
    assert pooled.auc is not None and pooled.auc.estimate == 1 and (pooled.auc.low, pooled.auc.high) == (None, None)
    assert pooled.auc.note == "no interval: every resample gives the same value"
    assert pooled.threshold is not None and pooled.threshold.low is not None and pooled.threshold.high is not None
