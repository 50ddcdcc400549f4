"""What a user decides about a bi-encoder: prompts, longest text, arithmetic; all of it in the descriptor and the cache's space."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from observatory import artifacts, paths, reading, scorers
from observatory.cli import main
from observatory.errors import InputError
from observatory.plans import Plan
from observatory.runs import run
from observatory.scorers import Options, models
from observatory.scorers.bi_encoder import BiEncoder
from observatory.scorers.prompts import FAMILIES, USER_FILE, choose, read_families

NONE = Options()


def encoder(model: Path, **options: object) -> BiEncoder:
    return BiEncoder(models.locate(str(model)), paths.cache_root(), 32, Options(**options))  # type: ignore[arg-type]


# -- prompts -----------------------------------------------------------------------------------------------------------

BY_NAME = {
    "intfloat/e5-base-v2": ("query: ", "passage: "), "multilingual-e5-small": ("query: ", "passage: "),
    "BAAI/bge-base-en-v1.5": ("Represent this sentence for searching relevant passages: ", ""),
    "google/embeddinggemma-300m": ("task: search result | query: ", "title: none | text: "),
    "nomic-ai/nomic-embed-text-v1.5": ("search_query: ", "search_document: "),
    "all-MiniLM-L6-v2": ("", ""), "bge-m3": ("", ""),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_family_is_known_by_its_name(name: str) -> None:
    found = choose(name, {}, NONE)
    assert (found.query, found.item) == BY_NAME[name]
    assert found.origin.startswith("by the model's name" if found.query else "none known")


def test_qwen3_embedding_has_an_instruction_before_queries_only() -> None:
    found = choose("Qwen/Qwen3-Embedding-0.6B", {}, NONE)
    assert found.query.startswith("Instruct: ") and found.query.endswith("\nQuery:") and found.item == ""


def test_an_instruct_model_of_e5_does_not_get_the_plain_prefixes() -> None:
    assert choose("intfloat/multilingual-e5-large-instruct", {}, NONE).query.startswith("Instruct: ")


def test_every_family_names_its_source() -> None:
    assert all(len(f.source) > 20 for f in FAMILIES) and len({f.match for f in FAMILIES}) == len(FAMILIES)


def test_the_models_own_configuration_comes_before_its_name() -> None:
    found = choose("e5-base-v2", {"query": "Q: ", "document": "D: "}, NONE)
    assert (found.query, found.item, found.origin) == ("Q: ", "D: ", "the model's own configuration")


def test_the_users_file_comes_before_both_and_options_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prompts.yaml"
    file.write_text('- {match: "e5-*", query: "mine: ", item: ""}\n')
    monkeypatch.setenv(USER_FILE, str(file))
    assert choose("e5-base-v2", {"query": "Q: "}, NONE).query == "mine: "
    found = choose("e5-base-v2", {}, Options(item_prompt="x "))
    assert (found.query, found.item) == ("mine: ", "x ") and "the run's options" in found.origin and "prompts.yaml" in found.origin
    assert choose("e5-base-v2", {}, Options(query_prompt="", item_prompt="")).query == ""


@pytest.mark.parametrize("text", ["a: [", "just words", "- {match: x}", "- {match: x, query: 1, item: ''}", "- 5", "&a [*a]" * 9, "- {match: x, query: a, item: b, more: c}"])
def test_a_broken_prompt_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prompts.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as raised:
        read_families(file)
    assert "prompts.yaml" in str(raised.value) and "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_a_prompt_file_that_is_missing_is_said(tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(USER_FILE, str(tmp_path / "none.yaml"))
    with pytest.raises(InputError, match=r"none\.yaml"):
        encoder(tiny).description  # noqa: B018


def test_prompts_reach_vectors_descriptor_and_space(tiny: Path, small: Path, tmp_path: Path) -> None:
    plain, prompted = (artifacts.read(run(Plan(str(small), str(tiny), ("random",), query_prompt=p), tmp_path / f"out{bool(p)}")) for p in (None, "copy "))
    (a,), (b,) = plain.descriptors.values(), prompted.descriptors.values()
    assert a.scorer.prompts.query == "" and b.scorer.prompts.query == "copy " and a.scorer.space_id != b.scorer.space_id  # type: ignore[union-attr]
    scores = [found.tables["margins"]["reference_score"].to_numpy() for found in (plain, prompted)]
    assert np.abs(scores[0] - scores[1]).max() > 1e-4
    assert prompted.run["reading"]["prompts_from"] == "query: the run's options; item: none known for this model"
    assert "--query-prompt 'copy '" in prompted.run["command"]


# -- longest text ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["fast", "torch"])
def test_texts_that_are_cut_are_counted_once_each(tiny: Path, backend: str) -> None:
    found = encoder(tiny, max_length=5, backend=backend)
    index = found.index(["the copy", "the nightly copy the nightly copy", "the nightly copy the nightly copy", "copy " * 9])
    index.scores(["the copy", "copy " * 50])
    assert found.description.max_length == 5
    assert (found.reading()["truncated_items"], found.reading()["truncated_queries"]) == (2, 1)
    line = reading.of({"reading": found.reading()})
    assert line is not None and line.startswith("texts cut at the longest length: 2 items and 1 query")


def test_texts_that_become_equal_when_cut_tie_to_the_bit(tiny: Path) -> None:
    scores = encoder(tiny, max_length=4).index(["the copy the", "the copy nightly", "copy"]).scores(["the copy"])
    assert scores[0, 0] == scores[0, 1] != scores[0, 2]


@pytest.mark.parametrize(("asked", "said"), [(65, "64 positions"), (2, "adds 2 tokens"), (0, "at least 1"), (-4, "at least 1")])
def test_a_length_that_the_model_cannot_have_is_refused(tiny: Path, asked: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        encoder(tiny, max_length=asked).description  # noqa: B018


# -- arithmetic and the rest -------------------------------------------------------------------------------------------


def test_bfloat16_is_torchs_and_a_space_of_its_own(tiny: Path) -> None:
    half, whole = encoder(tiny, dtype="bfloat16"), encoder(tiny, backend="torch")
    assert half.description.dtype == "bfloat16" and half.description.space_id != whole.description.space_id
    a, b = (e.encode(["the nightly copy"], "")[0].astype(float) for e in (half, whole))
    gap = np.abs(a / np.linalg.norm(a) - b / np.linalg.norm(b)).max()
    assert 0 < gap < 0.05


@pytest.mark.parametrize("options", [{"backend": "gpu"}, {"dtype": "int8"}, {"backend": "fast", "dtype": "bfloat16"}])
def test_what_no_bi_encoder_takes_is_refused(tiny: Path, options: dict[str, str]) -> None:
    with pytest.raises(InputError):
        encoder(tiny, **options)


@pytest.mark.parametrize("option", [{"backend": "fast"}, {"max_length": 8}, {"query_prompt": "q: "}, {"dtype": "bfloat16"}])
def test_bm25_refuses_what_it_cannot_take(option: dict[str, object]) -> None:
    with pytest.raises(InputError, match="takes no such option"):
        scorers.load("bm25:okapi", 32, Options(**option))  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_no_text(tiny: Path) -> None:
    with pytest.raises(InputError, match="no Unicode text"):
        encoder(tiny).index(["the copy", "\ud800"])


def test_empty_and_endless_texts_are_encoded(tiny: Path) -> None:
    scores = encoder(tiny).index(["", "x" * 2**20, "the " * 2**18, "​﻿", "مرحبا 😀"]).scores(["copy"])
    assert scores.shape == (1, 5) and np.isfinite(scores).all()


def test_the_command_line_takes_them_and_show_tells(tiny: Path, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scorer", str(tiny), "--rules", "random", "--max-length", "6", "--backend", "torch", "--dtype", "bfloat16", "--quiet", "--json"]
    assert main(["run", "--benchmark", str(small), *words, "--out", str(tmp_path / "out")]) == 0
    path = json.loads(capsys.readouterr().out)["artifact"]
    assert main(["show", path]) == 0
    assert "texts cut at the longest length: 64 items" in capsys.readouterr().out
