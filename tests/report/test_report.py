"""The report: every number of the store comes back out of it, every descriptor is in it, and no text from data does anything."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from observatory import artifacts
from observatory.cli import main
from observatory.errors import InputError
from observatory.figures import numbers, standalone
from observatory.report import build, formats, selection
from observatory.report.content import Figure, Report, Table
from observatory.report.text import for_html, for_latex, for_markdown
from observatory.runs import Plan, run
from observatory.store import Store
from tests.conftest import item, query, relate_folder
from tests.pages.conftest import HOSTILE, RULES, published, write_benchmark


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two scorers with metrics on the tiny benchmark, and a published table of the first."""
    root = tmp_path_factory.mktemp("reported")
    folder = str(write_benchmark(root / "tiny-1.0"))
    first = run(Plan(folder, "bm25:okapi", RULES, seed=3, metrics=("nDCG@10", "RR")), root / "store")
    second = run(Plan(folder, "bm25:bm25s", RULES[:2], seed=3, metrics=("nDCG@10",)), root / "store")
    artifacts.write(root / "store", published(first))
    return Store.of([first, second, root / "store" / "published-table"])


@pytest.fixture(scope="module")
def made(store: Store) -> Report:
    return build.build(selection.select(store, list(store.sets()["set_id"])), "A <title> & more")


class Scripts(HTMLParser):
    """The JSON of each script element, and every attribute that could make a browser ask for something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.asks: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self._open: dict[str, str | None] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.asks += [(tag, f"{k}={v}") for k, v in attrs if k in ("src", "href", "action", "data", "srcset", "poster") and not (v or "").startswith("#")]
        self.asks += [(tag, k) for k, _ in attrs if k.startswith("on")]
        self._open = dict(attrs) if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.found.append((self._open, data))


def parsed(report: Report) -> Scripts:
    reader = Scripts()
    reader.feed(formats.render(report, ".html").decode("utf-8"))
    return reader


def test_every_descriptor_and_number_comes_back_out(made: Report, store: Store) -> None:
    scripts = parsed(made)
    held = {a["data-id"]: json.loads(text) for a, text in scripts.found if a.get("class") == "descriptor"}
    sets = store.sets()
    assert set(held) == set(sets["set_id"])
    for row in sets.to_dict("records"):
        assert held[row["set_id"]] == store.descriptor(row["set_id"]).model_dump()
        if row["kind"] == "measurement":  # to the last bit, from the store's own columns
            outcomes = held[row["set_id"]]["outcomes"]
            assert [outcomes[k] for k in ("mean_margin", "median_margin", "p05", "p10")] == [row[k] for k in ("mean_margin", "median_margin", "p05", "p10")]
            assert (outcomes["n_lt_zero"], outcomes["n_eq_zero"], outcomes["n_gt_zero"]) == (row["n_lt_zero"], row["n_eq_zero"], row["n_gt_zero"])
    evaluated = {a["data-id"]: json.loads(text) for a, text in scripts.found if a.get("class") == "evaluation"}
    for artifact_id, record in evaluated.items():
        found = store.evaluation(str(artifact_id))
        assert found is not None and record == found.model_dump()
    assert len(evaluated) == 2


def test_the_written_numbers_are_those_of_the_store(made: Report, store: Store) -> None:
    tables = [b for s in made.sections for b in s.blocks if isinstance(b, Table)]
    outcomes = next(t for t in tables if "mean margin [95%]" in " ".join(t.columns) or "mean margin [95% interval]" in t.columns)
    cells = "\n".join(" | ".join(row) for row in outcomes.rows)
    for row in store.sets().to_dict("records"):
        assert numbers.margin(row["mean_margin"]) in cells and numbers.rate(row["win_rate"]) in cells
    everything = "\n".join(cell for t in tables for row in t.rows for cell in row)
    assert "nan" not in everything.lower().split() and "None" not in everything and "not measured" in everything


def test_attempted_is_scored_excluded_and_failed(made: Report) -> None:
    accounting = next(b for s in made.sections if s.title == "Accounting" for b in s.blocks if isinstance(b, Table))
    at = {name: accounting.columns.index(name) for name in ("attempted", "scored", "excluded", "failed")}
    for row in accounting.rows:
        counts = {name: row[i].replace(numbers.THIN, "") for name, i in at.items()}
        if counts["attempted"].isdigit():
            assert int(counts["attempted"]) == sum(int(counts[n]) for n in ("scored", "excluded", "failed"))


def test_every_figure_says_what_it_does_not_establish_and_is_bounded(made: Report) -> None:
    figures = [b for s in made.sections for b in s.blocks if isinstance(b, Figure)]
    assert len(figures) > 5
    for figure in figures:
        assert figure.footer.startswith("Supports: ") and "Does not establish: " in figure.footer and figure.essentials
        assert all(len(trace.get("x") or []) <= 5000 for trace in json.loads(figure.spec)["data"] if isinstance(trace.get("x"), list))


def test_the_page_asks_for_nothing_and_runs_nothing_from_data(made: Report) -> None:
    scripts = parsed(made)
    assert scripts.asks == [] and not scripts.tags & {"iframe", "object", "embed", "form", "link", "base", "img", "b"}
    page = formats.render(made, ".html").decode("utf-8")
    assert "default-src 'none'" in page and "connect-src 'none'" in page and "'unsafe-inline'" not in re.findall(r"script-src [^;]*", page)[0]
    assert "A &lt;title&gt; &amp; more" in page and len(page) < 8_000_000


SAID = ["</script><script>alert(1)</script>", "a \u202e turned", "literal \\u202e", "%{x} <b>bold</b> &amp;", "\u2028 line \u2029", 'quote " and \' tick `', "\x00\x1b[31m"]


@pytest.mark.parametrize("text", SAID)
def test_hostile_text_in_a_figure_stays_text(text: str) -> None:
    spec = standalone.spec(go.Figure(go.Bar(x=[text], y=[1.0])))
    assert not set("<>&\u2028\u2029\u202e") & set(spec)
    turned = re.sub("[\u202a-\u202e]", " ", text)
    assert json.loads(spec)["data"][0]["x"] == [turned]


@pytest.mark.parametrize("text", SAID)
def test_hostile_text_in_html_is_escaped(text: str) -> None:
    written = for_html(text)
    assert "<" not in written and '"' not in written and "\u202e" not in written and written.isprintable()


LATEX_SPECIAL = "100% of a_b & {c} #1 $x$ ~^\\ [0:5] -- <tag> \"q\""


def test_latex_balances_and_escapes(made: Report) -> None:
    written = for_latex(LATEX_SPECIAL)
    for bare in (r"(?<!\\)%", r"(?<!\\)&", r"(?<!\\)#", r"(?<!\\)_", r"(?<!\\)\$(?!\\)"):
        assert not re.search(bare, re.sub(r"\$\\?\w*-?\$", "", written)), (bare, written)
    document = formats.render(made, ".tex").decode("utf-8")
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", document) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended) and begun.count("tabular") > 3
    plain = re.sub(r"\\[{}]", "", re.sub(r"(?m)(?<!\\)%.*$", "", document))
    depth = 0
    for character in plain:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    assert depth == 0
    for table in re.findall(r"\\begin{tabular}{@{}(.*?)@{}}\n(.*?)\\end{tabular}", document, flags=re.S):
        rows = [line for line in table[1].splitlines() if line.endswith(r"\\")]
        assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1


def test_markdown_rows_have_one_width(made: Report) -> None:
    text = formats.render(made, ".md").decode("utf-8")
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.M)
    assert len(blocks) > 5
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "](http" not in text and for_markdown("[a](http://x) *b*") != "[a](http://x) *b*" and HOSTILE not in text


def test_a_published_table_alone_says_what_it_lacks(store: Store) -> None:
    ids = [i for i in store.sets()["set_id"] if str(i).startswith("published-table")]
    report = build.build(selection.select(store, ids))
    assert {title for title, _ in report.absent} >= {"Distributions and tails", "Benchmark size", "Retrieval metrics"}
    assert "fields not recorded" in formats.render(report, ".html").decode("utf-8")


def test_selections_that_cannot_be(store: Store) -> None:
    with pytest.raises(InputError, match="needs a margin set"):
        selection.select(store, [])
    with pytest.raises(InputError, match="no such margin set"):
        selection.select(store, ["nobody/random"])


def run_command(*words: str) -> int:
    return main(["report", *words])


def test_the_command_writes_three_formats(artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".html", ".md", ".tex"):
        out = tmp_path / f"report{suffix}"
        assert run_command(str(artifact), "--out", str(out), "--json", "--quiet") == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert document == {"report": str(out), "bytes": out.stat().st_size} and out.stat().st_mode & 0o044
    again = tmp_path / "one.html"
    assert run_command(f"{artifact}/bm25", "--baseline", f"{artifact}/random", "--title", "Mine", "--out", str(again), "--quiet") == 0
    assert "<title>Mine</title>" in again.read_text(encoding="utf-8")


def test_bad_words_are_one_sentence(artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tampered = tmp_path / "tampered"
    shutil.copytree(artifact, tampered)
    (tampered / "margins.parquet").write_bytes(b"")
    cases = [
        ((str(artifact), "--out", str(tmp_path / "report.docx")), 2), ((str(artifact), "--out", str(tmp_path / "none" / "r.html")), 2),
        ((f"{artifact}/nope", "--out", str(tmp_path / "r.html")), 2), ((str(tampered), "--out", str(tmp_path / "r.html")), 3),
        ((str(artifact), "--baseline", str(artifact), "--out", str(tmp_path / "r.html")), 2),
    ]
    for words, code in cases:
        assert run_command(*words) == code
        assert "Traceback" not in capsys.readouterr().err and not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    "text", ["- item", "+ item", "1. item", "12) item", "---", "===", "-", "    code", "someone@evil.example", "www.evil.example", "http://evil.example", "![x](http://e)", "a|b", "# head"]
)
def test_text_opens_no_block_and_no_link_in_markdown(text: str) -> None:
    written = for_markdown(text)
    assert not re.match(r"\s|[-+=#](?:[\s=-]|$)|\d+[.)]\s", written) and not re.search(r"\w@\w|://|www\.|(?<!\\)\]\(|(?<!\\)\|", written)
    assert [for_markdown(n) for n in ("-0.0123", "+0.4738 {x}", "10.5", "3 queries")] == ["-0.0123", "+0.4738 {x}", "10.5", "3 queries"]


def test_a_place_that_cannot_be_written_is_noticed_before_anything_is_computed(
    artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "build", lambda *_: pytest.fail("a report was built"))
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "loop.html").symlink_to(tmp_path / "loop.html")
    (tmp_path / "folder.html").mkdir()
    for name in ("pipe.html", "loop.html", "folder.html", "x" * 300 + ".html", "x" * 300 + "/r.html", "nul\0.html"):
        assert run_command(str(artifact), "--out", str(tmp_path / name), "--quiet") == 2, name
        said = capsys.readouterr().err
        assert said.startswith("observatory: ") and said.count("\n") == 1, said

    def read_only(*_: Any, **__: Any) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    assert run_command(str(artifact), "--out", str(tmp_path / "r.html"), "--quiet") == 2
    assert "Read-only file system" in capsys.readouterr().err and stat.S_ISFIFO((tmp_path / "pipe.html").stat().st_mode)


def test_a_report_that_is_there_is_replaced_whole(artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.md"
    out.write_text("the last report")
    monkeypatch.setattr(formats, "render", lambda *_: b"new")
    assert run_command(str(artifact), "--out", str(out), "--quiet") == 0 and out.read_bytes() == b"new"

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(formats, "render", lambda *_: b"newer")
    assert run_command(str(artifact), "--out", str(out), "--quiet") == 2 and "No space" in capsys.readouterr().err
    assert out.read_bytes() == b"new" and [p.name for p in tmp_path.iterdir() if p.name.startswith(".tmp")] == []


def test_an_artifact_that_is_removed_meanwhile_is_named(artifact: Path, tmp_path: Path) -> None:
    """Before its lock is read, and after it, when only rows are wanted: the store's own error is no word for a reader."""
    for late in (False, True):
        copy = tmp_path / f"copy-{late}"
        shutil.copytree(artifact, copy)
        found = Store.of([copy])
        chosen = selection.select(found, list(found.sets()["set_id"]))
        if late:
            assert chosen.runs
        shutil.rmtree(copy)
        with pytest.raises(InputError, match=f"{artifact.name}: was removed while the report was made"):
            build.build(chosen)


# -- hostile and degenerate data, from the benchmark's files to the report's ------------------------------------------------

NASTY = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{7*7}}", "100% $x$", "a|b", "line\nbreak", "\u05e9\u05dc\u05d5\u05dd \u202eturned", "x" * 10_000,
    r"\input{/etc/passwd}", "=1+1", "| --- |", "someone@evil.example", "http://evil.example", "- item", "1. item",
]


def benchmark(folder: Path, n: int, words: list[str], same: bool = False, one_cluster: bool = False, relevant: bool = False) -> str:
    """``n`` targets with a designated negative each; ``words`` go into ids, texts, domains, styles and relations."""
    items: list[dict[str, Any]] = []
    queries: list[dict[str, Any]] = []
    for i in range(n):
        word = words[i % len(words)]
        target = items[0]["id"] if one_cluster and items else f"i{i}{word}"
        for kind in ("i", "n"):
            items.append(item(f"{kind}{i}{word}", "the same" if same else f"Crate {i} {'stands' if kind == 'i' else 'does not stand'} on shelf {i * 3}. {word}", word or "d"))
        grades = {x["id"]: 3 for x in items if x["id"].startswith("i")} if relevant else {target: 3}
        queries.append(query(f"q{i}{word}", f"Where is crate {i}? {word[:99]}", target, grades, [(f"n{i}{word}", "structured_perturbation", word or "negation")], word or "question"))
    return str(relate_folder(folder, items, queries))


DEGENERATE: dict[str, dict[str, Any]] = {
    "hostile": {"n": 2 * len(NASTY), "words": NASTY}, "ties": {"n": 12, "words": [""], "same": True}, "one query": {"n": 1, "words": [""]},
    "two queries": {"n": 2, "words": [""]}, "one cluster": {"n": 12, "words": [""], "one_cluster": True}, "many relevant": {"n": 12, "words": ["a", "b"], "relevant": True},
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_hostile_and_degenerate_data_make_an_inert_report(case: str, tmp_path: Path) -> None:
    plan = Plan(benchmark(tmp_path / "b-1.0", **DEGENERATE[case]), "bm25:okapi", ("random", "structured_perturbation"), k=1, metrics=("RR",))
    found = Store.of([run(plan, tmp_path / "out")])
    report = build.build(selection.select(found, list(found.sets()["set_id"])), NASTY[0])
    scripts = parsed(report)
    assert scripts.asks == [] and not scripts.tags & {"iframe", "object", "embed", "form", "link", "base", "img", "b"}
    assert sum(not a for a, _ in scripts.found) == 2  # plotly.js and the page's own; all others are JSON
    for attributes, text in scripts.found:
        if attributes:
            assert attributes["type"] == "application/json" and json.loads(text)
    markdown, document = (formats.render(report, suffix).decode("utf-8") for suffix in (".md", ".tex"))
    prose = re.sub(r"(?ms)^```.*?^```$", "", markdown)
    assert not re.search(r"(?<!\\)<(?=[a-z/])|://|\w@\w", prose) and "\u202e" not in markdown + document
    for block in re.findall(r"(?:^\|.*\n)+", prose, flags=re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    assert "\\input" not in document and not re.search(r"(?<!\\)\$x", document)
