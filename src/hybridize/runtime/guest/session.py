"""One process of the program: prepared as the job says, run, and its end told."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.machinery
import importlib.util
import json
import os
import runpy
import sys
import time
import types
from typing import Any

from .record import described_error
from .reporter import Reporter
from .sources import WATCH, Sources

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Session:
    """The job's program in this process. `mode` of the job names the module whose `Watcher` sees watched functions."""

    def __init__(self, job: str) -> None:
        self._path = os.path.abspath(job)
        with open(job, encoding="utf-8") as stream:
            self.job: Any = json.load(stream)
        self.reporter = Reporter(self.job["report"])
        self.sources = Sources(self.job["sources"])
        self.watcher: Any = None

    def run(self) -> None:
        """Runs the program; ends the process with its exit code."""
        target = self.job["target"]
        self._prepare_path(target)
        if self.job.get("needs") and importlib.util.find_spec(self.job["needs"]) is None:
            self.reporter.tell("missing", module=self.job["needs"])
            sys.exit(2)
        self.join()
        final = self._final()
        started = time.perf_counter()
        self.reporter.tell("start", python=sys.version.split()[0])
        code: Any = 1
        try:
            self._begin()
            self._execute(target)
            code = 0
        except SystemExit as stop:
            code = stop.code
            raise
        except BaseException as problem:
            self._told(problem)
            if isinstance(problem, KeyboardInterrupt):
                code = 130
            sys.exit(code)
        finally:
            plain = code if isinstance(code, int) else 0 if code is None else 1
            seconds = time.perf_counter() - started
            if final is not None:
                with contextlib.suppress(Exception):  # objects of the program's that can't be read
                    results = getattr(self.watcher, "results", None)
                    calls = {} if results is None else results.as_json()
                    self.reporter.tell("final", **final.described(), results=calls)
            self.reporter.tell("end", code=plain, seconds=seconds, taken=sorted(self.sources.taken))
            if self.watcher is not None:
                self.watcher.finish()

    def _final(self) -> Any:
        """What describes the program's end, if the job asks for it."""
        if not self.job.get("options", {}).get("final"):
            return None
        module = importlib.import_module(".final", __package__)
        final = module.Final(importlib.import_module(".own", __package__).Own(self.job["own"]), self.job["report"])
        final.listen(output=self.job["target"]["name"] != "pytest")  # which tells times
        return final

    def join(self) -> None:
        """The sources, the watcher, and the processes that this one will spawn."""
        self.sources.install()
        self._spawned()
        if self.job.get("mode"):
            module = importlib.import_module(f".{self.job['mode']}", __package__)
            self.watcher = module.Watcher(self.job, self.reporter)
            setattr(builtins, WATCH, self.watcher.watch)

    def _prepare_path(self, target: Any) -> None:
        """`sys.path` and `sys.argv` as the interpreter would have set them."""
        name, kind = target["name"], target["kind"]
        if sys.path and os.path.abspath(sys.path[0]) == _FOLDER:
            del sys.path[0]
        if not getattr(sys.flags, "safe_path", False):
            folder = os.path.dirname(os.path.realpath(name)) if kind == "script" else os.getcwd()
            sys.path.insert(0, folder)
        sys.argv = [name if kind == "script" else "-m", *target["arguments"]]

    def _begin(self) -> None:
        """Seeds the random numbers, and runs the job's shim."""
        seed, shim = self.job.get("seed"), self.job.get("shim")
        if seed is not None:
            importlib.import_module("random").seed(seed)
            for name, path in (("numpy", "random.seed"), ("tensorflow", "random.set_seed")):
                if importlib.util.find_spec(name) is not None:
                    first, last = path.split(".")
                    getattr(getattr(importlib.import_module(name), first), last)(seed)
        if shim:
            runpy.run_path(shim, run_name="__shim__")

    def _execute(self, target: Any) -> None:
        main = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = main
        name = target["name"]
        if target["kind"] != "script":
            if name == "pytest":
                self._before_pytest()
            runpy._run_module_as_main(name)  # type: ignore[attr-defined]
            return
        if os.path.isdir(name):
            runpy.run_path(name, run_name="__main__")
            return
        path = os.path.abspath(name)
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        main.__dict__.update(__file__=path, __cached__=None, __loader__=loader)
        if sys.version_info < (3, 14):
            main.__annotations__ = {}
        code = self.sources.code(path)
        if code is None:
            with open(path, "rb") as stream:
                code = compile(stream.read(), path, "exec", dont_inherit=True)
        exec(code, main.__dict__)

    def _told(self, problem: BaseException) -> None:
        """Shows an exception as the interpreter would, without the frames of this package."""
        trace = problem.__traceback__
        while trace is not None and _is_mine(trace.tb_frame.f_code.co_filename):
            trace = trace.tb_next
        problem.__traceback__ = trace
        last = trace
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        self.reporter.tell(
            "exception",
            type=type(problem).__name__,
            message=str(problem)[:2000],
            path=last.tb_frame.f_code.co_filename if last else None,
            line=last.tb_lineno if last else None,
            error=described_error(problem),
        )
        sys.excepthook(type(problem), problem, trace)

    def _spawned(self) -> None:
        """Processes started by `multiprocessing` with `spawn` join the job first."""
        import multiprocessing.spawn as spawn

        original: Any = spawn.get_command_line
        prelude = f"import runpy; runpy.run_path({os.path.join(_FOLDER, '__main__.py')!r})['join']({self._path!r}); "

        def command_line(**keywords: Any) -> Any:
            command = list(original(**keywords))
            if "-c" in command:
                place = command.index("-c") + 1
                command[place] = prelude + command[place]
            return command

        spawn.get_command_line = command_line

    def _before_pytest(self) -> None:
        """pytest rewrites the assertions of test modules by a loader of its own; those of the job it must leave."""
        try:
            hook: Any = importlib.import_module("_pytest.assertion.rewrite").AssertionRewritingHook
        except (ImportError, AttributeError):
            return
        find_spec = hook.find_spec

        def patched(this: Any, name: str, path: Any = None, target: Any = None) -> Any:
            spec = find_spec(this, name, path, target)
            return None if spec is not None and spec.origin and spec.origin in self.sources else spec

        hook.find_spec = patched


def _is_mine(path: str) -> bool:
    return os.path.dirname(os.path.abspath(path)) == _FOLDER or path.startswith("<frozen runpy")
