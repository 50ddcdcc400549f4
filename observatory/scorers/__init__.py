"""Scorers. A new family is one file and one line here; a name that no prefix claims is a bi-encoder."""

from __future__ import annotations

from collections.abc import Callable

from observatory import paths
from observatory.errors import InputError
from observatory.registry import Registry
from observatory.scorers.base import Index, Progress, Reading, Scorer, silent
from observatory.scorers.options import DEFAULT, Options, refuse

__all__ = ["FAMILIES", "Index", "Options", "Progress", "Reading", "Scorer", "load", "silent"]

Loader = Callable[[str, int, Options], Scorer]


def _bm25(name: str, batch_size: int, options: Options) -> Scorer:
    from observatory.scorers.bm25 import VARIANTS, Bm25

    refuse(name, options)
    _, _, variant = name.partition(":")
    if variant not in VARIANTS:
        raise InputError("is no BM25 variant", value=name, mend=f"choose one of: {', '.join('bm25:' + v for v in VARIANTS)}")
    return Bm25(variant)


def _bi_encoder(name: str, batch_size: int, options: Options) -> Scorer:
    from observatory.scorers import models
    from observatory.scorers.bi_encoder import BiEncoder

    return BiEncoder(models.locate(name), paths.cache_root(), batch_size, options)


FAMILIES: Registry[Loader] = Registry("scorer family")
FAMILIES.register("bm25", _bm25)
FAMILIES.register("bi-encoder", _bi_encoder)


def load(name: str, batch_size: int = 32, options: Options = DEFAULT) -> Scorer:
    """The scorer called ``name``: ``bm25:okapi``, ``bm25:bm25s``, the bundled model, a model folder or ``hub/id@revision``.

    Raises InputError where there is none, where its weights cannot be read, and for an option that it does not take.
    """
    prefix = name.partition(":")[0]
    family = prefix if prefix in FAMILIES and prefix != "bi-encoder" else "bi-encoder"
    return FAMILIES.get(family)(name, batch_size, options)
