"""A plugin of pytest, in the user's process: writes what becomes of each test as soon as it is known, in lines of JSON.

`HYBRIDIZE_OUTCOMES` is the file that it appends to; `HYBRIDIZE_TESTS` one with a JSON list of the ids to which the run
is confined. It works with whatever pytest and Python the project has, and changes nothing else.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

_SENTENCE = re.compile(r"\s*[A-Za-z_][\w.]*: *\S")
_TEXT = 20000  # characters of a traceback, from its end


def pytest_configure(config: Any) -> None:
    """Registers what reports, in the run that was asked for, and what confines it."""
    path = os.environ.get("HYBRIDIZE_OUTCOMES")
    worker = hasattr(config, "workerinput")  # of pytest-xdist: what it runs is reported by who started it
    if not path or (not worker and not _claim(path)):
        return  # a run of pytest that a test started
    confined = os.environ.get("HYBRIDIZE_TESTS")
    if confined:
        with open(confined, encoding="utf-8") as stream:
            config.pluginmanager.register(_Confined(config, frozenset(json.load(stream))))
    if not worker:
        config.pluginmanager.register(_Reporter(path))


def _claim(path: str) -> bool:
    try:
        os.close(os.open(path + ".claimed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class _Reporter:
    """Writes the file; each line is one system call, so that a crash loses none."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._say(event="start")

    def _say(self, **what: object) -> None:
        os.write(self._file, (json.dumps(what) + "\n").encode())

    def pytest_runtest_logstart(self, nodeid: str, location: object) -> None:
        self._say(event="test", id=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._report(report, report.when, report.duration)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._report(report, "collect", 0.0)

    def pytest_sessionfinish(self, session: object, exitstatus: int) -> None:
        self._say(event="finish", code=int(exitstatus))

    def _report(self, report: Any, when: str, seconds: float) -> None:
        entry: dict[str, Any] = {"event": "report", "id": report.nodeid, "when": when}
        entry.update(outcome=report.outcome, seconds=seconds)
        if report.failed:
            entry["message"] = _message(report)
            entry["text"] = report.longreprtext[-_TEXT:]
        self._say(**entry)


def _message(report: Any) -> str:
    """The last line of an exception that names a kind of error, else its first line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if crash is None:  # a traceback as text, or a sentence of a plug-in's
        lines = [line[2:].strip() if line.startswith("E ") else line for line in lines]
    sentences = [line for line in lines if _SENTENCE.match(line)] or (lines[-1:] if crash is None else [])
    first = " ".join(lines[:2]) if lines and lines[0].endswith(":") else "".join(lines[:1])
    return sentences[-1] if sentences else first


class _Confined:
    """Only these tests are run; files that hold none of them are not even imported."""

    def __init__(self, config: Any, tests: frozenset[str]) -> None:
        self._tests = tests
        self._root = str(config.rootdir if not hasattr(config, "rootpath") else config.rootpath)
        self._files = {test.partition("::")[0] for test in tests}
        if hasattr(pytest, "version_tuple"):  # from 7 on
            self.pytest_ignore_collect = self._ignored

    def _ignored(self, collection_path: object) -> bool | None:
        name = os.path.relpath(str(collection_path), self._root).replace(os.sep, "/")
        if os.path.isdir(str(collection_path)) or os.path.basename(name) in ("__init__.py", "conftest.py"):
            return None
        return None if name in self._files else True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        kept = [item for item in items if item.nodeid in self._tests]
        left = [item for item in items if item.nodeid not in self._tests]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = kept
