"""The main paths in a real browser: numbers seen, a bar clicked, its texts read, links that restore, both themes, exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from observatory.figures import numbers, theme
from observatory.store import Store
from tests.browser.conftest import press, settled

pytestmark = pytest.mark.browser

BARS = '[data-testid="stPlotlyChart"] .js-plotly-plot .barlayer path'
PLOT = '[data-testid="stPlotlyChart"] .js-plotly-plot .main-svg'
# The place on the screen of a bar's middle: set and bin are in its customdata.
PLACE = """([rule, bin]) => {
  const plot = document.querySelector('.js-plotly-plot'), box = plot.getBoundingClientRect(), full = plot._fullLayout;
  for (const trace of plot.data) {
    if (trace.type !== 'bar') continue;
    const at = trace.customdata.findIndex(c => c[0].endsWith('/' + rule) && c[1] === bin);
    if (at < 0) continue;
    const height = plot._fullData[trace.index ?? plot.data.indexOf(trace)].y[at];
    return {x: box.left + full.xaxis._offset + full.xaxis.d2p((bin + 0.5) * trace.customdata[at][2]),
            y: box.top + full.yaxis._offset + full.yaxis.d2p(height) + 3, n: trace.customdata[at][3],
            width: trace.customdata[at][2]};
  }
}"""


@pytest.fixture
def open_page(browser: Any, server: str) -> Any:
    """A function that opens a path in a context of its own and waits for a figure."""
    contexts = []

    def opened(path: str, wait: str = PLOT, width: int = 1440, height: int = 1400, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.goto(server + path)
        page.wait_for_selector(wait, timeout=60_000, state="attached")
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()


def see_cells(page: Any, *texts: str) -> None:
    """Wait until all texts are in tables: they are drawn on canvases, with a table inside for those who do not see it."""
    page.wait_for_function(
        """texts => {
          const all = [...document.querySelectorAll('[data-testid="stDataFrame"] canvas')].map(c => c.textContent).join(' ');
          return texts.every(t => all.includes(t));
        }""",
        arg=list(texts), timeout=60_000,
    )


def parameters(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def row_of(store_folder: Path, rule: str) -> Any:
    sets = Store(store_folder, ()).sets()
    return sets[(sets["kind"] == "measurement") & (sets["rule"] == rule)].iloc[0]


def test_the_very_first_visit_may_be_a_deep_link(open_page: Any) -> None:
    page = open_page("/margins", BARS)
    page.wait_for_selector('[data-testid="stSidebar"] >> text=Negative sets')
    names = " ".join(page.locator('[data-testid="stSidebarNavLink"]').all_inner_texts())
    assert "Margins" in names and "app" not in names.split()


def test_overview_shows_the_numbers_of_the_store(open_page: Any, store_folder: Path) -> None:
    page = open_page("/")
    row = row_of(store_folder, "bm25")
    mean = f"{numbers.margin(row.mean_margin)} {numbers.interval(row.mean_low, row.mean_high)}"
    assert mean in page.locator(".js-plotly-plot").first.inner_text()
    see_cells(page, mean, f"{numbers.rate(row.win_rate)} [", f"{numbers.rate(row.win_rate)} (interval not measured)")
    assert page.locator("text=fields not recorded").first.is_visible()


def test_a_clicked_bar_opens_its_queries_and_the_link_restores_them(open_page: Any, store_folder: Path) -> None:
    page = open_page("/margins?set=bm25&set=random&scale=count", BARS)
    row = row_of(store_folder, "bm25")
    drawn = page.evaluate("document.querySelector('.js-plotly-plot').data.filter(t => t.type === 'bar').flatMap(t => t.customdata)")
    _, index, width, n = max((c for c in drawn if c[0] == row.set_id), key=lambda c: c[3])
    place = page.evaluate(PLACE, ["bm25", index])
    page.mouse.click(place["x"], place["y"])
    page.wait_for_function("new URL(location).searchParams.has('bin')")
    assert (parameters(page)["of"], parameters(page)["bin"]) == ([row.set_id], [str(index)])
    expected = Store(store_folder, ()).queries_in_bin(row.set_id, index, width)
    assert len(expected) == n
    page.wait_for_selector(f"text={n} queries under bm25")
    press(page, "Next query")
    page.wait_for_selector(".st-key-opened-query")
    page.wait_for_function("new URL(location).searchParams.has('query')")
    first = expected.iloc[0]
    see_cells(page, first["query"], first["hardest"])
    assert first["reference"] in page.locator(".st-key-opened-query").inner_text()
    again = open_page(page.url.split(urlsplit(page.url).netloc)[1], ".st-key-opened-query")
    assert parameters(again) == parameters(page)
    assert first["reference"] in again.locator(".st-key-opened-query").inner_text()
    pressed = '[data-testid="stSidebar"] [data-variant="pills"][aria-pressed="true"]'
    again.wait_for_function("selector => document.querySelectorAll(selector).length === 2", arg=pressed)


def test_one_selection_for_all_pages(open_page: Any) -> None:
    page = open_page("/?set=bm25")
    page.get_by_role("link", name="Margins").click()
    page.wait_for_selector(BARS, state="attached")
    page.wait_for_function("new URL(location).searchParams.getAll('set').join() === 'bm25'")


def test_an_unknown_id_in_a_link_is_named(open_page: Any) -> None:
    page = open_page("/?run=nowhere")
    assert page.locator("text=asks for the run 'nowhere'").is_visible()


def test_the_figure_comes_first_and_the_tables_follow_by_themselves(open_page: Any) -> None:
    page = open_page("/margins", BARS)
    page.wait_for_selector('[data-testid="stDataFrame"]', state="attached", timeout=60_000)
    assert page.locator("text=Tail counts").is_visible()


@pytest.mark.parametrize(("scheme", "mode"), [("light", theme.LIGHT), ("dark", theme.DARK)])
@pytest.mark.parametrize("path", ["/", "/margins"])
def test_page_and_figure_wear_the_same_theme(open_page: Any, path: str, scheme: str, mode: theme.Mode) -> None:
    page = open_page(path, scheme=scheme)
    paper = "rgb(" + ", ".join(str(int(mode.paper[i : i + 2], 16)) for i in (1, 3, 5)) + ")"
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == paper
    page.wait_for_function(
        "paper => getComputedStyle(document.querySelector('.js-plotly-plot .main-svg')).backgroundColor === paper", arg=paper
    )


def test_figures_follow_a_change_of_theme(open_page: Any) -> None:
    page = open_page("/margins", BARS)
    page.locator('[data-testid="stMainMenu"] button, [data-testid="stMainMenuButton"]').first.click()
    page.locator("text=Dark").last.click()
    page.wait_for_function(
        "getComputedStyle(document.querySelector('.js-plotly-plot .main-svg')).backgroundColor === 'rgb(14, 19, 32)'"
    )


@pytest.mark.parametrize("path", ["/", "/margins"])
def test_nothing_is_wider_than_a_phone_and_axes_are_readable(open_page: Any, path: str) -> None:
    page = open_page(path, width=390, height=844)
    assert page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollWidth") <= 390
    tops = set(page.locator('[class*="st-key-chip-"]').evaluate_all("all => all.map(c => Math.round(c.getBoundingClientRect().top))"))
    assert len(tops) == 2
    sizes = page.locator(".js-plotly-plot .xtick text").evaluate_all("all => all.map(t => parseFloat(getComputedStyle(t).fontSize))")
    assert sizes and min(sizes) >= 14


def test_no_request_leaves_this_machine(open_page: Any, browser: Any, server: str) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server)
    page.wait_for_selector(PLOT, state="attached")
    page.wait_for_timeout(500)
    page.close()
    assert asked and [u for u in asked if not u.startswith((server, server.replace("http", "ws"), "data:", "blob:"))] == []


def test_an_exported_picture_carries_its_descriptor(open_page: Any, store_folder: Path) -> None:
    page = open_page("/margins?image=svg", BARS)
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as download:
        page.locator('.modebar-btn[data-title^="Download"]').first.click()
    svg = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename.endswith(".svg")
    row = row_of(store_folder, "bm25")
    assert row.corpus_hash[:8] in svg and "Does not establish" in svg and "unadjudicated" in svg


@pytest.mark.parametrize(("button", "mark"), [("Margins as CSV", "# observatory-descriptors"), ("Figure as HTML", "negative_set_descriptor")])
def test_exported_files_carry_their_descriptors(open_page: Any, store_folder: Path, button: str, mark: str) -> None:
    page = open_page("/margins", BARS)
    press(page, "Export what is shown")
    with page.expect_download() as download:
        press(page, button)
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert mark in text and row_of(store_folder, "bm25").corpus_hash in text


def test_a_chip_opens_the_card_with_yaml(open_page: Any, store_folder: Path) -> None:
    page = open_page("/")
    press(page, "corpus ")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("tab", name="YAML").click()
    dialog.locator("text=negative_set_descriptor").wait_for()
    assert row_of(store_folder, "random").corpus_hash in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.get_by_role("tab", name="Accounting").click()
    page.wait_for_function("new URL(location).searchParams.size > 0")
    settled(page)
    assert dialog.count() == 0, "a card that was closed stays closed"
