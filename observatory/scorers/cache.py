"""A content-addressed store of embeddings: a key is the hash of everything that decides the vector.

One folder a space (weights, pooling, dtype, backend, max length), one key a token sequence (prompt and text as the model
reads them). Vectors arrive in shards, each written whole and renamed, so a killed run resumes after its last shard
and any number of processes may write at once. In memory there is only where each vector lies: a space may hold the
vectors of many corpora, and a run needs those of one.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from observatory.errors import InputError
from observatory.files import write_whole

KEY_BYTES = 32
Vectors = NDArray[np.float32]
Keys = NDArray[np.uint8]


def token_key(space: str, tokens: Sequence[int]) -> bytes:
    """sha256 of a space and a token sequence: two texts that the model reads alike have one key and so one vector.

    The space is part of the key, so a shard that strayed in from another model's folder is never taken for this one's.
    """
    return hashlib.sha256(space.encode("utf-8") + b"\n" + np.asarray(tokens, dtype=np.int64).tobytes()).digest()


class EmbeddingCache:
    """Vectors of one space on disk. A shard whose name is not the hash of its bytes is ignored, never trusted."""

    added: ClassVar[int] = 0
    """Texts that this process has encoded, in all spaces: what its run cost."""

    def __init__(self, root: Path, space: str) -> None:
        self.space, self.folder = space, root / space
        self._where: dict[bytes, tuple[int, int]] = {}
        self._shards: list[Path] = []
        self._known: set[str] = set()

    def load(self) -> None:
        """Learn which vectors lie in shards that are new on disk."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.npz")):
            if path.name not in self._known:
                self._known.add(path.name)
                found = _read(path)
                if found is not None:
                    self._learn(path, found[0])

    def _learn(self, path: Path, keys: Keys) -> None:
        self._shards.append(path)
        number = len(self._shards) - 1
        self._where.update((key.tobytes(), (number, row)) for row, key in enumerate(keys))

    def __contains__(self, key: bytes) -> bool:
        return key in self._where

    def get(self, key: bytes) -> Vectors | None:
        return self.take([key])[0] if key in self else None

    def take(self, keys: Sequence[bytes]) -> Vectors:
        """The vectors of ``keys``, one a row, read shard by shard. (0, 0) for no keys.

        Raises InputError where one of them is not here any more, or where the shards disagree about the width.
        """
        wanted: dict[int, list[tuple[int, int]]] = {}
        for position, key in enumerate(keys):
            number, row = self._where.get(key, (-1, 0))
            wanted.setdefault(number, []).append((position, row))
        out: Vectors | None = None
        for number, places in wanted.items():
            found = _read(self._shards[number]) if number >= 0 else None
            if found is None or (out is not None and found[1].shape[1] != out.shape[1]):
                raise InputError("the embedding cache changed while it was read", file=self.folder, mend="run again")
            out = np.empty((len(keys), found[1].shape[1]), dtype=np.float32) if out is None else out
            positions, rows = np.array(places, dtype=np.int64).T
            out[positions] = found[1][rows]
        return np.empty((0, 0), dtype=np.float32) if out is None else out

    def add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep the vectors of ``keys`` on disk as one shard."""
        buffer = io.BytesIO()
        rows = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)
        np.savez(buffer, keys=rows, vectors=vectors)
        raw = buffer.getvalue()
        name = f"{hashlib.sha256(raw).hexdigest()}.npz"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / name, raw)
        except OSError as error:
            mend = "make room or set OBSERVATORY_CACHE to a folder that can be written"
            raise InputError(f"the embedding cache cannot be written: {error.strerror}", file=self.folder, mend=mend) from error
        self._known.add(name)
        self._learn(self.folder / name, rows)
        EmbeddingCache.added += len(keys)


def _read(path: Path) -> tuple[Keys, Vectors] | None:
    """Keys and vectors of a shard; None where it is damaged, or removed by someone who clears the cache."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(raw).hexdigest() != path.stem:
        return None
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as shard:
            keys, vectors = shard["keys"], shard["vectors"]
    except (ValueError, KeyError, OSError, zipfile.BadZipFile):
        return None
    usable = vectors.ndim == 2 and keys.shape == (len(vectors), KEY_BYTES) and keys.dtype == np.uint8
    return (keys, vectors) if usable else None
