"""Text from data for HTML, Markdown and LaTeX: none of it can become markup, a link or a command, or turn a line around."""

from __future__ import annotations

import html
import re

_SPACES = "\u00a0\u202f"  # no-break spaces: the screens write thin ones into numbers
_MARKDOWN = re.compile(r"[\\`*_<>|~&$#]|\](?=[(\[:])|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=\w@)(?=\w)|^[-+=](?=[\s=-]|$)")
_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}", "\u202f": r"\,", "\u00a0": "~", "±": r"$\pm$", "Δ": r"$\Delta$", "√": r"$\surd$", "σ": r"$\sigma$",
    "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "…": r"\ldots{}", "·": r"$\cdot$", "×": r"$\times$",
}
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")


def clean(text: object) -> str:
    """One line without control characters: what is no printable character becomes a visible escape."""
    return "".join(c if c.isprintable() or c in _SPACES else c.encode("unicode_escape").decode("ascii") for c in str(text))


def for_html(text: object) -> str:
    """Text for an element or a quoted attribute."""
    return html.escape(clean(text))


def lines_for_html(text: str) -> str:
    """Text of several lines, such as YAML, for a ``pre`` element."""
    return "\n".join(for_html(line) for line in text.splitlines())


def for_markdown(text: object) -> str:
    """Text for a paragraph or a table cell. Nothing in it is markup, opens a list or a code block, and an address in it is no link."""
    escaped = _MARKDOWN.sub(lambda found: f"\\{found[0]}" if found[0] else "\u200b", clean(text).lstrip(" "))
    return _NUMBERED.sub(r"\1\\", escaped)


def for_latex(text: object) -> str:
    """Text for LaTeX. Brackets are protected: one that follows a row's end would be read as its argument."""
    marked = _MINUS.sub("−", clean(text))
    escaped = "".join(_LATEX.get(c, c) for c in marked)
    return re.sub(r"-(?=-)", "-{}", escaped)  # two hyphens are a dash


def comment_for_latex(text: object) -> str:
    """Text for a comment, which ends with its line."""
    return clean(text).replace("\u202f", " ")
