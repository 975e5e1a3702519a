"""Which of several changes break tests: a search by halves, with as few runs as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

#: The tests, of those given, that fail where some of the changes are made. It may raise `LimitReached`.
Observe = Callable[[frozenset[str], frozenset[str]], frozenset[str]]


class LimitReached(Exception):
    """No further run is allowed."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """A change that is taken back, and the tests that fail with it and pass without."""

    change: str
    tests: frozenset[str]


@dataclass(slots=True)
class Blame:
    """The search, and all that its runs have shown.

    Attributes:
        observe: runs tests with some of the changes made. None of the tests fails where none is made.
        runs: the changes made, the tests, and those that failed, of each run.
    """

    observe: Observe
    runs: list[tuple[frozenset[str], frozenset[str], frozenset[str]]] = field(default_factory=list)

    def culprits(
        self, changes: Sequence[str], tests: AbstractSet[str], suspects: AbstractSet[str] = frozenset()
    ) -> list[Culprit]:
        """The changes to take back, one after the other, until none of the tests fails.

        In an order, the first change with which a test fails that passes with all those before it is to blame, alone or
        together with some before: of several that break a test only together, the last in the order goes.

        Args:
            changes: those that are made, the ones that should rather stay first.
            tests: those that fail with all of them.
            suspects: changes that are probably to blame; a wrong guess costs a run.
        """
        kept = [c for c in changes if c not in suspects] + [c for c in changes if c in suspects]
        failing = frozenset(tests)
        self.runs.append((frozenset(kept), failing, failing))
        found = []
        while failing and kept:
            test = min(failing)
            culprit = self._first(test, kept, sum(c in suspects for c in kept))
            kept.remove(culprit)
            still = self._failing(frozenset(kept), failing)
            found.append(Culprit(culprit, (failing - still) or frozenset([test])))
            failing = still
        return found

    def harmless(self, tests: AbstractSet[str]) -> frozenset[str]:
        """The largest set of changes with which all of the tests were seen to pass."""
        good = [made for made, seen, failed in self.runs if tests <= seen and not failed & tests]
        return max(good, key=len, default=frozenset())

    def _first(self, test: str, changes: Sequence[str], suspects: int) -> str:
        """The first change with which the test fails; the last `suspects` ones are looked at first."""
        passes, fails = 0, len(changes)
        middle = fails - suspects if 0 < suspects < fails else fails // 2
        while fails - passes > 1:
            if self._failing(frozenset(changes[:middle]), frozenset([test])):
                fails = middle
            else:
                passes = middle
            middle = (passes + fails) // 2
        return changes[passes]

    def _failing(self, changes: frozenset[str], tests: frozenset[str]) -> frozenset[str]:
        """Which of the tests fail with these changes: as known from other runs, else from a run of those not known."""
        known = {test: self._known(changes, test) for test in tests}
        asked = frozenset(test for test, fails in known.items() if fails is None)
        failed = frozenset(test for test, fails in known.items() if fails)
        if not asked:
            return failed
        # What costs no more is asked along: a later search may know the answer then.
        more = asked | {t for _, tests, _ in self.runs[:1] for t in tests if self._known(changes, t) is None}
        seen = self.observe(changes, more)
        self.runs.append((changes, more, seen & more))
        return failed | (seen & asked)

    def _known(self, changes: frozenset[str], test: str) -> bool | None:
        """Whether a test fails with these changes, where a run has shown it: more changes break no less."""
        if not changes:
            return False
        for made, tests, failed in self.runs:
            if test in tests and ((test in failed and made <= changes) or (test not in failed and changes <= made)):
                return test in failed
        return None
