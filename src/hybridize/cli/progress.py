"""A progress line on stderr: only on a terminal, only for what takes more than a second."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

PATIENCE = 1.0
INTERVAL = 0.1
MOMENT = 0.4


class Progress:
    """`with Progress() as report: report("parse", done, total)`; the line is gone afterwards."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._enabled = self._stream.isatty()
        self._start = clock()
        self._next = self._start + PATIENCE
        self._width = 0
        self._text = "starting"
        self._handler: Any = None

    def __enter__(self) -> Progress:
        if self._enabled and self._stream is sys.stderr and hasattr(signal, "setitimer"):
            with contextlib.suppress(ValueError):  # not in the main thread: it moves when it is told something
                self._handler = signal.signal(signal.SIGALRM, self._alarm)
                signal.setitimer(signal.ITIMER_REAL, MOMENT, MOMENT)
        return self

    def _alarm(self, *_: object) -> None:
        """Between two reports the seconds go on."""
        with contextlib.suppress(RuntimeError):  # in the middle of writing
            if self._clock() >= self._next:
                self._tell()

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase is; `total` 0 means that nobody knows."""
        if not self._enabled or self._clock() < self._next:
            return
        self._text = f"{phase} {done:,}/{total:,}" if total else f"{phase} {done:,}" if done else phase
        self._tell()

    def _tell(self) -> None:
        self._next = self._clock() + INTERVAL
        self._show(f"{self._text[:60]} ({self._clock() - self._start:.1f} s)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._handler)
        if self._width:
            self._show("")
            self._stream.write("\r")
            self._stream.flush()

    def _show(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)
