"""Tasks are bounded, repeated where a process died, and give the same wherever they run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridize.evaluate.execution.cluster import Cluster
from hybridize.evaluate.execution.local import Pool, Serial
from hybridize.evaluate.execution.model import Ending, ExecutionError, Executor, Outcome, Task

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))


def one(executor: Executor, name: str, memory: int | None = None, **payload: object) -> Outcome:
    (outcome,) = executor.run([Task("key", f"harness.tasks:{name}", payload, memory=memory)])
    return outcome


@pytest.mark.parametrize("make", [Serial, lambda: Pool(2)], ids=["serial", "pool"])
def test_outcomes(make: Callable[[], Executor]) -> None:
    tasks = [Task(str(i), "harness.tasks:double", {"number": i}) for i in range(5)]
    tasks.append(Task("bad", "harness.tasks:fail", {"why": "way"}))
    found = {each.key: each for each in make().run(tasks)}
    assert {key: each.value for key, each in found.items()} == {
        **{str(i): {"twice": 2 * i} for i in range(5)},
        "bad": None,
    }
    assert found["bad"].ending is Ending.FAILED
    assert found["bad"].error == "ValueError: no way"


def test_a_task_that_takes_too_long_is_ended() -> None:
    started = time.monotonic()
    (outcome,) = Pool(1).run([Task("key", "harness.tasks:sleep", {"seconds": 30}, seconds=0.5)])
    assert (outcome.ending, outcome.error) == (Ending.TIMEOUT, "ended at its limit of 0.5 s")
    assert time.monotonic() - started < 10


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked up in /proc")
def test_a_task_that_grows_too_large_is_ended() -> None:
    outcome = one(Pool(1), "grow", memory=150_000_000, bytes=400_000_000)
    assert (outcome.ending, outcome.error) == (Ending.MEMORY, "ended at its limit of 150 MB of memory")
    assert outcome.peak > 150_000_000


def test_a_process_that_dies_is_tried_again(tmp_path: Path) -> None:
    outcome = one(Pool(1), "die", folder=str(tmp_path), times=1)
    assert (outcome.ending, outcome.value, outcome.attempts) == (Ending.DONE, "alive", 2)


def test_one_that_always_dies_is_lost_with_its_reason(tmp_path: Path) -> None:
    outcome = one(Pool(1), "die", folder=str(tmp_path), times=9)
    assert (outcome.ending, outcome.error, outcome.attempts) == (Ending.LOST, "its process ended by signal SIGKILL", 2)


def test_who_stops_listening_leaves_no_process() -> None:
    found = Pool(2).run([Task(str(i), "harness.tasks:sleep", {"seconds": [0, 60][i > 0]}) for i in range(3)])
    next(found)
    started = time.monotonic()
    found.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 10


def test_no_scheduler_is_one_line() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ExecutionError, match=r"^no Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        list(Cluster("tcp://127.0.0.1:9", connect=1).run([]))


@pytest.mark.slow
def test_a_cluster_whose_workers_are_killed_gives_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    tasks = [Task(str(i), "harness.tasks:double", {"number": i}) for i in range(12)]
    tasks[5:5] = [
        Task("slow", "harness.tasks:sleep", {"seconds": 3}),
        Task("bad", "harness.tasks:fail", {"why": "way"}),
    ]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        running = Cluster(cluster.scheduler_address).run(tasks)
        found, killed = [next(running)], {None}
        for _ in range(2):
            # A nanny has none while it starts one, and one that is dead until it notices.
            pid = next(nanny.pid for nanny in cluster.workers.values() if nanny.pid not in killed)
            subprocess.run(["kill", "-9", str(pid)], check=True)
            killed.add(pid)
            found.append(next(running))
        found += running
    expected = {each.key: (each.ending, each.error) for each in Serial().run(tasks)}
    assert {each.key: (each.ending, each.error) for each in found} == expected
    assert len(found) == len(tasks)
