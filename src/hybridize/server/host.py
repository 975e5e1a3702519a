"""The process that runs jobs, each in a fork: `python -m hybridize.server.host`, with frames on stdin and stdout.

It imports what every job needs before the first one comes. A job is ended by killing its fork, which gives all of its
memory back. Nothing outlives anything here: the host ends when its stdin does, a fork when the host is gone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import sys
import time
import traceback
from typing import Any, Final

from hybridize.heap import Uncollected
from hybridize.records import dataclass, field
from hybridize.server.jobs import Job

#: Bytes in front of a frame that tell its length.
HEADER: Final = 8
#: Frames to the host: run a job, end one. From it: how far one is, its answer, or why there is none.
RUN, END, PROGRESS, ANSWER, FAILED = range(5)
#: Seconds between two looks at who the parent is, and between two words on progress.
_LOOK, _OFTEN = 0.5, 0.2
_CHUNK = 1 << 20


@dataclass(slots=True)
class _Fork:
    pid: int
    number: int
    received: bytearray = field(default_factory=bytearray)


def frame(kind: int, number: int, value: object) -> bytes:
    """A message of some kind about the job with a number."""
    with Uncollected():  # a large answer is a million new objects, none of them garbage
        data = pickle.dumps((kind, number, value), 5)
    return len(data).to_bytes(HEADER, "big") + data


def frames(received: bytearray) -> list[tuple[int, int, Any]]:
    """The messages that are there as a whole, which are taken from what was received."""
    found, done, whole = [], 0, _whole(received)
    while done < whole:
        start = done + HEADER
        done = start + int.from_bytes(received[done:start], "big")
        with Uncollected():
            found.append(pickle.loads(received[start:done]))  # from a process of ours, over a pipe that no other has
    del received[:whole]
    return found


def _whole(received: bytearray) -> int:
    """The bytes of the frames that are there as a whole."""
    end = 0
    while len(received) - end >= HEADER:
        after = end + HEADER + int.from_bytes(received[end : end + HEADER], "big")
        if len(received) < after:
            break
        end = after
    return end


def main() -> None:
    """Takes jobs from stdin until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl-C in a terminal is for the server, which ends this process
    out = os.dup(1)
    os.dup2(2, 1)  # whatever prints does not print into the frames
    _prepare()
    try:
        _Host(out).serve()
    except BrokenPipeError:
        pass
    os._exit(0)


class _Host:
    def __init__(self, out: int) -> None:
        self._out = out
        self._selector = selectors.DefaultSelector()
        self._forks: dict[int, _Fork] = {}  # by the pipe that they write to

    def serve(self) -> None:
        received = bytearray()
        self._selector.register(0, selectors.EVENT_READ)
        try:
            while True:
                for key, _ in self._selector.select():
                    if key.fd in self._forks:
                        self._hear(key.fd)
                        continue
                    if key.fd:
                        continue  # of a fork that was ended a moment ago
                    chunk = os.read(0, _CHUNK)
                    if not chunk:
                        return
                    received += chunk
                    for kind, number, value in frames(received):
                        self._start(number, value) if kind == RUN else self._end(number)
        finally:
            for each in list(self._forks.values()):
                self._end(each.number)

    def _start(self, number: int, job: Job) -> None:
        reading, writing = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            for each in (0, self._out, reading, *self._forks):
                os.close(each)
            _work(number, job, writing, parent)
        os.close(writing)
        self._forks[reading] = _Fork(pid, number)
        self._selector.register(reading, selectors.EVENT_READ)

    def _hear(self, pipe: int) -> None:
        fork = self._forks[pipe]
        chunk = os.read(pipe, _CHUNK)
        fork.received += chunk
        whole = _whole(fork.received)
        _write(self._out, fork.received[:whole])  # frames of several forks come one after the other
        del fork.received[:whole]
        if not chunk:
            self._drop(pipe)
            # Whoever had its answer does not wait any more, and does not hear this.
            _write(self._out, frame(FAILED, fork.number, "its process died, for want of memory perhaps"))

    def _end(self, number: int) -> None:
        for pipe, fork in list(self._forks.items()):
            if fork.number == number:
                os.kill(fork.pid, signal.SIGKILL)
                self._drop(pipe)

    def _drop(self, pipe: int) -> None:
        self._selector.unregister(pipe)
        os.close(pipe)
        os.waitpid(self._forks.pop(pipe).pid, 0)


def _prepare() -> None:
    """Imports what each fork would import for itself."""
    import hybridize.api
    import hybridize.fixing.planner  # noqa: F401
    from hybridize.analysis import prepare

    prepare()


def _work(number: int, job: Job, pipe: int, parent: int) -> None:
    """The life of a fork."""
    try:
        _end_without(parent)
        told = 0.0

        def progress(phase: str, done: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told > _OFTEN:
                told = time.monotonic()
                _write(pipe, frame(PROGRESS, number, (phase, done, total)))

        try:
            answer = frame(ANSWER, number, job.run(progress))
        except Exception as error:
            traceback.print_exc()
            answer = frame(FAILED, number, f"{type(error).__name__}: {' '.join(str(error).split())}")
        _write(pipe, answer)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(0)


def _end_without(parent: int) -> None:
    """Ends this process soon after its parent; no thread looks, for who has threads cannot fork."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK, _LOOK)


def _write(pipe: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


if __name__ == "__main__":
    main()
