"""What calls of watched functions gave, in order: so that two runs of the program can be compared call by call."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from .callers import ignored
from .final import plain
from .values import Describer

#: Calls of one function that are kept, and the share of the program's time (and seconds) that keeping may take.
CALLS, SHARE, ALLOWANCE = 200, 0.02, 0.5


class Results:
    """Keeps results of calls from eager code outside of other watched functions; those that the caller drops it skips.

    Args:
        describer: of the present process.
    """

    def __init__(self, describer: Describer) -> None:
        self._describer = describer
        self._inside = threading.local()
        self._kept: dict[int, list[Any]] = {}
        self._spent, self._started = 0.0, perf_counter()

    def around(self, number: int, call: Callable[[], Any]) -> Any:
        """Runs a call of the function with a number, and keeps what it gave if it is an outer one."""
        depth = getattr(self._inside, "depth", 0)
        self._inside.depth = depth + 1
        try:
            value = call()
            if not depth:
                self._note(number, value)
            return value
        finally:
            self._inside.depth -= 1

    def _note(self, number: int, value: Any) -> None:
        """Never raises."""
        kept = self._kept.setdefault(number, [])
        started = perf_counter()
        if len(kept) >= CALLS or self._spent > SHARE * (started - self._started) + ALLOWANCE:
            return
        told = value is not None and threading.current_thread() is threading.main_thread()
        told = told and not ignored(sys._getframe(1))
        kept.append(plain(self._describer.describe(value)) if told else None)
        self._spent += perf_counter() - started

    def as_json(self) -> dict[str, list[Any]]:
        """By the number of the function; None for what was not looked at."""
        return {str(number): kept for number, kept in self._kept.items()}
