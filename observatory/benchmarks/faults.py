"""What happens at a fault: reading stops at the first, validating collects them and goes on with the next record."""

from __future__ import annotations

from types import TracebackType

from observatory.errors import InputError

MAX_LISTED = 200


class Faults:
    """A place for faults. ``with faults:`` around one record lets a strict reader fail and a validator go on."""

    def __init__(self, strict: bool = True) -> None:
        self.strict = strict
        self.found: list[InputError] = []
        self._known: set[str] = set()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if self.strict or not isinstance(error, InputError):
            return False
        self.add(error)
        return True

    def add(self, error: InputError) -> None:
        """Keep a fault once; after ``MAX_LISTED`` reading ends, for the file is likely not what it was taken for."""
        if str(error) in self._known:
            return
        self._known.add(str(error))
        self.found.append(error)
        if len(self.found) >= MAX_LISTED:
            raise TooManyFaults


class TooManyFaults(Exception):
    """So many faults that going on would only repeat them."""


STRICT = Faults(strict=True)
