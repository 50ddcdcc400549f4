"""Progress on stderr: one line redrawn on a terminal, a line every two seconds elsewhere."""

from __future__ import annotations

import os
import sys
import time

WIDTH = 28
EVERY = 2.0


class Progress:
    """Called with (stage, done, total). ``NO_COLOR`` and a plain stream get plain lines."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        self._stage, self._started, self._first, self._said = "", 0.0, 0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        fresh = stage != self._stage
        if fresh:
            self._stage, self._started, self._first, self._said = stage, now, done, -EVERY
        if self._quiet or (now - self._said < (0.1 if self._bar else EVERY) and done < total):
            return
        self._said = now
        line = f"{stage}: {done:,}/{total:,}{self._left(now, done, total)}" if total > 1 else f"{stage} …"
        if not self._bar:
            print(line, file=sys.stderr, flush=True)
            return
        filled = "#" * (WIDTH * done // max(total, 1)) if total > 1 else ""
        print(f"\r\033[K[{filled:<{WIDTH}}] {line}", end="\n" if done >= total else "", file=sys.stderr, flush=True)

    def _left(self, now: float, done: int, total: int) -> str:
        spent, finished = now - self._started, done - self._first
        if finished <= 0 or done >= total or spent < 1:
            return ""
        rate = finished / spent
        return f" ({rate:,.0f}/s, {(total - done) / rate:,.0f} s left)"
