"""What a run will carry, before it starts: what is missing, its cost, its descriptors, the plan as YAML; and the start."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
import yaml

from observatory import jobs, paths, plans
from observatory.errors import ObservatoryError
from observatory.figures.numbers import count
from observatory.jobs.estimate import model_calls
from observatory.plans import Plan
from observatory.runs import Preview
from observatory.ui import run_plan, run_readers, tables, url, words
from observatory.ui.text import plain

_RESULT = "run result"
BY_THE_RUN = "clusters.n_clusters, accounting, outcomes, strata and expectation"


def draw(plan: Plan, problems: tuple[str, ...]) -> None:
    """The preview beside the form. The start is closed until nothing is missing."""
    seen = run_readers.previewed(plan)
    missing = (*problems, *seen.missing)
    if missing:
        st.warning("Still missing:\n\n" + "\n".join(f"- {plain(sentence, limit=600)}" for sentence in missing))
    else:
        st.success("Nothing is missing: every field of the descriptor is known before the first score.")
    _cost(plan, seen)
    st.button(
        "Start the run", key="start", type="primary", icon=":material/play_arrow:", disabled=bool(missing), on_click=_start, args=(plan,)
    )
    message()
    for sentence in seen.warnings:
        st.text(f"The benchmark's warning: {sentence}")
    url.tabs(
        "carry",
        {"Descriptor": lambda: _descriptor(seen), "Plan as YAML": lambda: _yaml(plan), "Load a plan": _load},
    )


def message() -> None:
    """What the last action brought, once."""
    result = st.session_state.pop(_RESULT, None)
    if result is not None:
        (st.success if result[0] else st.error)(plain(result[1], limit=600))


def say(good: bool, sentence: str) -> None:
    st.session_state[_RESULT] = (good, sentence)


def _start(plan: Plan) -> None:
    try:
        job = jobs.submit(paths.store_root(), plan)
    except ObservatoryError as error:
        say(False, str(error))
        return
    url.changed(job=job.id)
    say(True, "The run is in the queue. It goes on without this page: close it and come back, from any browser.")


def _cost(plan: Plan, seen: Preview) -> None:
    if seen.n_queries is None or seen.n_items is None or seen.n_texts is None:
        return
    calls = model_calls(plan, seen.n_texts)
    reads = f"the model reads {count(calls)} texts at most; those in the cache cost nothing" if calls else "no model call: nothing is encoded"
    found = run_readers.estimated(plan, seen)
    time = "not known yet: no run by this scorer has finished here"
    if found is not None:
        runs = "one finished run" if found.runs == 1 else f"{words.small(found.runs)} finished runs"
        time = f"about {words.duration(found.seconds)}{' at most' if calls else ''}, from {runs} by this scorer"
    st.text(
        f"Benchmark: {count(seen.n_queries)} queries, {count(seen.n_items)} items, {count(seen.n_texts)} distinct texts\n"
        f"Model calls: {reads}\nTime: {time}"
    )


def _descriptor(seen: Preview) -> None:
    if not seen.descriptors:
        st.text("The descriptors of the negative sets stand here once benchmark, scorer and rules fit together.")
        return
    tables.show(pd.DataFrame([_row(rule, fields) for rule, fields in seen.descriptors.items()]), pinned="negative set")
    rule = url.choice("carried", "Negative set", [plain(rule) for rule in seen.descriptors], "preview")
    fields = next(f for r, f in seen.descriptors.items() if plain(r) == rule)
    st.text(f"Known before the run; {BY_THE_RUN} are measured by it.")
    st.code(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100), language="yaml", wrap_lines=True, height=360)


def _row(rule: str, fields: dict[str, Any]) -> dict[str, str]:
    mining = fields["mining"]
    names = {
        "k": "count_per_query", "slice": "slice", "pool": "candidate_pool", "left out": "exclusions", "ranking": "ranking_source",
        "seed": "rng_seed",
    }
    return {"negative set": rule} | {word: str(mining[name]).replace("not_applicable", "not applicable") for word, name in names.items()}


def _yaml(plan: Plan) -> None:
    text = plans.to_yaml(plan)
    st.code(text, language="yaml")
    st.download_button("Download plan.yaml", text, "plan.yaml", "application/yaml", icon=":material/download:", on_click="ignore")
    st.text("The same from the command line, in the foreground or in this queue:")
    st.code(".venv/bin/observatory run --plan plan.yaml\n.venv/bin/observatory jobs submit --plan plan.yaml", language="bash")


def _load() -> None:
    st.text("A plan as YAML fills the form: paste it here, or choose its file.")
    st.text_area("Plan", key="plan text", height=200, max_chars=20_000, placeholder="benchmark: data/benchmarks/fieldnotes\nscorer: bm25:okapi")
    st.file_uploader("Plan file", ["yaml", "yml"], key="plan file", max_upload_size=1)
    st.button("Load the plan", on_click=_loaded, icon=":material/upload:")


def _loaded() -> None:
    file, typed = st.session_state["plan file"], st.session_state["plan text"]
    try:
        text = file.getvalue().decode("utf-8-sig") if file is not None else typed
        run_plan.load(plans.from_yaml(text, file.name if file is not None else "the plan"))
    except UnicodeDecodeError:
        say(False, f"{file.name}: is not UTF-8; save it as UTF-8.")
    except ObservatoryError as error:
        say(False, str(error))
    else:
        url.changed(carry=None)
        say(True, "The plan is loaded into the form.")
