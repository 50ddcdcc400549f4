"""Artifact folders: written whole, never changed, checked before anything in them is believed."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from observatory import lock
from observatory.descriptor import NegativeSetDescriptor, canonical, parse
from observatory.errors import DescriptorRefused, InputError
from observatory.files import flush
from observatory.published_tables import PublishedTable, parse_tables

if TYPE_CHECKING:  # reading descriptors alone does not need Arrow, and a command should start at once
    import pyarrow as pa

    from observatory.evaluation import Evaluation

MANIFEST = "artifact.json"
SCHEMA_VERSION = 1
METADATA_KEY = b"observatory"
MAX_FILE_BYTES = 4 * 2**30
TEMPORARY = ".tmp-"

Kind = Literal["measurement", "summary"]
Descriptors = Mapping[str, NegativeSetDescriptor]


@dataclass(frozen=True)
class Artifact:
    """A described measurement. ``tables`` is empty for a summary-only artifact; ``published`` holds figures of such a
    one that are no margin sets; ``evaluation`` records metrics and labelled pairs, where a run measured them.

    ``locked`` tells whether lock.json was there and matched.
    """

    id: str
    kind: Kind
    run: Mapping[str, Any]
    benchmark: Mapping[str, Any]
    descriptors: Descriptors
    tables: Mapping[str, pa.Table]
    published: tuple[PublishedTable, ...] = ()
    evaluation: Evaluation | None = None
    locked: bool = False
    path: Path | None = None

    @property
    def title(self) -> str:
        return str(self.run.get("title") or self.id)


def plain(artifact: Artifact) -> dict[str, Any]:
    """artifact.json as plain data."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": artifact.kind, "id": artifact.id, "run": dict(artifact.run),
        "benchmark": dict(artifact.benchmark), "margin_sets": _sets(artifact.descriptors),
        **({"evaluation": artifact.evaluation.model_dump()} if artifact.evaluation else {}),
        **({"tables": [t.model_dump() for t in artifact.published]} if artifact.published else {}),
    }


def _sets(descriptors: Descriptors) -> dict[str, Any]:
    return {rule: {"descriptor": d.model_dump()} for rule, d in descriptors.items()}


def embedded(artifact: Artifact) -> bytes:
    """What every table of an artifact carries in its Parquet metadata, so that numbers never travel alone."""
    return canonical({"artifact": artifact.id, **_records(artifact)}).encode("utf-8")


def _records(artifact: Artifact) -> dict[str, Any]:
    evaluated = {"evaluation": artifact.evaluation.model_dump()} if artifact.evaluation else {}
    return {"margin_sets": _sets(artifact.descriptors), **evaluated}


def write(parent: Path, artifact: Artifact) -> Path:
    """Write a new child of ``parent`` named after the artifact: to a temporary sibling, flushed, locked, renamed.

    Raises InputError where the disk is full or the folder cannot be written; nothing is left behind then.
    """
    target = parent / artifact.id
    temporary: Path | None = None
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep(parent)
        if target.exists():
            raise InputError("is there already", file=target, mend="artifacts are never overwritten; choose another place")
        temporary = Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{os.getpid()}-", dir=parent))
        _fill(temporary, artifact)
        os.chmod(temporary, 0o755)
        os.rename(temporary, target)
        flush(parent)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}", file=target, mend="free some space or choose another --out"
        ) from error
    finally:
        if temporary is not None and temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)
    return target


def check_writable(parent: Path) -> None:
    """Write into ``parent``, or where it would be made, before hours of measuring, and leave nothing. InputError where that is not possible."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=f"{TEMPORARY}{os.getpid()}-", dir=_first_there(parent.absolute())))
    except (OSError, ValueError) as error:  # a ValueError: NUL in a name
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be written: {why}", file=parent, mend="check space and rights, or choose another --out") from error


def _first_there(path: Path) -> Path:
    """The nearest of ``path`` and its parents that exists."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return _first_there(path.parent)
    return path


def _fill(folder: Path, artifact: Artifact) -> None:
    import pyarrow.parquet as pq

    metadata = {METADATA_KEY: embedded(artifact)}
    for name, table in artifact.tables.items():
        pq.write_table(table.replace_schema_metadata(metadata), folder / f"{name}.parquet", compression="zstd")
    text = json.dumps(plain(artifact), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    scorers = [d.scorer for d in artifact.descriptors.values()] + ([artifact.evaluation.scorer] if artifact.evaluation else [])
    weights = {s.name: s.weights_sha256 for s in scorers if len(s.weights_sha256) == 64}
    (folder / lock.LOCK).write_bytes(lock.render(folder, weights))
    for path in [*lock.files_of(folder), folder]:
        flush(path)


def sweep(parent: Path) -> None:
    """Remove what killed processes left half-written below ``parent``."""
    for path in parent.glob(f"{TEMPORARY}*-*"):
        owner = path.name.removeprefix(TEMPORARY).split("-")[0]
        if re.fullmatch(r"[0-9]{1,9}", owner) and not _alive(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def child_name(*parts: str) -> str:
    """A folder name from free text: letters, digits, dots and dashes only."""
    plain = [re.sub(r"[^A-Za-z0-9.]+", "-", part)[:40].strip("-.") for part in parts]
    return "-".join(part for part in plain if part)


def is_artifact(folder: Path) -> bool:
    try:
        return folder.is_dir() and not folder.name.startswith(".") and (folder / MANIFEST).is_file()
    except OSError:
        return False  # somebody else's folder, without the rights to look into it


def verify(folder: Path) -> bool:
    """Whether a lock is there; where it is, every file has been hashed (TamperedError names what differs)."""
    if lock.is_locked(folder):
        lock.verify(folder)
        return True
    if not (folder / MANIFEST).is_file():
        raise InputError(f"holds no {MANIFEST}", file=folder, mend="name an artifact's folder")
    lock.files_of(folder)  # a link leads out of the folder, a pipe never ends: neither is opened
    if os.path.lexists(folder / lock.LOCK):
        raise InputError("is no plain file", file=folder / lock.LOCK, mend="restore the artifact")
    return False


def read(folder: Path) -> Artifact:
    """A checked artifact with its tables: hashed, complete, and its descriptors equal to those its tables carry.

    The numbers are recomputed by :func:`observatory.admission.admit`. Raises TamperedError (3), DescriptorRefused (4)
    or InputError (2).
    """
    from observatory.tables import EVERY, TABLES

    artifact = read_descriptors(folder)
    if artifact.kind == "summary":
        return artifact
    tables = {name: _table(folder, name) for name in (EVERY if artifact.evaluation else TABLES)}
    faults = [fault for name, table in tables.items() for fault in _embedded_faults(name, table, artifact)]
    if faults:
        raise DescriptorRefused(folder, list(dict.fromkeys(faults)))
    return replace(artifact, tables=tables)


def read_descriptors(folder: Path) -> Artifact:
    """The same without its tables: files hashed, descriptors complete, rows not looked at."""
    locked = verify(folder)
    data = _manifest(folder)
    kind = data.get("kind")
    if kind not in ("measurement", "summary"):
        raise DescriptorRefused(folder, ["kind: is neither 'measurement' nor 'summary'"])
    if kind == "summary" and next(folder.glob("*.parquet"), None) is not None:
        raise DescriptorRefused(folder, ["kind: is 'summary', but tables of rows are there, which only a measurement has"])
    published = parse_tables(data["tables"], str(folder)) if kind == "summary" and "tables" in data else ()
    evaluated = _evaluation(folder, data) if kind == "measurement" and "evaluation" in data else None
    descriptors = _descriptors(folder, data, summary_only=kind == "summary", may_be_empty=bool(published or (evaluated and evaluated.metrics)))
    return Artifact(
        id=_text(data, "id", folder), kind=kind, run=_object(data, "run", folder),
        benchmark=_object(data, "benchmark", folder), descriptors=descriptors, tables={}, published=published, evaluation=evaluated,
        locked=locked, path=folder,
    )


def _evaluation(folder: Path, data: dict[str, Any]) -> Evaluation:
    from observatory.evaluation import parse as parse_evaluation

    return parse_evaluation(data["evaluation"], subject=str(folder))


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        if path.stat().st_size > 64 * 2**20:
            raise InputError("is larger than 64 MiB", file=path, mend="restore the artifact")
        text = path.read_text(encoding="utf-8")
        data = json.loads(text, parse_constant=_no_constant)
        if "\\ud" in text.lower():
            json.dumps(data, ensure_ascii=False).encode("utf-8")  # half a surrogate pair is no character
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON: {error}", file=path, mend="restore the artifact") from error
    if not isinstance(data, dict):
        raise InputError("is no JSON object", file=path, mend="restore the artifact")
    if data.get("schema_version") != SCHEMA_VERSION:
        raise DescriptorRefused(folder, [f"schema_version: is not {SCHEMA_VERSION}"])
    return data


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no finite number")


def _text(data: dict[str, Any], key: str, folder: Path) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,127}", value):
        raise DescriptorRefused(folder, [f"{key}: must be letters, digits, dots and dashes"])
    return value


def _object(data: dict[str, Any], key: str, folder: Path) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise DescriptorRefused(folder, [f"{key}: is missing or no object"])
    return value


def _descriptors(
    folder: Path, data: dict[str, Any], summary_only: bool, may_be_empty: bool
) -> dict[str, NegativeSetDescriptor]:
    sets = data.get("margin_sets")
    if not isinstance(sets, dict) or not (sets or may_be_empty):
        raise DescriptorRefused(folder, ["margin_sets: is missing or empty"])
    found, faults = {}, []
    for rule, entry in sets.items():
        try:
            if not isinstance(entry, dict) or set(entry) != {"descriptor"}:
                raise DescriptorRefused(folder, ["descriptor: must be the set's only key"])
            found[rule] = parse(entry["descriptor"], subject=str(folder), summary_only=summary_only)
        except DescriptorRefused as refused:
            faults += [f"margin_sets.{rule}.descriptor.{fault}" for fault in refused.faults]
    if faults:
        raise DescriptorRefused(folder, faults)
    return found


def _table(folder: Path, name: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from observatory.tables import EVERY

    path = folder / f"{name}.parquet"
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(f"is larger than {MAX_FILE_BYTES >> 30} GiB", file=path, mend="split the measurement")
        table = pq.ParquetFile(path).read()
    except FileNotFoundError as error:
        raise InputError("is missing", file=path, mend="restore the artifact") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot be read as Parquet: {error}", file=path, mend="restore the artifact") from error
    if not table.schema.equals(EVERY[name], check_metadata=False):
        raise DescriptorRefused(folder, [f"{name}.parquet: columns are not {', '.join(EVERY[name].names)}"])
    return table


def _embedded_faults(name: str, table: pa.Table, artifact: Artifact) -> list[str]:
    raw = (table.schema.metadata or {}).get(METADATA_KEY)
    if raw is None:
        return [f"{name}.parquet: carries no descriptor"]
    if raw == embedded(artifact):
        return []
    try:
        carried = json.loads(raw)
        theirs = _all_leaves({key: value for key, value in carried.items() if key != "artifact"})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return [f"{name}.parquet: carries a descriptor that cannot be read"]
    ours = _all_leaves(_records(artifact))
    differing = sorted(k for k in ours.keys() | theirs.keys() if ours.get(k, _ABSENT) != theirs.get(k, _ABSENT))
    if carried.get("artifact") != artifact.id:
        differing.append("id")
    return [f"{path}: disagrees with the descriptor inside the tables" for path in differing or ["margin_sets"]]


_ABSENT = object()


def _all_leaves(records: dict[str, Any]) -> dict[str, str]:
    return {path: value for key, record in records.items() for path, value in _leaves(record, key)}


def _leaves(value: Any, prefix: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{prefix}.{key}")]
    return [(prefix, canonical(value))]
