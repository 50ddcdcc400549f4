"""Completing a published descriptor by hand: a form for what its source left out, and everything that was ever stated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from observatory import completion, paths
from observatory.artifacts import Artifact
from observatory.completion import Assertion
from observatory.descriptor import NOT_RECORDED
from observatory.errors import ObservatoryError
from observatory.figures.numbers import count
from observatory.ui import artifact_readers, tables
from observatory.ui.text import plain

_RESULT = "completion result"
HINTS = {
    "prompts": "{query: '', item: ''}", "bm25": "a block of fields in YAML", "reasons": "{reason: count}", "corpus_hash": "64 hex digits",
    "weights_sha256": "64 hex digits", "n": "a whole number", "rng_seed": "a whole number", "max_length": "a whole number",
}


def draw(artifact: Artifact, rule: str) -> None:
    if artifact.kind != "summary":
        st.text("A measurement's record is never completed by hand: what is typed in is no provenance. Measure again instead.")
        return
    st.text(
        "For fields that the published source leaves out. What you state is kept beside the artifact, signed with your name and the "
        "time, and badged asserted. The artifact stays what it is: published figures, no measurement."
    )
    stated = artifact_readers.asserted(artifact, rule)
    _result()
    if paths.read_only():
        st.info("This server is read-only: nothing can be stated here.")
    elif not artifact.locked:
        st.info("This artifact has no lock.json, so a completion could not say which content it completes.")
    elif artifact_readers.completions().fault is None:
        _form(artifact, rule, stated)
    _history(artifact)


def _form(artifact: Artifact, rule: str, stated: Mapping[str, Assertion]) -> None:
    fields = completion.fields(artifact.descriptors[rule])
    if not fields:
        st.text("The source records every field that can be completed.")
        return
    key = f"{artifact.id} {rule}"
    with st.form(f"complete {key}"):
        left, right = st.columns(2, gap="medium")
        for i, field in enumerate(fields):
            now = f"asserted: {stated[field].value} (write {NOT_RECORDED} to withdraw)" if field in stated else HINTS.get(field.split(".")[-1], "not recorded")
            (left if i % 2 == 0 else right).text_input(plain(field), key=f"{key} {field}", placeholder=now, max_chars=completion.LONGEST_VALUE)
        st.text_input("Who states this (your name)", key=f"{key} who", max_chars=completion.LONGEST_NAME, autocomplete="name")
        if len(artifact.descriptors) > 1:
            st.checkbox("The same for all sets of this artifact that leave these fields out", key=f"{key} all")
        st.form_submit_button("State these values", on_click=_submit, args=(artifact, rule, fields, key), icon=":material/edit_note:")


def _submit(artifact: Artifact, rule: str, fields: tuple[str, ...], key: str) -> None:
    values = {field: str(st.session_state.get(f"{key} {field}") or "") for field in fields}
    rules = list(artifact.descriptors) if st.session_state.get(f"{key} all") else [rule]
    try:
        added = completion.record(paths.store_root(), artifact, rules, values, str(st.session_state.get(f"{key} who") or ""))
    except ObservatoryError as error:
        st.session_state[_RESULT] = (False, str(error))
        return
    for field in fields:
        st.session_state[f"{key} {field}"] = ""
    st.session_state[_RESULT] = (True, f"{count(len(added))} value{'' if len(added) == 1 else 's'} recorded as asserted by {added[0].who}.")


def _result() -> None:
    result = st.session_state.pop(_RESULT, None)
    if result is not None:
        (st.success if result[0] else st.error)(plain(result[1], limit=600))


def _history(artifact: Artifact) -> None:
    mine = [a for a in artifact_readers.completions().history if a.artifact == artifact.id]
    if not mine:
        return
    st.subheader("Everything that was stated")
    tables.show(pd.DataFrame([_row(a, artifact) for a in reversed(mine)]), pinned="field")


def _row(a: Assertion, artifact: Artifact) -> dict[str, Any]:
    current = artifact_readers.asserted(artifact, a.rule).get(a.field)
    state = "in force" if a == current else "withdrawn" if a.value == NOT_RECORDED else "replaced later"
    if artifact.locked and a.lock_sha256 != completion.lock_hash(artifact):
        state = "about other content"
    return {"field": a.field, "negative set": a.rule, "value": str(a.value), "who": a.who, "when": a.when, "state": state}


def broken() -> None:
    """A ledger whose chain is broken is shown as such on every part of the page."""
    found = artifact_readers.completions()
    fault = found.fault
    if found.unfinished:
        st.warning("The ledger of asserted values ends in a line that was cut off while it was written; that line is not used, the others are.")
    if fault is not None:
        st.error(
            f"The ledger of asserted values is broken, {plain(fault)}; none of its entries is used. Restore ledgers/completions.jsonl "
            "in the store from a copy, or move it aside."
        )
