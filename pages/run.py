"""Run: a fresh measurement described before it starts, started, watched, and found again beside the published figures."""

from __future__ import annotations

import streamlit as st

from observatory import paths
from observatory.ui import run_form, run_jobs, run_plan, run_preview, states
from observatory.ui.text import plain


def draw() -> None:
    st.title("Run")
    st.text("A fresh measurement, described before it starts and done by a process of its own: close this page and come back.")
    run_jobs.active()
    run_jobs.outcome()
    if paths.read_only():
        st.info("This server is read-only: runs are shown, and none can be started, cancelled or resumed here.")
    else:
        _new()
    run_jobs.history()


def _new() -> None:
    plan, problems = run_plan.current()
    for problem in problems:
        st.warning(plain(problem))
    left, right = st.columns([2, 3], gap="large")
    with left:
        st.subheader("Plan")
        run_form.draw(plan)
    with right:
        st.subheader("What the run will carry")
        run_preview.draw(plan, problems)


states.standing(draw)
