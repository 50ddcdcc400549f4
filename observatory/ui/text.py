"""Text from data for places that read Markdown: nothing in it can become a link, an image, a formula or a colour."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
LIMIT = 300


def plain(text: object, limit: int = LIMIT) -> str:
    """``text`` on one line with all Markdown punctuation escaped, at most ``limit`` characters long."""
    line = " ".join(str(text).split())
    line = "".join(c for c in line if c.isprintable())
    cut = line if len(line) <= limit else line[: limit - 1] + "…"
    return _PUNCTUATION.sub(r"\\\1", cut)
