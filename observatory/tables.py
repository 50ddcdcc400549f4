"""Columns of the artifact's Parquet tables, declared once. Scores are float64 and never rounded."""

from __future__ import annotations

import pyarrow as pa

MARGINS = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("reference_item_id", pa.string()),
        pa.field("reference_score", pa.float64()),
        pa.field("hardest_item_id", pa.string()),
        pa.field("hardest_score", pa.float64()),
        pa.field("margin", pa.float64()),
        pa.field("n_negatives", pa.int64(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)

PAIRWISE = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("negative_item_id", pa.string(), nullable=False),
        pa.field("relation", pa.string()),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("margin", pa.float64(), nullable=False),
    ]
)

DRAWS = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("pool_size", pa.int64(), nullable=False),
        pa.field("expected_margin", pa.float64(), nullable=False),
        pa.field("variance", pa.float64(), nullable=False),
        pa.field("win_rate", pa.float64(), nullable=False),
    ]
)

QUERIES = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("style", pa.string()),
        pa.field("target_item_id", pa.string()),
    ]
)

ITEMS = pa.schema(
    [
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("domain", pa.string()),
        pa.field("source_text", pa.string()),
    ]
)

ATTEMPTS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("reason", pa.string()),
    ]
)

METRICS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)

RANKINGS = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("rank", pa.int64(), nullable=False),
        pa.field("score", pa.float64(), nullable=False),
    ]
)

JUDGED = pa.schema(
    [
        pa.field("query_id", pa.string(), nullable=False),
        pa.field("cluster_id", pa.string(), nullable=False),
        pa.field("item_id", pa.string(), nullable=False),
        pa.field("domain", pa.string()),
        pa.field("grade", pa.int64(), nullable=False),
        pa.field("relation", pa.string()),
        pa.field("score", pa.float64(), nullable=False),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "margins": MARGINS, "pairwise": PAIRWISE, "draws": DRAWS, "queries": QUERIES, "items": ITEMS,
}

EVALUATION: dict[str, pa.Schema] = {"attempts": ATTEMPTS, "metrics": METRICS, "rankings": RANKINGS, "judged": JUDGED}
"""Tables of an artifact that holds an evaluation (see evaluation.py) as well."""
EVERY = TABLES | EVALUATION

MEASURED = "measured"
"""Outcome of an attempt whose query has metrics; the others are excluded or failed."""
SCORED = ("win", "tie", "loss")
UNSCORED = ("excluded", "failed")
"""Outcomes of a margins row: the first are in every mean, the second are counted beside it."""
