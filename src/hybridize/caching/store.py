"""Bytes by key in one SQLite file, bounded in size and safe under several processes.

Whatever goes wrong with the file costs time, never an answer: a damaged one is begun anew, one that cannot be used is
left alone, and `problem` says so in one line.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from hybridize.config import Config

NAME: Final = "results-1.sqlite3"
#: Bytes of results that are kept, and the part that is kept of them when they are too many.
LIMIT, KEPT = 512 << 20, 0.7
#: Seconds to wait for another process, and after which a use is noted again.
_PATIENCE, _NOTED = 3.0, 3600.0
_CHUNK = 500  # keys that are asked for at once
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS result (key BLOB PRIMARY KEY, data BLOB NOT NULL, used REAL NOT NULL) WITHOUT ROWID"
)


class Store:
    """Results by key in a folder.

    Attributes:
        problem: why the file cannot be used; empty while it can.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.file = folder / NAME
        self.problem = ""
        self._limit = limit

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """What there is of some keys."""
        wanted = list(keys)
        if self.problem or not self.file.exists():
            return {}
        found: dict[bytes, tuple[bytes, float]] = {}
        try:
            with contextlib.closing(self._open()) as db:
                for start in range(0, len(wanted), _CHUNK):
                    some = wanted[start : start + _CHUNK]
                    marks = ",".join("?" * len(some))
                    rows = db.execute(f"SELECT key, data, used FROM result WHERE key IN ({marks})", some)
                    found.update((bytes(key), (bytes(data), used)) for key, data, used in rows)
                now = time.time()
                old = [(now, key) for key, (_, used) in found.items() if abs(now - used) > _NOTED]
                if old:
                    with contextlib.suppress(sqlite3.OperationalError), db:  # read-only, or somebody else writes
                        db.executemany("UPDATE result SET used = ? WHERE key = ?", old)
        except (sqlite3.Error, OSError) as error:
            self._fails(error)
        return {key: data for key, (data, _) in found.items()}

    def put(self, results: Mapping[bytes, bytes]) -> None:
        """Keeps results; the longest unused make place for them."""
        if self.problem or not results:
            return
        now = time.time()
        try:
            self._prepare()
            with contextlib.closing(self._open()) as db, db:
                db.execute(_TABLE)
                rows = [(key, data, now) for key, data in results.items()]
                db.executemany("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", rows)
                self._trim(db)
        except (sqlite3.Error, OSError) as error:
            self._fails(error)

    def clear(self) -> int:
        """Removes the file, and says how many bytes it had.

        Raises:
            OSError: it cannot be removed.
        """
        size = 0
        for file in self.file.parent.glob(f"{NAME}*"):  # with what SQLite has beside it
            size += file.stat().st_size
            file.unlink()
        return size

    def _trim(self, db: sqlite3.Connection) -> None:
        (size,) = db.execute("SELECT coalesce(sum(length(data)), 0) FROM result").fetchone()
        if size <= self._limit:
            return
        rows = db.execute("SELECT key, length(data) FROM result ORDER BY used").fetchall()
        for key, length in rows:
            if size <= self._limit * KEPT:
                break
            db.execute("DELETE FROM result WHERE key = ?", (key,))
            size -= length

    def _prepare(self) -> None:
        folder = self.file.parent
        if folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            (folder / ".gitignore").write_text("*\n")

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.file, timeout=_PATIENCE)
        db.execute("PRAGMA synchronous = OFF")  # what a crash of the machine damages is found out, and made anew
        return db

    def _fails(self, error: Exception) -> None:
        """A file that is no database, or a damaged one, is removed; from anything else hands are kept off."""
        if isinstance(error, sqlite3.OperationalError) and "no such table" in str(error):
            return
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            with contextlib.suppress(OSError):
                self.file.unlink()
                return
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return  # the next run keeps what this one found
        said = " ".join(str(getattr(error, "strerror", None) or error).split())
        self.problem = f"{self.file.parent}: no results are kept here ({said.lower()})"


class Memory(Store):
    """Results that are kept as long as this object: what several analyses of one run have in common."""

    def __init__(self) -> None:
        super().__init__(Path())
        self._results: dict[bytes, bytes] = {}

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """What there is of some keys."""
        return {key: self._results[key] for key in keys if key in self._results}

    def put(self, results: Mapping[bytes, bytes]) -> None:
        """Keeps results."""
        self._results.update(results)


def folder_of(config: Config) -> Path:
    """Where results are kept: `cache-dir`, or the user's cache folder."""
    if config.cache_dir is not None:
        return Path(config.cache_dir)
    from platformdirs import user_cache_path

    return Path(user_cache_path("hybridize", appauthor=False))


def open_store(config: Config) -> Store | None:
    """The store that the options ask for; None for none."""
    return Store(folder_of(config)) if config.cache else None
