"""Keeps a project's tests green: changes are made, the tests run, and those changes that break one are taken back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hybridize.report.words import counted
from hybridize.runtime.blame import Blame, LimitReached
from hybridize.runtime.suite import WHOLE, Results, Suite, ending

#: A run with changes may take so many times as long as the one without, and so many seconds more.
_FACTOR, _GRACE = 5.0, 60.0
#: From here on tests count as slower: the part of their time, and seconds.
_SLOWER, _SECONDS = 0.10, 1.0


class Unfit(Exception):
    """The tests cannot judge anything; the text says why. Nothing was changed, or all is as it was."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Where a change is, to be looked for in the tracebacks: the file from the root, and the function's own name."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A change that was taken back, the tests that it breaks (`WHOLE` for the command), and what the first one says.

    Without tests it is one that could not be looked into within the limit of runs.
    """

    change: str
    tests: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Slower:
    """How long the tests took that pass with and without the changes, in seconds; the worst ones by their loss."""

    before: float
    after: float
    worst: tuple[tuple[str, float], ...]

    @property
    def part(self) -> float:
        """How much slower, as a part of the time before."""
        return self.after / self.before - 1 if self.before else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests say.

    Attributes:
        before, after: a run without any change, and one with those that are kept (the same object where none is).
        taken: the changes that were taken back.
        flaky: tests that failed without any change being to blame.
        slower: None where nothing to speak of is.
        runs: of the command, all told; `seconds` is the time that they took.
        limited: the limit of runs was reached.
    """

    before: Results
    after: Results
    taken: tuple[TakenBack, ...]
    flaky: tuple[str, ...]
    slower: Slower | None
    runs: int
    seconds: float
    limited: bool = False


@dataclass(slots=True)
class Safeguard:
    """One trial of some changes.

    Attributes:
        suite: the tests.
        make: puts the project into the state where exactly these changes are made.
        limit: runs of the command, but for a last one that confirms.
        timeout: seconds for each (None: none for the first, and what follows from it for the others).
        say: told of each run: what is made, and what came of it.
    """

    suite: Suite
    make: Callable[[frozenset[str]], None]
    limit: int
    timeout: float | None = None
    say: Callable[[str], None] = lambda text: None
    runs: int = 0
    _before: Results | None = None
    _late: float | None = None  # the timeout of runs with changes
    _flaky: set[str] = field(default_factory=set)  # whose failures no longer count
    _unsteady: set[str] = field(default_factory=set)  # that failed once, and once not
    _harmless: frozenset[str] = frozenset()  # changes that were seen to break nothing before the limit was reached
    _alone: set[str] = field(default_factory=set)  # tests that passed when only they were run again
    _taken: list[TakenBack] = field(default_factory=list)
    _seen: list[tuple[frozenset[str], Collection[str] | None, Results]] = field(default_factory=list)  # all runs

    def keep(self, changes: Sequence[str], suspects: Mapping[str, Suspect]) -> Outcome:
        """Makes the changes, and takes back what breaks a test that passes without.

        Args:
            changes: the ones that are worth most first.
            suspects: where each of them is.

        Raises:
            Unfit: the tests do not run, or none of them passes without the changes.
            CommandError: there is no such command.
        """
        started = time.perf_counter()
        self._before = before = self._start()
        kept = list(changes)
        limited = False
        try:
            after = self._settle(kept, suspects)
        except LimitReached:
            limited = True
            after = self._give_up(kept)
        seconds = time.perf_counter() - started
        taken, flaky = tuple(self._taken), tuple(sorted(self._unsteady))
        return Outcome(before, after, taken, flaky, slower(before, after), self.runs, seconds, limited)

    def _settle(self, kept: list[str], suspects: Mapping[str, Suspect]) -> Results:
        """Takes culprits out of `kept` until no test fails that should not; the run that shows it."""
        while kept:
            after = self._run(frozenset(kept))
            new = self._new(after)
            if not new:
                return after
            broken, alone = self._confirmed(frozenset(kept), new)
            self._take_back(kept, broken, _likely(kept, broken, after, suspects), alone)
        assert self._before is not None
        self.make(frozenset())
        return self._before

    def _start(self) -> Results:
        """The run without any change."""
        results = self._run(frozenset())
        if results.ended_well and results.passed:
            return results
        what = "fails" if results.tests is None or not results.ended_well else "passes no test"
        first = min(results.failed, default=WHOLE)
        why = results.message(WHOLE) if first == WHOLE else f"{ending(results.ran)}: {first}: {results.message(first)}"
        raise Unfit(f"`{self.suite.command}` {what} without any change ({why})")

    def _run(self, made: frozenset[str], only: Collection[str] | None = None) -> Results:
        self.make(made)
        self.runs += 1
        first = self._before is None
        results = self.suite.run(self.timeout if first else self._late, only)
        self._seen.append((made, only, results))
        if first:
            self._late = self.timeout or _FACTOR * results.ran.seconds + _GRACE
        again = "" if only is None else f", {counted(len(only), 'test')} again"
        self.say(f"run {self.runs}, {_made(len(made))}{again}: {_counts(results)} ({results.ran.seconds:.1f} s)")
        return results

    def _new(self, results: Results) -> frozenset[str]:
        """The tests that fail now and did not before."""
        assert self._before is not None
        new = results.failed - self._before.failed - self._flaky
        if not new and results.tests is not None:
            # A function that is none any more is no test any more.
            new = self._before.passed - results.tests.keys() - self._flaky
            if not new and not results.ended_well and WHOLE not in self._flaky:
                return frozenset([WHOLE])
        return new

    def _confirmed(self, made: frozenset[str], new: frozenset[str]) -> tuple[frozenset[str], bool]:
        """Of newly failing tests those that fail again, and pass again without changes; whether they do so alone."""
        alone = WHOLE not in new and not new <= self._alone
        only = new if alone else None
        again = self._failing(made, new, only)
        calm = new - self._failing(frozenset(), new, only)
        unsteady = (new - calm) | (frozenset() if alone else calm - again)
        self._unsteady |= unsteady
        if new - calm and self.suite.by_test is False:
            raise Unfit(f"`{self.suite.command}` passes and fails without any change")
        if self.suite.by_test:  # an exit code is all that there is elsewhere: that one is asked until it is clear
            self._flaky |= unsteady
        if alone and not calm & again:
            self._alone |= calm  # where they fail again among the others, it is among the others that they are judged
        return calm & again, alone

    def _failing(self, made: frozenset[str], tests: frozenset[str], only: Collection[str] | None) -> frozenset[str]:
        """Which of the tests fail in a run, of all or of `only` some."""
        if self.runs >= self.limit:
            raise LimitReached
        return tests & self._broken(self._run(made, only))

    def _broken(self, results: Results) -> frozenset[str]:
        """What fails in a run: tests that are none any more too, and those that were not asked for."""
        if results.tests is None or self._before is None:
            return results.failed
        gone = self._before.passed - results.tests.keys()
        return results.failed | gone | (frozenset() if results.ended_well else {WHOLE})

    def _take_back(self, kept: list[str], broken: frozenset[str], likely: frozenset[str], alone: bool) -> None:
        """Takes the culprits of some tests out of `kept`."""

        def observe(made: frozenset[str], tests: frozenset[str]) -> frozenset[str]:
            return self._failing(made, tests, tests if alone else None)

        blame = Blame(observe)
        try:
            for culprit in blame.culprits(kept, broken, likely):
                kept.remove(culprit.change)
                tests = tuple(sorted(culprit.tests))
                self._taken.append(TakenBack(culprit.change, tests, self._message(culprit.change, tests[0])))
        except LimitReached:
            self._harmless = blame.harmless(broken)
            raise

    def _message(self, change: str, test: str) -> str:
        """What a test said in the run with the fewest changes that it failed in, this one among them."""
        runs = [
            (len(made), results)
            for made, only, results in self._seen
            if change in made and (only is None or test in only) and test in self._broken(results)
        ]
        return min(runs, key=lambda run: run[0])[1].message(test) if runs else "fails"

    def _give_up(self, kept: list[str]) -> Results:
        """What is not known to be harmless is taken back, all if that was no help; the run that shows it."""
        assert self._before is not None
        harmless, after = self._harmless & set(kept), self._before
        if harmless:
            after = self._run(harmless)
            if self._new(after):
                harmless, after = frozenset(), self._before
        self.make(harmless)
        why = f"which change breaks the tests was not found within {self.limit} runs"
        self._taken += [TakenBack(change, (), why) for change in kept if change not in harmless]
        return after


def slower(before: Results, after: Results) -> Slower | None:
    """Whether the tests that pass in both runs have become slower, so that one would notice."""
    both = before.passed & after.passed
    if not both or before is after:
        return None
    if before.tests is None or after.tests is None:
        times = {WHOLE: (before.ran.seconds, after.ran.seconds)}
    else:
        times = {name: (before.tests[name].seconds, after.tests[name].seconds) for name in both}
    old, new = (sum(pair[i] for pair in times.values()) for i in (0, 1))
    if new - old <= _SECONDS or new <= old * (1 + _SLOWER):
        return None
    losses = sorted(((name, b - a) for name, (a, b) in times.items() if name), key=lambda each: -each[1])
    return Slower(old, new, tuple(losses[:3]))


def _likely(
    changes: Sequence[str], tests: Collection[str], seen: Results, suspects: Mapping[str, Suspect]
) -> frozenset[str]:
    """The changes that the tracebacks of failing tests name: only the order of the search depends on it."""
    text = "\n".join(test.text for name, test in (seen.tests or {}).items() if name in tests)
    words = frozenset(re.findall(r"\w+", text))
    return frozenset(c for c in changes if suspects[c].name in words and suspects[c].path.rpartition("/")[2] in text)


def _made(count: int) -> str:
    return f"with {counted(count, 'change')}" if count else "without any change"


def _counts(results: Results) -> str:
    if results.tests is None:
        return ending(results.ran)
    failed = sum(test.outcome == "failed" for test in results.tests.values())
    text = f"{len(results.passed):,} passed, {failed:,} failed"
    return text if results.ended_well else f"{text}, {ending(results.ran)}"
