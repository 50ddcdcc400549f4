"""What must not change a number: batches, blocks, threads, the order of items. And ties that are exact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory import benchmarks, margins, runs
from observatory.runs import Plan
from observatory.scorers import load
from tests.conftest import ROOT, TableScorer, item, query, relate_folder

RULES = ("random", "in_model[0:3]", "bm25", "structured_perturbation", "entity_matched")


def outcomes_of(folder: Path, plan: Plan) -> dict[tuple[str, str], tuple]:
    prepared = runs.prepare(plan, benchmarks.read(folder))
    table = runs.measure(prepared, load(plan.scorer, plan.batch_size))["margins"]
    return {(r["rule"], r["query_id"]): (r["outcome"], r["margin"], r["hardest_item_id"]) for r in table.to_pylist()}


@pytest.mark.slow
@pytest.mark.parametrize(("batch_size", "block_size"), [(1, 1), (7, 3), (64, 1000)])
def test_batch_and_block_size_change_no_outcome(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_size: int, block_size: int
) -> None:
    plan = Plan(str(small), "all-MiniLM-L6-v2", RULES)
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "one"))
    expected = outcomes_of(small, plan)
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "two"))
    found = outcomes_of(small, replace(plan, batch_size=batch_size, block_size=block_size))
    assert {k: v[0] for k, v in found.items()} == {k: v[0] for k, v in expected.items()}
    assert max(abs(found[k][1] - expected[k][1]) for k in expected) < 1e-5


TIES = """
import json, sys, torch
from pathlib import Path
torch.set_num_threads(int(sys.argv[2]))
from observatory import runs, benchmarks
from observatory.scorers import load
plan = runs.Plan(sys.argv[1], sys.argv[3], ("in_model", "structured_perturbation"), batch_size=int(sys.argv[4]), block_size=int(sys.argv[5]))
prepared = runs.prepare(plan, benchmarks.read(sys.argv[1]))
table = runs.measure(prepared, load(plan.scorer, plan.batch_size))["margins"].to_pylist()
print(json.dumps([[r["rule"], r["margin"], r["outcome"]] for r in table]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "batch", "block"), [(1, 1, 1), (2, 5, 3), (2, 32, 256)])
def test_equal_texts_tie_at_every_setting(tmp_path: Path, threads: int, batch: int, block: int) -> None:
    """Every positive has a twin with its text, and one that the tokeniser reads alike: margin 0, outcome tie."""
    words = "copy backup ledger invoice valve harbour permit ward release cluster".split()
    items, queries = [], []
    for i in range(23):
        text = f"The {words[i % 10]} number {i} was checked by the {words[(i * 3 + 1) % 10]} team on day {i * i}."
        items += [item(f"t{i}", text), item(f"twin{i}", text), item(f"case{i}", text.upper())]
        queries.append(
            query(f"q{i}", f"Was {words[i % 10]} number {i} checked?", f"t{i}", {f"t{i}": 3},
                  [(f"twin{i}", "structured_perturbation", "same"), (f"case{i}", "structured_perturbation", "same")])
        )  # fmt: skip
    folder = relate_folder(tmp_path / "twins", items, queries)
    done = subprocess.run(
        [sys.executable, "-c", TIES, str(folder), str(threads), "all-MiniLM-L6-v2", str(batch), str(block)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [r for r in json.loads(done.stdout) if r[0] == "structured_perturbation"]
    assert len(rows) == 23
    assert {(margin, outcome) for _, margin, outcome in rows} == {(0.0, "tie")}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_item_order_changes_no_deterministic_rule(tmp_path_factory: pytest.TempPathFactory, seed: int, k: int) -> None:
    """Scores do not tie here: a shuffled corpus gives the same negatives, margins and outcomes."""
    rng = np.random.default_rng(seed)
    scores = {(f"Q{q}", f"T{t}"): float(s) for (q, t), s in np.ndenumerate(rng.permutation(4 * 14).reshape(4, 14) / 56)}
    items = [item(f"i{t}", f"T{t}") for t in range(14)]
    queries = [query(f"q{q}", f"Q{q}", f"i{q}", {f"i{q}": 3}) for q in range(4)]
    found = []
    for name, order in (("a", np.arange(14)), ("b", rng.permutation(14))):
        folder = relate_folder(tmp_path_factory.mktemp(name), [items[i] for i in order], queries)
        prepared = runs.prepare(Plan(str(folder), "table", ("in_model", "in_model[1:4]"), k=k), benchmarks.read(folder))
        table = runs.measure(prepared, TableScorer(lambda q, t: scores[q, t]))["margins"].to_pylist()
        found.append([(r["rule"], r["query_id"], r["margin"], r["hardest_item_id"], r["outcome"]) for r in table])
    assert found[0] == found[1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(-1e6, 1e6))
def test_margin_is_reference_minus_maximum(negatives: list[float], reference: float) -> None:
    result = margins.margin(reference, np.array(negatives))
    assert result.value == reference - max(negatives)
    assert result.outcome == ("win" if reference > max(negatives) else "tie" if reference == max(negatives) else "loss")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_margins_of_numbers_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        margins.margin(bad, np.array([0.1]))
    with pytest.raises(ValueError, match="finite"):
        margins.margin(0.5, np.array([bad]))


@pytest.mark.parametrize(("n", "k", "seed"), [(1, 5, 0), (5, 5, 1), (12, 5, 2), (40, 1, 3), (200, 7, 4)])
def test_exact_expectation_agrees_with_ten_thousand_draws(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool, reference = rng.normal(0.2, 0.2, n).round(2), 0.45  # rounded: ties within the pool and with the reference
    exact = margins.random_expectation(reference, pool, k)
    draws = np.array([reference - rng.choice(pool, min(k, n), replace=False).max() for _ in range(10_000)])
    assert abs(draws.mean() - exact.mean) <= 4 * draws.std() / 100 + 1e-12
    assert abs((draws > 0).mean() - exact.win_rate) <= 4 * 0.5 / 100
    assert draws.std() == pytest.approx(np.sqrt(exact.variance), rel=0.05, abs=1e-9)


def test_a_runs_expectation_agrees_with_many_seeds(small: Path) -> None:
    """Mean, win rate and standard deviation of the *set* over 400 seeds, within their simulation error."""
    scorer = load("bm25:okapi")
    benchmark = benchmarks.read(small)
    means, rates = [], []
    for seed in range(400):
        prepared = runs.prepare(Plan(str(small), "bm25:okapi", ("random",), k=3, seed=seed), benchmark)
        tables = runs.measure(prepared, scorer)
        values = tables["margins"]["margin"].to_numpy()
        means.append(values.mean())
        rates.append((values > 0).mean())
    exact = runs.describe(prepared, scorer, tables)["random"].expectation
    assert abs(np.mean(means) - exact.mean_margin) < 4 * np.std(means) / 20
    assert abs(np.mean(rates) - exact.win_rate) < 4 * max(np.std(rates), 0.01) / 20
    assert np.std(means) == pytest.approx(exact.sd_of_mean_margin, rel=0.15)


def test_the_same_run_in_two_processes_writes_the_same_tables(small: Path, tmp_path: Path) -> None:
    """Sets and dictionaries are ordered anew in each process (PYTHONHASHSEED); no table may be."""
    found = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "observatory", "run", "--benchmark", str(small), "--scorer", "bm25:okapi", "--rules", "random,in_model[0:2],bm25"]
        command += ["--metrics", "nDCG@10,R(rel=2)@5,Judged@5,AP", "--out", str(tmp_path / seed), "--json"]
        done = subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        folder = Path(json.loads(done.stdout)["artifact"])
        found.append({path.name: pq.read_table(path).to_pylist() for path in sorted(folder.glob("*.parquet"))})
    assert found[0] == found[1] and all(found[0].values())
