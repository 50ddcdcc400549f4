"""From scores to rows: queries are scored in blocks and each block is reduced as it comes. The full matrix never exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from observatory import margins, metrics, references, scorers
from observatory.errors import InputError
from observatory.negatives.base import Candidates, Chosen, Corpus, Positions, Rule, Scores, Spec, ranking
from observatory.plans import Plan
from observatory.records import Benchmark, Query
from observatory.scorers import Progress, Scorer, silent
from observatory.tables import EVERY, MEASURED, TABLES

Row = dict[str, Any]
BLOCK_BYTES = 64 * 2**20  # one block of float64 scores: a scorer holds two or three of them at once
NOTHING: Positions = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Prepared:
    """A plan checked against its benchmark: nothing can be unknown any more, and no score was taken yet."""

    plan: Plan
    benchmark: Benchmark
    corpus: Corpus
    reference: str
    bm25: str
    specs: tuple[Spec, ...]
    rules: tuple[Rule, ...]
    clusters: tuple[str, ...]
    metrics: tuple[str, ...]


@dataclass
class Rows:
    """A run's rows so far: those of the open block as records, those of finished blocks as Arrow tables."""

    open: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in EVERY})
    done: dict[str, list[pa.Table]] = field(default_factory=lambda: {name: [] for name in EVERY})
    items: dict[int, None] = field(default_factory=dict)

    def add(self, table: str, row: Row) -> None:
        self.open[table].append(row)

    def close_block(self) -> None:
        for name, rows in self.open.items():
            if rows:
                self.done[name].append(pa.Table.from_pylist(rows, schema=EVERY[name]))
                rows.clear()

    def table(self, name: str) -> pa.Table:
        return pa.concat_tables(self.done[name]) if self.done[name] else EVERY[name].empty_table()


def measure(prepared: Prepared, scorer: Scorer, progress: Progress = silent) -> dict[str, pa.Table]:
    """All tables of the artifact. Memory beyond the vectors is a few blocks of ``BLOCK_BYTES`` and the rows."""
    benchmark = prepared.benchmark
    texts = list(dict.fromkeys(item.text for item in benchmark.items))
    text_position = {text: i for i, text in enumerate(texts)}
    columns = np.array([text_position[item.text] for item in benchmark.items])
    index = scorer.index(texts, progress)
    lexical = _lexical_index(prepared, texts, progress)
    rows, measures = Rows(), [metrics.measure(name) for name in prepared.metrics]
    size = min(prepared.plan.block_size, max(1, BLOCK_BYTES // (8 * len(texts))))
    for start in range(0, len(benchmark.queries), size):
        progress("score queries", start, len(benchmark.queries))
        block = benchmark.queries[start : start + size]
        scores = _finite(index.scores([q.text for q in block]), block, prepared.plan.scorer)
        bm25 = lexical.scores([q.text for q in block]) if lexical is not None else None
        for offset, query in enumerate(block):
            own, cluster = scores[offset][columns], prepared.clusters[start + offset]
            _margin_rows(prepared, query, cluster, own, None if bm25 is None else bm25[offset][columns], rows)
            _evaluation_rows(prepared, measures, query, cluster, own, rows)
        rows.close_block()
    progress("score queries", len(benchmark.queries), len(benchmark.queries))
    return _tables(prepared, rows)


def _lexical_index(prepared: Prepared, texts: Sequence[str], progress: Progress) -> scorers.Index | None:
    wanted = prepared.bm25 != "shipped" and any(spec.method == "bm25" for spec in prepared.specs)
    return scorers.load(f"bm25:{prepared.bm25}").index(texts, progress) if wanted else None


def _finite(scores: Scores, block: Sequence[Query], scorer: str) -> Scores:
    bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if bad.size:
        raise InputError(
            f"{scorer} gives scores that are no finite numbers for query '{block[bad[0]].id}'", value=block[bad[0]].text,
            mend="check the weights, or remove the query",
        )
    return scores


# -- margins -----------------------------------------------------------------------------------------------------------


def _margin_rows(prepared: Prepared, query: Query, cluster: str, scores: Scores, bm25: Scores | None, rows: Rows) -> None:
    """All rules' rows of one query. A rule chooses even where there is no reference, so that draws do not depend on it."""
    if not prepared.specs:
        return
    corpus = prepared.corpus
    positives = corpus.positions(tuple(p.item_id for p in query.positives))
    candidates = Candidates(query, positives, scores, bm25)
    pick = references.REFERENCES.get(prepared.reference)
    reference_id = pick(query, lambda item_id: float(scores[corpus.position[item_id]]))
    reference = None if reference_id is None else corpus.position[reference_id]
    for spec, rule in zip(prepared.specs, prepared.rules, strict=True):
        chosen = rule.choose(candidates)
        row: Row = {"rule": spec.text, "query_id": query.id, "cluster_id": cluster, "reference_item_id": reference_id}
        if reference is None:
            reason = references.reason_without(prepared.reference, query)
            rows.add("margins", row | {"n_negatives": 0, "outcome": "excluded", "reason": reason})
        elif chosen.positions.size == 0:
            score = float(scores[reference])
            empty = {"reference_score": score, "n_negatives": 0, "outcome": "excluded", "reason": margins.EMPTY_SET}
            rows.add("margins", row | empty)
        else:
            rows.add("margins", row | _scored_row(prepared, spec, query, reference, chosen, scores, rows))
        rows.items.update(dict.fromkeys([*chosen.positions.tolist(), *([] if reference is None else [reference])]))


def _scored_row(
    prepared: Prepared, spec: Spec, query: Query, reference: int, chosen: Chosen, scores: Scores, rows: Rows
) -> Row:
    ids, reference_score = prepared.corpus.ids, float(scores[reference])
    negative_scores = scores[chosen.positions]
    result = margins.margin(reference_score, negative_scores)
    chosen_rows = zip(chosen.positions, chosen.relations, negative_scores, strict=True)
    for rank, (position, relation, score) in enumerate(chosen_rows, start=1):
        pair = {"negative_item_id": ids[position], "relation": relation, "rank": rank, "score": float(score)}
        rows.add("pairwise", {"rule": spec.text, "query_id": query.id, **pair, "margin": margins.difference(reference_score, score)})
    if chosen.pool is not None:
        exact = margins.random_expectation(reference_score, scores[chosen.pool], prepared.plan.k)
        drawn = {"expected_margin": exact.mean, "variance": exact.variance, "win_rate": exact.win_rate}
        rows.add("draws", {"rule": spec.text, "query_id": query.id, "pool_size": int(chosen.pool.size), **drawn})
    return {
        "reference_score": reference_score, "hardest_item_id": ids[chosen.positions[result.hardest]],
        "hardest_score": result.hardest_score, "margin": result.value, "n_negatives": int(chosen.positions.size),
        "outcome": result.outcome,
    }


# -- metrics and labelled pairs ----------------------------------------------------------------------------------------


def _evaluation_rows(
    prepared: Prepared, measures: Sequence[Any], query: Query, cluster: str, scores: Scores, rows: Rows
) -> None:
    """Metrics of the query's ranking, the top of that ranking, and the scores of its labelled pairs."""
    _judged_rows(prepared, query, cluster, scores, rows)
    own: Row = {"query_id": query.id, "cluster_id": cluster}
    if not query.positives:
        rows.add("attempts", own | {"outcome": "excluded", "reason": metrics.NO_RELEVANT})
        return
    rows.add("attempts", own | {"outcome": MEASURED})
    if not measures:
        return
    ids = prepared.corpus.ids
    grades = {p.item_id: p.grade for p in query.positives} | dict.fromkeys(query.irrelevant, 0)
    deep = metrics.depth(measures, lambda: max(_rank(scores, prepared.corpus.position[p.item_id]) for p in query.positives))
    order = ranking(scores, NOTHING, max(deep, prepared.plan.depth))
    for name, value in metrics.values(measures, grades, [ids[i] for i in order[:deep]]).items():
        rows.add("metrics", own | {"metric": name, "value": value})
    for rank, position in enumerate(order[: prepared.plan.depth], start=1):
        rows.add("rankings", {"query_id": query.id, "item_id": ids[position], "rank": rank, "score": float(scores[position])})


def _rank(scores: Scores, position: int) -> int:
    """Rank from 1 in the whole ranking: equal scores stand in the order of the corpus."""
    score = scores[position]
    return int((scores > score).sum() + (scores[:position] == score).sum()) + 1


def _judged_rows(prepared: Prepared, query: Query, cluster: str, scores: Scores, rows: Rows) -> None:
    corpus = prepared.corpus
    pairs: dict[str, tuple[int, str | None]] = {n.item_id: (0, n.relation) for n in reversed(query.designated_negatives)}
    pairs |= {item_id: (0, pairs[item_id][1] if item_id in pairs else None) for item_id in query.irrelevant}
    pairs |= {p.item_id: (p.grade, None) for p in query.positives}
    target = corpus.position[query.target_item_id] if query.target_item_id is not None else None
    for item_id, (grade, relation) in pairs.items():
        at = corpus.position[item_id]
        domain = corpus.domains[at if target is None else target]
        labels = {"domain": domain, "grade": grade, "relation": relation, "score": float(scores[at])}
        rows.add("judged", {"query_id": query.id, "cluster_id": cluster, "item_id": item_id, **labels})


# -- tables ------------------------------------------------------------------------------------------------------------


def _tables(prepared: Prepared, rows: Rows) -> dict[str, pa.Table]:
    """Rows of margins grouped by rule; the texts of all queries and of every item that a margin mentions."""
    found = {name: rows.table(name) for name in EVERY}
    for name in ("margins", "pairwise", "draws"):
        parts = [found[name].filter(pc.equal(found[name]["rule"], spec.text)) for spec in prepared.specs]
        found[name] = pa.concat_tables(parts) if parts else found[name]
    _refuse_empty(prepared, found["margins"])
    benchmark = prepared.benchmark
    queries = [{"query_id": q.id, "text": q.text, "style": q.style, "target_item_id": q.target_item_id} for q in benchmark.queries]
    items = [
        {"item_id": i.id, "text": i.text, "domain": i.domain, "source_text": i.source_text}
        for i in (benchmark.items[position] for position in sorted(rows.items))
    ]
    found["queries"] = pa.Table.from_pylist(queries, schema=TABLES["queries"])
    found["items"] = pa.Table.from_pylist(items, schema=TABLES["items"])
    return found


def _refuse_empty(prepared: Prepared, table: pa.Table) -> None:
    measured = set(table.filter(pc.not_equal(table["outcome"], "excluded"))["rule"].to_pylist())
    for spec in prepared.specs:
        if spec.text not in measured:
            raise InputError(
                f"rule {spec.text} gives no query of {prepared.benchmark.name} both a reference positive and a negative",
                mend="choose another rule or slice",
            )
