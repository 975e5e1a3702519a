"""What must not be left where this process was, however it ends: a second process sees to that once this one is gone.

Files and folders that are there for a while are told to it before they are made, and forgotten when they are gone. It
is started at the first and ended with the last of them. Run as a program (`python guard.py`) this file is that process:
it reads lines from a pipe, which ends when we do, and then cleans up.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator

_DEATHSIG = 1  # PR_SET_PDEATHSIG
#: How long who is being ended may still write into a folder that is removed: rounds, and seconds between them.
_ROUNDS, _PAUSE = 15, 0.1


class _Guard:
    """The second process, as long as there is something for it to know; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, list[str]] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, entries: dict[str, list[str]]) -> None:
        """What to do, by a key, once we are gone."""
        with self._lock:
            self._known |= entries
            if self._process is None:
                self._start()
            self._tell(entries)

    def drop(self, keys: Iterable[str]) -> None:
        """What need not be done any more."""
        with self._lock:
            gone: dict[str, list[str]] = {key: [] for key in keys if self._known.pop(key, None) is not None}
            if self._known:
                self._tell(gone)
            elif gone:
                self._end()

    def close(self) -> None:
        """At our own end: what is left is cleaned up."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()

    def _start(self) -> None:
        import subprocess

        # In a session of its own: what a terminal sends to us all is not meant for it.
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", os.path.abspath(__file__)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _tell(self, entries: dict[str, list[str]]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        # Whoever has ended it must not stop us: without it all goes on, and the next run cleans up.
        with contextlib.suppress(OSError):
            process.stdin.write(json.dumps(entries).encode() + b"\n")
            process.stdin.flush()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()


_GUARD = _Guard()
atexit.register(_GUARD.close)


@contextlib.contextmanager
def passing(paths: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Files and folders that may be there only inside of this block: if it is cut off, they are removed."""
    keys = [os.path.abspath(path) for path in paths]
    _GUARD.add({key: ["remove", key] for key in keys})
    try:
        yield
    finally:
        _GUARD.drop(keys)


@contextlib.contextmanager
def folder(prefix: str) -> Iterator[str]:
    """A new folder for temporary files, which is removed with all that is in it at the end, also if we are killed."""
    import tempfile

    # Its name is known before it is there.
    path = os.path.join(tempfile.gettempdir(), f"{prefix}{os.getpid()}-{os.urandom(6).hex()}")
    with passing([path]):
        os.mkdir(path, 0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file so that it is old or new, whatever ends us; what is no regular file (a pipe) is written into.

    Raises:
        OSError: it cannot be written.
    """
    place = os.path.realpath(path)
    there = os.path.exists(place)
    if there and not os.path.isfile(place):
        with open(place, "wb") as stream:
            stream.write(data)
        return
    partial = os.path.join(os.path.dirname(place), f".{os.path.basename(place)[:100]}.{os.urandom(4).hex()}.tmp")
    with passing([partial]):
        try:
            with open(partial, "xb") as stream:
                stream.write(data)
            if there:
                shutil.copymode(place, partial)
            os.replace(partial, place)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            if not there or not isinstance(error, PermissionError):
                raise
            with open(place, "wb") as stream:  # in a folder where nothing can be made
                stream.write(data)


def call_if_killed(function: str, argument: str) -> Callable[[], None]:
    """Has a function (`module:name`) of ours called with a text if we are killed; the result takes that back."""
    key = f"{function} {argument}"
    _GUARD.add({key: ["call", function, argument]})
    return lambda: _GUARD.drop([key])


def end_with_parent(parent: int | None = None) -> None:
    """Has the system end this process when its parent's thread that made it ends, where the system can do that.

    `parent` is its number, where it is known: if it has ended before the system is told, this process ends here.
    """
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DEATHSIG, signal.SIGKILL, 0, 0, 0)
        if parent is not None and os.getppid() != parent:
            os._exit(1)


def for_children() -> Callable[[], None] | None:
    """The `preexec_fn` of processes that end with us; None where other threads make it unsafe, or nothing can."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    import ctypes

    # Made here: between fork and exec as little as may be is done.
    library, parent = ctypes.CDLL(None), os.getpid()

    def ends() -> None:
        library.prctl(_DEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # we have been killed before that
            os._exit(1)

    return ends


def _serve() -> None:
    """The second process."""
    known: dict[str, list[str]] = {}
    for line in sys.stdin.buffer:
        with contextlib.suppress(ValueError):
            for key, what in json.loads(line).items():
                known.pop(key, None)
                if what:
                    known[key] = what
    for what in known.values():  # calls first: they may rest on files
        if what[0] == "call":
            _call(what[1], what[2])
    paths = [what[1] for what in known.values() if what[0] == "remove"]
    for _ in range(_ROUNDS):
        paths = [path for path in paths if os.path.lexists(path)]
        for path in paths:
            _remove(path)
        if not paths:
            return
        time.sleep(_PAUSE)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def _call(function: str, argument: str) -> None:
    import importlib

    module, _, name = function.partition(":")
    with contextlib.suppress(Exception):  # the next run finds what is left
        getattr(importlib.import_module(module), name)(argument)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    _serve()
