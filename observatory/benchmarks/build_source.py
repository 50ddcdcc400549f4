"""Read hand-written sentence families and expand them to sentences and queries.

A family holds one sentence for each role (``T`` target, ``P`` paraphrase, ``L`` paraphrase in other words, ``G2``
entailed part, ``G1`` same subject, ``O`` same entity and another matter), its queries (``Q``) and rows of slot values.
``$A`` is a slot; a capital letter marks an entity. Spans name the edits of a sentence::

    <N:is|is not>               one edit, relation negation: the right side replaces the left
    <Q:Every|Only one;N:Not every>   one place, two possible edits
    <S:$A> ... <S:$B>           relation-swap: the two spans change places
    <E:$B|$D> ... <E2:$C|$F>    two separate edits of one relation

Spans with an equal tag are edited together, and no sentence is edited in two relations at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml  # type: ignore[import-untyped,unused-ignore]

from observatory.benchmarks.build_text import Row

RELATIONS = {
    "N": "negation",
    "S": "relation-swap",
    "T": "temporal-mismatch",
    "Q": "quantifier-change",
    "E": "entity-substitution",
}
STYLES = {"r": "restatement", "q": "question", "k": "keyword", "l": "long-nl"}
ROLE_KEYS = ("T", "P", "L", "G2", "G1", "O")
SPAN = re.compile(r"<([^<>]+)>")
SLOT = re.compile(r"\$([A-Za-z])(?![A-Za-z])")


class SourceError(ValueError):
    """A source file is malformed; the message names file, family and the way to mend it."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of an instance; ``relation`` and ``parent`` are set on perturbed sentences only."""

    role: str
    text: str
    entities: tuple[str, ...]
    time_index: str | None
    relation: str | None = None
    parent: str | None = None


@dataclass(frozen=True)
class Instance:
    """One family filled with one row of values: the unit that shares a fact."""

    domain: str
    family: str
    number: int
    text_id: str
    subject: str
    sentences: tuple[Sentence, ...]
    queries: tuple[tuple[str, str], ...]
    antonyms: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True)
class Span:
    """An editable place of a template: its own wording and the replacement for each tag."""

    base: str
    edits: dict[str, str]


def parse_template(template: str) -> list[str | Span]:
    """Split a template into plain text and spans, in order."""
    parts: list[str | Span] = []
    position = 0
    for match in SPAN.finditer(template):
        parts.append(template[position : match.start()])
        parts.append(_parse_span(match.group(1)))
        position = match.end()
    parts.append(template[position:])
    return parts


def _parse_span(body: str) -> Span:
    first, *others = body.split(";")
    tag, _, wording = first.partition(":")
    base, _, replacement = wording.partition("|")
    edits = {tag: replacement}
    for other in others:
        other_tag, _, other_replacement = other.partition(":")
        edits[other_tag] = other_replacement
    return Span(base, edits)


def render(parts: list[str | Span], tag: str | None, values: dict[str, str]) -> str:
    """Fill in slots, apply the edit named ``tag`` (None: no edit) and capitalise the first letter."""
    bases = [part.base for part in parts if isinstance(part, Span) and tag in part.edits]
    swapped = iter(reversed(bases))
    out: list[str] = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        elif tag is None or tag not in part.edits:
            out.append(part.base)
        else:
            out.append(next(swapped) if tag[0] == "S" else part.edits[tag])
    text = fill("".join(out), values)
    return text[:1].upper() + text[1:]


def fill(text: str, values: dict[str, str]) -> str:
    """Replace every ``$slot`` of ``text``; a slot without a value is a SourceError."""

    def value(match: re.Match[str]) -> str:
        if match.group(1) not in values:
            raise SourceError(f"slot ${match.group(1)} has no value in: {text!r}; name it in the family's `slots`")
        return values[match.group(1)]

    return SLOT.sub(value, text)


def tags_of(parts: list[str | Span]) -> list[str]:
    """Return the edit tags of a template in order of first appearance."""
    seen: dict[str, None] = {}
    for part in parts:
        if isinstance(part, Span):
            seen.update(dict.fromkeys(part.edits))
    return list(seen)


def _time_of(parts: list[str | Span], tag: str | None, values: dict[str, str]) -> str | None:
    for part in parts:
        if isinstance(part, Span) and "T" in part.edits:
            return fill(part.edits["T"] if tag == "T" else part.base, values)
    return None


def _entities_of(text: str, values: dict[str, str]) -> tuple[str, ...]:
    """Return the values of capital-letter slots that ``text`` mentions as whole words, in slot order."""
    named = [value for slot, value in values.items() if slot.isupper()]
    return tuple(n for n in named if re.search(rf"(?<!\w){re.escape(n)}(?!\w)", text, re.IGNORECASE))


def expand_sentence(role: str, template: str, values: dict[str, str]) -> list[Sentence]:
    """Return the sentence itself, then one perturbed sentence for each edit tag of its template."""
    parts = parse_template(template)
    text = render(parts, None, values)
    out = [Sentence(role, text, _entities_of(text, values), _time_of(parts, None, values))]
    for tag in tags_of(parts):
        edited = render(parts, tag, values)
        entities = _entities_of(edited, values)
        out.append(Sentence(f"{role}-{tag}", edited, entities, _time_of(parts, tag, values), RELATIONS[tag[0]], role))
    return out


def expand_family(domain: str, texts: dict[str, str], family: Row) -> list[Instance]:
    """Expand one family record to its instances, one for each row."""
    slots = family["slots"].split()
    instances: list[Instance] = []
    for number, row in enumerate(family["rows"]):
        if len(row) != len(slots) + 1:
            raise SourceError(f"{domain}/{family['id']} row {number + 1}: {len(row) - 1} values for {len(slots)} slots")
        values = dict(zip(slots, row[1:], strict=True))
        sentences = [s for key in ROLE_KEYS for s in expand_sentence(key, family[key], values)]
        queries = []
        for key, template in family["Q"].items():
            text = fill(template, values)
            queries.append((STYLES[key[0]], text if key[0] == "k" else text[:1].upper() + text[1:]))
        antonyms = tuple((left, right) for left, right in family.get("antonyms", []))
        instances.append(
            Instance(
                domain, family["id"], number, texts[row[0]], values["A"], tuple(sentences), tuple(queries), antonyms
            )
        )
    return instances


def read_sources(folder: Path) -> list[Instance]:
    """Read every ``*.yaml`` of ``folder`` in name order; all scalars are read as strings."""
    instances: list[Instance] = []
    for path in sorted(folder.glob("*.yaml")):
        # BaseLoader builds strings, lists and dicts only: a value such as 4.11 or "no" keeps its spelling.
        record = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        for family in record["families"]:
            try:
                instances += expand_family(record["domain"], record["texts"], family)
            except (KeyError, SourceError) as error:
                raise SourceError(f"{path.name}, family {family.get('id')!r}: {error}") from error
    if not instances:
        raise SourceError(f"no sentence family found in {folder}; expected *.yaml files")
    return instances
