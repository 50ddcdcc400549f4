"""BM25 against rank_bm25 and bm25s themselves, and against the formulas written out by hand."""

from __future__ import annotations

import math
import re

import bm25s
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from observatory.scorers.bm25 import VARIANTS, Bm25, Bm25sIndex, OkapiIndex

WORDS = ("gate", "was", "closed", "not", "copy", "ran", "Höhe", "x1", "the", "dawn")
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
CORPUS = st.lists(TEXT, min_size=1, max_size=12)
QUERY = st.lists(st.sampled_from([*WORDS, "unknown", "Gate"]), max_size=8).map(" ".join)
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reference_okapi(corpus: list[str], query: str) -> np.ndarray:
    tokens = [text.lower().split() for text in corpus]
    if not any(tokens):
        return np.zeros(len(corpus))  # rank_bm25 itself divides by zero here
    return np.asarray(BM25Okapi(tokens).get_scores(query.lower().split()))


@relaxed
@given(CORPUS, QUERY)
@example(["the gate", "the copy", "the dawn"], "the the gate")  # 'the' in all texts: the floor under negative idf
@example(["gate", "", "gate was"], "gate gate gate was")
@example(["", ""], "gate")
@example(["gate"], "gate")
def test_okapi_is_rank_bm25(corpus: list[str], query: str) -> None:
    ours = OkapiIndex(corpus).scores([query])[0]
    np.testing.assert_allclose(ours, reference_okapi(corpus, query), rtol=0, atol=1e-12)


def test_okapi_floor_is_reached() -> None:
    """A term in more than half of the texts has a negative idf, replaced by epsilon times the mean idf."""
    corpus = ["the gate", "the copy ran", "the dawn", "was closed"]
    okapi = BM25Okapi([t.split() for t in corpus])
    assert math.log(4 - 3 + 0.5) - math.log(3 + 0.5) < 0
    assert okapi.idf["the"] == 0.25 * okapi.average_idf
    ours = OkapiIndex(corpus).scores(["the"])[0]
    np.testing.assert_allclose(ours, okapi.get_scores(["the"]), rtol=0, atol=1e-12)
    assert ours[0] != 0 and ours[3] == 0


def test_okapi_by_hand() -> None:
    """Okapi with k1 = 1.5, b = 0.75, written out for one term."""
    corpus = ["gate gate closed", "copy ran", "dawn", "was it so then"]
    average = (3 + 2 + 1 + 4) / 4
    idf = math.log(4 - 1 + 0.5) - math.log(1 + 0.5)
    expected = idf * 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / average))
    assert OkapiIndex(corpus).scores(["gate"])[0, 0] == pytest.approx(expected, abs=1e-14)


def words(text: str) -> list[str]:
    return re.findall(r"(?u)\b\w\w+\b", text.lower())


def lucene(corpus: list[str], query: str, k1: float = 1.5, b: float = 0.75) -> np.ndarray:
    """Lucene's BM25 as in Kamphuis et al. (2020), table 1: sum of ln(1 + (N - df + .5) / (df + .5)) tf / (tf + norm)."""
    tokens = [words(text) for text in corpus]
    n, total = len(tokens), sum(map(len, tokens))
    scores = np.zeros(n)
    for term in words(query):
        df = sum(term in text for text in tokens)
        if df:
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            for i, text in enumerate(tokens):
                tf = text.count(term)
                scores[i] += idf * tf / (tf + k1 * (1 - b + b * len(text) * n / total))
    return scores


@relaxed
@given(CORPUS, QUERY)
@example(["gate", "", "gate was"], "gate gate gate was")
@example(["", ""], "gate")
@example(["gate"], "gate")
def test_bm25s_is_lucene_by_hand(corpus: list[str], query: str) -> None:
    np.testing.assert_allclose(Bm25sIndex(corpus).scores([query])[0], lucene(corpus, query), rtol=0, atol=1e-12)


@relaxed
@given(CORPUS, QUERY)
def test_bm25s_is_bm25s(corpus: list[str], query: str) -> None:
    tokens = [words(text) for text in corpus]
    ours = Bm25sIndex(corpus).scores([query])[0]
    known = [t for t in words(query) if any(t in text for text in tokens)]
    if not known:
        assert not ours.any()
        return
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    theirs.index(tokens, show_progress=False)
    np.testing.assert_array_equal(ours, theirs.get_scores(known))


@pytest.mark.parametrize("variant", VARIANTS)
@relaxed
@given(CORPUS, QUERY)
def test_equal_texts_tie_to_the_bit(variant: str, corpus: list[str], query: str) -> None:
    """A text, its twin at the end, and its twin in capitals."""
    n = len(corpus)
    scores = Bm25(variant).index([*corpus, *corpus, *(t.upper() for t in corpus)]).scores([query, query])
    for row in scores:
        np.testing.assert_array_equal(row[:n], row[n : 2 * n])
        np.testing.assert_array_equal(row[:n], row[2 * n :])


@pytest.mark.parametrize("variant", VARIANTS)
@relaxed
@given(CORPUS, st.lists(QUERY, max_size=5))
def test_queries_do_not_touch_each_other(variant: str, corpus: list[str], queries: list[str]) -> None:
    index = Bm25(variant).index(corpus)
    together = index.scores(queries)
    assert together.shape == (len(queries), len(corpus)) and together.dtype == np.float64
    for query, row in zip(queries, together, strict=True):
        np.testing.assert_array_equal(index.scores([query])[0], row)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_record_states_the_parameters_that_were_used(variant: str) -> None:
    """The reference implementations above used k1 = 1.5 and b = 0.75; a record with others could not be repeated."""
    record = Bm25(variant).description.bm25
    assert not isinstance(record, str)
    assert (record.k1, record.b, record.stopwords, record.stemmer) == (1.5, 0.75, "none", "none")
    assert record.epsilon == (0.25 if variant == "okapi" else "not_applicable")
    library = {"okapi": BM25Okapi([["a"]]), "bm25s": bm25s.BM25()}[variant]
    assert (library.k1, library.b) == (record.k1, record.b)
