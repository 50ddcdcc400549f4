"""The ``observatory`` command: thin commands over the package. Progress goes to stderr, results to stdout.

Exit codes: 0 ok, 2 bad input, 3 tampered, 4 refused for its descriptor, 130 stopped by a person.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from observatory import __version__
from observatory.errors import Cancelled, DescriptorRefused, InputError, ManyFaults, ObservatoryError, TamperedError

Command = Callable[[argparse.Namespace], int]
DEFAULT_RULES = "random,in_model[0:5],bm25"
DEFAULT_SCORER = "all-MiniLM-L6-v2"


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one sentence and exit code 2."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message, mend=f"see: {self.prog} --help")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="observatory", description="Retrieval margins with their negative-set descriptors.")
    parser.add_argument("--version", action="version", version=f"observatory {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    _add_run(commands)
    _add_readers(commands)
    _add_serve(commands)
    return parser


def _command(commands: Any, name: str, summary: str, module: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress and no remarks on stderr")
    parser.add_argument("--store", metavar="DIR", help="artifact store (else OBSERVATORY_STORE, else data/store)")
    parser.set_defaults(module=module)
    return parser


def _add_run(commands: Any) -> None:
    run = _command(commands, "run", "measure one scorer: margins under negative-selection rules, retrieval metrics, or both", "run")
    run.add_argument("--benchmark", metavar="PATH", help="benchmark folder or file")
    run.add_argument("--split", help="split of the benchmark (BEIR default: test)")
    run.add_argument(
        "--scorer", metavar="NAME|PATH",
        help=f"{DEFAULT_SCORER} (bundled, the default), bm25:okapi, bm25:bm25s, a model folder, or hub/id@revision",
    )
    run.add_argument("--rules", metavar="LIST", help=f"comma-separated (default {DEFAULT_RULES}, none where only --metrics is given)")
    run.add_argument("--metrics", metavar="LIST", help="comma-separated, such as nDCG@10,R@5,RR,AP")
    run.add_argument("--bm25", metavar="SOURCE", help="shipped, okapi or bm25s (default: shipped where there is one, else okapi)")
    run.add_argument("--reference", metavar="RULE", help="reference-positive rule (default by the grades there are)")
    run.add_argument("--clusters", metavar="RULE", help="sampling unit: target (default) or text")
    run.add_argument("--k", type=int, help="negatives a query for random, bm25 and in_model (default 5)")
    run.add_argument("--seed", type=int, help="seed of the random draw (default 0)")
    run.add_argument("--depth", type=int, help="ranks a query kept for a TREC run file, with --metrics (default 1000)")
    run.add_argument("--backend", metavar="NAME", help="what runs a bi-encoder: fast (ONNX Runtime), torch, or auto, the first of them that can (default)")
    run.add_argument("--max-length", type=int, help="longest text in tokens (default: the model's own)")
    run.add_argument("--query-prompt", metavar="TEXT", help="text put before each query (default: the model's own)")
    run.add_argument("--item-prompt", metavar="TEXT", help="text put before each item (default: the model's own)")
    run.add_argument("--dtype", metavar="NAME", help="float32 (default), or bfloat16 with --backend torch")
    run.add_argument("--batch-size", type=int, help="texts encoded at once (changes speed only; default 32)")
    run.add_argument("--block-size", type=int, help="queries scored at once at most (changes memory only; default 256)")
    run.add_argument("--plan", metavar="FILE", help="a plan as YAML; options beside it override its fields")
    run.add_argument("--grid", metavar="FILE", help="an ablation grid as YAML: several configurations, one table")
    run.add_argument("--out", metavar="DIR", help="write a new child of DIR (default: the store)")


def _add_readers(commands: Any) -> None:
    show = _command(commands, "show", "print an artifact's margin sets, or all there are", "show")
    show.add_argument("artifact", nargs="?", metavar="PATH", help="artifact folder or id; without it, everything in the store")
    compare = _command(commands, "compare", "put margin sets side by side: what differs, by how much", "compare")
    compare.add_argument("sets", nargs="+", metavar="SET", help="artifact (all its rules) or artifact/RULE; the first is the baseline")
    ingest = _command(commands, "ingest", "check artifacts and link them into the store", "ingest")
    ingest.add_argument("paths", nargs="+", metavar="PATH", help="artifact folder")
    verify = _command(commands, "verify", "hash every file of an artifact and compare with its lock", "verify")
    verify.add_argument("paths", nargs="+", metavar="PATH", help="artifact folder")
    _command(commands, "benchmarks", "list the benchmarks that ship with the repository", "benchmarks")
    validate = _command(commands, "validate", "read a whole benchmark and list every fault", "validate")
    validate.add_argument("path", metavar="PATH", help="benchmark folder or file")
    validate.add_argument("--format", help="read it as this format instead of recognising it")
    validate.add_argument("--split", help="split to read, where the format has splits")
    generate = _command(commands, "generate-queries", "make queries for a corpus that has none", "generate_queries")
    generate.add_argument("--corpus", required=True, metavar="PATH", help="RELATE or BEIR folder, items.jsonl or corpus.jsonl")
    generate.add_argument("--out", required=True, metavar="DIR", help="new RELATE folder")
    generate.add_argument("--size", type=int, help="queries in all, in proportion to the source texts (default: every one)")
    generate.add_argument("--terms", type=int, default=3, help="distinctive terms an item (default 3)")
    generate.add_argument("--max-share", type=float, default=0.01, help="a term in more than this share of items is common")
    generate.add_argument("--seed", type=int, default=0)
    export = _command(commands, "export", "write rows with their descriptors, or a DuckDB file", "export")
    export.add_argument("sets", nargs="*", metavar="SET", help="artifact or artifact/RULE")
    export.add_argument("--format", default="csv", help="csv, parquet, jsonl, or trec: a run file with its record beside it (default csv)")
    export.add_argument("--table", default="margins", help="margins, pairwise or draws (default margins)")
    export.add_argument("--out", metavar="FILE", help="file to write, or - for stdout (default -)")
    export.add_argument("--duckdb", metavar="FILE", help="write everything admitted into a new DuckDB file")
    report = _command(commands, "report", "write a report for stakeholders: one HTML file, or its tables as Markdown or LaTeX", "report")
    report.add_argument("sets", nargs="+", metavar="SET", help="artifact (all its rules) or artifact/RULE")
    report.add_argument("--baseline", metavar="SET", help="what the others are compared with (default: the first random set)")
    report.add_argument("--out", required=True, metavar="FILE", help="file to write: .html, .md or .tex")
    report.add_argument("--title", metavar="TEXT", help="title of the report (default: the models and the benchmarks)")
    similarity = _command(commands, "similarity", "correlate a scorer with people's scores of sentence pairs", "similarity")
    similarity.add_argument("--benchmark", required=True, metavar="FILE", help="STS file (tab-separated)")
    similarity.add_argument("--scorer", default=DEFAULT_SCORER, metavar="NAME|PATH")
    _command(commands, "models", "list what can be used as a scorer here, and why the rest cannot", "models")
    _command(commands, "doctor", "check this machine, the packages, the bundled model and the store", "doctor")


def _add_serve(commands: Any) -> None:
    demo = _command(commands, "demo", "measure the demo benchmark with the bundled model, unless an artifact is there", "demo")
    demo.add_argument("--benchmark", required=True, metavar="PATH")
    demo.add_argument("--rules", default=DEFAULT_RULES, metavar="LIST")
    jobs = _command(commands, "jobs", "runs in the background: list, submit, cancel or resume them", "jobs")
    jobs.add_argument("action", nargs="?", default="list", choices=("list", "submit", "cancel", "resume"))
    jobs.add_argument("id", nargs="?", metavar="ID", help="the job to cancel or resume")
    jobs.add_argument("--plan", metavar="FILE", help="a plan as YAML, to submit")
    serve = _command(commands, "serve", "open the app on this machine's loopback address", "serve")
    serve.add_argument("--port", type=int, help="default: 8501, or the next free one")
    serve.add_argument("--read-only", action="store_true", help="show what is there and let nobody change anything")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code. No error of ours or of the input reaches the user as a traceback."""
    _tolerant_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        try:
            options = build_parser().parse_args(given)
            signal.signal(signal.SIGTERM, _stop)
            return _load(options.module)(options)
        finally:
            sys.stdout.flush()  # here, where a reader that left or a full disk still gets its sentence
    except ObservatoryError as error:
        return _report(error, as_json="--json" in given)
    except KeyboardInterrupt:
        return _report(Cancelled("stopped; the same command started again goes on from what is finished"), "--json" in given)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: no second complaint at exit
        return 0
    except MemoryError:
        return _report(InputError("out of memory", mend="use a smaller --block-size or a smaller benchmark"), "--json" in given)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what could not be flushed is given up
        return _report(InputError(f"{error.strerror or error}", file=error.filename, mend="check space and rights"), "--json" in given)


def _load(module: str) -> Command:
    """Import a command only when it is asked for, so that ``show`` starts without numpy, torch or streamlit."""
    import importlib

    command: Command = importlib.import_module(f"observatory.commands.{module}").main
    return command


def _stop(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _tolerant_streams() -> None:
    """A console that cannot show a character prints its escape instead of failing."""
    sys.stdout = sys.stdout or open(os.devnull, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _report(error: ObservatoryError, as_json: bool) -> int:
    print(f"observatory: {error}", file=sys.stderr)
    if as_json:
        print_json(error_record(error))
    return error.exit_code


def error_record(error: ObservatoryError) -> dict[str, Any]:
    """An error as JSON: the sentence, the exit code, and the fields or files it lists."""
    record: dict[str, Any] = {"error": str(error), "exit_code": error.exit_code}
    if isinstance(error, DescriptorRefused | ManyFaults):
        record["faults"] = list(error.faults)
    if isinstance(error, TamperedError):
        record["files"] = list(error.files)
    return record


def entry_point() -> None:
    sys.exit(main())


def print_json(value: object) -> None:
    """One JSON document on stdout, in the console's encoding."""
    print(json.dumps(value, allow_nan=False, default=_jsonable))


def _jsonable(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


if __name__ == "__main__":
    entry_point()
