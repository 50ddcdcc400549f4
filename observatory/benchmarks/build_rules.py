"""Decision rules of the structured relations: what makes a pair of sentences a negation, a swap and so on.

Each rule looks at the two texts alone (and, for entities, at the items' entity lists), not at the template that made
them, so a slip in a source file is caught. A rule returns None if the pair obeys it, else a sentence that says why not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher

from observatory.benchmarks.build_text import AUXILIARIES, NEGATORS, Row, lexicon, stem, words

GRAMMAR = lexicon("a an the of is are was were has have do does did")
QUANTIFIERS = lexicon(
    """all every each any some most few half both either neither none only one two hardly even whole complete part
    in many several no single"""
)
NUMBERS = lexicon(
    """one two three four five six seven eight nine ten eleven twelve fourteen twenty twenty-four thirty forty-eight
    sixty seventy-two ninety first second last next half quarter"""
)
TIME_WORDS = NUMBERS | lexicon(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter midsummer midwinter high early late
    second minute hour day week fortnight month year decade weekend midweek hourly daily weekly monthly yearly
    seconds minutes hours days weeks months years term working
    morning noon afternoon evening night midnight dawn dusk lunchtime daytime dark small middle
    before after until since during within inside around following ahead later than over under beforehand shortly
    up to no more at in on by from as when once start starts starting end ends ending begin begins opens closes
    go leaving week's every each that they their"""
)


def _removed_and_added(parent: str, child: str) -> tuple[list[str], list[str]]:
    """Return the words that leave ``parent`` and those that enter, agreement changes (streets / street) cancelled."""
    old, new = words(parent), words(child)
    removed: list[str] = []
    added: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += old[a:b]
            added += new[c:d]
    for word in list(removed):
        twin = next((other for other in added if other != word and stem(other) == stem(word)), None)
        if twin is not None:
            removed.remove(word)
            added.remove(twin)
    return removed, added


def _only_from(relation: str, parent: str, child: str, allowed: frozenset[str]) -> str | None:
    removed, added = _removed_and_added(parent, child)
    foreign = [w for w in removed + added if w not in allowed | GRAMMAR and not w.replace(".", "").isdigit()]
    if foreign:
        return f"{relation}: other words change as well: {foreign}"
    if not [w for w in removed + added if w not in GRAMMAR]:
        return f"{relation}: nothing of that kind changes"
    return None


def check_negation(parent: Row, child: Row, antonyms: list[tuple[str, str]]) -> str | None:
    """One negator more or less and the same other stems, or one side of a listed antonym pair for the other."""
    a, b = words(parent["text"]), words(child["text"])
    removed, added = _removed_and_added(parent["text"], child["text"])
    for left, right in antonyms:
        if (" ".join(removed), " ".join(added)) in {(left, right), (right, left)}:
            return None
    skipped = NEGATORS | AUXILIARIES
    if Counter(stem(w) for w in a if w not in skipped) != Counter(stem(w) for w in b if w not in skipped):
        return f"negation: content words change as well: {removed} -> {added}"
    if abs(sum(w in NEGATORS for w in a) - sum(w in NEGATORS for w in b)) != 1:
        return "negation: the number of negators does not change by one"
    return None


def check_swap(parent: Row, child: Row, antonyms: list[tuple[str, str]]) -> str | None:
    """The same words, each as often as before, in another order."""
    a, b = words(parent["text"]), words(child["text"])
    if Counter(a) != Counter(b):
        return f"relation-swap: the words differ: {sorted((Counter(a) - Counter(b)) + (Counter(b) - Counter(a)))}"
    return "relation-swap: the order of words is the same" if a == b else None


def check_temporal(parent: Row, child: Row, antonyms: list[tuple[str, str]]) -> str | None:
    """Nothing but words of time changes, and the items' time expressions differ."""
    if parent["time_index"] == child["time_index"]:
        return "temporal-mismatch: both items carry the same time expression"
    return _only_from("temporal-mismatch", parent["text"], child["text"], TIME_WORDS)


def check_quantifier(parent: Row, child: Row, antonyms: list[tuple[str, str]]) -> str | None:
    """Nothing but a quantifier (and the agreement it asks for) changes."""
    return _only_from("quantifier-change", parent["text"], child["text"], QUANTIFIERS)


def check_entity(parent: Row, child: Row, antonyms: list[tuple[str, str]]) -> str | None:
    """Nothing but the name of one entity changes: one leaves the list of entities and one enters."""
    gone = [e for e in parent["entities"] if e not in child["entities"]]
    come = [e for e in child["entities"] if e not in parent["entities"]]
    if len(gone) != 1 or len(come) != 1:
        return f"entity-substitution: one entity must replace one, here {gone} -> {come}"
    names = frozenset(words(f"{gone[0]} {come[0]}"))
    return _only_from("entity-substitution", parent["text"], child["text"], names)


Rule = Callable[[Row, Row, list[tuple[str, str]]], str | None]
RULES: dict[str, Rule] = {
    "negation": check_negation,
    "relation-swap": check_swap,
    "temporal-mismatch": check_temporal,
    "quantifier-change": check_quantifier,
    "entity-substitution": check_entity,
}
