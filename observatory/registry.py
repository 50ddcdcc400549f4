"""A named collection of implementations, whose error for an unknown name lists the names there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from observatory.errors import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names mapped to implementations of one kind, in order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        """Add ``entry`` under ``name``; a name can be taken once (ValueError otherwise: a programmer's mistake)."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self._entries[name] = entry
        return entry

    def get(self, name: str) -> T:
        """The implementation called ``name``; InputError lists the known names."""
        if name not in self._entries:
            raise InputError(f"unknown {self.kind} {name!r}", mend=f"choose one of: {', '.join(self.names())}")
        return self._entries[name]

    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries
