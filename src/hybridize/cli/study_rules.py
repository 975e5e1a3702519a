"""Asks the rules about a version of a project that exists only as texts: for `study suggest`.

The analysis runs in a process of its own, so that a project that takes too long costs one answer and not the run.
Nothing of the project is imported or executed. Answers are kept where other results of hybridize are: the same
question, to the same hybridize, is answered without an analysis.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hybridize.guard import end_with_parent
from hybridize.guard import folder as guarded_folder
from hybridize.study.rulediff import Firing, Functions, RuleHit
from hybridize.study.uses_data import MODULE

if TYPE_CHECKING:
    from hybridize.caching.store import Store
    from hybridize.decide.model import Call, FunctionReport, Report

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
    """The study's `RuleRunner`: one process that analyzes folder after folder. A context manager.

    Args:
        store: where answers are kept; None to analyze anew each time.
        seconds: how long one version of a project may take. What takes longer has no answer, and none is kept.
    """

    def __init__(self, store: Store | None = None, seconds: float = SECONDS) -> None:
        self._store = store
        self._seconds = seconds
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._pipe: Connection[Any, Any] | None = None

    def __enter__(self) -> RuleProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, files: Mapping[str, bytes], functions: Functions) -> Firing | None:
        """What fires on some functions, and on what they may call, in a project with these files; null if it can't be
        analyzed, or not in time."""
        if self._store is None:
            return self._analyzed(files, functions)
        from hybridize.caching.keys import of_files
        from hybridize.config import Config

        key = of_files(Config(), files, ("study", sorted(functions)))
        kept = _unpacked(self._store.get([key]).get(key))
        if kept is not None:
            return kept
        found = self._analyzed(files, functions)
        if found is not None:
            self._store.put({key: _packed(found)})
        return found

    def _analyzed(self, files: Mapping[str, bytes], functions: Functions) -> Firing | None:
        with guarded_folder("hybridize-study-") as folder:
            try:
                Path(folder, ".git").mkdir()  # a repository's root: nothing above it belongs to the project
                for name, data in files.items():
                    target = Path(folder, name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
            except (OSError, ValueError):
                return None
            return self._ask(folder, functions)

    def _ask(self, folder: str, functions: Functions) -> Firing | None:
        try:
            pipe = self._start()
            pipe.send((folder, functions))
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
    """The other process: a folder and functions in, a `Firing` out, until the pipe is closed."""
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    end_with_parent()
    try:
        from hybridize.api import analyze
        from hybridize.config import Config

        pipe.send(True)
        while True:
            folder, functions = pipe.recv()
            try:
                answer: Firing | None = firing(analyze([Path(folder)], Config(), repairs=False), functions)
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


def firing(report: Report, functions: Functions) -> Firing:
    """What a report says of some functions and of what they may call, and which of them it would make hybrid."""
    from hybridize.facts.model import Mode

    asked = {f.facts.id for f in report.functions if (f.facts.path, f.facts.id.partition(":")[2]) in functions}
    asked = reached(asked, report.calls)
    names = {f.facts.id: f.facts.qualname for f in report.functions}
    categories = _categories()
    hits = [
        RuleHit(found.code, categories[found.code], names.get(found.function or "", ""))
        for found in report.findings
        if found.code in categories
        and (found.function in asked if found.function else (found.path, MODULE) in functions)
    ]
    for function in report.functions:
        if function.facts.id in asked:
            hits += _own(function)
    return Firing(
        tuple(hits),
        Counter(names.values()),
        Counter(f.facts.qualname for f in report.functions if f.facts.mode is Mode.HYBRID),
    )


def reached(functions: Iterable[str], calls: Iterable[Call]) -> set[str]:
    """Functions and all that they may call, and these again: their ids."""
    callees: dict[str, list[str]] = {}
    for call in calls:
        callees.setdefault(call.caller, []).append(call.callee)
    found, left = set(functions), list(functions)
    while left:
        new = set(callees.get(left.pop(), ())) - found
        found |= new
        left += new
    return found


def _packed(found: Firing) -> bytes:
    hits = [(hit.code, hit.category, hit.function, hit.asks_for_graph) for hit in found.hits]
    return json.dumps((hits, dict(found.functions), dict(found.hybrid))).encode()


def _unpacked(data: bytes | None) -> Firing | None:
    """The answer that was kept; null for none."""
    if data is None:
        return None
    hits, functions, hybrid = json.loads(data)
    return Firing(tuple(RuleHit(*hit) for hit in hits), functions, hybrid)


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
