"""Ablation grids: one table, a baseline, paired deltas with intervals, a correction over the whole table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from observatory import ablation
from observatory.cells import Cell
from observatory.cli import main
from observatory.errors import InputError
from observatory.runs import Plan, run
from observatory.store import Store


@pytest.fixture
def cells(small: Path, tmp_path: Path) -> tuple[Store, dict[str, str], list[Cell]]:
    plans = {
        "okapi": Plan(str(small), "bm25:okapi", ("random", "bm25"), k=3, metrics=("nDCG@10", "RR")),
        "lucene": Plan(str(small), "bm25:bm25s", ("random", "bm25"), k=3, metrics=("nDCG@10",)),
        "other seed": Plan(str(small), "bm25:okapi", ("random",), k=3, seed=1),
        "other k": Plan(str(small), "bm25:bm25s", ("random",), k=2),
    }
    folders = {name: run(plan, tmp_path / "out") for name, plan in plans.items()}
    store, ids = Store.of(list(folders.values())), {name: path.name for name, path in folders.items()}
    return store, ids, ablation.table(store, ids, "okapi")


def one(cells: list[Cell], configuration: str, measure: str) -> Cell:
    (found,) = [c for c in cells if (c.configuration, c.measure) == (configuration, measure)]
    return found


def test_deltas_are_paired_differences(cells: tuple[Store, dict[str, str], list[Cell]]) -> None:
    store, ids, found = cells
    a, b = (store.metric_values(ids[name], "nDCG@10")["value"].to_numpy() for name in ("okapi", "lucene"))
    cell = one(found, "lucene", "nDCG@10")
    assert cell.delta is not None and cell.delta.estimate == pytest.approx((b - a).mean())
    assert cell.mean.estimate == pytest.approx(b.mean()) and cell.p is not None and 0 < cell.p <= 1
    if (b - a).std() > 0:  # clusters of one query: CR2 is the ordinary t interval
        interval = stats.ttest_1samp(b - a, 0).confidence_interval()
        assert (cell.delta.low, cell.delta.high) == pytest.approx((interval.low, interval.high))


def test_what_cannot_be_compared_says_why(cells: tuple[Store, dict[str, str], list[Cell]]) -> None:
    _, _, found = cells
    assert one(found, "okapi", "RR").note == "baseline"
    assert not [c for c in found if c.measure == "RR" and c.configuration != "okapi"]
    assert "share no unit" in one(found, "lucene", "mean margin, random").note
    assert one(found, "lucene", "mean margin, random").delta is None
    assert one(found, "lucene", "win rate, random").note == ""
    assert one(found, "other seed", "mean margin, random").delta is not None
    assert one(found, "other k", "win rate, random").note.startswith("confounded: ")


def test_holm_runs_over_the_whole_table(cells: tuple[Store, dict[str, str], list[Cell]]) -> None:
    _, _, found = cells
    tested = [c for c in found if c.p is not None]
    assert len(tested) > 3
    expected = multipletests([c.p for c in tested], method="holm")[1]
    assert [c.holm for c in tested] == pytest.approx(list(expected))
    assert ablation.family(found) == f"Holm over the {len(tested)} differences of this table"


GRIDS = {
    "benchmark: b": "configurations", "benchmark: b\nconfigurations: {}": "configurations", "benchmark: b\nconfigurations: {a: 3}": "configurations.a",
    "benchmark: b\nconfigurations: {a: {scorer: s}}\nbaseline: z": "baseline", "benchmark: b\nconfigurations: {a: {skorer: s}}": "skorer",
    "benchmark: b\nconfigurations: {a: {scorer: s}, a: {scorer: t}}": "line 2, field 'a': stands twice",
    "benchmark: b\nconfigurations: {1: {scorer: s}, '1': {scorer: t}}": "no name of its own (got '1')",
    "benchmark: b\nconfigurations: {yes: {scorer: s}}": "no name of its own (got True)", "benchmark: b\nconfigurations: {'': {scorer: s}}": "no name of its own",
    "benchmark: b\nconfigurations: {a: {scorer: s}, b: {scorer: s}}": "a and b are the same plan",
}


@pytest.mark.parametrize("text", GRIDS)
def test_grids_that_cannot_be_used(text: str) -> None:
    with pytest.raises(InputError) as error:
        ablation.from_yaml(text, "grid.yaml")
    assert GRIDS[text] in str(error.value) and "grid.yaml" in str(error.value)


def test_the_command_prints_one_table(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "grid.yaml"
    file.write_text(
        f"observatory_grid:\n  benchmark: {small}\n  metrics: [nDCG@10]\n  baseline: second\n"
        "  configurations:\n    first: {scorer: 'bm25:bm25s'}\n    second: {scorer: 'bm25:okapi'}\n"
    )
    words = ["run", "--grid", str(file), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "baseline second" in printed and printed.count("nDCG@10") == 2
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["baseline"] == "second" and len(document["cells"]) == 2 and set(document["artifacts"]) == {"first", "second"}


def test_shared_fields_may_be_merged_and_overridden() -> None:
    grid = ablation.from_yaml("benchmark: b\nconfigurations:\n  a: &a {scorer: s, k: 3}\n  b: {<<: *a, k: 4}\n")
    assert (grid.plans["b"].scorer, grid.plans["b"].k) == ("s", 4)


def test_every_configuration_is_resolved_before_the_first_is_measured(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "grid.yaml", tmp_path / "out"
    file.write_text(f"benchmark: {small}\nscorer: bm25:okapi\nconfigurations:\n  good: {{rules: [random]}}\n  bad: {{rules: [rendom]}}\n")
    assert main(["run", "--grid", str(file), "--out", str(out), "--quiet"]) == 2
    assert "configuration bad" in (said := capsys.readouterr().err) and "rendom" in said
    assert not out.exists()


def test_what_was_measured_before_a_failure_is_kept_and_named(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from observatory import runs

    file, out, whole = tmp_path / "grid.yaml", tmp_path / "out", runs.run

    def fails_second(plan: Plan, out: Path, progress: runs.Progress) -> Path:
        if plan.k == 2:
            raise InputError("gives scores that are no finite numbers", file="table", mend="check the weights")
        return whole(plan, out, progress)

    monkeypatch.setattr(runs, "run", fails_second)
    file.write_text(f"benchmark: {small}\nscorer: bm25:okapi\nrules: [random]\nconfigurations: {{one: {{k: 1}}, two: {{k: 2}}}}\n")
    assert main(["run", "--grid", str(file), "--out", str(out), "--quiet", "--json"]) == 2
    streams = capsys.readouterr()
    (kept,) = out.iterdir()
    document = json.loads(streams.out)
    assert document["artifacts"] == {"one": str(kept)} and "failed, configuration two: table: gives scores" in streams.err
    assert document["error"] == "table: gives scores that are no finite numbers; check the weights."


@pytest.mark.parametrize("beside", [["--k", "3"], ["--plan", "p.yaml"], ["--benchmark", "b"]])
def test_options_beside_a_grid_are_refused(beside: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--grid", "grid.yaml", *beside]) == 2
    assert beside[0] in capsys.readouterr().err
