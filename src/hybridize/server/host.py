"""The process that runs jobs, each in a fork: `python -m hybridize.server.host`, with frames on stdin and stdout.

It imports what every job needs before the first one comes. A job is ended by killing its fork, which gives all of its
memory back; the program that it has solved may stay, in forks of it (`server.keeping`). Nothing outlives anything here:
the host ends when its stdin does, a fork when the host is gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import socket
import sys
import time
import traceback
from typing import Final

from hybridize.records import dataclass, field
from hybridize.server.frames import ANSWER, ASK, FAILED, KEPT, PROGRESS, RUN, frame, frames, whole, write
from hybridize.server.jobs import Job
from hybridize.server.keeping import LOOK, PHASES, Edits, Keeper

#: Seconds between two words on progress.
_OFTEN: Final = 0.2
_CHUNK: Final = 1 << 20


@dataclass(slots=True)
class _Fork:
    pid: int
    number: int
    received: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class _Kept:
    """Who keeps a program that a job has solved, or will: `asked` is the number of what it was last asked for."""

    channel: socket.socket
    number: int
    asked: int | None = None
    received: bytearray = field(default_factory=bytearray)


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
        self._kept: dict[int, _Kept] = {}  # by the channel

    def serve(self) -> None:
        received = bytearray()
        self._selector.register(0, selectors.EVENT_READ)
        try:
            while True:
                # Stdin is the last: what it brings closes descriptors, and opens others by the same numbers.
                for key, _ in sorted(self._selector.select(), key=lambda event: not event[0].fd):
                    if key.fd in self._forks:
                        self._hear(key.fd)
                    elif key.fd in self._kept:
                        self._hear_kept(key.fd)
                    if key.fd:
                        continue
                    chunk = os.read(0, _CHUNK)
                    if not chunk:
                        return
                    received += chunk
                    for kind, number, value in frames(received):
                        if kind == RUN:
                            self._start(number, value)
                        elif kind == ASK:
                            self._ask(number, *value)
                        else:
                            self._end(number)
        finally:
            for each in list(self._forks.values()):
                self._end(each.number)

    def _start(self, number: int, job: Job) -> None:
        reading, writing = os.pipe()
        channels = [socket.socketpair() for _ in PHASES] if job.focus is not None else []
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            mine = tuple(channel for _, channel in channels)
            for each in (self._out, reading, *self._forks, *self._kept, *(host.fileno() for host, _ in channels)):
                os.close(each)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            _work(number, job, writing, parent, Keeper(job.focus, number, mine) if job.focus is not None else None)
        os.close(writing)
        self._forks[reading] = _Fork(pid, number)
        self._selector.register(reading, selectors.EVENT_READ)
        for host, channel in channels:
            channel.close()
            self._kept[host.fileno()] = _Kept(host, number)
            self._selector.register(host, selectors.EVENT_READ)

    def _ask(self, number: int, job: int, edits: Edits) -> None:
        """Asks those who keep the program of a job; there is an answer for each that there might be."""
        asked = [each for each in self._kept.values() if each.number == job]
        for each in asked:
            each.asked = number
            self._send(each, frame(ASK, number, edits))
        for _ in PHASES[len(asked) :]:
            write(self._out, frame(ANSWER, number, None))

    def _send(self, kept: _Kept, data: bytes) -> None:
        """Sends something to who may have to be heard first: it waits for whom we do not read from."""
        left = memoryview(data)
        while left and kept.channel.fileno() in self._kept:
            try:
                left = left[kept.channel.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                if select.select([kept.channel], [kept.channel], [])[0]:
                    self._hear_kept(kept.channel.fileno())
            except OSError:
                return  # its end is told in a moment

    def _hear(self, pipe: int) -> None:
        fork = self._forks[pipe]
        chunk = os.read(pipe, _CHUNK)
        self._pass_on(fork.received, chunk)
        if not chunk:
            self._drop(pipe)
            # Whoever had its answer does not wait any more, and does not hear this.
            write(self._out, frame(FAILED, fork.number, "its process died, for want of memory perhaps"))

    def _hear_kept(self, channel: int) -> None:
        kept = self._kept[channel]
        try:
            chunk = kept.channel.recv(_CHUNK)
        except OSError:
            chunk = b""
        if self._pass_on(kept.received, chunk):
            kept.asked = None
        if not chunk:
            self._forget(channel)
            write(self._out, frame(KEPT, kept.number, None))
            if kept.asked is not None:
                write(self._out, frame(ANSWER, kept.asked, None))

    def _pass_on(self, received: bytearray, chunk: bytes) -> bool:
        """Hands on the frames that are there as a whole: those of several forks come one after the other."""
        received += chunk
        end = whole(received)
        write(self._out, received[:end])
        del received[:end]
        return bool(end)

    def _end(self, number: int) -> None:
        for pipe, fork in list(self._forks.items()):
            if fork.number == number:
                os.kill(fork.pid, signal.SIGKILL)
                self._drop(pipe)
        for channel, kept in list(self._kept.items()):
            if kept.number == number:
                self._forget(channel)

    def _drop(self, pipe: int) -> None:
        self._selector.unregister(pipe)
        os.close(pipe)
        os.waitpid(self._forks.pop(pipe).pid, 0)

    def _forget(self, channel: int) -> None:
        """Closes a channel: who is at its other end ends."""
        self._selector.unregister(channel)
        self._kept.pop(channel).channel.close()


def _prepare() -> None:
    """Imports what each fork would import for itself."""
    import hybridize.api
    import hybridize.fixing.planner  # noqa: F401
    from hybridize.analysis import prepare

    prepare()


def _work(number: int, job: Job, pipe: int, parent: int, keeper: Keeper | None) -> None:
    """The life of a fork."""
    try:
        _end_without(parent)
        told = 0.0

        def progress(phase: str, done: int, total: int) -> None:
            nonlocal told
            if time.monotonic() - told > _OFTEN:
                told = time.monotonic()
                write(pipe, frame(PROGRESS, number, (phase, done, total)))

        try:
            answer = frame(ANSWER, number, job.run(progress, keeper))
        except Exception as error:
            traceback.print_exc()
            answer = frame(FAILED, number, f"{type(error).__name__}: {' '.join(str(error).split())}")
            keeper = None
        write(pipe, answer)
        if keeper is not None and not keeper.has_kept:
            _go_on(job, pipe, keeper)
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(0)


def _go_on(job: Job, pipe: int, keeper: Keeper) -> None:
    """Does in a fork what is left of a job that has given its answer."""
    if os.fork():
        return
    os.close(pipe)
    keeper.end_with_host()
    job.afterwards(keeper)


def _end_without(parent: int) -> None:
    """Ends this process soon after its parent; no thread looks, for who has threads cannot fork."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK, LOOK)


if __name__ == "__main__":
    main()
