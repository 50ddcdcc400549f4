"""What a store holds: artifacts that were admitted, those that were refused, and SQL over one set's own files."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import duckdb
import pandas as pd

from observatory import artifacts, links, lock, paths
from observatory.admission import admit
from observatory.artifacts import Artifact
from observatory.descriptor import NegativeSetDescriptor, parse
from observatory.errors import DescriptorRefused, InputError, ObservatoryError, TamperedError
from observatory.store.rows import artifact_row, pattern, printable, quoted, set_row, view

SCHEMA = Path(__file__).with_name("schema.sql")
VIEWS = ("margins", "pairwise", "draws", "queries", "items")
MISSING = "none recorded"
Signature = tuple[tuple[str, int, int], ...]


class Loaded:
    """The connection, what is in it, and how it follows the disk. ``refresh`` looks again; readers take a cursor each
    and may run in any number of threads.
    """

    def __init__(self, root: Path | None = None, shipped: Sequence[Path] | None = None) -> None:
        self.root = root or paths.store_root()
        self.shipped = tuple(paths.shipped_roots() if shipped is None else shipped)
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("set autoinstall_known_extensions = false; set autoload_known_extensions = false")
        self._connection.execute(SCHEMA.read_text(encoding="utf-8"))
        self._signatures: dict[Path, Signature] = {}
        self._admitted: dict[Path, str] = {}
        self._lock = threading.Lock()
        self.version = 0
        self._make_views()
        self.refresh()

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Self:
        """A store of just these artifact folders."""
        store = cls(root=Path(os.devnull), shipped=())
        for folder in folders:
            store._load(folder)
        store._make_views()
        return store

    def refresh(self) -> bool:
        """Load new folders, forget removed ones, look again at changed ones; whether anything changed."""
        with self._lock:
            there = {folder: _signature(folder) for folder in self._folders()}
            changed = [f for f, s in there.items() if self._signatures.get(f) != s]
            gone = [f for f in self._signatures if f not in there]
            if any(f in self._admitted for f in [*gone, *changed]):  # an id got free: another folder may want it
                changed += [f for f in there if f not in self._admitted and f not in changed]
            for folder in [*gone, *changed]:
                self._forget(folder)
            for folder in changed:
                self._load(folder)
                self._signatures[folder] = there[folder]
            if changed or gone:
                self._make_views()
                self.version += 1
            return bool(changed or gone)

    def _folders(self) -> list[Path]:
        roots = [*self.shipped, self.root]
        children = [c for r in roots if r.is_dir() for c in sorted(r.iterdir()) if artifacts.is_artifact(c)]
        return list(dict.fromkeys([*(c.resolve() for c in children), *links.all_linked(self.root)]))

    def _load(self, folder: Path) -> None:
        try:
            if printable(folder) != str(folder):
                raise InputError("has a name that is not UTF-8, which DuckDB cannot open", file=folder, mend="rename the folder")
            artifact = admit(folder)
            self._insert(artifact, folder)
        except ObservatoryError as error:
            self._quarantine(folder, error)

    def _forget(self, folder: Path) -> None:
        self._signatures.pop(folder, None)
        identifier = self._admitted.pop(folder, None)
        cursor = self._connection.cursor()
        cursor.execute("delete from quarantine where path = ?", [printable(folder)])
        if identifier is not None:
            cursor.execute("delete from margin_sets where artifact_id = ?", [identifier])
            cursor.execute("delete from artifacts where artifact_id = ?", [identifier])

    def _quarantine(self, folder: Path, error: ObservatoryError) -> None:
        reasons = list(error.faults) if isinstance(error, DescriptorRefused) else [str(error)]
        if isinstance(error, TamperedError):
            reasons = [f"{name}: does not match lock.json" for name in error.files]
        self._connection.cursor().execute(
            "insert or replace into quarantine values (?, ?, ?, ?)", [printable(folder), printable(folder.name), error.exit_code, [printable(r) for r in reasons]]
        )

    def _insert(self, artifact: Artifact, folder: Path) -> None:
        cursor = self._connection.cursor()
        other = cursor.execute("select path from artifacts where artifact_id = ?", [artifact.id]).fetchone()
        if other is not None:
            if lock.same(folder, Path(other[0])):
                return
            raise InputError(f"has the id of {other[0]} and other content", file=folder, mend="remove one of the two")
        cursor.begin()
        try:
            cursor.execute("insert into artifacts values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", artifact_row(artifact, folder))
            rows = [set_row(artifact, i, rule, d) for i, (rule, d) in enumerate(artifact.descriptors.items())]
            if rows:  # a published table may hold other metrics only
                cursor.executemany(f"insert into margin_sets values ({', '.join('?' * len(rows[0]))})", rows)
            cursor.commit()
        except duckdb.ConstraintException as error:
            cursor.rollback()
            raise DescriptorRefused(folder, [str(error).splitlines()[0]]) from error
        except duckdb.Error as error:
            cursor.rollback()
            raise InputError(f"cannot be stored: {str(error).splitlines()[0]}", file=folder, mend="correct the value") from error
        self._admitted[folder] = artifact.id

    def _make_views(self) -> None:
        """Views over the Parquet files of admitted measurements; empty ones where there are none."""
        cursor = self._connection.cursor()
        rows = cursor.execute("select artifact_id, path from artifacts where kind = 'measurement'").fetchall()
        for name in VIEWS:
            files = [(identifier, str(Path(path) / f"{name}.parquet")) for identifier, path in rows]
            cursor.execute(f"create or replace view {name} as {view(name, files)}")

    def _frame(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> pd.DataFrame:
        return self._connection.cursor().execute(sql, parameters).df()

    def artifacts(self) -> pd.DataFrame:
        """One row an admitted artifact, newest first."""
        return self._frame("select * exclude (evaluation) from artifacts order by kind, started desc, artifact_id")

    def run_record(self, artifact_id: str) -> dict[str, Any]:
        """How an admitted artifact was made; InputError where there is no such one."""
        row = self._connection.cursor().execute("select run from artifacts where artifact_id = ?", [artifact_id]).fetchone()
        if row is None:
            raise InputError("there is no such artifact", value=artifact_id, mend="see: observatory show")
        return dict(json.loads(row[0]))

    def quarantine(self) -> pd.DataFrame:
        """Refused folders with every reason."""
        return self._frame("select * from quarantine order by path")

    def sets(self) -> pd.DataFrame:
        """One row a margin set, with its artifact's model, benchmark, kind and lock state beside its outcomes.

        A null number is one that was not measured or not recorded; the descriptor says which.
        """
        return self._frame(
            "select s.* exclude (descriptor), a.kind, a.title, a.model, a.benchmark, a.lock_state, a.started, a.source "
            "from margin_sets s join artifacts a using (artifact_id) order by a.kind, a.started desc, artifact_id, position"
        )

    def descriptor(self, set_id: str) -> NegativeSetDescriptor:
        """The descriptor of one margin set; InputError where there is no such set."""
        sql = "select descriptor, kind from margin_sets join artifacts using (artifact_id) where set_id = ?"
        row = self._connection.cursor().execute(sql, [set_id]).fetchone()
        if row is None:
            raise InputError("there is no such margin set", value=set_id, mend="see: observatory show")
        return parse(json.loads(row[0]), subject=set_id, summary_only=row[1] == "summary")

    def artifact_of(self, set_id: str) -> str:
        """The id of the artifact that a margin set lies in; InputError where there is no such set."""
        row = self._connection.cursor().execute("select artifact_id from margin_sets where set_id = ?", [set_id]).fetchone()
        if row is None:
            raise InputError("there is no such margin set", value=set_id, mend="see: observatory show")
        return str(row[0])

    def folder(self, artifact_id: str) -> Path:
        """Where an admitted artifact lies; InputError where there is no such artifact."""
        row = self._connection.cursor().execute("select path from artifacts where artifact_id = ?", [artifact_id]).fetchone()
        if row is None:
            raise InputError("there is no such artifact", value=artifact_id, mend="see: observatory show")
        return Path(row[0])

    def save(self, path: Path) -> None:
        """Copy everything admitted into a DuckDB file for others; InputError where it exists or cannot be written."""
        if path.exists():
            raise InputError("is there already", file=path, mend="choose another name")
        cursor = self._connection.cursor()
        temporary = path.with_name(f".tmp-{path.name}")
        try:
            cursor.execute(f"attach '{quoted(str(temporary))}' as copy")
            for name in ("artifacts", "margin_sets", *VIEWS):
                cursor.execute(f"create table copy.{name} as select * from memory.{name}")
            cursor.execute("detach copy")
            temporary.rename(path)
        except (duckdb.Error, OSError) as error:
            temporary.unlink(missing_ok=True)
            raise InputError(f"cannot be written: {str(error).splitlines()[0]}", file=path, mend="choose another place") from error

    def _source(self, set_id: str, name: str) -> str:
        """SQL of one set's rows of a table, from its own file: other artifacts are not scanned. Empty for published sets."""
        sql = "select path, rule, kind from margin_sets join artifacts using (artifact_id) where set_id = ?"
        row = self._connection.cursor().execute(sql, [set_id]).fetchone()
        if row is None:
            raise InputError("there is no such margin set", value=set_id, mend="see: observatory show")
        if row[2] != "measurement":
            return f"(select * from {name} where false)"
        only = f" where rule = '{quoted(row[1])}'" if name in ("margins", "pairwise", "draws") else ""
        return f"(select * from read_parquet('{pattern(str(Path(row[0]) / f'{name}.parquet'))}'){only})"

    def _several(self, set_ids: Sequence[str]) -> str:
        """SQL of the scored margins of some sets, each from its own file: set_id, margin. Ids that nothing here has give no row."""
        known = self._connection.cursor().execute("select set_id from margin_sets where set_id in (select unnest(?))", [list(set_ids)]).fetchall()
        each = [f"select '{quoted(i)}' as set_id, margin from {self._source(i, 'margins')} where margin is not null" for i in sorted(i for i, in known)]
        return "(" + " union all ".join(each or ["select set_id, margin from margins where false"]) + ")"

    def _worded(self, set_id: str) -> str:
        """SQL of one set's scored queries with their texts: as :meth:`_scored`, without what is only grouped by."""
        return (
            "(select m.*, q.text as query, q.style, p.text as reference, h.text as hardest "
            f"from {self._source(set_id, 'margins')} m join {self._source(set_id, 'queries')} q using (query_id) "
            f"left join {self._source(set_id, 'items')} p on p.item_id = m.reference_item_id "
            f"left join {self._source(set_id, 'items')} h on h.item_id = m.hardest_item_id where m.margin is not null)"
        )

    def _scored(self, set_id: str) -> str:
        """SQL of one set's scored queries with everything that they can be grouped by."""
        return (
            "(select m.*, q.text as query, q.style, p.text as reference, p.domain, p.source_text, h.text as hardest, w.relation "
            f"from {self._source(set_id, 'margins')} m join {self._source(set_id, 'queries')} q using (query_id) "
            f"left join {self._source(set_id, 'items')} p on p.item_id = m.reference_item_id "
            f"left join {self._source(set_id, 'items')} h on h.item_id = m.hardest_item_id "
            "left join (select query_id, negative_item_id, string_agg(distinct relation, ' + ' order by relation) as relation "
            f"from {self._source(set_id, 'pairwise')} group by all) w "
            "on w.query_id = m.query_id and w.negative_item_id = m.hardest_item_id where m.margin is not null)"
        )


def _signature(folder: Path) -> Signature:
    """Names, sizes and times of an artifact's files: another signature means look again."""
    found = []
    for path in sorted(folder.iterdir()):
        try:
            status = path.lstat()
        except OSError:
            continue
        found.append((path.name, status.st_size, status.st_mtime_ns))
    return tuple(found)
