"""The Metrics page: one measure by run, the whole table, what defines each metric, and the queries behind a mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
import yaml

from observatory import ablation, exports
from observatory.cells import Cell
from observatory.evaluation import Evaluation
from observatory.figures import metric_means, numbers
from observatory.ui import chart, metric_readers, picker, published_view, readers, tables, url, words
from observatory.ui.text import plain

COMMAND = ".venv/bin/observatory run --benchmark data/benchmarks/fieldnotes --scorer all-MiniLM-L6-v2 --metrics nDCG@10,R@5"
Names = Mapping[str, str]


def choose(frame: pd.DataFrame, names: Names) -> tuple[str, tuple[str, ...], str]:
    """Benchmark, runs and baseline: pickers whose values live in the URL."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        benchmarks = {b: b for b in dict.fromkeys(frame["benchmark"].astype(str))}
        benchmark = picker.pick("mbench", "Benchmark", benchmarks, cleared=("mrun", "mbase", "metric", "mopen"))
        offered = [str(i) for i in frame[frame["benchmark"] == benchmark]["artifact_id"]]
        chosen = _runs(offered, names)
        baseline = picker.pick("mbase", "Baseline", {i: names[i] for i in chosen})
    return benchmark, chosen, baseline


def _runs(offered: Sequence[str], names: Names) -> tuple[str, ...]:
    wanted = [i for i in url.get("mrun") if i in offered] or _newest(offered, names)
    key = "metric runs"
    st.session_state[key] = wanted[: metric_readers.MOST]

    def follow() -> None:
        url.changed(mrun=st.session_state[key] or None, mbase=None, mopen=None)

    st.multiselect(
        f"Runs ({len(wanted)} of {len(offered)})", list(offered), key=key, format_func=lambda i: names[i], on_change=follow,
        max_selections=metric_readers.MOST, placeholder="Choose runs", width=560,
    )
    return tuple(wanted[: metric_readers.MOST])


def _newest(offered: Sequence[str], names: Names) -> list[str]:
    """The newest run of each model (runs come newest first)."""
    return list({names[i].split(", ")[0]: i for i in reversed(offered)}.values())


def figure(cells: Sequence[Cell], names: Names, baseline: str, found: Mapping[str, Evaluation], measure: str) -> None:
    """One measure by run; a click lists the run's queries."""
    mine = [c for c in cells if c.measure == measure]
    opened = url.first("mopen")

    def clicked(data: list[Any]) -> None:
        url.changed(mopen=str(data[0]) if data else None)

    records = {f"{names[i]} ({i})": yaml.safe_dump(e.model_dump(), sort_keys=False, allow_unicode=True) for i, e in found.items()}
    chart.draw(
        f"metric-{words.slug(measure)}", metric_means.metric_means(mine, names, baseline, chart.colours(), opened), metric_means.footer(mine, names), (),
        alt=f"Mean {measure} by run, with intervals"[:300], on_click=clicked,
        carried=chart.Carried(metric_means.essentials(list(found.values()), measure), "Evaluation records", records),
    )


def frame(cells: Sequence[Cell], names: Names) -> pd.DataFrame:
    """The table as it is read: values beside intervals, missing ones in words."""
    return pd.DataFrame([_row(cell, names) for cell in cells])


def _row(cell: Cell, names: Names) -> dict[str, str]:
    return {
        "run": names[cell.configuration], "measure": cell.measure, "mean [95% interval]": metric_means.written(cell), "n": numbers.count(cell.mean.n),
        "delta [95% interval]": _delta(cell), "d": "not computed" if cell.d is None else f"{cell.d:+.3f}",
        "p": _p(cell.p), "Holm": _p(cell.holm), "note": cell.note or "none",
    }


def _delta(cell: Cell) -> str:
    if cell.delta is None:
        return "baseline" if cell.note == "baseline" else "not comparable"
    d = cell.delta
    brackets = f"({d.note})" if d.low is None or d.high is None else f"[{d.low:+.4f}, {d.high:+.4f}]"
    return f"{d.estimate:+.4f} {brackets}"


def _p(value: float | None) -> str:
    return "not tested" if value is None else numbers.probability(value).removeprefix("p = ").removeprefix("p ")


def details(cells: Sequence[Cell], names: Names, found: Mapping[str, Evaluation], measure: str) -> None:
    """The rest, in tabs."""
    url.tabs(
        "mtab",
        {
            "Whole table": lambda: _whole(cells, names), "Measured against what": lambda: _contexts(names, found, measure),
            "Accounting": lambda: _accounting(names, found), "Take away": lambda: _take_away(names, found),
        },
    )


def _whole(cells: Sequence[Cell], names: Names) -> None:
    table = frame(cells, names)
    tables.show(table, pinned="run", key="metric table")
    st.text(f"{ablation.family(cells)}. Deltas are run minus baseline over the queries that both measured; p flips whole clusters.")


def _contexts(names: Names, found: Mapping[str, Evaluation], measure: str) -> None:
    for i, e in found.items():
        if measure in e.metrics:
            st.subheader(plain(names[i]))
            lines = [f"{word}: {value}" for word, value in published_view.context(e.metrics[measure].context).items()]
            st.text("\n".join([*lines, f"clusters: {e.clusters.rule}", f"corpus: {e.corpus_hash[:12]}", f"query set: {e.query_set_id}"]))


def _accounting(names: Names, found: Mapping[str, Evaluation]) -> None:
    rows = []
    for i, e in found.items():
        a = e.accounting
        reasons = "none" if not a.reasons or isinstance(a.reasons, str) else "; ".join(f"{n} {why}" for why, n in a.reasons.items())
        counts = {word: numbers.written(getattr(a, f"n_{word}"), numbers.count) for word in ("attempted", "scored", "excluded", "failed")}
        rows.append({"run": names[i], **counts, "reasons": reasons, "clusters": numbers.written(e.clusters.n_clusters, numbers.count)})
    tables.show(pd.DataFrame(rows), pinned="run", key="metric accounting")


def beside(artifact_ids: Sequence[str]) -> None:
    """Metrics of the runs whose margins are shown, one row a metric, each with what defines it."""
    frame = metric_readers.runs()
    names = metric_readers.names(frame)
    mine = [i for i in dict.fromkeys(artifact_ids) if i in names]
    if not mine:
        st.text("The selected runs measured no retrieval metrics. A run that names some keeps them beside its margins:")
        st.code(COMMAND, language="bash", wrap_lines=True)
        return
    rows = []
    for i in mine:
        for name, m in metric_readers.evaluation(i).metrics.items():
            mean = m.mean if isinstance(m.mean, str) else f"{m.mean:.4f} {numbers.plain_interval(m.mean_ci)}"
            context = published_view.context(m.context)
            rows.append({"metric": name, "run": names[i], "mean [95% interval]": numbers.written(mean, str), "n": numbers.count(m.n), **context})
    tables.show(pd.DataFrame(rows), pinned="metric", key="metrics beside margins")
    st.text("A metric asks the whole corpus, a margin a chosen negative set: the two do not have to agree.")


def _take_away(names: Names, found: Mapping[str, Evaluation]) -> None:
    """TREC run files are made when somebody asks for them; the record goes with each."""
    store = readers.store()
    for i in found:
        with st.container(horizontal=True):
            st.text(names[i])
            st.download_button(
                "TREC run", partial(exports.trec_run, store, i), f"{i}.run.txt", "text/plain", key=f"trec {i}", on_click="ignore", icon=":material/download:"
            )
            st.download_button(
                "Its record", partial(exports.trec_context, store, i), f"{i}.run.txt.json", "application/json", key=f"record {i}", on_click="ignore"
            )


def drawer(names: Names, chosen: Sequence[str], measure: str, found: Mapping[str, Evaluation]) -> None:
    """The queries of the clicked run, lowest value first, with their texts."""
    opened = url.first("mopen")
    if opened not in chosen or measure not in found[str(opened)].metrics:
        return
    rows = metric_readers.queries(str(opened), measure)
    st.subheader(plain(f"Queries of {names[str(opened)]}, lowest {measure} first"))
    shown = pd.DataFrame({"query": rows["query"], measure: [f"{v:.4f}" for v in rows["value"]], "id": rows["query_id"]})
    tables.show(shown, pinned="query", key="metric queries")
    sets = list(metric_readers.rules(str(opened)).values())
    if sets and st.button("Open this run in Query", icon=":material/search:", on_click=lambda: url.changed(run=str(opened), set=None, benchmark=None, model=None)):
        st.switch_page("pages/query.py")
