"""Bi-encoders: cosine of L2-normalised vectors, whichever backend computes them.

Texts that the tokeniser makes equal are encoded once and scored once, so they tie to the bit; the dot products are
taken in float64, where the order of summation moves a score by about 1e-16. A vector may move by about 1e-7 with the
batch it was encoded in: the cache makes a run repeat to the bit, another machine may differ in the last bits.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from observatory import descriptor
from observatory.descriptor import Prompts, canonical
from observatory.errors import InputError
from observatory.scorers import backends
from observatory.scorers.backends import Backend, refuse_unusable
from observatory.scorers.base import Index, Progress, describe, silent
from observatory.scorers.cache import EmbeddingCache, token_key
from observatory.scorers.models import ModelFolder
from observatory.scorers.options import DEFAULT, Options, check
from observatory.scorers.prompts import Prompted, choose

SHARD, SHARD_SECONDS = 256, 3.0
"""A kill loses the work on this many texts, or of this long and a batch more, whichever is less."""
COLUMN_BLOCK = 8192  # items a block, cast to float64 as they are needed


class BiEncoder:
    """One sentence-transformers model on this machine's CPU."""

    def __init__(self, folder: ModelFolder, cache_root: Path, batch_size: int = 32, options: Options = DEFAULT) -> None:
        check(options)
        self._folder, self._batch_size, self._options = folder, batch_size, options
        self._cache_root = cache_root
        self._opening: Progress = silent
        self._cut: dict[str, set[str]] = {}

    @cached_property
    def _backend(self) -> Backend:
        return backends.choose(self._folder, self._cache_root, self._options, self._opening)

    @cached_property
    def _limit(self) -> int | None:
        """Tokens a text may have. Raises InputError for a limit that the model's positions or special tokens forbid."""
        facts, asked = self._backend.facts, self._options.max_length
        if asked is None:
            return facts.max_length
        if facts.longest is not None and asked > facts.longest:
            mend = f"write at most {facts.longest}"
            raise InputError(f"{self._folder.name} has {facts.longest} positions for tokens", field="max_length", value=asked, mend=mend)
        if asked <= facts.special:
            mend = f"write at least {facts.special + 1}"
            raise InputError(f"{self._folder.name} adds {facts.special} tokens of its own", field="max_length", value=asked, mend=mend)
        return asked

    @cached_property
    def prompted(self) -> Prompted:
        """The prompts, and where they came from."""
        facts = self._backend.facts
        found = choose(self._folder.name, facts.prompts, self._options)
        if (found.query or found.item) and not facts.pools_prompt:
            raise InputError(
                f"{self._folder.name} leaves its prompt out of the pooling, which is not supported", mend="use it with empty prompts"
            )
        return found

    @cached_property
    def description(self) -> descriptor.Scorer:
        facts, folder = self._backend.facts, self._folder
        return describe(
            name=folder.name, family="bi-encoder", metric="cosine", revision=folder.revision,
            weights_sha256=folder.weights_sha256, pooling=facts.pooling, normalisation="L2",
            prompts=Prompts(query=self.prompted.query, item=self.prompted.item), dtype=self._options.dtype,
            backend=self._backend.label, max_length=descriptor.NOT_APPLICABLE if self._limit is None else self._limit,
            bm25=descriptor.NOT_APPLICABLE,
        )

    def reading(self) -> dict[str, Any]:
        """How the texts were read, for the run's record: what the descriptor does not say, and how many distinct texts were cut."""
        note = {"backend_note": self._backend.note} if self._backend.note else {}
        return note | {
            "prompts_from": self.prompted.origin, "truncated_items": len(self._cut.get("items", ())), "truncated_queries": len(self._cut.get("queries", ())),
        }

    @cached_property
    def _cache(self) -> EmbeddingCache:
        d = self.description
        decides = [d.weights_sha256, d.revision, d.pooling, d.dtype, d.backend, d.max_length]
        space = hashlib.sha256(canonical(decides).encode()).hexdigest()[:32]
        return EmbeddingCache(self._cache_root, space)

    def index(self, texts: Sequence[str], progress: Progress = silent) -> Index:
        self._opening = progress
        vectors, columns = self.encode(texts, self.prompted.item, progress, "items")
        return CosineIndex(self, vectors, columns, progress)

    def encode(
        self, texts: Sequence[str], prompt: str, progress: Progress = silent, kind: str = "texts"
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Vectors of the distinct token sequences, and for each text the row that is its own.

        Raises InputError for a text whose vector is zero or not finite: it has no cosine.
        """
        keys, lengths = self._keys(texts, prompt, kind)
        first: dict[bytes, int] = {}
        for position, key in enumerate(keys):
            first.setdefault(key, position)
        rows = {key: row for row, key in enumerate(first)}
        self._cache.load()
        missing = [key for key in rows if key not in self._cache]
        missing.sort(key=lambda key: (lengths[first[key]], first[key]))
        if missing or kind == "items":
            progress(f"encode {kind}", len(rows) - len(missing), len(rows))
        self._fill(missing, [texts[first[key]] for key in missing], prompt, len(rows), progress, f"encode {kind}")
        vectors = self._cache.take(list(rows))
        distinct = [texts[position] for position in first.values()]
        for start in range(0, len(vectors), COLUMN_BLOCK):
            block = slice(start, start + COLUMN_BLOCK)
            refuse_unusable(self._folder.name, vectors[block], distinct[block])
        return vectors, np.array([rows[key] for key in keys], dtype=np.int64)

    def _fill(self, keys: list[bytes], texts: list[str], prompt: str, total: int, progress: Progress, stage: str) -> None:
        """Encode what the cache lacks, a shard at a time."""
        prompted = [prompt + text for text in texts] if prompt else texts
        waiting: list[NDArray[np.float32]] = []
        kept = done = 0
        since = time.monotonic()
        for batch in self._backend.vectors(prompted, self._limit, self._batch_size):
            refuse_unusable(self._folder.name, batch, texts[done : done + len(batch)])
            waiting.append(batch)
            done += len(batch)
            if done == len(keys) or done - kept >= SHARD or time.monotonic() - since >= SHARD_SECONDS:
                self._cache.add(keys[kept:done], np.concatenate(waiting))
                waiting, kept, since = [], done, time.monotonic()
            progress(stage, total - len(keys) + done, total)

    def _keys(self, texts: Sequence[str], prompt: str, kind: str) -> tuple[list[bytes], list[int]]:
        """Each text's key and number of tokens."""
        cut = self._cut.setdefault(kind, set())
        keys: list[bytes] = []
        lengths: list[int] = []
        for block in backends.blocks(texts):
            tokens = self._tokenise([prompt + text for text in block])
            keys += [token_key(self._cache.space, ids) for ids in tokens.ids]
            lengths += map(len, tokens.ids)
            cut.update(text for text, shortened in zip(block, tokens.cut, strict=True) if shortened)
        return keys, lengths

    def _tokenise(self, texts: list[str]) -> backends.Tokens:
        try:
            return self._backend.tokenise(texts, self._limit)
        except (TypeError, ValueError) as error:  # a lone surrogate is no text in UTF-8
            broken = next((text for text in texts if not _is_unicode(text)), None)
            if broken is None:
                raise InputError(f"{self._folder.name}'s tokeniser failed: {error}", mend="check the tokeniser's files") from error
            raise InputError("is no Unicode text: it holds half a surrogate pair", value=broken, mend="correct the text") from error


class CosineIndex:
    """Vectors of the distinct texts; scores are mapped back to all texts."""

    def __init__(self, encoder: BiEncoder, vectors: NDArray[np.float32], columns: NDArray[np.int64], progress: Progress = silent) -> None:
        self._encoder, self._vectors, self._columns, self._progress = encoder, vectors, columns, progress

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        vectors, rows = self._encoder.encode(queries, self._encoder.prompted.query, self._progress, "queries")
        left = unit(vectors)
        distinct = np.empty((len(vectors), len(self._vectors)))
        for start in range(0, len(self._vectors), COLUMN_BLOCK):
            block = slice(start, start + COLUMN_BLOCK)
            distinct[:, block] = left @ unit(self._vectors[block]).T
        return _spread(distinct, rows, self._columns)


def _spread(distinct: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Scores of all texts from those of the distinct ones; no copy where they are the same."""
    if all(np.array_equal(asked, np.arange(held)) for asked, held in zip((rows, columns), distinct.shape, strict=True)):
        return distinct
    return distinct[np.ix_(rows, columns)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Rows scaled to length 1, in float64."""
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True), dtype=np.float64)
