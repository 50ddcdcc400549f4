"""TREC qrels and runs: trec_eval's own numbers come out of what was read, and each fault says where it is."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from observatory import benchmarks
from observatory.benchmarks import trec
from observatory.benchmarks.faults import Faults
from observatory.errors import InputError
from observatory.records import Positive, Ranked

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n"
RUN = "1 Q0 a 9 0.5 tag\n1 Q0 b 1 0.7 tag\n2 Q0 a 1 0.5 tag\n2 Q0 c 2 0.5 tag\n"


def write(folder: Path, **files: str | bytes) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def measures() -> dict[str, str]:
    """trec_eval's name of each measure and that of ir-measures, for as many as both know."""
    cuts = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    found = {"map": "AP", "Rprec": "Rprec", "recip_rank": "RR", "ndcg": "nDCG", "bpref": "Bpref", "infAP": "infAP"}
    found |= {"set_P": "SetP", "set_recall": "SetR", "set_F": "SetF", "num_ret": "NumRet", "num_rel_ret": "NumRet(rel=1)", "num_q": "NumQ"}
    found |= {f"{name}_{k}": f"{measure}@{k}" for name, measure in (("P", "P"), ("recall", "R"), ("ndcg_cut", "nDCG"), ("map_cut", "AP")) for k in cuts}
    found |= {f"success_{k}": f"Success@{k}" for k in (1, 5, 10)}
    return found | {f"iprec_at_recall_{x / 10:.2f}": f"IPrec@{x / 10:.1f}" for x in range(11) if x not in ROUNDED}


ROUNDED = (1, 6)
"""Tenths of recall where 47.4 of 474 and 46.2 of 77 relevant items are asked for: this trec_eval rounds down, the one
that ir-measures holds rounds up. Precision is interpolated from other ranks then; what was read is the same."""


def expected(path: Path) -> dict[str, dict[str, float]]:
    """trec_eval's printed numbers by measure and query ('all' for the means)."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        name, query, value = line.split("\t")
        if name.strip() in measures():
            found[name.strip()][query] = float(value)
    return found


@pytest.mark.parametrize("scores", ["as written", "by our order"])
def test_trec_evals_numbers_through_ir_measures(shared_data: Path, scores: str) -> None:
    """With the scores replaced by our ranks too: equal scores then stand in trec_eval's order only if ours is the same."""
    import ir_measures

    folder = shared_data / "trec_eval"
    read = benchmarks.read(folder)
    judged = trec.read_qrels(folder / "qrels.test")
    qrels = [ir_measures.Qrel(q, i, grade) for q, items in judged.items() for i, grade in items.items()]
    run = [
        ir_measures.ScoredDoc(q, r.item_id, r.score if scores == "as written" else -float(n))
        for q, entries in read.runs["results.test"].items() for n, r in enumerate(entries)
    ]
    names = measures()
    asked = {name: ir_measures.parse_measure(m) for name, m in names.items()}
    evaluated = ir_measures.evaluator(list(asked.values()), qrels)
    means = evaluated.calc_aggregate(run)
    each = {(m.query_id, m.measure): m.value for m in evaluated.iter_calc(run)}
    numbers = expected(folder / "out.test.aq")
    assert set(numbers) == set(names) and len(names) == 60
    compared = 0
    for name, by_query in numbers.items():
        assert len(by_query) == (1 if name == "num_q" else 4)
        for query, value in by_query.items():
            ours = means[asked[name]] if query == "all" else each[query, asked[name]]
            assert ours == pytest.approx(value, abs=0.5001e-4), (name, query)
            compared += 1
    assert compared == 59 * 4 + 1


def test_interpolated_precision_with_recall_rounded_down(shared_data: Path) -> None:
    read = benchmarks.read(shared_data / "trec_eval")
    lines = [line.split("\t") for line in (shared_data / "trec_eval" / "out.test.aq").read_text().splitlines()]
    numbers = {(name.strip(), query): value for name, query, value in lines}
    for query in read.queries:
        positives, precision = {p.item_id for p in query.positives}, []
        for rank, entry in enumerate(read.runs["results.test"][query.id], 1):
            if entry.item_id in positives:
                precision.append((len(precision) + 1) / rank)
        for x in ROUNDED:
            wanted = max(x * len(positives) // 10, 1)
            value = max(precision[wanted - 1 :], default=0.0)
            assert f"{value:.4f}" == numbers[f"iprec_at_recall_{x / 10:.2f}", query.id]


def test_the_benchmark_holds_the_positives_of_its_qrels(shared_data: Path) -> None:
    read, judged = benchmarks.read(shared_data / "trec_eval"), trec.read_qrels(shared_data / "trec_eval" / "qrels.test")
    assert sum(map(len, judged.values())) == 3681
    for query in read.queries:
        assert {p.item_id: p.grade for p in query.positives} == {i: g for i, g in judged[query.id].items() if g > 0}
    assert sum(map(len, read.runs["results.test"].values())) == 1500
    assert not read.has_texts and any("LICENSE.md, out.test, out.test.aq" in w for w in read.warnings)


def test_ties_go_by_item_id_descending_and_the_rank_column_is_ignored(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "t", qrels_txt=QRELS, run_txt=RUN))
    assert read.runs["run.txt"] == {"1": (Ranked("b", 0.7), Ranked("a", 0.5)), "2": (Ranked("c", 0.5), Ranked("a", 0.5))}
    assert [q.positives for q in read.queries] == [(Positive("a", 1),), (Positive("c", 2),)]
    assert [i.id for i in read.items] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "change", [lambda raw: raw.replace(b"\n", b"\r\n"), lambda raw: b"\xef\xbb\xbf" + raw, gzip.compress, lambda raw: raw.replace(b" ", b"\t")],
    ids=["crlf", "bom", "gz", "tabs"],
)
def test_spelling_does_not_matter(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    plain = benchmarks.read(write(tmp_path / "a" / "t", qrels_txt=QRELS, run_txt=RUN))
    assert benchmarks.read(write(tmp_path / "b" / "t", qrels_txt=change(QRELS.encode()), run_txt=change(RUN.encode()))) == plain


def test_a_qrels_file_alone(tmp_path: Path) -> None:
    read = benchmarks.read(write(tmp_path / "t", any_txt=QRELS) / "any.txt")
    assert (read.format, read.name, len(read.queries), dict(read.runs)) == ("trec", "any.txt", 2, {})


def test_what_is_kept_is_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "t", qrels_txt=QRELS + "1 0 a 1\n3 0 a 0\n4 0 a -1\n", run_txt=RUN.replace("2 Q0", "9 Q0"))
    read = benchmarks.read(folder)
    assert [q.id for q in read.queries] == ["1", "2", "3", "4"] and read.queries[3].positives == ()
    for sentence in (
        "1 queries repeat a judgment", "2 queries have no positive", "1 queries of run.txt are not judged", "3 judged queries are not answered",
    ):
        assert any(w.startswith(sentence) for w in read.warnings), sentence


@pytest.mark.parametrize(
    ("qrels", "run", "fragments"),
    [
        (QRELS + "1 0 a\n", RUN, ("qrels.txt, line 4", "3 columns where 4")),
        (QRELS + "1 0 a 1 x y z\n", RUN, ("qrels.txt, line 4", "more than 4")),
        (QRELS + "1 0 a 2\n", RUN, ("line 4, field 'grade'", "'a' has grade 1")),
        (QRELS + "1 0 z nan\n", RUN, ("line 4, field 'grade'", "'nan'")),
        (QRELS + "1 0 z 0.5\n", RUN, ("line 4, field 'grade'", "'0.5'")),
        (QRELS + "1 0 z 1e300\n", RUN, ("line 4, field 'grade'", "'1e300'")),
        (QRELS, RUN + "1 Q0 a 3 0.1 tag\n", ("run.txt, line 5, field 'item'", "'a'")),
        (QRELS, RUN + "1 Q0 z 3 inf tag\n", ("run.txt, line 5, field 'score'", "'inf'")),
        (QRELS, RUN + "1 Q0 z 3\n", ("run.txt, line 5", "4 columns where 6")),
    ],
)
def test_faults_say_where(tmp_path: Path, qrels: str, run: str, fragments: tuple[str, ...]) -> None:
    folder = write(tmp_path / "t", qrels_txt=qrels, run_txt=run)
    with pytest.raises(InputError) as caught:
        benchmarks.read(folder)
    assert all(f in str(caught.value) for f in fragments), str(caught.value)


def test_every_fault_of_both_files(tmp_path: Path) -> None:
    faults = Faults(strict=False)
    folder = write(tmp_path / "t", qrels_txt=QRELS + "x\n1 0 z q\n1 0 a 2\n", run_txt=RUN + "x\n1 Q0 a 3 0.1 tag\n")
    trec.read(folder, None, faults)
    assert [f.line for f in faults.found] == [4, 5, 6, 5, 6]


def test_prose_is_no_qrels_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no benchmark"):
        benchmarks.read(write(tmp_path / "t", readme_txt="these are four words\n") / "readme.txt")
