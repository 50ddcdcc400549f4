"""The Fieldnotes builder: the release is what the sources build, and every validator catches what it is there for."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from observatory.benchmarks import build
from observatory.benchmarks.build_records import Records, build_records, corpus_hash, item_id
from observatory.benchmarks.build_rules import RULES
from observatory.benchmarks.build_source import Instance, SourceError, expand_family, expand_sentence, read_sources
from observatory.benchmarks.build_text import Row, band, content_stems, lexical_overlap, stem
from observatory.benchmarks.build_validate import VALIDATORS, overlap_table, validate, wordless_share

SOURCES = build.FOLDER / "sources"


@pytest.fixture(scope="module")
def pristine() -> Records:
    return build_records(read_sources(SOURCES))


@pytest.fixture
def records(pristine: Records) -> Records:
    """A copy that a test may break."""

    def fresh(rows: list[Row]) -> list[Row]:
        return [json.loads(json.dumps(row)) for row in rows]  # several times faster than deepcopy

    return replace(pristine, items=fresh(pristine.items), queries=fresh(pristine.queries), pairs=fresh(pristine.pairs))


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fieldnotes")
    build.write_release(SOURCES, folder)
    return folder


def load(name: str) -> list[Row]:
    return [json.loads(line) for line in (build.FOLDER / name).read_text(encoding="utf-8").splitlines()]


# --- the release ------------------------------------------------------------------------------------------------------


def test_the_release_is_byte_for_byte_what_the_sources_build(rebuilt: Path) -> None:
    names = {path.name for path in rebuilt.iterdir()}
    assert names == {path.name for path in build.FOLDER.iterdir() if path.is_file()}
    for name in sorted(names):
        assert (build.FOLDER / name).read_bytes() == (rebuilt / name).read_bytes(), name


def test_check_finds_a_changed_and_a_missing_file(rebuilt: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    for path in rebuilt.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert build.main(["--check", "--out", str(tmp_path)]) == 0
    (tmp_path / "items.jsonl").write_bytes((rebuilt / "items.jsonl").read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "pairs.jsonl").unlink()
    capsys.readouterr()
    assert build.main(["--check", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "items.jsonl" in printed and "pairs.jsonl is missing" in printed and "queries.jsonl" not in printed


@pytest.mark.parametrize("command", [["-m", "observatory.benchmarks.build"], ["observatory/benchmarks/build.py"]])
def test_it_runs_as_a_module_and_as_a_file(command: list[str], rebuilt: Path) -> None:
    root = build.FOLDER.parents[2]
    done = subprocess.run(
        [sys.executable, *command, "--check", "--out", str(rebuilt)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_manifest_describes_the_files() -> None:
    manifest = json.loads((build.FOLDER / "manifest.json").read_text(encoding="utf-8"))
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((build.FOLDER / name).read_bytes()).hexdigest() == digest
    assert manifest["licence"] == "CC-BY-4.0"
    assert manifest["warnings"] == 0
    assert manifest["counts"]["items"] == len(load("items.jsonl"))


def test_the_corpus_hash_follows_its_definition() -> None:
    digest = hashlib.sha256()
    for name in ("items.jsonl", "pairs.jsonl", "queries.jsonl"):
        # The files are written in the hashed form, so the definition reduces to the concatenated bytes.
        digest.update((build.FOLDER / name).read_bytes())
    stated = (build.FOLDER / "corpus_hash.txt").read_text(encoding="utf-8")
    assert stated == digest.hexdigest() + "\n"
    assert stated.strip() in (build.FOLDER / "datasheet.md").read_text(encoding="utf-8")


def test_sizes() -> None:
    items, queries = load("items.jsonl"), load("queries.jsonl")
    assert len(items) >= 1500 and len(queries) >= 400
    texts = Counter(item["text_id"] for item in items)
    assert len(texts) >= 45 and max(texts.values()) >= 5 * min(texts.values())
    assert len({item["template_family"] for item in items}) >= 90
    assert 6 <= len({item["domain"] for item in items}) <= 7
    assert set(Counter(query["target_item_id"] for query in queries).values()) == {2, 3, 4}


def test_the_overlap_of_every_structured_relation_is_spread(pristine: Records) -> None:
    table = overlap_table(pristine)
    for name in [*RULES, "positive, grade 3"]:
        assert all(table[name][key] >= 0.15 for key in ("low", "middle", "high")), (name, table[name])
    assert wordless_share(pristine) >= 0.15


# --- validators -------------------------------------------------------------------------------------------------------


def test_every_validator_passes_on_the_release(pristine: Records) -> None:
    assert validate(pristine) == {name: [] for name in VALIDATORS}


def structured(records: Records, relation: str) -> Row:
    """Return the first item that was made by ``relation``."""
    return next(i for i in records.items if i["provenance"].get("transformation") == relation)


def repeat_text(records: Records) -> None:
    records.items[1]["text"] = records.items[0]["text"].upper()


def repeat_item_as_query(records: Records) -> None:
    records.queries[0]["text"] = records.items[0]["text"]


def change_text_under_its_id(records: Records) -> None:
    records.items[0]["text"] += " Indeed."


def leave_a_mark(records: Records) -> None:
    records.items[0]["text"] += " $A"
    records.items[0]["id"] = item_id(records.items[0]["text"])


def copy_across_instances(records: Records) -> None:
    first = records.items[0]
    other = next(
        i for i in records.items if i["domain"] == first["domain"] and i["template_family"] != first["template_family"]
    )
    other["text"] = first["text"] + " Today."


def lose_a_parent(records: Records) -> None:
    structured(records, "negation")["provenance"]["parent"] = "i-0000000000"


def lose_a_pair_member(records: Records) -> None:
    records.pairs[0]["b_id"] = "i-0000000000"


def lose_a_negative(records: Records) -> None:
    records.queries[0]["hard_negatives"][0]["item_id"] = "i-0000000000"


def demote_the_target(records: Records) -> None:
    records.queries[0]["positives"][0]["grade"] = 2


def put_another_positive_first(records: Records) -> None:
    records.queries[0]["positives"].reverse()


def list_a_positive_as_negative(records: Records) -> None:
    query = records.queries[0]
    query["hard_negatives"].append(
        {"item_id": query["target_item_id"], "method": "entity_matched", "underlying_relation": "entity-related"}
    )


def list_a_negative_twice(records: Records) -> None:
    records.queries[0]["hard_negatives"].append(records.queries[0]["hard_negatives"][0])


def mislabel_a_negative(records: Records) -> None:
    row = next(n for n in records.queries[0]["hard_negatives"] if n["method"] == "structured_perturbation")
    row["underlying_relation"] = next(r for r in RULES if r != row["underlying_relation"])


def invent_a_method(records: Records) -> None:
    records.queries[0]["hard_negatives"][0]["method"] = "random"


def take_a_lexical_match_from_the_own_instance(records: Records) -> None:
    query = records.queries[0]
    row = next(n for n in query["hard_negatives"] if n["method"] == "lexical_overlap_matched")
    own = records.instance_of[query["target_item_id"]]
    used = {r["item_id"] for r in query["positives"] + query["hard_negatives"]}
    row["item_id"] = (
        next((i for i, key in records.instance_of.items() if key == own and i not in used), None)
        or (query["hard_negatives"].pop(0)["item_id"])
    )


def match_an_entity_that_is_not_there(records: Records) -> None:
    row = next(n for n in records.queries[0]["hard_negatives"] if n["method"] == "entity_matched")
    next(i for i in records.items if i["id"] == row["item_id"])["entities"] = []


def name_no_entity(records: Records) -> None:
    records.queries[0]["text"] = "Who is it?"


def break_grade_order(records: Records) -> None:
    records.queries[0]["positives"][-1]["grade"] = 3


def shrink(records: Records) -> None:
    del records.items[200:]


def equalise_texts(records: Records) -> None:
    for place, item in enumerate(records.items):
        item["text_id"] = f"text-{place % 45}"


def drop_queries_of_a_cluster(records: Records) -> None:
    target = records.queries[0]["target_item_id"]
    kept = [query for query in records.queries if query["target_item_id"] != target]
    records.queries[:] = [records.queries[0], *kept]


def copy_the_target_wording(records: Records) -> None:
    """Every query in the exact words of its target: overlap would then explain everything."""
    texts = {item["id"]: item["text"] for item in records.items}
    for query in records.queries:
        query["text"] = texts[query["target_item_id"]]


BREAKAGES: list[tuple[str, Callable[[Records], None], str]] = [
    ("texts", repeat_text, "occurs 2 times"),
    ("texts", repeat_item_as_query, "repeats an item"),
    ("texts", change_text_under_its_id, "does not follow from its text"),
    ("texts", leave_a_mark, "unfilled mark"),
    ("near_duplicates", copy_across_instances, "near-duplicates"),
    ("references", lose_a_parent, "parent i-0000000000"),
    ("references", lose_a_pair_member, "pair p-"),
    ("references", lose_a_negative, "query q-"),
    ("queries", demote_the_target, "not the first positive with grade 3"),
    ("queries", put_another_positive_first, "not the first positive with grade 3"),
    ("queries", list_a_positive_as_negative, "a positive is among the negatives"),
    ("queries", list_a_negative_twice, "listed twice"),
    ("queries", mislabel_a_negative, "of its parent"),
    ("queries", invent_a_method, "unknown method"),
    ("queries", take_a_lexical_match_from_the_own_instance, "no lexical match from another instance"),
    ("queries", match_an_entity_that_is_not_there, "shares no entity"),
    ("queries", name_no_entity, "names no entity"),
    ("queries", break_grade_order, "falling order"),
    ("overlap", copy_the_target_wording, "overlap has a share of"),
    ("sizes", shrink, "fewer than 1500"),
    ("sizes", equalise_texts, "nearly equal size"),
    ("sizes", drop_queries_of_a_cluster, "not 2 to 4"),
]


@pytest.mark.parametrize(("validator", "breakage", "words"), BREAKAGES, ids=lambda v: getattr(v, "__name__", None))
def test_a_broken_record_fails(
    records: Records, validator: str, breakage: Callable[[Records], None], words: str
) -> None:
    breakage(records)
    faults = VALIDATORS[validator](records)
    assert any(words in fault for fault in faults), faults[:3]


@pytest.mark.parametrize("relation", list(RULES))
def test_a_perturbation_with_a_second_change_fails(records: Records, relation: str) -> None:
    child = structured(records, relation)
    child["text"] = child["text"].replace(".", " somewhere else entirely.")
    faults = VALIDATORS["relations"](records)
    assert any(child["id"] in fault and relation in fault for fault in faults)


@pytest.mark.parametrize("relation", list(RULES))
def test_a_perturbation_that_changes_nothing_fails(records: Records, relation: str) -> None:
    child = structured(records, relation)
    parent = next(i for i in records.items if i["id"] == child["provenance"]["parent"])
    child["text"] = parent["text"]
    assert any(child["id"] in fault for fault in VALIDATORS["relations"](records))


def test_faults_stop_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "validate", lambda records: {"texts": ["a fault"]})
    assert build.main(["--out", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


# --- decision rules on single pairs -----------------------------------------------------------------------------------


def item(text: str, entities: list[str] | None = None, time: str | None = None) -> Row:
    return {"text": text, "entities": entities or [], "time_index": time}


def test_negation_accepts_a_negator_or_a_listed_antonym_only() -> None:
    rule = RULES["negation"]
    assert rule(item("It stores files."), item("It does not store files."), []) is None
    assert rule(item("It can run."), item("It cannot run."), []) is None
    assert rule(item("It still fails."), item("It no longer fails."), [("no longer", "still")]) is None
    assert rule(item("It still fails."), item("It rarely fails."), [("no longer", "still")]) is not None
    assert rule(item("It stores files."), item("It does not store tapes."), []) is not None
    assert rule(item("It is not old."), item("It is not old."), []) is not None


def test_swap_wants_the_same_words_in_another_order() -> None:
    rule = RULES["relation-swap"]
    assert rule(item("Ada pays Bo."), item("Bo pays Ada."), []) is None
    assert rule(item("Ada pays Bo."), item("Bo is paid by Ada."), []) is not None


def test_temporal_wants_words_of_time_only() -> None:
    rule = RULES["temporal-mismatch"]
    monday = item("It opens on Monday.", time="Monday")
    assert rule(monday, item("It opens on Friday.", time="Friday"), []) is None
    assert rule(monday, item("It opens on Friday.", time="Monday"), []) is not None
    assert rule(monday, item("It shuts on Friday.", time="Friday"), []) is not None


def test_quantifier_wants_quantifiers_and_agreement_only() -> None:
    rule = RULES["quantifier-change"]
    assert rule(item("Every share is full."), item("Only some shares are full."), []) is None
    assert rule(item("Every share is full."), item("Only some disks are full."), []) is not None


def test_entity_wants_one_name_for_another() -> None:
    rule = RULES["entity-substitution"]
    parent = item("Ada Moor signs it for Harrow.", ["Harrow", "Ada Moor"])
    assert rule(parent, item("Bo Lisle signs it for Harrow.", ["Harrow", "Bo Lisle"]), []) is None
    assert rule(parent, item("Bo Lisle signs it for Tern.", ["Tern", "Bo Lisle"]), []) is not None
    assert rule(parent, item("Bo Lisle signs all for Harrow.", ["Harrow", "Bo Lisle"]), []) is not None


# --- words, sources, choice of negatives ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("forms", "expected"),
    [(("stores", "stored", "storing", "store"), "stor"), (("copies", "copied", "copy"), "copy"), (("boxes", "box"), "box"),
     (("shipped", "ships", "shipping"), "ship"), (("keeps", "kept"), "keep"), (("passes", "pass"), "pas")],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(forms: tuple[str, ...], expected: str) -> None:
    assert {stem(form) for form in forms} == {expected}


def test_overlap_by_hand() -> None:
    assert content_stems("It does not keep the files.") == {"keep", "fil"}
    assert lexical_overlap("Harrow keeps files", "Harrow kept tapes") == pytest.approx(2 / 4)
    assert lexical_overlap("It is not.", "Was it?") == 0.0
    assert lexical_overlap("Tern runs", "Tern does not run") == 1.0
    assert [band(value) for value in (0.0, 0.1999, 0.2, 0.4999, 0.5, 1.0)] == [
        "low", "low", "middle", "middle", "high", "high",
    ]  # fmt: skip


def test_a_template_expands_to_itself_and_one_sentence_for_each_edit() -> None:
    template = "<Q:every|only one;N:not every> key of <S:$A> is sent to <S:$B> on <T:$y|$z>."
    values = {"A": "Ada", "B": "Bo", "y": "Monday", "z": "Friday"}
    assert [(s.text, s.relation, s.time_index) for s in expand_sentence("T", template, values)] == [
        ("Every key of Ada is sent to Bo on Monday.", None, "Monday"),
        ("Only one key of Ada is sent to Bo on Monday.", "quantifier-change", "Monday"),
        ("Not every key of Ada is sent to Bo on Monday.", "negation", "Monday"),
        ("Every key of Bo is sent to Ada on Monday.", "relation-swap", "Monday"),
        ("Every key of Ada is sent to Bo on Friday.", "temporal-mismatch", "Friday"),
    ]


def test_source_faults_name_the_place(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no sentence family"):
        read_sources(tmp_path)
    family = {"id": "f", "slots": "A x", "rows": [["d", "Ada"]], "Q": {}}
    with pytest.raises(SourceError, match="row 1: 1 values for 2 slots"):
        expand_family("domain", {"d": "text"}, family)
    with pytest.raises(SourceError, match=r"slot \$x"):
        expand_sentence("T", "$A has $x.", {"A": "Ada"})


def test_mined_negatives_are_authored_and_prefer_other_families(pristine: Records) -> None:
    items = {row["id"]: row for row in pristine.items}
    for query in pristine.queries:
        target = items[query["target_item_id"]]
        mined = [n for n in query["hard_negatives"] if n["method"] != "structured_perturbation"]
        assert all(items[n["item_id"]]["provenance"]["kind"] == "authored" for n in mined)
        lexical = [items[n["item_id"]] for n in mined if n["method"] == "lexical_overlap_matched"]
        same_family = [i for i in lexical if i["template_family"] == target["template_family"]]
        assert len(lexical) - len(same_family) == 2 and len(same_family) <= 2
        # The same fact about another subject may only stand against a query that says which subject it means.
        assert not same_family or target["entities"][0].lower() in query["text"].lower()


def test_the_choice_does_not_depend_on_the_order_of_sources(pristine: Records) -> None:
    instances: list[Instance] = read_sources(SOURCES)
    again = build_records(instances[::-1])
    assert corpus_hash(again.items, again.pairs, again.queries) == corpus_hash(
        pristine.items, pristine.pairs, pristine.queries
    )
