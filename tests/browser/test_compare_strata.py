"""Compare and Strata in a real browser: a point, a bar and a stratum each lead to sentences, and links restore them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from observatory.figures import theme
from observatory.store import Store
from tests.browser.conftest import press
from tests.browser.test_app import PLOT, open_page, parameters, row_of, see_cells  # noqa: F401

pytestmark = pytest.mark.browser

# The place on the screen of a mark: figure (in the page's order) and its customdata.
PLACE = """([number, wanted]) => {
  const plot = document.querySelectorAll('.js-plotly-plot')[number], full = plot._fullLayout;
  plot.scrollIntoView({block: 'center'});
  const box = plot.getBoundingClientRect();
  for (const trace of plot._fullData) {
    const at = (trace.customdata || []).findIndex(c => JSON.stringify(Array.from(c).slice(0, wanted.length)) === JSON.stringify(wanted));
    if (at < 0) continue;
    const x = trace.x[at], y = trace.type === 'bar' ? trace.y[at] / 2 : trace.y[at];
    return {x: box.left + full.xaxis._offset + full.xaxis.d2p(x), y: box.top + full.yaxis._offset + full.yaxis.d2p(y)};
  }
}"""


def click(page: Any, number: int, wanted: list[Any], parameter: str) -> None:
    """Click a mark once it stands still (the sidebar is drawn after the page and moves it), and wait for the URL to name it."""
    page.wait_for_function("n => document.querySelectorAll('.js-plotly-plot').length > n", arg=number)
    page.wait_for_selector('[data-testid="stSidebar"] >> text=Negative sets')
    place, before = page.evaluate(PLACE, [number, wanted]), None
    for _ in range(40):
        if place is not None and place == before:
            break
        page.wait_for_timeout(400)
        place, before = page.evaluate(PLACE, [number, wanted]), place
    page.mouse.move(place["x"], place["y"])
    page.mouse.click(place["x"], place["y"])
    page.wait_for_function("name => new URL(location).searchParams.has(name)", arg=parameter, timeout=60_000)



def choose(page: Any, table: str, row: int) -> None:
    """Choose a row of a table by its box at the left, once the table stands still."""
    grid = page.locator(f".st-key-{table} canvas").first
    grid.scroll_into_view_if_needed(timeout=60_000)
    before = None
    for _ in range(40):
        box = grid.bounding_box()
        if box is not None and box == before:
            break
        page.wait_for_timeout(400)
        before = box
    assert before is not None
    page.mouse.click(before["x"] + 18, before["y"] + 35 * row + 52)  # the canvas lies under what scrolls it


def again(page: Any, open_page: Any, wait: str) -> Any:  # noqa: F811
    """The same link in a fresh browser context."""
    found = open_page(page.url.split(urlsplit(page.url).netloc)[1], wait)
    found.wait_for_timeout(300)
    assert parameters(found) == parameters(page)
    return found


def test_a_clicked_point_opens_its_query_and_the_link_restores_it(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    store = Store(store_folder, ())
    base, other = row_of(store_folder, "random").set_id, row_of(store_folder, "bm25").set_id
    points = store.pair_points(base, other)
    apart = points.assign(key=points["before"] * 1000 + points["after"]).drop_duplicates("key")
    query = str(apart.sort_values("after").iloc[-1]["query_id"])
    page = open_page(f"/compare?against={other}")
    assert page.locator("text=controlled: only mining differs").is_visible()
    click(page, 0, [query], "pair")
    opened = parameters(page)["pair"][0]
    row = store.pair_queries(base, other, query_id=opened).iloc[0]
    page.wait_for_selector(".st-key-opened-pair")
    shown = page.locator(".st-key-opened-pair")
    shown.locator(f"text={row['query']}").first.wait_for()
    assert row["reference_before"] in shown.inner_text()
    see_cells(page, row["hardest_after"], row["hardest_before"])
    restored = again(page, open_page, ".st-key-opened-pair")
    restored.locator(".st-key-opened-pair").locator(f"text={row['query']}").first.wait_for()


def test_a_clicked_bar_lists_its_queries(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    base, other = row_of(store_folder, "random").set_id, row_of(store_folder, "bm25").set_id
    page = open_page(f"/compare?against={other}")
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length > 1")
    bins = page.evaluate("document.querySelectorAll('.js-plotly-plot')[1].data[0].customdata")
    index, width, n = max(bins, key=lambda c: c[2])
    click(page, 1, [index, width], "pbin")
    expected = Store(store_folder, ()).pair_queries(base, other, index=index, width=width)
    assert len(expected) == n
    page.wait_for_selector(f"text={n} queries with a difference in")
    press(page, "Next query")
    page.wait_for_selector(".st-key-opened-pair")
    assert expected.iloc[0]["reference_before"] in page.locator(".st-key-opened-pair").inner_text()


def test_a_clicked_stratum_lists_its_queries_and_the_link_restores_it(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    set_id = row_of(store_folder, "bm25").set_id
    page = open_page("/strata?by=domain&set=bm25")
    click(page, 0, [set_id, "harbour"], "stratum")
    expected = Store(store_folder, ()).queries_in_stratum(set_id, "domain", "harbour")
    page.wait_for_selector(f"text={len(expected)} queries under bm25")
    press(page, "Next query")
    page.wait_for_selector(".st-key-opened-query")
    assert expected.iloc[0]["reference"] in page.locator(".st-key-opened-query").inner_text()
    page.wait_for_function("new URL(location).searchParams.has('query')")
    restored = again(page, open_page, ".st-key-opened-query")
    assert expected.iloc[0]["reference"] in restored.locator(".st-key-opened-query").inner_text()


def test_a_stratum_of_two_sets_leads_to_both_sides(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    base, other = row_of(store_folder, "random").set_id, row_of(store_folder, "bm25").set_id
    page = open_page(f"/strata?by=domain&strata=two+sets,+paired&baseline={base}&against={other}")
    click(page, 0, [other, "library"], "stratum")
    expected = Store(store_folder, ()).pair_queries(base, other, stratum=("domain", "library"))
    page.wait_for_selector(f"text={len(expected)} queries with domain library")
    press(page, "Next query")
    page.wait_for_selector(".st-key-opened-pair")
    page.wait_for_function("new URL(location).searchParams.has('pair')")
    restored = again(page, open_page, ".st-key-opened-pair")
    assert expected.iloc[0]["reference_before"] in restored.locator(".st-key-opened-pair").inner_text()


@pytest.mark.parametrize(("scheme", "mode"), [("light", theme.LIGHT), ("dark", theme.DARK)])
@pytest.mark.parametrize("path", ["/compare", "/strata?by=domain"])
def test_page_and_figure_wear_the_same_theme(open_page: Any, path: str, scheme: str, mode: theme.Mode) -> None:  # noqa: F811
    page = open_page(path, scheme=scheme)
    paper = "rgb(" + ", ".join(str(int(mode.paper[i : i + 2], 16)) for i in (1, 3, 5)) + ")"
    page.wait_for_function(
        "paper => getComputedStyle(document.querySelector('.js-plotly-plot .main-svg')).backgroundColor === paper", arg=paper
    )


@pytest.mark.parametrize("path", ["/compare", "/strata?by=domain"])
def test_nothing_is_wider_than_a_phone_and_axes_are_readable(open_page: Any, path: str) -> None:  # noqa: F811
    page = open_page(path, width=390, height=844)
    assert page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollWidth") <= 390
    sizes = page.locator(".js-plotly-plot .xtick text").evaluate_all("all => all.map(t => parseFloat(getComputedStyle(t).fontSize))")
    assert sizes and min(sizes) >= 14


def test_an_exported_comparison_carries_both_descriptors(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    page = open_page("/compare")
    page.get_by_role("button", name="Export what is shown").first.click()
    with page.expect_download() as download:
        press(page, "Margins as CSV")
    from observatory.exports import read_csv

    descriptors, rows = read_csv(Path(download.value.path()))
    first = row_of(store_folder, "random").set_id
    assert first in descriptors and len(descriptors) == 2 and set(rows["set_id"]) == set(descriptors)


def test_a_chosen_row_opens_its_comparison_and_the_table_leaves_with_its_descriptors(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    from observatory.exports import read_csv

    ids = [row_of(store_folder, rule).set_id for rule in ("random", "in_model", "bm25")]
    page = open_page("/compare?" + "&".join(f"compare={i}" for i in ids), '[data-testid="stDataFrame"]')
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length > 1")
    choose(page, "comparisons", 2)
    page.wait_for_function("id => new URL(location).searchParams.get('against') === id", arg=ids[2])
    page.wait_for_function("document.querySelector('.js-plotly-plot')?.layout.yaxis.title.text.includes('bm25')")
    with page.expect_download() as download:
        page.locator(".st-key-table-comparisons button").first.click()
    descriptors, rows = read_csv(Path(download.value.path()))
    assert set(descriptors) == set(ids) and list(rows["other_set_id"]) == ids[1:] and set(rows["baseline_set_id"]) == {ids[0]}


def test_a_chosen_row_opens_its_stratum_and_letting_go_closes_it(open_page: Any, store_folder: Path) -> None:  # noqa: F811
    set_id = row_of(store_folder, "bm25").set_id
    page = open_page("/strata?by=domain&set=bm25", '[data-testid="stDataFrame"]')
    see_cells(page, "harbour", "library")
    choose(page, "strata-table", 1)
    page.wait_for_function("new URL(location).searchParams.has('stratum')")
    assert parameters(page)["within"] == [set_id]
    name = parameters(page)["stratum"][0]
    expected = Store(store_folder, ()).queries_in_stratum(set_id, "domain", name)
    page.wait_for_selector(f"text={len(expected)} queries under bm25")
    see_cells(page, expected.iloc[0]["query"], expected.iloc[0]["reference"])
    choose(page, "strata-table", 1)
    page.wait_for_function("!new URL(location).searchParams.has('stratum')")
