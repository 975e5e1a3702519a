"""The whole program once more, with its conversions and nobody between: does it end as it does without them?

What comparing calls from one state cannot see, shows here: what piles up over calls, what happens between them, calls
that could not be compared. Whoever is to blame is found by leaving some conversions out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hybridize.runtime.ending import (
    CALL,
    EXCEPTION,
    EXIT,
    MISSING,
    Leaf,
    deviation,
    is_form,
    is_measured,
    leaves,
    merged,
    parent,
    shown,
    told,
)
from hybridize.runtime.launch import Ended, Launch
from hybridize.runtime.verify import Deviation, Verdict, rules_of

#: Relative differences of numbers that training amounts to by rounding alone, and how many times that of a program
#: whose inputs are moved by rounding is still rounding.
LOOSE, FACTOR = 1e-3, 50
#: All that verify does takes so many times the program's own time, or seconds: more for what no rounding explains.
SHARE, SECONDS = 2.7, (40.0, 90.0)
#: Programs of whose fractions more than this part is another value each time; what is the same value in them.
NOISY, STEADY = 0.2, 1e-5
#: Runs at most.
RUNS = 14
#: Runs the program: the functions (by number) that stay as they are, a seed for rounding (0: none) -> its end.
Run = Callable[[frozenset[int], int], Ended]


@dataclass(frozen=True, slots=True)
class Whole:
    """What comparing the program's ends showed.

    Attributes:
        kind: `same`, `different` or `not compared`.
        reason: why nothing was compared.
        leaves: values, lines and files that were compared.
        runs: of the program, after the first.
        differences: those that stand.
    """

    kind: str
    reason: str = ""
    leaves: int = 0
    runs: int = 0
    differences: tuple[Deviation, ...] = ()


@dataclass(slots=True)
class _Found:
    """Differences by path (eager, graph), and the run that has them."""

    ended: Ended
    paths: dict[str, tuple[Leaf, Leaf]] = field(default_factory=dict)

    def deviations(self) -> tuple[Deviation, ...]:
        found = []
        for path, (a, b) in sorted(self.paths.items(), key=lambda item: item[0] != EXCEPTION):
            error = deviation(a, b)
            at = path if CALL in path else f"{path} at the end"
            found.append(Deviation(at, shown(a), shown(b), None if math.isinf(error) else error))
        return tuple(found)


class _Spent(Exception):
    """There is no time left for another run."""


class Comparison:
    """Compares one program's ends.

    Args:
        shadow: the run in which calls were compared: the program saw what its functions do as they are.
        verdicts: on the converted functions.
        run: runs the program again.
        patient: it may take as long as it takes.
        apart: functions that lead to other converted ones are also tried without these, which may hide what they do.
    """

    def __init__(
        self, shadow: Ended, verdicts: Sequence[Verdict], run: Run, patient: bool = False, apart: bool = False
    ) -> None:
        self._names = [verdict.qualname for verdict in verdicts]
        self._first, self._verdicts, self._run = leaves(shadow, self._names), list(verdicts), run
        self._shadow = shadow
        self._total = shadow.seconds
        spent = [event["seconds"] for event in shadow.of("spent")]
        self._eager = max(shadow.seconds - max(spent, default=0.0), 0.0)
        saved = [v.calls * ((v.eager_seconds or 0.0) - (v.graph_seconds or 0.0)) - v.trace_seconds for v in verdicts]
        self._saved = min(max(saved, default=0.0), 0.8 * self._eager)  # by a run with the conversions
        self._controls: list[dict[str, Leaf]] = []
        self._all = frozenset(range(len(verdicts)))
        self._strong, self._patient, self._apart = False, patient, apart
        self.runs = 0

    def compare(self) -> tuple[Whole, list[Verdict]]:
        """The outcome, and the verdicts with what it adds to them."""
        left = {n for n, v in enumerate(self._verdicts) if v.failed or not v.calls}
        candidates = [n for n in sorted(self._all - left) if self._verdicts[n].kind != "not reached"]
        if not candidates and not self._shared():
            return Whole("not compared", "no conversion is left that could change it"), self._verdicts
        candidates.sort(key=lambda n: self._verdicts[n].kind in ("equal", "random"))  # the others are likelier
        if self._shadow.reason != "exit" or not told(self._shadow):
            return Whole("not compared", "the program did not come to its end"), self._verdicts
        standing: tuple[Deviation, ...] = ()
        try:
            while candidates:
                found = self._with(candidates)
                if not found.paths:
                    break
                standing = standing or found.deviations()
                group, found = self._blame(candidates, found)
                self._accuse(group, found)
                candidates = [n for n in candidates if n not in group]
            for number in [n for n in candidates if self._apart and self._verdicts[n].callees]:
                found = self._with([number])
                if found.paths:
                    standing = standing or found.deviations()
                    self._accuse([number], found)
            self._acquit()
        except _Spent as spent:
            if not standing:
                return Whole("not compared", str(spent), runs=self.runs), self._verdicts
        kind = "different" if standing else "same"
        return Whole(kind, "", len(self._first), self.runs, standing), self._verdicts

    def _again(self, left: frozenset[int], nudge: int = 0) -> Ended:
        """Another run, if there is time for it."""
        limit = max(SHARE * self._eager, SECONDS[self._strong])
        next_one = self._eager if left == self._all else self._eager - self._saved
        if self.runs >= RUNS or (self._total + next_one > limit and not self._patient):
            raise _Spent("another run would take too long (--full allows it)")
        self.runs += 1
        ended = self._run(left, nudge)
        self._total += ended.seconds
        if ended.reason != "exit":
            raise _Spent(f"a run with the conversions was ended ({ended.reason})")
        return ended

    def _with(self, group: Sequence[int]) -> _Found:
        """The differences that stand where some functions are converted."""
        ended = self._again(self._all - frozenset(group))
        found = _Found(ended)
        other = leaves(ended, self._names)
        if not told(ended):
            other = {**self._first, EXIT: other[EXIT]}
        random = any(self._verdicts[n].kind == "random" for n in group)
        random = random or any(event["functions"] for event in ended.of("drawing"))
        suspects = {path for path, a, b in _pairs(self._first, other) if self._suspect(path, a, b, random)}
        if EXCEPTION in suspects or EXIT in suspects:  # the rest was not reached
            suspects &= {EXCEPTION, EXIT}
        if not suspects:
            return found
        self._strong = any(math.isinf(deviation(_at(self._first, p), _at(other, p))) for p in suspects)
        found.paths = self._stand(suspects, other)
        if not found.paths and not suspects <= {EXCEPTION, EXIT}:
            found.paths = self._frozen(suspects, other)
        return found

    @staticmethod
    def _suspect(path: str, a: Leaf, b: Leaf, random: bool) -> bool:
        if random and path not in (EXCEPTION, EXIT):
            return is_form(a, b)
        return deviation(a, b) > LOOSE

    def _control(self, number: int) -> dict[str, Leaf]:
        """The program as it is, run again, its functions' inputs moved by rounding."""
        while len(self._controls) <= number:
            self._controls.append(leaves(self._again(self._all, len(self._controls) + 1), self._names))
        return self._controls[number]

    def _stand(self, suspects: set[str], other: Mapping[str, Leaf]) -> dict[str, tuple[Leaf, Leaf]]:
        """Those that are not as different between runs without any conversion."""
        first, control = self._first, self._control(0)
        if _is_noisy(first, control):
            return self._steady(suspects, other)
        standing = _beyond(suspects, first, control, other)
        noisy = [p for p in suspects if math.isinf(deviation(_at(first, p), _at(control, p)))]
        if not standing and noisy:  # comparing calls may have left its mark: two runs without that tell
            standing = _beyond(set(noisy), control, self._control(1), other)
        return standing

    def _steady(self, suspects: set[str], other: Mapping[str, Leaf]) -> dict[str, tuple[Leaf, Leaf]]:
        """In a program that ends differently each time: fractions that don't, kinds of values, and exceptions."""
        one, two = self._control(0), self._control(1)
        found = {}
        for path in sorted(suspects & (one.keys() | other.keys())):
            a, b = _at(one, path), _at(other, path)
            steady = max(deviation(_at(self._first, path), a), deviation(a, _at(two, path))) <= STEADY
            if steady and (path in (EXCEPTION, EXIT) or is_form(a, b) or LOOSE < deviation(a, b) < math.inf):
                found[path] = a, b
        return found

    def _frozen(self, suspects: set[str], other: Mapping[str, Leaf]) -> dict[str, tuple[Leaf, Leaf]]:
        """Noise that is another at each place in eager runs, and one value in the graph's."""
        noise = {p for p in suspects if any(deviation(_at(self._first, p), _at(c, p)) > LOOSE for c in self._controls)}
        pairs = merged([self._first, *self._controls], other, noise)
        return {two: (self._first[two], ["as", one]) for one, two in pairs}

    def _blame(self, candidates: list[int], found: _Found) -> tuple[list[int], _Found]:
        """The fewest functions whose conversion makes a difference, and that."""
        group = candidates
        try:
            while len(group) > 1:
                half = (len(group) + 1) // 2
                for part in (group[:half], group[half:]):
                    other = self._with(part)
                    if other.paths:
                        group, found = part, other
                        break
                else:
                    break
        except _Spent:
            pass
        return group, found

    def _shared(self) -> bool:
        """Whether a function was wrong with others in its graph."""
        return any(v.provisional or (v.kind == "raised" and v.callees) for v in self._verdicts)

    def _acquit(self) -> None:
        """Functions that were wrong with others in their graphs, which are to blame: alone they may do no harm."""
        wrong = {v.function.facts.id for v in self._verdicts if v.failed}
        for number, verdict in enumerate(self._verdicts):
            shared = verdict.kind == "raised" and verdict.first and wrong & set(verdict.callees)
            if not (shared or verdict.provisional) or not all(_ends_tell(d.where) for d in verdict.differences):
                continue
            if not self._with([number]).paths:
                self._verdicts[number] = replace(
                    verdict, kind="equal", differences=(), error=None, rules=(), first=0, through=(), provisional=False
                )

    def _accuse(self, group: list[int], found: _Found) -> None:
        raised = EXCEPTION in found.paths and found.paths[EXCEPTION][1][0] == "exception"
        events = found.ended.of("exception")
        error = events[-1].get("error") if raised and events else None
        kind = "raised" if error is not None else "different"
        others = tuple(self._verdicts[n].function.facts.id for n in group)
        for number in group:
            verdict = self._verdicts[number]
            told_by: dict[str, Any] = {"first": 0, "error": error, "rules": rules_of(verdict.function, kind, error)}
            together = tuple(o for o in others if o != verdict.function.facts.id)
            self._verdicts[number] = replace(
                verdict, kind=kind, differences=found.deviations(), together=together, **told_by
            )


def _ends_tell(path: str) -> bool:
    """Whether a difference of a call would show in how the program ends."""
    return not path.startswith(("gradient", "calls", "the stream", "text of", "identity"))


def again(first: Launch, left: frozenset[int], nudge: int, limit: float | None) -> Launch:
    """The job of another run: the same program, these functions as they are, `limit` seconds."""
    options = {"final": True, "left": sorted(left), "nudge": nudge}
    return replace(first, mode="whole", options=options, timeout=limit)


def _at(run: Mapping[str, Leaf], path: str) -> Leaf:
    return run.get(path, MISSING)


def _is_noisy(one: Mapping[str, Leaf], two: Mapping[str, Leaf]) -> bool:
    """Whether a good part of what is measured is another value in another run: streams are not seeded."""
    found = [deviation(leaf, _at(two, path)) for path, leaf in one.items() if is_measured(leaf)]
    return sum(d > LOOSE for d in found) > NOISY * len(found)


def _beyond(
    suspects: set[str], one: Mapping[str, Leaf], two: Mapping[str, Leaf], other: Mapping[str, Leaf]
) -> dict[str, tuple[Leaf, Leaf]]:
    """What differs more between two runs without conversions and another one than between these."""
    loose = {parent(path) for path in one.keys() ^ two.keys()}  # where names are others each time
    found = {}
    for path in dict.fromkeys((*other, *one)):
        if path not in suspects or ((path in one) != (path in other) and parent(path) in loose):
            continue
        noise = deviation(_at(one, path), _at(two, path))
        if deviation(_at(two, path), _at(other, path)) > max(LOOSE, FACTOR * noise):
            found[path] = _at(two, path), _at(other, path)
    return found


def _pairs(one: Mapping[str, Leaf], two: Mapping[str, Leaf]) -> list[tuple[str, Leaf, Leaf]]:
    """Those of both; of results only what both have."""
    paths = dict.fromkeys((*one, *two))
    return [(p, _at(one, p), _at(two, p)) for p in paths if CALL not in p or (p in one and p in two)]
