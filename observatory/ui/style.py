"""The few rules of CSS that the theme's settings cannot express. Constant text: nothing from data ever gets in here."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component
from streamlit.components.v2.types import ComponentRenderer

from observatory.figures.theme import COLOURS

FAVICON = str(Path(__file__).with_name("favicon.svg"))
_CHIPS = "\n".join(
    f'[class*="st-key-chip-{method}-"] button {{ border-left: 0.45rem solid {colour} !important; }}'
    for method, colour in COLOURS.items()
)

CSS = f"""<style>
.stApp, .stApp button, .stApp text {{ font-variant-numeric: tabular-nums; }}
.stMainBlockContainer {{ max-width: 1380px; padding-left: 2.2rem; padding-right: 2.2rem; }}
h1 {{ padding-bottom: 0.1rem !important; }}
[class*="st-key-strip"] {{ gap: 0.35rem !important; }}
[class*="st-key-chip-"] button {{ min-height: 1.9rem; padding: 0.1rem 0.6rem; }}
[class*="st-key-chip-"] button p {{ font-size: 0.86rem; white-space: nowrap; }}
[data-testid="stBaseButton-primary"]:not(:disabled) {{ color: light-dark(#FFFFFF, #0E1320) !important; }}
[class*="st-key-chip-missing"] button {{ border-color: #C4381C !important; background: rgba(196,56,28,0.10) !important; }}
[class*="st-key-chip-asserted"] button {{ border-color: #8B5CC6 !important; background: rgba(139,92,198,0.12) !important; }}
{_CHIPS}
/* The first annotation is the foot for exports; beside the figure the same words stand as text that wraps. */
[class*="st-key-figure-"] .annotation[data-index="0"] {{ display: none; }}
[class*="st-key-footer-"] [data-testid="stText"] {{ font-size: 0.9rem; opacity: 0.85; }}
/* Tags in the colour of text: the theme's white on the dark accent is too faint. */
[data-testid="stMultiSelectTagsContainer"] [data-tag] {{
  background: transparent; color: inherit; box-shadow: inset 0 0 0 1px currentColor; max-width: 100%; font-size: 0.84rem;
}}
/* The same on the one button that is filled with the accent. */
.st-key-start button:not(:disabled) {{ color: light-dark(#FFFFFF, #0E1320); }}
@media (max-width: 640px) {{
  .stMainBlockContainer {{ padding-left: 1rem; padding-right: 1rem; }}
  h1 {{ font-size: 1.5rem !important; }}
  /* Baseline and comparison get a line of their own, not what the buttons before them leave over. */
  :has(> .st-key-pair-picks), .st-key-pair-picks {{ flex-basis: 100% !important; min-width: 100%; }}
  .st-key-strip {{ display: grid !important; grid-template-rows: repeat(2, auto); grid-auto-flow: column;
    grid-auto-columns: max-content; overflow-x: auto; padding-bottom: 0.3rem; }}
}}
</style>"""


# Two things that only the browser knows. Streamlit changes colours without running the page again, and figures are
# coloured here, so a change asks for a run. And a page that stopped after its figure is told when that is drawn.
_WATCH = """
export default function ({ data, setTriggerValue }) {
  const paper = () => getComputedStyle(document.querySelector(".stApp")).backgroundColor;
  const started = Date.now();
  let last = paper(), waiting = data.waiting;
  const timer = setInterval(() => {
    const now = paper();
    if (now !== last) { last = now; setTriggerValue("paper", now); }
    if (waiting && (document.querySelector(".js-plotly-plot .main-svg") || Date.now() - started > 8000)) {
      waiting = false; setTriggerValue("painted", true);
    }
  }, 150);
  return () => clearInterval(timer);
}
"""
_PAINTED, _WAITING = "figure painted", "figure awaited"


def apply() -> None:
    """Put the rules into the page."""
    st.html(CSS)


def figure_first() -> bool:
    """Whether a page should stop after its figure, for now: in a browser's first run of the app.

    Tables and tabs cost the browser as much as the figure does. It draws the figure first and then asks for the rest.
    """
    if st.session_state.get(_PAINTED) or not st.context.headers:
        return False
    st.session_state[_WAITING] = True
    return True


def follow_browser() -> None:
    """Run the page again when a reader changes between light and dark, and when an awaited figure is drawn."""
    waiting = st.session_state.pop(_WAITING, False)
    st.session_state[_PAINTED] = st.session_state.get(_PAINTED, False) or waiting
    _watcher()(
        key="browser", height=1, data={"waiting": waiting}, on_paper_change=lambda: None, on_painted_change=lambda: None
    )


@st.cache_resource(show_spinner=False)
def _watcher() -> ComponentRenderer:
    return component("observatory_browser", js=_WATCH)
