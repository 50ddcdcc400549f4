"""The demo artifacts: our own benchmarks by three scorers. ``python -m observatory.demo OUT [MPNET_FOLDER]`` makes them.

Each artifact's run record names the one command that makes it again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from observatory import benchmarks, paths
from observatory.commands.progress import Progress
from observatory.errors import ObservatoryError
from observatory.runs import Plan, run

FIELDNOTES_RULES = (
    "random", "in_model[2:7]", "in_model[0:5]", "structured_perturbation", "entity_matched", "lexical_overlap_matched", "bm25",
)
METRICS, DEPTH = ("nDCG@10", "R@5", "RR"), 10
POLARITY_RULES = ("structured_perturbation", "random")
SCORERS = ("bm25:okapi", "all-MiniLM-L6-v2")
"""The bundled model comes last: screens open on the newest artifact."""


def plans(scorers: tuple[str, ...]) -> Iterator[Plan]:
    """Each language and condition of the polarity set, then Fieldnotes under seven rules, for every scorer."""
    fieldnotes, polarity = paths.DATA / "benchmarks" / "fieldnotes", paths.DATA / "benchmarks" / "polarity"
    for split in benchmarks.recognise(polarity).splits(polarity):
        for scorer in scorers:
            yield Plan(str(polarity), scorer, POLARITY_RULES, split=split)
    for scorer in scorers:
        yield Plan(str(fieldnotes), scorer, FIELDNOTES_RULES, metrics=METRICS, depth=DEPTH)


def main(out: Path, mpnet: str | None) -> int:
    try:
        for plan in plans(((mpnet,) if mpnet else ()) + SCORERS):
            print(run(plan, out, Progress()))
    except ObservatoryError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: python -m observatory.demo OUT [MPNET_FOLDER]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None))
