"""The report's tables as LaTeX (booktabs), each with what it was measured against as its note; figures are in the HTML report."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.report.content import Figure, Report, Section, Table
from observatory.report.text import comment_for_latex, for_latex

WIDE, LONG = 4, 30
"""Columns from which a table is shrunk to the line, rows from which it may break across pages."""
PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{textcomp}\fi
\usepackage{booktabs,graphicx,longtable,array}
\setlength{\parindent}{0pt}
\begin{document}"""


def render(report: Report) -> str:
    """A document that compiles as it is; each table stands between comments, to be taken into another one."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from ("% Compile with lualatex or xelatex where names hold other scripts than Latin.", PREAMBLE)
    yield from (rf"\section*{{{for_latex(report.title)}}}", for_latex(report.subtitle), "")
    yield from (rf"\textbf{{{for_latex(word)}}}: {for_latex(value)}\par" for word, value in report.facts)
    notes = _notes(report)
    number = 0
    for section in report.sections:
        tables = [b for b in section.blocks if isinstance(b, Table)]
        if tables:
            yield from ("", rf"\subsection*{{{for_latex(section.title)}}}", *_feet(section))
        for table in tables:
            number += 1
            yield from (f"% table: {comment_for_latex(table.title)}", *_table(table, f"tab:observatory-{number}", notes), f"% end of table: {comment_for_latex(table.title)}")
    yield r"\end{document}"


def _notes(report: Report) -> str:
    """The descriptors' essentials, from the first figure of margins: what every table here was measured against."""
    found = [b.essentials for s in report.sections if s.key == "means" for b in s.blocks if isinstance(b, Figure)]
    return "; ".join(dict.fromkeys(found))


def _feet(section: Section) -> Iterator[str]:
    for foot in dict.fromkeys(b.footer for b in section.blocks if isinstance(b, Figure)):
        yield rf"{for_latex(foot)}\par\smallskip"


def _table(table: Table, label: str, notes: str) -> Iterator[str]:
    columns = "".join("l" if i < table.words else "r" for i in range(len(table.columns)))
    if any(len(cell) > 60 for row in table.rows for cell in row):
        columns = "".join(_paragraph(table, i) for i in range(len(table.columns)))
    head = " & ".join(for_latex(c) for c in table.columns) + r" \\"
    rows = [" & ".join(for_latex(cell) for cell in row) + r" \\" for row in table.rows]
    note = rf"\footnotesize {for_latex(' '.join(filter(None, (table.note, f'Measured against: {notes}.' if notes else ''))))}"
    caption = rf"\caption{{{for_latex(table.title)}}}\label{{{label}}}"
    if len(rows) > LONG:
        yield from (r"{\scriptsize\setlength{\tabcolsep}{3pt}", rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}", rf"{caption}\\", r"\toprule", head, r"\midrule", r"\endhead")
        yield from (*rows, r"\bottomrule", r"\end{longtable}", rf"{{{note}\par}}", "}")
        return
    wide = len(table.columns) > WIDE
    yield from (r"\begin{table}[htbp]", r"\centering", caption, *([r"\resizebox{\linewidth}{!}{%"] if wide else []), rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}")
    yield from (r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}" + ("}" if wide else ""))
    yield from (r"\par\smallskip", rf"\begin{{minipage}}{{\linewidth}}{note}\end{{minipage}}", r"\end{table}")


def _paragraph(table: Table, i: int) -> str:
    """A column whose text may break where its cells are long."""
    longest = max(len(row[i]) for row in table.rows)
    if longest > 60:
        return r">{\raggedright\arraybackslash}p{6cm}"
    return "l" if i < table.words else "r"
