"""The job's source texts take the place of files as modules are loaded; no file is touched, no bytecode written."""

from __future__ import annotations

import ast
import base64
import importlib.machinery
import io
import linecache
import os
import runpy
import tokenize
import warnings
from types import CodeType
from typing import Any

#: The name (in `builtins`) of what a watched function is decorated with.
WATCH = "__hybridize_watch__"

Json = dict[str, Any]  # as decoded

#: What `linecache` is to have of files that have another text here, by the name that their code has.
_SHOWN: dict[str, tuple[int, None, list[str], str]] = {}
_updatecache = linecache.updatecache


class Sources:
    """Files of the job by their real path; `taken` are those whose text was loaded."""

    def __init__(self, entries: list[Json]) -> None:
        self.taken: set[str] = set()
        self._entries = {os.path.realpath(entry["path"]): entry for entry in entries}

    def __contains__(self, path: Any) -> bool:
        return os.path.realpath(os.fsdecode(path)) in self._entries

    def code(self, path: str) -> CodeType | None:
        """The code that the job has for a file, its lines numbered as in the file; None for other files."""
        entry = self._entries.get(os.path.realpath(path))
        if entry is None:
            return None
        self.taken.add(path)
        text = base64.b64decode(entry["text"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old escapes: the original shows them
            tree = ast.parse(text, path)
        _watch(tree, entry.get("watch") or ())
        if entry.get("lines"):
            _renumber(tree, entry["lines"])
        else:
            _show(path, text)
        return compile(tree, path, "exec", dont_inherit=True)

    def install(self) -> None:
        """From now on loaders and `runpy` take these texts."""
        loader: Any = importlib.machinery.SourceFileLoader
        get_code = loader.get_code

        def patched(this: Any, fullname: str) -> Any:
            code = self.code(this.get_filename(fullname))
            return get_code(this, fullname) if code is None else code

        loader.get_code = patched
        from_file: Any = getattr(runpy, "_get_code_from_file", None)

        def code_from_file(*names: Any) -> Any:
            # Up to Python 3.12 it has (run_name, fname) and gives both; later the name alone.
            code = self.code(os.fspath(names[-1]))
            if code is None:
                return from_file(*names)
            return (code, names[-1]) if len(names) > 1 else code

        if from_file is not None:
            runpy._get_code_from_file = code_from_file  # type: ignore[attr-defined]


def _show(path: str, text: bytes) -> None:
    """From now on who asks for the lines of a file (AutoGraph, tracebacks) gets those of a text."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
    decoded = io.TextIOWrapper(io.BytesIO(text), encoding).read()
    # Without a time the entry is never compared with the file on disk; AutoGraph has it read anew all the same.
    linecache.cache[path] = _SHOWN[path] = (len(text), None, decoded.splitlines(keepends=True), path)
    if linecache.updatecache is not _updated:
        linecache.updatecache = _updated


def _updated(filename: str, module_globals: Any = None) -> list[str]:
    """As `linecache.updatecache`, but for files that have another text here."""
    if filename not in _SHOWN:
        return _updatecache(filename, module_globals)
    linecache.cache[filename] = _SHOWN[filename]
    return _SHOWN[filename][2]


def _watch(tree: ast.Module, watched: Any) -> None:
    """Wraps the decorators that the job names, or adds one next to `def`: `@watch(3, tf.function)`, `@watch(3)`."""
    places = {entry["line"]: entry for entry in watched}
    for node in ast.walk(tree) if places else ():
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.lineno not in places:
            continue
        entry = places[node.lineno]
        index = entry.get("decorator")
        old = [] if index is None else [node.decorator_list[index]]
        call = ast.Call(ast.Name(WATCH, ast.Load()), [ast.Constant(entry["function"]), *old], [])
        ast.copy_location(call, old[0] if old else node)
        if index is None:
            # The last line before `def` that is this function's, so that its first line stays what it is.
            node.decorator_list.append(call)
        else:
            node.decorator_list[index] = call
        ast.fix_missing_locations(node)


def _renumber(tree: ast.Module, lines: list[int]) -> None:
    """`lines` has the original line (from 1) for each line of the text."""
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            number = getattr(node, name, None)
            if isinstance(number, int) and number > 0:
                setattr(node, name, lines[min(number, len(lines)) - 1])
        if getattr(node, "end_lineno", None) == getattr(node, "lineno", 0) and hasattr(node, "end_col_offset"):
            node.end_col_offset = max(node.end_col_offset or 0, getattr(node, "col_offset", 0))
