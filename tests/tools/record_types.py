"""Runs a program and records what its functions really receive: the oracle for inferred tensor parameters.

    python record_types.py PROJECT SCRIPT.py [ARGS]         the script is relative to PROJECT
    python record_types.py PROJECT -m package.module [ARGS]

prints one JSON object:

    {"functions": {"pkg/model.py:Net.call": {"line": 12, "calls": 3, "parameters": {"x": {
        "tensor": true, "types": [{"kind": "dense", "dtype": "float32", "shape": [2, 3], "symbolic": false}],
        "literals": ["3"], "holds_literals": false, "python": ["list"]}}}}, "output": "...", "error": null}

Keys are paths relative to PROJECT and lexical qualified names (`outer.inner`, `Class.method`, `f#2` for a second
definition of `f`). `tensor` is true where a tensor, variable, ndarray or NumPy scalar arrived, or a list, tuple, set or
dictionary with one inside; `types` has the distinct types (those inside containers too); `symbolic` tells a graph's
tensor from a value. The implicit first parameter (`self`, `cls`) is left out. Functions that AutoGraph rewrote are
traced back to their source.

`tf.function` is switched off (`run_functions_eagerly`), so that what is recorded is what the caller passed; `--graphs`
before PROJECT leaves it on. Needs TensorFlow only if the program does. The program is executed: only for our own
fixtures and for the subjects of an evaluation.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

LITERALS = (bool, int, float, complex, str, bytes)
RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
MAX_DEPTH = 4
MAX_ITEMS = 200


def functions_of(project: Path) -> dict[tuple[str, int], tuple[str, int, bool]]:
    """(absolute path, first line with decorators) of each `def` -> (key, line of `def`, has an implicit parameter)."""
    found: dict[tuple[str, int], tuple[str, int, bool]] = {}
    for file in sorted(project.rglob("*.py")):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            continue
        relative = file.relative_to(project).as_posix()
        seen: dict[str, int] = {}
        for qualname, node, in_class in _definitions(tree, "", False):
            seen[qualname] = seen.get(qualname, 0) + 1
            key = f"{relative}:{qualname}" + (f"#{seen[qualname]}" if seen[qualname] > 1 else "")
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            found[str(file), first] = (key, node.lineno, in_class and not static)
    return found


def _definitions(
    node: ast.AST, prefix: str, in_class: bool
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child, in_class
            yield from _definitions(child, f"{prefix}{child.name}.", False)
        elif isinstance(child, ast.ClassDef):
            yield from _definitions(child, f"{prefix}{child.name}.", True)
        else:
            yield from _definitions(child, prefix, in_class)


class Recorder:
    """Listens to every call in the process and keeps what the project's own functions receive."""

    def __init__(self, project: Path) -> None:
        self.index = functions_of(project)
        self.functions: dict[str, dict[str, Any]] = {}
        self.source_maps: dict[str, Any] = {}
        self._targets: dict[CodeType, tuple[str, int, bool] | None] = {}
        self._starts: dict[CodeType, int] = {}
        self._busy = threading.local()

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """The hook for `sys.setprofile`."""
        if event != "call":
            return
        code = frame.f_code
        if code not in self._targets:
            self._targets[code] = self._target(code)
        target = self._targets[code]
        if target is None or getattr(self._busy, "on", False):
            return
        # A resumed generator is another "call" event, further on in its code.
        if code.co_flags & RESUMABLE and frame.f_lasti > self._starts.setdefault(code, frame.f_lasti):
            return
        self._busy.on = True
        try:
            self._record(target, frame)
        finally:
            self._busy.on = False

    def _target(self, code: CodeType) -> tuple[str, int, bool] | None:
        found = self.index.get((os.path.realpath(code.co_filename), code.co_firstlineno))
        return found or self._rewritten(code)

    def _rewritten(self, code: CodeType) -> tuple[str, int, bool] | None:
        """The source function of one that AutoGraph generated."""
        source_map = self.source_maps.get(code.co_filename)
        if not source_map:
            return None
        name = code.co_name.removeprefix("tf__")
        lines = {
            origin.loc.lineno
            for generated, origin in source_map.items()
            if 0 <= generated.lineno - code.co_firstlineno <= 1
        }
        files = {os.path.realpath(origin.loc.filename) for origin in source_map.values()}
        near = [
            (abs(first - line), entry)
            for (path, first), entry in self.index.items()
            if path in files and entry[0].partition(":")[2].partition("#")[0].rpartition(".")[2] == name
            for line in lines or {first}
        ]
        return min(near)[1] if near else None

    def _record(self, target: tuple[str, int, bool], frame: FrameType) -> None:
        key, line, implicit = target
        entry = self.functions.setdefault(key, {"line": line, "calls": 0, "parameters": {}})
        entry["calls"] += 1
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        for position, name in enumerate(code.co_varnames[:count]):
            if (implicit and position == 0) or name not in frame.f_locals:
                continue
            parameter = entry["parameters"].setdefault(
                name, {"tensor": False, "types": [], "literals": [], "holds_literals": False, "python": []}
            )
            describe(frame.f_locals[name], parameter, 0)


def describe(value: Any, parameter: dict[str, Any], depth: int) -> None:
    """Add what `value` is to the record of a parameter."""
    tensor = tensor_type(value)
    if tensor is not None:
        parameter["tensor"] = True
        _add(parameter["types"], tensor)
    elif isinstance(value, LITERALS):
        if depth == 0:
            _add(parameter["literals"], repr(value))
        else:
            parameter["holds_literals"] = True
    elif value is not None:
        if depth == 0:
            _add(parameter["python"], type(value).__name__)
        if depth < MAX_DEPTH and isinstance(value, list | tuple | set | frozenset | dict):
            items = list(value.values()) if isinstance(value, dict) else list(value)
            for item in items[:MAX_ITEMS]:
                describe(item, parameter, depth + 1)


def _add(items: list[Any], item: Any) -> None:
    if item not in items:
        items.append(item)


def tensor_type(value: Any) -> dict[str, Any] | None:
    """Kind, dtype, shape of a tensor-like value; None for any other."""
    names = {f"{cls.__module__}.{cls.__qualname__}" for cls in type(value).__mro__}
    kind = next((kind for kind, class_names in KINDS if names & class_names), None)
    if kind is None:
        return None
    dtype = getattr(value.dtype, "name", None) or str(value.dtype)
    shape = value.shape
    if shape is not None and not isinstance(shape, tuple):
        shape = None if shape.rank is None else shape.as_list()
    dims = None if shape is None else [None if dim is None else int(dim) for dim in shape]
    symbolic = kind == "keras" or (kind == "dense" and not hasattr(value, "numpy"))
    return {"kind": kind, "dtype": dtype, "shape": dims, "symbolic": symbolic}


KINDS: list[tuple[str, set[str]]] = [
    ("ndarray", {"numpy.ndarray", "numpy.generic"}),
    ("sparse", {"tensorflow.python.framework.sparse_tensor.SparseTensor"}),
    ("ragged", {"tensorflow.python.ops.ragged.ragged_tensor.RaggedTensor"}),
    ("sparse", {"tensorflow.python.framework.indexed_slices.IndexedSlices"}),
    (
        "variable",
        {
            "tensorflow.python.ops.variables.Variable",
            "tensorflow.python.ops.resource_variable_ops.BaseResourceVariable",
            "keras.src.backend.common.variables.Variable",
        },
    ),
    ("keras", {"keras.src.backend.common.keras_tensor.KerasTensor", "keras.src.engine.keras_tensor.KerasTensor"}),
    ("dense", {"tensorflow.python.framework.tensor.Tensor", "tensorflow.python.framework.ops.Tensor"}),
]


@contextlib.contextmanager
def listening(recorder: Recorder, graphs: bool) -> Iterator[None]:
    """Install the hooks for the time of the run."""
    with contextlib.suppress(ImportError):
        import tensorflow as tf
        from tensorflow.python.autograph.pyct import transpiler

        original = transpiler.PyToPy.transform_function

        def transform_function(self: Any, fn: Any, user_context: Any) -> Any:
            transformed, module, source_map = original(self, fn, user_context)
            recorder.source_maps[transformed.__code__.co_filename] = source_map
            return transformed, module, source_map

        transpiler.PyToPy.transform_function = transform_function
        tf.config.run_functions_eagerly(not graphs)
    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def record(project: Path, command: list[str], *, graphs: bool = False) -> dict[str, Any]:
    """Run `command` (`script.py args` or `-m module args`) inside `project`; never raises for the program's errors."""
    project = project.resolve()
    recorder = Recorder(project)
    output, error = io.StringIO(), None
    os.chdir(project)
    with contextlib.redirect_stdout(output), listening(recorder, graphs):
        try:
            run(project, command)
        except SystemExit as stop:
            error = f"exit code {stop.code}" if stop.code not in (0, None) else None
        except BaseException:
            error = traceback.format_exc()
    return {"functions": recorder.functions, "output": output.getvalue(), "error": error}


def run(project: Path, command: list[str]) -> None:
    """Execute the program as `python` would."""
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, str(project))
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        script = project / command[0]
        sys.argv = [str(script), *command[1:]]
        sys.path.insert(0, str(script.parent))
        runpy.run_path(str(script), run_name="__main__")


def main(arguments: list[str]) -> int:
    """The command line."""
    graphs = arguments[:1] == ["--graphs"]
    arguments = arguments[graphs:]
    if len(arguments) < 2:
        sys.stderr.write(__doc__ or "")
        return 2
    result = record(Path(arguments[0]), arguments[1:], graphs=graphs)
    print(json.dumps(result, indent=1))
    return 1 if result["error"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
