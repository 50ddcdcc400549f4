"""The record of metrics and labelled pairs that an artifact holds beside its margin sets, or without any."""

from __future__ import annotations

from pydantic import ValidationError

from observatory.descriptor import (
    Accounting,
    Block,
    Clusters,
    Count,
    EvaluationContext,
    MeanInterval,
    NotApplicable,
    NotMeasured,
    Scorer,
    Sha256,
    Text,
    sentences,
    space_id,
)
from observatory.errors import DescriptorRefused


class Metric(Block):
    """A metric's mean over the ``n`` queries that have a relevant judgment, its interval over clusters, its context."""

    mean: float | NotMeasured
    n: Count
    mean_ci: MeanInterval | NotMeasured
    context: EvaluationContext


class Judged(Block):
    """Labelled (query, item) pairs whose scores were kept, for calibration: how many, and how many are relevant."""

    n: Count
    n_relevant: Count
    context: EvaluationContext


class Evaluation(Block):
    """What one scorer did on one query set, beside or without margins."""

    corpus_hash: Sha256
    query_set_id: Text
    scorer: Scorer
    clusters: Clusters
    accounting: Accounting
    metrics: dict[Text, Metric]
    judged: Judged | NotApplicable
    depth: Count | NotApplicable


def parse(data: object, subject: str) -> Evaluation:
    """A complete evaluation from plain data, or DescriptorRefused with every fault."""
    try:
        found = Evaluation.model_validate(data)
    except ValidationError as error:
        raise DescriptorRefused(subject, [f"evaluation.{fault}" for fault in sentences(error)]) from error
    if found.scorer.space_id != space_id(found.scorer.model_dump()):
        raise DescriptorRefused(subject, ["evaluation.scorer.space_id: is not the hash of the scorer's fields"])
    return found
