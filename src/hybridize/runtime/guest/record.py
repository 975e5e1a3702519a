"""What is known about one watched function, over all its definitions, instances and calls in this process."""

from __future__ import annotations

import statistics
import traceback
from collections.abc import Iterable
from typing import Any

from .differ import Difference

_EXAMPLES = 5
_TIMES = 2000
_TOLD = 32  # times that are told


class Record:
    """The figures and the verdict on one function.

    Attributes:
        reverse: it was hybrid, and the conversion makes it eager.
        singles: calls that read what can be read only once.
        verdict: `equal`, `random`, `different`, `raised`; None as long as nothing was compared.
        causes: by (parameter, kind of change), how many traces it cost, with examples.
        callees: numbers of watched functions that ran inside of its graphs.
        through: those of them that do something else as graphs; as long as `provisional`, they may be the only cause.
    """

    def __init__(self, number: int, reverse: bool = False) -> None:
        self.number, self.reverse = number, reverse
        self.reset()

    def reset(self) -> None:
        """Nothing is known (in a process that was forked off)."""
        self.calls = self.in_graph = self.compared = self.alone = self.singles = 0
        self.traces = self.creators = 0
        self.specs: set[Any] = set()  # dtypes and shapes of calls, by receiver
        self.again = False  # the present call makes variables, as an earlier one did
        self.parts: dict[tuple[int, int], dict[str, list[Any]]] = {}  # by definition and receiver: what parameters got
        self.causes: dict[tuple[str, str], list[Any]] = {}
        self.verdict: str | None = None
        self.level = ""
        self.differences: list[Difference] = []
        self.first = 0
        self.error: dict[str, Any] | None = None
        self.callees: set[int] = set()
        self.through: set[int] = set()
        self.provisional = False
        self._passes = 0
        self.noise: dict[str, list[tuple[Any, Any]]] = {}
        self.skipped: dict[str, int] = {}
        self.notes: list[str] = []
        self.eager_times: list[float] = []
        self.graph_times: list[float] = []
        self.first_graph = 0.0
        self.rounding = 0.0
        self.largest = (0.0, 0.0)

    @property
    def bad(self) -> bool:
        """Whether the graph does something else, as far as is known for sure."""
        return self.verdict in ("different", "raised") and not self.provisional

    @property
    def retraces(self) -> bool:
        """Whether many calls are traced anew, and tensors' dtypes and shapes are not (alone) why."""
        calls = self.alone + self.compared
        extra = self.traces - self.creators
        if calls >= 3 and extra >= calls and extra > len(self.specs):
            return True
        by_python = extra - len(self.specs)
        return (by_python >= 3 and by_python > 0.2 * calls) or (extra >= 10 and extra > 0.2 * calls)

    def differ(self, verdict: str, differences: list[Difference], error: BaseException | None) -> None:
        """The graph did something else in the present call."""
        if self.bad:
            return
        self.verdict, self.differences, self.first = verdict, differences, self.calls
        self.provisional, self._passes = False, 0
        self.error = None if error is None else described_error(error)

    def passed(self, verdict: str, level: str = "") -> None:
        """The present call was the same, or random and alike."""
        if self.bad:
            return
        if self.provisional:
            self._passes += 1
            if self._passes < 2:  # what happens once per trace shows at the second call
                return
            self.provisional, self.differences, self.error, self.first, self.verdict = False, [], None, 0, None
        if self.verdict != "random" or verdict == "random":
            self.verdict, self.level = verdict, level or self.level

    def frozen(self, noisy: Iterable[tuple[str, Any, Any, bool]]) -> list[Difference]:
        """Values that are others at every eager call, and the same in all graphs' calls so far."""
        found = []
        for path, eager, graph, sure in noisy:
            seen = self.noise.setdefault(path, [])
            seen.append((eager, graph))
            enough = len(seen) >= (2 if sure else 3)
            if enough and len({e for e, _ in seen}) == len(seen) and len({g for _, g in seen}) == 1:
                found.append(Difference(path, "another value at each call", "the same value at each call"))
        return found

    def skip(self, reason: str) -> None:
        """A call could not be compared."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def single(self, reason: str) -> None:
        """A call that was begun could not be compared: only the program itself may read what it reads."""
        self.compared -= 1
        self.singles += 1
        self.skip(reason)

    def cause(self, parameter: str, kind: str, example: str) -> None:
        """One more trace, and what was new."""
        entry = self.causes.setdefault((parameter, kind), [0, []])
        entry[0] += 1
        if example not in entry[1] and len(entry[1]) < _EXAMPLES:
            entry[1].append(example)

    def timed(self, eager: float | None = None, graph: float | None = None) -> None:
        """Seconds of calls that were not traced."""
        for value, times in ((eager, self.eager_times), (graph, self.graph_times)):
            if value is not None and len(times) < _TIMES:
                times.append(value)

    def _sides(self, told: dict[str, Any]) -> dict[str, Any]:
        """What was called eager (the program's own form) and graph by their right names."""
        if not self.reverse:
            return told
        other = {"eager": "graph", "graph": "eager"}
        return {"_".join(other.get(w, w) for w in name.split("_")): value for name, value in told.items()}

    def as_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "function": self.number,
            "calls": self.calls,
            "in_graph": self.in_graph,
            "compared": self.compared,
            "alone": self.alone,
            "singles": self.singles,
            "traces": self.traces,
            "creators": self.creators,
            "specs": len(self.specs),
            "retraces": self.retraces,
            "causes": [
                {"parameter": p, "kind": k, "count": count, "examples": examples}
                for (p, k), (count, examples) in self.causes.items()
            ],
            "verdict": self.verdict,
            "level": self.level,
            "differences": [self._sides(d.as_json()) for d in self.differences],
            "first": self.first,
            "error": self.error,
            "callees": sorted(self.callees),
            "through": sorted(self.through),
            "provisional": self.provisional,
            "skipped": self.skipped,
            "notes": self.notes[:5],
            **self._sides({"eager_seconds": _median(self.eager_times), "graph_seconds": _median(self.graph_times)}),
            **self._sides({"eager_times": _some(self.eager_times), "graph_times": _some(self.graph_times)}),
            "trace_seconds": self.first_graph,
            "rounding": self.rounding,
            "largest": self.largest,
        }


def _some(times: list[float]) -> list[float]:
    """At most _TOLD of the times, evenly spread."""
    step = max(1, -(-len(times) // _TOLD))
    return times[::step]


def _median(times: list[float]) -> float | None:
    return statistics.median(times) if times else None


def described_error(error: BaseException) -> dict[str, Any]:
    """Type, message and the frames of an exception."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "type": type(error).__name__,
        "bases": [c.__name__ for c in type(error).__mro__[1:-1]],
        "message": str(error)[:3000],
        "frames": [[f.filename, f.lineno, f.name, (f.line or "")[:200]] for f in frames[-12:]],
    }
