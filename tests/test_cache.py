"""The embedding cache: whole shards only, and never another model's vectors."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from observatory.scorers.cache import EmbeddingCache, token_key

KEYS = [token_key("a", [i]) for i in range(4)]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    EmbeddingCache(tmp_path, "a").add(KEYS, VECTORS)
    return tmp_path


def read(root: Path, space: str = "a") -> EmbeddingCache:
    cache = EmbeddingCache(root, space)
    cache.load()
    return cache


def test_vectors_come_back_to_the_bit(filled: Path) -> None:
    assert all((read(filled).get(key) == vector).all() for key, vector in zip(KEYS, VECTORS, strict=True))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "not an archive"])
def test_a_damaged_shard_is_ignored(filled: Path, damage: str) -> None:
    (shard,) = (filled / "a").glob("*.npz")
    raw = bytearray(shard.read_bytes())
    if damage == "flipped":
        raw[len(raw) // 2] ^= 1
    shard.write_bytes({"cut": raw[:-5], "empty": b"", "not an archive": b"x" * 99}.get(damage, bytes(raw)))
    assert read(filled).get(KEYS[0]) is None


def test_a_shard_that_only_its_name_vouches_for_is_ignored(filled: Path) -> None:
    import hashlib

    junk = b"no archive at all"
    (filled / "a" / f"{hashlib.sha256(junk).hexdigest()}.npz").write_bytes(junk)
    assert read(filled).get(KEYS[0]) is not None


def test_another_spaces_shard_is_never_taken(filled: Path) -> None:
    shutil.copytree(filled / "a", filled / "b")
    assert read(filled, "b").get(token_key("b", [0])) is None
