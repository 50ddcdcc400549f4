"""Import: an artifact folder of this machine by its path, or a zip or tar.gz of one by upload."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from observatory import paths, uploads
from observatory.archives import LIMITS
from observatory.errors import ObservatoryError
from observatory.ui import artifact_readers, faults, readers, url
from observatory.ui.text import plain

_RESULT, _FILE, _PATH = "import result", "import file", "import path"


def draw() -> None:
    if paths.read_only():
        st.info("This server is read-only: nothing can be imported. Start it without read-only to do so.")
        return
    _refusal()
    by_path, by_upload = st.columns(2, gap="large")
    with by_path, st.container(border=True, key="import-by-path"):
        st.subheader("By path")
        st.text("A folder on the machine that serves this page. It is checked and linked, and stays where it is.")
        st.text_input("Artifact folder", key=_PATH, placeholder="/data/artifacts/my-run", max_chars=4096)
        st.button("Check and link", on_click=_link, icon=":material/link:")
    with by_upload, st.container(border=True, key="import-by-upload"):
        st.subheader("By upload")
        mib = 2**20
        st.text(
            f"A zip or tar.gz of one artifact folder: at most {LIMITS.packed // mib} MiB packed, {LIMITS.unpacked // mib} MiB "
            f"unpacked, {LIMITS.one_file // mib} MiB a file, {LIMITS.files} files. It is checked before it is kept."
        )
        file = st.file_uploader("Archive", ["zip", "gz", "tgz"], key=_FILE, max_upload_size=LIMITS.packed // mib)
        st.button("Check and import", disabled=file is None, on_click=_receive, icon=":material/upload:")
    st.text("On the command line: .venv/bin/observatory ingest FOLDER")


def message() -> None:
    """What the last import brought, once, on top of whatever is shown then."""
    result = st.session_state.get(_RESULT)
    if result is not None and not result["faults"]:
        st.success(plain(result["sentence"], limit=600))
        st.session_state[_RESULT] = None


def _refusal() -> None:
    result = st.session_state.get(_RESULT)
    if result is not None and result["faults"]:
        st.error(plain(result["sentence"], limit=600))
        faults.show(result["faults"], "import faults")


def _link() -> None:
    typed = st.session_state[_PATH].strip()
    if not typed:
        _refused("Nothing was linked: write the path of an artifact folder first.", ["path: is empty"])
        return
    try:
        artifact = uploads.link(Path(typed).expanduser(), paths.store_root())
    except ObservatoryError as error:
        kept = " It is listed under Refused." if error.exit_code in (3, 4) else ""
        _refused(f"{error}{kept}", faults.reasons_of(error))
        return
    _done(artifact.id, f"Linked: {artifact.id}.")


def _receive() -> None:
    file = st.session_state[_FILE]
    if file is None:
        _refused("Nothing was imported: choose a zip or tar.gz first.", ["archive: is not chosen"])
        return
    known = {entry.id: entry.path for entry in artifact_readers.loaded()}
    try:
        artifact, new = uploads.receive(file.getvalue(), file.name, paths.store_root(), known)
    except ObservatoryError as error:
        _refused(f"{error} It was not kept.", faults.reasons_of(error))
        return
    _done(artifact.id, f"Imported: {artifact.id}." if new else f"{artifact.id} is loaded already, with the same content.")


def _refused(sentence: str, reasons: list[str]) -> None:
    st.session_state[_RESULT] = {"sentence": sentence, "faults": reasons}


def _done(artifact_id: str, sentence: str) -> None:
    readers.follow()
    st.session_state[_RESULT] = {"sentence": sentence, "faults": []}
    url.changed(artifact=artifact_id, part=None, about=None, rule=None)
