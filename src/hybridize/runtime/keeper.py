"""The process between us and a program of the user's: when we are gone, however we ended, so is all that it started.

Run as `python -I -S keeper.py CONTROL TOLD GRACE FOREGROUND WORD...`, first of a session of its own; in the session and
group of a terminal (FOREGROUND 1) where the program reads from it. CONTROL and TOLD are descriptors of pipes. CONTROL
ends when we do; a byte on it asks the program to end: `i` by SIGINT, `t` where the terminal has sent that already.
Into TOLD goes one JSON object: `{"code": int, "seconds": float, "cpu": float}`, or `{"error": str}` where there is no
such program. GRACE are the seconds that it gets to end after it was asked to, and then once more after SIGTERM.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

_DEATHSIG, _SUBREAPER = 1, 36  # of prctl: who loses its parent becomes our child, and can be found
_ROUNDS = 20


class _Kept:
    """The program while it runs, and what it leaves."""

    def __init__(self, words: list[str], before_start: Callable[[], object] | None) -> None:
        self.cpu, self.seconds = 0.0, 0.0
        self.code: int | None = None
        self._started = time.perf_counter()
        self._child = subprocess.Popen(words, preexec_fn=before_start)

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._child.pid

    def reap(self) -> None:
        """Takes note of whoever has ended: the program, or what it started and left."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, used = os.wait4(-1, os.WNOHANG)
                if not pid:
                    return
                self.cpu += used.ru_utime + used.ru_stime
                if pid == self.pid:
                    self.seconds = time.perf_counter() - self._started
                    self.code = self._child.returncode = os.waitstatus_to_exitcode(status)

    def send(self, number: int, pids: list[int]) -> None:
        """A signal to processes that may be gone."""
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def end_all(self, session: int | None = None) -> None:
        """Ends the program and its descendants; with `session` those that have made one of their own may stay."""
        for _ in range(_ROUNDS):
            found = descendants(session)
            if not found:
                break
            self.send(signal.SIGKILL, found)
            self.reap()
        self.reap()


def main(control: int, told: int, grace: float, foreground: bool, words: list[str]) -> None:
    """Runs the program to its end, and tells how it ended."""
    before_start = _prepared()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    # Handlers: what is ignored would be ignored by the program, too. Signals to the session are the program's business.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _nothing)
    try:
        kept = _Kept(words, before_start)
    except OSError as error:
        _tell(told, {"error": error.strerror or str(error)})
        return
    if foreground:
        os.setpgid(0, 0)  # Ctrl-C is for the program
    _watch(kept, control, wake, grace)
    kept.end_all(os.getsid(0))  # what it left in the background; a daemon has a session of its own
    _tell(told, {"code": kept.code, "seconds": kept.seconds, "cpu": kept.cpu})


def _watch(kept: _Kept, control: int, wake: int, grace: float) -> None:
    """Until the program has ended, or must."""
    stage, limit = 0, None
    while True:
        kept.reap()
        if kept.code is not None:
            if stage:
                kept.end_all()
            return
        left = None if limit is None else max(limit - time.perf_counter(), 0.0)
        ready, _, _ = select.select([control, wake], [], [], left)
        if wake in ready:
            os.read(wake, 512)
        word = os.read(control, 1) if control in ready else None
        if word == b"":
            kept.end_all()
            return
        if word:
            stage, limit = 1, time.perf_counter() + grace
            kept.send(signal.SIGINT, [kept.pid] if word == b"i" else [])
        elif limit is not None and not ready:
            stage, limit = stage + 1, time.perf_counter() + grace
            if stage > 2:
                kept.end_all()
                return
            kept.send(signal.SIGTERM, descendants(os.getsid(0)))


def _prepared() -> Callable[[], object] | None:
    """Makes this process the parent of orphans; what the program does first: it ends with this process."""
    if sys.platform != "linux":
        return None
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.prctl(_SUBREAPER, 1, 0, 0, 0)
        return lambda: library.prctl(_DEATHSIG, signal.SIGKILL, 0, 0, 0)
    return None


def _nothing(number: int, frame: Any) -> None:
    """It only wakes us."""


def descendants(session: int | None = None, top: int | None = None) -> list[int]:
    """The processes below this one (or another), those of a session only if one is given."""
    children: dict[int, list[tuple[int, int]]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{int(name)}/stat", "rb") as stream:
                    state, parent, _, its = stream.read().rpartition(b")")[2].split()[:4]
                if state != b"Z":
                    children.setdefault(int(parent), []).append((int(name), int(its)))
    found: list[int] = []
    waiting = [os.getpid() if top is None else top]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += [pid for pid, its in more if session in (None, its)]
        waiting += [pid for pid, _ in more]
    return found


def _tell(told: int, what: object) -> None:
    with contextlib.suppress(OSError):  # nobody is there any more
        os.write(told, json.dumps(what).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "1", sys.argv[5:])
