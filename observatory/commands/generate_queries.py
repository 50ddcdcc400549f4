"""observatory generate-queries: a bench for a corpus without queries, written as a RELATE folder."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from observatory import __version__
from observatory.benchmarks import lines
from observatory.benchmarks.assemble import RecordHash
from observatory.benchmarks.beir import read_items as beir_items
from observatory.benchmarks.relate import read_items as relate_items
from observatory.cli import print_json
from observatory.errors import InputError
from observatory.generate import Bench, Options, generate, record
from observatory.records import Item


def main(options: argparse.Namespace) -> int:
    source, target = Path(options.corpus), Path(options.out)
    if os.path.lexists(target):
        raise InputError("is there already", file=target, mend="choose another --out")
    found = _items(source)
    items = tuple(item for item in found if item.text.strip())  # a RELATE folder holds no empty text
    wanted = Options(options.terms, options.size, options.seed, options.max_share)
    bench = generate(items, wanted)
    about = _about(items, len(found) - len(items), bench, wanted)
    _write(target, items, bench, about)
    if options.json:
        print_json({"bench": str(target), **about})
    else:
        print(f"{target}: {len(bench.queries):,} of {bench.n_candidates:,} candidate queries, sha256 {bench.sha256}")
    if not options.quiet:
        for remark in _remarks(about, wanted):
            print(remark, file=sys.stderr)
    return 0


def _about(items: tuple[Item, ...], without_text: int, bench: Bench, options: Options) -> dict[str, Any]:
    """What the bench is made of and from: printed, and kept beside it."""
    return {
        "queries": len(bench.queries), "sha256": bench.sha256, "candidates": bench.n_candidates,
        "ambiguous_candidates": bench.n_ambiguous, "ambiguous_queries": bench.n_ambiguous_chosen,
        "repeated_terms_left_out": bench.n_repeated, "items": len(items), "items_without_text_left_out": without_text,
        "items_sha256": RecordHash().update(map(_item, items)).hexdigest(), "terms": options.terms, "size": options.size,
        "max_share": options.max_share, "seed": options.seed, "observatory": __version__,
    }


def _remarks(about: Mapping[str, Any], options: Options) -> Iterable[str]:
    if options.size is not None and about["queries"] < options.size:
        yield f"fewer than the {options.size:,} asked for: the corpus gives no more; raise --terms or --max-share"
    yield (
        f"{about['ambiguous_candidates']:,} of {about['candidates']:,} candidate terms stand in more than one item "
        f"({about['ambiguous_queries']:,} of the {about['queries']:,} written): those queries have answers that are not labelled"
    )
    if about["items_without_text_left_out"]:
        yield f"{about['items_without_text_left_out']:,} items without text are left out"


def _items(source: Path) -> tuple[Item, ...]:
    """The corpus of a RELATE or BEIR folder, or of a single items.jsonl or corpus.jsonl; queries are not needed."""
    if source.is_dir():
        if lines.find(source, "items.jsonl") is not None:
            return relate_items(lines.require(source, "items.jsonl"))
        return beir_items(lines.require(source, "corpus.jsonl"))
    first = next(lines.records(source), (0, {}))[1]
    return relate_items(source) if "id" in first else beir_items(source)


def _write(target: Path, items: tuple[Item, ...], bench: Bench, about: Mapping[str, Any]) -> None:
    """The folder whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".tmp-bench-", dir=target.parent))
        try:
            _jsonl(temporary / "items.jsonl", map(_item, items))
            _jsonl(temporary / "queries.jsonl", map(record, bench.queries))
            (temporary / "generated.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            os.chmod(temporary, 0o755)
            os.rename(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=target, mend="choose another place") from error


def _item(item: Item) -> dict[str, object]:
    return {"id": item.id, "text": item.text, "domain": item.domain, "text_id": item.source_text, "time_index": item.time}


def _jsonl(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Flushed to disk, in the form that RecordHash hashes: sha256 of the file is the hash of its records."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(r, sort_keys=True, ensure_ascii=False) + "\n" for r in records)
        stream.flush()
        os.fsync(stream.fileno())
