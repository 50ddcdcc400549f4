"""Seconds the server needs to repaint each page after a change of selection, on 2 million margin rows in 40 artifacts.

Run: python -m tests.bench.screens DIR (DIR is filled by tests.bench.big_store where it is empty). One process, AppTest, so
the figures leave out the browser's drawing; each is beside the time of a one-plot page in the same run.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.bench import big_store
from tests.conftest import ROOT

HELLO = """
import plotly.graph_objects as go, streamlit as st
st.plotly_chart(go.Figure(go.Bar(x=[1, 2, 3], y=[1, 2, 3])), key=str(st.query_params.get("n")))
"""


def six(first: int) -> list[str]:
    """Six sets of three runs that no case before compared."""
    return [f"invented-{i:02d}/{rule}" for i in range(first, first + 3) for rule in big_store.RULES]


CASES: dict[str, list[tuple[str, dict[str, list[str]]]]] = {
    "margins": [
        ("tail counts at a threshold", {"more": ["Tail counts"], "t": ["0.05"]}), ("quantiles with intervals", {"more": ["Quantiles"], "t": []}),
        ("by query style", {"more": [], "split": ["query style"]}), ("ECDF", {"split": [], "view": ["ECDF"]}),
    ],
    "compare": [("six sets, never compared", {"compare": six(20)}), ("six more", {"compare": six(24)}), ("another baseline", {"baseline": [six(24)[3]]})],
    "strata": [("by source text", {"by": ["source text"], "compare": []}), ("two sets, paired", {"strata": ["two sets, paired"]})],
    "calibration": [("scores", {"part": ["Scores"]})],
}
"""Changes beyond another run: page -> (what, parameters; an empty list removes one)."""


def seconds(app: AppTest, change: dict[str, list[str]]) -> float:
    for name, values in change.items():
        if values:
            app.query_params[name] = values
        elif name in app.query_params:
            del app.query_params[name]
    started = time.perf_counter()
    app.run(timeout=120)
    if app.exception:
        raise SystemExit(str(app.exception[0].value))
    return time.perf_counter() - started


def main(folder: Path) -> None:
    if not folder.is_dir() or not any(folder.iterdir()):
        for index in range(big_store.ARTIFACTS):
            from observatory.artifacts import write

            write(folder, big_store.artifact(index))
    os.environ.update(OBSERVATORY_STORE=str(folder), OBSERVATORY_SHIPPED="")
    hello = AppTest.from_string(HELLO).run()
    base = min(seconds(hello, {"n": [str(i)]}) for i in range(5))
    print(f"one-plot page: {base:.3f} s")
    started = time.perf_counter()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300).run()
    print(f"first page with the whole store to check: {time.perf_counter() - started:.1f} s")
    for page in sorted((ROOT / "pages").glob("*.py")):
        app.switch_page(f"pages/{page.name}").run(timeout=120)
        times = [seconds(app, {"run": [f"invented-{i:02d}"]}) for i in (5, 10, 15)]
        print(f"{page.stem:12} {'another run':30} {max(times):.3f} s ({max(times) / base:.1f} x one-plot page)", flush=True)
        for what, change in CASES.get(page.stem, []):
            took = seconds(app, change)
            print(f"{page.stem:12} {what:30} {took:.3f} s ({took / base:.1f} x one-plot page)", flush=True)
        for name in {name for _, change in CASES.get(page.stem, []) for name in change}:
            if name in app.query_params:
                del app.query_params[name]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
