"""Plans: as YAML and back, as the one command that repeats them, and previewed before any score."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from observatory import plans, runs
from observatory.cli import build_parser, main
from observatory.commands.run import plan_of
from observatory.errors import InputError
from observatory.plans import Plan
from observatory.runs import run

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
whole = st.integers(-plans.LARGEST, plans.LARGEST)


@settings(deadline=None)
@given(
    st.builds(
        Plan, benchmark=texts, scorer=texts, rules=st.lists(texts).map(tuple), split=st.none() | texts, k=whole, seed=whole,
        metrics=st.lists(texts).map(tuple), max_length=st.none() | whole, query_prompt=st.none() | st.just("") | texts,
    )
)
def test_yaml_and_back(plan: Plan) -> None:
    assert plans.from_yaml(plans.to_yaml(plan)) == plan


BAD: dict[str, str] = {
    "benchmark: a\nscorer: b\nrulez: [x]": "rulez", "benchmark: a\nscorer: b\nk: five": "'k'", "benchmark: a\nscorer: b\nk: true": "'k'",
    "scorer: b": "'benchmark'", "benchmark: a\nscorer: ''": "'scorer'", "benchmark: a\nscorer: b\nrules: random": "'rules'",
    "- a": "mapping", "benchmark: [": "YAML", "benchmark: a\nscorer: b\nsplit: 7": "'split'", "": "mapping",
    "benchmark: !!python/object/apply:os.system ['true']": "YAML", "benchmark: a\nscorer: b\nk: 5\nk: 7": "line 4, field 'k': stands twice",
    "benchmark: a\nscorer: b\nk: 0x" + 5000 * "f": "'k': is out of range", "benchmark: a\nscorer: b\nk: 1" + 30 * "0": "'k': is out of range",
    "scorer: b\nbenchmark: 0x" + 5000 * "f": "too long to be written", 'benchmark: a\nscorer: b\nk: !!int ""': "YAML",
    "benchmark: a\nscorer: b\nk: !!bool maybe": "YAML", "benchmark: a\nscorer: b\nsplit: !!timestamp x": "YAML", 5000 * "[": "YAML",
    'benchmark: "a\\0b"\nscorer: b': "character that is none", 'benchmark: a\nscorer: b\nrules: ["\\ud800"]': "character that is none",
    "benchmark: a\nscorer: b\nrules: [" + 40_000 * "a," + "]": "longer than 65,536 characters",
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_used_is_named(text: str) -> None:
    with pytest.raises(InputError) as error:
        plans.from_yaml(text, "my.yaml")
    assert BAD[text] in str(error.value) and "my.yaml" in str(error.value)


def test_every_option_of_run_is_in_the_command_and_parses_back() -> None:
    values: dict[str, Any] = {
        "benchmark": "data/benchmarks/fieldnotes", "scorer": "bm25:okapi", "rules": ("random", "bm25[0:3]"), "split": "x", "reference": "best_scored",
        "k": 3, "seed": 9, "bm25": "okapi", "clusters": "text", "metrics": ("nDCG@10",), "depth": 5, "backend": "torch", "max_length": 64,
        "query_prompt": "ask: ", "item_prompt": "say: ", "dtype": "bfloat16", "batch_size": 32, "block_size": 256,
    }
    assert set(values) == {f.name for f in fields(Plan)}
    plan = Plan(**values)
    options = build_parser().parse_args(shlex.split(plans.command(plan))[1:])
    assert plan_of(options) == plan


def test_a_plan_file_runs_and_options_override_it(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(plans.to_yaml(Plan(str(small), "bm25:okapi", ("random",), k=2, seed=4)))
    options = build_parser().parse_args(["run", "--plan", str(file), "--k", "3"])
    assert plan_of(options) == Plan(str(small), "bm25:okapi", ("random",), k=3, seed=4)
    assert main(["run", "--plan", str(file), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "random" in capsys.readouterr().out
    assert main(["run", "--plan", str(tmp_path / "none.yaml"), "--out", str(tmp_path / "out")]) == 2
    assert main(["run", "--out", str(tmp_path / "out")]) == 2 and "names no benchmark" in capsys.readouterr().err


def test_preview_holds_what_the_descriptor_will_hold(small: Path, tmp_path: Path) -> None:
    plan = Plan(str(small), "bm25:okapi", ("random", "in_model[0:3]"), k=3, seed=5)
    preview = runs.preview(plan)
    assert preview.missing == () and (preview.n_queries, preview.n_items, preview.n_texts) == (16, 64, 80)
    from observatory.artifacts import read_descriptors

    for rule, descriptor in read_descriptors(run(plan, tmp_path / "out")).descriptors.items():
        final = descriptor.model_dump()
        for block, value in preview.descriptors[rule].items():
            assert final[block] == value if block != "clusters" else final[block]["rule"] == value["rule"]


def test_preview_says_everything_that_is_missing(small: Path) -> None:
    assert runs.preview(Plan("", "")).missing == ("choose a benchmark", "choose a scorer")
    said = runs.preview(Plan(str(small), "no such scorer", ("nope",))).missing
    assert len(said) == 2 and any("no such scorer" in s for s in said) and any("nope" in s for s in said)
    assert runs.preview(Plan(str(small), "bm25:okapi")).missing and not runs.preview(Plan(str(small), "bm25:okapi", metrics=("RR",))).missing
