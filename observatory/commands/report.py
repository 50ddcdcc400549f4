"""observatory report: one self-contained file for stakeholders, or the same tables as Markdown or LaTeX."""

from __future__ import annotations

import argparse
import stat
from pathlib import Path

from observatory import paths
from observatory.artifacts import check_writable
from observatory.cli import print_json
from observatory.commands.progress import Progress
from observatory.commands.sets import resolve
from observatory.errors import InputError
from observatory.files import write_whole


def _check(out: Path) -> None:
    """The place, before anything is computed. A pipe or a device is never replaced by a file; a report that is there is."""
    try:
        kind = stat.S_IFMT(out.stat().st_mode)
    except FileNotFoundError:
        kind = stat.S_IFREG
    except (OSError, ValueError) as error:  # a ValueError: NUL in a name
        raise InputError(f"cannot be written: {getattr(error, 'strerror', None) or error}", file=out, mend="choose another name") from error
    if kind != stat.S_IFREG or not out.parent.is_dir():
        raise InputError("is no file that can be written", file=out, mend="name a file in a folder that is there")
    check_writable(out.parent)


def main(options: argparse.Namespace) -> int:
    from observatory.report import build, formats, selection  # plotly takes a moment, and bad names need none of it

    out = Path(options.out)
    suffix = formats.of_name(out)
    _check(out)
    store, ids = resolve([*options.sets, *([options.baseline] if options.baseline else [])], options.store)
    baseline = None
    if options.baseline:
        _, (baseline, *others) = resolve([options.baseline], options.store)
        if others:
            raise InputError("names several margin sets", field="--baseline", value=options.baseline, mend="name one as ARTIFACT/RULE")
    chosen = selection.select(store, ids, baseline, paths.store_root(options.store))
    content = formats.render(build.build(chosen, options.title or "", Progress(options.quiet)), suffix)
    try:
        write_whole(out, content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=out, mend="choose another place") from error
    if options.json:
        print_json({"report": str(out), "bytes": len(content)})
    else:
        print(f"{out} ({len(content):,} bytes)")
    return 0
