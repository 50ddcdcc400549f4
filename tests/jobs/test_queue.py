"""What may happen to a job, what may not, and what is read from folders that are none or whose process is gone."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from observatory import jobs
from observatory.errors import InputError
from observatory.jobs import Broken, Job, folder, queue
from observatory.plans import Plan
from tests.conftest import ROOT
from tests.jobs.conftest import states

pytestmark = pytest.mark.usefixtures("by_hand")


def only(root: Path) -> Job | Broken:
    (found,) = jobs.listing(root)
    return found


def progress(pid: int = 1, at: str = "2026-01-01T00:00:09+00:00", encoded: int = 7) -> str:
    return json.dumps({"pid": pid, "at": at, "encoded": encoded, "stages": {"encode items": [2.0, 3, 10, 20]}})


def test_a_submitted_plan_waits_whole_and_with_absolute_paths(root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(plan.benchmark).parent)
    job = jobs.submit(root, replace(plan, benchmark="small-1.0"))
    assert (job.state, job.plan, states(job)) == ("queued", plan, ["queued"])
    assert only(root) == job


def test_a_folder_of_a_model_is_named_from_the_root_and_a_name_is_kept(root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "model").mkdir()
    monkeypatch.chdir(root.parent)
    assert jobs.submit(root, replace(plan, scorer="model")).plan.scorer == str(root.parent / "model")
    assert jobs.submit(root, replace(plan, scorer="hub/id@main")).plan.scorer == "hub/id@main"


def test_the_job_that_has_waited_longest_is_claimed_first_and_each_once(root: Path, plan: Plan) -> None:
    ids = [jobs.submit(root, replace(plan, seed=seed)).id for seed in range(3)]
    jobs.cancel(root, ids[0])
    jobs.resume(root, ids[0])  # it goes to the end of the queue
    claimed = [queue.claim(root) for _ in range(4)]
    assert [c[0].id for c in claimed if c is not None] == [ids[1], ids[2], ids[0]]
    assert claimed[3] is None
    assert {c[0].state for c in claimed if c is not None} == {"running"}
    for _, handle in filter(None, claimed):
        os.close(handle)


def test_a_running_job_whose_lock_is_gone_is_interrupted_and_says_what_it_did(root: Path, plan: Plan) -> None:
    jobs.submit(root, plan)
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    began = job.last.at
    (job.path / folder.PROGRESS).write_text(progress(at=began))
    assert folder.find(root, job.id).state == "running" and folder.find(root, job.id).encoded == 7
    os.close(handle)
    dead = folder.find(root, job.id)
    assert (dead.state, dead.encoded, dead.last.seconds) == ("interrupted", 7, 0.0)
    assert "ended without a word" in str(dead.last.reason)
    again = jobs.resume(root, job.id)
    assert states(again) == ["queued", "running", "interrupted", "queued"] and again.encoded == 7


def test_a_recycled_process_id_is_not_taken_for_the_job(root: Path, plan: Plan) -> None:
    """This test's own process lives, and the job's file names it: but it holds no lock."""
    jobs.submit(root, plan)
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    (job.path / folder.PROGRESS).write_text(progress(pid=os.getpid(), at=job.last.at))
    os.close(handle)
    assert folder.find(root, job.id).state == "interrupted"


def test_a_process_that_finished_while_its_worker_died_is_finished(root: Path, plan: Plan) -> None:
    jobs.submit(root, plan)
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    (job.path / folder.RESULT).write_text(json.dumps({"artifact": "made"}))
    os.close(handle)
    found = folder.find(root, job.id)
    assert (found.state, found.last.artifact) == ("finished", "made")
    with pytest.raises(InputError, match="the job is finished"):
        jobs.resume(root, job.id)


@pytest.mark.parametrize(
    ("result", "cancelled", "code", "state", "words"),
    [
        ({"artifact": "a"}, True, 0, "finished", None), ({"error": "No such file.", "exit_code": 2}, False, 0, "failed", "No such file."),
        ({}, True, -9, "cancelled", None), ({"cancelled": "x"}, True, 0, "cancelled", None), ({}, False, -9, "interrupted", "SIGKILL"),
        ({"cancelled": "x"}, False, 0, "interrupted", "told to stop"), ({}, False, 1, "failed", "code 1"), ({}, False, None, "interrupted", "without a word"),
        ({"artifact": 3, "error": ["x"]}, False, 1, "failed", "code 1"), ({"error": "x" * 10**5, "exit_code": 10**30}, False, 0, "failed", "xxx"),
        ({"error": "\ud800\n\x1b[31m"}, False, 0, "failed", "\\ud800\\n\\x1b[31m"),
    ],
)
def test_how_an_attempt_ended(
    root: Path, plan: Plan, result: dict[str, object], cancelled: bool, code: int | None, state: str, words: str | None
) -> None:
    jobs.submit(root, plan)
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    (job.path / folder.RESULT).write_text(json.dumps(result))
    if cancelled:
        assert jobs.cancel(root, job.id).state == "cancelling"
    queue.close(root, job, code)
    os.close(handle)
    found = folder.find(root, job.id)
    assert found.state == state and states(found)[-1] == state
    assert (words is None) == (found.last.reason is None) and (words or "") in (found.last.reason or "")


@pytest.mark.parametrize("state", ["finished", "failed", "cancelled"])
def test_what_has_ended_cannot_be_cancelled(root: Path, plan: Plan, state: str) -> None:
    job = jobs.submit(root, plan)
    folder.record(job.path, (*job.events, jobs.Event(queue.now(), "running"), jobs.Event(queue.now(), state)))
    with pytest.raises(InputError, match=f"the job is {state}"):
        jobs.cancel(root, job.id)


def test_waiting_and_interrupted_jobs_are_cancelled_at_once(root: Path, plan: Plan) -> None:
    waiting = jobs.submit(root, plan)
    assert jobs.cancel(root, waiting.id).state == "cancelled"
    job = jobs.submit(root, plan)
    claimed, handle = queue.claim(root) or pytest.fail("nothing to claim")
    with pytest.raises(InputError, match="the job is running"):
        jobs.resume(root, job.id)
    os.close(handle)
    assert claimed.id == job.id and jobs.cancel(root, job.id).state == "cancelled"
    assert queue.claim(root) is None


@pytest.mark.parametrize("name", ["", "..", ".locks", "../x", "nowhere", "a\0b", "/"])
def test_an_unknown_job_is_named(root: Path, plan: Plan, name: str) -> None:
    jobs.submit(root, plan)
    with pytest.raises(InputError, match="no such job"):
        jobs.cancel(root, name)


@pytest.mark.parametrize("text", ["0", "17", "many", "-1", ""])
def test_how_many_at_once_is_checked_before_anything_is_queued(root: Path, plan: Plan, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(queue.AT_ONCE, text)
    with pytest.raises(InputError, match="OBSERVATORY_JOBS_AT_ONCE"):
        jobs.submit(root, plan)
    assert jobs.listing(root) == []


GOOD_EVENT = {"at": "2026-01-01T00:00:00+00:00", "state": "queued"}
BAD_STATES = {
    "no JSON": b"{", "not UTF-8": b"\xff\xfe{", "a list": b"[]", "no events": b'{"events": []}', "deep": b"[" * 100_000,
    "unknown state": {**GOOD_EVENT, "state": "done"}, "no time": {**GOOD_EVENT, "at": "yesterday"}, "no zone": {**GOOD_EVENT, "at": "2026-01-01T00:00:00"},
    "begins in the middle": {**GOOD_EVENT, "state": "finished"}, "seconds of text": {**GOOD_EVENT, "seconds": "3"},
    "infinite seconds": b'{"events": [{"at": "2026-01-01T00:00:00+00:00", "state": "queued", "seconds": Infinity}]}',
    "true for a number": {**GOOD_EVENT, "encoded": True}, "endless reason": {**GOOD_EVENT, "reason": "x" * 5000},
    "negative seconds": {**GOOD_EVENT, "seconds": -1}, "an endless number": {**GOOD_EVENT, "seconds": 10**400}, "a huge count": {**GOOD_EVENT, "encoded": 10**30},
    "half a character": {**GOOD_EVENT, "reason": "\ud800"}, "a reason of two lines": {**GOOD_EVENT, "reason": "a\nb"},
    "stages without end": {**GOOD_EVENT, "stages": {"encode": [1, 1, 2, 10**400]}},
    "stages that are none": {**GOOD_EVENT, "stages": {"encode": [1, 5, 2, 9]}}, "too large": b" " * (2**20 + 1),
}


@pytest.mark.parametrize("case", BAD_STATES)
def test_a_corrupt_job_is_shown_as_such_and_never_run(root: Path, plan: Plan, case: str) -> None:
    job, whole = jobs.submit(root, plan), jobs.submit(root, plan)
    bad = BAD_STATES[case]
    (job.path / folder.STATE).write_bytes(bad if isinstance(bad, bytes) else json.dumps({"events": [bad]}).encode())
    found = {entry.id: entry for entry in jobs.listing(root)}
    assert isinstance(found[job.id], Broken) and found[job.id].reason and found[whole.id] == whole
    claimed = queue.claim(root)
    assert claimed is not None and claimed[0].id == whole.id
    os.close(claimed[1])
    assert queue.claim(root) is None
    with pytest.raises(InputError, match="corrupt"):
        jobs.resume(root, job.id)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((n, k) for n in (folder.PLAN, folder.STATE) for k in ("missing", "link", "pipe", "folder")), *((folder.ALIVE, k) for k in ("link", "pipe", "folder"))],
)
def test_files_that_are_no_files_are_not_read(root: Path, plan: Plan, name: str, kind: str) -> None:
    job = jobs.submit(root, plan)
    path = job.path / name
    kept = path.rename(root / "kept")
    if kind == "link":
        path.symlink_to(kept)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    assert isinstance(only(root), Broken)
    assert queue.claim(root) is None and not queue.waits(root)


@pytest.mark.parametrize("name", ["\x1b[31mred", "a b", "x" * 200, "caf\u00e9", os.fsdecode(b"\xff"), "<b>"])
def test_a_folder_with_a_name_that_no_job_has_is_none(root: Path, plan: Plan, name: str) -> None:
    job = jobs.submit(root, plan)
    shutil.copytree(job.path, job.path.with_name(name))
    assert [type(entry) for entry in jobs.listing(root) if entry.id == name] == [Broken]
    with pytest.raises(InputError, match="no such job"):
        jobs.cancel(root, name)


def test_a_job_that_cannot_be_changed_here_holds_up_nobody(root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = jobs.submit(root, plan), jobs.submit(root, plan)
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != theirs.path and may(path, mode))
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    os.close(handle)
    assert job.id == ours.id and not queue.waits(root) and len(jobs.listing(root)) == 2


def test_a_job_is_not_resumed_until_its_file_is_too_long_to_be_read(root: Path, plan: Plan) -> None:
    job = jobs.submit(root, plan)
    folder.record(job.path, (*job.events, *[jobs.Event(queue.now(), "running"), jobs.Event(queue.now(), "failed")] * 498))
    with pytest.raises(InputError, match="tried 498 times"):
        jobs.resume(root, job.id)
    assert isinstance(only(root), Job)


def test_a_plan_that_could_not_be_read_back_is_not_queued(root: Path, plan: Plan) -> None:
    with pytest.raises(InputError, match="longer than"):
        jobs.submit(root, replace(plan, query_prompt="x" * 70_000))
    assert jobs.listing(root) == []


def test_stray_files_links_and_hidden_folders_among_the_jobs(root: Path, plan: Plan) -> None:
    job = jobs.submit(root, plan)
    place = root / folder.FOLDER
    (place / "stray").write_text("x")
    (place / "linked").symlink_to(job.path)
    (place / "empty").mkdir()
    (place / ".tmp-half").mkdir()
    found = jobs.listing(root)
    assert {e.id for e in found if isinstance(e, Broken)} == {"stray", "linked", "empty"}
    assert [e for e in found if isinstance(e, Job)] == [job]


@pytest.mark.parametrize("text", ["{", "[]", '{"pid": "1", "at": "x"}', '{"pid": 1, "at": "2026-01-01T00:00:00+00:00", "encoded": 1, "stages": {"s": 1}}',
    '{"pid": 1, "at": "2026-01-01T00:00:00+00:00", "encoded": 1, "stages": {"s": [1, 0, 1, 1' + 400 * "0" + "]}}"])
def test_broken_progress_costs_no_job(root: Path, plan: Plan, text: str) -> None:
    jobs.submit(root, plan)
    job, handle = queue.claim(root) or pytest.fail("nothing to claim")
    (job.path / folder.PROGRESS).write_text(text)
    found = folder.find(root, job.id)
    os.close(handle)
    assert (found.state, found.live) == ("running", None)


def test_the_end_of_a_long_log(root: Path, plan: Plan) -> None:
    job = jobs.submit(root, plan)
    (job.path / folder.LOG).write_text("".join(f"line {i}\n" for i in range(5000)))
    tail = folder.log_tail(job.path, most=100)
    assert tail.startswith("line ") and tail.endswith("line 4999\n") and len(tail) <= 100
    (job.path / folder.LOG).unlink()
    (job.path / folder.LOG).symlink_to(ROOT / "README.md")
    assert folder.log_tail(job.path) == ""


def test_the_queue_waits_for_nobody_forever(root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs.submit(root, plan)
    monkeypatch.setattr(folder, "PATIENCE", 0.1)
    with folder.changing(root), pytest.raises(InputError, match="held by another process"):
        jobs.submit(root, plan)


def test_no_job_is_taken_for_an_artifact(root: Path, plan: Plan) -> None:
    from observatory.store import Store

    jobs.submit(root, plan)
    store = Store(root, ())
    assert store.sets().empty and store.quarantine().empty


def test_a_store_that_cannot_be_written_is_said(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        jobs.submit(tmp_path / "file", plan)


def test_a_copied_store_holds_its_history(root: Path, plan: Plan, tmp_path: Path) -> None:
    job = jobs.cancel(root, jobs.submit(root, plan).id)
    shutil.copytree(root, tmp_path / "copy")
    assert folder.find(tmp_path / "copy", job.id).events == job.events
