"""The Run page: what is missing closes the start, a plan goes into the queue as it is shown, jobs are told, read-only changes nothing."""

from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from observatory import jobs, plans, runs
from observatory.errors import InputError
from observatory.jobs import Event, Job, folder, queue
from observatory.plans import Plan
from observatory.ui import run_plan
from tests.pages.conftest import HOSTILE, N_TARGETS, Point, app, words, write_benchmark

RUN = "pages/run.py"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """No worker is started; the stores are noted for which one would have been."""
    noted: list[Path] = []
    monkeypatch.setattr(queue, "start_worker", noted.append)
    return noted


@pytest.fixture
def store(point: Point, tmp_path: Path, started: list[Path]) -> Path:
    point(tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "tiny-1.0")


def link(plan: Plan) -> dict[str, str | list[str]]:
    return {name: value for name, value in run_plan.parameters(plan).items() if value is not None}


def all_words(test: AppTest) -> str:
    return (words(test) + " ".join(str(e.value) for kind in ("success", "markdown") for e in getattr(test, kind))).replace("\\", "")


def params(test: AppTest) -> dict[str, list[str]]:
    """The URL's parameters, each a list."""
    return {name: value if isinstance(value, list) else [value] for name, value in test.query_params.items()}


def closed(test: AppTest) -> bool:
    return bool(test.button(key="start").disabled)


def made_job(store: Path, plan: Plan, *ends: Event) -> Job:
    job = jobs.submit(store, plan)
    folder.record(job.path, (*job.events, *ends))
    return folder.find(store, job.id)


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_an_empty_plan_says_what_is_missing_and_cannot_start(store: Path) -> None:
    test = app(RUN)
    assert not test.exception and not test.error and test.title[0].value == "Run" and closed(test)
    assert "choose a benchmark" in all_words(test) and "choose a scorer" in all_words(test) and "No run has ended yet" in words(test)
    assert not store.exists() or list(store.iterdir()) == []


def test_a_whole_plan_is_previewed_and_starts_as_shown(store: Path, tiny: Path, started: list[Path]) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random", "in_model[1:3]", "structured_perturbation"), k=4, seed=7, metrics=("nDCG@10",))
    test = app(RUN, **link(plan))
    assert not test.exception and not test.error and not closed(test)
    text = all_words(test)
    assert "Nothing is missing" in text and "no model call" in text and "not known yet" in text
    assert f"{2 * N_TARGETS} queries, {2 * N_TARGETS} items" in text
    known = runs.preview(plan).descriptors["random"]
    assert yaml.safe_load(next(c.value for c in test.code if c.value.startswith("schema_version"))) == known
    table = test.dataframe[0].value.set_index("negative set")
    assert table.loc["random", "seed"] == "7" and table.loc["in_model[1:3]", "slice"] == "[1:3]" and table.loc["in_model[1:3]", "k"] == "2"
    assert "all labelled positives" in table.loc["random", "left out"]
    test = test.button(key="start").click().run()
    (job,) = jobs.listing(store)
    assert isinstance(job, Job) and job.plan == plan and started[0] == store
    assert params(test)["job"] == [job.id] and "in the queue" in all_words(test) and "waits, next" in words(test)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rules": ("entity_matched",)}, "lists no designated negatives"), ({"rules": ("in_model[3:1]",)}, "the slice is empty"),
        ({"rules": ()}, "names neither rules nor metrics"), ({"metrics": ("nDCG@none",)}, "is no metric"), ({"scorer": "nowhere"}, "there is no scorer"),
        ({"benchmark": "/nowhere"}, "does not exist"), ({"benchmark": "\0"}, "does not exist"), ({"reference": "best"}, "unknown reference rule"), ({"clusters": "text"}, "source texts"),
        ({"bm25": "shipped", "rules": ("bm25",)}, "ships no BM25 ranking"), ({"batch_size": 0}, "at least 1"), ({"k": 0}, "k is not at least 1"),
    ],
)
def test_what_cannot_run_is_said_and_the_start_is_closed(store: Path, tiny: Path, change: dict[str, object], said: str) -> None:
    test = app(RUN, **link(replace(Plan(str(tiny), "bm25:okapi", ("random",)), **change)))  # type: ignore[arg-type]
    assert not test.exception and closed(test)
    assert said in all_words(test)


def test_widgets_write_the_link_and_the_plan(store: Path, tiny: Path) -> None:
    test = app(RUN, **link(Plan(str(tiny), "bm25:okapi")))
    test.number_input(key="plan seed").set_value(11).run()
    test.selectbox(key="plan reference").set_value("best_scored").run()
    test.multiselect(key="plan metrics").set_value(["R@5"]).run()
    test.multiselect(key="plan rules").set_value([]).run()
    assert params(test)["plan-seed"] == ["11"] and params(test)["plan-rules"] == ["none"]
    test.checkbox(key="plan own query_prompt").set_value(True).run()
    test.text_input(key="plan query_prompt").set_value("query: ").run()
    shown = next(c.value for c in app(RUN, carry="Plan as YAML", **params(test)).code if plans.TOP in c.value)
    expected = Plan(str(tiny), "bm25:okapi", (), reference="best_scored", seed=11, metrics=("R@5",), query_prompt="query: ")
    assert plans.from_yaml(shown) == expected
    test.checkbox(key="plan own query_prompt").set_value(False).run()
    test.selectbox(key="plan reference").set_value("the default").run()
    assert not {"plan-query_prompt", "plan-reference"} & set(params(test))


def test_a_slice_is_added_without_knowing_how_it_is_written(store: Path, tiny: Path) -> None:
    test = app(RUN, **link(Plan(str(tiny), "bm25:okapi", ("random",))))
    test.number_input(key="slice from").set_value(2)
    test.number_input(key="slice to").set_value(7)
    test = test.run()
    test.button(key="slice add").click().run()
    assert params(test)["plan-rules"] == ["random", "in_model[2:7]"]


def test_a_plan_is_loaded_from_text_and_a_bad_one_is_refused(store: Path, tiny: Path) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random",), seed=3, item_prompt="")
    test = app(RUN, carry="Load a plan")
    test.text_area(key="plan text").set_value("benchmark: [")
    test = next(b for b in test.button if b.label == "Load the plan").click().run()
    assert "is not valid YAML" in all_words(test)
    test.text_area(key="plan text").set_value(plans.to_yaml(plan))
    test = next(b for b in test.button if b.label == "Load the plan").click().run()
    assert not test.exception and "loaded into the form" in all_words(test) and not closed(test)
    assert run_plan.parse({n.removeprefix("plan-"): v for n, v in params(test).items() if n.startswith("plan-")}) == (plan, ())


@pytest.mark.parametrize(("name", "value"), [("plan-seed", "-1"), ("plan-k", "many"), ("plan-seed", "9" * 40), ("plan-max_length", "²")])
def test_a_link_with_no_number_says_so_and_starts_nothing(store: Path, tiny: Path, name: str, value: str) -> None:
    test = app(RUN, **link(Plan(str(tiny), "bm25:okapi", ("random",))) | {name: value})
    assert not test.exception and closed(test) and "is no whole number" in all_words(test)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20)
VALUES = {
    "str": TEXT, "str | None": st.none() | TEXT, "int": st.integers(0, run_plan.LARGEST), "int | None": st.none() | st.integers(0, run_plan.LARGEST),
    "tuple[str, ...]": st.lists(TEXT.filter(lambda t: t != run_plan.NONE), max_size=4).map(tuple),
}


@given(st.fixed_dictionaries({f.name: VALUES[plans.TYPES[f.name]] for f in fields(Plan)}))
def test_a_link_holds_the_whole_plan(record: dict[str, object]) -> None:
    plan = Plan(**record)  # type: ignore[arg-type]
    values = {name.removeprefix(run_plan.PREFIX): value for name, value in run_plan.parameters(plan).items() if value is not None}
    assert run_plan.parse(values) == (plan, ())


@pytest.mark.parametrize("plan", [Plan("x" * 300, "s"), Plan("b", "s", seed=-1), Plan("b", "s", seed=2**40), Plan("b", "s", tuple(f"r{i}" for i in range(65)))])
def test_a_plan_that_a_link_would_cut_is_refused(plan: Plan) -> None:
    with pytest.raises(InputError, match="the plan, field"):
        run_plan.parameters(plan)


def test_benchmarks_and_models_below_configured_folders_are_offered(store: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "mine").mkdir(parents=True)
    (tmp_path / "models" / "mine" / "modules.json").write_text("[]")
    (tmp_path / "models" / "notes").mkdir()
    monkeypatch.setenv("OBSERVATORY_BENCHMARKS", str(tmp_path))
    monkeypatch.setenv("OBSERVATORY_MODELS", os.pathsep.join([str(tmp_path / "models"), "/nowhere"]))
    test = app(RUN)
    offered, models = test.selectbox(key="plan benchmark").options, test.selectbox(key="plan scorer").options
    assert any(o.startswith("tiny-1.0 ") for o in offered) and any(o.startswith("fieldnotes ") for o in offered) and not any("models" in o.split()[0] for o in offered)
    assert models[:3] == ["all-MiniLM-L6-v2", "bm25:okapi", "bm25:bm25s"] and any(o.startswith("mine ") for o in models) and not any("notes" in o for o in models)


# -- jobs --------------------------------------------------------------------------------------------------------------


def test_history_tells_outcome_cost_and_why(store: Path, tiny: Path) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random",))
    at = queue.now()
    made_job(store, plan, Event(at, "running"), Event(at, "failed", reason=HOSTILE, exit_code=2, seconds=3.0, encoded=5))
    test = app(RUN)
    assert not test.exception
    row = test.dataframe[0].value.iloc[0]
    assert (row["outcome"], row["time"], row["texts encoded"], row["what came of it"]) == ("failed", "3 s", "5", HOSTILE)
    assert HOSTILE in "".join(e.value for e in test.error).replace("\\", "")
    for kind in ("markdown", "caption"):
        assert all("evil.example" not in str(e.value) for e in getattr(test, kind))


def test_jobs_are_resumed_and_their_plans_taken_over(store: Path, tiny: Path, started: list[Path]) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random",), seed=5)
    at = queue.now()
    job = made_job(store, plan, Event(at, "running"), Event(at, "interrupted", reason="killed", seconds=1.0))
    test = app(RUN, job=job.id)
    assert "killed" in all_words(test)
    test.button(key="again").click().run()
    assert params(test)["plan-seed"] == ["5"] and not closed(test)
    test.button(key="resume").click().run()
    assert folder.find(store, job.id).state == "queued" and len(started) >= 2
    assert not test.exception and "waits, next" in words(test)
    test.button(key=f"cancel {job.id}").click().run()
    assert folder.find(store, job.id).state == "cancelled" and "stopped by a person" in words(test)


def test_a_running_job_shows_stage_rate_and_time_left(store: Path, tiny: Path) -> None:
    jobs.submit(store, Plan(str(tiny), "bm25:okapi", ("random",)))
    job, handle = queue.claim(store) or pytest.fail("nothing to claim")
    record = {"pid": 1, "at": queue.now(), "encoded": 256, "stages": {"encode items": [4.0, 600, 1000, 3000]}}
    (job.path / folder.PROGRESS).write_text(json.dumps(record))
    (job.path / folder.LOG).write_text("12:00 encode items\n")
    test = app(RUN)
    os.close(handle)
    assert not test.exception and "running for" in words(test) and "12:00 encode items" in words(test)
    assert "100/s, 20 s left in this stage" in test.get("progress")[0].proto.text.replace("\\", "")
    assert test.button(key=f"cancel {job.id}").disabled is False


def test_a_finished_run_leads_to_its_numbers(store: Path, tiny: Path) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random",))
    path = runs.run(plan, store)
    at = queue.now()
    job = made_job(store, plan, Event(at, "running"), Event(at, "finished", artifact=path.name, seconds=2.0))
    gone = made_job(store, plan, Event(at, "running"), Event(at, "finished", artifact="../gone", seconds=2.0))
    test = app(RUN, job=job.id)
    assert not test.exception and len(test.get("page_link")) == 2, "on top and in the history"
    test = app(RUN, job=gone.id)
    assert not test.get("page_link") and "Its artifact is not loaded" in words(test)


def test_corrupt_folders_are_named_and_cost_nothing(store: Path, tiny: Path) -> None:
    job = jobs.submit(store, Plan(str(tiny), "bm25:okapi", ("random",)))
    (job.path / folder.STATE).write_text("{")
    test = app(RUN)
    assert not test.exception and not test.error
    assert job.id in words(test) and "No run has ended yet" in words(test)


def test_waiting_jobs_get_a_worker_again(store: Path, tiny: Path, started: list[Path]) -> None:
    """As after a reboot."""
    jobs.submit(store, Plan(str(tiny), "bm25:okapi", ("random",)))
    started.clear()
    app(RUN)
    assert started and set(started) == {store}


def test_read_only_shows_and_changes_nothing(store: Path, tiny: Path, started: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(str(tiny), "bm25:okapi", ("random",))
    at = queue.now()
    ended = made_job(store, plan, Event(at, "running"), Event(at, "failed", reason="no luck", seconds=1.0))
    jobs.submit(store, plan)
    started.clear()
    monkeypatch.setenv("OBSERVATORY_READ_ONLY", "1")
    test = app(RUN, job=ended.id, **link(plan))
    assert not test.exception and "read-only" in all_words(test)
    assert "no luck" in all_words(test) and "waits, next" in words(test)
    labels = {b.label for b in test.button}
    assert not labels & {"Start the run", "Cancel", "Resume", "Put this plan into the form", "Load the plan"} and started == []
