"""What can be chosen on this machine: benchmarks that ship or lie below a configured folder, and models by name or folder.

``OBSERVATORY_BENCHMARKS`` and ``OBSERVATORY_MODELS`` name folders (a path list); each of their children that looks like
a benchmark or a model is offered. Anything else is named by its path or id.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from observatory import benchmarks, paths
from observatory.errors import ObservatoryError
from observatory.scorers.bm25 import VARIANTS
from observatory.scorers.models import BUNDLED

BENCHMARKS, MODELS = "OBSERVATORY_BENCHMARKS", "OBSERVATORY_MODELS"


def benchmark_paths() -> tuple[str, ...]:
    """Shipped benchmarks relative to the repository, then configured ones."""
    shipped = [child.relative_to(paths.ROOT).as_posix() for child in _children(paths.DATA / "benchmarks")]
    return (*shipped, *_configured(BENCHMARKS, _is_benchmark))


def splits(path: str) -> tuple[str, ...]:
    """The splits of a benchmark; none where it has none or cannot be read."""
    try:
        return tuple(name for name in benchmarks.recognise(Path(path)).splits(Path(path)) if name is not None)
    except (ObservatoryError, OSError, ValueError):
        return ()  # what is wrong with it is said where it is read whole


def scorers() -> tuple[str, ...]:
    """The bundled model, the lexical scorers, and model folders below the configured ones."""
    return (BUNDLED, *(f"bm25:{variant}" for variant in VARIANTS), *_configured(MODELS, _is_model))


def _configured(variable: str, fits: Callable[[Path], bool]) -> Iterator[str]:
    for folder in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        yield from (str(child) for child in _children(Path(folder).absolute()) if fits(child))


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if not child.name.startswith("."))
    except OSError:
        return []


def _is_benchmark(path: Path) -> bool:
    try:
        benchmarks.recognise(path)
    except (ObservatoryError, OSError, ValueError):
        return False
    return True


def _is_model(path: Path) -> bool:
    return (path / "modules.json").is_file() or (path / "config.json").is_file()
