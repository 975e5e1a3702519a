"""A pytest plugin of `project_tests.py`: one JSON object per line for all that happens, as it happens.

Runs under the project's Python (3.8 or newer) with its packages, so it uses nothing but the standard library. The lines
survive a crash. `HYBRIDIZE_RECORD` names the file, `HYBRIDIZE_TREE` the folder whose modules count, `HYBRIDIZE_BUDGET`
the CPU seconds after which no further test is begun, `HYBRIDIZE_TEST_SECONDS` how long one test may take, and
`HYBRIDIZE_TESTS` a file with the only tests to run, an id or a test file per line.
"""

import contextlib
import functools
import json
import os
import signal
import sys
import weakref
from time import perf_counter, process_time  # now: `time` itself may be watched later

import pytest

_TREE = os.path.realpath(os.environ.get("HYBRIDIZE_TREE", "."))
_FRAMES = 8


class TookTooLong(Exception):
    """A test that did not end in time."""


class Recorder:
    """Writes what happens, and ends the session once the budget is used."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)  # noqa: SIM115 - as long as the session
        self.budget = float(os.environ.get("HYBRIDIZE_BUDGET") or "inf")
        self.limit = int(os.environ.get("HYBRIDIZE_TEST_SECONDS") or 0)
        self.began = None
        self.items = {}
        self.watching, self.graphs = False, set()
        self.depth, self.known, self.traced = 0, weakref.WeakSet(), _nothing_traced()

    def write(self, **entry):
        self.file.write(json.dumps(entry) + "\n")

    def watch(self):
        """Note the tree's functions that run as graphs of their own, as soon as there is a TensorFlow."""
        module = sys.modules.get("tensorflow.python.eager.polymorphic_function.polymorphic_function")
        if self.watching or not hasattr(module, "Function"):
            return
        self.watching, call = True, module.Function.__call__

        @functools.wraps(call)
        def noted(function, *args, **kwargs):
            code = _code(function)
            if code is None or not code.co_filename.startswith(_TREE + os.sep):
                return call(function, *args, **kwargs)
            name = getattr(code, "co_qualname", code.co_name).replace(".<locals>", "")
            self.graphs.add(f"{os.path.relpath(code.co_filename, _TREE)}:{name}")
            with self.timed(function):
                return call(function, *args, **kwargs)

        module.Function.__call__ = noted

    @contextlib.contextmanager
    def timed(self, function):
        """Note a call of a graph, and the CPU seconds of one that traces: of the outermost, within which others are."""
        count = getattr(function, "experimental_get_tracing_count", int)
        before, began = count(), process_time()
        self.traced["calls"] += 1
        self.traced["objects"] += function not in self.known
        self.known.add(function)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            traces = count() - before
            self.traced["traces"] += traces
            if traces and not self.depth:
                self.traced["seconds"] += process_time() - began

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(id=f"{report.nodeid}::(collection)", outcome="failed", **_failure(report))

    def pytest_collection_modifyitems(self, items):
        path = os.environ.get("HYBRIDIZE_TESTS")
        if path:
            with open(path) as lines:
                wanted = set(lines.read().splitlines())
            items[:] = [i for i in items if i.nodeid in wanted or i.nodeid.split("::")[0] in wanted]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        self.began = process_time() if self.began is None else self.began
        self.write(start=item.nodeid)
        self.watch()
        self.graphs.clear()
        self.traced = _nothing_traced()
        clocks = perf_counter(), process_time()
        self.items = {"outcome": "passed"}
        yield
        ended = perf_counter(), process_time()
        self.write(
            id=item.nodeid,
            seconds=ended[0] - clocks[0],
            cpu=ended[1] - clocks[1],
            **self.items,
            graphs=sorted(self.graphs),
            traced=self.traced,
        )
        if ended[1] - self.began > self.budget:
            item.session.shouldstop = "the time budget is used"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        if not self.limit or not hasattr(signal, "SIGALRM"):
            yield
            return
        before = signal.signal(signal.SIGALRM, self.too_long)
        signal.alarm(self.limit)
        try:
            yield
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    def too_long(self, *_):
        raise TookTooLong(f"more than {self.limit} s")

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.items = {"outcome": "failed", "phase": report.when, **_failure(report)}
        elif report.skipped and self.items["outcome"] != "failed":
            self.items = {"outcome": "xfailed" if hasattr(report, "wasxfail") else "skipped"}

    def pytest_sessionfinish(self):
        inside = set()
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and os.path.realpath(path).startswith(_TREE + os.sep):
                inside.add(os.path.relpath(os.path.realpath(path), _TREE))
        self.write(modules=sorted(inside))


def _nothing_traced():
    """What a test's calls of graphs come to; `objects` counts those of which it is the first to call."""
    return {"calls": 0, "traces": 0, "objects": 0, "seconds": 0.0}


def _code(function):
    """The code that a `tf.function` was made of."""
    inner = getattr(function, "_python_function", None)
    for _ in range(_FRAMES):
        outer = inner
        for name in ("func", "__wrapped__", "__func__"):
            inner = getattr(inner, name, inner)
        if inner is outer:
            break
    return getattr(inner, "__code__", None)


def _failure(report):
    """The first lines of what was raised, and the places of the tree that the traceback names, innermost last."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash is not None else str(report.longrepr)
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
    places = [getattr(entry, "reprfileloc", None) for entry in entries]
    return {
        "message": message[:1500],
        "places": [f"{place.path}:{place.lineno}" for place in places if place is not None][-_FRAMES:],
    }


def pytest_configure(config):
    """Record, if asked to, and let absl's flags be read."""
    path = os.environ.get("HYBRIDIZE_RECORD")
    if path:
        config.pluginmanager.register(Recorder(path), "hybridize-recorder")
    try:  # tests written for absl's own runner read its flags
        from absl import flags
    except ImportError:
        return
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()
