"""The backend that runs every sentence-transformers model: torch on this machine's CPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from observatory.errors import InputError
from observatory.scorers.backends import Facts, Tokens, Vectors
from observatory.scorers.models import ModelFolder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LABEL = "sentence-transformers (torch)"


class TorchBackend:
    """One loaded model. Raises InputError, in one sentence, for a folder that holds no whole model."""

    label = LABEL

    def __init__(self, folder: ModelFolder, dtype: str = "float32", note: str = "") -> None:
        self.note = note
        self.model = load(folder, dtype)
        self.facts = facts(self.model)

    def tokenise(self, texts: Sequence[str], limit: int | None) -> Tokens:
        tokenizer: Any = self.model.tokenizer
        encoded = tokenizer(list(texts), truncation=limit is not None, max_length=limit, add_special_tokens=True)
        ids = [list(map(int, row)) for row in encoded["input_ids"]]
        if limit is None:
            return Tokens(ids, [False] * len(ids))
        if encoded.encodings is not None:
            return Tokens(ids, [bool(encoding.overflowing) for encoding in encoded.encodings])
        whole = tokenizer(list(texts), truncation=False, add_special_tokens=True)["input_ids"]
        return Tokens(ids, [len(a) > len(b) for a, b in zip(whole, ids, strict=True)])

    def vectors(self, texts: Sequence[str], limit: int | None, batch_size: int) -> Iterator[Vectors]:
        if limit is not None:
            self.model.max_seq_length = limit
        for start in range(0, len(texts), batch_size):
            batch = list(texts[start : start + batch_size])
            made = self.model.encode(batch, prompt="", batch_size=batch_size, convert_to_numpy=True, show_progress_bar=False)
            yield np.asarray(made, dtype=np.float32)


def load(folder: ModelFolder, dtype: str = "float32", **settings: str) -> SentenceTransformer:
    """The model without code or pickles from its folder; ``settings`` go to transformers."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model = SentenceTransformer(
            str(folder.path), device="cpu", trust_remote_code=False, local_files_only=True,
            model_kwargs={"use_safetensors": True, "dtype": dtype, **settings},
        )
    except Exception as error:  # the libraries raise many kinds; all of them mean "not loadable"
        raise InputError(
            f"the model cannot be loaded: {type(error).__name__}: {str(error)[:200]}", file=folder.path,
            mend="check that the folder holds a whole sentence-transformers model with readable safetensors weights",
        ) from error
    if getattr(model, "tokenizer", None) is None:
        raise InputError("the model has no tokeniser", file=folder.path, mend="save the tokeniser's files beside the weights")
    model.eval()
    _refuse_invented(model, folder)
    return model


def _refuse_invented(model: SentenceTransformer, folder: ModelFolder) -> None:
    """transformers fills a tensor that the file lacks with chance and only logs it."""
    from safetensors import safe_open

    inner = getattr(model[0], "auto_model", None)
    if inner is None:
        return  # no transformer: its own module checks its keys
    held: set[str] = set()
    for path in folder.path.rglob("*.safetensors"):
        with safe_open(path, "pt") as weights:
            held |= {name.removeprefix(inner.base_model_prefix + ".") for name in weights.keys()}
    lacking = sorted(n for n, _ in inner.named_parameters() if n not in held and not n.startswith("pooler."))
    if lacking:
        raise InputError(
            f"the weights lack {len(lacking)} tensor(s) of the model", file=folder.path, value=lacking[0],
            mend="save the whole model as safetensors",
        )


def facts(model: SentenceTransformer) -> Facts:
    """What the loaded model says of itself."""
    pooling = next((m for m in model if hasattr(m, "pooling_mode")), None)
    limit, longest = model.max_seq_length, _positions(getattr(model[0], "auto_model", None))
    return Facts(
        pooling=str(pooling.pooling_mode) if pooling is not None else "not stated by the model",
        max_length=int(limit) if limit else longest, longest=longest,
        special=int(getattr(model.tokenizer, "num_special_tokens_to_add", lambda: 0)()),
        prompts=dict(model.prompts or {}), pools_prompt=bool(getattr(pooling, "include_prompt", True)),
    )


def _positions(inner: Any) -> int | None:
    """How many tokens the model has positions for. RoBERTa and its kin lose those up to the padding token's."""
    positions = getattr(getattr(inner, "config", None), "max_position_embeddings", None)
    if not positions:
        return None
    table = getattr(getattr(inner, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return int(positions) - (0 if padding is None else int(padding) + 1)
