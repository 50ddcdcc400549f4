"""Figures of calibration: what is drawn is what was computed, zero and the diagonal are there, missing intervals are no bars."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from observatory.calibration import roc as points
from observatory.calibration import scores, size
from observatory.calibration.scores import Graded
from observatory.descriptor import EvaluationContext
from observatory.figures import calibration_footer, theme
from observatory.figures.half_width import half_width, ticks, undrawn
from observatory.figures.reliability import by_score, reliability
from observatory.figures.roc import drift, roc

CONTEXT = EvaluationContext(
    candidate_pool="labelled pairs only", relevance_definition="grade >= 1", gain="not_applicable", cutoff="not_applicable", tie_policy="one bin",
    missing_queries_policy="none",
)


def graded(groups: int = 40) -> Graded:
    rng = np.random.default_rng(0)
    score, clusters = rng.random(groups * 10), np.repeat(np.arange(groups), 10)
    domains = np.array(["a", "<b>"], dtype=object)[clusters % 2]
    return Graded(score, rng.random(score.size) < score, clusters, domains, 1, score.size)


def measured(mean: float = 0.1) -> size.Size:
    rng = np.random.default_rng(1)
    return size.measure(rng.normal(mean, 0.3, 300), np.repeat(np.arange(100), 3), rng)


@pytest.mark.parametrize("mode", [theme.LIGHT, theme.DARK])
def test_the_half_width_curve_has_every_size_the_projection_and_the_line_at_the_mean(mode: theme.Mode) -> None:
    found = measured()
    assert found.projection is not None
    figure = half_width(found, [(5000, "N = 5000")], "cosine", "#009E73", mode)
    dots, line, marks = figure.data
    assert list(dots.x) == [p.n for p in found.curve] and list(dots.y) == [p.half_width for p in found.curve]
    assert [c == "#009E73" for c in dots.marker.color] == [p.excludes_zero.estimate > 0.5 for p in found.curve]
    assert all(y == pytest.approx(found.projection.half_width(x)) for x, y in zip(line.x, line.y, strict=True))
    assert list(marks.y) == [found.projection.half_width(5000)] and marks.x[0] <= 10 ** figure.layout.xaxis.range[1]
    assert abs(found.projection.mean) in {s.y0 for s in figure.layout.shapes if s.type == "line"}
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_a_mean_far_away_is_written_and_does_not_squash_the_curve() -> None:
    figure = half_width(measured(50.0), [], "BM25", "#009E73", theme.LIGHT)
    assert figure.layout.yaxis.range[1] < 1
    assert any("all of it lies below |mean|" in a.text for a in figure.layout.annotations)
    with pytest.raises(ValueError, match="under 10 clusters"):
        half_width(size.measure(np.arange(5.0), np.arange(5), np.random.default_rng(0)), [], "x", "#009E73", theme.LIGHT)


def test_sizes_whose_half_width_is_zero_are_counted_and_not_drawn() -> None:
    found = size.measure(np.arange(300) == 7, np.arange(300), np.random.default_rng(0))
    left_out = undrawn(found)
    assert left_out == sum(p.half_width == 0 for p in found.curve) > 0
    figure = half_width(found, [(1000, "N")], "share", "#009E73", theme.LIGHT)
    assert len(figure.data[0].x) == len(found.curve) - left_out
    assert np.isfinite(figure.layout.yaxis.range).all() and min(figure.data[0].y) > 0


def test_ticks_lie_inside_and_are_few() -> None:
    assert ticks(30, 600, 2) == [50, 100, 200, 500]
    assert ticks(30, 1e9, 2) == [10.0**e for e in range(2, 10)]


def test_the_reliability_diagram_has_the_bins_their_counts_and_the_diagonal() -> None:
    g = graded()
    found = scores.reliability(g.score, g.relevant, g.clusters, np.random.default_rng(0), resamples=20)
    figure = reliability([("map", found.bins), ("raw", found.bins)], theme.LIGHT)
    diagonal, first, counts, *rest = figure.data
    assert (diagonal.x, diagonal.y) == ((0, 1), (0, 1)) and len(rest) == 2
    assert list(first.y) == [b.observed.estimate for b in found.bins] and list(first.x) == [b.predicted for b in found.bins]
    assert [v for v in counts.y if v] == [b.n for b in found.bins] and counts.yaxis == "y2"
    assert all(v > 0 for v in first.error_y.array)


def test_bins_without_an_interval_say_why() -> None:
    g = graded(4)
    figure = reliability([("map", scores.binned(g.score, g.relevant, g.clusters))], theme.LIGHT)
    assert set(figure.data[1].error_y.array) == {0} and all("under 10 clusters" in t for t in figure.data[1].text)


def test_the_map_is_drawn_with_the_prevalence() -> None:
    g = graded()
    figure = by_score(scores.binned(g.score, g.relevant, g.clusters), [("Platt", [0.0, 1.0], [0.1, 0.8])], 0.33, "cos<i>", theme.DARK)
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([0.0, 1.0], [0.1, 0.8])
    assert any("prevalence 33.0%" in a.text for a in figure.layout.annotations) and "<i>" not in figure.layout.xaxis.title.text


def test_roc_and_drift_draw_every_domain_and_mark_one() -> None:
    pooled, domains = points.operating(graded(), np.random.default_rng(0), resamples=50)
    figure = roc(pooled, domains, "a", theme.LIGHT)
    widths = {t.name: t.line.width for t in figure.data if t.name in ("a", "all domains", "other domains")}
    assert widths == {"a": 3, "all domains": 3, "other domains": 1.2}
    assert pooled.eer is not None
    assert (pooled.eer.estimate, 1 - pooled.eer.estimate) in {(t.x[0], t.y[0]) for t in figure.data if len(t.x) == 1}
    lonely = dataclasses.replace(domains[0], name="lonely", auc=None, eer=None, threshold=None, drift=None, note="one class only", fpr=np.empty(0))
    rows = drift([*domains, lonely], pooled, "cosine", "a", theme.DARK)
    assert [c[0] for c in rows.data[0].customdata] == [d.name for d in sorted(domains, key=lambda d: -d.drift.estimate)]  # type: ignore[union-attr]
    assert any(a.text == "one class only" for a in rows.layout.annotations)
    assert any(s.type == "line" and s.x0 == s.x1 == 0 for s in rows.layout.shapes)
    assert "<b><b>" not in "".join(rows.layout.yaxis.ticktext) and any("&lt;b&gt;" in t for t in rows.layout.yaxis.ticktext)


def test_footers_say_what_is_not_established() -> None:
    g = graded()
    found = scores.reliability(g.score, g.relevant, g.clusters, np.random.default_rng(0), resamples=50)
    pooled, domains = points.operating(g, np.random.default_rng(0), resamples=50)
    result = measured()
    assert result.projection is not None
    needed = size.for_half_width(result.projection, 0.01)
    lines = [
        calibration_footer.of_size(result, "the mean", needed, 0.01), calibration_footer.of_scores(g, found, "Platt", CONTEXT),
        calibration_footer.of_roc(pooled, CONTEXT), calibration_footer.of_drift(domains), calibration_footer.of_drift([]),
        calibration_footer.of_size(dataclasses.replace(result, projection=None, note="nothing"), "x", None, 1.0),
        calibration_footer.of_roc(dataclasses.replace(pooled, auc=None, note="one class only"), CONTEXT),
    ]
    for line in lines:
        assert line.startswith("Supports: ") and "Does not establish: " in line and "nan" not in line
    assert "labelled pairs only" in lines[1] and "2 domains" in lines[3]
