"""Which text a bi-encoder wants before each query and each item, and who says so.

The first that knows: the user's options, the user's file (``OBSERVATORY_PROMPTS``), the model's own configuration, the
table below (by the model's name), and otherwise no prompt. The origin is kept beside the prompt, so that a table that
guessed wrong by a folder's name can be seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from observatory.errors import InputError
from observatory.files import read_text
from observatory.scorers.options import Options

USER_FILE = "OBSERVATORY_PROMPTS"
OWN_QUERY, OWN_ITEM = ("query",), ("document", "passage", "corpus")
"""Names that sentence-transformers' ``encode_query`` and ``encode_document`` look for in a model's configuration, in this order."""


@dataclass(frozen=True)
class Family:
    """A prompt pair for every model whose name, in lower case and without the owner, fits the glob ``match``."""

    match: str
    query: str
    item: str
    source: str


@dataclass(frozen=True)
class Prompted:
    """The pair that is used, and where each half came from, in words."""

    query: str
    item: str
    query_from: str
    item_from: str

    @property
    def origin(self) -> str:
        return self.query_from if self.query_from == self.item_from else f"query: {self.query_from}; item: {self.item_from}"


WEB_SEARCH = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
E5 = "https://huggingface.co/intfloat/e5-base-v2 (model card: each text starts with one of the two)"
BGE = "FlagEmbedding's examples for BAAI/bge-*-v1.5 (query_instruction_for_retrieval; passages take none)"
FAMILIES: tuple[Family, ...] = (
    Family("*e5-*-instruct*", WEB_SEARCH + " ", "", "mteb's e5_instruct.py and Qwen's example task, which is e5-mistral's; the task should be yours"),
    *(Family(match, "query: ", "passage: ", E5) for match in ("e5-small*", "e5-base*", "e5-large*", "multilingual-e5-*")),
    *(Family(f"bge-{size}-en-v1.5*", "Represent this sentence for searching relevant passages: ", "", BGE) for size in ("small", "base", "large")),
    *(Family(f"bge-{size}-zh-v1.5*", "为这个句子生成表示以用于检索相关文章：", "", BGE) for size in ("small", "base", "large")),
    Family("nomic-embed-text-*", "search_query: ", "search_document: ", "https://huggingface.co/nomic-ai/nomic-embed-text-v1 (model card: the prefix must be there)"),
    Family("embeddinggemma-*", "task: search result | query: ", "title: none | text: ", "the model's prompts 'query' and 'document', as in mistral.rs' embedding-gemma example"),
    Family("qwen3-embedding-*", WEB_SEARCH, "", "mteb's qwen3_models.py (Instruct and Query, nothing before passages) with the task of the model card"),
)


def choose(name: str, own: Mapping[str, str], options: Options) -> Prompted:
    """The prompts of the model called ``name`` whose configuration holds ``own``. Raises InputError for an unusable user file."""
    pair = _by_model(name, own)
    query, item = options.query_prompt, options.item_prompt
    return Prompted(
        pair.query if query is None else query, pair.item if item is None else item,
        pair.query_from if query is None else "the run's options", pair.item_from if item is None else "the run's options",
    )


def _by_model(name: str, own: Mapping[str, str]) -> Prompted:
    path = os.environ.get(USER_FILE)
    if path and (found := _family(name, read_families(Path(path)))) is not None:
        return _pair(found, f"{Path(path).name}, entry '{found.match}'")
    query, item = _first(own, OWN_QUERY), _first(own, OWN_ITEM)
    if query or item:
        return Prompted(query, item, *(["the model's own configuration"] * 2))
    if (found := _family(name, FAMILIES)) is not None:
        return _pair(found, f"by the model's name: {found.source}")
    return Prompted("", "", *(["none known for this model"] * 2))


def _pair(family: Family, origin: str) -> Prompted:
    return Prompted(family.query, family.item, origin, origin)


def _family(name: str, families: Iterable[Family]) -> Family | None:
    plain = name.rpartition("/")[2].lower()
    return next((f for f in families if fnmatchcase(plain, f.match.lower())), None)


def _first(own: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((own[name] for name in names if own.get(name)), "")


def read_families(path: Path) -> tuple[Family, ...]:
    """A YAML list of ``{match, query, item}``. Raises InputError for the first entry that is no such thing."""
    try:
        entries = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError("is not valid YAML", file=path, mend="write a list of entries with match, query and item") from error
    if not isinstance(entries, list):
        raise InputError("holds no list", file=path, mend="write a list of entries with match, query and item")
    return tuple(_entry(entry, path) for entry in entries)


def _entry(entry: Any, path: Path) -> Family:
    fields = ("match", "query", "item")
    if not isinstance(entry, dict) or set(entry) != set(fields) or not all(isinstance(entry[f], str) for f in fields):
        raise InputError("is no prompt entry", file=path, value=entry, mend="write match, query and item, each a text")
    return Family(entry["match"], entry["query"], entry["item"], str(path))
