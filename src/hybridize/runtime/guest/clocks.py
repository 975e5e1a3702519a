"""Clocks that run at another speed: what a program makes of the time that it takes is then another value."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any

_FLOAT = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_NANO = tuple(f"{name}_ns" for name in _FLOAT)


def pace(factor: float) -> None:
    """From now on the clocks of `time` and `datetime` run so many times as fast; sleeping takes as long as ever."""
    names = vars(time)
    for name in (*_FLOAT, *_NANO):
        if name in names:
            names[name] = _paced(names[name], factor)

    class Paced(datetime.datetime):
        """The program's `datetime.datetime`."""

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(time.time(), datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

    Paced.__name__ = Paced.__qualname__ = "datetime"
    Paced.__module__ = "datetime"
    vars(datetime)["datetime"] = Paced


def _paced(clock: Callable[[], Any], factor: float) -> Callable[[], Any]:
    began = clock()
    kind = type(began)  # nanoseconds are whole

    def paced() -> Any:
        return began + kind((clock() - began) * factor)

    return paced
