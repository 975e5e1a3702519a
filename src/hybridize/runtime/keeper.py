"""The process between us and a command: when we are gone, however we ended, so is the command and all that it started.

Run as `python -I keeper.py RESULT GRACE WORD...`, first of a session of its own. Its standard input is a pipe that
nobody writes to, and that ends when we do. RESULT gets a line of JSON: `{"code": int}`, or `{"error": str}` where there
is no such command. GRACE are the seconds that the command gets to end after it was asked to.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: who loses its parent becomes our child, and can be found
_ROUNDS = 20


def main(result: str, grace: int, words: list[str]) -> None:
    """Runs the command to its end, and tells how it ended."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    # Handlers: what is ignored would be ignored by the command, too.
    signal.signal(signal.SIGTERM, _nothing)
    signal.signal(signal.SIGHUP, _nothing)
    signal.signal(signal.SIGINT, _nothing)
    try:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    except OSError as error:
        _tell(result, {"error": error.strerror or str(error)})
        return

    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        asked.append(number)
        child.send_signal(signal.SIGINT)
        signal.alarm(grace)

    signal.signal(signal.SIGALRM, lambda number, frame: _end_all())
    signal.signal(signal.SIGINT, ask)
    threading.Thread(target=_watch, daemon=True).start()
    code = child.wait()
    _tell(result, {"code": code})
    if asked:
        _end_all()
    os.killpg(0, signal.SIGKILL)  # what it started and left in the background; a daemon has a session of its own


def _nothing(number: int, frame: object) -> None:
    """It is the command's business."""


def _watch() -> None:
    while os.read(0, 1):
        pass
    _end_all()


def _end_all() -> None:
    """Ends the command and its descendants, those with sessions of their own too, and this process last."""
    for _ in range(_ROUNDS):
        found = _descendants()
        if not found:
            break
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os.killpg(0, signal.SIGKILL)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{int(name)}/stat", "rb") as stream:
                    state, parent = stream.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += more
        waiting += more
    return found


def _tell(result: str, what: object) -> None:
    with open(f"{result}.new", "w", encoding="utf-8") as stream:
        json.dump(what, stream)
    os.replace(f"{result}.new", result)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
