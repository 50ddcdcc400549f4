"""Progress: counts, rates, time left, how often it is written, and the estimate drawn from finished runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from observatory.errors import Cancelled
from observatory.jobs import Event, Job, Stage, folder, live
from observatory.jobs.estimate import estimate, model_calls
from observatory.plans import Plan


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    return now


def stages(path: Path) -> dict[str, list[float]]:
    found = json.loads((path / folder.PROGRESS).read_text())["stages"]
    assert isinstance(found, dict)
    return found


def test_stages_have_their_times_and_what_was_cached_does_not_count(tmp_path: Path, clock: list[float]) -> None:
    recorder = live.Recorder(tmp_path, lambda: 42)
    for stage, done, total, after in (("read", 0, 1, 2.0), ("encode items", 300, 1000, 4.0), ("encode items", 556, 1000, 1.0), ("score", 0, 5, 3.0)):
        recorder(stage, done, total)
        clock[0] += after
    recorder.finish()
    assert stages(tmp_path) == {"read": [2.0, 0, 0, 1], "encode items": [5.0, 300, 556, 1000], "score": [3.0, 0, 0, 5]}
    seen = folder.live_of(tmp_path)
    assert seen is not None and (seen.stage, seen.encoded) == ("score", 42)


def test_stages_that_come_up_again_add_up(tmp_path: Path, clock: list[float]) -> None:
    """Queries are encoded block by block, between the scores."""
    recorder = live.Recorder(tmp_path)
    calls = [
        ("score", 0, 100), ("encode queries", 10, 60), ("encode queries", 60, 60), ("score", 60, 100), ("encode queries", 0, 40),
        ("encode queries", 40, 40), ("score", 100, 100),
    ]
    for call in calls:
        recorder(*call)
        clock[0] += 1
    recorder.finish()
    assert stages(tmp_path) == {"encode queries": [4.0, 10, 100, 100], "score": [3.0, 0, 100, 100]}


def test_progress_is_written_at_most_four_times_a_second(tmp_path: Path, clock: list[float]) -> None:
    recorder = live.Recorder(tmp_path)
    seen = set()
    for done in range(1000):
        recorder("encode items", done, 1000)
        clock[0] += 0.01
        seen.add(stages(tmp_path)["encode items"][2])
    assert 2 < len(seen) <= 42


def test_a_cancel_file_stops_the_run_at_the_next_word(tmp_path: Path) -> None:
    recorder = live.Recorder(tmp_path)
    recorder("encode items", 0, 10)
    (tmp_path / folder.CANCEL).touch()
    with pytest.raises(Cancelled):
        recorder("encode items", 1, 10)


def test_rate_and_time_left() -> None:
    assert (Stage(4.0, 200, 600, 1000).rate, Stage(4.0, 200, 600, 1000).left) == (100.0, 4.0)
    assert (Stage(4.0, 200, 200, 1000).rate, Stage(4.0, 200, 200, 1000).left) == (None, None)


def job(plan: Plan, stages: dict[str, Stage], state: str = "finished") -> Job:
    at = "2026-01-01T00:00:00+00:00"
    return Job("x", Path("x"), plan, (Event(at, "queued"), Event(at, state, stages=stages)), state)


MODEL = Plan("/b", "some-model", ("random",))
RAN = {
    "load scorer": Stage(5.0, 0, 0, 1), "encode items": Stage(10.0, 0, 1000, 1000), "score queries": Stage(2.0, 0, 100, 100), "write artifact": Stage(1.0, 0, 1, 1),
}


def test_an_estimate_is_reading_plus_scoring_plus_the_rest() -> None:
    found = estimate([job(MODEL, RAN)], MODEL, n_queries=200, n_items=1000, n_texts=3000)
    assert found is not None and found.runs == 1
    assert found.seconds == pytest.approx(6.0 + 3000 / 100 + 200 * 1000 * 2.0 / (100 * 1000))


@pytest.mark.parametrize(
    "other", [job(MODEL, RAN, "failed"), job(Plan("/b", "another"), RAN), job(Plan("/b", "some-model", backend="torch"), RAN), job(MODEL, {})]
)
def test_nothing_comparable_gives_no_estimate(other: Job) -> None:
    assert estimate([other], MODEL, 10, 10, 10) is None


def test_runs_whose_texts_were_all_cached_tell_no_rate_of_reading() -> None:
    cached = RAN | {"encode items": Stage(0.01, 1000, 1000, 1000)}
    assert estimate([job(MODEL, cached)], MODEL, 10, 10, 10) is None
    assert estimate([job(MODEL, cached), job(MODEL, RAN)], MODEL, 10, 10, 10) is not None


def test_lexical_scorers_call_no_model() -> None:
    lexical = Plan("/b", "bm25:okapi", ("random",))
    stages = {"index": Stage(1.0, 0, 1000, 1000), "score queries": Stage(2.0, 0, 100, 100)}
    assert (model_calls(lexical, 500), model_calls(MODEL, 500)) == (0, 500)
    found = estimate([job(lexical, stages)], lexical, n_queries=100, n_items=1000, n_texts=1100)
    assert found is not None and found.seconds == pytest.approx(3.0)


def test_a_full_disk_costs_progress_and_not_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    recorder = live.Recorder(tmp_path)
    monkeypatch.setattr(live.os, "replace", full)
    monkeypatch.setattr("builtins.print", full)
    recorder("score queries", 1, 2)
    recorder.finish()


def test_progress_is_not_written_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("kept")
    (tmp_path / ".tmp-progress.json").symlink_to(other)
    live.Recorder(tmp_path)("score queries", 1, 2)
    assert other.read_text() == "kept"
