"""Rows for other tools, with the descriptors inside the file: numbers never leave without what they were measured against."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from observatory.artifacts import METADATA_KEY
from observatory.descriptor import canonical
from observatory.errors import InputError
from observatory.store import Store

MARK = "# observatory-descriptors: "
EVALUATION_MARK = "# observatory-evaluation: "
LINE_END = "\r\n"  # as RFC 4180 says; with "\n" alone a carriage return inside a text would not be quoted, and begin a row of its own
WORDS = ("rule", "outcome", "reason", "relation", "stratified_by", "stratum", "mark")  # columns that hold names, also where they look like numbers
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def descriptors_json(store: Store, set_ids: Sequence[str]) -> str:
    """The descriptors of the sets on one line of JSON."""
    return canonical({set_id: store.descriptor(set_id).model_dump() for set_id in set_ids})


def csv_bytes(store: Store, set_ids: Sequence[str], view: str = "margins") -> bytes:
    """CSV in UTF-8 whose first line, a comment, holds the descriptors. Text that a spreadsheet would run is quoted."""
    return table_csv(store, set_ids, store.rows(view, set_ids))


def table_csv(store: Store, set_ids: Sequence[str], frame: pd.DataFrame) -> bytes:
    """As :func:`csv_bytes` for a table computed from the sets."""
    safe = frame.copy(deep=False)
    for column in safe.select_dtypes(include=["object", "string"]).columns:
        safe[column] = safe[column].map(_harmless)
    return (MARK + _no_formula(descriptors_json(store, set_ids)) + LINE_END + _body(safe)).encode("utf-8")


def _body(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False, lineterminator=LINE_END, float_format="%.17g")


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def _no_formula(line: str) -> str:
    """JSON whose strings hold no character that a spreadsheet would split at or run: the same JSON in escapes."""
    return _STRING.sub(lambda s: re.sub(r'[,;=+@]|(?<=^")-', lambda c: f"\\u{ord(c[0]):04x}", s[0]), line)


def _harmless(value: Any) -> Any:
    """A cell that starts like a formula gets a leading apostrophe (CSV injection, OWASP)."""
    return "'" + value if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def parquet_bytes(store: Store, set_ids: Sequence[str], view: str = "margins") -> bytes:
    """Parquet whose schema metadata holds the descriptors under the key ``observatory``."""
    table = pa.Table.from_pandas(store.rows(view, set_ids), preserve_index=False)
    table = table.replace_schema_metadata({METADATA_KEY: descriptors_json(store, set_ids).encode("utf-8")})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def jsonl_bytes(store: Store, set_ids: Sequence[str], view: str = "margins") -> bytes:
    """JSON lines; the first one holds the descriptors."""
    frame = store.rows(view, set_ids)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    head = '{"observatory-descriptors":' + descriptors_json(store, set_ids) + "}\n"
    return (head + "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)).encode("utf-8")


FORMATS = {"csv": csv_bytes, "parquet": parquet_bytes, "jsonl": jsonl_bytes}


def read_csv(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Descriptors and rows of an exported CSV; InputError where the descriptors are not there."""
    with path.open(encoding="utf-8", newline="") as stream:  # a line end inside a text stays what it is
        first = stream.readline()
        if not first.startswith(MARK):
            raise InputError("carries no descriptors", file=path, line=1, mend="export it again with observatory export")
        header = stream.readline()
        columns = header.strip().split(",")
        words = {c: str for c in columns if c.endswith("_id") or c in WORDS}
        rows = pd.read_csv(  # ids such as 00, NA and 1e1 stay what they are
            stream, names=columns, dtype=words, keep_default_na=False, na_values={c: [""] for c in columns}
        )
        return json.loads(first.removeprefix(MARK)), rows


def read_parquet(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Descriptors and rows of an exported Parquet file."""
    table = pq.read_table(path)
    raw = (table.schema.metadata or {}).get(METADATA_KEY)
    if raw is None:
        raise InputError("carries no descriptors", file=path, mend="export it again with observatory export")
    return json.loads(raw), table.to_pandas()


def judged_csv(store: Store, artifact_id: str) -> bytes:
    """Labelled pairs with their scores; the first line, a comment, holds the record of the evaluation with its context."""
    found = store.evaluation(artifact_id)
    if found is None or isinstance(found.judged, str):
        raise InputError("holds no labelled pairs", value=artifact_id, mend="run it again")
    frame = store.judged(artifact_id)
    for column in frame.select_dtypes(include=["object", "string"]).columns:
        frame[column] = frame[column].map(_harmless)
    head = EVALUATION_MARK + _no_formula(canonical({"artifact": artifact_id, **found.model_dump()}))
    return (head + LINE_END + _body(frame)).encode("utf-8")


TREC_TIES = "trec_eval orders equal scores by item id and passes over the ranks of the file; the metrics here follow the ranks"
_SPACE_OR_CONTROL = re.compile(r"[\s\x00-\x1f\x7f]")


def trec_run(store: Store, artifact_id: str) -> bytes:
    """The kept top of each ranking as a TREC run file: query, Q0, item, rank, score, tag. Ids with white space or control characters are refused.

    trec_eval reads no comments, so what the run was measured against travels in a second file, :func:`trec_context`.
    """
    rows = store.rankings(artifact_id)
    if rows.empty:
        raise InputError("holds no rankings", value=artifact_id, mend="run it with --metrics, which keeps them")
    for column in ("query_id", "item_id"):
        if unfit := next((i for i in rows[column].unique() if _SPACE_OR_CONTROL.search(i)), None):
            raise InputError(f"the {column} holds white space or a control character, which a TREC run cannot hold", value=unfit, mend="export CSV instead")
    columns = (rows[name].tolist() for name in ("query_id", "item_id", "rank", "score"))
    lines = (f"{q} Q0 {i} {r} {s:.17g} {artifact_id}\n" for q, i, r, s in zip(*columns, strict=True))
    return "".join(lines).encode("utf-8")


def trec_context(store: Store, artifact_id: str) -> bytes:
    """The record that belongs to a run file: scorer, corpus, query set, depth and every metric's context, as JSON."""
    found = store.evaluation(artifact_id)
    if found is None:
        raise InputError("holds no rankings", value=artifact_id, mend="run it with --metrics, which keeps them")
    return (json.dumps({"artifact": artifact_id, "ties": TREC_TIES, **found.model_dump()}, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
