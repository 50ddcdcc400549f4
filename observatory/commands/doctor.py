"""observatory doctor: is everything here that a measurement needs?"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from observatory import paths
from observatory.cli import print_json
from observatory.errors import ObservatoryError
from observatory.scorers import exported, models

MIN_FREE_GIB = 1
OLDEST_PYTHON = (3, 11)


def main(options: argparse.Namespace) -> int:
    """Exit code 0 where every check passes, 2 otherwise."""
    checks: dict[str, Callable[[], str]] = {
        "python": _python, "packages": _packages, "bundled model": _model, "fast backend": _backend,
        "store": lambda: _writable(paths.store_root(options.store)), "cache": lambda: _writable(paths.cache_root()),
        "processors": _processors,
    }
    results = [_check(name, check) for name, check in checks.items()]
    good = all(ok for _, ok, _ in results)
    if options.json:
        print_json({"ok": good, "checks": [{"name": n, "ok": ok, "detail": detail} for n, ok, detail in results]})
    else:
        for name, ok, detail in results:
            print(f"{'ok  ' if ok else 'FAIL'}  {name}: {detail}")
    return 0 if good else 2


class Unfit(ObservatoryError):
    """A check that failed, with how to mend it."""


def _check(name: str, check: Callable[[], str]) -> tuple[str, bool, str]:
    try:
        return name, True, check()
    except ObservatoryError as error:
        return name, False, str(error)


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        raise Unfit(f"{version} is too old; use Python 3.11 or newer.")
    return version


def _packages() -> str:
    pins = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;]+)", (paths.ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    wrong = [fault for name, pin in pins if (fault := _mismatch(name, pin))]
    if wrong:
        raise Unfit(f"{'; '.join(wrong)}; run: pip install -r requirements.txt.")
    return f"{len(pins)} pinned packages as in requirements.txt"


def _mismatch(name: str, pin: str) -> str | None:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    return None if version.split("+")[0] == pin else f"{name} is {version}, pinned {pin}"


def _model() -> str:
    folder = models.locate(models.BUNDLED)
    return f"{folder.name}, weights sha256 {folder.weights_sha256[:12]}… verified"


def _backend() -> str:
    """Whether models run in ONNX Runtime; torch alone is slower, and no fault."""
    missing = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
    if missing:
        return f"{' and '.join(missing)} not installed: models run in torch, slower"
    kept = "exported" if exported.read(exported.place(models.locate(models.BUNDLED), paths.cache_root())) else "exported on its first run, once"
    return f"onnxruntime {metadata.version('onnxruntime')}; the bundled model is {kept}"


def _writable(folder: Path) -> str:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".tmp-doctor-"):
            free = shutil.disk_usage(folder).free / 2**30
    except OSError as error:
        raise Unfit(f"{folder} cannot be written ({error.strerror}); choose another place.") from error
    if free < MIN_FREE_GIB:
        raise Unfit(f"{folder} has {free:.1f} GiB free; make room for at least {MIN_FREE_GIB} GiB.")
    return f"{folder}, {free:.0f} GiB free"


def _processors() -> str:
    return f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()} usable"
