"""Results -> files on disk: each is replaced as a whole or left as it was."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from hybridize.guard import passing
from hybridize.rewrite.model import FileResult, WriteOutcome

#: Seconds after which a file that nobody holds was left by a run that is gone.
_FRESH = 2.0
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class _Refused(Exception):
    """The file is left alone; the argument says why."""


def apply(results: Iterable[FileResult], *, root: Path) -> list[WriteOutcome]:
    """Writes every changed file under `root`; one that can't be written is left as it was, and the others go on.

    A symbolic link stays one: the file that it names is replaced. Mode bits are kept. A file whose bytes are no longer
    those that were analyzed is refused.
    """
    results = list(results)
    mark = os.urandom(4).hex()
    places = {result.path: Path(os.path.realpath(root / result.path)) for result in results if result.changed}
    with passing(_beside(place, mark) for place in places.values()) if places else contextlib.nullcontext():
        return [_apply_one(result, places.get(result.path), mark) for result in results]


def _beside(place: Path, mark: str) -> Path:
    """Where the new text is until it is whole."""
    return place.parent / f".{place.name[:100]}.{mark}.tmp"


def _apply_one(result: FileResult, place: Path | None, mark: str) -> WriteOutcome:
    if place is None:
        return WriteOutcome(result.path, written=False)
    try:
        _write(place, _beside(place, mark), result.original, result.new)
    except _Refused as reason:
        return WriteOutcome(result.path, written=False, error=f"not written: {reason}")
    except OSError as error:
        return WriteOutcome(result.path, written=False, error=f"not written: {error.strerror or error}")
    return WriteOutcome(result.path, written=True)


def obstacle(path: Path, original: bytes) -> str | None:
    """Why a file could not be written now, or None."""
    try:
        _check(Path(os.path.realpath(path)), original)
    except _Refused as reason:
        return str(reason)
    except OSError as error:
        return error.strerror or str(error)
    return None


def _check(path: Path, original: bytes) -> os.stat_result:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise _Refused("not a regular file")
    # Replacing would succeed on a read-only file, and root may write anywhere: the mode is what the owner meant.
    if not status.st_mode & _ANY_WRITE or not os.access(path, os.W_OK):
        raise _Refused("the file is read-only")
    if not path.parent.stat().st_mode & _ANY_WRITE or not os.access(path.parent, os.W_OK):
        raise _Refused("the folder is read-only")
    if path.read_bytes() != original:
        raise _Refused("the file has changed since it was analyzed")
    return status


def _write(path: Path, name: Path, original: bytes, new: bytes) -> None:
    status = _check(path, original)
    _sweep(path)
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            _lock(stream.fileno())
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
            with contextlib.suppress(OSError, AttributeError):
                if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                    os.chown(name, status.st_uid, status.st_gid)
            os.chmod(name, stat.S_IMODE(status.st_mode))  # after the owner: changing that clears bits
            if os.name == "posix":  # the lock lasts until it is in place
                os.replace(name, path)
        if os.name != "posix":
            os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sweep(path: Path) -> None:
    """Removes what runs have left beside a file whose machine, or whose guard too, was stopped while they wrote it."""
    with contextlib.suppress(OSError):
        for name in glob.glob(f".{glob.escape(path.name[:100])}.????????.tmp", root_dir=path.parent):
            left = path.parent / name
            if time.time() - left.stat().st_mtime < _FRESH:
                continue
            with open(left, "rb") as stream:
                if _lock(stream.fileno()):
                    left.unlink()


def _lock(handle: int) -> bool:
    """Whether nobody else has a file that is being written, where the system knows of such; it is ours then."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return True
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Makes the new directory entry last; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
