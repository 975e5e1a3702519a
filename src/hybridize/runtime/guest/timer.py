"""Timing mode: each call of a watched function is timed, and its traces are counted; nothing else is changed."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import inspect
import os
import sys
import threading
import time
from typing import Any

#: Durations that are kept of one function; of more calls, every second, fourth, ... one.
KEPT = 512


class Record:
    """What is known of one function in this process; times in seconds."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.reset()

    def reset(self) -> None:
        """As before the first call."""
        self.calls = self.inner = self.traces = 0
        self.first = self.tracing = self.total = 0.0
        self.steady: list[float] = []
        self._stride = 1

    def note(self, seconds: float, traced: int) -> None:
        """A call from eager code, and the traces that it made."""
        self.calls += 1
        self.total += seconds
        self.traces += traced
        if traced:
            self.tracing += seconds
        if self.calls == 1:
            self.first = seconds
        elif not traced and self.calls % self._stride == 0:
            self.steady.append(seconds)
            if len(self.steady) >= KEPT:
                self.steady, self._stride = self.steady[::2], self._stride * 2

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        ordered = sorted(self.steady)
        return {
            "function": self.number,
            "calls": self.calls,
            "inner": self.inner,
            "traces": self.traces,
            "first": self.first,
            "tracing": self.tracing,
            "total": self.total,
            "steady": ordered[len(ordered) // 2] if ordered else None,
        }


class Watcher:
    """Keeps the records; tells them at the end, and the histories of `fit`."""

    def __init__(self, job: Any, reporter: Any) -> None:
        self._reporter = reporter
        self._records: dict[int, Record] = {}
        self._depth = threading.local()
        self._told = self._child = False
        atexit.register(self.finish)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def watch(self, number: int, decorator: Any = None) -> Any:
        """The decorator of a watched function, or what goes around the one that makes it hybrid."""

        def decorate(function: Any) -> Any:
            inner = getattr(function, "__func__", function)
            hybrid = function if decorator is None else decorator(function)
            if inspect.isgeneratorfunction(inner) or inspect.iscoroutinefunction(inner):
                return hybrid
            record = self._records.setdefault(number, Record(number))
            if decorator is None:
                return self._plain(record, function) if inspect.isfunction(function) else function
            return Timed(self, record, hybrid)

        return decorate

    def _plain(self, record: Record, function: Any) -> Any:
        @functools.wraps(function)
        def timed(*args: Any, **keywords: Any) -> Any:
            return self.call(record, function, args, keywords)

        return disguised(timed, function)

    def call(self, record: Record, function: Any, args: Any, keywords: Any) -> Any:
        """Runs a call and notes it. Calls while a graph is traced are part of that trace."""
        if not eager():
            record.inner += 1
            return (
                converted(function)(*args, **keywords) if inspect.isfunction(function) else function(*args, **keywords)
            )
        before = _traces(function)
        started = time.perf_counter()
        try:
            return function(*args, **keywords)
        finally:
            record.note(time.perf_counter() - started, max(_traces(function) - before, 0))
            if self._child and record.calls & (record.calls - 1) == 0:
                self._reporter.tell("timed", **record.as_json())

    def finish(self) -> None:
        """Tells what was seen, once."""
        if self._told:
            return
        self._told = True
        for record in self._records.values():
            self._reporter.tell("timed", **record.as_json())
        for history in _histories():
            self._reporter.tell("history", metrics=history)

    def _forked(self) -> None:
        """In a process that was forked off: it may be ended without notice, so it tells now and then."""
        self._child = True
        for record in self._records.values():
            record.reset()


class Timed:
    """A hybrid function and who times it; all else of it shows through."""

    #: AutoGraph leaves alone what has this.
    autograph_info__: Any = ()

    def __init__(self, watcher: Any, record: Any, hybrid: Any) -> None:
        self.__hybridize__ = watcher, record, hybrid
        functools.update_wrapper(self, hybrid)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's call."""
        watcher, record, hybrid = self.__hybridize__
        return watcher.call(record, hybrid, args, keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bound as the hybrid function binds itself."""
        watcher, record, hybrid = self.__hybridize__
        bound = hybrid.__get__(instance, owner) if hasattr(hybrid, "__get__") else hybrid
        return Timed(watcher, record, bound) if callable(bound) else bound

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timed) and bool(self.__hybridize__[2] == other.__hybridize__[2])

    def __hash__(self) -> int:
        return hash(self.__hybridize__[2])

    def __getattr__(self, name: str) -> Any:
        if name == "__hybridize__":
            raise AttributeError(name)
        return getattr(self.__hybridize__[2], name)


def disguised(wrapper: Any, function: Any) -> Any:
    """A wrapper that TensorFlow's and Keras' own inspection sees through, and that AutoGraph leaves alone."""
    wrapper.autograph_info__ = ()
    with contextlib.suppress(ImportError, AttributeError):
        if "tensorflow" in sys.modules:
            module = importlib.import_module("tensorflow.python.util.tf_decorator")
            wrapper._tf_decorator = module.TFDecorator("hybridize", function)
    return wrapper


def eager() -> bool:
    """Whether no graph is traced at the moment."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is None or bool(tensorflow.executing_eagerly())


def converted(function: Any) -> Any:
    """As AutoGraph would run it at this place."""
    import tensorflow

    internal = tensorflow.__internal__.autograph
    return internal.tf_convert(function, internal.control_status_ctx())


def _traces(function: Any) -> int:
    try:
        return int(function.experimental_get_tracing_count())
    except Exception:
        return 0


def _histories() -> list[dict[str, list[float]]]:
    """The metrics by epoch of all `fit` calls whose History is still there, in the order of their objects' making."""
    found = []
    for each in gc.get_objects():
        try:
            if type(each).__name__ == "History" and isinstance(each.history, dict) and hasattr(each, "epoch"):
                plain = {str(k): [float(v) for v in values] for k, values in each.history.items()}
                if plain:
                    found.append(plain)
        except Exception:
            continue
    return found
