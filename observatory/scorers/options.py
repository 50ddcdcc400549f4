"""What a user may decide about a bi-encoder. Everything here that moves a vector is in the scorer's descriptor block."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from observatory.errors import InputError

BACKENDS = ("auto", "fast", "torch")
DTYPES = ("float32", "bfloat16")


@dataclass(frozen=True)
class Options:
    """None is the model's own.

    ``backend``: ``fast`` is ONNX Runtime in float32, ``torch`` sentence-transformers, and ``auto`` the first of the two
    that can run the model. ``max_length`` is in tokens, special ones included. ``dtype`` other than float32 is for torch only.
    """

    backend: str = "auto"
    max_length: int | None = None
    query_prompt: str | None = None
    item_prompt: str | None = None
    dtype: str = "float32"

    def given(self) -> dict[str, Any]:
        """Options that are not at their defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


DEFAULT = Options()


def check(options: Options) -> None:
    """InputError for the first value that cannot be used with any model."""
    for name, value, choices in (("backend", options.backend, BACKENDS), ("dtype", options.dtype, DTYPES)):
        if value not in choices:
            raise InputError(f"is no {name} of a bi-encoder", field=name, value=value, mend=f"choose one of: {', '.join(choices)}")
    if options.max_length is not None and options.max_length < 1:
        raise InputError("is not at least 1", field="max_length", value=options.max_length, mend="write a number of tokens, or leave it out")
    if options.backend == "fast" and options.dtype != "float32":
        raise InputError("the fast backend computes in float32 only", field="dtype", value=options.dtype, mend="use backend torch")


def refuse(scorer: str, options: Options) -> None:
    """InputError where a scorer that reads texts as words is given an option of a bi-encoder."""
    for name, value in options.given().items():
        if value == "":
            continue  # an empty prompt is none
        raise InputError(f"{scorer} takes no such option", field=name, value=value, mend="leave it out")
