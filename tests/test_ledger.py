"""Append-only ledgers: the chain, what tampering does to it, a crash in the middle, and many processes at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from observatory import ledger
from observatory.errors import InputError
from tests.conftest import ROOT


def add(path: Path, *values: object) -> tuple[ledger.Entry, ...]:
    return ledger.append(path, lambda _: [{"value": v} for v in values])


def test_entries_come_back_in_order_and_each_names_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "ledgers" / "a.jsonl"
    assert ledger.read(path) == ledger.Ledger()
    add(path, 1)
    add(path, "zwei\n\u2028", {"three": 3})
    found = ledger.read(path)
    assert [e["value"] for e in found.entries] == [1, "zwei\n\u2028", {"three": 3}] and found.fault is None
    assert [e["previous"] for e in found.entries] == [ledger.START, *(e["sha256"] for e in found.entries[:-1])]


def tampered(lines: list[bytes]) -> dict[str, tuple[list[bytes], int]]:
    """Kinds of tampering, and the line each is seen at."""
    other = json.loads(lines[1])
    reordered_keys = (json.dumps(dict(reversed(other.items()))) + "\n").encode()
    return {
        "a changed value": ([lines[0], lines[1].replace(b'"value":2', b'"value":9'), lines[2]], 2),
        "a removed line": ([lines[0], lines[2]], 2),
        "the first line removed": (lines[1:], 1),
        "a doubled line": ([lines[0], lines[0], *lines[1:]], 2),
        "swapped lines": ([lines[1], lines[0], lines[2]], 1),
        "other spelling": ([lines[0], reordered_keys, lines[2]], 2),
        "no JSON": ([*lines, b"hello\n"], 4),
        "no object": ([*lines, b"[1]\n"], 4),
        "an empty line": ([lines[0], b"\n", *lines[1:]], 2),
    }


@pytest.mark.parametrize("kind", tampered([b'{"a": 1}\n'] * 3))
def test_a_broken_chain_has_no_entries_and_says_where(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1, 2, 3)
    changed, line = tampered(path.read_bytes().splitlines(keepends=True))[kind]
    path.write_bytes(b"".join(changed))
    found = ledger.read(path)
    assert found.entries == () and found.fault is not None and f"line {line} " in found.fault
    before = path.read_bytes()
    with pytest.raises(InputError, match="broken"):
        add(path, 4)
    assert path.read_bytes() == before


def test_an_unfinished_last_line_was_never_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"previous":"00')
    found = ledger.read(path)
    assert [e["value"] for e in found.entries] == [1] and found.unfinished
    add(path, 2)
    found = ledger.read(path)
    assert [e["value"] for e in found.entries] == [1, 2] and not found.unfinished
    assert path.read_bytes().startswith(whole)


def test_nothing_is_written_where_the_maker_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1)

    def refuse(there: ledger.Ledger) -> list[ledger.Entry]:
        raise InputError("no")

    before = path.read_bytes()
    with pytest.raises(InputError, match="no"):
        ledger.append(path, refuse)
    assert path.read_bytes() == before


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    add(path, 1)
    before, real = path.read_bytes(), os.write

    def half(handle: int, raw: bytes) -> int:
        real(handle, raw[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger.os, "write", half)
    with pytest.raises(InputError, match="No space left"):
        add(path, 2)
    assert path.read_bytes() == before


def test_processes_appending_at_once_lose_nothing(tmp_path: Path) -> None:
    path, n, processes = tmp_path / "ledgers" / "a.jsonl", 25, 6
    code = (
        "import sys; from pathlib import Path; from observatory import ledger\n"
        f"for i in range({n}): ledger.append(Path(sys.argv[1]), lambda _: [{{'who': sys.argv[2], 'i': i}}, {{'who': sys.argv[2], 'i': -i}}])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), str(p)], env=environment) for p in range(processes)]
    assert [r.wait(timeout=60) for r in running] == [0] * processes
    found = ledger.read(path)
    assert found.fault is None and len(found.entries) == 2 * n * processes
    for p in range(processes):
        mine = [e["i"] for e in found.entries if e["who"] == str(p)]
        assert mine == [j for i in range(n) for j in (i, -i)]
    pairs = [e["who"] for e in found.entries]
    assert all(a == b for a, b in zip(pairs[::2], pairs[1::2], strict=True)), "what was appended together stands together"
