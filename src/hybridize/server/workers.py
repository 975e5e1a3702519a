"""The server's side of the process that runs jobs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any, Final

from hybridize.records import dataclass
from hybridize.server.host import ANSWER, END, PROGRESS, RUN, frame, frames
from hybridize.server.jobs import Job, Progress

#: Seconds that the process has to end by itself.
_PATIENCE: Final = 1.0


class JobError(RuntimeError):
    """A job failed; the text says why."""


@dataclass(slots=True)
class _Running:
    future: asyncio.Future[Any]
    progress: Progress | None


class Workers:
    """Runs jobs; the process for it is started with the first, and again should it have died."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._running: dict[int, _Running] = {}
        self._count = 0
        self._starting = asyncio.Lock()

    async def run(self, job: Job, progress: Progress | None = None) -> Any:
        """The answer of a job, whose process is killed where the task that waits for it is cancelled.

        Raises:
            JobError: it failed, or its process died.
        """
        process = await self._alive()
        self._count += 1
        number, future = self._count, asyncio.get_running_loop().create_future()
        self._running[number] = _Running(future, progress)
        try:
            self._send(process, frame(RUN, number, job))
            return await future
        finally:
            del self._running[number]
            if not future.done() or future.cancelled():
                self._send(process, frame(END, number, None))

    def close(self) -> None:
        """Ends the process and all jobs."""
        if self._reader is not None:
            self._reader.cancel()

    async def ended(self) -> None:
        """Waits until the process has ended, after `close`."""
        if self._reader is not None:
            await asyncio.wait([self._reader])

    async def _alive(self) -> Process:
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                # `-P`: no module of the user's folder may be taken for one of ours.
                command = (sys.executable, "-P", "-m", "hybridize.server.host")
                self._process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
                self._reader = asyncio.create_task(self._read(self._process))
            return self._process

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        received = bytearray()
        try:
            while chunk := await process.stdout.read(1 << 20):
                received += chunk
                for kind, number, value in frames(received):
                    running = self._running.get(number)
                    if running is None or running.future.done():
                        continue
                    if kind == PROGRESS:
                        if running.progress is not None:
                            running.progress(*value)
                    elif kind == ANSWER:
                        running.future.set_result(value)
                    else:
                        running.future.set_exception(JobError(value))
        finally:
            for running in self._running.values():
                if not running.future.done():
                    running.future.set_exception(JobError("the process that analyzes has died"))
            if process.stdin is not None:
                process.stdin.close()  # it ends its forks, and then itself
            with contextlib.suppress(ProcessLookupError, asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), _PATIENCE)
            if process.returncode is None:
                process.kill()  # its forks find themselves without a parent
                await process.wait()

    @staticmethod
    def _send(process: Process, data: bytes) -> None:
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(data)
