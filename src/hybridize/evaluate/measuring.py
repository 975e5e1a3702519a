"""A program measured as it is and with its conversions: whole processes in turn, metrics, times of functions."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from hybridize.evaluate import metrics
from hybridize.evaluate.processes import load
from hybridize.evaluate.statistics import Times, Verdict, judge
from hybridize.runtime.launch import Launch, Target, launch
from hybridize.runtime.rewritten import MemoryFile

ORIGINAL: Final = "original"
REFACTORED: Final = "refactored"
#: More processes than processors want to run: times by the clock say little.
BUSY: Final = 0.75
#: How far metrics may differ, relative to their size: sums in another order, amplified by training.
TOLERANCE: Final = 0.05
#: What is kept of what a failing program wrote on stderr, in characters.
_TAIL: Final = 2000
_TINY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of the program: its name, the files that are other than on disk, and the same with functions watched."""

    name: str
    sources: tuple[MemoryFile, ...] = ()
    watched: tuple[MemoryFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure.

    Attributes:
        target: the program.
        python: the interpreter.
        runs: rounds; each runs every variant once.
        timeout: seconds for one run.
        functions: described for the child, by number.
        own: folders whose code is the user's.
        cwd: where the program runs (None: here).
        tolerance: of metrics, relative.
        needs: a module that the interpreter must have.
        environment: variables to set.
        shim: a file that is run before the program, in its process.
        seeds: what random numbers begin from, one round for each; empty: `runs` rounds, nothing is seeded.
        whole: the original has no warm-up run, in which its functions would be timed, and a variant of which the
            program loads no changed file is not run any further.
    """

    target: Target
    python: str
    runs: int = 5
    timeout: float | None = None
    functions: tuple[Mapping[str, Any], ...] = ()
    own: tuple[str, ...] = ()
    cwd: Path | None = None
    tolerance: float = TOLERANCE
    needs: str | None = "tensorflow"
    environment: Mapping[str, str] = field(default_factory=dict)
    shim: Path | None = None
    seeds: tuple[int, ...] = ()
    whole: bool = False

    @property
    def rounds(self) -> tuple[int | None, ...]:
        """The seed of each round."""
        return self.seeds or (None,) * self.runs


@dataclass(frozen=True, slots=True)
class Run:
    """One process: exit code, why it ended, seconds by the clock and of processor time, metrics, the end of stderr.

    `load`: how many processes wanted each processor at its end.
    """

    code: int
    reason: str
    wall: float
    cpu: float | None
    series: metrics.Series
    error: str = ""
    events: tuple[dict[str, Any], ...] = ()
    load: float | None = None

    @property
    def failed(self) -> bool:
        """Whether it did not end by itself, and with 0: one that wants other arguments says so by its exit code."""
        return self.reason != "exit" or self.code != 0


@dataclass(frozen=True, slots=True)
class Timing:
    """One function in one variant, in the warm-up run; seconds.

    Attributes:
        calls: from eager code; `inner`: while a graph was traced.
        traces: of its own graph.
        first: the first call; `tracing`: all calls that traced; `total`: all calls.
        steady: median of the calls after the first one that did not trace; None if there was none.
    """

    calls: int
    inner: int
    traces: int
    first: float
    tracing: float
    total: float
    steady: float | None


@dataclass(slots=True)
class Measured:
    """A variant's runs; the warm-up apart."""

    variant: Variant
    runs: list[Run] = field(default_factory=list)
    warm_up: Run | None = None

    @property
    def failure(self) -> Run | None:
        """The first run that failed."""
        every = [*([self.warm_up] if self.warm_up else []), *self.runs]
        return next((run for run in every if run.failed), None)

    @property
    def idle(self) -> bool:
        """Whether the program has loaded none of the changed files."""
        return any(event.get("taken") == [] for event in (self.warm_up.events if self.warm_up else ()))

    def times(self, clock: str = "wall") -> Times:
        """Of the runs that ended well; `wall` or `cpu`."""
        values = (getattr(run, clock) for run in self.runs if not run.failed)
        return Times(tuple(value for value in values if value is not None))

    def series(self) -> list[metrics.Series]:
        """The metrics of each run that ended well: as printed, and what `fit` returned in the warm-up."""
        histories = self.warm_up.events if self.warm_up else ()
        fitted: dict[str, tuple[float, ...]] = {}
        for event in histories:
            if event.get("event") == "history":
                for name, values in event["metrics"].items():
                    fitted[f"fit {name}"] = (*fitted.get(f"fit {name}", ()), *values)
        return [{**fitted, **run.series} for run in self.runs if not run.failed]

    def timings(self) -> dict[int, Timing]:
        """Of the watched functions, by number; those of several processes are added up."""
        last: dict[tuple[Any, Any], dict[str, Any]] = {}  # a process may tell more than once
        for event in self.warm_up.events if self.warm_up else ():
            if event.get("event") == "timed":
                last[event.get("pid"), event["function"]] = event
        found: dict[int, Timing] = {}
        for (_, number), event in last.items():
            new = Timing(**{name: event[name] for name in Timing.__slots__})
            old = found.get(number)
            found[number] = new if old is None else _added(old, new)
        return found


@dataclass(slots=True)
class Result:
    """All that was measured; `variants` begins with the original; `load_before`: processes for each processor.

    `interrupted`: the user ended it before all was measured.
    """

    settings: Settings
    variants: list[Measured]
    load_before: float | None = None
    interrupted: bool = False

    @property
    def original(self) -> Measured:
        """The program as it is."""
        return self.variants[0]

    @property
    def busy(self) -> bool:
        """Whether others used the machine when the measurement began."""
        return self.load_before is not None and self.load_before > BUSY

    @property
    def clock(self) -> str:
        """What to judge by: the wall's clock, or on a busy machine processor time, which others disturb less."""
        return "cpu" if self.busy and self.original.times("cpu").values else "wall"

    @property
    def runnable(self) -> list[Measured]:
        """What takes part in rounds."""
        return [each for each in self.variants if not (self.settings.whole and each.idle)]

    def verdict(self, measured: Measured, clock: str = "wall") -> Verdict:
        """A variant against the original."""
        return judge(self.original.times(clock).values, measured.times(clock).values)

    def differences(self, measured: Measured) -> list[metrics.Difference]:
        """The metrics of a variant against the original's."""
        return metrics.compare(self.original.series(), measured.series())

    def only_one(self, measured: Measured) -> list[str]:
        """Metrics that one of both did not print."""
        first, second = self.original.series(), measured.series()
        return metrics.missing(first[0], second[0]) if first and second else []

    def same(self, measured: Measured) -> bool:
        """Whether a variant ended well and its metrics are the original's, within the tolerance."""
        if measured.failure or self.only_one(measured):
            return False
        if {run.code for run in measured.runs} - {run.code for run in self.original.runs}:
            return False
        return all(d.equal(self.settings.tolerance) for d in self.differences(measured))

    def best(self) -> Measured | None:
        """The fastest variant that computes the same; None if that is the original."""
        clock = self.clock
        fit = [m for m in self.variants[1:] if m.times().values and self.same(m)]
        best = min(fit, key=lambda m: m.times(clock).median, default=None)
        return best if best and best.times(clock).median < self.original.times(clock).median else None


Progress: TypeAlias = Callable[[str], None]


class Kept(Protocol):
    """Where runs are kept: those of a whole round, by name, or all warm-ups."""

    def get(self, name: str) -> list[Run] | None:
        """The runs, in the order in which they were given; None if they are not there."""

    def put(self, name: str, runs: Sequence[Run]) -> None:
        """Keeps them."""


def measure(settings: Settings, variants: Sequence[Variant], progress: Progress, kept: Kept | None = None) -> Result:
    """Runs everything; the user's interrupt ends it and leaves what was measured.

    A variant that fails is not run again; if that is the original, nothing is.

    Args:
        settings: how.
        variants: the original first.
        progress: is told about each run in a line.
        kept: what is there is not run again, and what is run goes there once a round is whole and nothing has failed.

    Raises:
        LaunchError: the interpreter cannot be started.
    """
    result = Result(settings, [Measured(variant) for variant in variants], load())
    try:
        _warm_up(result, progress, kept)
        for number, seed in enumerate(settings.rounds):
            if result.original.failure or not result.runnable[1:]:
                break
            _round(result, number, seed, progress, kept)
    except KeyboardInterrupt:
        result.interrupted = True
        progress("interrupted: what follows rests on the runs before")
    return result


def _warm_up(result: Result, progress: Progress, kept: Kept | None) -> None:
    watched = result.variants[1 if result.settings.whole else 0 :]
    known = kept.get("warm-up") if kept else None
    for number, measured in enumerate(watched):
        if known:
            measured.warm_up = known[number]
            continue
        measured.warm_up = _run(result.settings, measured.variant, result.settings.rounds[0], timed=True)
        if measured.warm_up.reason != "missing":
            progress(f"warm-up, {_told(measured, measured.warm_up)}")
        if measured is result.original and measured.failure:
            return
    _keep(kept, "warm-up", [measured.warm_up for measured in watched if measured.warm_up], known)


def _round(result: Result, number: int, seed: int | None, progress: Progress, kept: Kept | None) -> None:
    """All variants in turn, each round beginning with another; of one that has failed there are no more runs."""
    name = f"round {number + 1}, seed {seed}"
    known = kept.get(name) if kept else None
    runnable = result.runnable
    turn = number % len(runnable)
    for measured in runnable[turn:] + runnable[:turn]:
        if known:
            measured.runs.append(known[runnable.index(measured)])
        elif measured.failure is None:
            measured.runs.append(_run(result.settings, measured.variant, seed, timed=False))
            progress(f"round {number + 1} of {len(result.settings.rounds)}, {_told(measured, measured.runs[-1])}")
    if not any(measured.failure for measured in runnable):
        _keep(kept, name, [measured.runs[-1] for measured in runnable], known)


def _keep(kept: Kept | None, name: str, runs: Sequence[Run], known: Sequence[Run] | None) -> None:
    if kept and not known and not any(run.failed for run in runs):
        kept.put(name, runs)


def _told(measured: Measured, run: Run) -> str:
    how = "" if not run.failed else f" ({run.reason}, code {run.code})"
    return f"{measured.variant.name}: {run.wall:.2f} s{how}"


def _run(settings: Settings, variant: Variant, seed: int | None, *, timed: bool) -> Run:
    """One process; with `timed` its watched functions are, which costs a little."""
    job = Launch(
        settings.target,
        variant.watched if timed else variant.sources,
        settings.python,
        settings.cwd,
        "timer" if timed else None,
        functions=settings.functions,
        own=settings.own,
        timeout=settings.timeout,
        needs=settings.needs,
        environment=settings.environment,
        shim=settings.shim,
        seed=seed,
    )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        ended = launch(job, stdout=out, stderr=err)
        out.seek(0)
        printed = out.read().decode("utf-8", "replace")
        err.seek(0)
        error = err.read().decode("utf-8", "replace")[-_TAIL:]
    if ended.reason == "interrupted":
        raise KeyboardInterrupt
    return Run(ended.code, ended.reason, ended.seconds, ended.cpu, metrics.read(printed), error, ended.events, load())


def _added(old: Timing, new: Timing) -> Timing:
    steady = [t.steady for t in (old, new) if t.steady is not None]
    return Timing(
        old.calls + new.calls,
        old.inner + new.inner,
        old.traces + new.traces,
        old.first,
        old.tracing + new.tracing,
        old.total + new.total,
        sum(steady) / len(steady) if steady else None,
    )


def breaks_even(eager: Timing, graph: Timing) -> float:
    """After how many calls a graph has won back what tracing cost; inf if never, nan if not known."""
    if eager.steady is None or graph.steady is None:
        return math.nan
    gain = eager.steady - graph.steady
    return graph.tracing / gain if gain > _TINY else math.inf
