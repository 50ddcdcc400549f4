"""The report as one HTML file that asks for nothing: plotly.js once, figures and records as JSON, no address anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from observatory.figures import standalone
from observatory.report.content import Block, Figure, Listing, Record, Report, Section, Table
from observatory.report.look import SCRIPT, STYLE
from observatory.report.text import for_html, lines_for_html

NO_SCRIPT = "Figures need JavaScript, which is off here. Every number is also in a table."
SIZE = "@@observatory-size@@"


def render(report: Report) -> str:
    """The whole page. Scripts run by the hash of their text, so nothing that came in with data could."""
    library = standalone.library()
    figures = {id(b): f"figure-{i}" for i, b in enumerate(b for s in report.sections for b in s.blocks if isinstance(b, Figure))}
    page = "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n', f'<meta http-equiv="Content-Security-Policy" content="{_policy(library)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n',
            f"<title>{for_html(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n",
            *_title_page(report), *(part for section in report.sections for part in _section(section, figures)), *_records(report.records), *_about(report),
            "</main>\n", *_data(report, figures), f"<script>{library}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        ]
    )
    return page.replace(SIZE, f"{len(page.encode('utf-8')) / 1e6:.1f} MB", 1)


def _policy(library: str) -> str:
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode('utf-8')).digest()).decode('ascii')}'" for s in (library, SCRIPT))
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'"
    )


def _title_page(report: Report) -> Iterator[str]:
    yield f'<header>\n<h1>{for_html(report.title)}</h1>\n<p class="subtitle">{for_html(report.subtitle)}</p>\n<dl>\n'
    for word, value in report.facts:
        yield f"<dt>{for_html(word)}</dt><dd>{for_html(value)}</dd>\n"
    yield "</dl>\n</header>\n<nav>\n<h3>Contents</h3>\n<ol>\n"
    for section in report.sections:
        yield f'<li><a href="#{for_html(section.key)}">{for_html(section.title)}</a></li>\n'
    yield '<li><a href="#records">Descriptors</a></li>\n<li><a href="#about">About this file</a></li>\n</ol>\n</nav>\n'


def _section(section: Section, figures: dict[int, str]) -> Iterator[str]:
    yield f'<section id="{for_html(section.key)}">\n<h2>{for_html(section.title)}</h2>\n'
    for block in section.blocks:
        yield from _block(block, figures)
    yield "</section>\n"


def _block(block: Block, figures: dict[int, str]) -> Iterator[str]:
    if isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Figure):
        height = int(json.loads(block.spec)["layout"]["height"])
        yield f'<figure>\n<figcaption>{for_html(block.title)}</figcaption>\n'
        yield f'<div class="plot" data-spec="{figures[id(block)]}" role="img" aria-label="{for_html(block.title)}" style="min-height:{height}px"><noscript>{NO_SCRIPT}</noscript></div>\n'
        yield f'<p class="foot">{for_html(block.footer)}</p>\n<p class="against">{for_html(block.essentials)}</p>\n</figure>\n'
    elif isinstance(block, Listing):
        if block.code:
            yield from (f"<pre>{for_html(item)}</pre>\n" for item in block.items)
        else:
            yield '<ol class="limits">\n' + "".join(f"<li>{for_html(item)}</li>\n" for item in block.items) + "</ol>\n"
    else:
        yield f"<p>{for_html(block)}</p>\n"


def _table(table: Table) -> Iterator[str]:
    kind = ["word" if i < table.words or name in ("state", "mark", "note", "reasons", "cluster rule", "instrument") else "number" for i, name in enumerate(table.columns)]
    head = "".join(f'<th scope="col" class="{k}">{for_html(name)}</th>' for k, name in zip(kind, table.columns, strict=True))
    yield f'<h3>{for_html(table.title)}</h3>\n<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
    for row in table.rows:
        first = f'<th scope="row" class="{kind[0]}">{for_html(row[0])}</th>'
        yield f"<tr>{first}{''.join(f'<td class={chr(34)}{k}{chr(34)}>{for_html(cell)}</td>' for k, cell in zip(kind[1:], row[1:], strict=True))}</tr>\n"
    yield "</tbody>\n</table></div>\n"
    if table.note:
        yield f'<p class="note">{for_html(table.note)}</p>\n'


def _records(records: tuple[Record, ...]) -> Iterator[str]:
    yield '<section id="records">\n<h2>Descriptors</h2>\n<p>What every number above was measured against, whole. Each folds out as a card and as YAML.</p>\n'
    for r in records:
        badges = "".join(f'<span class="badge">{for_html(b)}</span>' for b in r.badges)
        yield f'<details class="record"><summary>{for_html(r.name)}{badges}</summary>\n<p class="id">{for_html(r.id)}</p>\n'
        yield '<div class="scroll"><table>\n<thead><tr><th scope="col" class="word">part</th><th scope="col" class="word">field</th><th scope="col" class="word">value</th></tr></thead>\n<tbody>\n'
        for part, field, value in r.fields:
            yield f'<tr><td class="word">{for_html(part)}</td><th scope="row" class="word">{for_html(field)}</th><td class="word">{for_html(value)}</td></tr>\n'
        yield f'</tbody>\n</table></div>\n<details class="yaml"><summary>As YAML</summary><pre>{lines_for_html(r.yaml)}</pre></details>\n</details>\n'
    yield "</section>\n"


def _about(report: Report) -> Iterator[str]:
    yield '<section id="about">\n<h2>About this file</h2>\n'
    if report.absent:
        yield "<p>Not in this report:</p>\n<ul>\n" + "".join(f"<li>{for_html(title)}: {for_html(why)}</li>\n" for title, why in report.absent) + "</ul>\n"
    yield (
        f"<p>One file of {SIZE}: it opens without a network, asks for nothing and sends nothing. Margins are binned in it, or thinned to a few hundred steps; "
        "scatter plots name queries by id or by the beginning of their text. The same numbers at full precision are in it as JSON: each descriptor, each "
        f"evaluation record, and the numbers of each section. Made {for_html(report.made)} by observatory {for_html(report.version)}.</p>\n</section>\n"
    )


def _data(report: Report, figures: dict[int, str]) -> Iterator[str]:
    """Everything that a program would read back out of the page."""
    for r in report.records:
        yield f'<script type="application/json" class="{for_html(r.kind)}" data-id="{for_html(r.id)}">{_json(r.data)}</script>\n'
    numbers = {"title": report.title, "made": report.made, "version": report.version, "sections": {s.key: s.data for s in report.sections}}
    yield f'<script type="application/json" id="numbers">{_json(numbers)}</script>\n'
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Figure):
                yield f'<script type="application/json" id="{figures[id(block)]}">{block.spec}</script>\n'


def _json(value: Any) -> str:
    return standalone.in_script(json.dumps(value, ensure_ascii=True, allow_nan=False))
