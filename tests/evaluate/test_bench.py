"""Whole processes in turn: programs without TensorFlow, so that these tests are quick."""

import json
import math
import sys
from pathlib import Path

from hybridize.evaluate.bench_report import text, to_json
from hybridize.evaluate.measuring import Result, Run, Settings, Variant, breaks_even, measure
from hybridize.runtime.launch import Target
from hybridize.runtime.rewritten import MemoryFile

SLOW = """\
import time

def step(x):
    time.sleep(0.02)
    return x / 2

loss = 1.0
for _ in range(5):
    loss = step(loss)
    print("loss", loss)
"""
FAST = SLOW.replace("0.02", "0.001")


def memory(path: Path, text: str, watch: tuple[tuple[int, int, int | None], ...] = ()) -> MemoryFile:
    return MemoryFile(path, text.encode(), tuple(range(1, len(text.splitlines()) + 2)), watch)


def bench(
    tmp_path: Path, replacement: str, runs: int = 4, program: str = SLOW, timeout: float | None = None
) -> tuple[Result, list[str]]:
    script = tmp_path / "program.py"
    script.write_text(program)
    functions = ({"id": "program:step", "path": "program.py", "line": 3, "qualname": "step"},)
    target = Target.script(str(script))
    settings = Settings(target, sys.executable, runs, timeout, functions, (str(tmp_path),), needs=None)
    watch = ((0, 3, None),)
    variants = [
        Variant("original", (), (memory(script, program, watch),)),
        Variant("refactored", (memory(script, replacement),), (memory(script, replacement, watch),)),
    ]
    told: list[str] = []
    return measure(settings, variants, told.append), told


def test_times_functions_and_metrics_are_compared(tmp_path: Path) -> None:
    result, told = bench(tmp_path, FAST)
    refactored = result.variants[1]
    assert [len(m.runs) for m in result.variants] == [4, 4]
    assert result.verdict(refactored).ratio > 1
    assert result.same(refactored)
    assert result.best() is refactored or result.busy
    before, after = (m.timings()[0] for m in result.variants)
    assert (before.calls, before.traces) == (5, 0)
    assert before.steady is not None and after.steady is not None  # noqa: PT018
    assert before.steady > after.steady
    assert len(told) == 10
    assert (tmp_path / "program.py").read_text() == SLOW


def test_rounds_are_in_turn(tmp_path: Path) -> None:
    _, told = bench(tmp_path, FAST, runs=2)
    order = [line.split(", ")[1].split(":")[0] for line in told]
    assert order == ["original", "refactored", "original", "refactored", "refactored", "original"]


def test_other_metrics_are_told(tmp_path: Path) -> None:
    result, _ = bench(tmp_path, FAST.replace("x / 2", "x / 3"), runs=1)
    assert not result.same(result.variants[1])
    assert "metrics differ" in text(result)
    assert json.loads(to_json(result))["variants"][1]["same_metrics"] is False


def test_a_variant_that_fails_is_run_once(tmp_path: Path) -> None:
    result, _ = bench(tmp_path, FAST.replace("return x / 2", "raise ValueError('no graph')"), runs=2)
    refactored = result.variants[1]
    assert refactored.runs == []
    assert len(result.original.runs) == 2
    assert "ValueError: no graph" in text(result)
    assert not result.same(refactored)
    assert result.best() is None
    assert json.loads(to_json(result))["variants"][1]["median"] is None


def test_where_the_original_fails_nothing_else_is_run(tmp_path: Path) -> None:
    result, told = bench(tmp_path, FAST, program="raise ValueError\n")
    assert len(told) == 1
    assert "exit code 1: ValueError" in text(result)


def test_a_program_that_does_not_end_with_0_is_not_measured(tmp_path: Path) -> None:
    code = "import sys\nsys.exit(3)\n"
    result, _ = bench(tmp_path, code, runs=1, program=code)
    assert result.original.failure is not None
    result, _ = bench(tmp_path, code, runs=1, program="import sys\n")
    assert not result.same(result.variants[1])


def test_the_time_limit(tmp_path: Path) -> None:
    result, _ = bench(tmp_path, "import time\ntime.sleep(30)\n", runs=1, timeout=1.5)
    failure = result.variants[1].failure
    assert isinstance(failure, Run)
    assert failure.reason == "timeout"
    assert "refactored: did not end within 1.5 s (--timeout)" in text(result)


def test_every_style(tmp_path: Path) -> None:
    result, _ = bench(tmp_path, FAST, runs=1)
    assert text(result, "markdown").count("|") > 20
    assert text(result, "latex").startswith(r"\begin{tabular}")
    data = json.loads(to_json(result))
    assert [v["name"] for v in data["variants"]] == ["original", "refactored"]
    assert data["variants"][0]["metrics"]["loss"][0] == 0.5
    assert set(data["functions"][0]["timings"]) == {"original", "refactored"}


def test_when_tracing_pays(tmp_path: Path) -> None:
    result, _ = bench(tmp_path, FAST, runs=1)
    before, after = (m.timings()[0] for m in result.variants)
    assert breaks_even(before, after) == 0.0
    assert math.isinf(breaks_even(after, before))
