"""What a run prints and writes: taken in, kept for the comparison, and passed on if the run is the real one."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
import tempfile
import time
import warnings
from typing import Any

from .outside import Journal, Written
from .typed import Typed

#: What the libraries write to standard error about themselves.
CHATTER = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:|[IWEF]\d{4} |[IWEF]0000|(WARNING|INFO|ERROR|DEBUG):(tensorflow|absl)|WARNING: All log"
    r"|To enable the following"
)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)")
TEXT = 100_000  # bytes of output that are kept


class _Recorder(io.StringIO):
    """Stands for a stream; asked about itself, it answers like it."""

    def __init__(self, original: Any) -> None:
        super().__init__()
        self.original = original

    def isatty(self) -> bool:
        return bool(self.original is not None and self.original.isatty())

    def fileno(self) -> int:
        return int(self.original.fileno())


class Streams:
    """A context: what is printed in it, by Python or by native code, is in `text`; with `real` it is passed on.

    Files and folders that Python code changes are in `files`; unless `real`, they are afterwards as they were.
    """

    def __init__(self, *, real: bool) -> None:
        self._real = real
        self.text: dict[str, str] = {}
        self.files: dict[str, Written] = {}
        self.notes: list[str] = []
        self.calls: list[str] = []
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Streams:
        self._redirect()
        self._undo.enter_context(Typed(real=self._real))
        self._journal = self._undo.enter_context(Journal(undo=not self._real))
        self._watch_calls()
        if not self._real:
            self._watch_log()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()
        self.files = self._journal.files
        self.calls += self._journal.calls

    def _redirect(self) -> None:
        _flush(sys.__stdout__, sys.__stderr__, sys.stdout, sys.stderr)
        saved = {}
        for name, number in (("stdout", 1), ("stderr", 2)):
            file = tempfile.TemporaryFile()  # noqa: SIM115
            try:
                saved[name] = (number, os.dup(number), file)
                os.dup2(file.fileno(), number)
            except OSError:  # closed by the program
                file.close()
        original = sys.stdout, sys.stderr
        recorders = sys.stdout, sys.stderr = _Recorder(original[0]), _Recorder(original[1])

        def undo() -> None:
            _flush(sys.__stdout__, sys.__stderr__, *original)
            for name, stream, recorder in zip(("stdout", "stderr"), original, recorders):
                native = b""
                if name in saved:
                    number, copy, file = saved[name]
                    os.dup2(copy, number)
                    os.close(copy)
                    file.seek(0)
                    native = file.read()
                    file.close()
                written = recorder.getvalue()
                self.text[name] = _own(written[:TEXT] + native[:TEXT].decode("utf-8", "replace"))
                if self._real:
                    _pass_on(stream, written, saved[name][0] if name in saved else -1, native)
            for name, stream, recorder in zip(("stdout", "stderr"), original, recorders):
                if getattr(sys, name) is recorder:
                    setattr(sys, name, stream)

        self._undo.callback(undo)

    def _watch_calls(self) -> None:
        """Warnings, naps and looks at the clock of the program's own code."""
        warn, sleep, calls, real = warnings.warn, time.sleep, self.calls, self._real
        clocks = {name: getattr(time, name) for name in _CLOCKS}
        watched_clocks = {name: _watched_clock(name, clock, calls) for name, clock in clocks.items()}
        vars(time).update(watched_clocks)

        def watched_warn(message: Any, *args: Any, **keywords: Any) -> None:
            if _from_program(sys._getframe(1)):
                calls.append(f"warning: {message}")
                if not real:
                    return
            original: Any = warn
            level = int(args[1] if len(args) > 1 else keywords.pop("stacklevel", 1))
            original(message, *args[:1], stacklevel=level + 1, **keywords)

        def watched_sleep(seconds: Any) -> None:
            if _from_program(sys._getframe(1)):
                calls.append(f"sleep: {seconds}")
                if not real:
                    return
            sleep(seconds)

        warnings.warn, time.sleep = watched_warn, watched_sleep

        def undo() -> None:
            if warnings.warn is watched_warn:
                warnings.warn = warn
            if time.sleep is watched_sleep:
                time.sleep = sleep
            vars(time).update({n: c for n, c in clocks.items() if getattr(time, n) is watched_clocks[n]})

        self._undo.callback(undo)

    def _watch_log(self) -> None:
        """What TensorFlow logs goes to the notes."""
        notes = self.notes
        logger = logging.getLogger("tensorflow")

        class Keep(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if len(notes) < 20:
                    notes.append(record.getMessage()[:400])

        handlers, propagate = list(logger.handlers), logger.propagate
        libraries = ("logging", "absl", "tensorflow")
        logger.handlers[:] = [Keep(), *(h for h in handlers if not type(h).__module__.startswith(libraries))]
        logger.propagate = False

        def undo() -> None:
            logger.handlers[:] = handlers
            logger.propagate = propagate

        self._undo.callback(undo)


def _flush(*streams: Any) -> None:
    for stream in streams:
        with contextlib.suppress(Exception):
            stream.flush()


_CLOCKS = ("time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns", "process_time")


def _watched_clock(name: str, clock: Any, calls: list[str]) -> Any:
    def watched() -> Any:
        if _from_program(sys._getframe(1)):
            calls.append(f"time.{name}")
        return clock()

    return watched


def _from_program(frame: Any) -> bool:
    """Whether the code of this frame is no library's; what AutoGraph makes of a function is the function."""
    while frame is not None and "/autograph/" in frame.f_code.co_filename:
        frame = frame.f_back
    path = "" if frame is None else frame.f_code.co_filename
    return "site-packages" not in path and "dist-packages" not in path and not path.startswith((_STANDARD, "<frozen"))


_STANDARD = os.path.dirname(os.__file__) + os.sep


def _own(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not CHATTER.match(line))


def _pass_on(stream: Any, written: str, number: int, native: bytes) -> None:
    with contextlib.suppress(Exception):
        if written:
            stream.write(written)
            stream.flush()
    with contextlib.suppress(OSError):
        while native and number >= 0:
            native = native[os.write(number, native) :]


def same_text(a: str, b: str, tolerance: float = 1e-3) -> bool:
    """Whether two texts are the same but for the last digits of numbers."""
    if a == b:
        return True
    if NUMBER.split(a) != NUMBER.split(b):
        return False
    for one, two in zip(NUMBER.findall(a), NUMBER.findall(b)):
        if one == two:
            continue
        if "." not in one + two and "e" not in (one + two).lower():
            return False
        x, y = float(one), float(two)
        if not abs(x - y) <= tolerance * max(abs(x), abs(y), 1e-3):
            return False
    return True
