"""Passages with the words that differ marked, and tables of them that wrap.

The browser gets segments as data and makes a text node of each (``textContent``): nothing from data is ever parsed as
HTML or Markdown, so there is nothing to escape and nothing that a new escaping rule could miss. A data frame could mark
no word inside a sentence and cuts long ones off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.components.v2 import component
from streamlit.components.v2.types import ComponentRenderer

from observatory.differ import Segment, only_in, segments
from observatory.figures import numbers, theme
from observatory.figures.query import Answer, Candidate

_CSS = """
.card, section { color: var(--st-text-color); font-family: var(--st-font); font-size: 1rem; line-height: 1.5; }
.card { border: 1px solid var(--st-border-color); border-radius: .35rem; padding: .7rem 1rem; margin-bottom: .6rem; }
.label, .small { opacity: .78; font-size: .88rem; }
.card .passage { font-size: 1.12rem; overflow-wrap: anywhere; }
section { margin-bottom: 1.5rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .15rem .7rem; padding-bottom: .35rem; }
header .swatch { width: .8rem; height: .8rem; border-radius: 50%; align-self: center; }
header .name { font-weight: 650; font-size: 1.08rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 400; font-size: .85rem; opacity: .78; padding: .25rem .6rem; white-space: nowrap; }
td { border-top: 1px solid var(--st-border-color); padding: .45rem .6rem; vertical-align: top; text-align: right; white-space: nowrap; }
th.text, td.text { text-align: left; white-space: normal; width: 62%; overflow-wrap: anywhere; }
th.word, td.word { text-align: left; }
tr.hardest td { background: var(--st-secondary-background-color); }
tr.hardest td:first-child { box-shadow: inset .3rem 0 0 var(--set); }
mark { background: none; color: inherit; font-weight: 650; text-decoration: underline; text-decoration-color: var(--st-primary-color);
  text-decoration-thickness: .14em; text-underline-offset: .2em; }
.tag { font-size: .8rem; border: 1px solid currentColor; border-radius: 1rem; padding: 0 .5rem; margin-left: .3rem; white-space: nowrap; }
@media (max-width: 640px) {
  table, tbody, tr, td { display: block; width: auto !important; }
  thead { display: none; }
  tr { border-top: 1px solid var(--st-border-color); padding: .45rem .2rem .45rem .6rem; }
  tr.hardest { background: var(--st-secondary-background-color); box-shadow: inset .3rem 0 0 var(--set); }
  tr.hardest td:first-child { box-shadow: none; }
  td { border: 0; display: inline-block; padding: 0 .8rem 0 0; text-align: left; background: none !important; }
  td.text { display: block; padding-bottom: .2rem; }
  td[data-label]::before { content: attr(data-label) " "; opacity: .78; font-size: .85rem; }
}
"""

_JS = """
const make = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const passage = (segments, name) => {
  const node = make("div", name);
  for (const [text, differs] of segments) node.append(differs ? make("mark", "", text) : document.createTextNode(text));
  return node;
};
const card = ({ label, segments, note }) => {
  const node = make("div", "card");
  node.append(make("div", "label", label), passage(segments, "passage"));
  if (note) node.append(make("div", "small", note));
  return node;
};
const row = (columns, { hardest, cells }) => {
  const node = make("tr", hardest ? "hardest" : "");
  columns.forEach(({ name, kind }, i) => {
    const cell = make("td", kind), value = cells[i];
    if (kind === "text") {
      const main = passage(value.segments, "passage");
      if (hardest) main.append(make("span", "tag", "hardest"));
      cell.append(main);
      if (value.note) cell.append(make("div", "small", value.note));
    } else { cell.textContent = value; cell.dataset.label = name; }
    node.append(cell);
  });
  return node;
};
const table = ({ name, colour, about, columns, rows, note }) => {
  const node = make("section"), head = make("header"), swatch = make("span", "swatch");
  node.style.setProperty("--set", colour);
  swatch.style.background = colour;
  head.append(swatch, make("span", "name", name), make("span", "small", about));
  node.append(head);
  if (rows.length) {
    const grid = make("table"), top = make("tr"), body = make("tbody"), first = make("thead");
    columns.forEach(({ name, kind }) => { const th = make("th", kind, name); th.scope = "col"; top.append(th); });
    first.append(top);
    rows.forEach(r => body.append(row(columns, r)));
    grid.append(first, body);
    node.append(grid);
  }
  if (note) node.append(make("div", "small", note));
  return node;
};
export default function ({ data, parentElement }) {
  const old = parentElement.querySelector(".passages");
  const root = make("div", "passages");
  (data.cards || []).forEach(c => root.append(card(c)));
  (data.tables || []).forEach(t => root.append(table(t)));
  if (old) old.replaceWith(root); else parentElement.append(root);
  if (!data.focus) return;
  const seek = event => {
    const at = document.activeElement;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (at && (at.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(at.tagName))) return;
    const box = document.querySelector(data.focus);
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  };
  document.addEventListener("keydown", seek);
  return () => document.removeEventListener("keydown", seek);
}
"""
COLUMNS = (
    ("rank", ""), ("negative", "text"), ("score", ""), ("pairwise margin", ""), ("outcome", "word"), ("relation", "word"),
)
SEARCH = ".st-key-find input"


@st.cache_resource(show_spinner=False)
def _component() -> ComponentRenderer:
    return component("observatory_passages", css=_CSS, js=_JS)


def cards(key: str, shown: Sequence[Mapping[str, Any]]) -> None:
    """Passages in boxes, each with a label and a note; "/" goes to the search box from anywhere on the page."""
    _component()(key=key, data={"cards": list(shown), "focus": SEARCH})


def card(label: str, text: str, note: str = "") -> dict[str, Any]:
    return {"label": label, "segments": [[text, False]], "note": note}


def tables(key: str, answers: Sequence[Answer], names: Mapping[str, str]) -> None:
    """One table of candidates for each negative set, words that the positive lacks marked, the hardest negative marked."""
    _component()(key=key, data={"tables": [_table(a, names[a.set.set_id]) for a in answers]})


def _table(a: Answer, name: str) -> dict[str, Any]:
    rows = [{"hardest": c.hardest, "cells": _cells(c, a.reference)} for c in a.candidates]
    hidden = a.n_negatives - len(rows)
    return {
        "name": name, "colour": theme.COLOURS.get(a.set.method, "#7F7F7F"), "about": about(a),
        "columns": [{"name": n, "kind": kind} for n, kind in COLUMNS], "rows": rows,
        "note": f"{numbers.count(hidden)} more are not shown; export the pairwise rows to read all of them." if hidden > 0 else "",
    }


def about(a: Answer) -> str:
    """What came out of one query under one set, in a sentence."""
    if a.margin is None or a.reference_score is None or a.hardest_score is None:
        return f"{a.outcome}: {a.reason or 'no reason recorded'}"
    plural = "" if a.n_negatives == 1 else "s"
    return (
        f"{a.outcome}, margin {numbers.margin(a.margin)} = {a.reference_score:.4f} - {a.hardest_score:.4f} "
        f"({a.set.metric}), against {numbers.count(a.n_negatives)} negative{plural}"
    )


def _cells(c: Candidate, reference: str) -> list[Any]:
    parts = segments(c.text, reference)
    missing = only_in(reference, c.text)
    text = {"segments": [[s.text, s.differs] for s in parts], "note": f"only in the positive: {' · '.join(missing)}" if missing else ""}
    if mostly_other(parts):  # nearly every word differs: marks would say nothing
        text = {"segments": [[c.text, False]], "note": "other wording throughout"}
    return [str(c.rank), text, f"{c.score:.4f}", numbers.margin(c.margin), c.outcome, c.relation]


def mostly_other(parts: Sequence[Segment]) -> bool:
    """Whether more than seven tenths of a text differ."""
    return sum(len(s.text) for s in parts if s.differs) > 0.7 * sum(len(s.text) for s in parts)
