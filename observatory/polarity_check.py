"""Check a polarity (negation) triplet file and measure its word overlap.

A triplet describes one event with two opposite outcomes, each told twice: a document in the query's words and a paraphrase in
other words. Three conditions come from it, and two decisions (one a direction) from each condition:

=====================  =========================  ============================
condition              right document             wrong document
=====================  =========================  ============================
``same_wording``       document, asked outcome    document, opposite outcome
``different_wording``  paraphrase, asked outcome  document, opposite outcome
``control``            paraphrase, asked outcome  paraphrase, opposite outcome
=====================  =========================  ============================

The conditions mean what they say only if the words are where they should be. This module measures that with one number, the
*overlap*: the share of a query's content words that are found in a document.

The overlap is an approximation, on purpose a simple one:

* words are lower-cased (by the Turkish rules for I and İ in Turkish), what follows an apostrophe is cut off (``Lund'daki`` is
  ``lund``, ``painter's`` is ``painter``), and a short stop list per language is left out. Negation markers are on the stop list: the
  number measures shared topic words, not polarity;
* two words count as the same if they are equal or begin with the same ``PREFIX`` (5) letters, so that endings, above all the Turkish
  suffixes, don't hide sharing (``yüklendi`` and ``yüklenmedi``). It merges some unrelated long words (``transfer``,
  ``transport``) and keeps apart forms of short stems (``geçti``, ``geçmedi``).

Run ``python -m observatory.polarity_check FILE`` for a report; it exits with 2 and lists every fault if there is one.
Standard library only.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

LANGUAGES = ("en", "tr")
TEXT_FIELDS = (
    "query_positive",
    "query_negative",
    "doc_positive",
    "doc_negative",
    "paraphrase_positive",
    "paraphrase_negative",
)
FIELDS = ("id", "kind", "domain", *TEXT_FIELDS)
CONDITIONS = ("same_wording", "different_wording", "control")
DIRECTIONS = ("positive", "negative")

KIND_COUNTS: Mapping[str, int] = {"explicit_marker": 24, "antonym": 24, "state_change": 12}
"""How many triplets of each kind a language must have."""

PREFIX = 5
"""Letters two words must share at their beginning to count as one word."""

QUERY_WORDS = (4, 9)
"""Fewest and most words (stop words included) a query may have."""

MIN_DOC_PAIR = 0.60
"""Least word sharing, in [0, 1], between the two documents of a triplet: they differ in the outcome only."""

MIN_PARAPHRASE_PAIR = 0.50
"""Least word sharing, in [0, 1], between the two paraphrases, for the same reason; looser, the outcome may take more words."""

MAX_PARAPHRASE_OVERLAP = 0.25
"""Largest overlap, in [0, 1], of either query with either paraphrase: one word in four, room for a proper name."""

MAX_PARAPHRASE_DOC = 0.35
"""Largest share, in [0, 1], of a paraphrase's content words found in the two documents: names and numbers, little else."""

MIN_TRAP_EXCESS = 0.40
"""Different wording: overlap of the query with the wrong document minus that with the right one must be at least this."""

MAX_CONTROL_DIFFERENCE = 0.10
"""Control: largest absolute difference between the query's overlap with the right and with the wrong document."""

_STOP: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        "a an the this that these those there here and or but if so than as of in on at by to from for with into over about "
        "before after during since until under through between is are was were be been being am has have had having do does did "
        "can could may might must will would shall should it its he she they them their his her our us we you your i me my who "
        "which what when while where how whose now".split()
    ),
    "tr": frozenset(
        "bir bu şu o ve veya ya da de ki ile için gibi göre kadar beri önce sonra sonrasında sırasında boyunca itibaren itibarıyla "
        "ardından olarak ise ama fakat çok daha en her mi mı mu mü olan olduğu oldu olmadı olur olmaz etti etmedi eder etmez "
        "ediyor etmiyor edildi edilmedi edilen eden var artık biri".split()
    ),
}

_MARKERS: Mapping[str, frozenset[str]] = {
    "en": frozenset("not no never cannot without none nothing nobody nowhere neither nor".split()),
    "tr": frozenset("değil yok yoktu yoktur hiç hiçbir hiçbiri asla olmadan olmaksızın".split()),
}

# Finite negative verbs (-madı, -mıyor, -maz, -mamış, -mayacak) and the -mayan participle.
# An approximation: it asks for two letters of stem and knows no dictionary.
_TR_NEGATIVE_VERB = re.compile(
    r"^\w{2,}?(?:m[ae]d[ıi](?:m|n|k|lar|ler|n[ıi]z)?|m[ıiuü]yor\w*|m[ae]z(?:lar|ler)?|m[ae]m[ıi]ş\w*|m[ae]y[ae]c[ae][kğ]\w*"
    r"|(?<!ser)m[ae]y[ae]n\w*)$"
)

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Triplet = Mapping[str, Any]
TripletSet = Mapping[str, Sequence[Triplet]]


@dataclass(frozen=True)
class Decision:
    """One pairwise choice: does a scorer rank ``right`` above ``wrong`` for ``query``?"""

    triplet_id: str
    kind: str
    condition: str
    direction: str
    query: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a triplet set; ``triplet_id`` is empty where it concerns a whole language."""

    language: str
    triplet_id: str
    rule: str
    message: str

    def __str__(self) -> str:
        place = f"{self.language} {self.triplet_id}".strip()
        return f"{place}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class OverlapRow:
    """Mean overlap, in [0, 1], of the queries with their right and wrong documents over ``n_decisions`` decisions."""

    language: str
    condition: str
    n_decisions: int
    right: float
    wrong: float


def read(path: str | Path) -> dict[str, list[dict[str, Any]]]:
    """Read ``{"en": [...], "tr": [...]}`` from a UTF-8 JSON file (with or without byte order mark).

    Only the outer shape is demanded here, ``check`` judges the rest.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8 JSON, or not an object of lists of objects; the message names the file and the place.
    """
    path = Path(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}:{error.colno}: not JSON ({error.msg})") from error
    if not isinstance(raw, dict):
        raise ValueError(f'{path}: expected an object {{"en": [...], "tr": [...]}}, found {type(raw).__name__}')
    for language, rows in raw.items():
        if not isinstance(rows, list):
            raise ValueError(f"{path}: {language!r}: expected a list of triplets, found {type(rows).__name__}")
        for position, row in enumerate(rows):
            if not isinstance(row, dict):
                raise ValueError(f"{path}: {language!r}, triplet {position}: expected an object, found {type(row).__name__}")
    return raw


def conditions(triplet: Triplet) -> tuple[Decision, ...]:
    """The six decisions of a triplet: three conditions, in the order of ``CONDITIONS``, each positive then negative.

    Raises:
        KeyError: a field is missing.
    """
    decisions = []
    for condition in CONDITIONS:
        right_source = "doc" if condition == "same_wording" else "paraphrase"
        wrong_source = "paraphrase" if condition == "control" else "doc"
        for asked, opposite in (DIRECTIONS, DIRECTIONS[::-1]):
            decisions.append(
                Decision(
                    triplet_id=triplet["id"],
                    kind=triplet["kind"],
                    condition=condition,
                    direction=asked,
                    query=triplet[f"query_{asked}"],
                    right=triplet[f"{right_source}_{asked}"],
                    wrong=triplet[f"{wrong_source}_{opposite}"],
                )
            )
    return tuple(decisions)


def lower(text: str, language: str) -> str:
    """Lower-case ``text`` in composed form (NFC); in Turkish I becomes ı and İ becomes i."""
    text = unicodedata.normalize("NFC", text)
    if language == "tr":
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def words(text: str, language: str) -> list[str]:
    """All words of ``text``, lower-cased, without what follows an apostrophe; English ``n't`` gives the extra word ``not``."""
    found: list[str] = []
    for token in _WORD.findall(lower(text, language)):
        token = token.replace("’", "'")
        if language == "en" and token.endswith("n't"):
            found += [token[:-3], "not"]
        else:
            found.append(token.split("'", 1)[0])
    return found


def content_words(text: str, language: str) -> list[str]:
    """The distinct words of ``text`` that are neither on the stop list nor negation markers, in order of appearance."""
    left_out = _STOP[language] | _MARKERS[language]
    return list(dict.fromkeys(word for word in words(text, language) if word not in left_out))


def same_word(a: str, b: str) -> bool:
    """Whether two lower-cased words count as one: equal, or equal in their first ``PREFIX`` letters."""
    return a == b or (len(a) >= PREFIX and len(b) >= PREFIX and a[:PREFIX] == b[:PREFIX])


def overlap(query: str, document: str, language: str) -> float:
    """Share, in [0, 1], of the query's content words found in the document; 0 for a query without content words."""
    asked = content_words(query, language)
    there = content_words(document, language)
    return sum(any(same_word(a, b) for b in there) for a in asked) / len(asked) if asked else 0.0


def sharing(a: str, b: str, language: str) -> float:
    """Symmetric word sharing, in [0, 1]: the mean of the overlaps taken in both directions."""
    return (overlap(a, b, language) + overlap(b, a, language)) / 2


def has_marker(text: str, language: str) -> bool:
    """Whether ``text`` holds an explicit negation marker: a listed word, or in Turkish a negative verb form (approximate)."""
    found = words(text, language)
    return any(w in _MARKERS[language] or (language == "tr" and _TR_NEGATIVE_VERB.match(w) is not None) for w in found)


def check(triplets: TripletSet) -> list[Fault]:
    """Every fault of a triplet set, in file order; an empty list means that it is fit for use.

    A triplet with a structural fault (keys, empty text) is not examined for wording.
    """
    faults: list[Fault] = []
    for language in LANGUAGES:
        if language not in triplets:
            faults.append(Fault(language, "", "language", f"no {language!r} list in the file"))
    for language, rows in triplets.items():
        if language not in LANGUAGES:
            faults.append(Fault(language, "", "language", f"unknown language; known are {', '.join(LANGUAGES)}"))
            continue
        faults += _set_faults(rows, language)
        for row in rows:
            broken = list(_structure_faults(row, language))
            faults += broken or _wording_faults(row, language)
    return faults + list(_mirror_faults(triplets))


def _name(triplet: Triplet) -> str:
    return str(triplet.get("id", "(no id)"))


def _set_faults(rows: Sequence[Triplet], language: str) -> Iterator[Fault]:
    """Counts of kinds, repeated ids, repeated texts."""
    kinds = Counter(str(row.get("kind")) for row in rows)
    for kind, expected in KIND_COUNTS.items():
        if kinds[kind] != expected:
            yield Fault(language, "", "kind_count", f"{kinds[kind]} triplets of kind {kind}, expected {expected}")
    for kind in sorted(kinds.keys() - KIND_COUNTS.keys()):
        yield Fault(language, "", "kind", f"unknown kind {kind!r}; known are {', '.join(KIND_COUNTS)}")
    for name, count in Counter(_name(row) for row in rows).items():
        if count > 1:
            yield Fault(language, name, "duplicate_id", f"id used {count} times")
    first_seen: dict[str, str] = {}
    for row in rows:
        for field in TEXT_FIELDS:
            text = row.get(field)
            if not isinstance(text, str) or not text.strip():
                continue
            place = f"{_name(row)}.{field}"
            earlier = first_seen.setdefault(" ".join(lower(text, language).split()), place)
            if earlier != place:
                yield Fault(language, _name(row), "duplicate_text", f"{field} repeats {earlier}: {text!r}")


def _structure_faults(triplet: Triplet, language: str) -> Iterator[Fault]:
    missing = [field for field in FIELDS if field not in triplet]
    extra = [field for field in triplet if field not in FIELDS]
    if missing:
        yield Fault(language, _name(triplet), "keys", f"missing {', '.join(missing)}")
    if extra:
        yield Fault(language, _name(triplet), "keys", f"unexpected {', '.join(extra)}")
    for field in FIELDS:
        value = triplet.get(field, "-")
        if not isinstance(value, str) or not value.strip():
            yield Fault(language, _name(triplet), "empty", f"{field} must be a non-empty text, found {value!r}")


def _wording_faults(triplet: Triplet, language: str) -> list[Fault]:
    found = [
        *_query_faults(triplet, language),
        *_pair_faults(triplet, language),
        *_paraphrase_faults(triplet, language),
        *_condition_faults(triplet, language),
        *_marker_faults(triplet, language),
    ]
    return [Fault(language, _name(triplet), rule, message) for rule, message in found]


def _query_faults(triplet: Triplet, language: str) -> Iterator[tuple[str, str]]:
    fewest, most = QUERY_WORDS
    for side in DIRECTIONS:
        query, document = triplet[f"query_{side}"], triplet[f"doc_{side}"]
        length = len(words(query, language))
        if not fewest <= length <= most:
            yield "query_length", f"query_{side} has {length} words, expected {fewest} to {most}: {query!r}"
        there = content_words(document, language)
        absent = [w for w in content_words(query, language) if not any(same_word(w, d) for d in there)]
        if absent:
            yield "query_words", f"query_{side} has words that doc_{side} lacks: {', '.join(absent)}"


def _pair_faults(triplet: Triplet, language: str) -> Iterator[tuple[str, str]]:
    for source, rule, least in (("doc", "doc_pair", MIN_DOC_PAIR), ("paraphrase", "paraphrase_pair", MIN_PARAPHRASE_PAIR)):
        share = sharing(triplet[f"{source}_positive"], triplet[f"{source}_negative"], language)
        if share < least:
            yield rule, f"{source}_positive and {source}_negative share {share:.2f} of their words, at least {least:.2f} expected"


def _paraphrase_faults(triplet: Triplet, language: str) -> Iterator[tuple[str, str]]:
    documents = f"{triplet['doc_positive']} {triplet['doc_negative']}"
    for side in DIRECTIONS:
        paraphrase = triplet[f"paraphrase_{side}"]
        for asked in DIRECTIONS:
            share = overlap(triplet[f"query_{asked}"], paraphrase, language)
            if share > MAX_PARAPHRASE_OVERLAP:
                yield (
                    "paraphrase_overlap",
                    f"paraphrase_{side} has {share:.2f} of query_{asked}'s words, at most {MAX_PARAPHRASE_OVERLAP:.2f} allowed",
                )
        share = overlap(paraphrase, documents, language)
        if share > MAX_PARAPHRASE_DOC:
            yield (
                "paraphrase_doc",
                f"{share:.2f} of paraphrase_{side}'s words stand in the documents, at most {MAX_PARAPHRASE_DOC:.2f} allowed",
            )


def _condition_faults(triplet: Triplet, language: str) -> Iterator[tuple[str, str]]:
    for decision in conditions(triplet):
        right = overlap(decision.query, decision.right, language)
        wrong = overlap(decision.query, decision.wrong, language)
        numbers = f"{decision.direction}: overlap with the wrong document {wrong:.2f}, with the right one {right:.2f}"
        if decision.condition == "different_wording" and wrong - right < MIN_TRAP_EXCESS - 1e-9:
            yield "trap", f"{numbers}; an excess of at least {MIN_TRAP_EXCESS:.2f} expected"
        if decision.condition == "control" and abs(wrong - right) > MAX_CONTROL_DIFFERENCE + 1e-9:
            yield "control", f"{numbers}; a difference of at most {MAX_CONTROL_DIFFERENCE:.2f} allowed"


def _marker_faults(triplet: Triplet, language: str) -> Iterator[tuple[str, str]]:
    if triplet["kind"] == "explicit_marker":
        for source in ("query", "doc"):
            positive, negative = (has_marker(triplet[f"{source}_{side}"], language) for side in DIRECTIONS)
            if positive or not negative:
                yield (
                    "marker",
                    f"{source}_negative, and only it, must hold a negation marker "
                    f"(positive side: {'yes' if positive else 'no'}, negative side: {'yes' if negative else 'no'})",
                )
    for side in DIRECTIONS:
        if has_marker(triplet[f"paraphrase_{side}"], language):
            yield "paraphrase_marker", f"paraphrase_{side} holds a negation marker, which the query could match"


def _mirror_faults(triplets: TripletSet) -> Iterator[Fault]:
    """The Turkish list must have the English ids in the same order, with the same kind and domain."""
    if any(language not in triplets for language in LANGUAGES):
        return
    english, turkish = ({_name(row): row for row in triplets[language]} for language in LANGUAGES)
    for name in sorted(english.keys() - turkish.keys()):
        yield Fault("tr", name, "mirror", "no Turkish triplet with this English id")
    for name in sorted(turkish.keys() - english.keys()):
        yield Fault("tr", name, "mirror", "no English triplet with this Turkish id")
    for name, row in turkish.items():
        for field in ("kind", "domain"):
            if name in english and row.get(field) != english[name].get(field):
                yield Fault("tr", name, "mirror", f"{field} is {row.get(field)!r}, in English {english[name].get(field)!r}")
    if english.keys() == turkish.keys() and list(english) != list(turkish):
        yield Fault("tr", "", "mirror", "the ids stand in another order than in English")


def overlap_report(triplets: TripletSet, kinds: Iterable[str] | None = None) -> list[OverlapRow]:
    """Mean overlap of query and right, and of query and wrong document, per language and condition.

    ``kinds`` limits the means to triplets of these kinds; the default is all. A language without such triplets has no row.

    Raises:
        KeyError: a triplet lacks a field (see ``check``).
    """
    wanted = None if kinds is None else frozenset(kinds)
    report: list[OverlapRow] = []
    for language in (known for known in LANGUAGES if known in triplets):
        chosen = [row for row in triplets[language] if wanted is None or row["kind"] in wanted]
        decisions = [decision for row in chosen for decision in conditions(row)]
        for condition in CONDITIONS:
            of_condition = [d for d in decisions if d.condition == condition]
            if of_condition:
                report.append(
                    OverlapRow(
                        language=language,
                        condition=condition,
                        n_decisions=len(of_condition),
                        right=fmean(overlap(d.query, d.right, language) for d in of_condition),
                        wrong=fmean(overlap(d.query, d.wrong, language) for d in of_condition),
                    )
                )
    return report


def _table(rows: Sequence[OverlapRow]) -> str:
    lines = [f"{'language':<10}{'condition':<20}{'decisions':>9}{'right':>8}{'wrong':>8}{'wrong - right':>15}"]
    for row in rows:
        lines.append(
            f"{row.language:<10}{row.condition:<20}{row.n_decisions:>9}{row.right:>8.2f}{row.wrong:>8.2f}{row.wrong - row.right:>+15.2f}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report for one file; 0 if it has no fault, 2 if it has one, cannot be read, or the command is wrong."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) != 1 or given[0].startswith("-"):
        print("usage: python -m observatory.polarity_check TRIPLETS.json", file=sys.stderr)
        return 2
    try:
        triplets = read(given[0])
    except (OSError, ValueError) as error:
        print(f"cannot read the triplets: {error}", file=sys.stderr)
        return 2
    faults = check(triplets)
    for language, rows in triplets.items():
        counted = Counter(str(row.get("kind")) for row in rows)
        print(f"{language}: {len(rows)} triplets ({', '.join(f'{kind} {n}' for kind, n in counted.items())})")
    if not any(fault.rule in ("keys", "empty") for fault in faults):
        print("\nMean share of the query's content words found in the document\n")
        print(_table(overlap_report(triplets)))
        for kind in KIND_COUNTS:
            of_kind = [r for r in overlap_report(triplets, [kind]) if r.condition == "different_wording"]
            print(f"\n{kind}\n{_table(of_kind)}" if of_kind else f"\n{kind}: none")
    if faults:
        print(f"\n{len(faults)} faults:")
        for fault in faults:
            print(f"  {fault}")
        return 2
    print("\nno faults")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
