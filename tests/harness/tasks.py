"""Tasks for the tests of executors."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def double(payload: dict[str, Any]) -> dict[str, Any]:
    print("what a task prints is no answer")
    return {"twice": 2 * payload["number"]}


def sleep(payload: dict[str, Any]) -> int:
    time.sleep(payload["seconds"])
    return os.getpid()


def fail(payload: dict[str, Any]) -> None:
    raise ValueError(f"no\n{payload['why']}")


def die(payload: dict[str, Any]) -> str:
    """Dies by a signal the first times, and answers then."""
    marks = Path(payload["folder"])
    marks.joinpath(str(len(list(marks.iterdir())))).touch()
    if len(list(marks.iterdir())) <= payload["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def grow(payload: dict[str, Any]) -> int:
    held = bytearray(payload["bytes"])
    for i in range(0, len(held), 4096):
        held[i] = 1
    time.sleep(10)
    return len(held)
