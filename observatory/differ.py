"""Which words two texts do not share. Segments, never markup: whoever draws them decides how a difference looks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\s+|\w+(?:['’]\w+)*|[^\w\s]")
MOST = 1500  # tokens on a side that are aligned in order; longer texts are compared as bags of words


@dataclass(frozen=True)
class Segment:
    """A piece of a text; ``differs`` where the other text has no such word at that place."""

    text: str
    differs: bool


def segments(text: str, other: str) -> list[Segment]:
    """``text`` in pieces, those that ``other`` lacks marked. The pieces joined are ``text`` again.

    Words are compared without regard to case, in order, by the longest matching runs (Ratcliff and Obershelp). A gap
    between two marked words is marked with them.
    """
    tokens = _TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    mine = [tokens[i].casefold() for i in places]
    theirs = [t.casefold() for t in _TOKEN.findall(other) if not t.isspace()]
    marks = [False] * len(tokens)
    for i, differs in zip(places, _differing(mine, theirs), strict=True):
        marks[i] = differs
    for i in range(1, len(tokens) - 1):
        if tokens[i].isspace():
            marks[i] = marks[i - 1] and marks[i + 1]
    found: list[Segment] = []
    for token, differs in zip(tokens, marks, strict=True):
        if found and found[-1].differs == differs:
            found[-1] = Segment(found[-1].text + token, differs)
        else:
            found.append(Segment(token, differs))
    return found


def _differing(mine: Sequence[str], theirs: Sequence[str]) -> list[bool]:
    if max(len(mine), len(theirs)) > MOST:
        known = set(theirs)
        return [word not in known for word in mine]
    differs = [True] * len(mine)
    for start, _, size in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        differs[start : start + size] = [False] * size
    return differs


def only_in(text: str, other: str) -> list[str]:
    """The runs of words of ``text`` that ``other`` lacks, in order."""
    runs = (segment.text.strip() for segment in segments(text, other) if segment.differs)
    return [run for run in runs if run]
