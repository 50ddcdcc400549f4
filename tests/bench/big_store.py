"""A store of 2 million margin rows in 40 artifacts, made of invented but consistent numbers. Run: -m tests.bench.big_store DIR"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from observatory import descriptor, summary
from observatory.artifacts import Artifact, write
from observatory.tables import TABLES
from tests.conftest import TableScorer

ARTIFACTS, QUERIES, CLUSTERS = 40, 25_000, 5_000
RULES = {"in_model[0:1]": "in_model", "structured_perturbation": "structured_perturbation"}
NA = descriptor.NOT_APPLICABLE


def artifact(number: int, queries: int = QUERIES) -> Artifact:
    """One artifact of ``queries`` queries under two rules: two rows of margins and of pairwise a query."""
    rng = np.random.default_rng(number)
    ids = [f"q{i}" for i in range(queries)]
    tables = {
        "margins": pa.concat_tables([_margins(rng, rule, ids) for rule in RULES]),
        "queries": _table("queries", query_id=ids, text=[f"Question {i}?" for i in range(queries)], style=["question"] * queries,
                          target_item_id=[f"p{i}" for i in range(queries)]),
        "items": _table("items", item_id=[f"{k}{i}" for k in "pn" for i in range(queries)],
                        text=[f"Sentence {k}{i}." for k in "pn" for i in range(queries)], domain=["d"] * (2 * queries),
                        source_text=[f"text-{i % 60}" for i in range(2 * queries)]),
        "draws": TABLES["draws"].empty_table(),
    }  # fmt: skip
    tables["pairwise"] = _pairwise(tables["margins"])
    descriptors = {rule: _describe(rule, method, tables, number) for rule, method in RULES.items()}
    run = {"title": f"invented {number}", "started": f"2026-01-{number % 28 + 1:02d}T00:00:00+00:00", "source": "fresh run"}
    about = {"name": "invented", "n_queries": queries}
    return Artifact(f"invented-{number:02d}", "measurement", run, about, descriptors, tables)


def _margins(rng: np.random.Generator, rule: str, ids: list[str]) -> pa.Table:
    n = len(ids)
    reference, hardest = rng.normal(0.6, 0.1, n), rng.normal(0.5, 0.12, n)
    margin = reference - hardest
    outcome = np.where(margin > 0, "win", np.where(margin == 0, "tie", "loss"))
    return _table(
        "margins", rule=[rule] * n, query_id=ids, cluster_id=[f"c{i % CLUSTERS}" for i in range(n)],
        reference_item_id=[f"p{i}" for i in range(n)], reference_score=reference, hardest_item_id=[f"n{i}" for i in range(n)],
        hardest_score=hardest, margin=margin, n_negatives=[1] * n, outcome=outcome.tolist(), reason=[None] * n,
    )  # fmt: skip


def _pairwise(margins: pa.Table) -> pa.Table:
    n = margins.num_rows
    structured = [r == "structured_perturbation" for r in margins["rule"].to_pylist()]
    relations = [("negation", "relation-swap")[i % 2] if s else None for i, s in enumerate(structured)]
    return _table(
        "pairwise", rule=margins["rule"], query_id=margins["query_id"], negative_item_id=margins["hardest_item_id"],
        relation=relations, rank=[1] * n, score=margins["hardest_score"], margin=margins["margin"],
    )  # fmt: skip


def _table(name: str, **columns: Any) -> pa.Table:
    return pa.table({f.name: pa.chunked_array([columns[f.name]], f.type) if isinstance(columns[f.name], list) else columns[f.name]
                     for f in TABLES[name]}, schema=TABLES[name])  # fmt: skip


def _describe(rule: str, method: str, tables: dict[str, pa.Table], number: int) -> descriptor.NegativeSetDescriptor:
    scorer = TableScorer(lambda q, t: 0.0).description.model_dump() | {"name": f"invented-model-{number % 5}"}
    scorer["space_id"] = descriptor.space_id(scorer)
    return descriptor.parse(
        {
            "schema_version": 1, "corpus_hash": "0" * 64, "query_set_id": "invented",
            "reference_positive": {"rule": "first_grade_3", "multiple_positives_possible": False}, "scorer": scorer,
            "mining": {"method": method, "candidate_pool": "invented", "exclusions": "invented", "count_per_query": 1,
                       "ranking_rule": "invented", "ranking_source": "invented", "slice": "[0:1]", "rng_seed": NA,
                       "tie_rule": "0 is a tie", "bm25": NA},
            "label_quality": {"adjudication_method": "unadjudicated", "estimated_false_negative_rate": "not_measured",
                              "ambiguous_rate": "not_measured"},
            "clusters": {"rule": "target: invented", "n_clusters": summary.n_clusters(summary.of_rule(tables["margins"], rule))},
            **summary.measured(method, rule, tables),
        },
        subject=rule,
    )  # fmt: skip


if __name__ == "__main__":
    for index in range(ARTIFACTS):
        print(write(Path(sys.argv[1]), artifact(index)), flush=True)
