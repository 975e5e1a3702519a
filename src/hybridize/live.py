"""Functions that are there in a running Python: where their text is, and what is decided about them.

Nothing is called, imported or executed: a function says by its code object where it was written.
"""

from __future__ import annotations

import ast
import functools
import json
import linecache
import os
import sys
import sysconfig
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

from hybridize.api import analyze_inputs, check
from hybridize.api import explain as of_report
from hybridize.config import Config, load_config
from hybridize.decide.model import Report
from hybridize.records import dataclass, replace
from hybridize.report.explain import Explanation
from hybridize.report.explain import explain as in_words
from hybridize.report.lookup import TargetError
from hybridize.source import Asked, Inputs
from hybridize.source.layout import find_src_roots, package_name
from hybridize.source.model import FileRef, SourceText
from hybridize.source.names import ImportTable
from hybridize.source.reading import decode_source, read_source
from hybridize.source.roles import find_roles
from hybridize.source.versions import old_folders, project_versions

#: The name of the cells of a running session as a notebook.
SESSION = "session.ipynb"
_WRAPPERS = 100  # around each other, at most
_TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tf-nightly")


@overload
def explain(report: Report, target: str) -> tuple[Explanation, ...]: ...
@overload
def explain(report: Callable[..., object]) -> Explanation: ...
def explain(report: Report | Callable[..., object], target: str | None = None) -> Explanation | tuple[Explanation, ...]:
    """Everything that is known of a function, as `hybridize explain` says it.

    Args:
        report: of `check`; or a function, method, or object of `tf.function` that is there in this Python. Its file's
            project is then analyzed (of a library its file alone); of a function from a notebook the cells that were
            run, and what they import.
        target: with a report: a function by name or FILE:LINE, or a FILE for all functions in it.

    Raises:
        TargetError: it means no function, or is a name that means several; the function has no source in Python.
        ConfigError: the configuration of the project cannot be used.
    """
    if isinstance(report, Report):
        if target is None:
            raise TypeError("explain(report, target) wants a target")
        return of_report(report, target)
    if target is not None:
        raise TypeError("explain(function) takes no target")
    return _of_code(_code(report))


def _of_code(code: types.CodeType) -> Explanation:
    path = code.co_filename
    if os.path.isfile(path):
        lines = Path(path).read_bytes()
        line = _line_of_def(lines, code)
        found = check(_project_of(path))
        relative = os.path.relpath(os.path.realpath(path), os.path.realpath(found.project.root)).replace(os.sep, "/")
        return _at(found, relative, line, code)
    text = "".join(linecache.getlines(path))
    if not text:
        raise TargetError(f"`{code.co_name}`: its source is not known (defined in {path})")
    cells = _cells()
    place = next((n for n in reversed(range(len(cells))) if _same(cells[n], text)), None)
    if place is None:
        cells, place = [*cells, text], len(cells)
    session = Session.of(cells)
    return _at(session.report, SESSION, session.line(place, _line_of_def(text.encode(), code)), code)


def _code(function: object) -> types.CodeType:
    """The code of a function through bound methods, wrappers and `tf.function`; raises TargetError if it has none."""
    found: Any = function
    for _ in range(_WRAPPERS):
        if isinstance(found, functools.partial):
            found = found.func
        elif isinstance(found, property):
            found = found.fget
        elif isinstance(found, (staticmethod, classmethod, types.MethodType)):
            found = found.__func__
        elif isinstance(found, types.FunctionType):
            if "__wrapped__" not in found.__dict__:
                return found.__code__
            found = found.__dict__["__wrapped__"]
        elif isinstance(found, type):
            raise TargetError(f"`{found.__qualname__}` is a class: ask for one of its methods")
        else:
            inside = next((getattr(found, n) for n in ("python_function", "__wrapped__") if _has(found, n)), None)
            if inside is None:
                break
            found = inside
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    raise TargetError(f"`{name}` has no source in Python: it is built in, or no function")


def _has(found: object, name: str) -> bool:
    """Whether an object has an attribute of its own or its class's; objects that answer to any name have none."""
    return name in getattr(found, "__dict__", {}) or hasattr(type(found), name)


def _line_of_def(source: bytes, code: types.CodeType) -> int:
    """The line of `def`: that of the code is the first decorator's. Raises TargetError where it is no more there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return code.co_firstlineno  # IPython's own syntax
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if code.co_firstlineno in (first, node.lineno):
                return node.lineno
    if code.co_name == "<lambda>":
        return code.co_firstlineno
    place = f"{code.co_filename}:{code.co_firstlineno}"
    raise TargetError(f"`{code.co_name}` is no more at {place}: the file has changed since it was loaded")


def _at(report: Report, path: str, line: int, code: types.CodeType) -> Explanation:
    for function in report.functions:
        if function.facts.path == path and function.facts.line == line:
            name = function.facts.qualname.rpartition(".")[2].partition("#")[0]
            if code.co_name in ("<lambda>", name):
                return Explanation(function, in_words(report, function, str))
    for error in report.errors:
        if error.path == path:
            raise TargetError(f"{path}:{error.line}: {error.message}")
    raise TargetError(f"`{code.co_name}` at {path}:{line}: nothing is decided about it (it is no `def`, or left out)")


def _project_of(path: str) -> str:
    """The current folder where it holds the file, else the file's own project; of a library the file alone."""
    here, real = os.path.realpath("."), os.path.realpath(path)
    standard = os.path.realpath(sysconfig.get_path("stdlib"))
    if {"site-packages", "dist-packages"} & set(Path(real).parts) or real.startswith(os.path.join(standard, "")):
        return path
    if real.startswith(os.path.join(here, "")):
        return "."
    return str(load_config([path]).directory or path)


@dataclass(frozen=True, slots=True)
class Session:
    """The cells of a running session as one notebook in the current folder, with what they import from there.

    Attributes:
        report: on the cells and the modules.
        text: of the cells.
    """

    report: Report
    text: SourceText

    @classmethod
    def of(cls, cells: Sequence[str]) -> Session:
        """Analyzes cells in the order in which they were run; raises ConfigError."""
        from hybridize.report.select import selected

        config = load_config(["."])
        if config.tensorflow_version is None:
            config = replace(config, tensorflow_version=_installed())
        inputs, text = _inputs(_notebook(cells), config)
        return cls(selected(analyze_inputs(inputs, config), config), text)

    def line(self, cell: int, line: int) -> int:
        """The line in the notebook's text of a line (from 1) of a cell (from 0)."""
        assert self.text.cells is not None
        return self.text.cells.line_of(cell, line)

    def python(self, cell: int) -> str:
        """The Python of a cell, as it was analyzed."""
        assert self.text.cells is not None
        lines = self.text.text.splitlines()
        for each in self.text.cells.cells:
            if each.index == cell:
                return "\n".join(lines[each.first_line - 1 : each.first_line - 1 + each.line_count])
        return ""

    def place(self, line: int) -> tuple[int, int]:
        """The cell (from 0) and the line in it (from 1) of a line of the notebook's text."""
        assert self.text.cells is not None
        cell, found = self.text.cells.locate(line)
        return cell.index, found


def _notebook(cells: Sequence[str]) -> bytes:
    made = [{"cell_type": "code", "source": cell or "\n", "outputs": [], "metadata": {}} for cell in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}).encode()


def _inputs(data: bytes, config: Config) -> tuple[Inputs, SourceText]:
    """A notebook in the current folder, and the modules there that it leads to; no folder is searched."""
    root = Path.cwd()
    ref = FileRef(str(root / SESSION), SESSION, explicit=True)
    text = decode_source(ref, data)
    assert isinstance(text, SourceText)
    roots = find_src_roots(root, config.src)
    read: dict[str, Any] = {SESSION: text}
    refs, waiting = [ref], [text.text]
    while waiting:
        for name in _imported(waiting.pop()):
            for place in (f"{folder}{name}{end}" for folder in _prefixes(roots) for end in (".py", "/__init__.py")):
                if place not in read and (root / place).is_file():
                    refs.append(FileRef(str(root / place), place))
                    read[place] = read_source(refs[-1])
                    waiting += [read[place].text] if isinstance(read[place], SourceText) else []
    texts = {path: found.text for path, found in read.items() if isinstance(found, SourceText)}
    files = tuple(sorted(refs, key=lambda each: each.relative))
    external = frozenset(sys.stdlib_module_names) | {"tensorflow", "keras", "tf_keras", "numpy"}
    table = ImportTable(files, roots, root_name=package_name(root), external=external, texts=texts)
    asked = Asked(config.exclude, config.directory, config.src, config.tensorflow_version, config.world)
    versions = project_versions(root, asked.tensorflow_version, texts.values())
    roles = find_roles(root, texts, asked.world)
    return Inputs(root, files, read, table, versions, old_folders(root, texts), roles), text


def _prefixes(roots: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(["", *(f"{each}/" for each in roots if each and each != ".")]))


def _imported(text: str) -> list[str]:
    """Paths, without an ending, of the modules that a text may import: absolute ones, and all below their packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    parts = [name.split(".") for name in names]
    return list(dict.fromkeys("/".join(part[: n + 1]) for part in parts for n in range(len(part))))


def _installed() -> str | None:
    """The release of TensorFlow that this Python has, by its metadata."""
    from importlib import metadata

    for name in _TENSORFLOWS:
        try:
            return ".".join(metadata.version(name).split(".")[:2])
        except metadata.PackageNotFoundError:
            continue
    return None


def _cells() -> list[str]:
    """The cells that were run in this session of IPython, as they were typed; none elsewhere."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return [] if shell is None else list(shell.history_manager.input_hist_raw[1:])


def _same(cell: str, text: str) -> bool:
    """Whether a compiled text is that of a cell, but for what IPython makes of its own syntax."""
    return cell.strip() == text.strip()
