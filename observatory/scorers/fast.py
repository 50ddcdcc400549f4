"""The fast backend: an exported transformer in ONNX Runtime, float32, with pooling in numpy.

Texts come sorted by length; a batch holds as many as fit in a few hundred tokens, so that its hidden states stay in a
core's own cache, and each core works on a batch of its own, so that none waits for another. Measured, both matter
more than any fusion of operators. The composition of a batch may move a vector by about 1e-7.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from observatory.errors import InputError
from observatory.scorers.backends import Tokens, Vectors, blocks

if TYPE_CHECKING:
    from observatory.scorers.exported import Record

LABEL = "onnxruntime (float32)"
TOKENS_A_BATCH = 512
SHARD = 256
"""Texts that are tokenised and sorted together."""


def threads() -> int:
    """Cores to use: ``OMP_NUM_THREADS``, else all that this process may run on."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class FastBackend:
    """One exported model. Runs without torch."""

    label, note = LABEL, ""

    def __init__(self, place: Path, record: Record) -> None:
        self.facts = record.facts
        self._inputs = record.inputs
        self._tokeniser = Tokenizer.from_file(str(place / record.tokeniser))
        self._tokeniser.no_padding()
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(place / record.graph), settings, providers=["CPUExecutionProvider"])

    def tokenise(self, texts: Sequence[str], limit: int | None) -> Tokens:
        if limit is None:
            self._tokeniser.no_truncation()
        else:
            self._tokeniser.enable_truncation(limit)
        encodings = self._tokeniser.encode_batch_fast(list(texts))
        return Tokens([e.ids for e in encodings], [bool(e.overflowing) for e in encodings])

    def vectors(self, texts: Sequence[str], limit: int | None, batch_size: int) -> Iterator[Vectors]:
        batches = (batch for block in blocks(texts, SHARD) for batch in _batches(self.tokenise(block, limit).ids, batch_size))
        workers = threads()
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Vectors]] = deque()
            try:
                waiting.extend(pool.submit(self._pooled, batch) for batch in islice(batches, 2 * workers))
                while waiting:
                    done = waiting.popleft().result()
                    waiting.extend(pool.submit(self._pooled, batch) for batch in islice(batches, 1))
                    yield done
            finally:
                for future in waiting:
                    future.cancel()

    def _pooled(self, batch: list[list[int]]) -> Vectors:
        longest = max(map(len, batch))
        ids, mask = np.zeros((2, len(batch), longest), dtype=np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            hidden = self._session.run(["hidden"], {name: given[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's kinds are its own
            raise InputError(f"the fast backend failed on {len(batch)} text(s) of {longest} tokens: {str(error)[:160]}", mend="use backend torch") from error
        return hidden[:, 0] if self.facts.pooling == "cls" else _mean(hidden, mask)


def _mean(hidden: Any, mask: NDArray[np.int64]) -> Vectors:
    """The mean over a text's own tokens, (n, dimensions)."""
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9), dtype=np.float32)


def _batches(texts: Sequence[list[int]], most: int) -> Iterator[list[list[int]]]:
    """Neighbours, at most ``most`` of them and ``TOKENS_A_BATCH`` tokens with the padding, at least one."""
    batch: list[list[int]] = []
    longest = 0
    for tokens in texts:
        longest = max(longest, len(tokens))
        if batch and (len(batch) == most or longest * (len(batch) + 1) > TOKENS_A_BATCH):
            yield batch
            batch, longest = [], len(tokens)
        batch.append(tokens)
    if batch:
        yield batch
