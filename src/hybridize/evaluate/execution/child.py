"""The process of one task: reads it as JSON from stdin, and writes its value, or what it raised, to stdout.

Run as `python -m hybridize.evaluate.execution.child`; it ends with its parent.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from hybridize.guard import end_with_parent


def call(function: str, payload: Any) -> Any:
    """Calls `package.module:name`."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(payload)


def main() -> int:
    """Runs the one task."""
    end_with_parent()
    # Whatever the task prints is no part of the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    task = json.loads(sys.stdin.buffer.read())
    try:
        said = {"value": call(task["function"], task["payload"])}
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    with answer:
        json.dump(said, answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
