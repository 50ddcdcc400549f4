"""Turn instances into RELATE records: items, queries with typed negatives, and labelled pairs."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass

from observatory.benchmarks.build_source import Instance, Sentence
from observatory.benchmarks.build_text import Row, content_stems, jaccard, lexical_overlap, shingles, words

GRADES = {"T": 3, "P": 3, "L": 3, "G2": 2, "G1": 1}
N_OTHER_FAMILY = 2  # lexically matched negatives a query takes from other families of its domain
N_SAME_FAMILY = 2  # and from its own family, about another subject
PAIR_KINDS = {  # role of the second sentence -> relation to the target, runner-up, direction, note
    "P": ("paraphrase", "equivalent", None, "same claim, other construction"),
    "L": ("paraphrase", "entailment", None, "same claim, hardly a word in common"),
    "G2": ("entailment", "partial-support", "a->b", "the second says less"),
    "G1": ("topic-related", "entity-related", None, "same subject, another matter"),
    "O": ("entity-related", "unrelated", None, "shares the entity only"),
}
RUNNER_UP = {
    "negation": "contradiction",
    "relation-swap": "contradiction",
    "temporal-mismatch": "contradiction",
    "quantifier-change": "partial-support",
    "entity-substitution": "entity-related",
}


@dataclass(frozen=True)
class Records:
    """The three record lists in file order, and the instance (domain/family/number) and antonyms of each item."""

    items: list[Row]
    queries: list[Row]
    pairs: list[Row]
    instance_of: dict[str, str]
    antonyms_of: dict[str, list[tuple[str, str]]]


def short_hash(*parts: str) -> str:
    """Return the first ten hex digits of the sha256 of ``parts`` joined by line feeds."""
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:10]


def item_id(text: str) -> str:
    """Return the item id of a text: equal texts would share an id, and the validators refuse equal texts."""
    return f"i-{short_hash(text)}"


def key_of(instance: Instance) -> str:
    """Return the name of an instance: domain/family/number."""
    return f"{instance.domain}/{instance.family}/{instance.number}"


def slug(name: str) -> str:
    """Return ``name`` lower-cased with hyphens between its words."""
    return "-".join(words(name))


def item_record(instance: Instance, sentence: Sentence) -> Row:
    """Return the item of one sentence; a perturbed sentence names its parent and the relation that made it."""
    provenance: dict[str, str] = {"kind": "authored"}
    if sentence.relation is not None:
        parent = next(s for s in instance.sentences if s.role == sentence.parent)
        provenance = {"kind": "perturbed", "parent": item_id(parent.text), "transformation": sentence.relation}
    return {
        "id": item_id(sentence.text),
        "text": sentence.text,
        "domain": instance.domain,
        "text_id": instance.text_id,
        "entities": list(sentence.entities),
        "entity_family": f"ef-{instance.domain}-{slug(instance.subject)}",
        "template_family": f"tf-{instance.domain}-{instance.family}",
        "provenance": provenance,
        "time_index": sentence.time_index,
        "atomic_claims": [],
    }


def pair_record(a: Row, b: Row, relation: str, runner_up: str, direction: str | None, notes: str) -> Row:
    """Return a labelled pair; both overlaps are Jaccard shares rounded to four places."""
    return {
        "id": f"p-{short_hash(a['id'], b['id'], relation)}",
        "a_id": a["id"],
        "b_id": b["id"],
        "relation": relation,
        "rule_fired": relation,
        "runner_up": runner_up,
        "lexical_overlap": round(lexical_overlap(a["text"], b["text"]), 4),
        "char_3gram_overlap": round(jaccard(shingles(a["text"], 3), shingles(b["text"], 3)), 4),
        "entity_overlap": len(set(a["entities"]) & set(b["entities"])),
        "direction": direction,
        "notes": notes,
    }


def instance_pairs(instance: Instance, by_role: dict[str, Row]) -> list[Row]:
    """Return the pairs of one instance: target with every other role, and each sentence with its perturbations."""
    pairs = [pair_record(by_role["T"], by_role[role], *PAIR_KINDS[role]) for role in PAIR_KINDS]
    for sentence in instance.sentences:
        if sentence.relation is not None and sentence.parent is not None:
            parent, child = by_role[sentence.parent], by_role[sentence.role]
            note = f"edit of the {'target' if sentence.parent == 'T' else 'paraphrase'}"
            pairs.append(pair_record(parent, child, sentence.relation, RUNNER_UP[sentence.relation], None, note))
    return pairs


class NegativeChooser:
    """Pick entity-matched and lexically matched negatives for a query, by word overlap and then item order."""

    def __init__(self, items: list[Row], instance_of: dict[str, str]) -> None:
        self._instance_of = instance_of
        self._stems = {item["id"]: content_stems(item["text"]) for item in items}
        self._by_domain: dict[str, list[Row]] = defaultdict(list)
        for item in items:
            # Perturbed sentences are negatives of their own instance only: elsewhere they would blur the relation.
            if item["provenance"]["kind"] == "authored":
                self._by_domain[item["domain"]].append(item)

    def _best(self, query: str, pool: list[Row], count: int) -> list[str]:
        stems = content_stems(query)
        # sorted() is stable, so equal overlaps stay in item order.
        ranked = sorted(pool, key=lambda item: -jaccard(stems, self._stems[item["id"]]))
        return [item["id"] for item in ranked[:count]]

    def choose(self, instance: Instance, query: str, other: Row) -> list[Row]:
        """Return the mined negatives of ``query``: two entity-matched, then two to four lexically matched."""
        family = f"tf-{instance.domain}-{instance.family}"
        subject = instance.subject
        domain = self._by_domain[instance.domain]
        elsewhere = [i for i in domain if i["template_family"] != family]
        same_entity = self._best(query, [i for i in elsewhere if subject in i["entities"]], 1)
        lexical = self._best(query, [i for i in elsewhere if subject not in i["entities"]], N_OTHER_FAMILY)
        if subject.lower() in query.lower():
            # The same fact about another subject is no answer only if the query says which subject it means.
            twins = [i for i in domain if i["template_family"] == family and subject not in i["entities"]]
            lexical += self._best(
                query, [i for i in twins if self._instance_of[i["id"]] != key_of(instance)], N_SAME_FAMILY
            )
        matched = [other["id"], *same_entity]
        return [_negative(i, "entity_matched", "entity-related") for i in matched] + [
            _negative(i, "lexical_overlap_matched", "topic-related") for i in lexical
        ]


def _negative(item: str, method: str, relation: str) -> Row:
    return {"item_id": item, "method": method, "underlying_relation": relation}


def instance_queries(instance: Instance, by_role: dict[str, Row], chooser: NegativeChooser) -> list[Row]:
    """Return the queries of one instance: all share the target, the positives and the structured negatives."""
    target = by_role["T"]["id"]
    positives = [{"grade": grade, "item_id": by_role[role]["id"]} for role, grade in GRADES.items()]
    structured = [
        _negative(by_role[s.role]["id"], "structured_perturbation", s.relation)
        for s in instance.sentences
        if s.relation is not None
    ]
    return [
        {
            "id": f"q-{short_hash(text, target)}",
            "text": text,
            "query_style": style,
            "target_item_id": target,
            "positives": positives,
            "hard_negatives": structured + chooser.choose(instance, text, by_role["O"]),
        }
        for style, text in instance.queries
    ]


def build_records(instances: list[Instance]) -> Records:
    """Build all records, each list ordered by id so that file order says nothing about roles."""
    roles: dict[str, dict[str, Row]] = {}
    instance_of: dict[str, str] = {}
    antonyms_of: dict[str, list[tuple[str, str]]] = {}
    items: list[Row] = []
    for instance in instances:
        by_role = {s.role: item_record(instance, s) for s in instance.sentences}
        roles[key_of(instance)] = by_role
        items += by_role.values()
        for item in by_role.values():
            instance_of[item["id"]] = key_of(instance)
            antonyms_of[item["id"]] = list(instance.antonyms)
    items.sort(key=lambda item: item["id"])
    chooser = NegativeChooser(items, instance_of)
    pairs = [pair for i in instances for pair in instance_pairs(i, roles[key_of(i)])]
    queries = [query for i in instances for query in instance_queries(i, roles[key_of(i)], chooser)]
    pairs.sort(key=lambda pair: pair["id"])
    queries.sort(key=lambda query: query["id"])
    return Records(items, queries, pairs, instance_of, antonyms_of)


def corpus_hash(items: list[Row], pairs: list[Row], queries: list[Row]) -> str:
    """Return the sha256 over items, pairs, queries in file order, each as sorted-key JSON and one line feed."""
    digest = hashlib.sha256()
    for record in [*items, *pairs, *queries]:
        digest.update((json.dumps(record, sort_keys=True, ensure_ascii=False) + "\n").encode("utf-8"))
    return digest.hexdigest()
