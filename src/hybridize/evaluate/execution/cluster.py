"""Tasks on a Dask cluster (extra `dask`): each carries all that it needs, and the scheduler brings its outcome back.

A task runs in a process of its own beside its worker (`bounded`), so that its limits hold there as they do here, and a
task that crashes takes no worker along. A worker that dies loses the tasks that it ran: the scheduler gives them to
others. No more tasks are with the scheduler than keep its workers busy.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import asdict, replace
from typing import Any, Final

from hybridize.evaluate.execution.local import ATTEMPTS, repeated
from hybridize.evaluate.execution.model import Ending, ExecutionError, Outcome, Task

#: How many tasks wait at the scheduler for each thread of a worker, beside the one that runs.
_AHEAD: Final = 2


class Cluster:
    """The workers of a Dask scheduler at an address (`tcp://host:8786`)."""

    def __init__(self, address: str, attempts: int = ATTEMPTS, connect: float = 20.0) -> None:
        """`connect` is how many seconds the scheduler has to answer."""
        self._address = address
        self._connect = connect
        self._attempts = attempts

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """See `Executor`."""
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise ExecutionError("a cluster needs Dask: pip install 'hybridize[dask]'") from None
        try:
            client = distributed.Client(self._address, timeout=self._connect, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ExecutionError(f"no Dask scheduler answers at {self._address} ({_words(error)})") from None
        try:
            yield from self._run(distributed, client, tasks)
        finally:
            client.close(timeout=2)

    def _run(self, distributed: Any, client: Any, tasks: Iterable[Task]) -> Iterator[Outcome]:
        waiting = iter(tasks)
        known: dict[str, Task] = {}
        futures = distributed.as_completed(loop=client.loop)
        while True:
            room = self._room(client) - futures.count()
            while room > 0 and (task := next(waiting, None)) is not None:
                future = client.submit(remote, asdict(task), self._attempts, pure=False)
                known[future.key] = task
                futures.add(future)
                room -= 1
            if not futures.count():
                return
            try:
                future = next(futures)
                outcome = self._outcome(known.pop(future.key), future, distributed.KilledWorker)
            except (OSError, CancelledError, asyncio.CancelledError, StopIteration) as error:
                raise ExecutionError(f"the Dask scheduler at {self._address} is gone ({_words(error)})") from None
            yield outcome

    def _room(self, client: Any) -> int:
        """How many tasks the scheduler should have; some while no worker is there, so that the first finds work."""
        return max(1, sum(map(int, client.nthreads().values()))) * (1 + _AHEAD)

    def _outcome(self, task: Task, future: Any, killed: type[Exception]) -> Outcome:
        try:
            found = future.result()
        except killed as error:
            return Outcome(task.key, Ending.LOST, error=f"each worker died that ran it: {_words(error)}")
        except (OSError, CancelledError, asyncio.CancelledError):
            raise
        except Exception as error:  # the worker could not even begin: another hybridize, say
            return Outcome(task.key, Ending.FAILED, error=f"{type(error).__name__}: {_words(error)}")
        return replace(Outcome(**found), ending=Ending(found["ending"]))


def remote(task: dict[str, Any], attempts: int) -> dict[str, Any]:
    """What a worker runs."""
    return asdict(repeated(Task(**task), attempts))


def _words(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
