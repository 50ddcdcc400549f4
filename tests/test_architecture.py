"""Imports run one way, and some things are nowhere: read from the source, so that a new file is tested without being told."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "observatory").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
APP = [p for p in (ROOT / "app.py",) if p.is_file()]
EVERYTHING = [*PACKAGE, *PAGES, *APP]


def name_of(path: Path) -> str:
    """``observatory.scorers.base`` for its file; a package is its ``__init__``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(module: ast.Module, package: str = "") -> set[str]:
    """Every dotted name a module imports, wherever the import stands: ``from a import b`` gives a and a.b."""
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: -node.level + 1 or None]) if node.level else ""
            source = ".".join(filter(None, [base, node.module or ""]))
            found.update([source, *(f"{source}.{alias.name}" for alias in node.names)])
    return found


@cache
def imports(path: Path) -> frozenset[str]:
    name = name_of(path)
    return frozenset(imported(tree(path), name if path.name == "__init__.py" else name.rpartition(".")[0]))


MODULES = {name_of(path): path for path in EVERYTHING}


@cache
def reached(path: Path) -> frozenset[str]:
    """Everything a module imports, directly or through modules of ours (a package counts with its ``__init__``)."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        for name in imports(waiting.pop()) - found:
            found.add(name)
            waiting += [MODULES[name]] if name in MODULES else []
    return frozenset(found)


def within(names: frozenset[str] | set[str], *prefixes: str) -> list[str]:
    return sorted(n for n in names if any(n == p or n.startswith(p + ".") for p in prefixes))


def below(folder: str) -> list[Path]:
    found = [p for p in EVERYTHING if p.is_relative_to(ROOT / folder)]
    assert found, f"nothing below {folder}: the test would check nothing"
    return found


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -- direction of imports --------------------------------------------------------------------------------------------


def test_records_import_nothing_of_ours() -> None:
    assert within(imports(ROOT / "observatory" / "records.py"), "observatory") == []


FORBIDDEN = {
    "negatives": ("observatory.scorers", "observatory.store", "observatory.benchmarks", "duckdb", "streamlit", "torch", "plotly"),
    "scorers": ("observatory.store", "observatory.negatives", "observatory.benchmarks", "observatory.runs", "duckdb", "streamlit", "plotly"),
    "benchmarks": ("observatory.scorers", "observatory.negatives", "observatory.store", "observatory.runs", "duckdb", "streamlit", "plotly"),
    "figures": ("streamlit", "observatory.store", "observatory.ui", "observatory.scorers", "observatory.negatives", "duckdb"),
}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_parts_do_not_know_each_other(folder: str) -> None:
    """Directly or through anything of ours."""
    for path in below(f"observatory/{folder}"):
        assert within(reached(path), *FORBIDDEN[folder]) == [], ids(path)


def test_the_core_does_not_know_the_screens() -> None:
    for path in PACKAGE:
        if path.relative_to(ROOT).parts[1] not in ("ui", "figures"):
            assert within(imports(path), "observatory.ui", "plotly") == [], ids(path)


def test_only_the_store_imports_duckdb() -> None:
    assert [ids(p) for p in EVERYTHING if within(imports(p), "duckdb")] == ["observatory/store/base.py"]


def test_only_the_screens_import_streamlit() -> None:
    for path in PACKAGE:
        if within(imports(path), "streamlit"):
            assert path.is_relative_to(ROOT / "observatory" / "ui"), ids(path)


def test_the_command_line_starts_light() -> None:
    """What ``observatory.cli`` and every command import at the top is not what takes seconds to import."""
    for path in [ROOT / "observatory" / "cli.py", *below("observatory/commands")]:
        top = ast.Module([n for n in tree(path).body if isinstance(n, ast.Import | ast.ImportFrom)], [])
        assert within(imported(top), "torch", "streamlit", "plotly", "transformers", "sentence_transformers") == [], ids(path)


SQL = re.compile(r"^\s*(with\s+\w+\s+as\s*\(|select\b.+\bfrom\b|insert\s+into\b|update\s+\w+\s+set\b|delete\s+from\b|create\s+(table|view)\b)", re.I | re.S)


def sql_in(module: ast.Module) -> list[str]:
    docs = {id(n.value) for n in ast.walk(module) if isinstance(n, ast.Expr)}
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            found.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            found.append("".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values))
    return [text for text in found if SQL.search(text)]


def test_sql_is_in_the_store_only() -> None:
    found = [p for p in EVERYTHING if sql_in(tree(p))]
    assert found and [ids(p) for p in found if not p.is_relative_to(ROOT / "observatory" / "store")] == []


def test_pages_know_no_sql_no_statistics_no_plotly_and_no_other_page() -> None:
    for path in PAGES:
        forbidden = within(
            imports(path), "duckdb", "plotly", "observatory.store", "observatory.statistics", "observatory.runs", "observatory.scorers",
            "observatory.negatives", "pages", *(p.stem for p in PAGES if p != path),
        )
        assert forbidden == [], ids(path)
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 120, f"{ids(path)} does more than a page should"


# -- one place for the margin ----------------------------------------------------------------------------------------


def margin_subtractions(module: ast.Module) -> list[str]:
    """Subtractions whose left side is called a reference."""
    found = (n for n in ast.walk(module) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub))
    return [ast.unparse(n) for n in found if re.search(r"reference|\bp0\b|positive_score", ast.unparse(n.left))]


def test_margins_are_computed_in_one_place_and_checked_in_one() -> None:
    where = {ids(p) for p in EVERYTHING if margin_subtractions(tree(p))}
    assert where == {"observatory/margins.py", "observatory/admission.py"}


# -- nowhere ---------------------------------------------------------------------------------------------------------


SAFE_LOADERS = {"yaml.SafeLoader", "yaml.CSafeLoader", "yaml.BaseLoader", "yaml.CBaseLoader"}
"""Loaders that build plain data only."""


def unsafe(module: ast.Module) -> Iterator[str]:
    """Imports, calls and arguments that read code or markup out of data."""
    yield from within(imported(module), "pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle")
    for node in ast.walk(module):
        if isinstance(node, ast.keyword) and node.arg in {"trust_remote_code", "allow_pickle", "unsafe_allow_html", "shell", "unsafe_allow_javascript"}:
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                yield f"{node.arg}={ast.unparse(node.value)}"
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"eval", "exec", "compile", "os.system", "os.popen", "torch.load", "yaml.unsafe_load", "yaml.full_load", "pd.read_pickle"}:
                yield called
            if called == "yaml.load" and not any(ast.unparse(k.value) in SAFE_LOADERS for k in node.keywords if k.arg == "Loader"):
                yield "yaml.load without a safe loader"
            if called in {"np.load", "numpy.load"} and not any(k.arg == "allow_pickle" for k in node.keywords):
                yield f"{called} without allow_pickle=False"


@pytest.mark.parametrize("path", EVERYTHING, ids=ids)
def test_nothing_reads_code_or_markup_out_of_data(path: Path) -> None:
    assert list(unsafe(tree(path))) == []


@pytest.mark.parametrize("path", EVERYTHING, ids=ids)
def test_every_module_says_what_it_is(path: Path) -> None:
    doc = ast.get_docstring(tree(path))
    assert doc and len(doc) > 15, "no docstring"
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text(encoding="utf-8"))


# -- the detectors themselves can find what they look for ------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import duckdb", "duckdb"), ("from duckdb import connect", "duckdb"), ("def f():\n    import duckdb.typing as t", "duckdb"),
        ("from . import store", "observatory.scorers.store"), ("from ..store import Store", "observatory.store.Store"),
        ("from observatory import store", "observatory.store"), ("if TYPE_CHECKING:\n    from torch import nn", "torch.nn"),
    ],
)
def test_imports_are_found_wherever_they_stand(source: str, name: str) -> None:
    assert within(imported(ast.parse(source), "observatory.scorers"), name)


def test_imports_are_followed() -> None:
    assert "observatory.descriptor" in reached(ROOT / "observatory" / "scorers" / "base.py")
    assert "pydantic" in reached(ROOT / "observatory" / "scorers" / "base.py"), "through the descriptor"


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from joblib import load", "M(trust_remote_code=True)", "M(trust_remote_code=flag)", "np.load(f)",
        "np.load(f, allow_pickle=True)", "st.markdown(x, unsafe_allow_html=True)", "yaml.load(x)", "yaml.load(x, Loader=yaml.Loader)", "torch.load(x)", "eval(x)",
    ],
)
def test_unsafe_code_is_found(source: str) -> None:
    assert list(unsafe(ast.parse(source)))


@pytest.mark.parametrize("source", ["M(trust_remote_code=False)", "np.load(f, allow_pickle=False)", "yaml.safe_load(x)", "yaml.load(x, Loader=yaml.BaseLoader)", "re.compile(x)"])
def test_safe_code_is_not(source: str) -> None:
    assert not list(unsafe(ast.parse(source)))


@pytest.mark.parametrize(
    ("detector", "source", "found"),
    [
        (margin_subtractions, "m = reference_score - max(s)", True), (margin_subtractions, "m = row.reference_score - s", True),
        (margin_subtractions, "m = frame['reference_score'] - frame['hardest_score']", True), (margin_subtractions, "d = left - right", False),
        (sql_in, "q = 'select a from b'", True), (sql_in, "q = f'select {x} from b'", True), (sql_in, "q = 'WITH x AS (select 1)'", True),
        (sql_in, "q = 'with a word from us'", False), (sql_in, "'select a from b'", False), (sql_in, "q = 'update of the page'", False),
    ],
)
def test_detectors(detector: Callable[[ast.Module], list[str]], source: str, found: bool) -> None:
    assert bool(detector(ast.parse(source))) is found
