"""What many repositories would cost on many cores: a simulation with measured times (docs/evaluation-scale.md).

One scheduler hands tasks to cores, one after the other: each costs it some time, and a core waits while the scheduler
is busy with others. Times of tasks are drawn, with replacement, from those that were measured.
"""

from __future__ import annotations

import heapq
import importlib
import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hybridize.evaluate.execution.model import ExecutionError
from hybridize.evaluate.paper_tables import Table
from hybridize.evaluate.store import libraries
from hybridize.evaluate.tables import Column

_HOUR: Final = 3600.0
#: From so much of the whole time on it is the scheduler that decides how long it takes.
_BUSY: Final = 0.9


@dataclass(frozen=True, slots=True)
class Simulated:
    """What one run would take; times in seconds.

    Attributes:
        wall: from the first task's begin to the last one's end.
        work: of all tasks together.
        utilization: the part of the cores' time in which they work on tasks.
        tail: from when the first core finds no task any more to the end.
        scheduler: the part of the time until all tasks were handed out in which the scheduler was busy.
    """

    cores: int
    wall: float
    work: float
    utilization: float
    tail: float
    scheduler: float


def simulate(times: Sequence[float], cores: int, cost: float, delay: float = 0.0) -> Simulated:
    """Runs tasks in their order.

    Args:
        times: of the tasks, in seconds.
        cores: that take one task at a time.
        cost: seconds of the scheduler for a task: nothing else is handed out in them.
        delay: seconds that a core waits for a task beside that (network).
    """
    free = [0.0] * min(cores, len(times))  # when each core asks for its next task
    scheduler, busy, end = 0.0, 0.0, 0.0
    for seconds in times:
        asked = heapq.heappop(free)
        scheduler = max(scheduler, asked) + cost
        busy += cost
        done = scheduler + delay + seconds
        end = max(end, done)
        heapq.heappush(free, done)
    work = sum(times)
    first_idle = free[0] if len(times) >= cores else 0.0
    return Simulated(cores, end, work, work / (cores * end), end - first_idle, busy / scheduler if scheduler else 0.0)


def drawn(times: Sequence[float], count: int, seed: int) -> list[float]:
    """So many times out of the measured ones, with replacement."""
    return random.Random(seed).choices(times, k=count)


def saturated(times: Sequence[float], cost: float) -> float:
    """From so many cores on the scheduler cannot keep them busy: tasks end faster than it hands out others."""
    return sum(times) / len(times) / cost if cost else float("inf")


def measured_times(folder: Path) -> dict[str, float]:
    """Seconds of each project's task, by name, out of the results of an evaluation."""
    _, parquet = libraries()
    found = {}
    for file in sorted((folder / "results" / "whole").glob("*.parquet")):
        entry = json.loads(parquet.read_schema(file).metadata[b"hybridize"])
        found[file.stem] = float(entry["provenance"]["task_seconds"])
    return found


def scheduler_cost(tasks: int = 2000) -> float:
    """Seconds of a Dask scheduler for one task, measured here: many tasks that do nothing, on one worker.

    Processor time of the scheduler and its client counts, not that of the worker: workers are elsewhere.

    Raises:
        ExecutionError: there is no Dask.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise ExecutionError("a scheduler needs Dask: pip install 'hybridize[dask]'") from None
    # The scheduler is in this process, whose only other work is the client's.
    kind = {"n_workers": 1, "threads_per_worker": 4, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**kind) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        client.gather(client.map(_nothing, range(100), pure=False))
        before = time.process_time()
        client.gather(client.map(_nothing, range(tasks), pure=False))
        return (time.process_time() - before) / tasks


def _nothing(number: int) -> int:
    return number


def table(times: Sequence[float], cores: Iterable[int], repositories: int, cost: float, seed: int) -> Table:
    """A row for each number of cores, and in the note where the scheduler becomes the bottleneck."""
    names = ("wall h", "core hours", "utilization", "tail min", "scheduler busy", "bottleneck")
    forms = ("", ".2f", ".1f", ".1%", ".1f", ".2%", "")
    columns = tuple(Column(name, form) for name, form in zip(("cores", *names), forms, strict=True))
    sample = drawn(times, repositories, seed)
    rows: list[tuple[object, ...]] = []
    for count in cores:
        r = simulate(sample, count, cost)
        limit = "scheduler" if r.scheduler > _BUSY else "longest task" if r.tail > r.wall / 2 else "cores"
        rows.append((count, r.wall / _HOUR, count * r.wall / _HOUR, r.utilization, r.tail / 60, r.scheduler, limit))
    average, most, limit_at = sum(times) / len(times), max(times), saturated(times, cost)
    note = (
        f"{repositories} repositories, drawn (seed {seed}) from {len(times)} measured ones: "
        f"{average:.1f} s on average, {most:.1f} s at most. "
        f"The scheduler needs {cost * 1000:.2f} ms for a task: "
        f"beyond {limit_at:,.0f} cores it is the bottleneck."
    )
    return Table("simulation", "What it would cost", columns, tuple(rows), note)


def plot(times: Sequence[float], repositories: int, cost: float, seed: int, file: Path) -> dict[str, Path]:
    """Wall time against cores, beside what it would be without scheduler and tail; the SVG file by caption."""
    from hybridize.evaluate.pictures import figure

    sample = drawn(times, repositories, seed)
    counts = [2**power for power in range(1, 17)]
    made: list[Any] = [simulate(sample, count, cost) for count in counts]
    with figure(file, (6.0, 4.0)) as axes:
        axes.plot(counts, [each.wall / _HOUR for each in made], "o-", markersize=4, label="simulated")
        axes.plot(counts, [sum(sample) / each.cores / _HOUR for each in made], ":", label="work divided by cores")
        axes.axhline(repositories * cost / _HOUR, color="C2", linestyle="--", label="the scheduler alone")
        axes.axhline(max(sample) / _HOUR, color="C3", linestyle="--", label="the longest task alone")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("cores")
        axes.set_ylabel("hours")
        axes.legend(fontsize=8)
    return {f"Time of {repositories} repositories against cores": file.with_suffix(".svg")}
