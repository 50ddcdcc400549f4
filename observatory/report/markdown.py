"""The report as Markdown: its tables, sentences and descriptors; figures are in the HTML report only."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.report.content import Block, Figure, Listing, Report, Table
from observatory.report.text import clean, for_markdown


def render(report: Report) -> str:
    """The whole document, from the same content as the HTML report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (f"# {for_markdown(report.title)}", "", for_markdown(report.subtitle), "")
    yield from (f"- {for_markdown(word)}: {for_markdown(value)}" for word, value in report.facts)
    for section in report.sections:
        yield from ("", f"## {for_markdown(section.title)}")
        for block in section.blocks:
            yield ""
            yield from _block(block)
    if report.absent:
        yield from ("", "## Not in this report", "")
        yield from (f"- {for_markdown(title)}: {for_markdown(why)}" for title, why in report.absent)
    yield from ("", "## Descriptors")
    for r in report.records:
        yield from ("", f"### {for_markdown(r.name)} ({for_markdown('; '.join(r.badges))})", "", for_markdown(r.id), "")
        yield from _code(r.yaml.splitlines(), "yaml")


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Figure):
        yield from (f"**{for_markdown(block.title)}** (drawn in the HTML report)", "", for_markdown(block.footer), "", for_markdown(block.essentials))
    elif isinstance(block, Listing):
        yield from _code(block.items, "sh") if block.code else (f"{i}. {for_markdown(item)}" for i, item in enumerate(block.items, start=1))
    else:
        yield for_markdown(block)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{for_markdown(table.title)}**", "")
    yield f"| {' | '.join(for_markdown(c) for c in table.columns)} |"
    yield f"| {' | '.join('---' if i < table.words else '---:' for i in range(len(table.columns)))} |"
    yield from (f"| {' | '.join(for_markdown(cell) for cell in row)} |" for row in table.rows)
    if table.note:
        yield from ("", for_markdown(table.note))


def _code(lines: list[str] | tuple[str, ...], language: str) -> Iterator[str]:
    """A fenced block whose fence no line of it can close."""
    cleaned = [clean(line) for line in lines]
    longest = max((len(run) for line in cleaned for run in _ticks(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *cleaned, fence)


def _ticks(line: str) -> list[str]:
    return "".join(c if c == "`" else " " for c in line).split()
