"""How a run's scorer read the texts, in one line: what its descriptor does not say and a reader should know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COUNTS = (("truncated_items", "item", "items"), ("truncated_queries", "query", "queries"))


def of(run: Mapping[str, Any]) -> str | None:
    """The line for a run record; None where it holds no such part, as BM25's and published ones."""
    found = run.get("reading")
    if not isinstance(found, Mapping):
        return None
    cut = [f"{found[name]:,} {one if found[name] == 1 else more}" for name, one, more in COUNTS if type(found.get(name)) is int and found[name] > 0]
    parts = [f"texts cut at the longest length: {' and '.join(cut)}" if cut else "no text was cut"]
    parts += [f"{word}: {found[name]}" for name, word in (("prompts_from", "prompts"), ("backend_note", "backend")) if isinstance(found.get(name), str)]
    return "; ".join(parts)
