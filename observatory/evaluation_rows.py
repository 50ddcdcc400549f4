"""What the rows of an evaluation must keep: among themselves, beside the margins, and against the record that describes them.

Values are computed again from the kept rankings and the labelled pairs, as far as these reach, so that a table which was
exchanged for another run's is found out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from observatory import metrics
from observatory.descriptor import NOT_APPLICABLE, NegativeSetDescriptor
from observatory.errors import InputError, shorten
from observatory.evaluation import Evaluation
from observatory.tables import MEASURED, UNSCORED

Tables = Mapping[str, pa.Table]
PAIR = ["query_id", "item_id"]
MOST_GRADE = 1000
"""As benchmarks have it: trec_eval keeps room for every grade up to the highest."""
TOLERANCE = 1e-9


def faults(found: Evaluation, descriptors: Mapping[str, NegativeSetDescriptor], tables: Tables) -> Iterator[str]:
    """Every way in which the rows of an evaluation contradict each other, the margins, or their record."""
    yield from _record_faults(found, descriptors)
    yield from _attempt_faults(tables)
    yield from _finite_faults(tables)
    measured = tables["attempts"].filter(pc.equal(tables["attempts"]["outcome"], MEASURED))["query_id"].to_pylist()
    broken = [*_metric_faults(found, tables["metrics"], measured), *_ranking_faults(found, tables["rankings"], set(measured))]
    broken += _judged_faults(tables, set(measured))
    yield from broken
    if not broken:  # rows that are whole can be compared
        yield from _cluster_faults(tables)
        yield from _score_faults(tables)
        yield from _value_faults(found, tables)


# -- the record --------------------------------------------------------------------------------------------------------


def _record_faults(found: Evaluation, descriptors: Mapping[str, NegativeSetDescriptor]) -> Iterator[str]:
    """Names and contexts are those of metrics that exist; scorer, corpus, queries and clusters are the margin sets'."""
    for name, metric in found.metrics.items():
        measure = _measure(name)
        if measure is None:
            yield f"evaluation.metrics.{shorten(name)}: is no metric that is offered here"
            continue
        cutoff, lowest = measure.params.get("cutoff", NOT_APPLICABLE), measure.params.get("rel", 1)
        if metric.context.cutoff != cutoff:
            yield f"evaluation.metrics.{name}.context.cutoff: is not the metric's, {cutoff}"
        if metric.context.relevance_definition.split(";")[0] != f"grade >= {lowest}":
            yield f"evaluation.metrics.{name}.context.relevance_definition: does not begin with the metric's, grade >= {lowest}"
    if (found.depth == NOT_APPLICABLE) != (not found.metrics):
        yield "evaluation.depth: belongs to metrics, and to nothing else"
    for rule, descriptor in descriptors.items():
        for field in ("corpus_hash", "query_set_id", "scorer"):
            if getattr(found, field) != getattr(descriptor, field):
                yield f"evaluation.{field}: is not that of the margin set {rule}"
        if found.clusters.rule != descriptor.clusters.rule:
            yield f"evaluation.clusters.rule: is not that of the margin set {rule}"


def _measure(name: str) -> Any:
    """The measure that is written like this; None where there is none, or where it has another name here."""
    try:
        found = metrics.measure(name)
    except InputError:
        return None
    return found if str(found) == name else None


# -- each table --------------------------------------------------------------------------------------------------------


def _attempt_faults(tables: Tables) -> Iterator[str]:
    attempts = tables["attempts"]
    ids, outcomes = attempts["query_id"].to_pylist(), attempts["outcome"].to_pylist()
    if ids != tables["queries"]["query_id"].to_pylist():
        yield "attempts.parquet: does not have exactly one row for each attempted query, in order"
    for query_id, outcome, reason in zip(ids, outcomes, attempts["reason"].to_pylist(), strict=True):
        if outcome not in (MEASURED, *UNSCORED) or (outcome in UNSCORED) != bool(reason):
            yield f"attempts.parquet, query {query_id}: an outcome that is unknown, or a reason where none belongs or is missing"
            break


def _finite_faults(tables: Tables) -> Iterator[str]:
    for name, column in (("metrics", "value"), ("rankings", "score"), ("judged", "score")):
        if not np.isfinite(tables[name][column].to_numpy()).all():
            yield f"{name}.parquet: holds a {column} that is no finite number"


def _metric_faults(found: Evaluation, rows: pa.Table, measured: list[str]) -> Iterator[str]:
    if strangers := sorted(set(rows["metric"].to_pylist()) - set(found.metrics)):
        yield f"metrics.parquet: holds rows of {', '.join(strangers)}, which no context describes"
    for name in found.metrics:
        if rows.filter(pc.equal(rows["metric"], name))["query_id"].to_pylist() != measured:
            yield f"metrics.parquet: {name} does not have exactly one row for each measured query, in order"
    values = rows["value"].to_numpy()
    if not ((values >= 0) & (values <= 1)).all():
        yield "metrics.parquet: holds a value outside [0, 1]"


def _ranking_faults(found: Evaluation, rows: pa.Table, measured: set[str]) -> Iterator[str]:
    """One ranking for each measured query, as deep as the record says, from rank 1 on, no item twice; scores never rise."""
    if set(pc.unique(rows["query_id"]).to_pylist()) != (measured if found.metrics else set()):
        yield "rankings.parquet: holds a query that was not measured, or lacks one that was"
    if not rows.num_rows:
        return
    rank, score = rows["rank"].to_numpy(), rows["score"].to_numpy()
    query, item = (rows[c].combine_chunks().dictionary_encode() for c in PAIR)
    new = np.diff(query.indices.to_numpy(), prepend=-1) != 0
    if (rank[new] != 1).any() or (rank[1:] != rank[:-1] + 1)[~new[1:]].any():
        yield "rankings.parquet: ranks do not run from 1 within each query"
        return
    if (score[1:] > score[:-1])[~new[1:]].any():
        yield "rankings.parquet: a score rises with the rank"
    lengths = np.diff(np.append(np.flatnonzero(new), rank.size))
    if np.ptp(lengths) or lengths[0] > (found.depth if isinstance(found.depth, int) else 0):
        yield f"rankings.parquet: does not keep the same number of ranks for each query, {found.depth} at most"
    pairs = query.indices.to_numpy().astype(np.int64) * len(item.dictionary) + item.indices.to_numpy()
    if np.unique(pairs).size != pairs.size:
        yield "rankings.parquet: an item stands twice in one ranking"


def _judged_faults(tables: Tables, measured: set[str]) -> Iterator[str]:
    rows = tables["judged"].select([*PAIR, "grade"]).to_pandas()
    if rows.duplicated(PAIR).any():
        yield "judged.parquet: a pair stands twice"
    if not rows["grade"].between(0, MOST_GRADE).all():
        yield f"judged.parquet: holds a grade that is not from 0 to {MOST_GRADE}"
    if set(rows["query_id"]) - set(tables["attempts"]["query_id"].to_pylist()):
        yield "judged.parquet: holds a query that was not attempted"
    if set(rows["query_id"][rows["grade"] >= 1]) != measured:
        yield "judged.parquet: the queries with a relevant pair are not those that were measured"


# -- tables beside each other ------------------------------------------------------------------------------------------


def _cluster_faults(tables: Tables) -> Iterator[str]:
    attempts = tables["attempts"]
    cluster = pd.Series(attempts["cluster_id"].to_pylist(), attempts["query_id"].to_pylist())
    for name in ("metrics", "judged", "margins"):
        rows = tables[name]
        if (cluster.reindex(rows["query_id"].to_pylist()).to_numpy() != np.array(rows["cluster_id"].to_pylist(), dtype=object)).any():
            yield f"{name}.parquet: a query is in another cluster than in attempts.parquet"


def _score_faults(tables: Tables) -> Iterator[str]:
    """One scorer gave every score, so a pair has the same one wherever it stands, to the bit."""
    judged = _scores(tables["judged"], "item_id", "score")
    others = {
        "rankings": _scores(tables["rankings"], "item_id", "score"), "margins": _scores(tables["margins"], "reference_item_id", "reference_score"),
        "pairwise": _scores(tables["pairwise"], "negative_item_id", "score"),
    }
    for name, rows in others.items():
        both = judged.merge(rows, on=PAIR, suffixes=("", "_there"))
        if (differ := both[both["score"] != both["score_there"]]).size:
            yield f"judged.parquet, query {differ['query_id'].iloc[0]}: a pair has another score than in {name}.parquet"


def _scores(rows: pa.Table, item: str, score: str) -> pd.DataFrame:
    frame: pd.DataFrame = rows.select(["query_id", item, score]).to_pandas().dropna()
    return frame.rename(columns={item: "item_id", score: "score"})


def _value_faults(found: Evaluation, tables: Tables) -> Iterator[str]:
    """Metrics whose cutoff lies within the kept ranks, computed again for each query."""
    import ir_measures

    measures = {name: m for name in found.metrics if (m := _measure(name)) is not None and _reaches(m, found.depth)}
    if not measures or not tables["rankings"].num_rows:
        return
    deep = max(m.params["cutoff"] for m in measures.values())
    ranked = tables["rankings"].filter(pc.less_equal(tables["rankings"]["rank"], deep)).to_pandas()
    judged = tables["judged"].to_pandas()
    # Numbers instead of ids, see metrics.values. Both tables are numbered together.
    whole = pd.concat([ranked[PAIR], judged[PAIR]])
    query, item = (pd.factorize(whole[column])[0].astype(str) for column in PAIR)
    n = len(ranked)
    run: dict[str, dict[str, float]] = {}
    for q, i, rank in zip(query[:n], item[:n], ranked["rank"].tolist(), strict=True):
        run.setdefault(q, {})[i] = -float(rank)
    grades: dict[str, dict[str, int]] = {}
    for q, i, grade in zip(query[n:], item[n:], judged["grade"].tolist(), strict=True):
        grades.setdefault(q, {})[i] = grade
    again = {(m.query_id, str(m.measure)): float(m.value) for m in ir_measures.iter_calc(list(measures.values()), grades, run)}
    number = dict(zip(whole["query_id"], query, strict=True))
    rows = tables["metrics"]
    for query_id, name, value in zip(*(rows[c].to_pylist() for c in ("query_id", "metric", "value")), strict=True):
        if name in measures and abs(value - again[number[query_id], name]) > TOLERANCE:
            yield f"metrics.parquet, query {query_id}: {name} is {value!r}, its ranking and judgments give {again[number[query_id], name]!r}"
            return


def _reaches(measure: Any, depth: int | str) -> bool:
    """Whether the kept ranks say it all; Judged also counts pairs whose grade 0 nobody can tell from a designated negative's."""
    cutoff = measure.params.get("cutoff")
    return isinstance(depth, int) and cutoff is not None and cutoff <= depth and measure.NAME != "Judged"
