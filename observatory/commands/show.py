"""observatory show: the margin sets of one artifact, or of everything in the store."""

from __future__ import annotations

import argparse
from pathlib import Path

from observatory import artifacts, links, paths, reading
from observatory.artifacts import Artifact
from observatory.cli import print_json
from observatory.commands import text
from observatory.errors import InputError, ObservatoryError


def main(options: argparse.Namespace) -> int:
    if options.artifact is None:
        return _show_all(options)
    artifact = _believed(find(options.artifact, options.store))
    if options.json:
        print_json(as_json(artifact))
    else:
        print_artifact(artifact)
    return 0


def find(name: str, store: str | None) -> Path:
    """An artifact folder by path, or by id in the store. InputError where there is none."""
    if Path(name).is_dir():
        return Path(name)
    root = paths.store_root(store)
    for parent in (root, *paths.shipped_roots()):
        if name and "/" not in name and artifacts.is_artifact(parent / name):
            return parent / name
    for folder in links.all_linked(root):
        if folder.name == name:
            return folder
    raise InputError("there is no such artifact", value=name, mend="name a folder, or an id that 'observatory show' lists")


def _believed(folder: Path) -> Artifact:
    """Descriptors of a locked artifact after its files were hashed; an unlocked one is recomputed from its rows first."""
    artifact = artifacts.read_descriptors(folder)
    if artifact.locked:
        return artifact
    from observatory.admission import admit

    return admit(folder)


def as_json(artifact: Artifact) -> dict[str, object]:
    """The public shape of ``show --json``."""
    return {
        "artifact": str(artifact.path), "id": artifact.id, "kind": artifact.kind,
        "lock": "locked" if artifact.locked else "unlocked", "run": artifact.run, "benchmark": artifact.benchmark,
        "margin_sets": {rule: {"descriptor": d.model_dump()} for rule, d in artifact.descriptors.items()},
        **metrics_json(artifact),
        **({"tables": [t.model_dump() for t in artifact.published]} if artifact.published else {}),
    }


def print_artifact(artifact: Artifact) -> None:
    """One line a margin set and one a metric: everything that a reader needs before believing the mean."""
    state = "locked" if artifact.locked else "unlocked"
    _say(f"{artifact.title}  ({artifact.kind}, {state})")
    for table in artifact.published:
        _say(f"table {table.id}: {table.title} ({len(table.rows)} rows; {table.where})")
    _print_reading(artifact)
    _print_metrics(artifact)
    if not artifact.descriptors:
        return
    first = next(iter(artifact.descriptors.values()))
    _say(
        f"corpus {first.corpus_hash[:12]}  reference {first.reference_positive.rule}  {first.scorer.metric}  "
        f"labels {first.label_quality.adjudication_method}  clusters {text.count(first.clusters.n_clusters)}"
    )
    header = ["negative set", "k", "scored/attempted", "mean margin", "95% interval", "median", "p05", "win rate", "loss", "tie"]
    print(text.table(header, [_row(rule, d) for rule, d in artifact.descriptors.items()]))
    for rule, d in artifact.descriptors.items():
        if not isinstance(d.expectation, str):
            e = d.expectation
            _say(f"{rule}: over all draws the mean is {e.mean_margin:+.4f} (sd {e.sd_of_mean_margin:.4f}), win rate {e.win_rate:.1%}")
        for name, stratum in d.strata.items():
            mean, n = getattr(stratum, "mean_pairwise_margin", None), text.count(stratum.n)
            kind = "mean margin" if mean is None else "pairwise mean"
            _say(f"{rule}, {name}: {kind} {text.margin(getattr(stratum, 'mean_margin', mean) or 0.0)} (n = {n})")


def _print_reading(artifact: Artifact) -> None:
    """How a bi-encoder read the texts, where the run recorded it."""
    found = reading.of(artifact.run)
    if found is not None:
        _say(found)


def _print_metrics(artifact: Artifact) -> None:
    found = artifact.evaluation
    if found is None or not found.metrics:
        return
    a = found.accounting
    _say(f"metrics over {text.count(a.n_scored)} of {text.count(a.n_attempted)} queries; corpus {found.corpus_hash[:12]}")
    header = ["metric", "mean", "95% interval", "n", "relevant", "cutoff", "pool"]
    rows = []
    for name, m in found.metrics.items():
        mean = text.missing(m.mean) if isinstance(m.mean, str) else f"{m.mean:.4f}"
        c = m.context
        rows.append([name, mean, text.interval(m.mean_ci, ".4f"), text.count(m.n), c.relevance_definition.split(";")[0], text.count(c.cutoff), c.candidate_pool.split(", ")[0]])
    print(text.table(header, rows))


def metrics_json(artifact: Artifact) -> dict[str, object]:
    """``metrics`` and ``judged`` of ``show --json``; empty where the artifact holds no evaluation."""
    found = artifact.evaluation
    if found is None:
        return {}
    record = found.model_dump()
    return {"metrics": record["metrics"], "judged": record["judged"]}


def _say(line: str) -> None:
    """Print one line; names from data cannot steer the terminal."""
    print(text.one_line(line))


def _row(rule: str, d: object) -> list[str]:
    from observatory.descriptor import NegativeSetDescriptor

    assert isinstance(d, NegativeSetDescriptor)
    o, a = d.outcomes, d.accounting
    k = d.mining.count_per_query
    return [
        rule, k.split(":")[0] if isinstance(k, str) else str(k), f"{text.count(a.n_scored)}/{text.count(a.n_attempted)}",
        text.margin(o.mean_margin), text.interval(o.mean_ci), text.margin(o.median_margin), text.margin(o.p05),
        text.rate(o.selected_positive_win_rate), text.count(o.n_lt_zero), text.count(o.n_eq_zero),
    ]


def _show_all(options: argparse.Namespace) -> int:
    root = paths.store_root(options.store)
    parents = [root, *paths.shipped_roots()]
    folders = [c for p in parents if p.is_dir() for c in sorted(p.iterdir()) if artifacts.is_artifact(c)]
    found, refused = [], []
    for folder in dict.fromkeys([*folders, *links.all_linked(root)]):
        try:
            found.append(_believed(folder))
        except ObservatoryError as error:
            refused.append({"artifact": str(folder), "exit_code": error.exit_code, "reason": str(error)})
    if options.json:
        print_json({"artifacts": [as_json(a) for a in found], "refused": refused})
        return 0
    for artifact in found:
        print_artifact(artifact)
        print()
    for entry in refused:
        print(f"refused: {entry['reason']}")
    if not found and not refused:
        print(f"no artifacts in {root}; measure one with: observatory run --benchmark PATH")
    return 0
