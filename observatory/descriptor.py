"""The negative-set descriptor: what a margin was measured against. Every key is present, no key is extra.

Three words stand for a missing value. ``not_applicable``: the field cannot apply (the seed of a structured set).
``not_measured``: nobody measured it; only label_quality and outcomes may say so. ``not_recorded``: the source
left it out; only summary-only artifacts may say so. Source of the block: seed 000's companion component, extended by D6.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from observatory import yaml_text
from observatory.errors import DescriptorRefused

NOT_APPLICABLE, NOT_MEASURED, NOT_RECORDED = "not_applicable", "not_measured", "not_recorded"
SENTINELS = (NOT_APPLICABLE, NOT_MEASURED, NOT_RECORDED)
MAY_BE_UNMEASURED = ("label_quality", "outcomes")

NotApplicable = Literal["not_applicable"]
NotMeasured = Literal["not_measured"]
NotRecorded = Literal["not_recorded"]

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, le=1)]
Measured = float | NotMeasured | NotRecorded

Method = Literal[
    "random", "bm25", "in_model", "cross_model", "score_window",
    "structured_perturbation", "entity_matched", "lexical_overlap_matched",
]
METHODS: tuple[str, ...] = Method.__args__  # type: ignore[attr-defined]


class Block(BaseModel):
    """A strict, immutable part of a descriptor: no defaults, unknown keys are errors, no NaN."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


class ReferencePositive(Block):
    """Which positive had to win."""

    rule: Text
    multiple_positives_possible: bool | NotRecorded


class Prompts(Block):
    """Text put before a query or an item; the empty string is "no prompt"."""

    query: str
    item: str


class Bm25(Block):
    """Everything a lexical ranking needs to be repeated."""

    variant: Text
    k1: float | NotRecorded
    b: float | NotRecorded
    epsilon: float | NotApplicable | NotRecorded
    tokeniser: Text
    stopwords: Text
    stemmer: Text
    library: Text
    library_version: Text


class Scorer(Block):
    """What gave the scores. ``space_id`` is a hash of all other fields."""

    space_id: Text
    name: Text
    family: Text
    metric: Text
    revision: Text
    weights_sha256: Sha256 | NotApplicable | NotRecorded
    pooling: Text
    normalisation: Text
    prompts: Prompts | NotApplicable | NotRecorded
    dtype: Text
    backend: Text
    max_length: Count | NotApplicable | NotRecorded
    bm25: Bm25 | NotApplicable


class Mining(Block):
    """How the negatives were chosen. ``count_per_query`` is k, beside every maximum over k."""

    method: Method
    candidate_pool: Text
    exclusions: Text
    count_per_query: Count | Text
    ranking_rule: Text
    ranking_source: Text
    slice: Text
    rng_seed: Count | NotApplicable | NotRecorded
    tie_rule: Text
    bm25: Bm25 | NotApplicable | NotRecorded


class LabelQuality(Block):
    """Whether anybody checked that the negatives are negatives."""

    adjudication_method: Text
    estimated_false_negative_rate: Rate | NotMeasured | NotRecorded
    ambiguous_rate: Rate | NotMeasured | NotRecorded


class MeanInterval(Block):
    """The interval of the mean margin. Without one, low and high are not_applicable and ``note`` says why."""

    low: float | NotApplicable
    high: float | NotApplicable
    level: Rate
    method: Text
    resamples: Count | NotApplicable
    seed: Count | NotApplicable
    note: str


class Outcomes(Block):
    """What came out, over the queries that were scored (``n_queries`` is the denominator)."""

    n_queries: Count
    mean_margin: Measured
    median_margin: Measured
    fraction_margin_le_zero: Rate | NotMeasured | NotRecorded
    selected_positive_win_rate: Rate | NotMeasured | NotRecorded
    p05: Measured
    p10: Measured
    n_lt_zero: Count | NotMeasured | NotRecorded
    n_eq_zero: Count | NotMeasured | NotRecorded
    n_gt_zero: Count | NotMeasured | NotRecorded
    mean_ci: MeanInterval | NotMeasured | NotRecorded


class Accounting(Block):
    """attempted = scored + excluded + failed; ``reasons`` counts the queries behind the last two."""

    n_attempted: Count | NotRecorded
    n_scored: Count
    n_excluded: Count | NotRecorded
    n_failed: Count | NotRecorded
    reasons: dict[str, Count] | NotRecorded


class Clusters(Block):
    """The sampling unit of every interval."""

    rule: Text
    n_clusters: Count | NotRecorded


class Expectation(Block):
    """The exact mean over all draws of a random set: one draw is luck."""

    mean_margin: float
    win_rate: Rate
    sd_of_mean_margin: Annotated[float, Field(ge=0)]


class PairwiseStratum(Block):
    """Mean over designated negatives of score(p0) - score(that one negative)."""

    n: Count | NotRecorded
    mean_pairwise_margin: float


class HardestStratum(Block):
    """Mean over queries of the margin to the hardest negative."""

    n: Count | NotRecorded
    mean_margin: float


class NegativeSetDescriptor(Block):
    """One margin set: what it was measured against, and what came out."""

    schema_version: Literal[1]
    corpus_hash: Sha256 | NotRecorded
    query_set_id: Text
    reference_positive: ReferencePositive
    scorer: Scorer
    mining: Mining
    label_quality: LabelQuality
    clusters: Clusters
    accounting: Accounting
    outcomes: Outcomes
    expectation: Expectation | NotApplicable | NotRecorded
    strata: dict[Text, PairwiseStratum | HardestStratum]


class EvaluationContext(Block):
    """What defines a retrieval metric's comparison set and labels."""

    candidate_pool: Text
    relevance_definition: Text
    gain: Text
    cutoff: Count | NotApplicable | NotRecorded
    tie_policy: Text
    missing_queries_policy: Text


def space_id(fields: Mapping[str, Any]) -> str:
    """First 16 hex digits of sha256 over a scorer's fields (without ``space_id``) as canonical JSON."""
    rest = {key: value for key, value in fields.items() if key != "space_id"}
    return hashlib.sha256(canonical(rest).encode("utf-8")).hexdigest()[:16]


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values have equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _contradictions(d: NegativeSetDescriptor) -> Iterator[str]:
    """What a descriptor's own numbers say against each other."""
    a, o = d.accounting, d.outcomes
    if NOT_RECORDED not in (a.n_attempted, a.n_excluded, a.n_failed) and a.n_attempted != sum(
        n for n in (a.n_scored, a.n_excluded, a.n_failed) if isinstance(n, int)
    ):
        yield "accounting.n_attempted: is not scored + excluded + failed"
    if o.n_queries != a.n_scored:
        yield "outcomes.n_queries: is not accounting.n_scored"
    counts = [n for n in (o.n_lt_zero, o.n_eq_zero, o.n_gt_zero) if isinstance(n, int)]
    if len(counts) == 3 and sum(counts) != o.n_queries:
        yield "outcomes.n_lt_zero: n_lt_zero + n_eq_zero + n_gt_zero is not n_queries"
    rates = [r for r in (o.selected_positive_win_rate, o.fraction_margin_le_zero) if isinstance(r, float)]
    if len(rates) == 2 and abs(sum(rates) - 1) > 1e-9:
        yield "outcomes.fraction_margin_le_zero: is not 1 - selected_positive_win_rate"
    if d.scorer.space_id != NOT_RECORDED and d.scorer.space_id != space_id(d.scorer.model_dump()):
        yield "scorer.space_id: is not the hash of the scorer's fields"


def parse(data: object, *, subject: str, summary_only: bool = False) -> NegativeSetDescriptor:
    """A complete descriptor from plain data, or DescriptorRefused with every fault listed.

    ``summary_only`` admits ``not_recorded``; ``recall_at_1_vs_negset`` is read as an alias of the win rate.
    """
    faults: list[str] = []
    descriptor = None
    try:
        descriptor = NegativeSetDescriptor.model_validate(_with_aliases(data))
    except ValidationError as error:
        faults = sentences(error)
    if descriptor is not None:
        faults = [*_misplaced(descriptor, summary_only), *_contradictions(descriptor)]
    if descriptor is None or faults:
        raise DescriptorRefused(subject, faults)
    return descriptor


def _misplaced(descriptor: NegativeSetDescriptor, summary_only: bool) -> Iterator[str]:
    for path, value in walk(descriptor.model_dump()):
        if value == NOT_MEASURED and path.split(".")[0] not in MAY_BE_UNMEASURED:
            yield f"{path}: not_measured may stand in {' and '.join(MAY_BE_UNMEASURED)} only"
        if value == NOT_RECORDED and not summary_only:
            yield f"{path}: not_recorded may stand in summary-only artifacts only"


def _with_aliases(data: object) -> object:
    outcomes = data.get("outcomes") if isinstance(data, dict) else None
    if not isinstance(outcomes, dict) or "recall_at_1_vs_negset" not in outcomes:
        return data
    if "selected_positive_win_rate" in outcomes:
        return data  # both at once: the alias is an unknown key, and two rates could disagree
    renamed = {k: v for k, v in outcomes.items() if k != "recall_at_1_vs_negset"}
    renamed["selected_positive_win_rate"] = outcomes["recall_at_1_vs_negset"]
    return {**data, "outcomes": renamed}  # type: ignore[dict-item]


def sentences(error: ValidationError) -> list[str]:
    """One line for each faulty field: pydantic reports every branch of a union, a reader wants the field once."""
    found: dict[str, list[str]] = {}
    for entry in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(str(part) for part in entry["loc"] if not _is_branch(str(part)))
        found.setdefault(path or "descriptor", []).append(entry["msg"])
    nested = {path for path in found for other in found if other.startswith(path + ".")}
    return [f"{path}: {_shortest(messages)}" for path, messages in found.items() if path not in nested]


def _is_branch(part: str) -> bool:
    """Whether a location part names a branch of a union rather than a field."""
    return "[" in part or part in {"int", "float", "str", "bool", "constrained-str"} or (
        part in {"Prompts", "Bm25", "MeanInterval", "Expectation", "PairwiseStratum", "HardestStratum"}
    )


def _shortest(messages: list[str]) -> str:
    missing = [m for m in messages if "required" in m]
    return (missing or list(dict.fromkeys(messages)))[0]


def walk(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths and leaf values of nested plain data."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from walk(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def not_recorded(descriptor: NegativeSetDescriptor) -> tuple[str, ...]:
    """Paths of the fields the source left out."""
    return tuple(path for path, value in walk(descriptor.model_dump()) if value == NOT_RECORDED)


def instrument(descriptor: NegativeSetDescriptor) -> dict[str, Any]:
    """The fields that make the measuring instrument, as dotted path -> value, without what came out.

    How many queries were scored is one of them: a set that leaves queries without a negative measures others.
    """
    data = descriptor.model_dump()
    fields = {k: v for k, v in data.items() if k not in ("outcomes", "strata", "expectation", "accounting", "clusters")}
    return dict(walk({**fields, "cluster rule": data["clusters"]["rule"], "queries scored": data["accounting"]["n_scored"]}))


def diff(a: NegativeSetDescriptor, b: NegativeSetDescriptor) -> dict[str, tuple[Any, Any]]:
    """Every field of the measuring instrument that differs, as dotted path -> (a, b); results are not compared."""
    left, right = instrument(a), instrument(b)
    return {
        path: (left.get(path, NOT_APPLICABLE), right.get(path, NOT_APPLICABLE))
        for path in sorted(left.keys() | right.keys())
        if left.get(path, NOT_APPLICABLE) != right.get(path, NOT_APPLICABLE)
    }


def control(differences: Mapping[str, Any]) -> str:
    """The first line of a side-by-side view: what differs, in one sentence."""
    parts = sorted({path.split(".")[0] for path in differences})
    if not parts:
        return "identical: the same instrument"
    names = " and ".join(", ".join(parts).rsplit(", ", 1))
    verb = "differs" if len(parts) == 1 else "differ"
    return f"controlled: only {names} {verb}" if len(parts) == 1 else f"confounded: {names} {verb}"


def to_yaml(descriptor: NegativeSetDescriptor) -> str:
    return yaml.safe_dump(
        {"negative_set_descriptor": descriptor.model_dump()}, sort_keys=False, allow_unicode=True, width=100
    )


def from_yaml(text: str, *, subject: str = "descriptor", summary_only: bool = False) -> NegativeSetDescriptor:
    """Read YAML (JSON is YAML too) with the safe loader; the top key ``negative_set_descriptor`` may be left out."""
    data = yaml_text.load(text, subject, most=2**20)
    if isinstance(data, dict) and set(data) == {"negative_set_descriptor"}:
        data = data["negative_set_descriptor"]
    return parse(data, subject=subject, summary_only=summary_only)


def json_schema() -> dict[str, Any]:
    """The published JSON Schema (``data/schema/negative-set-descriptor.schema.json``)."""
    return NegativeSetDescriptor.model_json_schema()
