"""What a run does outside of the process: files and folders that it writes, moves, removes; programs that it starts.

Python tells of all these by audit events, before they happen: so what was there can be kept, and put back.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, ClassVar

TEXT = 100_000  # bytes of a written file that are compared
FILE = 16 << 20  # bytes of a file that are kept
#: In the place of a folder's content.
FOLDER = b"<folder>"
#: Events that name paths: how many of their first arguments do.
_PATHS = {
    "os.mkdir": 1, "os.rmdir": 1, "os.remove": 1, "os.truncate": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2,
}  # fmt: skip
#: Events that can't be undone, and what is told of them.
_CALLS = {
    "subprocess.Popen": "a process is started", "os.system": "a process is started",
    "os.posix_spawn": "a process is started", "socket.connect": "a connection is made",
    "socket.sendto": "data is sent", "smtplib.send": "mail is sent", "os.kill": "a signal is sent",
}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STANDARD = os.path.dirname(os.__file__) + os.sep
#: Packages whose code and objects are machinery to the program.
LIBRARIES = ("tensorflow", "keras", "tf_keras")


class Written:
    """A file or folder before and after (None: there was none; FOLDER: a folder)."""

    __slots__ = ("after", "before")

    def __init__(self, before: bytes | None, after: bytes | None) -> None:
        self.before, self.after = before, after

    @property
    def text(self) -> str:
        """What is there, for a comparison."""
        return "nothing" if self.after is None else self.after[:TEXT].decode("utf-8", "replace")


class Journal:
    """A context: `files` then has what was written in it; with `undo` all is afterwards as it was."""

    _open: ClassVar[list[Journal]] = []
    _installed: ClassVar[bool] = False

    def __init__(self, *, undo: bool) -> None:
        self._undo = undo
        self.files: dict[str, Written] = {}
        self.calls: list[str] = []
        self._before: dict[str, bytes | None] = {}
        self._moved: list[tuple[str, str]] = []  # folders: from, to

    def __enter__(self) -> Journal:
        if not Journal._installed:
            Journal._installed = True
            sys.addaudithook(_heard)
        Journal._open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Journal._open.remove(self)
        for source, target in reversed(self._moved):
            self.calls.append(f"moves {source} to {target}")
            if self._undo:
                with contextlib.suppress(OSError):
                    os.rename(target, source)
        for path, before in self._before.items():
            now = content(path)
            if now == before:
                continue  # temporary, or written anew
            self.files[path] = Written(before, now)
        if self._undo:
            # What lies in a folder goes before it, and comes after it.
            changed = {p: f.before for p, f in self.files.items()}
            for path in sorted((p for p, before in changed.items() if before is None), reverse=True):
                put_file(path, None)
            for path in sorted(p for p, before in changed.items() if before is not None):
                put_file(path, changed[path])

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """An event that is about to happen."""
        if event == "open":
            path, mode, flags = args
            writes = bool(set(mode) & set("wax+")) if isinstance(mode, str) else bool(flags & _WRITES)
            if writes:
                self._touch(path)
        elif event in _PATHS:
            if event == "os.rename" and os.path.isdir(args[0]):
                self._moved.append((os.path.abspath(os.fsdecode(args[0])), os.path.abspath(os.fsdecode(args[1]))))
                return
            for path in args[: _PATHS[event]]:
                self._touch(path)
        elif not _by_library():
            self.calls.append(_CALLS[event])

    def _touch(self, given: Any) -> None:
        if not isinstance(given, (str, bytes, os.PathLike)):
            return  # a file descriptor
        path = os.path.abspath(os.fsdecode(given))
        passing = path.startswith(("/dev/", "/proc/")) or "__autograph_generated" in path or "__pycache__" in path
        if path not in self._before and not passing:
            self._before[path] = None
            self._before[path] = content(path)


def _heard(event: str, args: tuple[Any, ...]) -> None:
    """The process's audit hook: it can't be taken away, so it must be quick where nobody listens."""
    if Journal._open and (event == "open" or event in _PATHS or event in _CALLS):
        for journal in Journal._open:
            with contextlib.suppress(Exception):
                journal.hear(event, args)


def _by_library() -> bool:
    """Whether the nearest code that is not Python's own library is TensorFlow's or Keras'."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename
        library = "site-packages" in path or "dist-packages" in path
        if library or not (path.startswith(_STANDARD) or path.startswith("<frozen") or path == __file__):
            return library and str(frame.f_globals.get("__name__")).partition(".")[0] in LIBRARIES
        frame = frame.f_back
    return False


def content(path: str) -> bytes | None:
    """What a file holds; FOLDER for a folder; None if there is none, or it is too large."""
    try:
        if os.path.isdir(path):
            return FOLDER
        if not os.path.isfile(path) or os.path.getsize(path) > FILE:
            return None
        handle = os.open(path, os.O_RDONLY)
        with os.fdopen(handle, "rb") as stream:
            return stream.read()
    except OSError:
        return None


def put_file(path: str, before: bytes | None) -> None:
    """Gives a file this content, makes a folder of it (FOLDER), or removes it (None)."""
    with contextlib.suppress(OSError):
        if before is None:
            if os.path.isdir(path):
                os.rmdir(path)
            elif os.path.isfile(path) and os.path.getsize(path) <= FILE:
                os.unlink(path)
            return
        if before == FOLDER:
            os.makedirs(path, exist_ok=True)
            return
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(before)
