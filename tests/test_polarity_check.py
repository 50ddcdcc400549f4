"""The shipped polarity triplets are sound, and each kind of fault is found on a copy broken in that way only."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observatory import polarity_check
from observatory.polarity_check import Decision, check, conditions, lower, overlap, overlap_report, read, words

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "benchmarks" / "polarity"
SHIPPED = FOLDER / "triplets.json"

Rows = list[dict[str, Any]]
Triplets = dict[str, Rows]


@pytest.fixture
def triplets() -> Triplets:
    return read(SHIPPED)


def row(triplets: Triplets, language: str, name: str) -> dict[str, Any]:
    return next(r for r in triplets[language] if r["id"] == name)


def test_shipped_set_has_no_fault(triplets: Triplets) -> None:
    assert check(triplets) == []


def test_shipped_set_has_the_promised_size_and_ids(triplets: Triplets) -> None:
    for language in ("en", "tr"):
        assert [r["id"] for r in triplets[language]] == [f"pol-{n:03d}" for n in range(1, 61)]
        assert Counter(r["kind"] for r in triplets[language]) == {"explicit_marker": 24, "antonym": 24, "state_change": 12}


def test_six_decisions_pair_the_right_texts() -> None:
    fields = {f: f for f in polarity_check.TEXT_FIELDS}
    found = conditions({"id": "x", "kind": "antonym", "domain": "d", **fields})

    def decision(condition: str, direction: str, right: str, wrong: str) -> Decision:
        return Decision("x", "antonym", condition, direction, f"query_{direction}", right, wrong)

    assert found == (
        decision("same_wording", "positive", "doc_positive", "doc_negative"),
        decision("same_wording", "negative", "doc_negative", "doc_positive"),
        decision("different_wording", "positive", "paraphrase_positive", "doc_negative"),
        decision("different_wording", "negative", "paraphrase_negative", "doc_positive"),
        decision("control", "positive", "paraphrase_positive", "paraphrase_negative"),
        decision("control", "negative", "paraphrase_negative", "paraphrase_positive"),
    )


def test_120_decisions_a_language_and_condition(triplets: Triplets) -> None:
    for language in ("en", "tr"):
        counted = Counter((d.condition, d.direction) for r in triplets[language] for d in conditions(r))
        assert set(counted.values()) == {60} and len(counted) == 6
    assert [(r.language, r.condition, r.n_decisions) for r in overlap_report(triplets)] == [
        (language, condition, 120) for language in ("en", "tr") for condition in ("same_wording", "different_wording", "control")
    ]


def test_each_wording_condition_points_where_it_should(triplets: Triplets) -> None:
    for report in overlap_report(triplets):
        if report.condition == "same_wording":
            assert report.right == 1.0
        elif report.condition == "different_wording":
            assert report.wrong - report.right > 0.6
        else:
            assert report.right == pytest.approx(report.wrong, abs=0.02)


def test_report_can_be_limited_to_kinds(triplets: Triplets) -> None:
    assert {r.n_decisions for r in overlap_report(triplets, ["state_change"])} == {24}
    assert overlap_report(triplets, []) == []


def test_datasheet_shows_the_measured_overlap(triplets: Triplets) -> None:
    text = (FOLDER / "datasheet.md").read_text(encoding="utf-8")

    def line(r: polarity_check.OverlapRow, label: str) -> str:
        return f"| {r.language} | {label} | {r.n_decisions} | {r.right:.2f} | {r.wrong:.2f} | {r.wrong - r.right:+.2f} |"

    for report in overlap_report(triplets):
        assert line(report, report.condition) in text
    for kind in polarity_check.KIND_COUNTS:
        for report in overlap_report(triplets, [kind]):
            if report.condition == "different_wording":
                assert line(report, kind) in text


# One way to break the set for each rule: rule, language, id of the fault, and what breaks it.
def _set(language: str, name: str, **fields: Any) -> Callable[[Triplets], None]:
    return lambda t: row(t, language, name).update(fields)


def _drop_key(t: Triplets) -> None:
    del row(t, "en", "pol-003")["domain"]


def _drop_language(t: Triplets) -> None:
    del t["tr"]


def _add_language(t: Triplets) -> None:
    t["de"] = []


def _drop_turkish(t: Triplets) -> None:
    t["tr"].remove(row(t, "tr", "pol-003"))


def _drop_english(t: Triplets) -> None:
    t["en"].remove(row(t, "en", "pol-003"))


def _reorder_turkish(t: Triplets) -> None:
    t["tr"].reverse()


def _repeat_text(t: Triplets) -> None:
    row(t, "tr", "pol-004")["paraphrase_positive"] = row(t, "tr", "pol-003")["paraphrase_positive"].replace("i", "İ").upper()


def _swap_pair(t: Triplets) -> None:
    broken = row(t, "en", "pol-002")
    broken["doc_negative"] = "The checkout release never reached the production cluster because a switch, two cables and one fan died."


def _split_paraphrases(t: Triplets) -> None:
    row(t, "en", "pol-010")["paraphrase_negative"] = "Someone upstairs disliked the idea and sent it home."


def _share_with_query(t: Triplets) -> None:
    for side, verb in (("positive", "agreed"), ("negative", "refused")):
        row(t, "en", "pol-010")[f"paraphrase_{side}"] = f"In autumn the board {verb} to pay the laboratory budget of Ivarsson."


def _share_with_query_in_turkish(t: Triplets) -> None:
    for side, verb in (("positive", "kabul etti"), ("negative", "reddetti")):
        text = f"Sonbaharda yöneticiler Ivarsson'un laboratuvarına ait bütçeyi vermeyi {verb}."
        row(t, "tr", "pol-010")[f"paraphrase_{side}"] = text


def _share_with_document(t: Triplets) -> None:
    for side, verb in (("positive", "agreed"), ("negative", "refused")):
        row(t, "en", "pol-010")[f"paraphrase_{side}"] = f"At an October session the directors {verb} to pay for the Ivarsson wing."


def _weak_trap(t: Triplets) -> None:
    row(t, "en", "pol-025")["doc_negative"] = "The nightly compilation of the grammar on the Lindqvist line crashed."


def _lopsided_control(t: Triplets) -> None:
    row(t, "en", "pol-025")["paraphrase_negative"] += " The parser did it."


BROKEN: list[tuple[str, str, str, Callable[[Triplets], None]]] = [
    ("language", "tr", "", _drop_language),
    ("language", "de", "", _add_language),
    ("keys", "en", "pol-003", _drop_key),
    ("keys", "tr", "pol-003", _set("tr", "pol-003", note="x")),
    ("empty", "en", "pol-003", _set("en", "pol-003", doc_positive="  ")),
    ("empty", "en", "pol-003", _set("en", "pol-003", query_negative=None)),
    ("empty", "en", "pol-003", _set("en", "pol-003", query_negative=7)),
    ("duplicate_id", "en", "pol-003", _set("en", "pol-004", id="pol-003")),
    ("duplicate_text", "tr", "pol-004", _repeat_text),
    ("kind", "en", "", _set("en", "pol-003", kind="irony")),
    ("kind_count", "en", "", _set("en", "pol-003", kind="antonym")),
    ("mirror", "tr", "pol-003", _drop_turkish),
    ("mirror", "tr", "pol-003", _drop_english),
    ("mirror", "tr", "", _reorder_turkish),
    ("mirror", "tr", "pol-003", _set("tr", "pol-003", domain="gardening")),
    ("mirror", "tr", "pol-003", _set("tr", "pol-003", kind="antonym")),
    ("query_length", "en", "pol-002", _set("en", "pol-002", query_positive="checkout release reached")),
    (
        "query_length",
        "en",
        "pol-002",
        _set("en", "pol-002", query_positive="the checkout release in the end reached the production cluster"),
    ),
    ("query_words", "en", "pol-002", _set("en", "pol-002", query_positive="checkout banana reached the production cluster")),
    ("doc_pair", "en", "pol-002", _swap_pair),
    ("paraphrase_pair", "en", "pol-010", _split_paraphrases),
    ("paraphrase_overlap", "en", "pol-010", _share_with_query),
    ("paraphrase_overlap", "tr", "pol-010", _share_with_query_in_turkish),
    ("paraphrase_doc", "en", "pol-010", _share_with_document),
    ("trap", "en", "pol-025", _weak_trap),
    ("control", "en", "pol-025", _lopsided_control),
    ("marker", "en", "pol-002", _set("en", "pol-002", query_negative="checkout release hardly reached the production cluster")),
    ("marker", "en", "pol-002", _set("en", "pol-002", query_positive="no checkout release reached the production cluster")),
    ("marker", "tr", "pol-010", _set("tr", "pol-010", query_negative="kurul laboratuvar bütçesini onayladı mı")),
    (
        "paraphrase_marker",
        "en",
        "pol-010",
        _set("en", "pol-010", paraphrase_negative="In autumn the directors did not pay for Ivarsson's research rooms."),
    ),
    (
        "paraphrase_marker",
        "tr",
        "pol-010",
        _set("tr", "pol-010", paraphrase_negative="Sonbaharda yöneticiler, Ivarsson'daki araştırma odaları için para vermedi."),
    ),
]


@pytest.mark.parametrize(("rule", "language", "name", "break_it"), BROKEN, ids=[f"{b[0]}-{n}" for n, b in enumerate(BROKEN)])
def test_fault_is_found(triplets: Triplets, rule: str, language: str, name: str, break_it: Callable[[Triplets], None]) -> None:
    broken = copy.deepcopy(triplets)
    break_it(broken)
    assert (rule, language, name) in {(f.rule, f.language, f.triplet_id) for f in check(broken)}


def test_every_rule_has_a_broken_example() -> None:
    source = Path(polarity_check.__file__).read_text(encoding="utf-8")
    for rule in {b[0] for b in BROKEN}:
        assert f'"{rule}"' in source
    assert {b[0] for b in BROKEN} == {
        *("language", "keys", "empty", "duplicate_id", "duplicate_text", "kind", "kind_count", "mirror", "query_length", "query_words"),
        *("doc_pair", "paraphrase_pair", "paraphrase_overlap", "paraphrase_doc", "trap", "control", "marker", "paraphrase_marker"),
    }


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("IŞIK İLE", "tr", "ışık ile"),
        ("IŞIK", "en", "işik"),
        ("İzmir", "tr", "izmir"),
        ("I\u0307zmir", "tr", "izmir"),  # I and a combining dot, as some keyboards write İ
        ("ILIK", "tr", "ılık"),
    ],
)
def test_lower_casing(text: str, language: str, expected: str) -> None:
    if language == "en":
        assert lower(text, language) == text.lower()
    else:
        assert lower(text, language) == expected


def test_turkish_capitals_do_not_hide_sharing() -> None:
    assert overlap("sınır kapısı ışığı", "SINIR KAPISI IŞIĞI", "tr") == 1.0
    assert overlap("istif iptali", "İSTİF İPTALİ", "tr") == 1.0
    assert overlap("ılık", "İLİK", "tr") == 0.0


def test_words_lose_what_follows_an_apostrophe() -> None:
    assert words("Lund'daki P7’ye", "tr") == ["lund", "p7"]
    assert words("The painter's offer didn't", "en") == ["the", "painter", "offer", "did", "not"]


def test_overlap_by_hand() -> None:
    # Content words: gateway, certificate, renewed; "not", "the" and "was" do not count.
    assert overlap("the gateway certificate was not renewed", "A gateway renews certificates.", "en") == 1.0
    assert overlap("the gateway certificate was not renewed", "A gateway fell.", "en") == pytest.approx(1 / 3)
    assert overlap("yüklenmedi", "yüklendi", "tr") == 1.0
    assert overlap("geçmedi", "geçti", "tr") == 0.0  # the documented price of five letters
    assert overlap("not the", "not the", "en") == 0.0


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("it cannot start", "en", True),
        ("it can't start", "en", True),
        ("a knot in the note", "en", False),
        ("kurul onaylamadı", "tr", True),
        ("sunucu erişemiyor", "tr", True),
        ("belge geçerli değil", "tr", True),
        ("kapı açılmaz", "tr", True),
        ("belge yüklenmeyecek", "tr", True),
        ("zaman temaz tamamlandı", "tr", True),  # looks like -maz: the test knows endings only
        ("işlem tamamlandı", "tr", False),
        ("sermayenin yamadan sonra artması", "tr", False),
    ],
)
def test_markers(text: str, language: str, expected: bool) -> None:
    assert polarity_check.has_marker(text, language) is expected


def test_reading_accepts_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b"\xef\xbb\xbf" + SHIPPED.read_bytes())
    assert read(path) == read(SHIPPED)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"{", "t.json:1:"),
        (b"[]", "found list"),
        (b'{"en": {}}', "'en': expected a list"),
        (b'{"en": [1]}', "'en', triplet 0: expected an object"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_reading_says_what_is_wrong_and_where(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"t\.json") as caught:
        read(path)
    assert part in str(caught.value)


def test_command_succeeds_on_the_shipped_set() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "observatory.polarity_check", str(SHIPPED)], cwd=ROOT, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert "no faults" in done.stdout and "different_wording" in done.stdout


def test_command_lists_every_fault_and_exits_with_2(triplets: Triplets, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _weak_trap(triplets)
    _drop_key(triplets)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(triplets, ensure_ascii=False), encoding="utf-8")
    assert polarity_check.main([str(path)]) == 2
    printed = capsys.readouterr().out
    faults = check(triplets)
    assert len(faults) > 2 and all(str(fault) in printed for fault in faults)


def test_command_explains_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert polarity_check.main([str(tmp_path / "none.json")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert polarity_check.main([]) == 2
    assert "usage" in capsys.readouterr().err
