"""Code of which the program demands that it fails: below `assertRaises`, `pytest.raises`, or a manager of its own.

What a rule has to say there is known to who wrote it, and what a repair would mend is what the program shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Func, Inst
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.source.syntax import walk
from hybridize.tracing.views import ProjectView

_RAISES: Final = frozenset({"assertRaises", "assertRaisesRegex", "raises", "assertRaisesWithPredicateMatch"})
_MANAGER: Final = "contextmanager"
_EXIT: Final = "__exit__"
_FAILS: Final = frozenset({"fail"})


class Awaited:
    """The lines of a program below what awaits an exception, and the functions that are called from there alone."""

    def __init__(self, project: ProjectView) -> None:
        self._project = project
        self._lines: dict[str, list[range]] = {}
        self._own: dict[str, list[range]] = {}
        #: A manager of the program's own stands where it is entered; most programs have none.
        if any(_is_awaiting(code) for code in project.solution.frames):
            for frame in (f for frames in project.solution.frames.values() for f in frames):
                for lines in self._of_managers(frame):
                    self._own.setdefault(frame.code.path, []).append(lines)
        self._functions = self._called_there()

    def lines(self, path: str) -> list[range]:
        """Those of a file, by the body of each statement or the extent of each call."""
        found = self._lines.get(path)
        if found is None:
            text = self._project.text(path)
            tree = self._project.module(path) if any(f".{name}(" in text for name in _RAISES) else None
            found = self._lines[path] = [*_raising(tree), *self._own.get(path, ())]
        return found

    def is_there(self, path: str, line: int) -> bool:
        """Whether a line stands below what awaits an exception."""
        return any(line in each for each in self.lines(path))

    def has(self, path: str, line: int) -> bool:
        """Whether a line stands there, or in a function that is only called from there."""
        return self.is_there(path, line) or any(
            code.path == path and code.line <= line <= code.end_line for code in self._functions
        )

    def _called_there(self) -> frozenset[Code]:
        """The functions of which every call stands there, or in one of them; not those that others may call."""
        found: set[Code] = set()
        frames = self._project.solution.frames
        todo = [c.code for code in frames for frame in frames[code] for at, c in frame.calls if self._has(code, at)]
        while todo:
            code = todo.pop()
            sites = {site for frame in frames.get(code, ()) for site in frame.incoming}
            if code in found or code.is_body or self._project.public.has(code) or not sites:
                continue
            if all(c is not None and (c.code in found or self._has(c.code, at)) for c, at in sites):
                found.add(code)
                todo += [callee.code for frame in frames[code] for _, callee in frame.calls]
        return frozenset(found)

    def _has(self, code: Code, position: int) -> bool:
        return bool(self.lines(code.path)) and self.is_there(code.path, position >> 16)

    @staticmethod
    def _of_managers(frame: Frame) -> Iterator[range]:
        """The bodies of `with` statements that a frame enters with a manager of the program's own."""
        index = index_of(frame.code)
        for left in index.of(ir.Exit):
            made = index.source(left.source)
            position = made.position if isinstance(made, ir.Call) else -1
            called = [callee.code for pos, callee in frame.calls if pos == position]
            classes = [o.cls for o in frame.vals[left.source] or () if isinstance(o, Inst)]
            methods = [o.code for cls in classes for o in _exit_of(cls)]
            if any(map(_is_awaiting, (*called, *methods))):
                yield left.lines


def awaited(project: ProjectView) -> Awaited:
    """That of a program, made when first asked for."""
    return project.shared("awaited", lambda: Awaited(project))


def _exit_of(cls: Class) -> Iterator[Func]:
    for base in cls.mro:
        if isinstance(base, Class) and _EXIT in base.fields:
            yield from (o for o in base.fields[_EXIT].value if isinstance(o, Func))
            return


def _is_awaiting(code: Code) -> bool:
    """Whether a function is a context manager that lets an exception pass, and raises where none comes."""
    node = code.node
    if not isinstance(node, ast.FunctionDef):
        return False
    if code.name == _EXIT:
        return _raises(node.body) and any(isinstance(n, ast.Return) and n.value is not None for n in walk(node))
    if not code.is_generator or not any(_MANAGER in ast.unparse(each) for each in code.decorators):
        return False
    for tried in (n for n in walk(node) if isinstance(n, ast.Try) and n.handlers):
        if any(isinstance(n, ast.Yield) for part in tried.body for n in walk(part)):
            rest = [part for part in node.body if part.lineno > (tried.end_lineno or 0)]
            return _raises([*tried.body, *tried.orelse, *rest])
    return False


def _raises(body: list[ast.stmt]) -> bool:
    """Whether statements raise something themselves, or fail a test."""
    for node in (n for part in body for n in walk(part)):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FAILS:
            return True
    return False


def _raising(tree: ast.Module | None) -> Iterator[range]:
    for node in walk(tree) if tree is not None else ():
        if isinstance(node, (ast.With, ast.Call)):
            for call in [item.context_expr for item in node.items] if isinstance(node, ast.With) else [node]:
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _RAISES:
                    yield range(node.lineno, (node.end_lineno or node.lineno) + 1)
