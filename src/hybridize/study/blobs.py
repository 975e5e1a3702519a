"""File contents of a repository, from one persistent `git cat-file --batch`."""

from __future__ import annotations

import subprocess
from collections import OrderedDict
from collections.abc import Iterable
from types import TracebackType
from typing import Final

from hybridize.study.history import Repository, environment

PREFETCH_CHUNK: Final = 500
"""Object names written at once: few enough to fit a pipe's buffer, or git and we would wait for each other."""
PREFETCH_LIMIT: Final = 5_000
KEPT_BYTES: Final = 1 << 26
"""Contents that are kept: what a commit leaves is what the one before it in the listing began with."""


class Blobs:
    """File contents by object name, from one persistent `git cat-file --batch`; the last ones read are kept."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None
        self._kept: OrderedDict[str, bytes | None] = OrderedDict()
        self._size = 0

    def prefetch(self, oids: Iterable[str]) -> None:
        """Ask for many contents at once, so that git need not be waited for at each."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._kept]
        for start in range(0, min(len(wanted), PREFETCH_LIMIT), PREFETCH_CHUNK):
            chunk = wanted[start : start + PREFETCH_CHUNK]
            process = self._start()
            assert process.stdin is not None
            try:
                process.stdin.write("".join(f"{oid}\n" for oid in chunk).encode())
                process.stdin.flush()
                for oid in chunk:
                    self._keep(oid, self._answer(process))
            except (OSError, ValueError, EOFError):
                self.close()  # one bad object: the rest is asked for singly

    def _keep(self, oid: str, data: bytes | None) -> None:
        self._kept[oid] = data
        self._size += len(data or b"")
        while self._size > KEPT_BYTES and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1] or b"")

    def _answer(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """The next content that git sends; null for a missing object.

        Raises:
            EOFError: git died.
        """
        assert process.stdout is not None
        header = process.stdout.readline().split()
        if not header:
            raise EOFError
        if len(header) != 3:
            return None
        size = int(header[2])
        data = process.stdout.read(size + 1)
        if len(data) != size + 1:
            raise EOFError
        return data[:-1] if header[1] == b"blob" else None

    def __enter__(self) -> Blobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, oid: str) -> bytes | None:
        """A content, or null if the object is missing, corrupt or no file. A git that died of it is started anew."""
        if oid in self._kept:
            self._kept.move_to_end(oid)
            return self._kept[oid]
        for _ in range(2):
            process = self._start()
            assert process.stdin is not None
            try:
                process.stdin.write(oid.encode() + b"\n")
                process.stdin.flush()
                self._keep(oid, self._answer(process))
                return self._kept[oid]
            except (OSError, ValueError, EOFError):
                self.close()
        return None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                self._repository.command("cat-file", "--batch"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
        return self._process

    def close(self) -> None:
        """End the git process."""
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        process.terminate()
        process.wait()
