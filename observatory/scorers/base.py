"""What a scorer promises: equal texts get equal scores to the bit, whatever the batch, the block or the threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from observatory import descriptor

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total); it may raise Cancelled."""


def silent(stage: str, done: int, total: int) -> None:
    """A progress that shows nothing."""


class Index(Protocol):
    """Item texts made ready to be scored."""

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """(n_queries, n_texts) scores in float64, all finite."""
        ...


class Scorer(Protocol):
    """One model family's way to score a query against texts; it declares what it is as a descriptor block."""

    @property
    def description(self) -> descriptor.Scorer: ...

    def index(self, texts: Sequence[str], progress: Progress = silent) -> Index: ...


@runtime_checkable
class Reading(Protocol):
    """A scorer that reads texts in a way of its own: what the run's record says of it once all are scored."""

    def reading(self) -> dict[str, Any]: ...


def describe(**fields: object) -> descriptor.Scorer:
    """A scorer's descriptor block with its ``space_id`` computed from the other fields."""
    plain = {k: v.model_dump() if isinstance(v, descriptor.Block) else v for k, v in fields.items()}
    return descriptor.Scorer.model_validate({"space_id": descriptor.space_id(plain), **plain})
