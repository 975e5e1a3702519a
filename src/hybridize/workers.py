"""Tasks in processes of their own: forks of this one, which have all that was read and imported, and end with it."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from hybridize.guard import end_with_parent
from hybridize.records import dataclass, field

#: A worker ends after tasks of so much weight (lines), to give its memory back; others take its place.
_MOST: Final = 60_000
_MOMENT: Final = 0.2  # seconds
_NUMBER: Final = 4  # bytes of a task's number
_TIRED: Final = 0xFFFFFFFF  # in place of a number
_HEADER: Final = 8  # bytes that tell the length of an answer
#: Task numbers that fit into a pipe at once.
MOST_TASKS: Final = 8_000


class WorkerError(RuntimeError):
    """A task failed in its process; the text is the error's, its traceback a note."""


def available() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def can_fork() -> bool:
    """Whether a fork of this process is sure to work: no other thread holds a lock in it."""
    return hasattr(os, "fork") and threading.active_count() == 1 and "tensorflow" not in sys.modules


@dataclass(slots=True)
class _Worker:
    pid: int
    pipe: int
    received: bytearray = field(default_factory=bytearray)
    task: int | None = None  # at which it is
    tired: bool = False  # it ended though tasks may be left


def run(
    weights: Sequence[int], work: Callable[[int], bytes], jobs: int, waiting: Callable[[], None] = lambda: None
) -> Iterator[tuple[int, bytes | None]]:
    """What `work` gives for each task, as it comes; None for a task whose process died.

    Args:
        weights: of the tasks; the heaviest are begun first.
        work: makes the answer to a task by its number, in a fork of this process.
        jobs: processes at a time.
        waiting: called several times a second.

    Raises:
        WorkerError: a task raised; no other is finished.
    """
    order = sorted(range(len(weights)), key=lambda i: (-weights[i], i))
    taking, giving = os.pipe()
    life, hold = os.pipe()
    os.write(giving, b"".join(i.to_bytes(_NUMBER, "big") for i in order))
    os.close(giving)
    left, exhausted = set(order), False
    workers: dict[int, _Worker] = {}
    try:
        with selectors.DefaultSelector() as selector:
            while left:
                while not exhausted and len(workers) < min(jobs, len(left)):
                    worker = _start(weights, work, taking, life, (hold, *workers))
                    workers[worker.pipe] = worker
                    selector.register(worker.pipe, selectors.EVENT_READ)
                if not workers:  # taken by processes that died before they could say so
                    yield from ((task, None) for task in sorted(left))
                    return
                waiting()
                for key, _ in selector.select(_MOMENT):
                    worker = workers[key.fd]
                    chunk = os.read(worker.pipe, 1 << 20)
                    worker.received += chunk
                    for task, answer in _answers(worker):
                        left.discard(task)
                        yield task, answer
                    if not chunk:
                        selector.unregister(worker.pipe)
                        _end(workers.pop(worker.pipe))
                        if worker.task is not None:
                            left.discard(worker.task)
                            yield worker.task, None
                        elif not worker.tired:
                            exhausted = True
    finally:
        for worker in workers.values():
            os.kill(worker.pid, signal.SIGKILL)
            _end(worker)
        for pipe in (taking, life, hold):
            os.close(pipe)


def _answers(worker: _Worker) -> Iterator[tuple[int, bytes]]:
    """The answers that are there as a whole; notes which task is at work."""
    data = worker.received
    while len(data) >= _HEADER + _NUMBER:
        length = int.from_bytes(data[:_HEADER], "big")
        task = int.from_bytes(data[_HEADER : _HEADER + _NUMBER], "big")
        if not length:  # it has begun, or will take no more
            worker.task, worker.tired = (None, True) if task == _TIRED else (task, False)
            del data[: _HEADER + _NUMBER]
            continue
        if len(data) < _HEADER + _NUMBER + length:
            return
        kind, answer = data[_HEADER + _NUMBER], bytes(data[_HEADER + _NUMBER + 1 : _HEADER + _NUMBER + length])
        del data[: _HEADER + _NUMBER + length]
        worker.task = None
        if kind:
            said, _, trace = answer.decode("utf-8", "replace").partition("\0")
            error = WorkerError(said)
            error.add_note(trace)
            raise error
        yield task, answer


def _end(worker: _Worker) -> None:
    os.close(worker.pipe)
    os.waitpid(worker.pid, 0)


def _start(
    weights: Sequence[int], work: Callable[[int], bytes], taking: int, life: int, parents: Sequence[int]
) -> _Worker:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(writing)
        return _Worker(child, reading)
    try:
        for pipe in (reading, *parents):
            os.close(pipe)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
        # Where the system knows of no such thing; and a thread does not come to it while one long step is at work.
        threading.Thread(target=_end_with_parent, args=(life,), daemon=True).start()
        end_with_parent()
        done = 0
        while done < _MOST:
            number = os.read(taking, _NUMBER)
            if not number:
                break
            task = int.from_bytes(number, "big")
            done += weights[task]
            _write(writing, bytes(_HEADER) + number)
            kind, answer = _made(work, task)
            _write(writing, (len(answer) + 1).to_bytes(_HEADER, "big") + number + kind + answer)
        else:
            _write(writing, bytes(_HEADER) + _TIRED.to_bytes(_NUMBER, "big"))
    finally:
        os._exit(0)  # no exit handler of the parent's may run
    raise AssertionError  # not reached


def _made(work: Callable[[int], bytes], task: int) -> tuple[bytes, bytes]:
    try:
        return b"\0", work(task)
    except Exception as error:
        return b"\1", f"{type(error).__name__}: {error}\0{traceback.format_exc()}".encode("utf-8", "replace")


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _end_with_parent(life: int) -> None:
    """Nobody ever writes there: reading ends when the parent does."""
    os.read(life, 1)
    os._exit(1)
