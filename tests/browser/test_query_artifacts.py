"""Query, Artifacts and Published in a real browser: a deep link, the next query by key, an upload, the quarantine's fields."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from observatory import archives
from observatory.store import Store
from tests.browser.conftest import press, serving, settled
from tests.conftest import ROOT
from tests.pages.conftest import HOSTILE

pytestmark = pytest.mark.browser

ROW = ROOT / "data" / "published" / "published-row-1.8"
SECTIONS = ".st-key-query-candidates section"


@pytest.fixture(scope="module")
def store(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of this file alone: one measurement and one that lacks two fields."""
    root = tmp_path_factory.mktemp("artifacts") / "store"
    folder = next(p for p in store_folder.iterdir() if (p / "margins.parquet").is_file())
    shutil.copytree(folder, root / folder.name)
    shutil.copytree(folder, root / "incomplete")
    manifest = json.loads((root / "incomplete" / "artifact.json").read_text())
    for field in ("dtype", "revision"):
        del manifest["margin_sets"]["bm25"]["descriptor"]["scorer"][field]
    (root / "incomplete" / "artifact.json").write_text(json.dumps(manifest))
    (root / "incomplete" / "lock.json").unlink()
    return root


@pytest.fixture(scope="module")
def address(store: Path, browser: object) -> Any:
    with serving(store) as found:
        yield found


@pytest.fixture
def open_page(browser: Any, address: str) -> Any:
    contexts = []

    def opened(path: str, wait: str, width: int = 1440, height: int = 1400, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = context.new_page()
        page.goto(address + path)
        page.locator(wait).first.wait_for(timeout=60_000)
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()


def parameters(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def see_cells(page: Any, *texts: str) -> None:
    page.wait_for_function(
        """texts => {
          const all = [...document.querySelectorAll('[data-testid="stDataFrame"] canvas')].map(c => c.textContent).join(' ');
          return texts.every(t => all.includes(t));
        }""",
        arg=list(texts), timeout=60_000,
    )


def test_a_deep_link_opens_a_query_and_the_arrow_goes_to_the_next(open_page: Any, store: Path) -> None:
    found = Store(store, ())
    set_id = next(str(i) for i in found.sets()["set_id"] if str(i).endswith("/bm25"))
    order = found.query_ids(set_id, "smallest")
    page = open_page(f"/query?under={set_id}&q={order[3]}&set=bm25&set=random", SECTIONS)
    row = found.query_of(set_id, order[3])
    assert row is not None
    page.get_by_role("heading", name=f"Query {order[3]}", exact=True).wait_for()
    assert page.locator(SECTIONS).count() == 2
    shown = page.locator(".st-key-query-passages .card").all_inner_texts()
    assert row["query"] in shown[0] and row["reference"] in shown[1]
    assert page.locator("tr.hardest").count() == 2
    page.locator("h1").first.click()  # the focus leaves the address
    page.keyboard.press("ArrowRight")
    page.get_by_role("heading", name=f"Query {order[4]}", exact=True).wait_for()
    page.wait_for_function("id => new URL(location).searchParams.get('q') === id", arg=order[4])
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name=f"Query {order[3]}", exact=True).wait_for()
    press(page, "Next")
    page.wait_for_function("id => new URL(location).searchParams.get('q') === id", arg=order[4])
    again = open_page(page.url.split(urlsplit(page.url).netloc)[1], SECTIONS)
    again.get_by_role("heading", name=f"Query {order[4]}", exact=True).wait_for()
    assert parameters(again) == parameters(page)


def test_the_slash_goes_to_the_search(open_page: Any) -> None:
    page = open_page("/query", SECTIONS)
    page.locator("h1").first.click()
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement === document.querySelector('.st-key-find input')")
    page.keyboard.type("crate 7 quay")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Query q7-keyword", exact=True).wait_for()
    page.wait_for_function("new URL(location).searchParams.get('find') === 'crate 7 quay'")


def test_hostile_text_is_text(open_page: Any) -> None:
    page = open_page("/query?q=q0-question&set=structured_perturbation", SECTIONS)
    card = page.locator(".st-key-query-passages .card").nth(1)
    assert HOSTILE in card.inner_text()
    assert card.locator("a, b").count() == 0


@pytest.mark.parametrize("path", ["/query", "/artifacts", "/artifacts?part=Refused", "/artifacts?part=Import", "/published"])
def test_nothing_is_wider_than_a_phone(path: str, open_page: Any) -> None:
    page = open_page(path, "h1", width=390, height=844)
    page.wait_for_timeout(500)
    assert page.evaluate("document.querySelector('[data-testid=\"stMain\"]').scrollWidth") <= 390


def test_the_quarantine_names_each_field(open_page: Any) -> None:
    page = open_page("/artifacts?part=Refused", '[data-testid="stDataFrame"]')
    page.get_by_text("Exit code 4").wait_for()
    see_cells(page, "scorer.dtype", "scorer.revision", "Field required", "measure again")


def test_an_upload_is_imported_and_its_page_opened(open_page: Any, store: Path, tmp_path: Path) -> None:
    (tmp_path / "row.zip").write_bytes(archives.pack(ROW))
    page = open_page("/artifacts?part=Import", ".st-key-import-by-upload")
    page.locator('input[type="file"]').set_input_files(str(tmp_path / "row.zip"))
    page.get_by_text("row.zip").first.wait_for()
    press(page, "Check and import")
    page.get_by_text("Imported: published-row-1.8").wait_for()
    page.get_by_role("heading", name="Row 1.8, all-mpnet-base-v2").wait_for()
    assert (store / ROW.name / "lock.json").read_bytes() == (ROW / "lock.json").read_bytes()
    press(page, "Verify now")
    page.get_by_text("match lock.json").wait_for()
    press(page, "Export")
    with page.expect_download() as download:
        press(page, "The artifact as zip")
    assert Path(download.value.path()).read_bytes() == archives.pack(ROW)
    page.get_by_role("link", name="Published").click()
    press(page, "Open in Overview")
    page.get_by_role("heading", name="Mean margins of all-mpnet-base-v2").wait_for()


def test_a_refused_upload_shows_its_faults_and_is_not_kept(open_page: Any, store: Path, tmp_path: Path) -> None:
    from tests.test_uploads import zipped

    (tmp_path / "bad.zip").write_bytes(zipped(("artifact.json", (store / "incomplete" / "artifact.json").read_bytes())))
    before = sorted(p.name for p in store.iterdir())
    page = open_page("/artifacts?part=Import", ".st-key-import-by-upload")
    page.locator('input[type="file"]').set_input_files(str(tmp_path / "bad.zip"))
    page.get_by_text("bad.zip").first.wait_for()
    press(page, "Check and import")
    page.get_by_text("It was not kept").wait_for()
    see_cells(page, "scorer.dtype", "Field required")
    assert sorted(p.name for p in store.iterdir()) == before
