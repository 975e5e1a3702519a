"""A progress line on stderr: only on a terminal, only for what takes more than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

PATIENCE = 1.0
INTERVAL = 0.1


class Progress:
    """`with Progress() as report: report("parse", done, total)`; the line is gone afterwards."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._enabled = self._stream.isatty()
        self._next = clock() + PATIENCE
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase is; `total` 0 means that nobody knows."""
        if not self._enabled or self._clock() < self._next:
            return
        self._next = self._clock() + INTERVAL
        text = f"{phase} {done:,}/{total:,}" if total else phase
        self._show(text[:70])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._show("")
            self._stream.write("\r")
            self._stream.flush()

    def _show(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)
