"""DuckDB over the artifacts: the only SQL there is. In memory, so no file is locked and nobody waits for anybody.

Descriptors and small tables are loaded into typed tables with constraints; margins, pairwise rows and texts are views
over the Parquet files of *admitted* artifacts. What was refused is in ``quarantine`` with its reasons, and none of its
numbers can be reached from here.
"""

from __future__ import annotations

from observatory.store.base import MISSING
from observatory.store.evaluations import Evaluations
from observatory.store.margins import Margins
from observatory.store.pairs import PAIRWISE, STRATA
from observatory.store.queries import Queries
from observatory.store.strata import Strata

__all__ = ["MISSING", "PAIRWISE", "STRATA", "Store"]


class Store(Margins, Strata, Queries, Evaluations):
    """All artifacts below a root, those that ship with the repository, and linked ones.

    ``refresh`` follows what is on disk; readers take a cursor each and may run in any number of threads.
    """
