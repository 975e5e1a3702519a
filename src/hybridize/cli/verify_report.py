"""What `hybridize verify` saw, as text for a person and as JSON for a tool."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hybridize.fixing.memory import Conversions
from hybridize.report.style import Style, one_line
from hybridize.report.words import counted
from hybridize.runtime.ending import failure
from hybridize.runtime.launch import Ended, Target
from hybridize.runtime.speed import Speed
from hybridize.runtime.verify import KINDS, Deviation, Verdict
from hybridize.runtime.whole import Whole

_COLOURS = {
    "raised": "red",
    "different": "red",
    "retraces": "yellow",
    "equal": "green",
    "random": "green",
}
_SHOWN, _ALL = 3, 30  # differences of one function


def as_text(
    verdicts: Sequence[Verdict],
    made: Conversions,
    ended: Ended,
    whole: Whole,
    display: Callable[[str], str],
    style: Style,
    *,
    timeout: float | None = None,
    quiet: bool = False,
    verbose: bool = False,
) -> str:
    """A line for each function, beneath it what is wrong, by file; then the program's end and the counts."""
    lines: list[str] = []
    path = None
    for verdict in sorted(verdicts, key=lambda v: (v.function.facts.path, v.function.facts.line)):
        if quiet and not (verdict.failed or verdict.slower):
            continue
        facts = verdict.function.facts
        if facts.path != path:
            path = facts.path
            lines.append(style.paint(one_line(display(path)), "bold"))
        word = style.paint(verdict.kind.ljust(12), _COLOURS.get(verdict.kind, "dim"))
        lines.append(f"{facts.line:>6}  {word} {one_line(facts.qualname)}  {style.paint(_figures(verdict), 'dim')}")
        lines += [f"{'':8}{'':13}{line}" for line in _details(verdict, _ALL if verbose else _SHOWN)]
    for function, reason in () if quiet else made.refused:
        lines.append(f"{'':8}not converted {one_line(function.facts.qualname)}: {one_line(reason)}")
    lines.append(_program(ended, timeout))
    lines += _ends(whole, _ALL if verbose else _SHOWN)
    counts = Counter(v.kind for v in verdicts)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
    slower = sum(verdict.slower for verdict in verdicts)
    told += f"; {slower} slower than before" if slower else ""
    lines.append(f"{counted(len(verdicts), 'function')} converted in memory" + (f": {told}" if told else ""))
    return "".join(f"{line}\n" for line in lines)


def _figures(verdict: Verdict) -> str:
    parts = []
    if verdict.calls:
        parts.append(f"{verdict.compared:,} of {counted(verdict.calls, 'call')} compared")
    if verdict.traces:
        parts.append(counted(verdict.traces, "trace"))
    return ", ".join(parts)


def _details(verdict: Verdict, shown: int) -> Iterator[str]:
    if verdict.kind == "raised" and verdict.error is not None:
        yield f"{_when(verdict)}{one_line(error_line(verdict))}"
    elif verdict.kind in ("raised", "different"):
        for deviation in verdict.differences[:shown]:
            error = "" if deviation.error is None else f" (relative error {deviation.error:.2g})"
            eager, graph = one_line(deviation.eager), one_line(deviation.graph)
            yield f"{_when(verdict)}{one_line(deviation.where)}: eager {eager}, graph {graph}{error}"
        if len(verdict.differences) > shown:
            yield f"and {len(verdict.differences) - shown} more"
    if verdict.speed_told:
        yield verdict.speed_told
    if verdict.together:
        yield f"it or {', '.join(f'`{name}`' for name in verdict.together)}, or all of them together"
    if verdict.through and verdict.failed:
        yield f"it calls {', '.join(f'`{name}`' for name in verdict.through)}, which may be the only cause"
    if verdict.kind == "random":
        yield one_line(f"random: {verdict.level}")
    if verdict.kind == "equal" and verdict.largest[0]:
        relative, absolute = verdict.largest
        yield f"within the tolerance: differs by up to {relative:.2g} of the scale ({absolute:.2g})"
    if verdict.rounding:
        yield f"rounding: relative errors up to {verdict.rounding:.2g}, as the last digits of its inputs cause"
    if verdict.traces > 1 and (verdict.kind == "retraces" or verdict.causes):
        for cause in verdict.causes[:shown]:
            yield one_line(f"traced again, {counted(cause.count, 'time')}: {cause}")
    for reason, count in verdict.skipped.items():
        yield one_line(f"not compared, {counted(count, 'call')}: {reason}")
    for code, name, message in verdict.rules:
        yield one_line(f"{code} {name}: {message}")


def _when(verdict: Verdict) -> str:
    return f"call {verdict.first}: " if verdict.first else "the whole program, converted: "


def _ends(whole: Whole, shown: int) -> Iterator[str]:
    """What the program's runs as a whole showed."""
    if whole.kind == "not compared":
        yield f"as a whole: not compared ({whole.reason})"
    elif whole.kind == "same":
        yield f"as a whole: converted it ends as it is ({whole.leaves:,} values, lines and files compared)"
    else:
        yield f"as a whole: converted it ends differently ({counted(whole.runs, 'more run')} to see who is to blame)"
        for deviation in whole.differences[:shown]:
            yield f"{'':8}{one_line(f'{deviation.where}: eager {deviation.eager}, graph {deviation.graph}')}"


def error_line(verdict: Verdict) -> str:
    """The exception of the graph, in a line."""
    error = verdict.error or {}
    lines = [line.strip() for line in str(error.get("message", "")).splitlines() if line.strip()]
    name = str(error.get("type", ""))
    text = lines[-1] if lines else ""
    return text if text.startswith(name) else f"{name}: {text}"


def _program(ended: Ended, timeout: float | None) -> str:
    what = failure(ended, timeout) or "exit code 0"
    return f"program: {one_line(what)} after {ended.seconds:.1f} s"


def as_json(verdicts: Sequence[Verdict], made: Conversions, ended: Ended, whole: Whole, target: Target) -> str:
    """One object (docs/json.md)."""
    data: dict[str, Any] = {
        "version": 1,
        "program": {
            "command": str(target),
            "exit_code": ended.code,
            "ended": ended.reason,
            "seconds": round(ended.seconds, 3),
            "failure": failure(ended),
        },
        "whole": {
            "outcome": whole.kind,
            "reason": whole.reason or None,
            "compared": whole.leaves,
            "runs": whole.runs,
            "differences": [_deviation(d) for d in whole.differences[:_ALL]],
        },
        "functions": [_function(v) for v in verdicts],
        "refused": [{"function": f.facts.id, "reason": reason} for f, reason in made.refused],
        "summary": {kind: n for kind in KINDS if (n := sum(v.kind == kind for v in verdicts))},
    }
    return json.dumps(data, indent=1) + "\n"


def _deviation(deviation: Deviation) -> dict[str, Any]:
    return {
        "where": deviation.where,
        "eager": deviation.eager,
        "graph": deviation.graph,
        "relative_error": deviation.error,
    }


def _speed(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    times = {"seconds_before": speed.before, "seconds_after": speed.after}
    return {**times, "times_as_long": speed.ratio, "low": speed.low, "high": speed.high, "verdict": speed.word}


def _function(verdict: Verdict) -> dict[str, Any]:
    facts = verdict.function.facts
    return {
        "id": facts.id,
        "path": facts.path,
        "line": facts.line,
        "qualname": facts.qualname,
        "verdict": verdict.kind,
        "calls": verdict.calls,
        "compared": verdict.compared,
        "traces": verdict.traces,
        "in_graph": verdict.in_graph,
        "retraces": [
            {"parameter": c.parameter or None, "kind": c.kind, "count": c.count, "examples": list(c.examples)}
            for c in verdict.causes
        ],
        "first_difference": verdict.first or None,
        "differences": [_deviation(d) for d in verdict.differences],
        "error": None
        if verdict.error is None
        else {"type": verdict.error["type"], "message": verdict.error["message"]},
        "through": list(verdict.through),
        "together": list(verdict.together),
        "random": verdict.level or None,
        "rounding": verdict.rounding or None,
        "largest_difference": {"relative": verdict.largest[0], "absolute": verdict.largest[1]}
        if verdict.largest[0]
        else None,
        "not_compared": dict(verdict.skipped),
        "eager_seconds": verdict.eager_seconds,
        "graph_seconds": verdict.graph_seconds,
        "trace_seconds": verdict.trace_seconds or None,
        "speed": _speed(verdict.speed),
        "rules": [{"code": code, "name": name, "message": message} for code, name, message in verdict.rules],
    }
