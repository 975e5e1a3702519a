"""Changes that may have to be taken back: the originals are on disk before the first file is touched.

The folder of a journal lies beside the files, so that it outlives the process, the machine's start and a cleared
temporary folder. It holds a lock while its process lives, the bytes of each original, and a manifest: where each file
is, and the digests of all that was ever written there. A file whose bytes are none of these is somebody else's work,
and is never written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from hybridize.guard import call_if_killed
from hybridize.records import dataclass, field
from hybridize.rewrite.files import apply
from hybridize.rewrite.model import FileResult

NAME = ".hybridize_originals"
_MANIFEST = "manifest.json"
_LOCK = "lock"
_EDITED = "it was edited meanwhile"


class JournalError(Exception):
    """Nothing can be kept there, or another process does; the text says which."""


@dataclass(frozen=True, slots=True)
class Left:
    """A file that was not put back, why, and where its original is."""

    path: Path
    reason: str
    original: Path


@dataclass(slots=True)
class _Entry:
    """A file in the journal's care: `current` is what was last written there, `modified` the original's time (ns)."""

    blob: str
    original: bytes
    modified: int
    current: bytes
    written: list[str]


@dataclass(slots=True)
class Journal:
    """Moves files from state to state, and back to where they were."""

    folder: Path
    lock: IO[Any]
    forget: Callable[[], None]
    entries: dict[Path, _Entry] = field(default_factory=dict)

    @classmethod
    def open(cls, parent: Path) -> Journal:
        """A new journal in a folder; raises JournalError where there is one, or none can be."""
        folder = parent / NAME
        forget = call_if_killed(f"{__name__}:{rescue.__name__}", str(folder))
        try:
            return cls._opened(folder, forget)
        except BaseException:
            forget()
            raise

    @classmethod
    def _opened(cls, folder: Path, forget: Callable[[], None]) -> Journal:
        try:
            folder.mkdir(exist_ok=True)
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
            stream = _locked(folder)
        except OSError as error:
            raise JournalError(f"{folder}: cannot keep the originals: {error.strerror or error}") from None
        if stream is None:
            raise JournalError(f"{folder}: another run is at work here")
        if (folder / _MANIFEST).exists():
            stream.close()
            raise JournalError(f"{folder}: a run that was cut off has left files changed")
        return cls(folder, stream, forget)

    def switch(self, results: Iterable[FileResult], root: Path) -> dict[Path, str]:
        """Makes files what the results say, and all others that were changed what they were.

        Returns:
            The files (as the results name them) that could not be written, each with the reason; the others are.
        """
        wanted: dict[Path, tuple[Path, bytes]] = {}
        refused: dict[Path, str] = {}
        for result in results:
            place = Path(os.path.realpath(root / result.path))
            if not result.changed:
                continue
            try:
                self._know(place, result.original)
            except OSError as error:
                refused[result.path] = f"not written: {error.strerror or error}"
                continue
            wanted[place] = (result.path, result.new)
        targets = {place: wanted[place][1] if place in wanted else e.original for place, e in self.entries.items()}
        self._note(targets)
        for place, new in targets.items():
            reason = self._write(place, new)
            if reason is not None:
                refused[wanted[place][0] if place in wanted else place] = reason
        return refused

    def edited(self) -> list[Path]:
        """The files that are no more what was last written there."""
        return [place for place, entry in self.entries.items() if _read(place) != entry.current]

    def restore(self) -> list[Left]:
        """Puts every file back, byte for byte; those that somebody else has changed are left, and told."""
        left = []
        for place, entry in self.entries.items():
            reason = _put_back(place, entry.original, entry.modified, entry.written)
            if reason is not None:
                left.append((place, reason, self.folder / entry.blob))
            entry.current = entry.original
        return _rescued(left)

    def close(self) -> None:
        """The files stay as they are now, and the originals are forgotten."""
        # The manifest first: without one nobody puts anything back.
        with contextlib.suppress(OSError):
            os.unlink(self.folder / _MANIFEST)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.close()
        self.forget()

    def _know(self, place: Path, original: bytes) -> None:
        """Keeps the original of a file; what it holds now is compared when it is written."""
        if place in self.entries:
            return
        blob = f"{len(self.entries)}.original"
        _write_lasting(self.folder / blob, original)
        self.entries[place] = _Entry(blob, original, place.stat().st_mtime_ns, original, [])

    def _note(self, targets: Mapping[Path, bytes]) -> None:
        """Writes down what is about to be written."""
        for place, new in targets.items():
            entry, digest = self.entries[place], _digest(new)
            if digest not in entry.written:
                entry.written.append(digest)
        files = [
            {"path": str(place), "blob": e.blob, "modified": e.modified, "written": e.written}
            for place, e in self.entries.items()
        ]
        partial = self.folder / f"{_MANIFEST}.new"
        _write_lasting(partial, json.dumps({"version": 1, "files": files}, indent=1).encode())
        os.replace(partial, self.folder / _MANIFEST)

    def _write(self, place: Path, new: bytes) -> str | None:
        entry = self.entries[place]
        if entry.current == new:
            return None
        last = entry.modified if entry.current == entry.original else _modified(place)
        error = _replace(place, entry.current, new)
        if error is not None:
            return error
        entry.current = new
        if new == entry.original:
            _set_time(place, entry.modified)
        else:
            # Python tells a stale `.pyc` by size and whole seconds: two states within one would be taken for the same.
            _set_time(place, max(_modified(place), (max(last, entry.modified) // 10**9 + 1) * 10**9))
        return None


def find(folders: Iterable[Path]) -> list[Path]:
    """The journals in folders or above them whose processes are gone without having put the files back.

    Raises:
        JournalError: one belongs to a process that is at work.
    """
    places = dict.fromkeys(parent for folder in folders for parent in (folder, *folder.parents))
    found = []
    for place in places:
        folder = place / NAME
        if not (folder / _LOCK).is_file() or not _is_ours(folder):
            continue
        try:
            stream = _locked(folder)
        except OSError:
            continue
        if stream is None:
            raise JournalError(f"{folder}: another run of `fix --verify-with` is at work here")
        stream.close()
        found.append(folder)
    return found


def recover(folder: Path) -> tuple[list[Path], list[Left]]:
    """Puts back what a process has left changed, and removes its journal: the files put back, and those left."""
    done: list[Path] = []
    left: list[tuple[Path, str, Path]] = []
    for each in _files(folder):
        place, blob = Path(each["path"]), folder / each["blob"]
        original = _read(blob)
        if original is None:
            continue
        before = _read(place)
        reason = _put_back_from(folder, each)
        if reason is not None:
            left.append((place, reason, blob))
        elif before != original:
            done.append(place)
    kept = _rescued(left)
    with contextlib.suppress(OSError):
        os.unlink(folder / _MANIFEST)
    shutil.rmtree(folder, ignore_errors=True)
    return done, kept


def rescue(folder: str) -> None:
    """What `recover` does, at once and beside a process that was killed; all is left to `recover` if it has to tell."""
    place = Path(folder)
    stream = _locked(place)
    if stream is None:  # another run is at work there, or puts the files back just now
        return
    if all(_put_back_from(place, each) is None for each in _files(place)):
        with contextlib.suppress(OSError):
            os.unlink(place / _MANIFEST)
        shutil.rmtree(place, ignore_errors=True)
    stream.close()


def _files(folder: Path) -> list[dict[str, Any]]:
    """What a manifest lists; nothing if it was cut off before the first file was touched."""
    try:
        files: list[dict[str, Any]] = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError):
        return []
    return files


def _put_back_from(folder: Path, entry: Mapping[str, Any]) -> str | None:
    """Why a file of a manifest could not be made its original again."""
    original = _read(folder / entry["blob"])
    if original is None:
        return None
    return _put_back(Path(entry["path"]), original, entry["modified"], entry["written"])


def _is_ours(folder: Path) -> bool:
    """Not somebody else's, in a folder for all: what it says would be written with our rights."""
    return not hasattr(os, "geteuid") or folder.stat().st_uid == os.geteuid()


def _put_back(place: Path, original: bytes, modified: int, written: Iterable[str]) -> str | None:
    """Why a file could not be made its original again; None where it is."""
    current = _read(place)
    if current is None:
        return "it is gone"
    if current != original:
        if _digest(current) not in set(written):
            return _EDITED
        error = _replace(place, current, original)
        if error is not None:
            return error
    _set_time(place, modified)
    return None


def _rescued(left: Iterable[tuple[Path, str, Path]]) -> list[Left]:
    """The originals of what was not put back, in a folder of their own that stays."""
    found: list[Left] = []
    rescue: Path | None = None
    for place, reason, blob in left:
        rescue = rescue or Path(tempfile.mkdtemp(prefix="hybridize-originals-"))
        copy = rescue / f"{len(found)}-{place.name}"
        shutil.copyfile(blob, copy)
        found.append(Left(place, reason, copy))
    return found


def _replace(place: Path, old: bytes, new: bytes) -> str | None:
    (outcome,) = apply([FileResult(place, old, new, (), (), (), ())], root=place.parent)
    return outcome.error


def _read(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except OSError:
        return None


def _modified(place: Path) -> int:
    try:
        return place.stat().st_mtime_ns
    except OSError:
        return 0


def _set_time(place: Path, modified: int) -> None:
    with contextlib.suppress(OSError):
        os.utime(place, ns=(modified, modified))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_lasting(path: Path, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _locked(folder: Path) -> IO[Any] | None:
    """The lock of a journal, held until it is closed or the process ends, however it does; None: another has it."""
    stream = open(folder / _LOCK, "a+b")  # noqa: SIM115
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.close()
        return None
    return stream
