"""compare: what shares no unit has no ratio and no paired difference, and a unit that nobody recorded is not a common one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from observatory import artifacts, paired
from observatory.comparison import compare
from observatory.store import Store
from tests.pages.conftest import measured, published  # noqa: F401


@pytest.fixture
def store(measured: Path, tmp_path: Path) -> Store:  # noqa: F811
    """Two published tables that do not name their space."""
    table = published(next(measured.iterdir()))
    for name in ("published-table", "published-other"):
        artifacts.write(tmp_path / "store", dataclasses.replace(table, id=name))
    return Store(tmp_path / "store", ())


def test_two_tables_that_do_not_name_their_space_share_no_unit(store: Store) -> None:
    assert store.descriptor("published-table/random").scorer.space_id == "not_recorded"
    found = compare(store, "published-table/random", "published-other/bm25")
    assert (found.ratio, found.paired, found.note) == (None, None, paired.NO_UNIT)


def test_one_table_is_of_one_scorer_so_its_means_have_a_ratio(store: Store) -> None:
    found = compare(store, "published-table/random", "published-table/bm25")
    means = [store.descriptor(f"published-table/{rule}").outcomes.mean_margin for rule in ("random", "bm25")]
    assert isinstance(means[0], float) and isinstance(means[1], float) and found.ratio == means[0] / means[1]
    assert found.paired is None and found.note == "no query has a margin in both sets"
