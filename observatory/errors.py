"""Errors a person can act on: each is one sentence, and each knows the exit code it means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class ObservatoryError(Exception):
    """Base of every error that is shown to a user as a sentence and never as a traceback."""

    exit_code = 2


class InputError(ObservatoryError):
    """Something that was handed to us cannot be used (exit code 2).

    The sentence is built from where (file, line, field), the offending value and how to mend it.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        mend: str | None = None,
    ) -> None:
        self.problem, self.file, self.line, self.field = problem, file, line, field
        self.value, self.mend = value, mend
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        where = [str(self.file)] if self.file is not None else []
        if self.line is not None:
            where.append(f"line {self.line}")
        if self.field is not None:
            where.append(f"field '{self.field}'")
        text = (", ".join(where) + ": " if where else "") + self.problem
        if self.value is not None:
            text += f" (got {shorten(self.value)})"
        text = one_line(text)
        return f"{text}; {one_line(self.mend)}." if self.mend else f"{text}."


class ManyFaults(InputError):
    """Several things that cannot be used, found before anything was done: ``faults`` lists every one as a sentence."""

    def __init__(self, subject: str | Path, faults: Sequence[InputError]) -> None:
        self.faults = tuple(str(fault) for fault in faults)
        listed = " ".join(f"({i}) {fault}" for i, fault in enumerate(self.faults, start=1))
        super().__init__(f"{len(self.faults)} faults, and nothing was measured: {listed.rstrip('.')}", file=subject, mend="mend all of them")


class TamperedError(ObservatoryError):
    """Files disagree with the lock that was written with them (exit code 3)."""

    exit_code = 3

    def __init__(self, artifact: str | Path, files: Sequence[str]) -> None:
        self.files = tuple(files)
        super().__init__(
            one_line(f"{artifact}: {len(self.files)} file(s) do not match lock.json: {', '.join(self.files)}")
            + "; restore the artifact from its source, or run the measurement again."
        )


class DescriptorRefused(ObservatoryError):
    """A measurement whose description is incomplete or disagrees with its numbers (exit code 4).

    ``faults`` lists every missing, unknown or disagreeing field as ``path: reason``.
    """

    exit_code = 4

    def __init__(self, subject: str | Path, faults: Sequence[str]) -> None:
        self.subject, self.faults = str(subject), tuple(faults)
        shown = "; ".join(self.faults[:5])
        more = f"; and {len(self.faults) - 5} more" if len(self.faults) > 5 else ""
        super().__init__(
            one_line(
                f"{subject}: refused, {len(self.faults)} descriptor field(s) missing or disagreeing: {shown}{more}"
            )
            + "; complete the descriptor from the run's record, or measure again."
        )


class Cancelled(ObservatoryError):
    """A person stopped a long operation; what was finished is kept and the next run resumes from it."""

    exit_code = 130


def one_line(text: str) -> str:
    """``text`` with line breaks and control characters made visible, so that hostile data stays one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shorten(value: object, limit: int = 80) -> str:
    """``repr`` of a value from data, cut to ``limit`` characters."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        text = f"a {type(value).__name__} that is too long to be written"
    return text if len(text) <= limit else text[: limit - 1] + "…"
