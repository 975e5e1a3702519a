"""Asks the rules about a version of a project that exists only as texts: for `study suggest`.

The analysis runs in a process of its own, so that a project that takes too long costs one answer and not the run.
Nothing of the project is imported or executed.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hybridize.guard import end_with_parent
from hybridize.guard import folder as guarded_folder
from hybridize.study.rulediff import Firing, RuleHit

if TYPE_CHECKING:
    from hybridize.decide.model import FunctionReport, Report

SECONDS: Final = 20.0
"""How long one version of a project may take."""
START_SECONDS: Final = 60.0

STUDY_CATEGORIES: Final[Mapping[str, str]] = {
    "performance": "Performance",
    "misuse": "API misuse",
    "incompatibility": "Incompatibility",
    "tensorflow": "TensorFlow bug",
    "debuggability": "Debuggability",
    "state": "Exposed variable state",
    "numerical": "Numerical errors",
}
"""The rules' categories (`rules.model.Category`) by the names of the study's codebook."""

STATUS_CATEGORIES: Final[Mapping[str, str]] = {"HY002": "Performance", "HY003": "API misuse", "HY004": "API misuse"}
"""Statuses that are likely bugs on a function that is hybrid already: it retraces, has side effects, is recursive."""

PRECONDITION_CATEGORIES: Final[Mapping[str, str]] = dict.fromkeys(("P1", "P2", "P3", "P7"), "Performance")
"""Preconditions that hold: an eager function that should be a graph, or the reverse."""


class RuleProcess:
    """The study's `RuleRunner`: one process that analyzes folder after folder. A context manager."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._pipe: Connection[Any, Any] | None = None

    def __enter__(self) -> RuleProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, files: Mapping[str, bytes]) -> Firing | None:
        """What fires in a project with these files; null if it can't be analyzed, or not in time."""
        with guarded_folder("hybridize-study-") as folder:
            try:
                Path(folder, ".git").mkdir()  # a repository's root: nothing above it belongs to the project
                for name, data in files.items():
                    target = Path(folder, name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
            except (OSError, ValueError):
                return None
            return self._ask(folder)

    def _ask(self, folder: str) -> Firing | None:
        try:
            pipe = self._start()
            pipe.send(folder)
            if pipe.poll(self._seconds):
                answer = pipe.recv()
                return answer if isinstance(answer, Firing) else None
        except (EOFError, OSError):
            pass
        self.close()
        return None

    def _start(self) -> Connection[Any, Any]:
        if self._pipe is None:
            ours, theirs = self._context.Pipe()
            self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            self._pipe = ours
            if not ours.poll(START_SECONDS):
                raise EOFError
            ours.recv()
        return self._pipe

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            process.join()


def _serve(pipe: Connection[Any, Any]) -> None:
    """The other process: a folder in, a `Firing` out, until the pipe is closed."""
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    end_with_parent()
    try:
        from hybridize.api import analyze
        from hybridize.config import Config

        pipe.send(True)
        while True:
            folder = pipe.recv()
            try:
                answer: Firing | None = firing(analyze([Path(folder)], Config()))
            except Exception:  # whatever it stumbles over: there is no answer, and the next folder may be better
                answer = None
            pipe.send(answer)
    except (EOFError, OSError, KeyboardInterrupt):
        pass


def _end_with_parent() -> None:
    """Where the system does not do it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def firing(report: Report) -> Firing:
    """What a report says of hybrid functions, and which eager ones it would convert."""
    from hybridize.facts.model import Mode

    names = {f.facts.id: f.facts.qualname for f in report.functions}
    categories = _categories()
    hits = [
        RuleHit(found.code, categories[found.code], names.get(found.function or "", ""))
        for found in report.findings
        if found.code in categories
    ]
    for function in report.functions:
        hits += _own(function)
    return Firing(
        tuple(hits),
        Counter(names.values()),
        Counter(f.facts.qualname for f in report.functions if f.facts.mode is Mode.HYBRID),
    )


def _own(function: FunctionReport) -> Iterator[RuleHit]:
    """What statuses and the precondition say of one function."""
    from hybridize.decide.model import Severity
    from hybridize.facts.model import Mode

    name, hybrid = function.facts.qualname, function.facts.mode is Mode.HYBRID
    condition = function.decision.precondition
    if condition is not None and condition in PRECONDITION_CATEGORIES:
        yield RuleHit(condition, PRECONDITION_CATEGORIES[condition], name, asks_for_graph=not hybrid)
    if hybrid:
        for status in function.statuses:
            if status.code in STATUS_CATEGORIES and status.severity is not Severity.INFO:
                yield RuleHit(status.code, STATUS_CATEGORIES[status.code], name)


def _categories() -> dict[str, str]:
    from hybridize.rules.registry import all_rules

    return {rule.code: STUDY_CATEGORIES[rule.category.value] for rule in all_rules()}
