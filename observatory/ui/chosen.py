"""Which margin sets stand side by side, which one is the baseline and which comparison is open: all in the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from observatory.figures.described import labels
from observatory.ui import readers, url
from observatory.ui.selection import Selection
from observatory.ui.text import plain

MOST = 6


@dataclass(frozen=True)
class Chosen:
    """Set ids in the order they are shown, the baseline first; ``against`` is the open comparison, None with one set."""

    set_ids: tuple[str, ...]
    baseline: str
    against: str | None
    offered: tuple[str, ...]
    problems: tuple[str, ...] = ()
    own: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(i for i in self.set_ids if i != self.baseline)


def choose(
    sets: pd.DataFrame, selection: Selection, wanted: Sequence[str], baseline: str | None, against: str | None, most: int = MOST
) -> Chosen:
    """A pure function of the store's sets, the sidebar's selection and the parameters of a link.

    Offered is every set of the benchmark, whatever the model or run. Without a wish of its own the screen follows the
    sidebar: fresh sets first, at most ``most``. The baseline is the first random set, unless the link names another.
    """
    here = sets[sets["benchmark"] == selection.benchmark]
    offered = tuple(dict.fromkeys([*(i for i in selection.set_ids), *here["set_id"].astype(str)]))
    problems = [f"this link asks for the set '{i}', which this benchmark does not hold here" for i in wanted if i not in offered]
    kinds = dict(zip(here["set_id"], here["kind"], strict=True))
    methods = dict(zip(here["set_id"], here["method"], strict=True))
    kept = tuple(dict.fromkeys(i for i in wanted if i in offered))[:most]
    fresh = tuple(i for i in selection.set_ids if kinds.get(i) == "measurement")
    shown = kept or (fresh if len(fresh) > 1 else selection.set_ids)[:most]
    for name, value in (("baseline", baseline), ("comparison", against)):
        if value is not None and value not in shown:
            problems.append(f"the {name} '{value}' is not among these sets")
    first = baseline if baseline in shown else next((i for i in shown if methods.get(i) == "random"), shown[0])
    rest = [i for i in shown if i != first]
    opened = against if against in rest else (rest[0] if rest else None)
    return Chosen((str(first), *rest), str(first), opened, offered, tuple(problems), bool(kept))


def current(selection: Selection) -> Chosen:
    """What the URL asks for."""
    return choose(readers.sets(), selection, url.get("compare"), url.first("baseline"), url.first("against"))


def pick_sets(chosen: Chosen) -> None:
    """The multi-select over everything the benchmark holds, and the way back to the sidebar's sets."""
    names = readers.names(chosen.offered)
    key = "chosen sets"
    st.session_state[key] = list(chosen.set_ids)

    def follow() -> None:
        url.changed(compare=st.session_state[key] or None, pair=None, pbin=None, pwidth=None)

    with st.popover(f"Choose sets ({len(chosen.set_ids)} of {len(chosen.offered)})", icon=":material/checklist:"):
        st.multiselect(
            f"Margin sets side by side, at most {MOST}: any rule, model and run of this benchmark", list(chosen.offered), key=key,
            format_func=lambda i: names[i], on_change=follow, max_selections=MOST, placeholder="Choose two to six sets", width=560,
        )
        st.button(
            "Follow the sidebar again", icon=":material/undo:", disabled=not chosen.own,
            on_click=lambda: url.changed(compare=None, baseline=None, against=None, pair=None, pbin=None, pwidth=None),
        )


def pick_pair(chosen: Chosen) -> None:
    """Baseline and open comparison, side by side."""
    with st.container(horizontal=True, key="pair-picks"):
        names = labels(readers.descriptions(chosen.set_ids))
        _one("baseline", "Baseline", sorted(chosen.set_ids, key=list(names).index), chosen.baseline, names)
        if chosen.against is not None:
            _one("against", "Compared with it", chosen.others, chosen.against, names)


def _one(name: str, label: str, options: Sequence[str], value: str, names: Mapping[str, str]) -> None:
    key = f"chosen {name}"
    st.session_state[key] = value

    def follow() -> None:
        url.changed(**{name: st.session_state[key]}, pair=None, pbin=None, pwidth=None)

    st.selectbox(label, list(options), key=key, format_func=lambda i: names[i], on_change=follow)


def problems(found: Sequence[str]) -> None:
    """Sentences about what a link asked for in vain."""
    for sentence in found:
        st.warning(plain(f"{sentence}; shown instead is what the controls say."))

