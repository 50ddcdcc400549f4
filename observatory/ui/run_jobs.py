"""Jobs on the Run page: those that run or wait, refreshed while there are any, and the history of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from observatory import jobs, paths, plans
from observatory.errors import ObservatoryError
from observatory.figures.numbers import count
from observatory.jobs import ACTIVE, RESUMABLE, Broken, Job, folder
from observatory.ui import artifact_readers, run_plan, run_preview, run_readers, url, words
from observatory.ui.text import plain

EVERY = 1.0  # seconds between two looks at what runs
MOST_ROWS = 200


# -- what runs ---------------------------------------------------------------------------------------------------------


def active() -> None:
    """Running and waiting jobs. While there are any, this part of the page alone is drawn again every second."""
    ids = [job.id for job in _active()]
    if not ids:
        return

    def drawn() -> None:
        now = _active()
        if [job.id for job in now] != ids:
            st.rerun()  # one ended or came: the whole page has news
        for place, job in enumerate(now):
            _card(job, place)

    st.fragment(drawn, run_every=EVERY)()


def _active() -> list[Job]:
    """Oldest first: in the order in which they run."""
    found = [job for job in run_readers.listing() if isinstance(job, Job) and job.state in ACTIVE]
    return sorted(found, key=lambda job: (job.state == "queued", job.queued_at))


def _card(job: Job, place: int) -> None:
    with st.container(border=True, key=f"active-{job.id}"):
        st.markdown(f"**{plain(title(job))}**")
        st.text(_state(job, place))
        stage = job.live.current if job.live is not None else None
        if job.live is not None and stage is not None and stage.total > 1:
            st.progress(min(1.0, stage.done / stage.total), plain(_progress(job.live.stage, stage)))
        elif job.live is not None:
            st.progress(0.0, plain(f"{job.live.stage} ..."))
        if not paths.read_only():
            st.button(
                "Cancel", key=f"cancel {job.id}", icon=":material/stop:", disabled=job.state == "cancelling",
                on_click=_act, args=(jobs.cancel, job.id, None),
            )
        with st.expander("Log"):
            st.code(folder.log_tail(job.path) or "nothing yet", language=None, wrap_lines=True, height=180)


def title(job: Job) -> str:
    what = [*job.plan.rules, *job.plan.metrics]
    scorer = Path(job.plan.scorer).name if Path(job.plan.scorer).is_absolute() else job.plan.scorer
    return f"{scorer} on {Path(job.plan.benchmark).name}: {', '.join(what)}"


def _state(job: Job, place: int) -> str:
    again = f", attempt {count(job.attempts)}" if job.attempts > 1 else ""
    if job.state == "queued":
        return f"waits, {'next' if place == 0 else f'{count(place)} before it'}, since {_clock(job.queued_at)}"
    gone = words.duration((datetime.now(UTC) - datetime.fromisoformat(job.started_at or job.created)).total_seconds())
    return f"{job.state} for {gone}{again}, since {_clock(job.started_at or job.created)}"


def _progress(name: str, stage: jobs.Stage) -> str:
    text = f"{name}: {count(stage.done)} of {count(stage.total)}"
    if stage.done < stage.total:
        text += f", {stage.rate:,.0f}/s" if stage.rate is not None else ", rate not known yet"
        text += f", {words.duration(stage.left)} left in this stage" if stage.left is not None else ""
    return text


def _clock(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC"


def outcome() -> None:
    """How the job of this link ended, on top: what somebody who comes back is looking for."""
    wanted = url.first("job")
    job = next((j for j in jobs.listing(paths.store_root()) if isinstance(j, Job) and j.id == wanted and j.state not in ACTIVE), None)
    if job is None:
        return
    with st.container(border=True, key="outcome"):
        st.markdown(f"**{plain(title(job))}**")
        _ended(job)
        if job.last.artifact is not None:
            _open(job.last.artifact, bool(job.plan.rules))


# -- what ran ----------------------------------------------------------------------------------------------------------


def history() -> None:
    """Ended jobs with their outcome and cost; a chosen one opens."""
    found = run_readers.listing()
    ended = [job for job in found if isinstance(job, Job) and job.state not in ACTIVE]
    broken = [job for job in found if isinstance(job, Broken)]
    st.subheader("History")
    if ended:
        wanted = url.first("job")
        opened = next((job for job in ended if job.id == wanted), ended[0])
        _table(ended[:MOST_ROWS], opened)
        _opened(opened)
    else:
        st.text("No run has ended yet. Those of the command line (observatory run) are not listed here; their artifacts are under Artifacts.")
    if broken:
        with st.expander(f"Folders among the jobs that are none ({count(len(broken))})"):
            st.code("\n".join(f"{plain_line(b.id)}: {plain_line(b.reason)}" for b in broken), language=None, wrap_lines=True)


def plain_line(text: str) -> str:
    """Text from a folder on one line of printable characters."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:400]


def _table(ended: Sequence[Job], opened: Job) -> None:
    frame = pd.DataFrame([_row(job) for job in ended])

    def follow() -> None:
        chosen = st.session_state["history"].selection.rows
        url.changed(job=ended[chosen[0]].id if chosen else None)

    st.dataframe(
        frame, hide_index=True, key="history", on_select=follow, selection_mode="single-row", height=min(290, 38 + 35 * len(frame)),
        selection_default={"selection": {"rows": [ended.index(opened)] if opened in ended else []}},
        column_config={c: st.column_config.TextColumn(width=min(420, 24 + 8 * max(len(c), *(len(v) for v in frame[c])))) for c in frame.columns},
    )


def _row(job: Job) -> dict[str, str]:
    return {
        "ended": (job.ended_at or job.created)[:16].replace("T", " "), "outcome": job.state, "run": title(job),
        "time": words.duration(job.seconds) if job.attempts else "not started", "texts encoded": count(job.encoded),
        "attempts": count(job.attempts), "what came of it": job.last.reason or job.last.artifact or "stopped by a person",
    }


def _opened(job: Job) -> None:
    with st.container(border=True, key="opened-job"):
        st.markdown(f"**{plain(title(job))}**")
        _ended(job)
        _actions(job)
        url.tabs("told", {"Log": lambda: _log(job), "Plan": lambda: _plan(job)})


def _ended(job: Job) -> None:
    """Outcome, time and cost, and why where it is no artifact."""
    time = "never started"
    if job.attempts:
        time = f"ran for {words.duration(job.seconds)} in {words.small(job.attempts)} attempt{'' if job.attempts == 1 else 's'}"
    st.text(f"{job.state}, {_clock(job.ended_at or job.created)}; {time}; {count(job.encoded)} texts encoded")
    if job.last.reason is not None:
        (st.error if job.state == "failed" else st.warning)(plain(job.last.reason, limit=600))


def _log(job: Job) -> None:
    st.code(folder.log_tail(job.path) or "no log", language=None, wrap_lines=True, height=220)


def _plan(job: Job) -> None:
    st.code(plans.to_yaml(job.plan), language="yaml")


def _actions(job: Job) -> None:
    with st.container(horizontal=True):
        if job.last.artifact is not None:
            _open(job.last.artifact, bool(job.plan.rules))
        if paths.read_only():
            return
        if job.state in RESUMABLE:
            st.button("Resume", key="resume", icon=":material/replay:", on_click=_act, args=(jobs.resume, job.id, "The run is in the queue again."))
        st.button("Put this plan into the form", key="again", icon=":material/edit:", on_click=_again, args=(job,))


def _open(artifact: str, has_margins: bool) -> None:
    if artifact not in [entry.id for entry in artifact_readers.loaded()]:
        st.text("Its artifact is not loaded: it was moved, or it was refused (see Artifacts).")
    elif has_margins:
        st.page_link("pages/overview.py", label="Open in Overview", icon=":material/scatter_plot:", query_params={"run": artifact})
    else:
        st.page_link("pages/artifacts.py", label="Open in Artifacts", icon=":material/inventory_2:", query_params={"artifact": artifact})


def _again(job: Job) -> None:
    try:
        run_plan.load(job.plan)
    except ObservatoryError as error:
        run_preview.say(False, str(error))


def _act(change: Callable[..., Any], identifier: str, done: str | None) -> None:
    try:
        change(paths.store_root(), identifier)
    except ObservatoryError as error:
        run_preview.say(False, str(error))
        return
    if done is not None:
        run_preview.say(True, done)
