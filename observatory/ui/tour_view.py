"""The tour: six steps for people who see these numbers for the first time, on a projector, always with the selected run's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from observatory.figures import footer, histogram, numbers
from observatory.figures.bins import nice_width
from observatory.figures.described import Described, labels
from observatory.figures.limits import limits
from observatory.figures.numbers import count
from observatory.figures.overview import mean_margins
from observatory.figures.pairwise import pairwise_means
from observatory.ui import (
    calibration_readers,
    calibration_size_view,
    chart,
    compare_readers,
    compare_view,
    readers,
    states,
    strata_view,
    tables,
    url,
    words,
)
from observatory.ui.selection import Selection
from observatory.ui.text import plain

BY = ("domain", "query style", "source text")
CSS = """<style>
.st-key-tour h2 { font-size: 2.1rem !important; padding-top: 0; }
.st-key-tour [data-testid="stText"] { font-size: 1.25rem; line-height: 1.5; white-space: pre-wrap; }
.st-key-tour [class*="st-key-footer-"] [data-testid="stText"] { font-size: 1rem; }
.st-key-tour [data-testid="stMetricValue"] { font-size: 2.3rem; }
@media (max-width: 640px) { .st-key-tour h2 { font-size: 1.45rem !important; } .st-key-tour [data-testid="stText"] { font-size: 1.05rem; } }
</style>"""


@dataclass(frozen=True)
class Toured:
    """One run: its measured sets, the one with the largest mean first, and published sets of the same model and benchmark."""

    model: str
    measured: list[Described]
    published: list[Described]

    @property
    def easiest(self) -> Described:
        return self.measured[0]

    @property
    def hardest(self) -> Described:
        return self.measured[-1]


def toured(selection: Selection) -> Toured | None:
    """The newest selected measurement of the first model; None where it is not measured per query under two sets at least."""
    sets = readers.sets()
    here = sets[(sets["benchmark"] == selection.benchmark) & (sets["model"] == selection.models[0])]
    fresh = here[(here["kind"] == "measurement") & here["artifact_id"].isin(list(selection.runs))]
    if fresh.empty:
        return None
    mine = fresh[fresh["artifact_id"] == fresh.iloc[0]["artifact_id"]].sort_values("position")
    chosen = mine[mine["rule"].isin(list(selection.rules))]
    ids = [str(i) for i in (chosen if len(chosen) > 1 else mine)["set_id"]]
    measured = [s for s in readers.descriptions(ids) if readers.outcome_rates(s.set_id)]
    if len(measured) < 2:
        return None
    beside = here[(here["kind"] == "summary") & here["rule"].isin([s.rule for s in measured])]
    return Toured(selection.models[0], sorted(measured, key=_mean, reverse=True), readers.descriptions([str(i) for i in beside["set_id"]]))


def _mean(s: Described) -> float:
    mean = s.descriptor.outcomes.mean_margin
    return mean if isinstance(mean, float) else float("-inf")


def missing(selection: Selection) -> None:
    """Why there is no tour of this selection, and what would give one."""
    st.info(plain(
        f"The tour needs one run of {selection.models[0]} that was measured query by query under at least two negative sets. The selected run has one "
        "set, or it is a published table whose distributions, pairs and tails are not measured. Choose another run in the sidebar, or measure one:"
    ))
    st.code(states.RUN, language="bash", wrap_lines=True)


def draw(t: Toured) -> None:
    """The open step, with buttons and arrow keys to the others."""
    st.html(CSS)
    steps = _steps(t)
    wanted = url.first("step") or "1"
    at = min(max(int(wanted) if wanted.isdecimal() else 1, 1), len(steps))
    title, body = steps[at - 1]
    with st.container(key="tour"):
        with st.container(horizontal=True, vertical_alignment="center"):
            _button("Back", "Left", at - 1, at == 1, ":material/arrow_back:")
            _button("Next", "Right", at + 1, at == len(steps), ":material/arrow_forward:")
            st.text(f"Step {at} of {len(steps)}")
        st.header(title)
        body()


def _button(label: str, key: str, step: int, disabled: bool, icon: str) -> None:
    st.button(label, shortcut=key, disabled=disabled, icon=icon, on_click=lambda: url.changed(step=None if step == 1 else str(step)))


def _steps(t: Toured) -> list[tuple[str, Callable[[], None]]]:
    n = words.small(len(t.measured))
    return [
        (f"One model, {n} negative sets, {n} verdicts", lambda: _verdicts(t)), ("Side by side, on the same queries", lambda: _side_by_side(t)),
        ("By what a negative gets wrong", lambda: _strata(t)), ("Tails: how often the positive lost", lambda: _tails(t)),
        ("How sure this is, and what more queries would give", lambda: _calibration(t)), ("What these numbers do not establish", lambda: _limits(t)),
    ]


def _verdicts(t: Toured) -> None:
    """Step 1: means, largest first, with what was published beside."""
    names = labels(t.measured)
    with st.container(horizontal=True):
        for s in t.measured:
            win = readers.outcome_rates(s.set_id)["win"]
            st.metric(plain(names[s.set_id]), numbers.margin(_mean(s)), f"won {numbers.rate(win.estimate)} of {count(win.n)}", delta_color="off", delta_arrow="off")
    sets = [*t.measured, *t.published]
    chart.draw("tour-means", mean_margins(sets, chart.colours()), footer.of_means(sets), sets, alt=words.alt("Mean margin with interval", sets))
    _beside(t)


def _beside(t: Toured) -> None:
    if t.published:
        tables.show(tables.beside([*t.measured, *t.published]), pinned="negative set", key="tour beside")
    else:
        st.text(f"No published figures of {t.model} on this benchmark are loaded, so none stand beside these.")


def _side_by_side(t: Toured) -> None:
    """Step 2: the easiest and the hardest set on the same queries."""
    pair = (t.easiest, t.hardest)
    names, found = labels(pair), compare_readers.compared(t.easiest.set_id, t.hardest.set_id)
    compare_view.verdicts([found], names)
    ratio = f" The first mean is {numbers.quotient(found.ratio)} times the second." if found.ratio is not None else ""
    st.text(
        f"The same model and queries, first against {names[t.easiest.set_id]}, then against {names[t.hardest.set_id]}: "
        f"{count(found.n)} queries in both.{ratio}"
    )
    compare_view.figures(found, pair, pair, (names[t.easiest.set_id], names[t.hardest.set_id]))
    _published_words(t, pair)


def _published_words(t: Toured, sets: Sequence[Described]) -> None:
    """Published means and win rates of these rules, in one line."""
    rules = {s.rule for s in sets}
    said = [
        f"{s.rule} {numbers.written(s.descriptor.outcomes.mean_margin, numbers.margin)}, "
        f"win rate {numbers.written(s.descriptor.outcomes.selected_positive_win_rate, numbers.rate)}"
        for s in t.published if s.rule in rules
    ]
    if said:
        st.text(f"Published: {'; '.join(said)}.")


def _strata(t: Toured) -> None:
    """Step 3: by the relation that the benchmark names, else by a column of the queries."""
    owners = [s for s in [*t.measured, *t.published] if readers.strata(s.set_id)]
    if owners:
        found = [stratum for s in owners for stratum in readers.strata(s.set_id)]
        st.text("Each designated negative is one row: how far the positive stood above it, by what the negative gets wrong.")
        chart.draw("tour-strata", pairwise_means(found, owners, chart.colours()), footer.of_pairwise(found), owners, alt=words.alt("Pairwise mean margin by relation", owners))
        return
    offered = compare_readers.columns((t.hardest.set_id,), False)
    by = next((column for column in BY if column in offered), None)
    if by is None:
        st.info("Not measured: this benchmark names no relation, and its queries carry no domain, style or source text to group them by.")
        return
    st.text(plain(f"Margins under {t.hardest.rule}, by {by}."))
    strata_view.singles([t.hardest], by)


def _tails(t: Toured) -> None:
    """Step 4: how often the positive lost, set by set."""
    ids = [s.set_id for s in t.measured]
    rates = {i: readers.outcome_rates(i) for i in ids}
    names = labels(t.measured)
    st.text("\n".join(f"{names[i]}: lost {numbers.rate(rates[i]['loss'].estimate)}, tied {numbers.rate(rates[i]['tie'].estimate)} of {count(rates[i]['loss'].n)} queries" for i in ids))
    width = nice_width(*(readers.extent(ids) or (0.0, 1.0)))
    build = histogram.multiples if len(ids) > histogram.MOST_OVERLAID else histogram.overlaid
    figure = build(readers.histogram(ids, width), width, readers.tails(ids), t.measured, chart.colours())
    chart.draw("tour-tails", figure, footer.of_margins(t.measured, {i: r["win"] for i, r in rates.items()}), t.measured, alt=words.alt("Histogram of margins", t.measured))
    _published_words(t, t.measured)


def _calibration(t: Toured) -> None:
    """Step 5: the interval of the hardest set's mean against the number of queries."""
    sources = calibration_readers.sources([t.hardest], t.hardest.set_id)
    calibration_size_view.curve(sources[t.hardest.set_id], [t.hardest])
    for title, p in calibration_readers.projections().values():
        q = p.projection
        st.text(
            f"Published ({title}): a mean difference of {numbers.margin(q.mean)} over {count(p.n)} queries; by its own mean and spread "
            f"the interval at {count(10 * p.n)} queries would be {numbers.interval(*q.interval(10 * p.n))}."
        )


def _limits(t: Toured) -> None:
    """Step 6: from the descriptors of this very selection."""
    st.text("\n".join(f"{i}. {sentence}" for i, sentence in enumerate(limits([*t.measured, *t.published]), start=1)))
    st.text("What they do support stands under each figure of the steps before.")
