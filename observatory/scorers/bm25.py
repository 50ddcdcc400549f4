"""BM25 in two recorded variants: rank_bm25's Okapi (for parity) and bm25s' Lucene (for speed).

Okapi: a sparse matrix holds rank_bm25's own weights, so the scores are its scores at a hundredth of the time.
Both keep float64 and sum over query terms in the query's order, so texts with equal tokens tie exactly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata

import numpy as np
from numpy.typing import NDArray

from observatory import descriptor
from observatory.scorers.base import Index, Progress, describe, silent

Tokens = list[str]


def whitespace(text: str) -> Tokens:
    """Lower-cased text split at white space, as rank_bm25's own README does."""
    return text.lower().split()


_WORD = re.compile(r"(?u)\b\w\w+\b")


def words(text: str) -> Tokens:
    """Lower-cased words of two or more characters (bm25s' default pattern)."""
    return _WORD.findall(text.lower())


class OkapiIndex:
    """rank_bm25's ``BM25Okapi.get_scores`` as one sparse product: rows are terms, columns texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        from rank_bm25 import BM25Okapi
        from scipy.sparse import csr_matrix

        corpus = [whitespace(text) for text in texts]
        self._n = len(corpus)
        self._rows: dict[str, int] = {}
        if not any(corpus):  # rank_bm25 divides by the mean length
            self._weights = csr_matrix((0, self._n))
            return
        okapi = BM25Okapi(corpus)
        self._rows = {term: row for row, term in enumerate(okapi.idf)}
        lengths = np.asarray(okapi.doc_len, dtype=np.float64)
        norm = okapi.k1 * (1 - okapi.b + okapi.b * lengths / okapi.avgdl)
        rows = [self._rows[t] for freqs in okapi.doc_freqs for t in freqs]
        columns = np.repeat(np.arange(self._n), [len(f) for f in okapi.doc_freqs])
        tf = np.array([f for freqs in okapi.doc_freqs for f in freqs.values()], dtype=np.float64)
        idf = np.array([okapi.idf[t] for freqs in okapi.doc_freqs for t in freqs], dtype=np.float64)
        weights = idf * (tf * (okapi.k1 + 1) / (tf + norm[columns]))
        self._weights = csr_matrix((weights, (rows, columns)), shape=(len(self._rows), self._n))

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        from scipy.sparse import csr_matrix

        counts = [Counter(t for t in whitespace(q) if t in self._rows) for q in queries]
        indptr = np.cumsum([0, *(len(c) for c in counts)])
        columns = [self._rows[t] for c in counts for t in c]
        values = np.array([n for c in counts for n in c.values()], dtype=np.float64)
        matrix = csr_matrix((values, columns, indptr), shape=(len(queries), self._weights.shape[0]))
        return np.asarray((matrix @ self._weights).todense(), dtype=np.float64)


class Bm25sIndex:
    """bm25s with the Lucene variant, in float64."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s

        corpus = [words(text) for text in texts]
        self._n = len(corpus)
        self._retriever = None
        if any(corpus):
            self._retriever = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
            self._retriever.index(corpus, show_progress=False)

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        out = np.zeros((len(queries), self._n))
        for row, query in enumerate(queries):
            known = [t for t in words(query) if self._retriever and t in self._retriever.vocab_dict]
            if known and self._retriever:
                out[row] = self._retriever.get_scores(known)
        return out


@dataclass(frozen=True)
class Variant:
    """One BM25 implementation with everything that is needed to repeat it."""

    build: Callable[[Sequence[str]], Index]
    formula: str
    epsilon: float | descriptor.NotApplicable
    tokeniser: str
    library: str


VARIANTS: dict[str, Variant] = {
    "okapi": Variant(OkapiIndex, "Okapi (rank_bm25.BM25Okapi)", 0.25, "lower case, split at white space", "rank-bm25"),
    "bm25s": Variant(Bm25sIndex, "Lucene (bm25s)", "not_applicable", r"lower case, regex (?u)\b\w\w+\b", "bm25s"),
}


def parameters(variant: str) -> descriptor.Bm25:
    """The complete record of one variant."""
    v = VARIANTS[variant]
    return descriptor.Bm25(
        variant=v.formula, k1=1.5, b=0.75, epsilon=v.epsilon, tokeniser=v.tokeniser, stopwords="none", stemmer="none",
        library=v.library, library_version=metadata.version(v.library),
    )


class Bm25:
    """BM25 as a scorer in its own right (``bm25:okapi``, ``bm25:bm25s``)."""

    def __init__(self, variant: str) -> None:
        self.variant = variant

    @cached_property
    def description(self) -> descriptor.Scorer:
        library = VARIANTS[self.variant].library
        return describe(
            name=f"bm25:{self.variant}", family="bm25", metric="BM25 score (higher is better, no upper bound)",
            revision=f"{library} {metadata.version(library)}", weights_sha256=descriptor.NOT_APPLICABLE,
            pooling=descriptor.NOT_APPLICABLE, normalisation=descriptor.NOT_APPLICABLE,
            prompts=descriptor.NOT_APPLICABLE, dtype="float64", backend=library,
            max_length=descriptor.NOT_APPLICABLE, bm25=parameters(self.variant),
        )

    def index(self, texts: Sequence[str], progress: Progress = silent) -> Index:
        progress("index", 0, len(texts))
        built = VARIANTS[self.variant].build(texts)
        progress("index", len(texts), len(texts))
        return built
