"""What the child saw -> a verdict on each converted function, with what explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybridize.decide.model import Action, FunctionReport, Severity, Status
from hybridize.runtime.explain_error import error_places, rule_of
from hybridize.runtime.launch import Ended
from hybridize.runtime.speed import NOISE, Speed, compare, times_as_long

Event = dict[str, Any]
#: Verdicts, the gravest first.
KINDS = (
    "raised", "different", "retraces", "random", "equal", "in graphs", "not compared", "not reached",
)  # fmt: skip
#: Relative tolerances by dtype, of others and of Python's numbers; a graph may fuse and reorder.
TOLERANCES = {
    "float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-5, "complex64": 1e-5, "default": 1e-9, "python": 1e-6,
}  # fmt: skip


def shadow_options(
    *, max_calls: int = 3, full: bool = False, memory: int = 2 << 30, call_seconds: float = 60.0, share: float = 0.8
) -> dict[str, Any]:
    """What the child's shadow mode reads.

    Args:
        max_calls: calls of each signature that are compared.
        full: compare all calls.
        memory: bytes of state that are remembered for one call.
        call_seconds: limit for one call of a graph, tracing included.
        share: of the program's own time that comparing may take, after the first two calls of each signature.
    """
    return {
        "max_calls": max_calls,
        "full": full,
        "memory": memory,
        "call_seconds": call_seconds,
        "share": share,
        "final": True,
        "tolerances": TOLERANCES,
    }


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a function was traced again: which parameter, what about it changed, how often, with examples."""

    parameter: str
    kind: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        shown = f" ({', '.join(self.examples)})" if any(self.examples) else ""
        where = f"`{self.parameter}`: " if self.parameter else ""
        return f"{where}{self.kind}{shown}"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One thing that is not the same: where, both sides as text, the relative error where only numbers differ."""

    where: str
    eager: str
    graph: str
    error: float | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What running a converted function showed.

    Attributes:
        function: the function, as analyzed.
        kind: one of KINDS.
        calls, compared, alone, in_graph: how often it was called, compared, run as a graph alone, traced into others.
        traces: of its own graph; `causes` says what the later ones were for.
        first: the number of the first call that differs (0: none).
        level: how random results were compared.
        error: type, message and frames of the exception of the graph.
        through: ids of functions that it calls and that do something else themselves.
        skipped: why calls were not compared, with their numbers.
        rounding: the largest relative error that rounding explains.
        largest: the largest difference within the tolerances, relative to the tensor's scale and absolute.
        eager_seconds, graph_seconds: median of calls in steady state; `trace_seconds`: the first one.
        speed: such calls before the change beside those after it; None where they say nothing of it: one of both forms
            was not called, or only arguments of the decorator change.
        rules: (code, name, message) of the findings that explain it.
        provisional: those of `through` may be the only cause: it was not seen without them for long enough.
        callees: ids of converted functions that ran inside of its graphs.
        together: ids of others that could not be told apart from it as the cause.
    """

    function: FunctionReport
    kind: str
    calls: int = 0
    compared: int = 0
    alone: int = 0
    in_graph: int = 0
    traces: int = 0
    causes: tuple[Cause, ...] = ()
    differences: tuple[Deviation, ...] = ()
    first: int = 0
    level: str = ""
    error: Mapping[str, Any] | None = None
    through: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rounding: float = 0.0
    largest: tuple[float, float] = (0.0, 0.0)
    eager_seconds: float | None = None
    graph_seconds: float | None = None
    trace_seconds: float = 0.0
    speed: Speed | None = None
    rules: tuple[tuple[str, str, str], ...] = ()
    together: tuple[str, ...] = ()
    callees: tuple[str, ...] = ()
    provisional: bool = False

    @property
    def qualname(self) -> str:
        """The function's lexical path."""
        return self.function.facts.qualname

    @property
    def failed(self) -> bool:
        """Whether the conversion changes what the program does, or traces without bound."""
        return self.kind in ("raised", "different", "retraces")

    @property
    def verified(self) -> bool:
        """Whether calls were compared and found the same."""
        return self.kind in ("equal", "random")

    @property
    def slower(self) -> bool:
        """Whether the change makes calls slower than they were, by more than chance and noise explain."""
        return self.speed is not None and self.speed.word == "slower"

    @property
    def speed_told(self) -> str:
        """What the change does to the time of a call, in words; empty where nothing is known."""
        speed = self.speed
        if speed is None:
            return ""
        form = "without the graph" if self.function.decision.action is Action.CONVERT_TO_EAGER else "as a graph"
        words = {"too few calls": "too few calls to be sure", "slower": "slower than it is now"}
        word = words.get(speed.word, speed.word)
        times = f"{_time(speed.before)} before, {_time(speed.after)} after"
        sure = "" if speed.word == "too few calls" else f"; 95%: {speed.low:.2g} to {speed.high:.2g}"
        return f"{word}: {form} a call takes {times_as_long(speed.ratio)} ({times}{sure})"

    @property
    def objection(self) -> str | None:
        """Why the conversion should not be made; None if it is verified and was not slower."""
        if self.kind in ("raised", "different"):
            what = self.differences[0] if self.differences else None
            said = f": {what.where}: eager {what.eager}, graph {what.graph}" if what else ""
            return f"the graph {'raises' if self.kind == 'raised' else 'differs'}{said}"
        if self.kind == "retraces":
            return f"traced {self.traces:,} times in {self.calls:,} calls: {'; '.join(map(str, self.causes[:2]))}"
        if not self.verified:
            reasons = "; ".join(self.skipped)
            return f"not verified: {self.kind}" + (f" ({reasons})" if reasons else "")
        speed = self.speed
        if speed is not None and (self.slower or (speed.word == "too few calls" and speed.ratio > 1 + NOISE)):
            return self.speed_told
        return None

    def __str__(self) -> str:
        told = "; ".join(f"{d.where}: {d.eager} -> {d.graph}" for d in self.differences[:2])
        causes = "; ".join(map(str, self.causes[:2]))
        return f"{self.qualname}: {self.kind} {told or causes or dict(self.skipped) or ''} [{self.traces}/{self.calls}]"


def judge(functions: Sequence[FunctionReport], ended: Ended) -> list[Verdict]:
    """The verdicts, in the order of the functions (whose numbers the child knows them by)."""
    last: dict[tuple[int, int], Event] = {}
    for event in ended.of("function"):
        last[event["pid"], event["function"]] = event
    by_number: dict[int, list[Event]] = {}
    for (_, number), event in last.items():
        by_number.setdefault(number, []).append(event)
    running = _running(ended)
    return [_verdict(n, functions, by_number.get(n, []), running.get(n)) for n in range(len(functions))]


def _running(ended: Ended) -> dict[int, Mapping[str, Any]]:
    """Functions whose graphs ran when their process was ended by something else than itself, with that as an error."""
    last: dict[int, Event] = {}
    for event in ended.events:
        if event.get("event") in ("graph", "end"):
            last[event["pid"]] = event
    if ended.reason == "interrupted":
        return {}
    said = "did not end before the timeout" if ended.reason == "timeout" else "ended the process"
    error = {"type": "Ended", "bases": [], "message": f"a call of the graph {said}", "frames": []}
    return {e["function"]: error for e in last.values() if e["event"] == "graph" and e["runs"]}


def _verdict(
    number: int, functions: Sequence[FunctionReport], events: list[Event], running: Mapping[str, Any] | None
) -> Verdict:
    function = functions[number]
    if running is not None and not any(e["verdict"] in ("raised", "different") for e in events):
        calls = max((e["calls"] for e in events), default=1)
        return Verdict(function, "raised", calls=calls, first=calls, error=running)
    if not events:
        return Verdict(function, "not reached")
    worst = min(events, key=lambda event: KINDS.index(_kind(event)))
    total = {
        name: sum(event[name] for event in events) for name in ("calls", "compared", "alone", "in_graph", "traces")
    }
    skipped: dict[str, int] = {}
    for event in events:
        for reason, count in event["skipped"].items():
            skipped[reason] = skipped.get(reason, 0) + count
    kind = _kind(worst)
    return Verdict(
        function,
        kind,
        **total,
        causes=tuple(
            Cause(c["parameter"], c["kind"], c["count"], tuple(c["examples"]))
            for c in sorted(worst["causes"], key=lambda c: -c["count"])
        ),
        differences=tuple(Deviation(d["where"], d["eager"], d["graph"], d["error"]) for d in worst["differences"]),
        first=worst["first"],
        level=worst["level"],
        error=worst["error"],
        through=tuple(functions[n].facts.id for n in worst["through"]),
        provisional=bool(worst.get("provisional")),
        callees=tuple(functions[n].facts.id for n in worst["callees"] if n != number),
        skipped=skipped,
        notes=tuple(worst["notes"]),
        rounding=worst["rounding"],
        largest=max(((e["largest"][0], e["largest"][1]) for e in events if "largest" in e), default=(0.0, 0.0)),
        eager_seconds=worst["eager_seconds"],
        graph_seconds=worst["graph_seconds"],
        trace_seconds=worst["trace_seconds"],
        speed=_speed(function, worst),
        rules=rules_of(function, kind, worst["error"]),
    )


def _speed(function: FunctionReport, event: Event) -> Speed | None:
    """What was before and what is after is the other way round where a decorator is taken away."""
    eager, graph = event.get("eager_times") or [], event.get("graph_times") or []
    action = function.decision.action
    if action is Action.RECONFIGURE:  # both are graphs, and only one of them was run
        return None
    return compare(graph, eager) if action is Action.CONVERT_TO_EAGER else compare(eager, graph)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _kind(event: Event) -> str:
    if event["verdict"] in ("raised", "different"):
        return str(event["verdict"])
    if event["retraces"]:
        return "retraces"
    if event["verdict"] is not None and event.get("singles", 0) < max(event["compared"], 1):
        return str(event["verdict"])
    if event["skipped"]:
        return "not compared"
    if event["in_graph"]:
        return "in graphs"
    return "not compared" if event["calls"] else "not reached"


def rules_of(function: FunctionReport, kind: str, error: Mapping[str, Any] | None) -> tuple[tuple[str, str, str], ...]:
    """The statuses that explain a verdict: at the place of the error, by its message, else the grave ones."""
    grave = [s for s in function.statuses if s.severity is Severity.ERROR and s.code.startswith("HY")]
    if kind == "raised" and error is not None:
        places = error_places(error)
        here = [s for s in grave if _at(s, places)]
        known = rule_of(error)
        if not here and known is not None:
            same = [s for s in grave if s.code == known[0]]
            return _told(same) or (known,)
        return _told(here or grave)
    return _told(grave) if kind in ("different", "retraces") else ()


def _at(status: Status, places: set[tuple[str, int]]) -> bool:
    return any(line == status.line and path.endswith(status.path) for path, line in places)


def _told(statuses: Sequence[Status]) -> tuple[tuple[str, str, str], ...]:
    return tuple(dict.fromkeys((s.code, s.name, s.message) for s in statuses[:3]))
