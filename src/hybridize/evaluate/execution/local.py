"""Tasks on this machine: one after the other in this process, or side by side in processes of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final

from hybridize.evaluate.execution.bounded import bounded, here
from hybridize.evaluate.execution.model import Ending, Outcome, Task

#: How often a task is begun whose process died by itself: of a crash another attempt may not be, of a limit it would.
ATTEMPTS: Final = 2


class Serial:
    """In this process, one after the other; limits do not hold."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """See `Executor`."""
        return map(here, tasks)


class Pool:
    """In processes of their own, so many at a time; a crash loses one attempt of one task."""

    def __init__(self, jobs: int, attempts: int = ATTEMPTS) -> None:
        self._jobs = max(1, jobs)
        self._attempts = attempts

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """See `Executor`. The tasks are begun in their order."""
        stop = threading.Event()
        with ThreadPoolExecutor(self._jobs) as threads:
            waiting = iter(tasks)
            running: set[Future[Outcome]] = set()
            try:
                while True:
                    # No more than can run: whoever stops listening leaves nothing behind that would still begin.
                    while len(running) < self._jobs and (task := next(waiting, None)) is not None:
                        running.add(threads.submit(repeated, task, self._attempts, stop))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (each.result() for each in done)
            finally:
                stop.set()


def repeated(task: Task, attempts: int, stop: threading.Event | None = None) -> Outcome:
    """Runs a task in a process of its own, again where that process dies without an answer."""
    for attempt in range(1, attempts + 1):
        outcome = replace(bounded(task, stop), attempts=attempt)
        if outcome.ending is not Ending.LOST or (stop is not None and stop.is_set()):
            break
    return outcome
