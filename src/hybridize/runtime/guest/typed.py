"""What a run reads from standard input can be read again by the next run."""

from __future__ import annotations

import io
import sys
from typing import Any


class Again(io.TextIOBase):
    """Stands for standard input: gives first what was read before and handed back, and remembers what it gives."""

    def __init__(self, original: Any, ahead: str = "") -> None:
        self.original, self.ahead, self.given = original, ahead, ""

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def isatty(self) -> bool:
        """As the original."""
        return bool(self.original.isatty())

    def fileno(self) -> int:
        """As the original; who reads from there passes this by."""
        return int(self.original.fileno())

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        """A line."""
        limit = -1 if size is None else size
        if self.ahead:
            end = self.ahead.find("\n") + 1
            line = self.ahead[: end or len(self.ahead)]
            line = line if limit < 0 else line[:limit]
            self.ahead = self.ahead[len(line) :]
            if not line.endswith("\n") and len(line) != limit:
                line += str(self.original.readline())
        else:
            line = str(self.original.readline(limit))
        self.given += line
        return line

    def read(self, size: int | None = -1) -> str:
        """Some characters, or all."""
        count = -1 if size is None else size
        text = self.ahead if count < 0 else self.ahead[:count]
        self.ahead = self.ahead[len(text) :]
        if count < 0 or len(text) < count:
            text += str(self.original.read(count if count < 0 else count - len(text)))
        self.given += text
        return text


class Typed:
    """A context around a run; unless `real`, what it reads is handed back to be read again."""

    def __init__(self, *, real: bool) -> None:
        self._real = real

    def __enter__(self) -> Typed:
        before: Any = sys.stdin
        self._before = before
        again = isinstance(before, Again)
        self._input = None if before is None else Again(before.original, before.ahead) if again else Again(before)
        if self._input is not None:
            sys.stdin = self._input
        return self

    def __exit__(self, *_: object) -> None:
        stand_in, before = self._input, self._before
        if stand_in is None or sys.stdin is not stand_in:
            return
        ahead = stand_in.ahead if self._real else stand_in.given + stand_in.ahead
        if isinstance(before, Again):
            before.ahead, before.given = ahead, before.given + (stand_in.given if self._real else "")
            sys.stdin = before
        else:
            sys.stdin = Again(before, ahead) if ahead else before
