"""The Artifacts and Published pages: what is loaded, what was refused, imports, exports, completions, published tables."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from observatory import archives, completion, uploads
from observatory.admission import admit
from observatory.published_tables import Column, PublishedTable
from observatory.store import Store
from observatory.ui import faults, published_view
from tests.conftest import ROOT
from tests.pages.conftest import NUMBER, Point, app, words

ARTIFACTS, PUBLISHED = "pages/artifacts.py", "pages/published.py"
SHIPPED = ROOT / "data" / "published"
ROW = SHIPPED / "published-row-1.8"


def press(test: AppTest, label: str) -> AppTest:
    return next(b for b in test.button if b.label == label).click().run()


def messages(test: AppTest) -> str:
    return " ".join(str(e.value).replace("\\", "") for kind in ("success", "error", "warning", "info") for e in getattr(test, kind))


# -- what is loaded --------------------------------------------------------------------------------------------------


def test_an_empty_store_teaches_and_can_import(point: Point, tmp_path: Path) -> None:
    point(tmp_path / "none")
    test = app(ARTIFACTS)
    assert not test.exception and not test.error and test.title[0].value == "Artifacts"
    assert "Nothing is loaded yet" in words(test) and any("observatory run" in c.value for c in test.code)
    test = app(ARTIFACTS, part="Import")
    assert not test.exception and test.text_input(key="import path") is not None
    assert not app(ARTIFACTS, part="Refused").exception
    assert "No published figures" in words(app(PUBLISHED))


def test_artifacts_are_listed_with_where_they_lie(point: Point, measured: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(measured, store)
    shutil.copytree(ROW, tmp_path / "elsewhere" / "row")
    point(store, SHIPPED)
    listed = app(ARTIFACTS).dataframe[0].value
    assert dict(zip(listed["title"], listed["from"], strict=True))["Row 1.8, all-mpnet-base-v2 on RELATE v0.1"] == "shipped"
    assert list(listed["from"]).count("store") == 1 and listed["kind"][0] == "measured" and listed["holds"][0] == "4 sets"
    point(store)
    uploads.link(tmp_path / "elsewhere" / "row", store)
    listed = app(ARTIFACTS).dataframe[0].value
    assert set(listed["from"]) == {"store", "linked"} and set(listed["lock"]) == {"locked"}


def test_a_link_opens_an_artifact_its_set_and_its_part(point: Point, measured: Path) -> None:
    point(measured, SHIPPED)
    test = app(ARTIFACTS, artifact=ROW.name, rule="bm25", about="YAML")
    assert not test.exception and not test.error and not test.warning
    assert test.selectbox(key="pick rule").value == "bm25"
    text = next(c.value for c in test.code if "negative_set_descriptor" in c.value)
    assert "method: bm25" in text
    assert "17 fields not recorded" in words(app(ARTIFACTS, artifact=ROW.name)) or "fields not recorded" in "".join(
        m.value for m in app(ARTIFACTS, artifact=ROW.name).markdown
    )
    assert "'nowhere'" in messages(app(ARTIFACTS, artifact="nowhere"))


@pytest.mark.parametrize("about", ["Card", "YAML", "Run record", "Complete by hand"])
@pytest.mark.parametrize("artifact", ["published-row-1.8", ""])
def test_every_part_of_every_card_can_be_read(about: str, artifact: str, point: Point, measured: Path) -> None:
    point(measured, SHIPPED)
    test = app(ARTIFACTS, about=about, **({"artifact": artifact} if artifact else {}))
    assert not test.exception and not test.error
    assert "nan" not in words(test).lower().split() and "None" not in words(test)


def test_verify_now_hashes_and_recomputes(point: Point, measured: Path, tmp_path: Path) -> None:
    shutil.copytree(measured, tmp_path / "store")
    point(tmp_path / "store")
    test = press(app(ARTIFACTS), "Verify now")
    assert "10 files match lock.json, and the rows give every number" in messages(test)
    assert "not a seal" in words(test)
    (folder,) = (tmp_path / "store").iterdir()
    raw, status = (folder / "items.parquet").read_bytes(), (folder / "items.parquet").stat()
    (folder / "items.parquet").write_bytes(raw[:-9] + b"x" + raw[-8:])
    import os

    os.utime(folder / "items.parquet", ns=(status.st_atime_ns, status.st_mtime_ns))  # nothing that a glance would see
    test = press(app(ARTIFACTS), "Verify now")
    assert not test.exception and "do not match lock.json" in messages(test)
    table = next(t.value for t in test.dataframe if "fault" in t.value)
    assert list(table["field"]) == ["items.parquet"]


# -- quarantine ------------------------------------------------------------------------------------------------------


def test_quarantine_shows_code_fields_and_mends_and_no_number(point: Point, refused_and_published: Path, measured: Path) -> None:
    incomplete = refused_and_published / "incomplete"
    shutil.copytree(next(measured.iterdir()), incomplete)
    manifest = json.loads((incomplete / "artifact.json").read_text())
    for field in ("dtype", "revision"):
        del manifest["margin_sets"]["bm25"]["descriptor"]["scorer"][field]
    manifest["margin_sets"]["random"]["descriptor"]["mining"]["rng_seed"] = "not_recorded"
    (incomplete / "artifact.json").write_text(json.dumps(manifest))
    (incomplete / "lock.json").unlink()
    point(refused_and_published)
    test = app(ARTIFACTS, part="Refused")
    assert not test.exception and not test.error
    text = words(test)
    assert "Exit code 4" in text and "Exit code 3" in text and NUMBER.search(text) is None
    tables = {tuple(t.value["field"]): t.value for t in test.dataframe}
    assert ("artifact.json",) in tables
    (mine,) = [t for fields, t in tables.items() if len(fields) == 3]
    assert set(zip(mine["negative set"], mine["field"], strict=True)) == {
        ("bm25", "scorer.dtype"), ("bm25", "scorer.revision"), ("random", "mining.rng_seed")
    }
    assert all(mine["how to mend"])


@pytest.mark.parametrize(
    ("reason", "row"),
    [
        ("margin_sets.in_model[2:7].descriptor.scorer.dtype: Field required", ("in_model[2:7]", "scorer.dtype", "Field required")),
        ("items.parquet: does not match lock.json", ("all", "items.parquet", "does not match lock.json")),
        ("tables[0].rows[3]: has 2 cells", ("all", "tables[0].rows[3]", "has 2 cells")),
        ("something else went wrong", ("all", "the folder", "something else went wrong")),
    ],
)
def test_a_reason_becomes_a_field(reason: str, row: tuple[str, str, str]) -> None:
    assert tuple(faults.table([reason]).iloc[0][:3]) == row


# -- import and export -----------------------------------------------------------------------------------------------


def test_import_by_path_links_and_opens(point: Point, tmp_path: Path) -> None:
    shutil.copytree(ROW, tmp_path / "row")
    point(tmp_path / "store")
    test = app(ARTIFACTS, part="Import")
    test.text_input(key="import path").set_value(str(tmp_path / "row"))
    test = press(test, "Check and link")
    assert not test.exception and "Linked: published-row-1.8" in messages(test)
    assert test.query_params["artifact"] == ROW.name and list(test.dataframe[0].value["from"]) == ["linked"]


@pytest.mark.parametrize("typed", ["", "/nowhere/at/all", "/etc/passwd", "a\0b", "x" * 4000])
def test_a_path_that_is_no_artifact_is_a_sentence(typed: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "store")
    test = app(ARTIFACTS, part="Import")
    test.text_input(key="import path").set_value(typed)
    test = press(test, "Check and link")
    assert not test.exception and len(test.error) == 1 and Store(tmp_path / "store", ()).artifacts().empty


def test_a_refused_folder_is_linked_and_its_faults_are_shown(point: Point, tmp_path: Path) -> None:
    shutil.copytree(ROW, tmp_path / "bad")
    (tmp_path / "bad" / "more.txt").write_text("x")
    point(tmp_path / "store")
    test = app(ARTIFACTS, part="Import")
    test.text_input(key="import path").set_value(str(tmp_path / "bad"))
    test = press(test, "Check and link")
    assert not test.exception and "listed under Refused" in messages(test)
    assert list(test.dataframe[0].value["field"]) == ["more.txt"]
    assert "bad" in list(Store(tmp_path / "store", ()).quarantine()["artifact_id"])


def test_import_by_upload(point: Point, tmp_path: Path) -> None:
    point(tmp_path / "store")
    test = app(ARTIFACTS, part="Import")
    test.file_uploader[0].set_value(("row.zip", archives.pack(ROW), "application/zip")).run()
    test = press(test, "Check and import")
    assert not test.exception and "Imported: published-row-1.8" in messages(test)
    assert (tmp_path / "store" / ROW.name / "lock.json").is_file()
    test = app(ARTIFACTS, part="Import")
    test.file_uploader[0].set_value(("bad.zip", b"PK\x03\x04nonsense", "application/zip")).run()
    test = press(test, "Check and import")
    assert not test.exception and "cut off or damaged" in messages(test) and "It was not kept." in messages(test)


def test_a_read_only_server_changes_nothing(point: Point, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point(measured, SHIPPED)
    monkeypatch.setenv("OBSERVATORY_READ_ONLY", "1")
    test = app(ARTIFACTS, part="Import")
    assert "read-only" in messages(test) and not [b for b in test.button if b.label.startswith("Check and")]
    test = app(ARTIFACTS, artifact=ROW.name, about="Complete by hand")
    assert "read-only" in messages(test) and not [b for b in test.button if b.label == "State these values"]


def test_an_exported_artifact_comes_back_whole(measured: Path, tmp_path: Path) -> None:
    folder = next(measured.iterdir())
    (tmp_path / "a.zip").write_bytes(archives.pack(folder))
    assert {n.split("/")[0] for n in zipfile.ZipFile(tmp_path / "a.zip").namelist()} == {folder.name}
    again, new = uploads.receive((tmp_path / "a.zip").read_bytes(), "a.zip", tmp_path / "store")
    assert new and again.descriptors == admit(folder).descriptors


# -- completing by hand ----------------------------------------------------------------------------------------------


def test_a_completion_is_badged_with_who_and_when_and_stays_published(point: Point, measured: Path) -> None:
    store = measured.parent / "completed"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(measured, store)
    point(store, SHIPPED)
    before = Store(store, (SHIPPED,)).sets()
    test = app(ARTIFACTS, artifact=ROW.name, rule="random", about="Complete by hand")
    test.text_input(key=f"{ROW.name} random scorer.dtype").set_value("float*32*")
    test.text_input(key=f"{ROW.name} random who").set_value("Ada [x](http://evil.example)")
    test = press(test, "State these values")
    assert not test.exception and not test.error and "1 value recorded as asserted by Ada" in messages(test)
    test = app(ARTIFACTS, artifact=ROW.name, rule="random")
    badges = " ".join(m.value for m in test.markdown)
    assert "asserted: 1 of them" in badges and "evil.example" not in badges
    assert "1 by Ada [x](http://evil.example), 20" in " ".join(t.value for t in test.text)
    card = next(t.value for t in test.dataframe if "stated by" in t.value).set_index("field")
    assert card.loc["dtype", "value"] == "float*32*" and card.loc["dtype", "stated by"].startswith("asserted by Ada")
    assert card.loc["backend", "stated by"] == "the source" and card.loc["backend", "value"] == "not recorded"
    yaml = app(ARTIFACTS, artifact=ROW.name, rule="random", about="YAML")
    assert any("# asserted, not recorded by the source: scorer.dtype" in c.value for c in yaml.code)
    assert Store(store, (SHIPPED,)).sets().equals(before)
    overview = app("pages/overview.py", run=ROW.name)
    assert not overview.exception and "published" in words(overview)
    badge = next(b for b in overview.button if (b.key or "").startswith("chip-asserted"))
    assert badge.label == "asserted by hand\\: 1 of them"
    assert not [b for b in app("pages/overview.py", run=next(measured.iterdir()).name).button if (b.key or "").startswith("chip-asserted")]


@pytest.mark.parametrize(("value", "who", "sentence"), [("float32", "", "must be named"), ("", "Ada", "nothing was filled in")])
def test_an_incomplete_form_is_a_sentence(value: str, who: str, sentence: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "store", SHIPPED)
    test = app(ARTIFACTS, artifact=ROW.name, rule="random", about="Complete by hand")
    test.text_input(key=f"{ROW.name} random scorer.dtype").set_value(value)
    test.text_input(key=f"{ROW.name} random who").set_value(who)
    test = press(test, "State these values")
    assert not test.exception and sentence in messages(test)
    assert not (tmp_path / "store" / completion.PLACE).exists() or completion.read(tmp_path / "store").history == ()


def test_a_measurement_has_no_form(point: Point, measured: Path) -> None:
    point(measured)
    test = app(ARTIFACTS, about="Complete by hand")
    assert "never completed by hand" in words(test) and not [b for b in test.button if b.label == "State these values"]


def test_a_broken_ledger_is_shown_and_not_used(point: Point, tmp_path: Path) -> None:
    store = tmp_path / "store"
    completion.record(store, admit(ROW), ["random"], {"scorer.dtype": "float32"}, "Ada")
    path = store / completion.PLACE
    path.write_bytes(path.read_bytes().replace(b"float32", b"float16"))
    point(store, SHIPPED)
    test = app(ARTIFACTS, artifact=ROW.name, rule="random")
    assert not test.exception and "ledger of asserted values is broken" in messages(test) and "none of its entries is used" in messages(test)
    assert "float16" not in words(test) and not any("stated by" in t.value for t in test.dataframe)


def test_a_line_that_was_cut_off_is_said_to_be(point: Point, tmp_path: Path) -> None:
    completion.record(tmp_path, admit(ROW), ["random"], {"scorer.dtype": "float32"}, "Ada")
    path = tmp_path / completion.PLACE
    path.write_bytes(path.read_bytes() + b'{"artifact":')
    point(tmp_path, SHIPPED)
    test = app(ARTIFACTS, artifact=ROW.name, rule="random")
    assert not test.exception and "cut off while it was written" in messages(test)
    assert any("stated by" in t.value for t in test.dataframe), "the whole lines stand"


# -- published -------------------------------------------------------------------------------------------------------

DOCUMENTS = {a.id: a for a in (admit(p) for p in sorted(SHIPPED.iterdir()) if (p / "artifact.json").is_file())}
TABLES = [(a.id, t.id) for a in DOCUMENTS.values() for t in a.published]


@pytest.mark.parametrize(("document", "table"), TABLES)
def test_every_published_table_is_shown_as_stated(document: str, table: str, point: Point, tmp_path: Path) -> None:
    point(tmp_path / "none", SHIPPED)
    test = app(PUBLISHED, document=document, table=table)
    assert not test.exception and not test.error
    stated = next(t for t in DOCUMENTS[document].published if t.id == table)
    text = words(test)
    assert "Published figures, not measured here" in text and stated.where.replace("not_recorded", "not recorded") in text
    assert "not_recorded" not in text and "nan" not in text.lower().split()
    shown = test.dataframe[0].value
    assert shown.shape == (len(stated.rows), len(stated.columns))
    for i, column in enumerate(stated.columns):
        for row, cell in zip(stated.rows, shown.iloc[:, i], strict=True):
            value = row[i]
            if isinstance(value, str):
                assert cell == published_view.in_words(value)
            else:
                number = float(cell.replace("\u202f", "")) / (100 if column.unit == "rate" else 1)
                assert number == pytest.approx(value, abs=1e-9), (column, cell)
    for omission in stated.omissions:
        assert published_view.in_words(omission) in text


def test_margin_tables_point_to_the_overview(point: Point, measured: Path) -> None:
    point(measured, SHIPPED)
    test = app(PUBLISHED, document=ROW.name)
    assert not test.exception and "4 negative sets" in words(test)
    test = press(test, "Open in Overview").switch_page("pages/overview.py").run()
    assert not test.exception and test.title[0].value == "Mean margins of all\\-mpnet\\-base\\-v2"
    assert test.query_params["run"] == ROW.name or ROW.name in test.query_params["run"]


def test_numbers_are_written_by_their_unit() -> None:
    def cells(unit: str, *values: int | float | str) -> list[str]:
        return published_view.cells(Column(name="x", unit=unit), list(values))

    assert cells("rate", 0.182, 0.0, 1, "not_recorded") == ["18.2", "0.0", "100.0", "not recorded"]
    assert cells("difference", -0.0078, 0.056, 0.0) == ["-0.0078", "+0.0560", "0.0000"]
    assert cells("count", 10_000, 300) == ["10\u202f000", "300"]
    assert cells("milliseconds", 12.5, 1234) == ["12.5", "1\u202f234.0"]
    assert cells("score", 0.4159, "not_applicable") == ["0.4159", "not applicable"]


def test_headings_carry_units_and_stay_apart() -> None:
    context = dict.fromkeys(("candidate_pool", "relevance_definition", "gain", "tie_policy", "missing_queries_policy"), "x")
    table = PublishedTable.model_validate({
        "id": "t", "title": "T", "where": "w", "context": {**context, "cutoff": "not_recorded"}, "rows": [["a", 0.5, 0.5]], "omissions": [],
        "note": "", "columns": [{"name": "a", "unit": "text"}, {"name": "r", "unit": "rate"}, {"name": "r", "unit": "rate"}],
    })
    assert published_view.headings(table) == ["a", "r (%) [1]", "r (%) [2]"]
    assert published_view.context(table.context)["cutoff"] == "not recorded"
