"""Where things live: one root for data, one for the store, one for the embedding cache."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"


def store_root(explicit: str | Path | None = None) -> Path:
    """The store: ``explicit``, else ``OBSERVATORY_STORE``, else ``data/store``."""
    return Path(explicit or os.environ.get("OBSERVATORY_STORE") or DATA / "store")


def shipped_roots() -> tuple[Path, ...]:
    """Folders with artifacts that come with the repository (demo and published ones).

    ``OBSERVATORY_SHIPPED`` (a path list, empty for none) replaces them, for tests and for private deployments.
    """
    override = os.environ.get("OBSERVATORY_SHIPPED")
    if override is not None:
        return tuple(Path(p) for p in override.split(os.pathsep) if p)
    return (DATA / "published", DATA / "demo")


def cache_root() -> Path:
    """The embedding cache: ``OBSERVATORY_CACHE``, else ``data/cache``."""
    return Path(os.environ.get("OBSERVATORY_CACHE") or DATA / "cache")


def read_only() -> bool:
    """Whether the app may change nothing: ``OBSERVATORY_READ_ONLY`` set to anything but the empty string or 0."""
    return os.environ.get("OBSERVATORY_READ_ONLY", "") not in ("", "0")
