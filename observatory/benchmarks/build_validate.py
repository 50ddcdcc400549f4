"""Validators of the Fieldnotes release: each returns a list of faults, and an empty list means that it passed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from observatory.benchmarks.build_records import Records, item_id
from observatory.benchmarks.build_rules import RULES
from observatory.benchmarks.build_text import Row, band, content_stems, jaccard, lexical_overlap, shingles

BANDS = ("low", "middle", "high")
MIN_BAND_SHARE = 0.15
MIN_WORDLESS_SHARE = 0.15  # share of grade-3 positives that have at most one content word in common with the query
MIN_ITEMS, MIN_QUERIES, MIN_TEXTS, MIN_FAMILIES = 1500, 400, 45, 90
SMALLEST_TEXT, LARGEST_TEXT = 10, 90  # items
NEAR_DUPLICATE_TWINS = 0.85  # character 4-gram Jaccard; instances of one family differ in their slots only
NEAR_DUPLICATE_OTHERS = 0.60
METHODS = {"structured_perturbation", "entity_matched", "lexical_overlap_matched"}


def check_texts(records: Records) -> list[str]:
    """No two items and no two queries have the same text, no query repeats an item, ids follow from texts."""
    faults = []
    for name, rows in (("item", records.items), ("query", records.queries)):
        counts = Counter(row["text"].lower() for row in rows)
        faults += [f"{name} text occurs {n} times: {text!r}" for text, n in counts.items() if n > 1]
        ids = Counter(row["id"] for row in rows)
        faults += [f"{name} id occurs {n} times: {i}" for i, n in ids.items() if n > 1]
    item_texts = {item["text"].lower() for item in records.items}
    faults += [f"query {q['id']} repeats an item's text" for q in records.queries if q["text"].lower() in item_texts]
    faults += [f"item {i['id']} does not follow from its text" for i in records.items if i["id"] != item_id(i["text"])]
    faults += [f"item {i['id']} has an unfilled mark" for i in records.items if set(i["text"]) & set("$<>|")]
    return faults


def check_near_duplicates(records: Records) -> list[str]:
    """No two items of different instances are nearly the same text (character 4-grams, thresholds above)."""
    faults = []
    by_domain: dict[str, list[tuple[Row, frozenset[str]]]] = defaultdict(list)
    for item in records.items:
        by_domain[item["domain"]].append((item, shingles(item["text"], 4)))
    for rows in by_domain.values():
        for place, (a, a_grams) in enumerate(rows):
            for b, b_grams in rows[place + 1 :]:
                twins = a["template_family"] == b["template_family"]
                limit = NEAR_DUPLICATE_TWINS if twins else NEAR_DUPLICATE_OTHERS
                # A size ratio below the limit rules the pair out before the sets are compared.
                if min(len(a_grams), len(b_grams)) < limit * max(len(a_grams), len(b_grams)):
                    continue
                if records.instance_of[a["id"]] == records.instance_of[b["id"]]:
                    continue
                if jaccard(a_grams, b_grams) >= limit:
                    faults.append(f"near-duplicates {a['id']} and {b['id']}: {a['text']!r} / {b['text']!r}")
    return faults


def check_references(records: Records) -> list[str]:
    """Every id that a query, a pair or a provenance names belongs to an item."""
    known = {item["id"] for item in records.items}
    faults = []
    for item in records.items:
        parent = item["provenance"].get("parent")
        if parent is not None and parent not in known:
            faults.append(f"item {item['id']}: parent {parent} is no item")
    for pair in records.pairs:
        faults += [f"pair {pair['id']}: {pair[key]} is no item" for key in ("a_id", "b_id") if pair[key] not in known]
    for query in records.queries:
        named = [query["target_item_id"]] + [row["item_id"] for row in query["positives"] + query["hard_negatives"]]
        faults += [f"query {query['id']}: {name} is no item" for name in named if name not in known]
    return faults


def check_queries(records: Records) -> list[str]:
    """Target first with grade 3; grades fall; an entity is named; no positive is a negative; relations fit methods."""
    faults = []
    items = {item["id"]: item for item in records.items}
    for query in records.queries:
        name, positives, negatives = f"query {query['id']}", query["positives"], query["hard_negatives"]
        first = positives[0] if positives else {}
        if first.get("item_id") != query["target_item_id"] or first.get("grade") != 3:
            faults.append(f"{name}: the target is not the first positive with grade 3")
        names = items.get(query["target_item_id"], {}).get("entities", [])
        if names and not any(entity.lower() in query["text"].lower() for entity in names):
            faults.append(f"{name}: names no entity of its target, so another fact could answer it")
        grades = [row["grade"] for row in positives]
        if grades != sorted(grades, reverse=True) or not set(grades) <= {1, 2, 3}:
            faults.append(f"{name}: grades are not 3 to 1 in falling order: {grades}")
        positive_ids, negative_ids = [row["item_id"] for row in positives], [row["item_id"] for row in negatives]
        if set(positive_ids) & set(negative_ids):
            faults.append(f"{name}: a positive is among the negatives")
        if len(set(positive_ids)) < len(positive_ids) or len(set(negative_ids)) < len(negative_ids):
            faults.append(f"{name}: an item is listed twice")
        faults += [f"{name}: {fault}" for row in negatives for fault in _negative_faults(records, items, query, row)]
    return faults


def _negative_faults(records: Records, items: dict[str, Row], query: Row, row: Row) -> list[str]:
    """Faults of one designated negative: its method, its relation, and where it comes from."""
    negative, target = items.get(row["item_id"]), items.get(query["target_item_id"])
    if negative is None or target is None:
        return []  # check_references reports it
    method, relation = row["method"], row["underlying_relation"]
    if method not in METHODS:
        return [f"unknown method {method!r}"]
    own = records.instance_of[negative["id"]] == records.instance_of[target["id"]]
    if method == "structured_perturbation":
        if relation != negative["provenance"].get("transformation"):
            return [f"negative {negative['id']} is no {relation} of its parent"]
        parents = [p["item_id"] for p in query["positives"] if p["grade"] == 3]
        return (
            []
            if negative["provenance"]["parent"] in parents
            else [f"{negative['id']} does not edit a grade-3 positive"]
        )
    if method == "entity_matched":
        shared = set(negative["entities"]) & set(target["entities"])
        return [] if shared and relation == "entity-related" else [f"{negative['id']} shares no entity with the target"]
    if own or relation != "topic-related" or negative["domain"] != target["domain"]:
        return [f"{negative['id']} is no lexical match from another instance of the domain"]
    return []


def check_relations(records: Records) -> list[str]:
    """Each perturbed item obeys the decision rule of its relation against its parent, and so does each such pair."""
    items = {item["id"]: item for item in records.items}
    triples = [
        (i["provenance"]["parent"], i["id"], i["provenance"]["transformation"])
        for i in records.items
        if i["provenance"]["kind"] == "perturbed"
    ]
    triples += [(p["a_id"], p["b_id"], p["relation"]) for p in records.pairs if p["relation"] in RULES]
    faults: dict[str, None] = {}  # an ordered set: items and pairs report the same edit
    for parent, child, relation in triples:
        if relation not in RULES:
            faults[f"{child}: unknown transformation {relation!r}"] = None
        elif parent in items and child in items:
            fault = RULES[relation](items[parent], items[child], records.antonyms_of.get(parent, []))
            if fault is not None:
                faults[f"{child} ({items[parent]['text']!r} -> {items[child]['text']!r}): {fault}"] = None
    return list(faults)


def overlap_table(records: Records) -> dict[str, Row]:
    """Return n, mean overlap with the query and the share of each band, for each kind of negative and positive."""
    items = {item["id"]: item["text"] for item in records.items}
    overlaps: dict[str, list[float]] = defaultdict(list)
    for query in records.queries:
        rows = [("positive, grade " + str(p["grade"]), p["item_id"]) for p in query["positives"]]
        for negative in query["hard_negatives"]:
            structured = negative["method"] == "structured_perturbation"
            rows.append((negative["underlying_relation"] if structured else negative["method"], negative["item_id"]))
        for name, item in rows:
            if item in items:
                overlaps[name].append(lexical_overlap(query["text"], items[item]))
    table = {}
    for name, values in sorted(overlaps.items()):
        counts = Counter(band(value) for value in values)
        shares = {key: round(counts[key] / len(values), 4) for key in BANDS}
        table[name] = {"n": len(values), "mean": round(sum(values) / len(values), 4), **shares}
    return table


def overlap_duels(records: Records) -> dict[str, Row]:
    """Return n and the shares of negatives above, equal to and below the target's overlap, by structured relation."""
    items = {item["id"]: item["text"] for item in records.items}
    duels: dict[str, Counter[str]] = defaultdict(Counter)
    for query in records.queries:
        target = lexical_overlap(query["text"], items[query["target_item_id"]])
        for row in query["hard_negatives"]:
            if row["method"] == "structured_perturbation":
                negative = lexical_overlap(query["text"], items[row["item_id"]])
                outcome = "above" if negative > target else "equal" if negative == target else "below"
                duels[row["underlying_relation"]][outcome] += 1
    return {
        name: {"n": counts.total(), **{k: round(counts[k] / counts.total(), 4) for k in ("above", "equal", "below")}}
        for name, counts in sorted(duels.items())
    }


def wordless_share(records: Records) -> float:
    """Return the share of (query, grade-3 positive) pairs with at most one content stem in common."""
    stems = {item["id"]: content_stems(item["text"]) for item in records.items}
    common = [
        len(content_stems(q["text"]) & stems[p["item_id"]])
        for q in records.queries
        for p in q["positives"]
        if p["grade"] == 3 and p["item_id"] in stems
    ]
    return sum(n <= 1 for n in common) / len(common) if common else 0.0


def check_overlap(records: Records) -> list[str]:
    """Each structured relation and the grade-3 positives have a real share of every overlap band."""
    table = overlap_table(records)
    faults = []
    for name in [*RULES, "positive, grade 3"]:
        if name not in table:
            faults.append(f"{name}: no query has one")
            continue
        shares = table[name]
        faults += [f"{name}: {b} overlap has a share of {shares[b]}" for b in BANDS if shares[b] < MIN_BAND_SHARE]
    share = wordless_share(records)
    if share < MIN_WORDLESS_SHARE:
        faults.append(f"only {share:.4f} of grade-3 positives share at most one content word with the query")
    return faults


def check_sizes(records: Records) -> list[str]:
    """The release is as large as promised, and its source texts are many, bounded and unequal."""
    per_text = Counter(item["text_id"] for item in records.items)
    families = {item["template_family"] for item in records.items}
    counts = (
        ("items", len(records.items), MIN_ITEMS),
        ("queries", len(records.queries), MIN_QUERIES),
        ("source texts", len(per_text), MIN_TEXTS),
        ("sentence families", len(families), MIN_FAMILIES),
    )
    faults = [f"{count} {name}, fewer than {least}" for name, count, least in counts if count < least]
    for text, count in sorted(per_text.items()):
        if not SMALLEST_TEXT <= count <= LARGEST_TEXT:
            faults.append(f"{text}: {count} items, outside {SMALLEST_TEXT} to {LARGEST_TEXT}")
    if per_text and max(per_text.values()) < 3 * min(per_text.values()):
        faults.append("source texts are of nearly equal size")
    clusters = Counter(query["target_item_id"] for query in records.queries)
    faults += [f"target {t} has {n} queries, not 2 to 4" for t, n in clusters.items() if not 2 <= n <= 4]
    return faults


VALIDATORS: dict[str, Callable[[Records], list[str]]] = {
    "texts": check_texts,
    "near_duplicates": check_near_duplicates,
    "references": check_references,
    "queries": check_queries,
    "relations": check_relations,
    "overlap": check_overlap,
    "sizes": check_sizes,
}


def validate(records: Records) -> dict[str, list[str]]:
    """Run every validator and return its faults under its name."""
    return {name: check(records) for name, check in VALIDATORS.items()}
