"""Real workers and real processes: several at once, cancelled, killed and resumed; nothing is lost, nothing done twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from observatory import artifacts, jobs
from observatory.cli import main
from observatory.jobs import Job, folder, queue
from observatory.plans import Plan, to_yaml
from tests.conftest import ROOT, item, query, relate_folder
from tests.jobs.conftest import Work, ended, states, until

N_LONG = 1200  # texts: several seconds of encoding, five shards
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(60)
"""


@pytest.fixture
def long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A run by the bundled model that takes long enough to be stopped, with a cache of its own."""
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "cache"))
    items = [item(f"i{i}", f"Crate {i} of the {i % 7}th harbour holds {i * 31 % 997} coils of rope and a lamp.", "d") for i in range(N_LONG - 1)]
    queries = [query("q", "Which crate holds a lamp?", "i0", {"i0": 3})]
    return Plan(str(relate_folder(tmp_path / "long-1.0", items, queries)), "all-MiniLM-L6-v2", ("random",))


def artifacts_of(root: Path) -> list[Path]:
    return [child for child in root.iterdir() if artifacts.is_artifact(child)]


def lives(pid: int) -> bool:
    """Whether a process runs; one that ended and was not yet fetched by its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_submitted_run_is_done_by_processes_of_their_own(root: Path, plan: Plan) -> None:
    """With the worker that ``submit`` starts."""
    begun = time.monotonic()
    job = jobs.submit(root, plan)
    assert time.monotonic() - begun < 2
    job = until(root, job.id, ended)
    assert states(job) == ["queued", "running", "finished"] and job.attempts == 1 and job.encoded == 0
    (path,) = artifacts_of(root)
    assert job.last.artifact == path.name
    assert artifacts.verify(path) and set(artifacts.read_descriptors(path).descriptors) == set(plan.rules)
    assert list(job.last.stages)[:2] == ["start", "read benchmark"] and job.last.stages["score queries"].done == 16
    assert "finished: " in folder.log_tail(job.path)


def test_two_workers_and_two_submitters_do_everything_once(root: Path, plan: Plan, work: Work) -> None:
    """Of two workers one works; jobs that come while it does are done, too."""
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda seed: jobs.submit(root, replace(plan, seed=seed)).id, range(3)))
    first, second = work(), work()
    late = jobs.submit(root, replace(plan, seed=9)).id
    most = 0
    while first.poll() is None or second.poll() is None:
        most = max(most, sum(isinstance(j, Job) and j.state == "running" for j in jobs.listing(root)))
        time.sleep(0.02)
    found = [folder.find(root, i) for i in [*ids, late]]
    assert {j.state for j in found} == {"finished"} and {j.attempts for j in found} == {1} and most == 1
    assert sorted(str(j.last.artifact) for j in found) == sorted(p.name for p in artifacts_of(root))


def test_two_at_once_where_the_setting_says_so(root: Path, plan: Plan, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(queue.AT_ONCE, "2")
    ids = [jobs.submit(root, replace(plan, seed=seed)).id for seed in range(2)]
    work(), work()
    found = [until(root, i, ended) for i in ids]
    (a, b) = [(j.events[1].at, j.events[2].at) for j in found]
    assert a[0] < b[1] and b[0] < a[1], "they did not run at the same time"


def test_a_failed_run_says_why_and_leaves_nothing(root: Path, plan: Plan, work: Work) -> None:
    job = jobs.submit(root, replace(plan, rules=("entity_matched[0:1]",)))
    work()
    job = until(root, job.id, ended)
    assert (job.state, job.last.exit_code) == ("failed", 2) and "takes no slice" in str(job.last.reason)
    assert job.last.reason is not None and job.last.reason in folder.log_tail(job.path)
    assert artifacts_of(root) == [] and [p.name for p in root.iterdir()] == [folder.FOLDER]


def test_a_process_that_does_not_listen_is_ended_within_two_seconds(root: Path, plan: Plan, by_hand: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from observatory.jobs import worker

    def stubborn(root: Path, job: Job, alive: int) -> subprocess.Popen[bytes]:
        with (job.path / folder.LOG).open("ab") as log:
            return subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=log, pass_fds=[alive])

    monkeypatch.setattr(worker, "_start", stubborn)
    job = jobs.submit(root, plan)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(worker.work, root)
        until(root, job.id, lambda j: "deaf" in folder.log_tail(j.path))
        asked = time.monotonic()
        assert jobs.cancel(root, job.id).state == "cancelling"
        job = until(root, job.id, ended)
        assert time.monotonic() - asked < 2
        done.result(timeout=5)
    assert job.state == "cancelled"


def test_a_worker_that_is_killed_takes_its_run_along_and_the_next_goes_on(root: Path, long: Plan, work: Work) -> None:
    job = jobs.submit(root, long)
    worker = work()
    running = until(root, job.id, lambda j: j.live is not None)
    assert running.live is not None
    worker.kill()
    job = until(root, job.id, lambda j: j.state == "interrupted", 5)
    assert not lives(running.live.pid) and artifacts_of(root) == []
    assert jobs.cancel(root, job.id).state == "cancelled"


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_shards(root: Path, long: Plan, work: Work) -> None:
    """By SIGKILL, in the middle of encoding: no text is encoded again but those of the open shard."""
    job = jobs.submit(root, long)
    work()
    running = until(root, job.id, lambda j: j.encoded >= 512)
    assert running.live is not None
    os.kill(running.live.pid, signal.SIGKILL)
    killed = until(root, job.id, ended)
    assert killed.state == "interrupted" and "SIGKILL" in str(killed.last.reason) and artifacts_of(root) == []

    jobs.resume(root, job.id)
    work()
    finished = until(root, job.id, ended)
    assert states(finished) == ["queued", "running", "interrupted", "queued", "running", "finished"]
    assert finished.last.stages["encode items"].first >= killed.encoded >= 512, "finished shards were not taken from the cache"
    distinct = finished.last.stages["encode items"].total + 1  # and the query
    assert distinct - 256 <= finished.encoded <= distinct, "a shard may be finished and not yet counted when the process dies"
    assert len(artifacts_of(root)) == 1


@pytest.mark.slow
def test_an_encoding_run_is_cancelled_within_two_seconds(root: Path, long: Plan, work: Work) -> None:
    job = jobs.submit(root, long)
    work()
    until(root, job.id, lambda j: j.live is not None and j.live.stage == "encode items")
    asked = time.monotonic()
    jobs.cancel(root, job.id)
    cancelled = until(root, job.id, ended)
    assert time.monotonic() - asked < 2 and cancelled.state == "cancelled" and artifacts_of(root) == []


# -- the command line --------------------------------------------------------------------------------------------------


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["jobs", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_jobs_from_the_command_line(root: Path, plan: Plan, work: Work, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.yaml").write_text(to_yaml(plan))
    store = ("--store", str(root))
    assert shown(capsys, *store) == {"jobs": [], "broken": []}
    job = shown(capsys, "submit", "--plan", str(tmp_path / "plan.yaml"), *store)
    assert job["state"] == "queued" and job["plan"]["benchmark"] == plan.benchmark  # type: ignore[index]
    name = str(job["id"])
    assert shown(capsys, "cancel", name, *store)["state"] == "cancelled"
    assert shown(capsys, "resume", name, *store)["state"] == "queued"
    work()
    until(root, name, ended)
    (root / folder.FOLDER / "stray").write_text("\x1b[31m")
    listed = shown(capsys, *store)
    (finished,) = listed["jobs"]  # type: ignore[misc]
    assert finished["state"] == "finished" and finished["artifact"] and finished["texts_encoded"] == 0 and finished["progress"] is None
    assert listed["broken"] == [{"id": "stray", "reason": "is no folder"}]
    assert main(["jobs", *store]) == 0
    text = capsys.readouterr().out
    assert name in text and "finished" in text and "stray: is no job" in text


@pytest.mark.parametrize(("words", "said"), [(["submit"], "--plan FILE"), (["cancel"], "names no job"), (["resume", "nope"], "no such job"), (["dance"], "invalid choice")])
def test_wrong_words_are_answered_in_one_sentence(words: list[str], said: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", *words, "--store", str(root)]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_listing_jobs_starts_light() -> None:
    code = "import sys; from observatory.cli import main; main(['jobs']); print([m for m in ('numpy', 'torch', 'duckdb', 'streamlit') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_the_queue_is_counted_right_under_load(root: Path, plan: Plan, by_hand: None) -> None:
    """Sixteen claimers at once: every job has exactly one."""
    for seed in range(8):
        jobs.submit(root, replace(plan, seed=seed))
    with ThreadPoolExecutor(16) as pool:
        claimed = [c for c in pool.map(lambda _: queue.claim(root), range(16)) if c is not None]
    assert Counter(job.id for job, _ in claimed) == Counter(j.id for j in jobs.listing(root))
    for _, handle in claimed:
        os.close(handle)
