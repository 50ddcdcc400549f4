"""Words, stems and overlap: the only measures of wording that the Fieldnotes builder uses.

Everything here is an approximation on purpose: a short stop list and a light suffix stemmer, both listed in full, so
that anyone can repeat the figures without a language toolkit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Row = dict[str, Any]  # one record of a JSON Lines file, or one mapping of a source file

WORD = re.compile(r"[a-z0-9]+(?:[.'-][a-z0-9]+)*")


def lexicon(entries: str) -> frozenset[str]:
    """Return the blank-separated words of ``entries`` as a set."""
    return frozenset(entries.split())


# Negators are stop words: adding "not" must not change the overlap with a query, or overlap would give polarity away.
NEGATORS = frozenset({"not", "no", "never", "without", "neither", "nobody", "none", "nothing"})
# Verb forms that only carry tense, number or polarity.
AUXILIARIES = lexicon("do does did is are was were be been being am has have had")
STOP_WORDS = (
    NEGATORS
    | AUXILIARIES
    | lexicon(
        """a an the and or but if so as of in on at to for from with by into out up over off than then that this these
    those there here it its they them their he she his her him i me my we us our you your who whom whose which what
    when where why how may might must can could will would shall should need any some all each every both few only
    one once also about after before until while because whereas whether just very same more most"""
    )
)
# Forms that the suffix rules below would miss, as far as the sources use them.
IRREGULAR = {
    "went": "go", "goes": "go", "gone": "go", "kept": "keep", "paid": "pay", "sent": "send", "sold": "sell",
    "bought": "buy", "held": "hold", "given": "give", "gave": "give", "taken": "take", "took": "take", "won": "win",
    "left": "leave", "read": "read", "wrote": "write", "written": "write", "owed": "owe", "daily": "daily",
    "people": "person", "persons": "person", "lorries": "lorry", "classes": "class", "laid": "lay", "sung": "sing",
}  # fmt: skip


def words(text: str) -> list[str]:
    """Return the lower-cased words of ``text`` in order; "cannot" counts as "can not"."""
    return WORD.findall(text.lower().replace("cannot", "can not"))


def stem(word: str) -> str:
    """Strip plural, tense and possessive endings, a final "e" and a doubled last consonant."""
    word = IRREGULAR.get(word, word).removesuffix("'s")
    if len(word) > 4 and word.endswith(("ies", "ied")):
        word = word[:-3] + "y"
    elif len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
    elif len(word) > 4 and word.endswith("ed"):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou":
        word = word[:-1]
    return word


@lru_cache(maxsize=16_384)  # every validator asks for the same few thousand texts
def content_stems(text: str) -> frozenset[str]:
    """Return the set of stems of the words of ``text`` that are not in the stop list."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Return |left & right| / |left | right|, a share from 0 to 1 (Jaccard 1912); two empty sets give 0."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def lexical_overlap(left: str, right: str) -> float:
    """Return the Jaccard overlap of the content stems of two texts, from 0 to 1."""
    return jaccard(content_stems(left), content_stems(right))


def shingles(text: str, size: int) -> frozenset[str]:
    """Return the character ``size``-grams of the lower-cased text, blanks included."""
    low = text.lower()
    return frozenset(low[start : start + size] for start in range(max(1, len(low) - size + 1)))


def band(overlap: float) -> str:
    """Name the overlap band: low (< 0.2), middle (0.2 to below 0.5) or high (>= 0.5)."""
    if overlap < 0.2:
        return "low"
    return "middle" if overlap < 0.5 else "high"
