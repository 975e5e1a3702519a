"""Whether Python state that a function can reach is another one than in the calls that were compared.

A graph keeps what Python values were when it was traced. So a call before which such a value changed is worth a
comparison, whenever it comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

from .heap import Heap, Snapshot

#: Of the program's time, and seconds: what looking may take.
SHARE, ALLOWANCE = 0.03, 0.3
#: States that are compared one after the other before only some are; those that are kept.
PATIENCE, KEPT = 8, 4096


class Novelty:
    """The states of one function (with one receiver) in calls that were compared."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._new = self._passed = 0

    def learn(self, state: int) -> None:
        """A call in this state is compared."""
        if len(self._known) < KEPT:
            self._known.add(state)

    def new(self, state: int) -> bool:
        """Whether a call in this state is to be compared.

        A state that is another one at each call (a step counter) is soon compared at every second, fourth, ... call.
        """
        if state in self._known:
            self._new = 0
            return False
        self._new += 1
        self._passed += 1
        if self._passed < 1 << max(0, self._new // PATIENCE):
            return False
        self._passed = 0
        return True


class Lookout:
    """Looks at states as long as that costs little."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self._spent = 0.0
        self._started = perf_counter()

    def state(self, roots: list[tuple[str, Any]], home: Any) -> int | None:
        """A number for the state that is reached from some named values; None if it is not looked at."""
        started = perf_counter()
        if self._spent > SHARE * (started - self._started) + ALLOWANCE:
            return None
        try:
            snapshot = Snapshot(self._heap, roots, home)
            found = None if snapshot.truncated else digest(snapshot.atoms())
            snapshot.forget()
        except Exception:  # objects of the program's that can't be read
            found = None
        self._spent += perf_counter() - started
        return found


def digest(atoms: Iterable[Any]) -> int:
    """A number that is another one where an atom or a name is."""
    return hash(tuple(atoms))
