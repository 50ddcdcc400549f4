"""Counts of a release and its datasheet: a hand-written template, with every number filled in from the records."""

from __future__ import annotations

from collections import Counter
from statistics import median
from string import Template

from observatory.benchmarks.build_records import Records, corpus_hash
from observatory.benchmarks.build_validate import (
    BANDS,
    MIN_BAND_SHARE,
    NEAR_DUPLICATE_OTHERS,
    NEAR_DUPLICATE_TWINS,
    overlap_duels,
    overlap_table,
    wordless_share,
)


def markdown_table(header: list[str], rows: list[list[object]]) -> str:
    """Return a Markdown table; shares (floats) are shown with three decimals."""
    lines: list[list[object]] = [[*header], ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in row) + " |" for row in lines
    )


def counts(records: Records) -> dict[str, int]:
    """Return the sizes that the manifest and the datasheet state."""
    return {
        "items": len(records.items),
        "queries": len(records.queries),
        "pairs": len(records.pairs),
        "clusters": len({query["target_item_id"] for query in records.queries}),
        "template_families": len({item["template_family"] for item in records.items}),
        "entity_families": len({item["entity_family"] for item in records.items}),
        "texts": len({item["text_id"] for item in records.items}),
        "domains": len({item["domain"] for item in records.items}),
    }


def _domain_table(records: Records) -> str:
    domain_of = {item["id"]: item["domain"] for item in records.items}
    items = Counter(item["domain"] for item in records.items)
    queries = Counter(domain_of[query["target_item_id"]] for query in records.queries)
    texts = Counter(domain for domain, _ in {(item["domain"], item["text_id"]) for item in records.items})
    rows: list[list[object]] = [[d, items[d], queries[d], texts[d]] for d in sorted(items)]
    return markdown_table(["Domain", "Items", "Queries", "Source texts"], rows)


def _provenance_table(records: Records) -> str:
    kinds = Counter(i["provenance"].get("transformation", "none (authored)") for i in records.items)
    return markdown_table(["Transformation of the item", "Items"], [[k, kinds[k]] for k in sorted(kinds)])


def _negative_table(records: Records) -> str:
    kinds = Counter((n["method"], n["underlying_relation"]) for q in records.queries for n in q["hard_negatives"])
    with_one = Counter(
        kind for q in records.queries for kind in {(n["method"], n["underlying_relation"]) for n in q["hard_negatives"]}
    )
    rows: list[list[object]] = [[*kind, kinds[kind], with_one[kind]] for kind in sorted(kinds)]
    return markdown_table(["Method", "Relation", "Designated negatives", "Queries with one"], rows)


def _pair_table(records: Records) -> str:
    names = sorted({pair["relation"] for pair in records.pairs})
    rows: list[list[object]] = []
    for name in names:
        overlaps = [pair["lexical_overlap"] for pair in records.pairs if pair["relation"] == name]
        rows.append([name, len(overlaps), sum(overlaps) / len(overlaps)])
    return markdown_table(["Relation", "Pairs", "Mean overlap of the two texts"], rows)


def _overlap_table(records: Records) -> str:
    table = overlap_table(records)
    rows: list[list[object]] = [[n, r["n"], r["mean"], *(r[b] for b in BANDS)] for n, r in table.items()]
    return markdown_table(["Passage", "n", "Mean overlap with the query", "Low", "Middle", "High"], rows)


def _duel_table(records: Records) -> str:
    rows: list[list[object]] = [
        [name, row["n"], row["above"], row["equal"], row["below"]] for name, row in overlap_duels(records).items()
    ]
    return markdown_table(["Relation", "n", "Negative above", "Equal", "Negative below"], rows)


def datasheet(template: str, records: Records, version: str) -> str:
    """Fill the datasheet template; an unknown or missing placeholder raises KeyError."""
    sizes = counts(records)
    per_text = Counter(item["text_id"] for item in records.items).values()
    clusters = Counter(Counter(query["target_item_id"] for query in records.queries).values())
    styles = Counter(query["query_style"] for query in records.queries)
    return Template(template).substitute(
        version=version,
        corpus_hash=corpus_hash(records.items, records.pairs, records.queries),
        n_items=sizes["items"],
        n_queries=sizes["queries"],
        n_pairs=sizes["pairs"],
        n_clusters=sizes["clusters"],
        n_families=sizes["template_families"],
        n_texts=sizes["texts"],
        n_domains=sizes["domains"],
        domain_table=_domain_table(records),
        text_min=min(per_text),
        text_median=f"{median(per_text):g}",
        text_max=max(per_text),
        provenance_table=_provenance_table(records),
        cluster_sizes=", ".join(f"{clusters[size]} facts with {size}" for size in sorted(clusters)),
        style_table=markdown_table(["Style", "Queries"], [[style, styles[style]] for style in sorted(styles)]),
        negative_table=_negative_table(records),
        pair_table=_pair_table(records),
        overlap_table=_overlap_table(records),
        duel_table=_duel_table(records),
        min_band=f"{100 * MIN_BAND_SHARE:g}",
        wordless=f"{100 * wordless_share(records):.1f}",
        near_others=NEAR_DUPLICATE_OTHERS,
        near_twins=NEAR_DUPLICATE_TWINS,
    )
