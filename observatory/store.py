"""DuckDB over the artifacts: the only SQL there is. In memory, so no file is locked and nobody waits for anybody.

Descriptors and small tables are loaded into typed tables with constraints; margins, pairwise rows and texts are views
over the Parquet files of *admitted* artifacts. What was refused is in ``quarantine`` with its reasons, and none of its
numbers can be reached from here.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from observatory import artifacts, links, lock, paths
from observatory.admission import admit
from observatory.artifacts import Artifact
from observatory.descriptor import EvaluationContext, NegativeSetDescriptor, not_recorded, parse
from observatory.errors import DescriptorRefused, InputError, ObservatoryError, TamperedError
from observatory.evaluation import Evaluation
from observatory.evaluation import parse as parse_evaluation
from observatory.tables import EVALUATION, TABLES

SCHEMA = Path(__file__).with_name("schema.sql")
VIEWS = ("margins", "pairwise", "draws", "queries", "items")
_TEXTS = (
    "select m.query_id, q.text as query, q.style, m.margin, m.outcome, m.reference_item_id, p.text as reference, "
    "m.reference_score, m.hardest_item_id, h.text as hardest, m.hardest_score, m.n_negatives, p.domain "
    "from margins m join queries q using (artifact_id, query_id) "
    "left join items p on p.artifact_id = m.artifact_id and p.item_id = m.reference_item_id "
    "left join items h on h.artifact_id = m.artifact_id and h.item_id = m.hardest_item_id"
)
PAIRWISE, MISSING = "relation (pairwise)", "none recorded"
STRATA = {
    "source text": "m.source_text", "domain": "m.domain", "query style": "m.style",
    "relation of the hardest negative": "m.relation", "number of negatives": "cast(m.n_negatives as varchar)", "outcome": "m.outcome",
}
"""Columns that queries can be grouped by: the text and domain of the reference positive, the query's style, its hardest negative."""
Signature = tuple[tuple[str, int, int], ...]


class Store:
    """All artifacts below a root, those that ship with the repository, and linked ones.

    ``refresh`` follows what is on disk; readers take a cursor each and may run in any number of threads.
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
    def of(cls, folders: Sequence[Path]) -> Store:
        """A store of just these artifact folders."""
        store = cls(root=Path(os.devnull), shipped=())
        for folder in folders:
            store._load(folder)
        store._make_views()
        return store

    # -- what is loaded -------------------------------------------------------------------------------------------

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
            if _printable(folder) != str(folder):
                raise InputError("has a name that is not UTF-8, which DuckDB cannot open", file=folder, mend="rename the folder")
            artifact = admit(folder)
            self._insert(artifact, folder)
        except ObservatoryError as error:
            self._quarantine(folder, error)

    def _forget(self, folder: Path) -> None:
        self._signatures.pop(folder, None)
        identifier = self._admitted.pop(folder, None)
        cursor = self._connection.cursor()
        cursor.execute("delete from quarantine where path = ?", [_printable(folder)])
        if identifier is not None:
            cursor.execute("delete from margin_sets where artifact_id = ?", [identifier])
            cursor.execute("delete from artifacts where artifact_id = ?", [identifier])

    def _quarantine(self, folder: Path, error: ObservatoryError) -> None:
        reasons = list(error.faults) if isinstance(error, DescriptorRefused) else [str(error)]
        if isinstance(error, TamperedError):
            reasons = [f"{name}: does not match lock.json" for name in error.files]
        self._connection.cursor().execute(
            "insert or replace into quarantine values (?, ?, ?, ?)", [_printable(folder), _printable(folder.name), error.exit_code, [_printable(r) for r in reasons]]
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
            cursor.execute("insert into artifacts values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", _artifact_row(artifact, folder))
            rows = [_set_row(artifact, i, rule, d) for i, (rule, d) in enumerate(artifact.descriptors.items())]
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
            cursor.execute(f"create or replace view {name} as {_view(name, files)}")

    # -- readers --------------------------------------------------------------------------------------------------

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

    def extent(self, set_ids: Sequence[str]) -> tuple[float, float] | None:
        """Smallest and largest margin of the sets; None where nothing was scored."""
        sql = f"select min(margin), max(margin) from {self._several(set_ids)}"
        low, high = self._connection.cursor().execute(sql).fetchone() or (None, None)
        return None if low is None else (low, high)

    def histogram(self, set_ids: Sequence[str], width: float) -> pd.DataFrame:
        """Counts in bins [i * width, (i + 1) * width): columns set_id, bin, n. Zero is always an edge."""
        return self._frame(
            f"select set_id, cast(floor(margin / ?) as bigint) as bin, count(*) as n from {self._several(set_ids)} group by all order by all",
            [width],
        )

    def ecdf(self, set_ids: Sequence[str], points: int = 400) -> pd.DataFrame:
        """Steps of the empirical distribution: set_id, margin, share (of margins <= margin), at most ``points`` a set.

        The last margin below zero, zero and the extremes are always among them, so that the loss rate reads off exactly.
        """
        return self._frame(
            f"with steps as (select set_id, margin, count(*) as n from {self._several(set_ids)} group by all), "
            "ranked as (select *, sum(n) over (partition by set_id order by margin) / sum(n) over (partition by set_id) as share, "
            "row_number() over (partition by set_id order by margin) as i, count(*) over (partition by set_id) as steps, "
            "max(case when margin < 0 then margin end) over (partition by set_id) as last_loss from steps) "
            "select set_id, margin, share from ranked "
            "where i = 1 or i = steps or margin = 0 or margin = last_loss "
            "or floor(i * $points / steps) > floor((i - 1) * $points / steps) order by set_id, margin",
            {"points": points},
        )

    def style_histogram(self, set_id: str, width: float) -> pd.DataFrame:
        """As :meth:`histogram` for one set, by query style: columns style, bin, n; a missing style is written."""
        return self._frame(
            f"select coalesce(q.style, '{MISSING}') as style, cast(floor(m.margin / ?) as bigint) as bin, count(*) as n from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where m.margin is not null group by all order by all",
            [width],
        )

    def style_ecdf(self, set_id: str, points: int = 200) -> pd.DataFrame:
        """As :meth:`ecdf` for one set, by query style: style, margin, share."""
        return self._frame(
            f"with steps as (select coalesce(q.style, '{MISSING}') as style, m.margin, count(*) as n from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where m.margin is not null group by all), "
            "ranked as (select *, sum(n) over (partition by style order by margin) / sum(n) over (partition by style) as share, "
            "row_number() over (partition by style order by margin) as i, count(*) over (partition by style) as steps, "
            "max(case when margin < 0 then margin end) over (partition by style) as last_loss from steps) "
            "select style, margin, share from ranked where i = 1 or i = steps or margin = 0 or margin = last_loss "
            "or floor(i * $points / steps) > floor((i - 1) * $points / steps) order by style, margin",
            {"points": points},
        )

    def tails(self, set_ids: Sequence[str], threshold: float = 0.0) -> pd.DataFrame:
        """Counts below, at and above a threshold: set_id, n_lt, n_eq, n_gt, n."""
        return self._frame(
            "select set_id, count(*) filter (margin < $t) as n_lt, count(*) filter (margin = $t) as n_eq, "
            f"count(*) filter (margin > $t) as n_gt, count(*) as n from {self._several(set_ids)} group by set_id order by set_id",
            {"t": threshold},
        )

    def margins_of(self, set_id: str) -> pd.DataFrame:
        """Scored margins with their clusters, for intervals: query_id, cluster_id, margin, in the benchmark's order."""
        return self._frame(
            f"select query_id, cluster_id, margin from {self._source(set_id, 'margins')} where margin is not null"
        )

    def queries_in(self, set_id: str, low: float, high: float, limit: int = 200, offset: int = 0) -> pd.DataFrame:
        """Queries with low <= margin < high and the texts behind the margin, smallest margin first."""
        return self._frame(
            f"{_TEXTS} where m.set_id = ? and m.margin >= ? and m.margin < ? order by m.margin, m.query_id limit ? offset ?",
            [set_id, low, high, limit, offset],
        )

    def queries_in_bin(self, set_id: str, index: int, width: float, limit: int = 200) -> pd.DataFrame:
        """The queries behind one bar of :meth:`histogram`, as :meth:`queries_in` gives them: the same bins to the bit."""
        return self._frame(
            f"{_TEXTS} where m.set_id = ? and m.margin is not null and floor(m.margin / ?) = ? "
            "order by m.margin, m.query_id limit ?",
            [set_id, width, index, limit],
        )

    def quantiles(self, set_ids: Sequence[str], probabilities: Sequence[float]) -> pd.DataFrame:
        """Linear quantiles (type 7) of the margins: set_id, n, and ``quantiles`` as a list in the order asked for."""
        return self._frame(
            "select set_id, count(*) as n, quantile_cont(margin, [" + ", ".join(repr(float(p)) for p in probabilities) + "]) "
            f"as quantiles from {self._several(set_ids)} group by set_id order by set_id",
            [],
        )

    def pairwise_of(self, set_id: str) -> pd.DataFrame:
        """Pairwise margins with relation and cluster, for strata: relation, cluster_id, margin."""
        return self._frame(
            "select w.relation, m.cluster_id, w.margin from pairwise w join margins m using (set_id, query_id) "
            "where w.set_id = ? order by w.relation, w.query_id, w.rank",
            [set_id],
        )

    def negatives_of(self, set_id: str, query_id: str) -> pd.DataFrame:
        """One query's negatives with texts, in the rule's order: rank, negative_item_id, relation, score, margin, text."""
        return self._frame(
            "select w.rank, w.negative_item_id, w.relation, w.score, w.margin, i.text from pairwise w "
            "left join items i on i.artifact_id = w.artifact_id and i.item_id = w.negative_item_id "
            "where w.set_id = ? and w.query_id = ? order by w.rank",
            [set_id, query_id],
        )

    def rows(self, view: str, set_ids: Sequence[str]) -> pd.DataFrame:
        """All rows of ``margins`` or ``pairwise`` for the sets, for export."""
        if view not in ("margins", "pairwise", "draws"):
            raise InputError("is no table that can be exported", value=view, mend="choose margins, pairwise or draws")
        return self._frame(f"select * exclude (artifact_id) from {view} where set_id in (select unnest(?))", [list(set_ids)])

    def save(self, path: Path) -> None:
        """Copy everything admitted into a DuckDB file for others; InputError where it exists or cannot be written."""
        if path.exists():
            raise InputError("is there already", file=path, mend="choose another name")
        cursor = self._connection.cursor()
        temporary = path.with_name(f".tmp-{path.name}")
        try:
            cursor.execute(f"attach '{_quoted(str(temporary))}' as copy")
            for name in ("artifacts", "margin_sets", *VIEWS):
                cursor.execute(f"create table copy.{name} as select * from memory.{name}")
            cursor.execute("detach copy")
            temporary.rename(path)
        except (duckdb.Error, OSError) as error:
            temporary.unlink(missing_ok=True)
            raise InputError(f"cannot be written: {str(error).splitlines()[0]}", file=path, mend="choose another place") from error

    # -- two sets on the same queries, and strata ------------------------------------------------------------------

    def _source(self, set_id: str, name: str) -> str:
        """SQL of one set's rows of a table, from its own file: other artifacts are not scanned. Empty for published sets."""
        sql = "select path, rule, kind from margin_sets join artifacts using (artifact_id) where set_id = ?"
        row = self._connection.cursor().execute(sql, [set_id]).fetchone()
        if row is None:
            raise InputError("there is no such margin set", value=set_id, mend="see: observatory show")
        if row[2] != "measurement":
            return f"(select * from {name} where false)"
        only = f" where rule = '{_quoted(row[1])}'" if name in ("margins", "pairwise", "draws") else ""
        return f"(select * from read_parquet('{_pattern(str(Path(row[0]) / f'{name}.parquet'))}'){only})"

    def _several(self, set_ids: Sequence[str]) -> str:
        """SQL of the scored margins of some sets, each from its own file: set_id, margin. Ids that nothing here has give no row."""
        known = self._connection.cursor().execute("select set_id from margin_sets where set_id in (select unnest(?))", [list(set_ids)]).fetchall()
        each = [f"select '{_quoted(i)}' as set_id, margin from {self._source(i, 'margins')} where margin is not null" for i in sorted(i for i, in known)]
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

    def _pairs(self, baseline: str, other: str) -> str:
        """SQL that begins with ``pairs``: queries scored in both sets. Where the query sets differ, texts must agree too."""
        same = self.descriptor(baseline).query_set_id == self.descriptor(other).query_set_id
        texts = "" if same else (
            f"join {self._source(baseline, 'queries')} ta using (query_id) "
            f"join {self._source(other, 'queries')} tb on tb.query_id = a.query_id and tb.text = ta.text "
        )
        return (
            "with pairs as (select a.query_id, a.cluster_id, a.margin as before, b.margin as after, "
            "b.margin - a.margin as difference, sign(a.margin) <> sign(b.margin) as flip "
            f"from (select * from {self._source(baseline, 'margins')} where margin is not null) a "
            f"join (select * from {self._source(other, 'margins')} where margin is not null) b using (query_id) {texts}), "
            "ranked as (select *, (rank() over (order by before) + (count(*) over (partition by before) - 1) / 2 - 0.5) "
            "/ count(*) over () as before_rank, (rank() over (order by after) + (count(*) over (partition by after) - 1) / 2 - 0.5) "
            "/ count(*) over () as after_rank from pairs) "
        )

    def pairs(self, baseline: str, other: str) -> pd.DataFrame:
        """Margins of the queries scored in both: cluster (a number), before, after; clusters are the baseline's."""
        return self._frame(
            self._pairs(baseline, other)
            + "select dense_rank() over (order by cluster_id) as cluster, before, after from pairs order by query_id"
        )

    def pair_points(self, baseline: str, other: str, most: int = 1500) -> pd.DataFrame:
        """Points of a scatter: every flip (another outcome), then other queries by the hash of their ids, at most ``most``.

        Columns query_id, query (at most 90 characters), before, after, flip, before_rank and after_rank: mid-rank
        percentiles in [0, 1] among the shared queries.
        """
        return self._frame(
            self._pairs(baseline, other)
            + "select r.* exclude (cluster_id, difference), left(q.text, 90) as query from "
            "(select * from ranked order by flip desc, hash(query_id), query_id limit $most) r "
            f"join {self._source(baseline, 'queries')} q using (query_id) order by flip, query_id",
            {"most": most},
        )

    def pair_histogram(self, baseline: str, other: str, width: float) -> pd.DataFrame:
        """Counts of the paired differences in bins [i * width, (i + 1) * width): bin, n. Zero is always an edge."""
        return self._frame(
            self._pairs(baseline, other)
            + "select cast(floor(difference / $width) as bigint) as bin, count(*) as n from pairs group by all order by all",
            {"width": width},
        )

    def pair_queries(
        self, baseline: str, other: str, *, index: int | None = None, width: float | None = None, query_id: str | None = None,
        stratum: tuple[str, str] | None = None, ranks: bool = False, limit: int = 200,
    ) -> pd.DataFrame:
        """Shared queries with their texts under both sets, the largest contrast first.

        Those of one bar of :meth:`pair_histogram`, one query, or one stratum (column, value); by default the flips.
        ``ranks`` sorts by the contrast of percentiles, for scorers without a common unit.
        """
        where = "r.flip"
        if index is not None and width is not None:
            where = "cast(floor(r.difference / $width) as bigint) = $index"
        elif query_id is not None:
            where = "r.query_id = $query_id"
        elif stratum is not None:
            rows = self._source(baseline, "pairwise") if stratum[0] == PAIRWISE else self._scored(baseline)
            column = STRATA.get(stratum[0], "m.relation")
            where = f"r.query_id in (select query_id from {rows} m where {column} is not distinct from $stratum)"
        values = {"width": width, "index": index, "query_id": query_id, "stratum": _value(stratum[1]) if stratum else None, "limit": limit}
        contrast = "abs(after_rank - before_rank)" if ranks else "abs(difference)"
        return self._frame(
            self._pairs(baseline, other)
            + f", chosen as materialized (select * from ranked r where {where} order by {contrast} desc, query_id limit $limit) "
            "select r.*, a.query, a.style, a.reference as reference_before, b.reference as reference_after, a.hardest as "
            "hardest_before, b.hardest as hardest_after, a.outcome as outcome_before, b.outcome as outcome_after, "
            "a.reference_score as score_before, b.reference_score as score_after, a.hardest_score as against_before, "
            "b.hardest_score as against_after, a.n_negatives as n_before, b.n_negatives as n_after "
            f"from chosen r join {self._worded(baseline)} a using (query_id) join {self._worded(other)} b using (query_id) "
            f"order by {contrast} desc, query_id",
            {name: value for name, value in values.items() if f"${name}" in f"{where} $limit"},
        )

    def stratum_columns(self, set_id: str) -> dict[str, int]:
        """How many values each column that can be stratified by has in one set, missing ones left out."""
        counts = ", ".join(f"count(distinct {expression})" for expression in STRATA.values())
        row = self._connection.cursor().execute(f"select {counts} from {self._scored(set_id)} m").fetchone() or ()
        pairwise = self._connection.cursor().execute(f"select count(distinct relation) from {self._source(set_id, 'pairwise')}").fetchone()
        return {**dict(zip(STRATA, row, strict=True)), PAIRWISE: pairwise[0] if pairwise else 0}

    def stratified(self, set_id: str, by: str) -> pd.DataFrame:
        """Margins with the stratum they fall in: stratum, cluster (a number), margin.

        ``PAIRWISE`` gives one row for each designated negative with its pairwise margin; any other column one for each query.
        """
        if by == PAIRWISE:
            rows = (
                f"(select w.relation as stratum, m.cluster_id, w.margin from {self._source(set_id, 'pairwise')} w "
                f"join {self._source(set_id, 'margins')} m using (query_id) where m.margin is not null and w.relation is not null)"
            )
        else:
            rows = f"(select {STRATA[by]} as stratum, cluster_id, margin from {self._scored(set_id)} m)"
        return self._frame(
            f"select coalesce(stratum, '{MISSING}') as stratum, dense_rank() over (order by cluster_id) as cluster, margin from {rows}"
        )

    def paired_strata(self, baseline: str, other: str, by: str) -> pd.DataFrame:
        """Margins of what both sets share, by the baseline's strata: stratum, cluster (a number), before, after.

        ``PAIRWISE`` pairs the same query and the same designated negative; any other column pairs queries.
        """
        if by == PAIRWISE:
            rows = (
                "(select w.relation as stratum, p.cluster_id, w.margin as before, v.margin as after from pairs p "
                f"join {self._source(baseline, 'pairwise')} w using (query_id) join {self._source(other, 'pairwise')} v "
                "on v.query_id = w.query_id and v.negative_item_id = w.negative_item_id and v.relation = w.relation)"
            )
        else:
            rows = (
                f"(select {STRATA[by]} as stratum, p.cluster_id, p.before, p.after from pairs p "
                f"join {self._scored(baseline)} m using (query_id))"
            )
        return self._frame(
            self._pairs(baseline, other) + f"select coalesce(stratum, '{MISSING}') as stratum, "
            f"dense_rank() over (order by cluster_id) as cluster, before, after from {rows}"
        )

    def queries_in_stratum(self, set_id: str, by: str, stratum: str, limit: int = 200) -> pd.DataFrame:
        """Scored queries of a stratum with their texts, smallest margin first, in the columns of :meth:`queries_in`.

        Under ``PAIRWISE`` the hardest negative is the hardest one of that relation, and the margin is the one to it.
        """
        columns = "m.query_id, query, style, margin, outcome, reference_item_id, reference, reference_score, hardest_item_id, hardest, hardest_score, n_negatives, domain"
        rows, where = self._scored(set_id), f"{STRATA.get(by, 'm.relation')} is not distinct from $stratum"
        if by == PAIRWISE:
            rows = (
                "(select m.* exclude (margin, outcome, hardest_item_id, hardest, hardest_score, relation), w.margin, w.relation, "
                "case sign(w.margin) when 1 then 'win' when 0 then 'tie' else 'loss' end as outcome, "
                "w.negative_item_id as hardest_item_id, i.text as hardest, w.score as hardest_score "
                f"from {rows} m join {self._source(set_id, 'pairwise')} w using (query_id) "
                f"left join {self._source(set_id, 'items')} i on i.item_id = w.negative_item_id "
                "qualify row_number() over (partition by m.query_id, w.relation order by w.margin, w.rank) = 1)"
            )
        return self._frame(
            f"select {columns} from {rows} m where {where} order by margin, m.query_id limit $limit",
            {"stratum": _value(stratum), "limit": limit},
        )

    def hardness(self, set_id: str, threshold: float) -> pd.DataFrame:
        """Scored queries by the relation of their hardest negative and by margin: relation, n_le_zero, n_le, n_gt, n.

        ``n_le`` counts 0 < margin <= threshold and ``n_gt`` what is above.
        """
        return self._frame(
            f"select coalesce(relation, '{MISSING}') as relation, count(*) filter (margin <= 0) as n_le_zero, "
            "count(*) filter (margin > 0 and margin <= $t) as n_le, count(*) filter (margin > $t) as n_gt, count(*) as n "
            f"from {self._scored(set_id)} group by all order by n desc, relation",
            {"t": threshold},
        )

    # -- one query -------------------------------------------------------------------------------------------------

    def query_ids(self, set_id: str, sort: str = "file", against: str | None = None, find: str = "") -> list[str]:
        """Attempted queries of a set whose id or text holds ``find`` (any case), in an order.

        ``file``: the benchmark's own; ``smallest`` or ``largest`` margin first; ``contrast``: the largest difference
        between the margins here and in the set ``against`` first. Queries without a margin come last.
        """
        where, values = "(contains(lower(q.text), lower($find)) or contains(lower(q.query_id), lower($find)))", {"find": find}
        if sort == "file":
            sql = f"select q.query_id from {self._source(set_id, 'queries')} q where {where}"
        else:
            other = self._source(against or set_id, "margins")
            order = {"smallest": "m.margin", "largest": "m.margin desc", "contrast": "abs(m.margin - o.margin) desc"}[sort]
            sql = (
                f"select query_id from {self._source(set_id, 'margins')} m join {self._source(set_id, 'queries')} q using (query_id) "
                + (f"left join {other} o using (query_id) " if sort == "contrast" else "")
                + f"where {where} order by {order} nulls last, query_id"
            )
        return [row[0] for row in self._connection.cursor().execute(sql, values).fetchall()]

    def query_list(self, set_id: str, query_ids: Sequence[str]) -> pd.DataFrame:
        """These queries with their margins, in the order asked for: query_id, query, style, margin, outcome."""
        frame = self._frame(
            f"select query_id, q.text as query, q.style, m.margin, m.outcome from {self._source(set_id, 'margins')} m "
            f"join {self._source(set_id, 'queries')} q using (query_id) where query_id in (select unnest(?))",
            [list(query_ids)],
        )
        return frame.set_index("query_id").reindex([i for i in query_ids if i in set(frame["query_id"])]).reset_index()

    def query_of(self, set_id: str, query_id: str) -> dict[str, Any] | None:
        """One query under one set, with its texts: a margins row, query, style, target_item_id, reference, domain."""
        frame = self._frame(
            "select m.*, q.text as query, q.style, q.target_item_id, p.text as reference, p.domain "
            f"from (select * from {self._source(set_id, 'margins')} where query_id = $query) m "
            f"join {self._source(set_id, 'queries')} q using (query_id) "
            f"left join {self._source(set_id, 'items')} p on p.item_id = m.reference_item_id",
            {"query": query_id},
        )
        return None if frame.empty else {str(k): None if pd.isna(v) else v for k, v in frame.iloc[0].items()}

    def candidates_of(self, set_id: str, query_id: str, always: str = "", limit: int = 100) -> pd.DataFrame:
        """One query's negatives in the rule's order, as :meth:`negatives_of`, from the set's own file.

        The first ``limit`` of them, and the item ``always`` wherever it stands.
        """
        return self._frame(
            "select w.rank, w.negative_item_id, w.relation, w.score, w.margin, i.text "
            f"from (select * from {self._source(set_id, 'pairwise')} where query_id = $query) w "
            f"left join {self._source(set_id, 'items')} i on i.item_id = w.negative_item_id "
            "qualify row_number() over (order by w.rank) <= $limit or w.negative_item_id = $always order by w.rank",
            {"query": query_id, "limit": limit, "always": always},
        )

    # -- metrics and labelled pairs ---------------------------------------------------------------------------------

    def evaluation(self, artifact_id: str) -> Evaluation | None:
        """Metrics and labelled pairs of an artifact with their contexts; None where its run kept none."""
        row = self._connection.cursor().execute("select evaluation from artifacts where artifact_id = ?", [artifact_id]).fetchone()
        return parse_evaluation(json.loads(row[0]), subject=artifact_id) if row is not None and row[0] is not None else None

    def evaluated(self) -> pd.DataFrame:
        """One row an artifact with metrics, newest first: artifact_id, title, model, benchmark, lock_state, started."""
        return self._frame(
            "select artifact_id, title, model, benchmark, lock_state, started from artifacts "
            "where evaluation is not null and len(json_keys(evaluation, '$.metrics')) > 0 order by started desc, artifact_id"
        )

    def judged_context(self, artifact_id: str) -> EvaluationContext | None:
        """What defines the labelled pairs of an artifact; None where it holds none."""
        found = self.evaluation(artifact_id)
        return found.judged.context if found is not None and not isinstance(found.judged, str) else None

    def judged(self, artifact_id: str) -> pd.DataFrame:
        """Scores of labelled pairs: query_id, cluster_id, item_id, domain, grade, relation, score. Empty where none were kept."""
        return self._frame(f"select * from {self._table(artifact_id, 'judged')}")

    def metric_values(self, artifact_id: str, metric: str) -> pd.DataFrame:
        """A metric per query: query_id, cluster_id, value, in the benchmark's order."""
        return self._frame(f"select query_id, cluster_id, value from {self._table(artifact_id, 'metrics')} where metric = ?", [metric])

    def metric_queries(self, artifact_id: str, metric: str, limit: int = 200) -> pd.DataFrame:
        """Queries with their values of a metric and texts, lowest value first: query_id, query, value."""
        return self._frame(
            f"select m.query_id, q.text as query, m.value from {self._table(artifact_id, 'metrics')} m "
            f"join read_parquet('{_pattern(str(self.folder(artifact_id) / 'queries.parquet'))}') q using (query_id) "
            "where m.metric = ? order by m.value, m.query_id limit ?",
            [metric, limit],
        )

    def rankings(self, artifact_id: str) -> pd.DataFrame:
        """The top of each query's ranking: query_id, item_id, rank, score."""
        return self._frame(f"select query_id, item_id, rank, score from {self._table(artifact_id, 'rankings')}")

    def _table(self, artifact_id: str, name: str) -> str:
        """SQL of an evaluation's table, from the artifact's own file; an empty one where it has no evaluation."""
        if self.evaluation(artifact_id) is None:
            columns = ", ".join(f"null::{_sql_type(f.type)} as {f.name}" for f in EVALUATION[name])
            return f"(select {columns} where false)"
        return f"(select * from read_parquet('{_pattern(str(self.folder(artifact_id) / f'{name}.parquet'))}'))"

    def folder(self, artifact_id: str) -> Path:
        """Where an admitted artifact lies; InputError where there is no such artifact."""
        row = self._connection.cursor().execute("select path from artifacts where artifact_id = ?", [artifact_id]).fetchone()
        if row is None:
            raise InputError("there is no such artifact", value=artifact_id, mend="see: observatory show")
        return Path(row[0])


def _value(stratum: str) -> str | None:
    return None if stratum == MISSING else stratum


def _printable(text: object) -> str:
    """Text as UTF-8 can hold it: bytes of a file name that are none become escapes."""
    return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


def _pattern(path: str) -> str:
    """A path in SQL quotes for ``read_parquet``, which reads ``*``, ``?`` and ``[`` as a pattern."""
    return _quoted(re.sub(r"[*?\[]", r"[\g<0>]", path))


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


def _artifact_row(artifact: Artifact, folder: Path) -> list[Any]:
    evaluation = artifact.evaluation
    models = dict.fromkeys(s.name for s in [*(d.scorer for d in artifact.descriptors.values()), *([evaluation.scorer] if evaluation else [])])
    return [
        artifact.id, artifact.kind, artifact.title, str(folder), "locked" if artifact.locked else "unlocked",
        ", ".join(models), str(artifact.benchmark.get("name", "not recorded")), str(artifact.run.get("started", "not recorded")),
        str(artifact.run.get("source", "fresh run")), json.dumps(artifact.run), json.dumps(artifact.benchmark),
        json.dumps(evaluation.model_dump()) if evaluation else None,
    ]


def _set_row(artifact: Artifact, position: int, rule: str, d: NegativeSetDescriptor) -> list[Any]:
    a, o, e = d.accounting, d.outcomes, d.expectation
    interval = None if isinstance(o.mean_ci, str) else o.mean_ci
    numbers = [
        a.n_attempted, a.n_scored, a.n_excluded, a.n_failed, d.clusters.n_clusters, o.mean_margin,
        interval and interval.low, interval and interval.high, o.median_margin, o.p05, o.p10, o.selected_positive_win_rate,
        o.n_lt_zero, o.n_eq_zero, o.n_gt_zero,
        *((None, None, None) if isinstance(e, str) else (e.mean_margin, e.win_rate, e.sd_of_mean_margin)),
    ]
    return [
        f"{artifact.id}/{rule}", artifact.id, position, rule, d.mining.method, d.mining.slice, str(d.mining.count_per_query),
        d.corpus_hash, d.query_set_id, d.reference_positive.rule, d.scorer.space_id, d.scorer.metric,
        json.dumps(d.model_dump()), len(not_recorded(d)), *(None if isinstance(n, str) else n for n in numbers),
    ]


def _view(name: str, files: Iterable[tuple[str, str]]) -> str:
    """SQL of a view over ``files``: their columns, the artifact's id and, where there is a rule, the set's id."""
    listed = list(files)
    has_rule = name in ("margins", "pairwise", "draws")
    set_id = "artifact_id || '/' || rule as set_id, " if has_rule else ""
    if not listed:
        columns = ", ".join(f"null::{_sql_type(f.type)} as {f.name}" for f in TABLES[name])
        return f"select {set_id}* from (select null::varchar as artifact_id, {columns}) where false"
    paths_sql = ", ".join(f"'{_pattern(path)}'" for _, path in listed)
    pairs = ", ".join(f"'{_quoted(path)}': '{_quoted(identifier)}'" for identifier, path in listed)
    return (
        f"select {set_id}* from (select map {{{pairs}}}[filename] as artifact_id, * exclude (filename) "
        f"from read_parquet([{paths_sql}], filename = true))"
    )


def _sql_type(arrow: Any) -> str:
    return {"string": "varchar", "double": "double", "int64": "bigint"}[str(arrow)]


def _quoted(text: str) -> str:
    return text.replace("'", "''")
