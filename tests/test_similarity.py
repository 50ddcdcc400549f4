"""Similarity of sentence pairs, and the list of scorers that can be used here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from observatory import benchmarks, similarity
from observatory.cli import main
from observatory.errors import InputError
from observatory.scorers import load
from tests.conftest import TableScorer

Capture = pytest.CaptureFixture[str]


def sts(path: Path, rows: list[tuple[float, str, str]]) -> Path:
    path.write_text("".join(f"main\tfile\t2026\t{i}\t{score}\t{a}\t{b}\n" for i, (score, a, b) in enumerate(rows)), encoding="utf-8")
    return path


def test_it_is_scipys_correlation_of_each_pairs_own_score(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [(float(rng.integers(0, 11)) / 2, f"left {i % 40}", f"right {i % 70}") for i in range(600)]  # sentences repeat, scores tie
    read = benchmarks.read(str(sts(tmp_path / "sts.tsv", rows)))
    found = similarity.measure(read, TableScorer(lambda a, b: float((len(a) * 7 + int(b.split()[1]) * int(a.split()[1])) % 13)))
    scores = [float((len(a) * 7 + int(b.split()[1]) * int(a.split()[1])) % 13) for _, a, b in rows]
    assert found.n == 600 and found.spearman == pytest.approx(stats.spearmanr([r[0] for r in rows], scores).statistic, abs=1e-12)


def test_no_correlation_is_said_and_not_nan(tmp_path: Path, small: Path) -> None:
    read = benchmarks.read(str(sts(tmp_path / "sts.tsv", [(1.0, "a", "b"), (3.0, "c", "d")])))
    with pytest.raises(InputError, match="all scores of the model are equal"):
        similarity.measure(read, TableScorer(lambda a, b: 1.0))
    with pytest.raises(InputError, match="no pairs with a score"):
        similarity.measure(benchmarks.read(str(small)), load("bm25:okapi"))


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    file = sts(tmp_path / "sts.tsv", [(4.0, "the crate is red", "the crate is red"), (1.0, "the crate is red", "nothing"), (2.0, "a quay", "the quay")])
    assert main(["similarity", "--benchmark", str(file), "--scorer", "bm25:bm25s", "--json", "--quiet"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"spearman", "n"}
    assert main(["similarity", "--benchmark", str(tmp_path / "none.tsv"), "--json"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_sts_dev_by_minilm(shared_data: Path) -> None:
    found = similarity.measure(benchmarks.read(str(shared_data / "stsb-dev" / "sts-dev.csv")), load("all-MiniLM-L6-v2"))
    assert (round(found.spearman, 4), found.n) == (0.8672, 1500)


@pytest.mark.slow
def test_sts_dev_by_mpnet(shared_data: Path, mpnet: Path) -> None:
    found = similarity.measure(benchmarks.read(str(shared_data / "stsb-dev" / "sts-dev.csv")), load(str(mpnet)))
    assert (round(found.spearman, 4), found.n) == (0.8811, 1500)


def test_models_says_what_is_usable_and_why_the_rest_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    monkeypatch.setenv("OBSERVATORY_MODELS", str(tmp_path))
    assert main(["models", "--json"]) == 0
    found = {entry["scorer"]: entry for entry in json.loads(capsys.readouterr().out)["models"]}
    assert found["all-MiniLM-L6-v2"]["usable"] and found["bm25:okapi"]["usable"] and found["bm25:bm25s"]["usable"]
    broken = found[str(tmp_path / "broken")]
    assert not broken["usable"] and "safetensors" in broken["why"]
    assert main(["models"]) == 0 and "no " in capsys.readouterr().out
