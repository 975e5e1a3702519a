"""Rewritten files as the child takes them: the text that `fix` would write, with the way back to the original lines."""

from __future__ import annotations

import ast
import base64
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridize.rewrite import FileResult
from hybridize.rewrite.compose import edits_between
from hybridize.rewrite.model import Edit
from hybridize.rewrite.text import NEWLINE, SourceText
from hybridize.source.syntax import walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Watched:
    """A function that the child shall watch: its number in the job, and the line of its `def` in the file on disk.

    `decorator` is the line of one that it has and that shall be watched (None: the one that the result adds, if any).
    `made` is the name of one that a repair makes, and that is nowhere on disk.
    """

    number: int
    line: int
    decorator: int | None = None
    made: str = ""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file with another text than on disk, in memory alone.

    Attributes:
        path: absolute.
        text: the bytes as they would be written.
        lines: the line on disk (from 1) for each line of the text; empty where the text has its own lines.
        watch: (number of a function, line of its `def` in the text, index of the decorator that makes it hybrid).
    """

    path: Path
    text: bytes
    lines: tuple[int, ...]
    watch: tuple[tuple[int, int, int | None], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the job's file."""
        return {
            "path": str(self.path),
            "text": base64.b64encode(self.text).decode(),
            "lines": list(self.lines),
            "watch": [{"function": n, "line": line, "decorator": index} for n, line, index in self.watch],
        }


def memory_file(
    root: Path, result: FileResult, watched: Iterable[Watched] = (), base: bytes | None = None
) -> MemoryFile:
    """The file that a result of the rewrite room would write.

    `base` is the text that the result's changes and the watched functions' lines speak of, if it is not that on disk.
    A watched function whose decorator the result adds or changes is watched with that decorator, any other without.
    Where more than decorators changes in functions the text keeps its own lines: AutoGraph reads the source of a
    function by its line, and must not find what stands there on disk.
    """
    lines = line_map(result.original, result.new, result.edits)
    decorated = {change.line for change in result.applied if change.action != "remove"}
    known = lines if base is None else line_map(base, result.new, edits_between(base, result.new))
    watch = _watch(result.original if base is None else base, result.new, known, decorated, list(watched))
    return MemoryFile(root / result.path, result.new, () if _is_rewritten(result) else lines, watch)


def _is_rewritten(result: FileResult) -> bool:
    """Whether a result has other functions than the file on disk, decorators aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = (_bare_functions(ast.parse(data)) for data in (result.original, result.new))
    return before != after


def _bare_functions(tree: ast.Module) -> list[str]:
    functions = [n for n in walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        function.decorator_list = []
    return [ast.dump(function) for function in functions]


def original_file(path: Path, watched: Iterable[Watched]) -> MemoryFile:
    """A file as it is on disk, with functions to watch."""
    text = path.read_bytes()
    lines = tuple(range(1, text.count(b"\n") + text.count(b"\r") + 2))
    return MemoryFile(path, text, (), _watch(text, text, lines, set(), list(watched)))


def line_map(original: bytes, new: bytes, edits: Iterable[Edit]) -> tuple[int, ...]:
    """For each line of the new text the original line of its first byte.

    For inserted text it is that of what follows, for text in the place of other lines one of those.
    """
    before, after = SourceText(original), SourceText(new)
    starts: list[int] = []  # in the new text, of stretches that are all old or all new
    stretches: list[tuple[int, Edit | None]] = []
    old = position = 0
    for edit in sorted(edits, key=lambda e: e.start):
        starts += [position, position + edit.start - old]
        stretches += [(old, None), (edit.start, edit)]
        position += edit.start - old + len(edit.replacement)
        old = edit.end
    starts.append(position)
    stretches.append((old, None))
    lines = []
    for start in after.starts:
        index = max(bisect_right(starts, start) - 1, 0)
        place, made = stretches[index]
        if made is None:
            lines.append(before.line_of(place + start - starts[index]))
        elif made.end == made.start:
            lines.append(before.line_of(made.end))
        else:
            passed = len(NEWLINE.findall(made.replacement[: start - starts[index]]))
            lines.append(min(before.line_of(place) + passed, before.line_of(made.end - 1)))
    return tuple(lines)


def _watch(
    base: bytes, text: bytes, lines: tuple[int, ...], decorated: set[int], watched: list[Watched]
) -> tuple[tuple[int, int, int | None], ...]:
    if not watched:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = ast.parse(base), ast.parse(text)
    old = {n.lineno: n for n in ast.walk(before) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    functions = [n for n in ast.walk(after) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    new = {lines[n.lineno - 1]: n for n in functions}
    found: list[tuple[int, int, int | None]] = []
    for each in watched:
        if each.made:
            found += [(each.number, n.lineno, 0) for n in functions if n.name == each.made and n.decorator_list]
            continue
        node = new.get(each.line)
        if node is None or each.line not in old:
            continue
        if each.decorator is not None:
            index = _decorator_at(node, lines, each.decorator)
        else:
            index = _new_decorator(old[each.line], node) if each.line in decorated else None
        found.append((each.number, node.lineno, index))
    return tuple(found)


def _new_decorator(old: Definition, new: Definition) -> int:
    """The index of the decorator that is new or different."""
    before = [ast.dump(d) for d in old.decorator_list]
    after = [ast.dump(d) for d in new.decorator_list]
    if len(after) == len(before):
        return next((i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b), len(after) - 1)
    for index in range(len(after)):
        if after[:index] + after[index + 1 :] == before:
            best = index
    return best


def _decorator_at(node: Definition, lines: tuple[int, ...], line: int) -> int | None:
    """The index of the decorator that is on a line of the file on disk."""
    for index, decorator in enumerate(node.decorator_list):
        if lines[decorator.lineno - 1] <= line <= lines[(decorator.end_lineno or decorator.lineno) - 1]:
            return index
    return None
