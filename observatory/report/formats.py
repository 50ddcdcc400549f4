"""The formats that a report can have, by the end of its file's name."""

from __future__ import annotations

from pathlib import Path

from observatory.errors import InputError
from observatory.report import html, latex, markdown
from observatory.report.content import Report

FORMATS = {".html": html.render, ".md": markdown.render, ".tex": latex.render}


def of_name(path: Path) -> str:
    """The format's suffix; InputError where the name ends otherwise."""
    if path.suffix.lower() not in FORMATS:
        raise InputError("is no report format", file=path, mend=f"end the name in one of: {', '.join(FORMATS)}")
    return path.suffix.lower()


def render(report: Report, suffix: str) -> bytes:
    """The report in UTF-8."""
    return FORMATS[suffix](report).encode("utf-8")
