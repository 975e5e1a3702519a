"""A task and what became of it: plain data that goes to other processes and machines as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Ending(StrEnum):
    """How a task ended."""

    DONE = "done"
    FAILED = "failed"  # it raised
    TIMEOUT = "timeout"
    MEMORY = "memory"
    LOST = "lost"  # its process died without an answer, and so did each that tried again


@dataclass(frozen=True, slots=True)
class Task:
    """A call of a function that takes and gives JSON.

    Attributes:
        key: what the outcome is known by; unique among the tasks of a run.
        function: `package.module:name`, importable wherever the task may run.
        payload: its only argument.
        seconds: after so long, by the clock, it is ended; None: never.
        memory: with more bytes of resident memory it is ended; None: no limit.
    """

    key: str
    function: str
    payload: Mapping[str, Any]
    seconds: float | None = None
    memory: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: its value, or why there is none.

    Attributes:
        seconds: by the clock, of the attempt that counts.
        peak: resident bytes at most (0: not known).
        attempts: how often it was begun.
        worker: who ran it, in words.
    """

    key: str
    ending: Ending
    value: Any = None
    error: str = ""
    seconds: float = 0.0
    peak: int = 0
    attempts: int = 1
    worker: str = ""


class ExecutionError(Exception):
    """No task can be run any more (the scheduler is gone, say); the text is one line."""


class Executor(Protocol):
    """Runs tasks, each at most a bounded number of times, whatever becomes of who runs them."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """One outcome for each task, as they come. Raises ExecutionError where none can be had any more."""
        ...
