"""What runs a bi-encoder: the promise that each backend keeps, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from observatory.errors import InputError
from observatory.scorers.base import Progress, silent
from observatory.scorers.models import ModelFolder
from observatory.scorers.options import Options

Vectors = NDArray[np.float32]
TOKENISED_CHARACTERS = 2**20
"""Characters tokenised at once: a token's record takes about a hundred bytes."""


@dataclass(frozen=True)
class Facts:
    """What a model's configuration says of it.

    ``max_length`` is the model's own limit in tokens and ``longest`` what its positions allow (None: no limit);
    ``special`` is how many tokens the tokeniser adds by itself.
    """

    pooling: str
    max_length: int | None
    longest: int | None
    special: int
    prompts: Mapping[str, str]
    pools_prompt: bool = True


@dataclass(frozen=True)
class Tokens:
    """Token ids of each text as the model reads them, and which texts were cut to fit."""

    ids: list[list[int]]
    cut: list[bool]


class Backend(Protocol):
    """One way to run one model. ``label`` is the descriptor's word for it, ``note`` why it is this one where another was wished."""

    label: str
    note: str
    facts: Facts

    def tokenise(self, texts: Sequence[str], limit: int | None) -> Tokens: ...

    def vectors(self, texts: Sequence[str], limit: int | None, batch_size: int) -> Iterator[Vectors]:
        """Vectors of ``texts`` in their order, a batch at a time, (n, dimensions) each. Not necessarily of length 1."""
        ...


def choose(folder: ModelFolder, cache_root: Path, options: Options, progress: Progress = silent) -> Backend:
    """The backend that the options ask for. Raises InputError where the model cannot be loaded, or not by that one."""
    from observatory.scorers.exported import Unfit, opened

    if options.backend == "torch" or options.dtype != "float32":
        return _torch(folder, options, "")
    try:
        return opened(folder, cache_root, progress)
    except Unfit as unfit:
        if options.backend == "fast":
            raise InputError(f"the fast backend cannot run {folder.name}: {unfit}", field="backend", mend="use backend auto or torch") from unfit
        progress(f"torch instead of the fast backend: {unfit}", 0, 1)
        return _torch(folder, options, str(unfit))


def _torch(folder: ModelFolder, options: Options, note: str) -> Backend:
    from observatory.scorers.torch_backend import TorchBackend

    return TorchBackend(folder, options.dtype, note)


def blocks(texts: Sequence[str], most: int = 1024) -> Iterator[list[str]]:
    """Neighbouring texts, at most ``most`` and about ``TOKENISED_CHARACTERS`` together, at least one."""
    block: list[str] = []
    size = 0
    for text in texts:
        if block and (len(block) == most or size + len(text) > TOKENISED_CHARACTERS):
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text)
    if block:
        yield block


def refuse_unusable(model: str, vectors: Vectors, texts: Sequence[str]) -> None:
    """InputError where one of the vectors, one a row and of the text at the same place, has no direction."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        kind = "a zero vector" if norms[bad[0]] == 0 else "a vector with NaN or infinity"
        raise InputError(
            f"{model} gives {kind} for {bad.size} text(s), and a cosine needs a direction",
            value=texts[int(bad[0])], mend="check the weights, or remove the text",
        )
