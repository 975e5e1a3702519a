"""What was measured, for people (text, Markdown, LaTeX) and for programs (JSON)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final

from hybridize.evaluate import metrics
from hybridize.evaluate.measuring import Measured, Result, Run, Timing, breaks_even
from hybridize.evaluate.statistics import Verdict
from hybridize.evaluate.tables import Column, render
from hybridize.report.words import counted
from hybridize.runtime.ending import signal_name
from hybridize.runtime.speed import times_as_long

_SHOWN_METRICS: Final = 12
#: What TensorFlow says of itself on stderr: no reason why a program ended.
CHATTER: Final = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:|[IWEF]\d{4} |[IWEF]0000|WARNING: All log|To enable the following"
)


def text(result: Result, style: str = "text") -> str:
    """Tables and verdicts as `text`, `markdown` or `latex` (there: the first table alone)."""
    if style == "latex":
        return times_table(result, style)
    program = result.settings.target
    parts = [
        f"{program}: {len(result.original.runs)} runs of each after a warm-up, in turn\n",
        times_table(result, style),
    ]
    parts += [line for measured in result.variants for line in _failure(measured, result.settings.timeout)]
    if result.original.runs:
        parts += [metrics_table(result, style), functions_table(result, style), _verdicts(result)]
    return "\n".join(part for part in parts if part)


def times_table(result: Result, style: str) -> str:
    """A row per variant in the columns of the paper's Table VII: accuracy, loss, time, speed-up."""
    columns = [
        Column("program"),
        Column("runs"),
        Column("time s", ".2f"),
        Column("spread", ".2f"),
        Column("cpu s", ".2f"),
        Column("speed-up", ".2f"),
        Column("accuracy", ".5g"),
        Column("difference", ".2g"),
        Column("loss", ".5g"),
        Column("difference ", ".2g"),
    ]
    rows: list[list[object]] = []
    first_accuracy, first_loss = _typical(result.original)
    for measured in result.variants:
        times, cpu = measured.times(), measured.times("cpu")
        accuracy, loss = _typical(measured)
        verdict = result.verdict(measured) if measured is not result.original else None
        rows.append(
            [
                measured.variant.name,
                len(times.values),
                times.median,
                times.spread,
                cpu.median,
                verdict.ratio if verdict else None,
                accuracy,
                _minus(accuracy, first_accuracy) if verdict else None,
                loss,
                _minus(loss, first_loss) if verdict else None,
            ]
        )
    return render(columns, rows, style)


def metrics_table(result: Result, style: str) -> str:
    """The last value of each metric, the largest difference at any place, and that between runs of the original."""
    columns = [
        Column("metric"),
        Column("variant"),
        Column("original", ".6g"),
        Column("refactored", ".6g"),
        Column("difference", ".2%"),
        Column("between runs", ".2%"),
        Column("verdict"),
    ]
    rows: list[list[object]] = []
    for measured in result.variants[1:]:
        found = sorted(result.differences(measured), key=lambda d: -d.largest)[:_SHOWN_METRICS]
        if measured is not result.variants[1]:  # of further variants only what is wrong
            found = [d for d in found if not d.equal(result.settings.tolerance)]
        for d in found:
            word = "equal" if d.equal(result.settings.tolerance) else "different"
            rows.append([d.name, measured.variant.name, d.original, d.refactored, d.largest, d.spread, word])
        rows += [
            [name, measured.variant.name, None, None, None, None, "one only"] for name in result.only_one(measured)
        ]
    return render(columns, rows, style) if rows else ""


def functions_table(result: Result, style: str) -> str:
    """Times inside of the warm-up: the first call apart from the steady state."""
    columns = [
        Column("function"),
        Column("variant"),
        Column("calls"),
        Column("change"),
        Column("before ms", ".3f"),
        Column("after ms", ".3f"),
        Column("speed-up", ".2f"),
        Column("first call s", ".3f"),
        Column("traces"),
        Column("pays after"),
    ]
    rows: list[list[object]] = []
    called = set()
    for number, function in enumerate(result.settings.functions):
        before = result.original.timings().get(number)
        for measured in result.variants[1:]:
            after = measured.timings().get(number)
            if after is not None and after.calls + after.inner:
                called.add(number)
                rows.append(
                    [
                        f"{function['qualname']}",
                        measured.variant.name,
                        *_function_row(before, after, function.get("reverse")),
                    ]
                )
    left = len(result.settings.functions) - len(called)
    told = f"{counted(left, 'changed function')} not called by this program\n" if left else ""
    return (render(columns, rows, style) if rows else "") + (told if style == "text" else "")


def _function_row(before: Timing | None, after: Timing, removed: object) -> list[object]:
    """What became of a function; a repair made the one that was not there `before`."""
    if before is None:
        new = after.steady * 1e3 if after.steady is not None else None
        return [after.calls, "new graph", None, new, None, after.first, after.traces, ""]
    change = "to eager" if removed else "to graph"
    old, new = before.steady, after.steady
    ratio = old / new if old is not None and new else None
    pays = breaks_even(before, after)
    word = "" if removed or math.isnan(pays) else "never" if math.isinf(pays) else f"{math.ceil(pays)} calls"
    milliseconds = [value * 1e3 if value is not None else None for value in (old, new)]
    if after.calls == 0:
        return [0, change, milliseconds[0], None, None, None, after.traces, "in graphs"]
    return [after.calls, change, *milliseconds, ratio, after.first, after.traces, word]


def _verdicts(result: Result) -> str:
    lines = []
    for measured in result.variants[1:]:
        if measured.times().values:
            lines.append(f"the {measured.variant.name} program {sentence(result.verdict(measured))}")
            if measured.times("cpu").values:
                lines.append(f"  its processor time {sentence(result.verdict(measured, 'cpu'))}")
            lines.append(f"  {_metrics_sentence(result, measured)}")
    if len(result.variants) > 2:
        best = result.best()
        lines.append(f"best: {best.variant.name}" if best else "best: the program as it is")
    if result.busy:
        busy = f"{result.load_before:.1f} processes for each processor"
        lines.append(f"the machine was busy ({busy}): trust the processor time more")
    return "".join(f"{line}\n" for line in lines)


def sentence(verdict: Verdict) -> str:
    """How much longer the variant takes, the range over the rounds, and whether it is more than chance."""
    chance = f"(p = {verdict.probability:.2g})"
    words = {
        "faster": f"faster than the original {chance}",
        "slower": f"SLOWER than the original {chance}",
        "no difference": f"no significant difference {chance}",
        "too few runs": "too few runs for a verdict on significance (4 of each are enough)",
    }
    rounds = f"{1 / verdict.high:.3g} to {1 / verdict.low:.3g} by round"
    return f"takes {times_as_long(1 / verdict.ratio)}, {rounds}: {words[verdict.word]}"


def _metrics_sentence(result: Result, measured: Measured) -> str:
    differences = result.differences(measured)
    tolerance = result.settings.tolerance
    codes = [run.code for each in (result.original, measured) for run in each.runs[:1]]
    if len(set(codes)) > 1:
        return f"exit code {codes[1]}, of the original {codes[0]}"
    if not differences:
        return "no loss or accuracy was printed or returned by `fit`: nothing to compare"
    if result.same(measured):
        largest = max(d.largest for d in differences)
        beyond = ", no more than between runs of the original" if largest > tolerance else ""
        same = "metric is" if len(differences) == 1 else "metrics are"
        return (
            f"{len(differences)} {same} the same (largest difference {largest:.2%}, tolerance {tolerance:.0%}{beyond})"
        )
    names = [d.name for d in differences if not d.equal(tolerance)] + result.only_one(measured)
    return (
        f"metrics differ by more than {tolerance:.0%}, and more than between runs of the original: {', '.join(names)}"
    )


def _failure(measured: Measured, timeout: float | None) -> list[str]:
    run = measured.failure
    if run is None:
        return []
    last = [line for line in run.error.splitlines() if line.strip() and not CHATTER.match(line)][-1:]
    return [f"{measured.variant.name}: {ended(run, timeout)}{f': {last[0].strip()}' if last else ''}\n"]


def ended(run: Run, timeout: float | None = None) -> str:
    """How a run ended that failed, in words that follow its name; `timeout` (seconds) is the one that it had."""
    if run.reason == "timeout":
        return f"did not end within {timeout:g} s (--timeout)" if timeout else "did not end in time"
    if run.reason == "missing":
        return "the interpreter has no TensorFlow"
    return f"was killed by {signal_name(-run.code)}" if run.code < 0 else f"ended with exit code {run.code}"


def _typical(measured: Measured) -> tuple[float | None, float | None]:
    """The last values of the program's main accuracy and loss: the median over its runs."""
    series = measured.series()
    if not series:
        return None, None
    return _main(series, metrics.is_accuracy), _main(series, metrics.is_loss)


def _main(series: Sequence[metrics.Series], kind: Any) -> float | None:
    """The metric with the longest series (that of training), the first of several."""
    names = [name for name in series[0] if kind(name)]
    if not names:
        return None
    name = max(names, key=lambda n: len(series[0][n]))
    values = sorted(each[name][-1] for each in series if name in each)
    return values[len(values) // 2]


def _minus(a: float | None, b: float | None) -> float | None:
    return a - b if a is not None and b is not None else None


def to_json(result: Result) -> str:
    """Everything, as documented in docs/bench.md."""
    functions = []
    for number, function in enumerate(result.settings.functions):
        timed = {m.variant.name: m.timings().get(number) for m in result.variants}
        functions.append({**function, "timings": {name: _fields(timing) for name, timing in timed.items() if timing}})
    best = result.best()
    data = {
        "version": 1,
        "program": str(result.settings.target),
        "load": result.load_before,
        "busy": result.busy,
        "variants": [_variant(result, measured) for measured in result.variants],
        "functions": functions,
        "best": best.variant.name if best else "original",
    }
    return json.dumps(_finite(data), indent=1) + "\n"


def _variant(result: Result, measured: Measured) -> dict[str, Any]:
    failure = measured.failure
    data: dict[str, Any] = {
        "name": measured.variant.name,
        "runs": [{"code": r.code, "reason": r.reason, "wall": r.wall, "cpu": r.cpu} for r in measured.runs],
        "median": measured.times().median,
        "spread": measured.times().spread,
        "cpu": measured.times("cpu").median,
        "failure": {"how": ended(failure, result.settings.timeout), "stderr": failure.error} if failure else None,
        "metrics": {name: list(values) for name, values in (measured.series() or [{}])[0].items()},
    }
    if measured is not result.original:
        verdict = result.verdict(measured)
        data["speed_up"] = verdict.ratio
        data["cpu_speed_up"] = result.verdict(measured, "cpu").ratio
        data["speed_up_range"] = [verdict.low, verdict.high]
        data["probability"] = verdict.probability
        data["verdict"] = verdict.word
        data["same_metrics"] = result.same(measured)
        data["differences"] = [_fields(d) for d in result.differences(measured)]
    return data


def _fields(each: Any) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__slots__}


def _finite(value: Any) -> Any:
    """JSON has no nan or infinity: null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
