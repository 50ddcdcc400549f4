"""A figure on a page: the picture, its footer in words, and what can be taken away from it."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from observatory import exports
from observatory.descriptor import to_yaml
from observatory.figures import footer as feet
from observatory.figures import theme
from observatory.figures.described import Described
from observatory.ui import readers, url

Click = Callable[[list[Any]], None]


@dataclass(frozen=True)
class Carried:
    """What travels with a figure: a line at its foot, and whole records (name -> YAML) in its HTML file."""

    essentials: str
    title: str
    records: Mapping[str, str]


def colours() -> theme.Mode:
    return theme.mode(st.context.theme.type)


def draw(
    key: str, figure: go.Figure, footer: str, sets: Sequence[Described], alt: str, on_click: Click | None = None,
    export: bool = True, carried: Carried | None = None,
) -> None:
    """Draw with the foot for exports baked in. ``on_click`` gets the clicked mark's ``customdata``, or [] for none.

    ``carried`` stands in for the descriptors where a figure shows no margin set, such as a metric with its context.
    """
    carried = carried or of_sets(sets)
    hidden = feet.bake(figure, carried.essentials, footer, colours())
    state = f"chart {key}"

    def clicked() -> None:
        points = st.session_state[state].selection.points
        if on_click is not None:
            on_click(list(points[0].get("customdata") or []) if points else [])

    # The baked foot is invisible here, so the room that it takes is cut off.
    seen = int(figure.layout.height) - hidden
    st.html(
        f"<style>.st-key-figure-{key} {{ max-height: {seen}px; overflow: hidden; }}"
        f".st-key-figure-{key} .modebar-container {{ top: auto !important; bottom: {hidden}px !important; height: 30px !important; }}"
        "</style>"
    )
    with st.container(key=f"figure-{key}"):
        st.plotly_chart(
            figure, theme=None, key=state, config=_config(key, int(figure.layout.height)), alt=alt, selection_mode="points",
            on_select=clicked if on_click is not None else "ignore",
        )
    with st.container(key=f"footer-{key}"):
        st.text(footer)
    if export:
        _exports(key, figure, sets, carried)


def _config(key: str, height: int) -> dict[str, Any]:
    return {
        "displaylogo": False, "displayModeBar": True, "scrollZoom": False, "doubleClick": False,
        "modeBarButtonsToRemove": [
            "zoom2d", "pan2d", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d",
        ],
        "toImageButtonOptions": {
            "format": (url.first("image") or "png"), "filename": f"observatory-{key}", "width": 1280, "height": height, "scale": 2,
        },
    }


def of_sets(sets: Sequence[Described]) -> Carried:
    return Carried(feet.essentials(sets), "Negative-set descriptors", {s.set_id: to_yaml(s.descriptor) for s in sets})


def _exports(key: str, figure: go.Figure, sets: Sequence[Described], carried: Carried) -> None:
    """Files are made when somebody asks for them. Rows exist only where margins were measured per query."""
    ids = [s.set_id for s in sets if not s.published]
    with st.popover("Export what is shown", icon=":material/download:"):
        url.choice("image", "The camera under the figure saves", ["png", "svg"], at=key)
        st.download_button(
            "Figure as HTML", lambda: page(figure, carried), f"observatory-{key}.html", "text/html", key=f"html {key}", on_click="ignore"
        )
        if ids:
            store = readers.store()
            st.download_button(
                "Margins as CSV", lambda: exports.csv_bytes(store, ids), "margins.csv", "text/csv", key=f"csv {key}",
                on_click="ignore",
            )
            st.download_button(
                "Margins as Parquet", lambda: exports.parquet_bytes(store, ids), "margins.parquet",
                "application/vnd.apache.parquet", key=f"parquet {key}", on_click="ignore",
            )
        st.text("Each file carries what its numbers were measured against.")


def page(figure: go.Figure, carried: Carried) -> str:
    """One self-contained HTML page: the figure, and the records it must not be parted from."""
    body = figure.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    cards = "\n".join(
        f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(text)}</pre></details>" for name, text in carried.records.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Retrieval Observatory</title></head>'
        f"<body>{body}<h2>{html.escape(carried.title)}</h2>{cards}</body></html>"
    )
