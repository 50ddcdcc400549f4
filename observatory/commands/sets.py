"""Naming margin sets on the command line: an artifact means all its rules, artifact/RULE means one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from observatory import paths
from observatory.admission import admit
from observatory.commands.show import find
from observatory.errors import InputError
from observatory.store import Store


def resolve(names: Sequence[str], store: str | None) -> tuple[Store, list[str]]:
    """A store that holds the named artifacts and nothing else, and the ids of the named sets in order.

    Each artifact is verified and recomputed first, so a refused or tampered one raises its own error.
    """
    wanted = [_split(name, store) for name in names]
    folders = list(dict.fromkeys(folder.resolve() for folder, _ in wanted))
    admitted = {folder: admit(folder) for folder in folders}
    loaded = Store.of(folders)
    ids = []
    for folder, rule in wanted:
        artifact = admitted[folder.resolve()]
        if rule is not None and rule not in artifact.descriptors:
            raise InputError(f"{artifact.id} has no margin set {rule!r}", mend=f"choose one of: {', '.join(artifact.descriptors)}")
        ids += [f"{artifact.id}/{r}" for r in ([rule] if rule is not None else artifact.descriptors)]
    return loaded, list(dict.fromkeys(ids))


def _split(name: str, store: str | None) -> tuple[Path, str | None]:
    head, slash, tail = name.rpartition("/")
    if slash and tail and not Path(name).is_dir():
        return find(head, store), tail
    return find(name, store), None


def open_store(store: str | None) -> Store:
    return Store(paths.store_root(store))
