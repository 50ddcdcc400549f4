"""Shared fixtures: an isolated store, a hand-made benchmark, scorers whose scores are written down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch is imported anywhere

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

from observatory import descriptor  # noqa: E402
from observatory.scorers.base import describe, silent  # noqa: E402


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the repository's own store."""
    monkeypatch.setenv("OBSERVATORY_STORE", str(tmp_path_factory.mktemp("store")))
    monkeypatch.setenv("OBSERVATORY_SHIPPED", "")
    if "OBSERVATORY_CACHE" not in os.environ:
        monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """../shared/data, or a skip that says so."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("../shared/data is not on this machine")
    return folder


@pytest.fixture(scope="session")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real all-mpnet-base-v2: OBSERVATORY_MPNET, else assembled by ../shared/tools/get-mpnet, else a skip."""
    given = os.environ.get("OBSERVATORY_MPNET")
    if given:
        return Path(given)
    tool = SHARED / "tools" / "get-mpnet"
    if not tool.is_file():
        pytest.skip("all-mpnet-base-v2 is not here: set OBSERVATORY_MPNET to its folder")
    target = tmp_path_factory.mktemp("models")
    done = subprocess.run(["bash", str(tool), str(target)], capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        pytest.skip(f"all-mpnet-base-v2 could not be assembled: {done.stderr[-200:]}")
    return target / "all-mpnet-base-v2"


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")


def relate_folder(
    folder: Path, items: Sequence[Mapping[str, Any]], queries: Sequence[Mapping[str, Any]], **files: Sequence[Mapping[str, Any]]
) -> Path:
    """A RELATE release folder with the given records; ``bm25_scores=[...]`` and the like add optional files."""
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(folder / "items.jsonl", items)
    write_jsonl(folder / "queries.jsonl", queries)
    for name, records in files.items():
        write_jsonl(folder / f"{name}.jsonl", records)
    return folder


def item(identifier: str, text: str, domain: str | None = "d", **more: Any) -> dict[str, Any]:
    return {"id": identifier, "text": text, "domain": domain, **more}


def query(
    identifier: str, text: str, target: str | None, positives: Mapping[str, int],
    negatives: Sequence[tuple[str, str, str]] = (), style: str = "question",
) -> dict[str, Any]:
    return {
        "id": identifier, "text": text, "target_item_id": target, "query_style": style,
        "positives": [{"item_id": i, "grade": g} for i, g in positives.items()],
        "hard_negatives": [{"item_id": i, "method": m, "underlying_relation": r} for i, m, r in negatives],
    }


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Sixteen targets in two domains, each with a paraphrase, a negation and a same-entity sentence; one has a twin text."""
    items, queries, ranking = [], [], []
    for i in range(16):
        domain = "storage" if i % 2 else "release"
        name = f"Harrow-{i}"
        items += [
            item(f"t{i}", f"The nightly copy of {name} completed before dawn.", domain, text_id=f"log-{i % 5}"),
            item(f"p{i}", f"{name} was saved in full last night.", domain, text_id=f"log-{i % 5}"),
            item(f"n{i}", f"The nightly copy of {name} did not complete before dawn.", domain, text_id=f"log-{i % 5}"),
            item(f"e{i}", f"{name} has a new owner in the harbour office.", domain, text_id=f"log-{i % 5}"),
        ]
        queries.append(
            query(
                f"q{i}", f"Did the nightly copy of {name} complete?", f"t{i}", {f"t{i}": 3, f"p{i}": 2},
                [(f"n{i}", "structured_perturbation", "negation"), (f"e{i}", "entity_matched", "entity-related")],
                style="question" if i % 3 else "keyword",
            )
        )
        ranking += [{"query_id": f"q{i}", "item_id": f"{kind}{i}", "bm25": 9.0 - j} for j, kind in enumerate("tnpe")]
    return relate_folder(tmp_path / "small-1.0", items, queries, bm25_scores=ranking)


class TableIndex:
    def __init__(self, texts: Sequence[str], score: Callable[[str, str], float]) -> None:
        self.texts, self.score = list(texts), score

    def scores(self, queries: Sequence[str]) -> np.ndarray:
        return np.array([[self.score(q, t) for t in self.texts] for q in queries], dtype=np.float64)


class TableScorer:
    """A scorer whose scores are a function of the two texts: no model, no chance."""

    def __init__(self, score: Callable[[str, str], float]) -> None:
        self.score = score

    @property
    def description(self) -> descriptor.Scorer:
        na = descriptor.NOT_APPLICABLE
        return describe(
            name="table", family="table", metric="table score", revision="test", weights_sha256=na, pooling=na,
            normalisation=na, prompts=na, dtype="float64", backend="test", max_length=na, bm25=na,
        )

    def index(self, texts: Sequence[str], progress: Callable[[str, int, int], None] = silent) -> TableIndex:
        return TableIndex(texts, self.score)


@pytest.fixture
def artifact(small: Path, tmp_path: Path) -> Path:
    """A good artifact: BM25 on the small benchmark under five rules."""
    from observatory.runs import Plan, run

    rules = ("random", "in_model[0:3]", "bm25", "structured_perturbation", "entity_matched")
    return run(Plan(str(small), "bm25:okapi", rules, k=3), tmp_path / "artifacts")


@pytest.fixture
def unlocked(artifact: Path, tmp_path: Path) -> Path:
    """A copy of the good artifact without its lock."""
    copy = tmp_path / "unlocked"
    shutil.copytree(artifact, copy)
    (copy / "lock.json").unlink()
    return copy


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real sentence-transformers models of one small layer, saved as safetensors: ``tiny``, and ``dense`` with a third module."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import BertConfig, BertModel, BertTokenizerFast

    root = tmp_path_factory.mktemp("tiny-models")
    letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "copy", "nightly", "?", *letters, *("##" + c for c in letters)]
    (root / "raw").mkdir()
    (root / "raw" / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    import torch

    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64}
    BertModel(BertConfig(vocab_size=len(vocabulary), **size)).save_pretrained(root / "raw")
    BertTokenizerFast.from_pretrained(root / "raw").save_pretrained(root / "raw")
    for name, more in (("tiny", []), ("dense", [Dense(32, 32)])):
        model = SentenceTransformer(modules=[Transformer(str(root / "raw")), Pooling(32), *more], device="cpu")
        model.save(str(root / name))
    return root


@pytest.fixture
def tiny(tiny_models: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may break."""
    return Path(shutil.copytree(tiny_models / "tiny", tmp_path / "tiny"))
