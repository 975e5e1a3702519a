"""What is seen, as JSON lines in a file: each line is written at once, so that whatever ends the process leaves it."""

from __future__ import annotations

import json
import os
from typing import Any


class Reporter:
    """Appends events to the job's report; several processes may write to it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = -1

    def tell(self, event: str, **data: Any) -> None:
        """One line: `{"event": ..., "pid": ..., ...}`. Never raises."""
        line = json.dumps({"event": event, "pid": os.getpid(), **data}, default=repr, allow_nan=True) + "\n"
        data_bytes = line.encode("utf-8", "backslashreplace")
        for _ in range(2):
            try:
                if self._handle < 0:
                    self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                os.write(self._handle, data_bytes)
                return
            except OSError:  # the program closed all that it did not know
                self._handle = -1

    @property
    def handle(self) -> int:
        """The file descriptor, -1 if there is none yet."""
        return self._handle
