"""Input formats: each turns a path into one Benchmark. A new format is one file and one line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from observatory.benchmarks import beir, contrast, falsify_bench, relate, sts, trec
from observatory.benchmarks.faults import STRICT, Faults
from observatory.errors import InputError
from observatory.records import Benchmark
from observatory.registry import Registry

Splits = tuple[str | None, ...]


def one_split(path: Path) -> Splits:
    """For formats without splits."""
    return (None,)


class Format(NamedTuple):
    """One input format: whether a path looks like it, how to read it, and which splits a path has.

    ``read`` takes the path, the split (None: the default one) and where its faults go: strict ones raise the first.
    """

    recognises: Callable[[Path], bool]
    read: Callable[[Path, str | None, Faults], Benchmark]
    splits: Callable[[Path], Splits] = one_split


FORMATS: Registry[Format] = Registry("benchmark format")
FORMATS.register("relate", Format(relate.recognises, relate.read))
FORMATS.register("beir", Format(beir.recognises, beir.read, beir.splits))
FORMATS.register("polarity", Format(contrast.recognises_polarity, contrast.read_polarity, contrast.polarity_splits))
FORMATS.register("nevir", Format(contrast.recognises_nevir, contrast.read_nevir))
FORMATS.register("triplets", Format(contrast.recognises_triplets, contrast.read_triplets))
FORMATS.register("falsify-eval", Format(falsify_bench.recognises, falsify_bench.read))
FORMATS.register("sts", Format(sts.recognises, sts.read))
FORMATS.register("trec", Format(trec.recognises, trec.read))


def read(path: str | Path, format: str | None = None, split: str | None = None) -> Benchmark:
    """Read a benchmark, recognising its format unless it is named.

    Raises InputError where the path does not exist, no format fits, or the content is faulty.
    """
    path = Path(path)
    return recognise(path, format).read(path, split, STRICT)


def recognise(path: Path, format: str | None = None) -> Format:
    """The format called ``format``, else the first that recognises ``path``; InputError where none does."""
    if format is not None:
        FORMATS.get(format)
    try:
        if not path.exists():
            raise InputError("does not exist", file=path, mend="check the path of the benchmark")
        if path.is_dir():  # without rights it would only look like none
            next(path.iterdir(), None)
        elif path.is_file():
            path.open("rb").close()
        name = format or next((name for name in FORMATS if FORMATS.get(name).recognises(path)), None)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, mend="check path and rights") from error
    if name is not None:
        return FORMATS.get(name)
    raise InputError(
        "is no benchmark that can be recognised", file=path,
        mend="a folder needs items.jsonl and queries.jsonl (RELATE), corpus.jsonl, queries.jsonl and qrels/ (BEIR), "
        "triplets.json (polarity) or a qrels file (TREC); a file needs the columns of its format, or name that with "
        f"--format: {', '.join(FORMATS)}",
    )
