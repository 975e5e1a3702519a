"""Runs one program in this process, once: the forked child. All that it did is reported as what can be pickled."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import importlib.machinery
import io
import linecache
import logging
import os
import random
import re
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from harness.calls import PROBE, CallCounter, Escapes, instrument
from hybridize.runtime.guest.values import Described, Describer

#: What the libraries write to standard error about themselves.
CHATTER = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:|[IWEF]\d{4} |[IWEF]0000|(WARNING|INFO|ERROR|DEBUG):(tensorflow|absl)|WARNING: All log"
    r"|To enable the following"
)
TEXT_LIMIT = 20_000  # characters of output, or of one written file, that are kept
HOME = "<folder>"


class PlainDescriber(Describer):
    """Describes values independently of the run's folder, and of classes that other processes do not have."""

    def __init__(self, tensorflow: Any, numpy: Any, is_own: Callable[[type], bool], text: Callable[[str], str]) -> None:
        super().__init__(tensorflow, numpy, is_own)
        self._text = text

    def describe(self, value: object, depth: int = 0) -> Described:
        """The description of a value. Never raises."""
        found = super().describe(value, depth)
        if found[0] != "py":
            return found
        plain = found[2]
        bases: tuple[Any, ...] = (bool, int, float, complex, bytes)
        for base in bases:
            if isinstance(plain, base):
                return ("py", found[1], base(plain))
        return ("py", found[1], self._text("".join(plain)) if isinstance(plain, str) else plain)

    def array(self, kind: str, array: Any, dtype: str | None = None) -> Described:
        """An array as a leaf; objects as their texts, or as bytes where they are strings of TensorFlow's."""
        found = super().array(kind, array, dtype)
        if found[3].dtype.kind != "O":
            return found
        plain = [item if isinstance(item, bytes) else self._text(repr(item)) for item in found[3].reshape(-1)]
        return (*found[:3], self._np.array(plain, dtype=object).reshape(found[2]))


class ProgramRun:
    """One program in one folder. `run` changes the process for good (working directory, `sys.modules`, streams)."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._tf: Any = importlib.import_module("tensorflow")
        self._np: Any = importlib.import_module("numpy")
        self._escapes = Escapes()
        self._counter = CallCounter(self._tf, lambda code: self._is_own_file(code.co_filename), self._escapes)
        self._warned: list[str] = []
        self._notes: list[str] = []
        self._own_modules: set[str] = {"__main__"}

    def run(self) -> dict[str, Any]:
        """Everything that can be compared with another run, as what can be pickled."""
        self._prepare()
        main = types.ModuleType("__main__")
        error = None
        with self._streams() as outputs:
            try:
                self._execute(main)
            except SystemExit as stop:
                error = None if stop.code in (None, 0) else self._error(stop)
            except BaseException as problem:
                error = self._error(problem)
        return {
            "ended": "done",
            "error": error,
            "values": self._state(main),
            "stdout": self._text(outputs["stdout"])[:TEXT_LIMIT],
            "stderr": _own_lines(self._text(outputs["stderr"]))[:200],
            "warnings": self._warned,
            "notes": self._notes[:20],
            "files": self._files(),
            "escaped": self._escapes.types[:200],
            "functions": self._counter.figures,
        }

    def _prepare(self) -> None:
        folder = self._folder
        for name, text in self._job["files"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (folder / ".tmp").mkdir()
        os.chdir(folder)
        tempfile.tempdir = str(folder / ".tmp")
        sys.path[:] = [str((folder / self._job["entry"]).parent), *(p for p in sys.path if p)]
        sys.argv = [str(folder / self._job["entry"]), *self._job.get("arguments", ())]
        random.seed(0)
        self._np.random.seed(0)
        self._listen()
        setattr(builtins, PROBE, self._escapes)
        self._patch_import()
        self._counter.install()
        if self._job["strip"] is not False:
            self._strip()

    def _listen(self) -> None:
        """Warnings of the program's own files are kept; what TensorFlow logs goes to the notes."""

        def show(message: Any, category: type, filename: str, lineno: int, *_: Any, **__: Any) -> None:
            if self._is_own_file(filename):
                self._warned.append(self._text(f"{category.__name__}: {message}"))

        warnings.showwarning = show
        notes = self._notes

        class Keep(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                notes.append(record.getMessage()[:400])

        logger = logging.getLogger("tensorflow")
        logger.handlers[:] = [Keep()]
        logger.propagate = False

    def _patch_import(self) -> None:
        """The program's own modules are instrumented as they are loaded."""
        loader: Any = importlib.machinery.SourceFileLoader
        original = loader.source_to_code

        def source_to_code(this: Any, data: Any, path: Any, **options: Any) -> CodeType:
            if not self._is_own_file(os.fspath(path)):
                return original(this, data, path, **options)  # type: ignore[no-any-return]
            self._own_modules.add(this.name)
            return self._compile(data, os.fspath(path))

        loader.source_to_code = source_to_code
        sys.dont_write_bytecode = True

    def _compile(self, data: bytes | str, path: str) -> CodeType:
        tree = ast.parse(data, path)
        if self._job["probe"] is not False:
            instrument(tree, self._job["probe"])
        return compile(tree, path, "exec", dont_inherit=True)  # else annotations would be texts, as they are here

    def _strip(self) -> None:
        """`tf.function` leaves the program's own functions alone: all of them, or those that the job names."""
        names = self._job["strip"]
        original = self._tf.function

        def stripped(function: Any) -> bool:
            return names is True or getattr(function, "__qualname__", "").replace(".<locals>", "") in names

        def decorator(func: Any = None, *args: Any, **keywords: Any) -> Any:
            if not self._is_own_file(sys._getframe(1).f_code.co_filename):
                return original(func, *args, **keywords)
            if func is None:
                return lambda f: f if stripped(f) else original(*args, **keywords)(f)
            return func if stripped(func) else original(func, *args, **keywords)

        self._tf.function = decorator
        self._tf.compat.v2.function = decorator

    def _execute(self, main: types.ModuleType) -> None:
        path = self._folder / self._job["entry"]
        main.__file__ = str(path)
        main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = main
        code = self._compile(path.read_bytes(), str(path))
        exec(code, main.__dict__)

    @contextlib.contextmanager
    def _streams(self) -> Iterator[dict[str, str]]:
        """What is written, by Python and by native code, in order; filled in at the end."""
        outputs = {"stdout": "", "stderr": ""}
        files = {name: tempfile.TemporaryFile() for name in outputs}  # noqa: SIM115
        os.dup2(files["stdout"].fileno(), 1)
        os.dup2(files["stderr"].fileno(), 2)
        sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb", 0), "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(os.fdopen(os.dup(2), "wb", 0), "utf-8", write_through=True)
        try:
            yield outputs
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            for name, file in files.items():
                file.seek(0)
                outputs[name] = file.read(4 * TEXT_LIMIT).decode("utf-8", "replace")

    def _error(self, problem: BaseException) -> dict[str, Any]:
        """Type, message and the line of the program's entry that was at work."""
        entry = str(self._folder / self._job["entry"])
        frames = [f for f in traceback.extract_tb(problem.__traceback__) if f.filename == entry]
        line = frames[0].lineno if frames else getattr(problem, "lineno", None)
        return {
            "type": type(problem).__name__,
            "message": self._text(str(problem))[:2000],
            "line": line,
            "text": linecache.getline(entry, line).strip() if line else "",
        }

    def _state(self, main: types.ModuleType) -> dict[str, Any]:
        """The public names of the program's modules, and data on its classes."""
        describer = PlainDescriber(self._tf, self._np, self._is_own_class, self._text)
        state: dict[str, Any] = {}
        for name in sorted(self._own_modules):
            module = main if name == "__main__" else sys.modules.get(name)
            prefix = "" if name == "__main__" else f"{name}:"
            for key, value in vars(module).items() if module is not None else ():
                if key.startswith("_") or isinstance(value, (types.ModuleType, types.FunctionType)):
                    continue
                if isinstance(value, type):
                    if value.__module__ == name:
                        self._class_data(f"{prefix}{key}", value, describer, state)
                    continue
                described = describer.describe(value)
                if described != ("callable",):
                    state[prefix + key] = described
        return state

    def _class_data(self, name: str, cls: type, describer: PlainDescriber, state: dict[str, Any]) -> None:
        for key, value in vars(cls).items():
            if not key.startswith("_") and isinstance(value, (int, float, str, list, dict, set, self._tf.Tensor)):
                state[f"{name}.{key}"] = describer.describe(value)

    def _files(self) -> dict[str, str]:
        """Files that the program left in its folder: text by content, other only by name."""
        found: dict[str, str] = {}
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if not path.is_file() or name in self._job["files"] or name.startswith(".tmp/") or "__pycache__" in name:
                continue
            try:
                content = self._text(path.read_text(encoding="utf-8"))[:TEXT_LIMIT]
            except (UnicodeDecodeError, OSError):
                content = "<binary>"
            found[re.sub(r"\d+", "#", name)] = content
        return found

    def _is_own_file(self, name: str) -> bool:
        return name.startswith(str(self._folder))

    def _is_own_class(self, cls: type) -> bool:
        return cls.__module__ in self._own_modules

    def _text(self, text: str) -> str:
        return text.replace(str(self._folder), HOME)


def _own_lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.strip() and not CHATTER.match(line))


def execute(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Runs a job here and now; a fault of the harness itself is reported as `ended: broken`."""
    runner: Callable[[], dict[str, Any]] = ProgramRun(job, folder).run
    try:
        return runner()
    except BaseException as problem:
        trace = traceback.format_exc(limit=-6)
        return {"ended": "broken", "message": f"{type(problem).__name__}: {problem}\n{trace}"}
