"""A simulated run: what can be said of it beforehand holds, and a real one takes as long as it says."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hybridize.evaluate.execution.local import Pool
from hybridize.evaluate.execution.model import Task
from hybridize.evaluate.simulate import drawn, saturated, simulate, table

TESTS = Path(__file__).resolve().parents[1]


def test_one_core_takes_the_sum() -> None:
    found = simulate([3.0, 1.0, 2.0], 1, 0.0)
    assert (found.wall, found.work, found.utilization, found.tail) == (6.0, 6.0, 1.0, 0.0)


def test_the_longest_task_is_the_tail() -> None:
    found = simulate([1.0, 1.0, 10.0], 2, 0.0)
    assert (found.wall, found.tail) == (11.0, 10.0)  # the other core has nothing to do after 1 s
    assert found.utilization == pytest.approx(12 / 22)


def test_cores_without_a_task_are_idle() -> None:
    assert simulate([2.0, 2.0], 8, 0.0).utilization == pytest.approx(4 / 16)


def test_beyond_the_saturation_more_cores_do_not_help() -> None:
    times, cost = [1.0] * 2000, 0.01
    assert saturated(times, cost) == 100
    few, enough, many = (simulate(times, cores, cost) for cores in (50, 100, 400))
    assert few.wall == pytest.approx(2 * enough.wall, rel=0.05)
    assert many.wall == pytest.approx(2000 * cost + 1.0)
    assert many.scheduler == pytest.approx(1.0)
    assert few.scheduler < 0.6


def test_a_seed_gives_the_same_row_again() -> None:
    made = [table([1.0, 5.0, 60.0], [8, 64], 1000, 0.001, seed) for seed in (1, 1, 2)]
    assert made[0] == made[1]
    assert made[0].rows != made[2].rows
    assert set(drawn([1.0, 5.0], 100, 0)) == {1.0, 5.0}


@pytest.mark.slow
def test_a_real_run_takes_as_long_as_the_simulated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))
    lengths = [0.2, 1.5, 0.4, 0.8, 0.3, 1.0]
    tasks = [Task(str(i), "harness.tasks:sleep", {"seconds": each}) for i, each in enumerate(lengths)]
    started = time.perf_counter()
    found = {each.key: each.seconds for each in Pool(2).run(tasks)}
    wall = time.perf_counter() - started
    assert simulate([found[task.key] for task in tasks], 2, 0.0).wall == pytest.approx(wall, rel=0.15)
