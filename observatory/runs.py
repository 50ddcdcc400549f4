"""A fresh measurement: plan -> encode -> mine -> score -> artifact. Each step is a function of what came before it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from observatory import __version__, benchmarks, evaluation, metrics, negatives, plans, references, scorers, summary
from observatory.artifacts import Artifact, check_writable, child_name, write
from observatory.descriptor import NOT_APPLICABLE, NOT_MEASURED, NOT_RECORDED, NegativeSetDescriptor, canonical, parse
from observatory.errors import InputError, ObservatoryError
from observatory.evaluation import Evaluation
from observatory.measuring import Prepared, measure
from observatory.negatives.base import TIE_RULE, Corpus, Options, Rule, Spec
from observatory.plans import Plan, command
from observatory.records import Benchmark, Query
from observatory.scorers import Progress, Scorer, silent
from observatory.scorers.bm25 import VARIANTS, parameters

__all__ = ["Plan", "Prepared", "Preview", "command", "describe", "evaluate", "identity", "load_scorer", "measure", "prepare", "preview", "run"]

CLUSTER_RULES = ("target", "text")
T = TypeVar("T")
MIN_TEXTS = 40  # source texts a benchmark needs before they can be the sampling unit


def run(plan: Plan, out: Path, progress: Progress = silent) -> Path:
    """Measure and write one artifact as a new child of ``out``; its path.

    Raises InputError for anything that cannot be used, and leaves nothing then. Embeddings that were finished
    stay in the cache, so the same run started again goes on where it stopped.
    """
    progress("read benchmark", 0, 1)
    prepared = prepare(plan, benchmarks.read(plan.benchmark, split=plan.split))
    progress("load scorer", 0, 1)
    scorer = load_scorer(plan)
    check_writable(out)
    started = datetime.now(UTC)
    tables = measure(prepared, scorer, progress)
    progress("write artifact", 0, 1)
    path = write(out, _artifact(prepared, scorer, tables, started))
    progress("write artifact", 1, 1)
    return path


@dataclass(frozen=True)
class Preview:
    """What a run will carry, before any score: for each rule the descriptor's fields, and what is still missing in words.

    ``n_texts`` counts the distinct texts of items and queries: what a bi-encoder encodes at most. It is None without a
    benchmark, as are the other counts.
    """

    descriptors: dict[str, dict[str, Any]]
    missing: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    n_queries: int | None = None
    n_items: int | None = None
    n_texts: int | None = None


def preview(plan: Plan) -> Preview:
    """Resolve a plan as :func:`run` would, without scoring. What cannot be used is a sentence in ``missing``, never an error."""
    missing: list[str] = []
    benchmark = _try(lambda: benchmarks.read(plan.benchmark, split=plan.split), missing) if plan.benchmark else None
    if not plan.benchmark:
        missing.append("choose a benchmark")
    scorer = _try(lambda: load_scorer(plan), missing) if plan.scorer else None
    if not plan.scorer:
        missing.append("choose a scorer")
    described = _try(lambda: scorer.description, missing) if scorer is not None else None
    if benchmark is None:
        return Preview({}, tuple(missing))
    prepared = _try(lambda: prepare(plan, benchmark), missing)
    fields = {}
    if prepared is not None and scorer is not None and described is not None:
        fields = {s.text: _instrument(prepared, s, rule, scorer) for s, rule in zip(prepared.specs, prepared.rules, strict=True)}
    texts = {item.text for item in benchmark.items} | {q.text for q in benchmark.queries}
    return Preview(fields, tuple(missing), benchmark.warnings, len(benchmark.queries), len(benchmark.items), len(texts))


def _try(step: Callable[[], T], missing: list[str]) -> T | None:
    try:
        return step()
    except ObservatoryError as error:
        missing.append(str(error))
        return None


def load_scorer(plan: Plan) -> Scorer:
    """The plan's scorer with the plan's options. InputError for an option that this scorer does not take."""
    options = scorers.Options(plan.backend, plan.max_length, plan.query_prompt, plan.item_prompt, plan.dtype)
    return scorers.load(plan.scorer, plan.batch_size, options)


def prepare(plan: Plan, benchmark: Benchmark) -> Prepared:
    """Resolve every name in the plan against the benchmark. Raises InputError for the first that fails."""
    if plan.k < 1:
        raise InputError("k is not at least 1", value=plan.k, mend="write --k 5")
    if plan.seed < 0:
        raise InputError("the seed is negative", value=plan.seed, mend="write --seed 0 or another whole number")
    if min(plan.batch_size, plan.block_size) < 1:
        raise InputError("batch and block sizes must be at least 1", mend="leave them out")
    if plan.depth < 1:
        raise InputError("the depth is not at least 1", value=plan.depth, mend="write --depth 1000")
    asked = metrics.parse_names(plan.metrics)
    if not plan.rules and not asked:
        raise InputError("names neither rules nor metrics", file="the plan", mend="write --rules random,bm25 or --metrics nDCG@10")
    specs = negatives.parse_specs(",".join(plan.rules)) if plan.rules else ()
    bm25 = plan.bm25 or ("shipped" if benchmark.shipped_bm25 is not None else "okapi")
    if bm25 not in ("shipped", *VARIANTS):
        raise InputError("is no BM25 source", value=bm25, mend=f"choose one of: shipped, {', '.join(VARIANTS)}")
    if not benchmark.has_texts:
        raise InputError(f"{benchmark.name} ({benchmark.format}) holds ids without texts", mend="name a benchmark with texts")
    reference = plan.reference or references.default_rule(benchmark.queries)
    if specs:
        references.check(benchmark, reference)
    if asked and not any(q.positives for q in benchmark.queries):
        raise InputError(f"no query of {benchmark.name} has a relevant judgment", mend="name another split or benchmark")
    corpus = Corpus(benchmark)
    options = Options(k=plan.k, seed=plan.seed, bm25=bm25)
    rules = tuple(negatives.prepare(spec, benchmark, corpus, options) for spec in specs)
    return Prepared(plan, benchmark, corpus, reference, bm25, specs, rules, _clusters(plan.clusters, benchmark, reference), asked)


def _clusters(rule: str, benchmark: Benchmark, reference: str) -> tuple[str, ...]:
    """One sampling unit a query: its target item, or that item's source text.

    Where a benchmark names no target, the reference positive by the benchmark's order stands in.
    """
    if rule not in CLUSTER_RULES:
        raise InputError("is no cluster rule", value=rule, mend=f"choose one of: {', '.join(CLUSTER_RULES)}")
    pick = references.REFERENCES.get(reference)
    targets = [q.target_item_id or pick(q, lambda _: 0.0) or f"query {q.id}" for q in benchmark.queries]
    if rule == "target":
        return tuple(targets)
    texts = {item.id: item.source_text for item in benchmark.items if item.source_text is not None}
    found = len(set(texts.values()))
    if found < MIN_TEXTS:
        raise InputError(
            f"{benchmark.name} has {found} source texts and clustering by text needs {MIN_TEXTS}", mend="use --clusters target"
        )
    return tuple(texts.get(target, target) for target in targets)


def identity(prepared: Prepared, scorer: Scorer) -> dict[str, Any]:
    """Everything about a run's records that is known before its first score: what two runs of one measurement have in common."""
    benchmark = prepared.benchmark
    return {
        "corpus_hash": benchmark.corpus_hash, "query_set_id": benchmark.query_set_id, "scorer": scorer.description.model_dump(),
        "margin_sets": {s.text: _instrument(prepared, s, rule, scorer) for s, rule in zip(prepared.specs, prepared.rules, strict=True)},
    }


def describe(prepared: Prepared, scorer: Scorer, tables: dict[str, pa.Table]) -> dict[str, NegativeSetDescriptor]:
    """One complete descriptor a rule, its numbers computed from the rows."""
    return {
        spec.text: _descriptor(prepared, spec, rule, scorer, tables)
        for spec, rule in zip(prepared.specs, prepared.rules, strict=True)
    }


def _descriptor(
    prepared: Prepared, spec: Spec, rule: Rule, scorer: Scorer, tables: dict[str, pa.Table]
) -> NegativeSetDescriptor:
    data = _instrument(prepared, spec, rule, scorer)
    data["clusters"]["n_clusters"] = summary.n_clusters(summary.of_rule(tables["margins"], spec.text))
    return parse(data | summary.measured(spec.method, spec.text, tables), subject=f"rule {spec.text}")


def _instrument(prepared: Prepared, spec: Spec, rule: Rule, scorer: Scorer) -> dict[str, Any]:
    """Every descriptor field that is known before the first score."""
    benchmark = prepared.benchmark
    multiple = any(_rivals(q, prepared.reference) for q in benchmark.queries)
    return {
        "schema_version": 1, "corpus_hash": benchmark.corpus_hash, "query_set_id": benchmark.query_set_id,
        "reference_positive": {"rule": prepared.reference, "multiple_positives_possible": multiple},
        "scorer": scorer.description.model_dump(),
        "mining": {
            "method": spec.method, **asdict(rule.describe()),
            "rng_seed": prepared.plan.seed if spec.method == "random" else NOT_APPLICABLE,
            "tie_rule": TIE_RULE, "bm25": _bm25_record(prepared, spec),
        },
        "label_quality": {
            "adjudication_method": "unadjudicated", "estimated_false_negative_rate": NOT_MEASURED,
            "ambiguous_rate": NOT_MEASURED,
        },
        "clusters": {"rule": _cluster_rule(prepared)},
    }


def _rivals(query: Query, reference: str) -> bool:
    """Whether another positive of the same grade could have been the reference."""
    grades = [p.grade for p in query.positives]
    wanted = 3 if reference == "first_grade_3" else max(grades, default=0)
    return len(grades) > 1 if reference.endswith("_scored") else grades.count(wanted) > 1


def _cluster_rule(prepared: Prepared) -> str:
    if prepared.plan.clusters == "text":
        return "text: the target item's source text"
    named = all(q.target_item_id for q in prepared.benchmark.queries)
    return "target: the target item" if named else "target: the reference positive (the benchmark names no targets)"


def _bm25_record(prepared: Prepared, spec: Spec) -> Any:
    """How the lexical ranking can be repeated: computed ones by their parameters, a shipped one by its file."""
    if spec.method != "bm25":
        return NOT_APPLICABLE
    if prepared.bm25 != "shipped":
        return parameters(prepared.bm25).model_dump()
    return NOT_APPLICABLE


def evaluate(prepared: Prepared, scorer: Scorer, tables: dict[str, pa.Table]) -> Evaluation:
    """The record of metrics and labelled pairs, its numbers computed from the rows."""
    benchmark = prepared.benchmark
    data = metrics.numbers(prepared.metrics, tables)
    data["clusters"]["rule"] = _cluster_rule(prepared)
    n = len(benchmark.items)
    for name, metric in data["metrics"].items():
        metric["context"] = metrics.context(name, n).model_dump()
    if isinstance(data["judged"], dict):
        data["judged"]["context"] = metrics.judged_context(n).model_dump()
    return evaluation.parse(
        {
            "corpus_hash": benchmark.corpus_hash, "query_set_id": benchmark.query_set_id, "scorer": scorer.description.model_dump(),
            "depth": prepared.plan.depth if prepared.metrics else NOT_APPLICABLE, **data,
        },
        subject=benchmark.name,
    )


def _artifact(prepared: Prepared, scorer: Scorer, tables: dict[str, pa.Table], started: datetime) -> Artifact:
    benchmark, finished = prepared.benchmark, datetime.now(UTC)
    descriptors, evaluated = describe(prepared, scorer, tables), evaluate(prepared, scorer, tables)
    name = scorer.description.name
    sets = {rule: d.model_dump() for rule, d in descriptors.items()}
    content = hashlib.sha256(canonical([sets, evaluated.model_dump(), finished.isoformat()]).encode("utf-8")).hexdigest()
    record = {
        "title": f"{name} on {benchmark.name}", "observatory": __version__,
        "started": started.isoformat(timespec="seconds"), "finished": finished.isoformat(timespec="seconds"),
        "seconds": round((finished - started).total_seconds(), 3), "plan": plans.public(prepared.plan),
        "command": command(prepared.plan),
        "rules": [spec.text for spec in prepared.specs], "python": platform.python_version(),
    }
    if isinstance(scorer, scorers.Reading):
        record["reading"] = scorer.reading()
    about = {
        "name": benchmark.name, "version": benchmark.version, "format": benchmark.format,
        "split": benchmark.split or NOT_APPLICABLE, "licence": benchmark.licence or NOT_RECORDED,
        "n_items": len(benchmark.items), "n_queries": len(benchmark.queries), "warnings": list(benchmark.warnings),
    }
    identifier = child_name(benchmark.name, name, started.strftime("%Y%m%dT%H%M%SZ"), content[:8])
    return Artifact(identifier, "measurement", record, about, descriptors, tables, evaluation=evaluated)
