"""What every format, rule, reference and scorer promises: these tests walk the registries, so a new entry is tested untold."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from observatory import benchmarks, negatives, scorers
from observatory.benchmarks import FORMATS
from observatory.descriptor import METHODS, NOT_MEASURED, NOT_RECORDED, space_id
from observatory.errors import InputError
from observatory.negatives import RULES, Candidates, Chosen, Corpus, Options, Rule, parse_spec, parse_specs, prepare
from observatory.records import Benchmark, DesignatedNegative, Item, Positive, Query
from observatory.references import REFERENCES
from observatory.runs import Plan, measure
from observatory.runs import prepare as prepare_run
from observatory.scorers import FAMILIES, Scorer
from observatory.scorers.models import BUNDLED

DESIGNATED = ("structured_perturbation", "entity_matched", "lexical_overlap_matched")


# -- rules -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    """40 items in 3 domains (some in none, some equal); 12 queries with 0 to 8 positives and negatives of every method."""
    rng = np.random.default_rng(3)
    items = tuple(
        Item(f"i{n}", f"text {n % 30}", domain=None if n % 10 == 9 else f"d{n % 3}", source_text=f"s{n % 4}") for n in range(40)
    )
    queries = []
    for n in range(12):
        order = rng.permutation(40)
        count = (0, 1, 2, 8)[n % 4]
        positives = tuple(Positive(f"i{p}", int(rng.integers(1, 4))) for p in order[:count])
        designated = tuple(
            DesignatedNegative(f"i{p}", method, f"relation {j % 2}")
            for m, method in enumerate(DESIGNATED) for j, p in enumerate(order[8 + 4 * m : 8 + 4 * m + n % 4])
        )
        queries.append(Query(f"q{n}", f"text {n}", "question", f"i{order[0]}" if n % 3 else None, positives, designated))
    shipped = {q.id: tuple(f"i{p}" for p in rng.permutation(40)[:20]) for q in queries[:10]}
    return Benchmark("made", "1", "made", None, "0" * 64, "made:12", items, tuple(queries), shipped_bm25=shipped)


def specs() -> list[str]:
    """Each rule as written, and with a slice where it takes one."""
    return [*RULES, *(f"{name}[2:7]" for name in ("in_model", "bm25"))]


def candidates(benchmark: Benchmark) -> Iterator[Candidates]:
    """Each query's table with made-up scores; every third score is tied."""
    corpus, rng = Corpus(benchmark), np.random.default_rng(8)
    for query in benchmark.queries:
        scores = rng.integers(0, 15, size=len(corpus)).astype(np.float64)
        positions = corpus.positions(tuple(p.item_id for p in query.positives))
        yield Candidates(query, positions, scores, rng.integers(0, 15, size=len(corpus)).astype(np.float64))


def made(text: str, benchmark: Benchmark, **options: Any) -> Rule:
    return prepare(parse_spec(text), benchmark, Corpus(benchmark), Options(**({"k": 5, "seed": 11, "bm25": "okapi"} | options)))


def choices(text: str, benchmark: Benchmark, **options: Any) -> list[tuple[Candidates, Chosen]]:
    rule = made(text, benchmark, **options)
    return [(c, rule.choose(c)) for c in candidates(benchmark)]


@pytest.mark.parametrize("bm25", ["okapi", "shipped"])
@pytest.mark.parametrize("text", specs())
def test_rule_never_chooses_a_labelled_positive(text: str, bm25: str, benchmark: Benchmark) -> None:
    """Mined ones by exclusion; designated ones because reading refuses such a benchmark."""
    chosen = choices(text, benchmark, bm25=bm25)
    assert sum(c.positions.size for _, c in chosen) > 0, "nothing was chosen, so nothing was tested"
    for table, choice in chosen:
        assert not set(choice.positions.tolist()) & set(table.positives.tolist())
        if choice.pool is not None:
            assert not set(choice.pool.tolist()) & set(table.positives.tolist())
            assert set(choice.positions.tolist()) <= set(choice.pool.tolist())


@pytest.mark.parametrize("text", specs())
def test_rule_never_chooses_twice_and_stays_in_the_corpus(text: str, benchmark: Benchmark) -> None:
    for _, choice in choices(text, benchmark):
        positions = choice.positions.tolist()
        assert len(set(positions)) == len(positions)
        assert all(0 <= p < len(benchmark.items) for p in positions)
        assert len(choice.relations) == len(positions)


@pytest.mark.parametrize("text", specs())
def test_rule_is_deterministic_for_the_same_options(text: str, benchmark: Benchmark) -> None:
    once, again = choices(text, benchmark), choices(text, benchmark)
    for (_, a), (_, b) in zip(once, again, strict=True):
        assert a.positions.tolist() == b.positions.tolist() and a.relations == b.relations


@pytest.mark.parametrize("text", specs())
def test_rule_takes_no_more_than_it_says(text: str, benchmark: Benchmark) -> None:
    count = made(text, benchmark).describe().count_per_query
    for _, choice in choices(text, benchmark):
        assert not isinstance(count, int) or choice.positions.size <= count
    assert isinstance(count, int) or text in DESIGNATED


@pytest.mark.parametrize("k", [1, 3, 1000])
@pytest.mark.parametrize("text", [name for name in RULES if name not in DESIGNATED])
def test_k_is_the_number_of_mined_negatives(text: str, k: int, benchmark: Benchmark) -> None:
    for table, choice in choices(text, benchmark, k=k):
        free = len(benchmark.items) - table.positives.size
        available = choice.pool.size if choice.pool is not None else free
        assert choice.positions.size == min(k, available)


@pytest.mark.parametrize("bm25", ["okapi", "shipped"])
@pytest.mark.parametrize("text", specs())
def test_rule_describes_itself_completely(text: str, bm25: str, benchmark: Benchmark) -> None:
    fields = dataclasses.asdict(made(text, benchmark, bm25=bm25).describe())
    assert set(fields) == {"candidate_pool", "exclusions", "count_per_query", "ranking_rule", "ranking_source", "slice"}
    for name, value in fields.items():
        assert isinstance(value, int) or (isinstance(value, str) and value.strip()), name
        assert value not in (NOT_MEASURED, NOT_RECORDED), name
    assert parse_spec(text).method in METHODS, "a rule's name is a descriptor's method"


def test_rule_with_a_slice_says_it(benchmark: Benchmark) -> None:
    for text in ("in_model[2:7]", "bm25[2:7]"):
        assert made(text, benchmark).describe().slice == "[2:7]"


@pytest.mark.parametrize("text", ["in_model[2:7]", "bm25[2:7]"])
def test_a_slice_is_cut_from_the_ranking_without_the_positives(text: str, benchmark: Benchmark) -> None:
    """By hand: best first, equal scores in item order, positives taken out before ranks are counted."""
    for table, choice in choices(text, benchmark):
        scores = table.scores if text.startswith("in_model") else table.bm25
        assert scores is not None
        free = [p for p in range(len(scores)) if p not in table.positives.tolist()]
        assert choice.positions.tolist() == sorted(free, key=lambda p: (-scores[p], p))[2:7]


def test_a_shipped_ranking_is_used_in_file_order(benchmark: Benchmark) -> None:
    assert benchmark.shipped_bm25 is not None
    for table, choice in choices("bm25", benchmark, bm25="shipped"):
        positives = {p.item_id for p in table.query.positives}
        ranked = [i for i in benchmark.shipped_bm25.get(table.query.id, ()) if i not in positives]
        assert [benchmark.items[p].id for p in choice.positions] == ranked[:5]


def test_random_draws_from_the_targets_domain(benchmark: Benchmark) -> None:
    domains = {item.id: item.domain for item in benchmark.items}
    restricted = 0
    for table, choice in choices("random", benchmark):
        target = table.query.target_item_id
        domain = domains[target] if target is not None else None
        if domain is not None:
            restricted += 1
            assert {benchmark.items[p].domain for p in choice.positions} <= {domain}
    assert restricted > 3


def test_another_seed_draws_others(benchmark: Benchmark) -> None:
    one, other = choices("random", benchmark, seed=1), choices("random", benchmark, seed=2)
    assert any(a.positions.tolist() != b.positions.tolist() for (_, a), (_, b) in zip(one, other, strict=True))


@pytest.mark.parametrize("method", DESIGNATED)
def test_designated_sets_are_the_benchmarks_own_with_relations(method: str, benchmark: Benchmark) -> None:
    for table, choice in choices(method, benchmark):
        own = [(n.item_id, n.relation) for n in table.query.designated_negatives if n.method == method]
        assert [(benchmark.items[p].id, r) for p, r in zip(choice.positions, choice.relations, strict=True)] == own


@pytest.mark.parametrize("text", specs())
def test_rule_leaves_the_table_as_it_was(text: str, benchmark: Benchmark) -> None:
    rule = made(text, benchmark)
    for table in candidates(benchmark):
        before = (table.scores.copy(), table.positives.copy())
        rule.choose(table)
        assert (table.scores == before[0]).all() and (table.positives == before[1]).all()


def test_a_slice_behind_the_corpus_is_refused_by_every_rule(benchmark: Benchmark) -> None:
    for name in RULES:
        with pytest.raises(InputError):
            made(f"{name}[40:45]", benchmark)


@pytest.mark.parametrize("text", ["", " ", "[0:3]", "in_model[", "in_model[0:3", "in_model[0:3]x", "in model", "a-b", "in_model[0:3:1]", "in_model[0.5:2]"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_spec(text)


def test_specs_are_kept_as_written() -> None:
    assert [s.text for s in parse_specs("random, in_model[2:7],bm25")] == ["random", "in_model[2:7]", "bm25"]
    assert parse_spec("in_model[2:7]").slice == (2, 7)


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_is_a_positive_or_none(name: str, benchmark: Benchmark) -> None:
    pick = REFERENCES.get(name)
    for query in benchmark.queries:
        chosen = pick(query, lambda item_id: float(len(item_id)))
        positives = {p.item_id: p.grade for p in query.positives}
        assert chosen is None or chosen in positives
        assert positives or chosen is None
        if name != "first_grade_3":
            assert bool(positives) == (chosen is not None), "only first_grade_3 may leave a query with positives out"
        elif chosen is not None:
            assert positives[chosen] == 3


@pytest.mark.parametrize(
    ("name", "expected"), [("first_grade_3", "b"), ("first_top_grade", "b"), ("best_scored", "c"), ("worst_scored", "a")]
)
def test_reference_by_hand(name: str, expected: str) -> None:
    """b and d share the top grade, c scores best, a and d tie at the bottom."""
    query = Query("q", "t", positives=(Positive("a", 1), Positive("b", 3), Positive("c", 2), Positive("d", 3)))
    assert REFERENCES.get(name)(query, {"a": 0.0, "b": 1.0, "c": 2.0, "d": 0.0}.__getitem__) == expected


def test_every_reference_has_a_hand_computed_case() -> None:
    assert set(REFERENCES) == {"first_grade_3", "first_top_grade", "best_scored", "worst_scored"}


# -- scorers ---------------------------------------------------------------------------------------------------------


TEXTS = [
    "The nightly copy of Harrow-3 completed before dawn.", "The nightly copy of Harrow-3 did not complete before dawn.", "copy",
    "The nightly copy of Harrow-3 completed before dawn.", "COPY", "Größe 🐿 の", "…", "the the the the", "copy", "x " * 700,
]
QUERIES = ["Did the nightly copy complete?", "copy copy", "unknown-word", "Größe", "?", "Did the nightly copy complete?"]
TWINS = [(0, 3), (2, 8)]
SCORERS = [
    pytest.param("bm25:okapi", 0.0, id="bm25:okapi"), pytest.param("bm25:bm25s", 0.0, id="bm25:bm25s"),
    pytest.param(BUNDLED, 1e-12, id=BUNDLED, marks=pytest.mark.slow),
]
"""Each family's scorers, and how far a score may move with the block (a dot product's order of summation)."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Scorer]:
    """Scorers by name, loaded once, with an embedding cache of their own."""
    made: dict[str, Scorer] = {}

    def get(name: str) -> Scorer:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("OBSERVATORY_CACHE", str(tmp_path_factory.mktemp("contract-cache")))
                made[name] = scorers.load(name)
        return made[name]

    return get


def test_every_family_is_among_the_scorers_under_test() -> None:
    """A new family needs a row in SCORERS."""
    assert set(FAMILIES) == {"bm25", "bi-encoder"}


@pytest.mark.parametrize(("name", "drift"), SCORERS)
def test_scores_are_a_finite_float64_matrix(name: str, drift: float, loaded: Callable[[str], Scorer]) -> None:
    index = loaded(name).index(TEXTS)
    scores = index.scores(QUERIES)
    assert scores.shape == (len(QUERIES), len(TEXTS)) and scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert len(set(scores[0].tolist())) > 2, "a scorer that tells texts apart"


@pytest.mark.parametrize(("name", "drift"), SCORERS)
def test_equal_texts_and_equal_queries_tie_to_the_bit(name: str, drift: float, loaded: Callable[[str], Scorer]) -> None:
    scores = loaded(name).index(TEXTS).scores(QUERIES)
    for a, b in TWINS:
        assert (scores[:, a] == scores[:, b]).all()
    assert (scores[0] == scores[-1]).all()


@pytest.mark.parametrize(("name", "drift"), SCORERS)
def test_scores_do_not_depend_on_the_block(name: str, drift: float, loaded: Callable[[str], Scorer]) -> None:
    index = loaded(name).index(TEXTS)
    together = index.scores(QUERIES)
    alone = np.vstack([index.scores([query]) for query in QUERIES])
    backwards = index.scores(QUERIES[::-1])[::-1]
    assert np.abs(together - alone).max() <= drift
    assert np.abs(together - backwards).max() <= drift


@pytest.mark.parametrize(("name", "drift"), [p for p in SCORERS if not str(p.id).startswith("bm25")])
def test_vectors_do_not_depend_on_the_batch(name: str, drift: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Padding moves float32 vectors a little, never more; each batch size with a cache of its own."""
    found = []
    for size in (1, 7):
        monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / str(size)))
        found.append(scorers.load(name, batch_size=size).index(TEXTS).scores(QUERIES))
    assert np.abs(found[0] - found[1]).max() < 1e-5


@pytest.mark.parametrize(("name", "drift"), SCORERS)
def test_scorer_describes_itself_completely(name: str, drift: float, loaded: Callable[[str], Scorer]) -> None:
    description = loaded(name).description
    fields = description.model_dump()
    assert fields["name"] == name
    assert fields["space_id"] == space_id(fields), "the space is the hash of everything else"
    for key, value in fields.items():
        assert value not in ("", NOT_MEASURED, NOT_RECORDED), key
    assert description == scorers.load(name).description, "loaded again, described the same"


def test_no_two_scorers_share_a_space(loaded: Callable[[str], Scorer]) -> None:
    assert loaded("bm25:okapi").description.space_id != loaded("bm25:bm25s").description.space_id


@pytest.mark.parametrize("name", ["bm25:okapi", "bm25:bm25s"])
def test_a_run_does_not_depend_on_block_size(name: str, small: Path) -> None:
    rules = ("random", "in_model[1:4]", "bm25", "structured_perturbation")
    tables = []
    for size in (1, 5, 256):
        plan = Plan(str(small), name, rules, block_size=size, seed=4)
        tables.append(measure(prepare_run(plan, benchmarks.read(small)), scorers.load(name)))
    for other in tables[1:]:
        for table in tables[0]:
            assert tables[0][table].equals(other[table]), table


# -- formats ---------------------------------------------------------------------------------------------------------


def hostile(folder: Path) -> Iterator[Path]:
    """Paths that are no benchmark of any format: empty, binary, cut, with the right names and the wrong content."""
    folder.mkdir()
    contents = {"empty": b"", "binary": bytes(range(256)) * 20, "brace": b"{", "null": b"null\n", "array": b"[]\n", "object": b"{}\n", "text": b"a b c\n"}
    names = ("x.jsonl", "x.json", "x.csv", "x.tsv", "x.txt", "x.parquet", "qrels.txt")
    for label, content in contents.items():
        for name in names:
            path = folder / f"{label}-{name}"
            path.write_bytes(content)
            yield path
        inner = folder / f"{label}-folder"
        (inner / "qrels").mkdir(parents=True)
        for name in ("items.jsonl", "corpus.jsonl", "queries.jsonl", "triplets.json", "qrels/test.tsv", "test.jsonl"):
            (inner / name).write_bytes(content)
        yield inner
    (folder / "nothing").mkdir()
    yield folder / "nothing"


@pytest.mark.parametrize("name", FORMATS)
def test_format_refuses_what_is_no_benchmark_with_a_sentence(name: str, tmp_path: Path) -> None:
    for path in hostile(tmp_path / "hostile"):
        assert FORMATS.get(name).recognises(path) in (True, False)
        with pytest.raises(InputError) as caught:
            benchmarks.read(path, format=name)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value), path


@pytest.mark.parametrize("name", FORMATS)
def test_format_refuses_an_absent_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        benchmarks.read(tmp_path / "absent", format=name)


def test_what_no_format_recognises_is_refused(tmp_path: Path) -> None:
    for path in hostile(tmp_path / "hostile"):
        with pytest.raises(InputError, match=re.escape(str(path))):
            benchmarks.read(path)


# -- registries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("registry", [RULES, REFERENCES, FAMILIES, FORMATS], ids=lambda r: r.kind)
def test_an_unknown_name_lists_the_names_there_are(registry: Any) -> None:
    with pytest.raises(InputError) as caught:
        registry.get("no such name")
    for name in ("no such name", registry.kind, *registry.names()):
        assert name in str(caught.value)


@pytest.mark.parametrize("registry", [RULES, REFERENCES, FAMILIES, FORMATS], ids=lambda r: r.kind)
def test_a_name_is_taken_once(registry: Any) -> None:
    first = registry.names()[0]
    with pytest.raises(ValueError, match="twice"):
        registry.register(first, registry.get(first))


def test_unknown_names_at_the_doors(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="structured_perturbation"):
        negatives.prepare(parse_spec("nearest"), benchmark, Corpus(benchmark), Options(5, 0, "okapi"))
    with pytest.raises(InputError, match="bm25:bm25s"):
        scorers.load("bm25:none")
    with pytest.raises(InputError, match=BUNDLED):
        scorers.load("no-such-model")
    with pytest.raises(InputError, match="relate, beir"):
        benchmarks.read(tmp_path, format="xml")
