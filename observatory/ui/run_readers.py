"""What the Run page reads: the preview of a plan, kept while neither its benchmark nor its model changes, and the jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import streamlit as st

from observatory import jobs, paths
from observatory.errors import ObservatoryError
from observatory.jobs.estimate import Estimate, estimate
from observatory.plans import Plan
from observatory.runs import Preview, preview


def previewed(plan: Plan) -> Preview:
    """What a run of this plan will carry. Of what decides only speed and memory, it matters whether it can be used."""
    same = replace(plan, batch_size=min(plan.batch_size, 1), block_size=min(plan.block_size, 1))
    return _previewed(same, (_stamp(plan.benchmark), _stamp(plan.scorer)))


@st.cache_data(show_spinner="Reading the benchmark and the model ...", max_entries=32)
def _previewed(plan: Plan, stamps: tuple[int, int]) -> Preview:
    return preview(plan)


def _stamp(name: str) -> int:
    """When a file, or a folder or anything right inside it, changed last; 0 where the name is none of a file."""
    try:
        path = Path(name)
        return max(p.stat().st_mtime_ns for p in (path, *(path.iterdir() if path.is_dir() else ()))) if name else 0
    except (OSError, ValueError):
        return 0


def listing() -> list[jobs.Job | jobs.Broken]:
    """All jobs, newest first. Where one waits and nobody works, as after a reboot, a worker is started."""
    root = paths.store_root()
    if not paths.read_only():
        try:
            jobs.wake(root)
        except ObservatoryError as error:
            st.warning(str(error))
    return jobs.listing(root)


def estimated(plan: Plan, seen: Preview) -> Estimate | None:
    """None where nothing comparable has finished here."""
    if seen.n_queries is None or seen.n_items is None or seen.n_texts is None:
        return None
    return estimate(jobs.listing(paths.store_root()), plan, seen.n_queries, seen.n_items, seen.n_texts)
