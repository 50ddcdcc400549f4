"""One artifact: its lock checked now, its descriptors as card and as YAML, its run record, and what can be taken away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from observatory import completion, exports
from observatory.artifacts import Artifact
from observatory.completion import Assertion
from observatory.descriptor import not_recorded, to_yaml, walk
from observatory.errors import ObservatoryError
from observatory.figures import numbers
from observatory.figures.numbers import count
from observatory.ui import artifact_readers, card, completion_form, faults, picker, readers, url
from observatory.ui.artifact_readers import Loaded
from observatory.ui.text import plain

_VERIFIED = "verified"


def table(entries: Sequence[Loaded], opened: Loaded) -> None:
    """All artifacts; a chosen row opens one."""
    stated = artifact_readers.completions().artifacts()
    frame = pd.DataFrame(
        [
            {
                "title": e.title.removesuffix(" (published)"), "kind": "published" if e.published else "measured", "from": e.origin,
                "lock": e.lock_state, "holds": _holds(e), "model": e.model, "benchmark": e.benchmark,
                "when": numbers.written(e.started, str)[:16].replace("T", " "), "asserted": "yes" if e.id in stated else "nothing",
            }
            for e in entries
        ]
    )

    def follow() -> None:
        chosen = st.session_state["loaded"].selection.rows
        url.changed(artifact=entries[chosen[0]].id if chosen else None, rule=None)

    st.dataframe(
        frame, hide_index=True, key="loaded", on_select=follow, selection_mode="single-row", height=min(320, 38 + 35 * len(frame)),
        selection_default={"selection": {"rows": [list(entries).index(opened)]}},
        column_config={
            c: st.column_config.TextColumn(width=min(340, 24 + 8 * max(len(c), *(len(v) for v in frame[c])))) for c in frame.columns
        },
    )


def _holds(entry: Loaded) -> str:
    """7 sets, or the tables of a document, or both."""
    tables = len(artifact_readers.read(entry.id).published) if entry.published else 0
    parts = [(len(entry.rules), "set"), (tables, "table")]
    return ", ".join(f"{count(n)} {word}{'' if n == 1 else 's'}" for n, word in parts if n)


def draw(entry: Loaded) -> None:
    artifact = artifact_readers.read(entry.id)
    st.subheader(plain(entry.title))
    st.text(f"{entry.id}, {entry.source}\n{entry.lock_state}, {entry.origin}: {entry.path}")
    _verify_and_export(entry)
    if not artifact.descriptors:
        st.text(f"This artifact holds no margin set, but {count(len(artifact.published))} tables of other figures: read them under Published.")
        _record(entry)
        return
    rule = picker.pick("rule", "Negative set", {r: r for r in artifact.descriptors}) if len(artifact.descriptors) > 1 else next(iter(artifact.descriptors))
    stated = artifact_readers.asserted(artifact, rule)
    _badges(artifact, rule, stated)
    url.tabs(
        "about",
        {
            "Card": lambda: _card(artifact, rule, stated), "YAML": lambda: _yaml(artifact, rule, stated),
            "Run record": lambda: _record(entry), "Complete by hand": lambda: completion_form.draw(artifact, rule),
        },
    )


def _verify_and_export(entry: Loaded) -> None:
    def verify() -> None:
        try:
            st.session_state[_VERIFIED] = (entry.id, artifact_readers.verify(entry), [])
        except ObservatoryError as error:
            st.session_state[_VERIFIED] = (entry.id, str(error), faults.reasons_of(error))

    with st.container(horizontal=True):
        st.button("Verify now", on_click=verify, icon=":material/verified:", help="Hashes every file and recomputes every number.")
        with st.popover("Export", icon=":material/download:"):
            _exports(entry)
    identifier, sentence, reasons = st.session_state.get(_VERIFIED, (None, "", []))
    if identifier == entry.id and reasons:
        st.error(plain(sentence, limit=600))
        faults.show(reasons, "verify faults")
    elif identifier == entry.id:
        st.success(plain(sentence, limit=600))
        st.text("A lock is an integrity check, not a seal against someone who can rewrite both files and lock.")


def _exports(entry: Loaded) -> None:
    st.download_button(
        "The artifact as zip", lambda: artifact_readers.packed(entry), f"{entry.id}.zip", "application/zip", key=f"zip {entry.id}", on_click="ignore"
    )
    if entry.published:
        st.text("Published figures have no rows to export.")
        return
    ids, store = entry.set_ids, readers.store()
    st.download_button(
        "All margins as CSV", lambda: exports.csv_bytes(store, ids), f"{entry.id}-margins.csv", "text/csv", key=f"csv {entry.id}", on_click="ignore"
    )
    st.download_button(
        "All margins as Parquet", lambda: exports.parquet_bytes(store, ids), f"{entry.id}-margins.parquet",
        "application/vnd.apache.parquet", key=f"parquet {entry.id}", on_click="ignore",
    )
    st.download_button(
        "All pairwise rows as Parquet", lambda: exports.parquet_bytes(store, ids, "pairwise"), f"{entry.id}-pairwise.parquet",
        "application/vnd.apache.parquet", key=f"pairwise {entry.id}", on_click="ignore",
    )
    st.text("Each file carries the descriptors of its sets.")


def _badges(artifact: Artifact, rule: str, stated: Mapping[str, Assertion]) -> None:
    missing = not_recorded(artifact.descriptors[rule])
    with st.container(horizontal=True, gap="small"):
        if missing:
            st.badge(f"{count(len(missing))} fields not recorded by the source", color="red")
        if stated:  # names are data, so they stand beside the badge and not in it: a badge reads Markdown
            st.badge(f"asserted: {count(len(stated))} of them", color="violet", icon=":material/edit_note:")
            st.text("; ".join(f"{n} by {who}, {when}" for (who, when), n in _by_whom(stated).items()))


def _by_whom(stated: Mapping[str, Assertion]) -> Counter[tuple[str, str]]:
    return Counter((a.who, f"{a.when[:16].replace('T', ' ')} UTC") for a in stated.values())


def _card(artifact: Artifact, rule: str, stated: Mapping[str, Assertion]) -> None:
    data = artifact.descriptors[rule].model_dump()
    frame = card.fields(data)
    paths = [path for path, _ in walk(data)]
    by = [f"asserted by {stated[p].who}, {stated[p].when[:16].replace('T', ' ')} UTC" if p in stated else "" for p in paths]
    frame["value"] = [str(stated[p].value) if p in stated else v for p, v in zip(paths, frame["value"], strict=True)]
    if stated:
        frame["stated by"] = [who or "the source" for who in by]
    st.dataframe(
        frame, hide_index=True, height=520,
        column_config={"part": st.column_config.TextColumn(pinned=True), "value": st.column_config.TextColumn(width="large")},
    )


def _yaml(artifact: Artifact, rule: str, stated: Mapping[str, Assertion]) -> None:
    text = to_yaml(artifact.descriptors[rule]) + completion.as_comments(stated)
    st.download_button(
        "Download YAML", text, f"{artifact.id}-{''.join(c if c.isalnum() else '-' for c in rule)}.yaml", "application/yaml",
        key=f"yaml {artifact.id} {rule}", on_click="ignore", icon=":material/download:",
    )
    st.code(text, language="yaml", height=520, wrap_lines=True)


def _record(entry: Loaded) -> None:
    """How it was made: the run, the benchmark, and what the lock says about code and packages."""
    lock = {k: v for k, v in artifact_readers.lock_of(entry).items() if k != "files"}
    rows = [
        {"part": part, "field": path, "value": _words(value)}
        for part, data in (("run", entry.run), ("benchmark", entry.about), ("lock", lock)) for path, value in walk(data)
    ]
    st.dataframe(
        pd.DataFrame(rows), hide_index=True, height=min(520, 38 + 35 * len(rows)),
        column_config={"part": st.column_config.TextColumn(pinned=True), "value": st.column_config.TextColumn(width="large")},
    )


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "none"
    return "yes" if value is True else "no" if value is False else numbers.written(value, str) if value not in ("", {}) else "none"
