"""The server's side of the process that runs jobs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hybridize.records import dataclass
from hybridize.server.frames import ANSWER, ASK, END, KEPT, PROGRESS, RUN, frame, frames
from hybridize.server.jobs import Check, Checked, Job, Progress
from hybridize.server.keeping import PHASES, Edits

if TYPE_CHECKING:
    from hybridize.deciding import Again

#: Seconds that the process has to end by itself.
_PATIENCE: Final = 1.0


class JobError(RuntimeError):
    """A job failed; the text says why."""


@dataclass(slots=True)
class _Running:
    future: asyncio.Future[Any]
    progress: Progress | None = None
    parts: list[Any] | None = None  # of an answer that comes in several


class Workers:
    """Runs jobs; the process for it is started with the first, and again should it have died."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._running: dict[int, _Running] = {}
        self._kept: dict[int, tuple[int, Callable[[frozenset[str]], None]]] = {}
        self._count = 0
        self._starting = asyncio.Lock()

    async def run(self, job: Job, progress: Progress | None = None) -> Any:
        """The answer of a job, whose process is killed where the task that waits for it is cancelled.

        Raises:
            JobError: it failed, or its process died.
        """
        return await self._run(self._next(), job, progress)

    async def check(
        self, job: Check, progress: Progress, kept: Callable[[frozenset[str]], None]
    ) -> tuple[int, Checked]:
        """As `run`, with the number of the job. `kept` is told the files of its program once that is kept."""
        number = self._next()
        self._kept[number] = 0, kept
        try:
            return number, await self._run(number, job, progress)
        except (JobError, asyncio.CancelledError):
            self._kept.pop(number, None)
            raise

    async def ask(self, number: int, edits: Edits) -> list[Again]:
        """What is found anew in the program that a job has solved, which is kept; nothing where that cannot be told."""
        process = await self._alive()
        asked, future = self._next(), asyncio.get_running_loop().create_future()
        self._running[asked] = _Running(future, parts=[])
        try:
            self._send(process, frame(ASK, asked, (number, edits)))
            parts: list[Again | None] = await future
        finally:
            del self._running[asked]
        found = [part for part in parts if part is not None]
        return found if len(found) == len(parts) else []

    def forget(self, number: int) -> None:
        """The program of a job need not be kept any more."""
        self._kept.pop(number, None)
        if self._process is not None:
            self._send(self._process, frame(END, number, None))

    def may_keep(self, number: int) -> bool:
        """Whether the program of a job is kept, or will be."""
        return number in self._kept

    def _next(self) -> int:
        self._count += 1
        return self._count

    async def _run(self, number: int, job: Job, progress: Progress | None) -> Any:
        process = await self._alive()
        future = asyncio.get_running_loop().create_future()
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
            # Nobody reads any more of one that has ended, even where it is not known yet how.
            if self._process is None or self._process.stdout is None or self._process.stdout.at_eof():
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
                    if kind == KEPT:
                        self._note_kept(number, value)
                    elif (running := self._running.get(number)) is not None and not running.future.done():
                        _take(running, kind, value)
        finally:
            self._kept.clear()
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

    def _note_kept(self, number: int, files: frozenset[str] | None) -> None:
        """A process has told that it keeps the program of a job, or has died; there are several."""
        if files is None:
            self._kept.pop(number, None)
            return
        count, kept = self._kept.get(number, (0, None))
        if kept is not None:
            self._kept[number] = count + 1, kept
            if count + 1 == len(PHASES):
                kept(files)

    @staticmethod
    def _send(process: Process, data: bytes) -> None:
        if process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(data)


def _take(running: _Running, kind: int, value: Any) -> None:
    """Takes what the process tells whoever waits for something."""
    if kind == PROGRESS:
        if running.progress is not None:
            running.progress(*value)
    elif kind != ANSWER:
        running.future.set_exception(JobError(value))
    elif running.parts is None:
        running.future.set_result(value)
    else:
        running.parts.append(value)
        if len(running.parts) == len(PHASES):
            running.future.set_result(running.parts)
