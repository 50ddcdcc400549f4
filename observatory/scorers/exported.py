"""Models as ONNX graphs: exported once with torch, checked against torch there, and kept beside the embeddings.

A folder a model (its weights, its configuration and this export's version decide the name) holds the graph and the
tokeniser, each named by its sha256, and a record that names both. A file that is not what its name says is exported again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from observatory.descriptor import canonical
from observatory.errors import InputError
from observatory.files import flush, write_whole
from observatory.scorers.backends import Facts, Vectors, refuse_unusable
from observatory.scorers.base import Progress
from observatory.scorers.models import ModelFolder, configuration_hash, file_hash

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from observatory.scorers.fast import FastBackend

VERSION = 1
RECORD = "record.json"
POOLINGS = ("mean", "cls")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
MOST_PARAMETERS = 450_000_000  # an ONNX file ends at 2 GB
MOST_TOKENS = 2048  # the graph holds attention whole: heads x tokens x tokens numbers a text
TOLERANCE = 1e-5
PROBES = (
    "a", "", "  Spaces at both ends\t ", "The nightly copy of Harrow-3 did not complete before dawn.", "GROSS, größer, am größten: 1,234.5 % …",
    "中文和日本語のテキスト", "one two three four five six seven " * 9, "A longer passage, cut where the model ends. " * 300,
)


class Unfit(Exception):
    """Why a model is not for the fast backend, in words that end a sentence."""


@dataclass(frozen=True)
class Record:
    """What an exported model is; ``graph`` and ``tokeniser`` are file names that begin with their content's sha256."""

    version: int
    graph: str
    tokeniser: str
    inputs: tuple[str, ...]
    facts: Facts


def opened(folder: ModelFolder, cache_root: Path, progress: Progress) -> FastBackend:
    """The model on the fast backend, exported where it was not yet. Raises Unfit where it cannot be, InputError where it is broken."""
    try:
        from observatory.scorers.fast import FastBackend
    except ImportError as error:
        raise Unfit(f"{error.name} is not installed") from error

    where = place(folder, cache_root)
    record = read(where)
    if record is None:
        progress(f"export {folder.name} to ONNX, once", 0, 1)
        record = _export(folder, where)
    return FastBackend(where, record)


def place(folder: ModelFolder, cache_root: Path) -> Path:
    """The folder of a model's export, named by everything that decides the graph."""
    decides = [VERSION, folder.weights_sha256, configuration_hash(folder.path)]
    return cache_root / "exported" / hashlib.sha256(canonical(decides).encode("utf-8")).hexdigest()[:32]


def read(place: Path) -> Record | None:
    """The record of an export whose files are what their names say; None where there is none."""
    try:
        data: dict[str, Any] = json.loads((place / RECORD).read_text(encoding="utf-8"))
        record = Record(**data | {"facts": Facts(**data["facts"]), "inputs": tuple(data["inputs"])})
        for name in (record.graph, record.tokeniser):
            if Path(name).name != name or file_hash(place / name) != name.partition(".")[0]:
                return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
        return None
    return record if record.version == VERSION else None


def _export(folder: ModelFolder, place: Path) -> Record:
    from observatory.scorers import torch_backend

    model = torch_backend.load(folder, attn_implementation="eager")
    facts = torch_backend.facts(model)
    if (why := _unfit(model, facts)) is not None:
        raise Unfit(why)
    try:
        place.mkdir(parents=True, exist_ok=True)
        raw = model.tokenizer.backend_tokenizer.to_str().encode("utf-8")
        tokeniser = f"{hashlib.sha256(raw).hexdigest()}.tokeniser.json"
        write_whole(place / tokeniser, raw)
        graph, inputs = _graph(model, place)
        record = Record(VERSION, graph, tokeniser, inputs, facts)
        _check(model, record, place, folder)
        write_whole(place / RECORD, json.dumps(asdict(record), ensure_ascii=False).encode("utf-8"))
    except OSError as error:
        mend = "make room, set OBSERVATORY_CACHE to a folder that can be written, or use backend torch"
        raise InputError(f"the exported model cannot be written: {error.strerror}", file=place, mend=mend) from error
    return record


def _unfit(model: SentenceTransformer, facts: Facts) -> str | None:
    """Why the runner, a transformer with pooling and L2, would not give this model's vectors."""
    modules = [type(m).__name__ for m in model]
    ours = all(type(m).__module__.startswith("sentence_transformers.") for m in model)
    inner = getattr(model[0], "auto_model", None)
    if not ours or modules not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or inner is None:
        return f"its modules are {', '.join(modules)} and not one transformer with pooling"
    if facts.pooling not in POOLINGS or not facts.pools_prompt:
        return f"its pooling is {facts.pooling if facts.pools_prompt else 'without the prompt'}, and it knows {' and '.join(POOLINGS)}"
    if not getattr(model.tokenizer, "is_fast", False):
        return "its tokeniser is written in Python"
    if (facts.max_length or MOST_TOKENS + 1) > MOST_TOKENS:
        return f"its texts may be longer than {MOST_TOKENS:,} tokens"
    count = sum(p.numel() for p in inner.parameters())
    return f"its {count:,} parameters do not fit in one ONNX file" if count > MOST_PARAMETERS else None


def _graph(model: SentenceTransformer, place: Path) -> tuple[str, tuple[str, ...]]:
    """Write the transformer's graph, named by its hash; that name and the inputs it takes."""
    try:
        import onnx as _  # noqa: F401  torch asks for it, and says so less clearly
        import torch
    except ImportError as error:
        raise Unfit(f"{error.name} is not installed") from error

    inner = model[0].auto_model
    example = model.tokenizer(["one short text", "and another one that is a little longer"], padding=True, return_tensors="pt")
    inputs = tuple(name for name in INPUTS if name in example)

    class Encoder(torch.nn.Module):
        """Positional inputs in, the last hidden state out: what the exporter can name."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *values: torch.Tensor) -> Any:
            return self.inner(**dict(zip(inputs, values, strict=True))).last_hidden_state

    handle, temporary = tempfile.mkstemp(prefix=".tmp-", suffix=".onnx", dir=place)
    os.close(handle)
    try:
        axes = {name: {0: "batch", 1: "length"} for name in (*inputs, "hidden")}
        values = tuple(example[name] for name in inputs)
        _to_onnx(Encoder(), values, temporary, input_names=list(inputs), output_names=["hidden"], dynamic_axes=axes)
        name = f"{file_hash(Path(temporary))}.onnx"
        flush(Path(temporary))
        os.replace(temporary, place / name)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return name, inputs


def _to_onnx(encoder: Any, values: Any, path: str, **names: Any) -> None:
    import warnings

    import torch

    try:
        with torch.inference_mode(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tracing warns of every shape that it takes for constant; the check after it decides
            torch.onnx.export(encoder.eval(), values, path, dynamo=False, opset_version=17, **names)
    except OSError:
        raise
    except Exception as error:  # a model with operators that ONNX lacks fails in many ways
        raise Unfit(f"torch cannot export it to ONNX ({type(error).__name__})") from error


def _check(model: SentenceTransformer, record: Record, place: Path, folder: ModelFolder) -> None:
    """Both backends on texts of all lengths, alone and together: a shape that tracing froze shows here."""
    from observatory.scorers.fast import FastBackend

    theirs = np.asarray(model.encode(list(PROBES), prompt="", batch_size=3, show_progress_bar=False), dtype=np.float32)
    refuse_unusable(folder.name, theirs, PROBES)
    theirs = _unit(theirs)
    fast = FastBackend(place, record)
    for size in (1, 3):
        ours = _unit(np.concatenate(list(fast.vectors(PROBES, record.facts.max_length, size))))
        gap = float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else np.inf
        if not gap <= TOLERANCE:
            raise Unfit(f"its exported vectors differ from torch's by {gap:.1e}")


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
