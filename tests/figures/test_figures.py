"""Figures: what is drawn is what the store holds, zero is always there, and no number is drawn without its descriptor."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observatory import statistics
from observatory.errors import InputError
from observatory.figures import footer, histogram, numbers, theme
from observatory.figures.bins import nice_width
from observatory.figures.described import Described, described, labels
from observatory.figures.ecdf import ecdf
from observatory.figures.overview import grouped, mean_margins
from observatory.figures.pairwise import Stratum, pairwise_means
from observatory.store import Store


@pytest.fixture
def store(artifact: Path) -> Store:
    return Store(artifact.parent, ())


@pytest.fixture
def sets(store: Store) -> list[Described]:
    return [described(row, store.descriptor(row["set_id"])) for row in store.sets().to_dict("records")]


def as_published(s: Described) -> Described:
    return dataclasses.replace(s, published=True, set_id=f"table/{s.set_id}", artifact_id="table")


def bars(figure: go.Figure) -> list[go.Bar]:
    return [trace for trace in figure.data if isinstance(trace, go.Bar)]


def texts(figure: go.Figure) -> str:
    return "\n".join(str(a.text) for a in figure.layout.annotations)


@pytest.mark.parametrize("mode", [theme.LIGHT, theme.DARK])
@pytest.mark.parametrize("build", [histogram.overlaid, histogram.multiples])
def test_every_bar_is_a_bin_of_the_store(build: object, mode: theme.Mode, store: Store, sets: list[Described]) -> None:
    ids = [s.set_id for s in sets]
    frame = store.histogram(ids, 0.5)
    figure = build(frame, 0.5, store.tails(ids), sets, mode, "count")  # type: ignore[operator]
    drawn = {(c[0], c[1]): y for bar in bars(figure) for c, y in zip(bar.customdata, bar.y, strict=True)}
    assert drawn == {(r.set_id, r.bin): r.n for r in frame.itertuples()}
    for bar in bars(figure):
        for x, c in zip(bar.x, bar.customdata, strict=True):
            assert x - 0.25 == pytest.approx(c[1] * 0.5) and not (x - 0.25 < -1e-12 < 1e-12 < x + 0.25)
    low, high = figure.layout.xaxis.range
    assert low < 0 < high
    lines = [s for s in figure.layout.shapes if s.type == "line"]
    assert lines and all(s.x0 == s.x1 == 0 and s.line.dash in (None, "solid") for s in lines)
    assert "tie" in texts(figure)


def test_density_has_area_one_and_losses_are_written_on_the_shade(store: Store, sets: list[Described]) -> None:
    ids = [s.set_id for s in sets]
    tails = store.tails(ids)
    figure = histogram.overlaid(store.histogram(ids, 0.5), 0.5, tails, sets, theme.LIGHT)
    for bar in bars(figure):
        assert sum(bar.y) * 0.5 == pytest.approx(1)
    for row in tails.itertuples():
        assert numbers.rate(row.n_lt / row.n) in texts(figure)


def test_the_chosen_bar_alone_is_filled(store: Store, sets: list[Described]) -> None:
    ids = [s.set_id for s in sets]
    frame = store.histogram(ids, 0.5)
    mark = histogram.Mark(frame["set_id"][0], int(frame["bin"][0]))
    figure = histogram.overlaid(frame, 0.5, store.tails(ids), sets, theme.LIGHT, mark=mark)
    solid = [(c[0], c[1]) for b in bars(figure) for c, colour in zip(b.customdata, b.marker.color, strict=True) if colour[0] == "#"]
    assert solid == [(mark.set_id, mark.index)]


def test_a_number_without_a_descriptor_is_not_drawn(store: Store, sets: list[Described]) -> None:
    ids = [s.set_id for s in sets]
    frame, tails = store.histogram(ids, 0.5), store.tails(ids)
    for build in (histogram.overlaid, histogram.multiples):
        with pytest.raises(InputError, match="without a descriptor"):
            build(frame, 0.5, tails, sets[1:], theme.LIGHT)
    with pytest.raises(InputError, match="without a descriptor"):
        ecdf(store.ecdf(ids), {}, sets[1:], theme.LIGHT)


def test_one_axis_never_mixes_units(store: Store, sets: list[Described]) -> None:
    scorer = sets[0].descriptor.scorer.model_copy(update={"metric": "logit"})
    other = dataclasses.replace(sets[0], descriptor=sets[0].descriptor.model_copy(update={"scorer": scorer}))
    mixed = [other, *sets[1:]]
    ids = [s.set_id for s in mixed]
    for draw in (
        lambda: mean_margins(mixed, theme.LIGHT), lambda: ecdf(store.ecdf(ids), {}, mixed, theme.LIGHT),
        lambda: histogram.overlaid(store.histogram(ids, 0.5), 0.5, store.tails(ids), mixed, theme.LIGHT),
        lambda: pairwise_means([], mixed, theme.LIGHT),
    ):
        with pytest.raises(ValueError, match="units"):
            draw()


def test_the_ecdf_has_the_loss_rate_and_its_interval_at_zero(store: Store, sets: list[Described]) -> None:
    rows = store.margins_of(sets[0].set_id)
    loss = statistics.rate(rows["margin"] < 0, rows["cluster_id"])
    figure = ecdf(store.ecdf([sets[0].set_id]), {sets[0].set_id: loss}, sets[:1], theme.LIGHT)
    at_zero = [t for t in figure.data if t.mode == "markers"]
    assert [(t.x[0], t.y[0]) for t in at_zero] == [(0, loss.estimate)]
    assert at_zero[0].error_y.array[0] == pytest.approx((loss.high or 0) - loss.estimate)


def test_the_overview_draws_means_with_intervals_and_published_ones_hollow(sets: list[Described]) -> None:
    table = as_published(sets[0])
    figure = mean_margins([*sets, table], theme.LIGHT)
    marks = {t.customdata[0][0]: t for t in figure.data if t.customdata and t.marker.symbol is None}
    assert set(marks) == {s.set_id for s in [*sets, table]}
    for s in sets:
        ci, mark = s.descriptor.outcomes.mean_ci, marks[s.set_id]
        assert mark.x[0] == s.descriptor.outcomes.mean_margin
        assert not isinstance(ci, str) and mark.x[0] + mark.error_x.array[0] == pytest.approx(ci.high)
        assert mark.marker.color == theme.COLOURS[s.method]
    hollow = marks[table.set_id]
    assert (hollow.marker.color, hollow.marker.line.color) == (theme.LIGHT.paper, theme.COLOURS[table.method])
    assert hollow.text == ("published",)
    assert grouped([*sets, table])[0] == [sets[0], table]
    expected = sets[0].descriptor.expectation
    assert not isinstance(expected, str)
    assert [t.x[0] for t in figure.data if t.marker.symbol == "diamond-open"] == [expected.mean_margin] * 2


def test_pairwise_means_look_and_read_unlike_hardest_margins(sets: list[Described]) -> None:
    owner = next(s for s in sets if s.method == "structured_perturbation")
    strata = [Stratum(owner.set_id, "b", 4, 0.5, None, None, "why"), Stratum(owner.set_id, "a", 9, 0.1, 0.0, 0.2, "")]
    figure = pairwise_means(strata, [owner], theme.LIGHT)
    assert [t.x[0] for t in figure.data] == [0.1, 0.5]
    assert all(t.marker.symbol == "square" and t.marker.color not in theme.COLOURS.values() for t in figure.data)
    assert figure.layout.xaxis.title.text.startswith("pairwise mean")
    assert "n = 9" in texts(figure) and "(why)" in texts(figure)
    assert "smallest of 2 relations" in footer.of_pairwise(strata) and "+0.1000" in footer.of_pairwise(strata)


def test_one_hue_a_rule_and_one_dash_a_slice(sets: list[Described]) -> None:
    def sliced(text: str, name: str) -> Described:
        base = next(s for s in sets if s.method == "in_model")
        mining = base.descriptor.mining.model_copy(update={"slice": text})
        return dataclasses.replace(base, set_id=name, descriptor=base.descriptor.model_copy(update={"mining": mining}))

    styles = theme.styles([sliced("[2:7]", "a"), sliced("[0:5]", "b"), as_published(sliced("[2:7]", "a"))])
    assert {s.colour for s in styles.values()} == {"#0072B2"}
    assert (styles["a"].dash, styles["b"].dash, styles["table/a"].dash) == ("solid", "dash", "solid")
    assert [s.hollow for s in styles.values()] == [False, False, True]


def test_labels_are_distinct(sets: list[Described]) -> None:
    twin = dataclasses.replace(sets[0], set_id="twin", artifact_id="another-ffff")
    shown = [*sets, as_published(sets[0]), twin]
    assert len(set(labels(shown).values())) == len(shown)


def test_the_foot_carries_the_essentials_as_the_first_annotation(sets: list[Described]) -> None:
    figure = mean_margins(sets, theme.LIGHT)
    before = figure.layout.height
    extra = footer.bake(figure, footer.essentials(sets), footer.of_means(sets), theme.LIGHT)
    foot = figure.layout.annotations[0].text.replace("<br>", " ")
    assert figure.layout.height == before + extra and figure.layout.annotations[0].name == "foot"
    for piece in (sets[0].corpus, "first_grade_3", sets[0].model, "unadjudicated", "Supports:", "Does not establish:", "k 3"):
        assert piece in foot


def test_footers_claim_no_more_than_the_numbers(store: Store, sets: list[Described]) -> None:
    rows = {s.set_id: store.margins_of(s.set_id) for s in sets}
    wins = {i: statistics.rate(r["margin"] > 0, r["cluster_id"]) for i, r in rows.items()}
    means = [s.descriptor.outcomes.mean_margin for s in sets]
    text = footer.of_means(sets) + footer.of_margins(sets, wins)
    assert numbers.margin(min(means)) in text and numbers.margin(max(means)) in text  # type: ignore[type-var]
    first = wins[sets[0].set_id]
    assert f"beat its hardest negative in {numbers.rate(first.estimate)} of 16 queries" in text
    for word in ("significan", "accura", "improve", "better", "worse"):
        assert word not in text.lower()
    assert "Supports: nothing" in footer.of_margins([as_published(sets[0])], {})


def test_text_from_data_cannot_mark_up_a_figure(sets: list[Described]) -> None:
    assert theme.safe("<a href='x'>y</a>%{x}") == "&lt;a href='x'&gt;y&lt;/a&gt;%&#123;x}"
    scorer = sets[0].descriptor.scorer.model_copy(update={"name": "<b>m</b>"})
    hostile = dataclasses.replace(
        sets[0], model="<b>m</b>", descriptor=sets[0].descriptor.model_copy(update={"scorer": scorer})
    )
    figure = mean_margins([hostile, sets[1]], theme.LIGHT)
    footer.bake(figure, footer.essentials([hostile, sets[1]]), footer.of_means([hostile, sets[1]]), theme.LIGHT)
    assert "<b>m</b>" not in figure.to_json().replace("\\u003c", "<").replace("\\u003e", ">")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_bin_widths_are_round_and_of_a_readable_number(low: float, size: float) -> None:
    width = nice_width(low, low + size)
    bins = (max(low + size, 0) - min(low, 0)) / width
    assert 40 <= bins <= 60
    mantissa = width / 10 ** math.floor(math.log10(width))
    assert min(abs(mantissa - m) for m in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)) < 1e-9


def test_bins_of_nothing_and_nonsense() -> None:
    assert nice_width(0, 0) == 0.01
    for bad in ((1, 0), (math.nan, 1), (0, math.inf)):
        with pytest.raises(ValueError, match="no range"):
            nice_width(*bad)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.margin(0.47383), "+0.4738"), (numbers.margin(-0.00001), "-0.0000"), (numbers.margin(0.0), "0.0000"),
        (numbers.rate(0.93309), "93.3%"), (numbers.rate(1.0), "100.0%"), (numbers.rate(0.9999), ">99.9%"),
        (numbers.rate(0.0001), "<0.1%"), (numbers.rate(0.0), "0.0%"), (numbers.count(12345), "12\u202f345"),
        (numbers.rate_interval(0.897, 0.957), "[89.7, 95.7]"), (numbers.written("not_measured", str), "not measured"),
        (numbers.written(math.nan, numbers.margin), "not measured"), (numbers.written(None, str), "not measured"),
    ],
)
def test_numbers_are_written_one_way(shown: str, expected: str) -> None:
    assert shown == expected


def test_a_frame_without_rows_still_draws_an_axis_with_zero(sets: list[Described]) -> None:
    empty = pd.DataFrame({"set_id": [], "bin": [], "n": []})
    figure = histogram.overlaid(empty, 0.5, pd.DataFrame({"set_id": [], "n_lt": [], "n": []}), sets, theme.LIGHT)
    low, high = figure.layout.xaxis.range
    assert low < 0 < high
