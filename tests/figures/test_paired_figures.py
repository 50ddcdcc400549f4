"""Scatter, paired differences and forest plots: what is drawn is what was measured, zero is there, units are not mixed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from observatory import paired, statistics, strata
from observatory.figures import differences, numbers, paired_footer, scatter, theme
from observatory.figures.described import Described, described, labels
from observatory.figures.forest import Dot, forest
from observatory.store import Store


@pytest.fixture
def store(artifact: Path) -> Store:
    return Store(artifact.parent, ())


@pytest.fixture
def sets(store: Store) -> list[Described]:
    return [described(row, store.descriptor(row["set_id"])) for row in store.sets().to_dict("records")]


@pytest.fixture
def pair(sets: list[Described]) -> tuple[Described, Described]:
    by_method = {s.method: s for s in sets}
    return by_method["random"], by_method["bm25"]


def names(pair: tuple[Described, Described]) -> tuple[str, str]:
    found = labels(pair)
    return found[pair[0].set_id], found[pair[1].set_id]


def zero_lines(figure: go.Figure) -> set[str]:
    lines = [s for s in figure.layout.shapes if s.type == "line" and s.line.width == 2.5]
    return {axis for s in lines for axis, ends in (("x", (s.x0, s.x1)), ("y", (s.y0, s.y1))) if ends == (0, 0)}


def test_the_scatter_has_every_point_both_zero_lines_and_the_diagonal(store: Store, pair: tuple[Described, Described]) -> None:
    points = store.pair_points(pair[0].set_id, pair[1].set_id)
    look = theme.styles(pair)[pair[1].set_id]
    figure = scatter.margins(points, pair, names(pair), look, theme.LIGHT, str(points["query_id"][0]))
    drawn = {c[0]: (x, y) for t in figure.data if t.customdata for c, x, y in zip(t.customdata, t.x, t.y, strict=True)}
    assert drawn == {r.query_id: (r.before, r.after) for r in points.itertuples()}
    assert zero_lines(figure) == {"x", "y"}
    assert any(s.line.dash == "dash" and (s.x0, s.x1) == (s.y0, s.y1) for s in figure.layout.shapes)
    assert figure.layout.xaxis.range == figure.layout.yaxis.range and figure.layout.xaxis.range[0] < 0
    filled = {t.name.split(" ")[0]: t.marker.color for t in figure.data if t.customdata}
    assert filled.get("flip:", look.colour) == look.colour and filled.get("same", "rgba").startswith("rgba")
    assert figure.data[-1].hoverinfo == "skip", "the ring around the opened point"


def test_the_scatter_refuses_two_units_and_ranks_say_what_they_are(store: Store, pair: tuple[Described, Described]) -> None:
    points = store.pair_points(pair[0].set_id, pair[1].set_id)
    scorer = pair[1].descriptor.scorer.model_copy(update={"metric": "logit"})
    other = dataclasses.replace(pair[1], descriptor=pair[1].descriptor.model_copy(update={"scorer": scorer}))
    look = theme.styles(pair)[pair[1].set_id]
    with pytest.raises(ValueError, match="units"):
        scatter.margins(points, (pair[0], other), ("a", "b"), look, theme.LIGHT)
    figure = scatter.ranks(points, (0.2, 0.4), ("a", "b"), look, theme.DARK)
    assert all("percentile" in axis.title.text for axis in (figure.layout.xaxis, figure.layout.yaxis))
    assert all(0 <= v <= 1 for t in figure.data for v in (*t.x, *t.y))
    assert {s.x0 for s in figure.layout.shapes if s.x0 == s.x1} == {0.2}


@pytest.mark.parametrize("mode", [theme.LIGHT, theme.DARK])
def test_differences_are_the_bins_of_the_store_with_mean_and_zero(store: Store, pair: tuple[Described, Described], mode: theme.Mode) -> None:
    frame = store.pair_histogram(pair[0].set_id, pair[1].set_id, 0.5)
    mean = statistics.Interval(-0.5, -0.9, -0.1, 16, 16, 0.95, "x")
    figure = differences.differences(frame, 0.5, (0.5, 0.25, 0.25), mean, names(pair), "m", theme.styles(pair)[pair[1].set_id], mode)
    bars = figure.data[0]
    assert [c[:2] for c in bars.customdata] == [[b, 0.5] for b in frame["bin"]] and list(bars.y) == list(frame["n"])
    assert all(x == pytest.approx((b + 0.5) * 0.5) for x, b in zip(bars.x, frame["bin"], strict=True))
    assert zero_lines(figure) == {"x"}
    text = " ".join(a.text for a in figure.layout.annotations)
    assert "worse 50.0%, equal 25.0%, better 25.0%" in text and numbers.interval(-0.9, -0.1) in text


def dots(set_id: str, *values: tuple[str, float, str]) -> list[Dot]:
    return [Dot(name, set_id, value, value - 0.1, value + 0.1, "[x]", 12, small) for name, value, small in values]


def test_the_forest_keeps_its_order_marks_small_strata_and_leads_back(sets: list[Described]) -> None:
    s = sets[0]
    figure = forest(dots(s.set_id, ("b", 0.3, "small: n = 3"), ("a", 0.5, "")), [s], "hardest", "margin", theme.LIGHT, "a")
    trace = figure.data[0]
    assert [list(c) for c in trace.customdata] == [[s.set_id, "b"], [s.set_id, "a"]] and list(trace.y) == [0, 1]
    assert list(trace.marker.color) == [theme.LIGHT.paper, theme.COLOURS[s.method]]
    assert "small" in figure.layout.yaxis.ticktext[0] and figure.layout.yaxis.ticktext[1].startswith("<b>a</b>")
    assert zero_lines(figure) == {"x"} and list(trace.error_x.array) == pytest.approx([0.1, 0.1])


def test_pairwise_strata_never_look_like_hardest_margins(sets: list[Described]) -> None:
    s = sets[0]
    figure = forest(dots(s.set_id, ("a", 0.1, "")), [s], "pairwise", "pairwise mean", theme.LIGHT)
    assert figure.data[0].marker.symbol == "square" and figure.data[0].marker.line.color == theme.LIGHT.pairwise


@pytest.mark.parametrize("value", [-0.6, 0.6])
def test_no_dot_lies_at_the_edge(sets: list[Described], value: float) -> None:
    flat = [Dot(n, sets[0].set_id, value, None, None, "why", 12, "") for n in "ab"]
    low, high = forest(flat, sets[:1], "difference", "Δ", theme.LIGHT).layout.xaxis.range
    assert low < min(value, 0) - 0.02 and high > max(value, 0) + 0.02


def test_orphans_and_mixed_units_are_not_drawn(sets: list[Described]) -> None:
    with pytest.raises(ValueError, match="without a descriptor"):
        forest(dots("nowhere", ("a", 0.1, "")), sets[:1], "hardest", "margin", theme.LIGHT)
    scorer = sets[1].descriptor.scorer.model_copy(update={"metric": "logit"})
    other = dataclasses.replace(sets[1], descriptor=sets[1].descriptor.model_copy(update={"scorer": scorer}))
    with pytest.raises(ValueError, match="units"):
        forest(dots(sets[0].set_id, ("a", 0.1, "")), [sets[0], other], "hardest", "margin", theme.LIGHT)


def test_footers_are_written_from_the_numbers(store: Store, pair: tuple[Described, Described]) -> None:
    rows = store.pairs(pair[0].set_id, pair[1].set_id)
    found = paired.measure((pair[0].set_id, pair[1].set_id), pair[0].descriptor, pair[1].descriptor, rows, True)
    text = paired_footer.of_differences(found, names(pair))
    assert found.mean is not None and numbers.margin(found.mean.estimate) in text
    assert "10\u202f000 sign flips by cluster, seed 0" in text and "which field of mining makes the difference" in text
    assert "0 of the other" not in paired_footer.of_scatter(found, names(pair), 16, 3)
    assert f"{found.outcomes.lost} of 16 queries win under" in paired_footer.of_scatter(found, names(pair), 16, 3)  # type: ignore[union-attr]
    assert "all 3 flips and 2 of the other" in paired_footer.of_scatter(found, names(pair), 5, 3)
    exact = paired.measure(("a", "b"), pair[0].descriptor, pair[1].descriptor, rows.assign(cluster=np.arange(16) % 10), True)
    assert "all 1\u202f024 sign flips by cluster" in paired_footer.of_differences(exact, names(pair))
    shown = [Dot(s.name, s.set_id, s.mean.estimate, None, None, "", s.mean.n, s.small) for s in strata.of_margins(
        pair[0].set_id, store.stratified(pair[0].set_id, "domain"))]  # fmt: skip
    text = paired_footer.of_strata(shown, "hardest", "domain", pair)
    assert numbers.margin(shown[0].value) in text and "none was tested" in text


@pytest.mark.parametrize(("p", "text"), [(1 / 10_001, "p = 0.0001"), (1e-12, "p < 0.0001"), (1.0, "p = 1.0000"), (0.0421, "p = 0.0421")])
def test_p_is_never_written_as_zero(p: float, text: str) -> None:
    assert numbers.probability(p) == text


def test_an_empty_scatter_still_has_zero(pair: tuple[Described, Described]) -> None:
    empty = pd.DataFrame({c: [] for c in ("query_id", "query", "before", "after", "flip")})
    figure = scatter.margins(empty, pair, names(pair), theme.styles(pair)[pair[1].set_id], theme.LIGHT)
    assert zero_lines(figure) == {"x", "y"}
