"""Messages between the server, its host, and their forks: a kind, a number, and a value that is pickled."""

from __future__ import annotations

import os
import pickle
from typing import Any, Final

from hybridize.heap import Uncollected

#: Bytes in front of a frame that tell its length.
HEADER: Final = 8
#: Frames to the host: run a job, end one, ask who keeps its program. From it: how far one is, its answer, or why there
#: is none; that its program is kept.
RUN, END, ASK, PROGRESS, ANSWER, FAILED, KEPT = range(7)


def frame(kind: int, number: int, value: object) -> bytes:
    """A message of some kind about the job with a number."""
    with Uncollected():  # a large answer is a million new objects, none of them garbage
        data = pickle.dumps((kind, number, value), 5)
    return len(data).to_bytes(HEADER, "big") + data


def frames(received: bytearray) -> list[tuple[int, int, Any]]:
    """The messages that are there as a whole, which are taken from what was received."""
    found, done, end = [], 0, whole(received)
    while done < end:
        start = done + HEADER
        done = start + int.from_bytes(received[done:start], "big")
        with Uncollected():
            found.append(pickle.loads(received[start:done]))  # from a process of ours, over a pipe that no other has
    del received[:end]
    return found


def whole(received: bytearray) -> int:
    """The bytes of the frames that are there as a whole."""
    end = 0
    while len(received) - end >= HEADER:
        after = end + HEADER + int.from_bytes(received[end : end + HEADER], "big")
        if len(received) < after:
            break
        end = after
    return end


def write(pipe: int, data: bytes | bytearray) -> None:
    """Writes all of something to a pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
