"""Results -> files on disk: each is replaced as a whole or left as it was."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hybridize.rewrite.model import FileResult, WriteOutcome

_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class _Refused(Exception):
    """The file is left alone; the argument says why."""


def apply(results: Iterable[FileResult], *, root: Path) -> list[WriteOutcome]:
    """Writes every changed file under `root`; one that can't be written is left as it was, and the others go on.

    A symbolic link stays one: the file that it names is replaced. Mode bits are kept. A file whose bytes are no longer
    those that were analyzed is refused.
    """
    return [_apply_one(result, root) for result in results]


def _apply_one(result: FileResult, root: Path) -> WriteOutcome:
    if not result.changed:
        return WriteOutcome(result.path, written=False)
    try:
        _write(Path(os.path.realpath(root / result.path)), result.original, result.new)
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


def _write(path: Path, original: bytes, new: bytes) -> None:
    status = _check(path, original)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(OSError, AttributeError):
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.chown(name, status.st_uid, status.st_gid)
        os.chmod(name, stat.S_IMODE(status.st_mode))  # after the owner: changing that clears bits
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Makes the new directory entry last; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
