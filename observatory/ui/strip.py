"""The descriptor strip: chips under the title that say what the numbers below were measured against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from observatory.figures import numbers
from observatory.figures.described import Described
from observatory.ui import card
from observatory.ui.text import plain
from observatory.ui.words import spread


def draw(sets: Sequence[Described]) -> None:
    """Chips of the shown sets. Each opens the full card; a piece that the source left out makes a red chip."""
    with st.container(horizontal=True, key="strip", gap="small"):
        _chip("corpus", f"corpus {_all(sets, lambda s: s.corpus)}", sets, missing=any(s.corpus == "not recorded" for s in sets))
        _chip("queries", f"queries {_queries(sets)}", sets)
        _chip("reference", f"reference {_all(sets, lambda s: s.descriptor.reference_positive.rule)}", sets)
        _chip("scorer", f"scorer {_all(sets, lambda s: f'{s.model}, {s.metric}')}", sets)
        for i, s in enumerate(_rules(sets)):
            _chip(f"{s.method}-{i}", f"{s.rule}, {s.k}", sets, s)
        _chip("labels", f"labels {_all(sets, lambda s: s.descriptor.label_quality.adjudication_method)}", sets)
        for state, s in {s.lock_state: s for s in reversed(sets) if not s.published}.items():
            _chip(f"lock-{state}", state, sets, s)
        for i, (state, s) in enumerate(_published(sets)):
            _chip(f"missing-{i}", state, sets, s, missing=True)
        for i, (state, s) in enumerate(_asserted(sets)):
            _chip(f"asserted-{i}", state, sets, s)


def _chip(key: str, text: str, sets: Sequence[Described], first: Described | None = None, missing: bool = False) -> None:
    """One chip; the card opens at the set that it is about."""
    name = f"chip-missing-{key}" if missing and not key.startswith("missing") else f"chip-{key}"
    st.button(plain(text), key=name, help="Open the descriptor", on_click=card.open_by, args=(name,))
    if card.opened_by(name):
        card.show(list(sets), first or sets[0])


def _published(sets: Sequence[Described]) -> list[tuple[str, Described]]:
    """One badge an artifact: how many fields its source left out of any of its sets, and its first set."""
    found: dict[str, tuple[set[str], Described]] = {}
    for s in sets:
        if s.published:
            found.setdefault(s.artifact_id, (set(), s))[0].update(s.missing)
    return [
        (f"published: {numbers.count(len(fields))} fields not recorded" if fields else "published", s)
        for fields, s in found.values()
    ]


def _asserted(sets: Sequence[Described]) -> list[tuple[str, Described]]:
    """One badge an artifact of which a person stated what its source left out, and its first such set."""
    found: dict[str, list[Described]] = {}
    for s in sets:
        if s.asserted:
            found.setdefault(s.artifact_id, []).append(s)
    return [(f"asserted by hand: {spread([s.asserted for s in mine])} of them", mine[0]) for mine in found.values()]


def _rules(sets: Sequence[Described]) -> list[Described]:
    """The first set of each rule and k, in order."""
    found: dict[tuple[str, str], Described] = {}
    for s in sets:
        found.setdefault((s.rule, s.k), s)
    return list(found.values())


def _queries(sets: Sequence[Described]) -> str:
    """Scored and attempted queries; what a published table leaves out is counted in its own badge."""
    accounts = [s.descriptor.accounting for s in ([s for s in sets if not s.published] or sets)]
    attempted = [a.n_attempted for a in accounts if isinstance(a.n_attempted, int)]
    return f"{spread([a.n_scored for a in accounts])} scored / {spread(attempted) if attempted else 'not recorded'} attempted"


def _all(sets: Iterable[Described], of: Callable[[Described], str]) -> str:
    """The one value of all sets, or the first of several and how many more there are."""
    values = list(dict.fromkeys(of(s) for s in sets))
    return values[0] if len(values) == 1 else f"{values[0]} + {len(values) - 1} more"
