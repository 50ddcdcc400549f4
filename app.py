"""The frame of the Retrieval Observatory: configuration, sidebar selection and the pages. Run: observatory serve."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # two spinning threads slow down every other process on a core

import streamlit as st

from observatory.ui import states, style

# One line a page: file, title, address, icon. The first is the one that opens.
PAGES = (
    ("pages/overview.py", "Overview", "overview", ":material/scatter_plot:"),
    ("pages/tour.py", "Tour", "tour", ":material/slideshow:"),
    ("pages/margins.py", "Margins", "margins", ":material/bar_chart:"),
    ("pages/compare.py", "Compare", "compare", ":material/compare_arrows:"),
    ("pages/strata.py", "Strata", "strata", ":material/stacked_bar_chart:"),
    ("pages/calibration.py", "Calibration", "calibration", ":material/tune:"),
    ("pages/metrics.py", "Metrics", "metrics", ":material/leaderboard:"),
    ("pages/query.py", "Query", "query", ":material/search:"),
    ("pages/published.py", "Published", "published", ":material/menu_book:"),
    ("pages/report.py", "Report", "report", ":material/description:"),
    ("pages/run.py", "Run", "run", ":material/play_circle:"),
    ("pages/artifacts.py", "Artifacts", "artifacts", ":material/inventory_2:"),
)

st.set_page_config(
    "Retrieval Observatory", page_icon=style.FAVICON, layout="wide", initial_sidebar_state=330,
    menu_items={"About": "Retrieval Observatory: retrieval margins, each with what it was measured against."},
)
pages = [st.Page(file, title=title, url_path=address, icon=icon) for file, title, address, icon in PAGES]
file, title, address, icon = PAGES[0]
# The page that opens lives at "/"; its own address works in a link too, as a second entry that the menu does not list.
pages[0] = st.Page(file, title=title, url_path="home", icon=icon, default=True)
page = st.navigation([*pages, st.Page(file, title=title, url_path=address, icon=icon, visibility="hidden")])
page.run()  # before the sidebar: the browser fetches the figure's code while the rest is still being drawn
states.frame()
style.follow_browser()
