"""One file of the project as a repair sees it: its tree with parents, its text, and the names that it binds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Final

from hybridize.records import dataclass
from hybridize.regex import regex
from hybridize.repairs.source.edits import Place, TextEdit
from hybridize.source.bindings import BINDERS, binds
from hybridize.source.ends import common_ends
from hybridize.source.model import CellMap
from hybridize.source.reading import split_lines
from hybridize.source.syntax import parents

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr"})
_TENSORFLOW = ("tensorflow", "tensorflow.compat.v2")
_WORD: Final = regex(r"[^\W\d]\w*")


@dataclass(eq=False)
class SourceFile:
    """A parsed file; `tree` must be that of `text`, which of a notebook is the Python of its cells."""

    path: str
    text: str
    tree: ast.Module
    cells: CellMap | None = None
    #: What TensorFlow is called in a file where another module of the project hands it on.
    handed: Callable[[SourceFile], str | None] = lambda _: None

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines without their ends, in UTF-8."""
        return [line.encode() for line in split_lines(self.text)]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree but contexts, in the order of `ast.walk`, which is slower."""
        return [self.tree, *self.parents]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return parents(self.tree)

    @cached_property
    def _by_place(self) -> dict[Place, list[ast.AST]]:
        found: dict[Place, list[ast.AST]] = {}
        for node in self.nodes:
            if hasattr(node, "lineno"):
                found.setdefault(start(node), []).append(node)
        return found

    def at(self, place: Place) -> list[ast.AST]:
        """The nodes that start at a place, the outermost first."""
        return self._by_place.get(place, [])

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def loops_around(self, node: ast.AST) -> Iterator[ast.For | ast.While]:
        """The loops around a node in its own function, the innermost first."""
        for each in self.around(node):
            if isinstance(each, (FunctionNode, ast.Lambda, ast.ClassDef)):
                return
            if isinstance(each, (ast.For, ast.While)):
                yield each

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is in, or is."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def function(self, node: ast.AST) -> FunctionNode | ast.Lambda | None:
        """The function that a node is in."""
        return next((n for n in self.around(node) if isinstance(n, (FunctionNode, ast.Lambda))), None)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement is in."""
        parent = self.parents[statement]
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and any(each is statement for each in value):
                return value
        return [statement]

    def with_text(self, text: str, line: int) -> SourceFile:
        """The file with another text, which is the same below a line of this one."""
        more, cells = text.count("\n") - self.text.count("\n"), self.cells
        if cells is not None:
            cells = CellMap(cells.cells, tuple(first + more if first > line else first for first in cells.starts))
        return SourceFile(self.path, text, ast.parse(text), cells)

    def opens_cell(self, line: int) -> bool:
        """Whether a line is the first one of a notebook's cell."""
        return self.cells is not None and line in self.cells.starts

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The words in lines of a notebook that are no Python: they may read what has such a name."""
        lines = (
            text
            for cell in (self.cells.cells if self.cells is not None else ())
            for number, text in enumerate(split_lines(cell.source), 1)
            if number in cell.masked
        )
        return frozenset(word for text in lines for word in _WORD.findall(text))

    def source(self, node: ast.AST) -> str:
        """The text of a node, as written."""
        return self.between(start(node), end(node))

    def between(self, first: Place, last: Place) -> str:
        """The text from one place to another, lines ending in `\\n`."""
        if first[0] == last[0]:
            return self.lines[first[0] - 1][first[1] : last[1]].decode()
        middle = self.lines[first[0] : last[0] - 1]
        parts = [self.lines[first[0] - 1][first[1] :], *middle, self.lines[last[0] - 1][: last[1]]]
        return b"\n".join(parts).decode()

    def indentation(self, statement: ast.stmt) -> str | None:
        """The blanks in front of a statement; None if something else is on its line before it."""
        first = first_line(statement)
        lead = self.lines[first - 1]
        lead = lead[: len(lead) - len(lead.lstrip())]
        own = self.lines[statement.lineno - 1][: statement.col_offset]
        return lead.decode() if not own.strip() else None

    def blank_lines_above(self, line: int) -> int:
        """How many blank lines stand right before a line, two at most."""
        count = 2 if self.opens_cell(line) else 0
        while count < 2 and line - 2 - count >= 0 and not self.lines[line - 2 - count].strip():
            count += 1
        return count

    def replace(self, node: ast.AST, text: str) -> TextEdit:
        """The edit that puts other text in a node's place."""
        return TextEdit(self.path, start(node), end(node), text)

    def insert(self, place: Place, text: str) -> TextEdit:
        """The edit that puts text at a place."""
        return TextEdit(self.path, place, place, text)

    def before(self, statement: ast.stmt, *lines: str) -> TextEdit | None:
        """Whole lines in front of a statement, indented as it is."""
        indent = self.indentation(statement)
        if indent is None:
            return None
        first = first_line(statement)
        return TextEdit(self.path, (first, 0), (first, 0), "".join(f"{indent}{line}\n" for line in lines))

    def after(self, statement: ast.stmt, *lines: str) -> TextEdit | None:
        """Whole lines behind a statement, indented as it is; None where more follows on its last line."""
        indent = self.indentation(statement)
        last, column = end(statement)
        rest = self.lines[last - 1][column:].strip()
        if indent is None or (rest and not rest.startswith(b"#")):
            return None
        if last >= len(self.lines) or self.opens_cell(last + 1):
            whole = len(self.lines[last - 1])
            return TextEdit(self.path, (last, whole), (last, whole), "".join(f"\n{indent}{line}" for line in lines))
        return TextEdit(self.path, (last + 1, 0), (last + 1, 0), "".join(f"{indent}{line}\n" for line in lines))

    def remove(self, statement: ast.stmt) -> TextEdit | None:
        """A statement that stands alone on its lines goes, with them; None where it does not, or is all its block has.

        A comment on its lines stays where it is an own sentence, which is for the one who applies edits to see.
        """
        block = self.block(statement)
        first, (last, column) = statement.lineno, end(statement)
        rest = self.lines[last - 1][column:].strip()
        if self.indentation(statement) is None or rest:
            return None
        if len(block) == 1:
            return TextEdit(self.path, start(statement), end(statement), "pass")
        if last >= len(self.lines):
            return None
        return TextEdit(self.path, (first, 0), (last + 1, 0), "")

    def whole_lines(self, statement: ast.stmt, *, comment: bool = False) -> TextEdit | None:
        """The edit that takes a statement away with its lines; None where they hold something else.

        A comment behind it is something else, too, unless `comment` says that it goes along.
        """
        last, _ = place = end(statement)
        behind = self.behind(statement)
        alone = behind == place or (comment and behind is not None)
        if self.indentation(statement) is None or not alone or last >= len(self.lines):
            return None
        return TextEdit(self.path, (statement.lineno, 0), (last + 1, 0), "")

    def behind(self, statement: ast.stmt) -> Place | None:
        """Where a statement ends, with the comment behind it; None where something else shares its last line."""
        last, column = end(statement)
        line = self.lines[last - 1]
        rest = line[column:].strip()
        if rest and not rest.startswith(b"#"):
            return None
        return last, len(line.rstrip()) if rest else column

    def with_comment(self, statement: ast.stmt) -> str:
        """The text of a statement, with the comment behind it."""
        return self.between(start(statement), self.behind(statement) or end(statement))

    def dedented(self, statements: Sequence[ast.stmt]) -> Iterator[str]:
        """The lines of statements, as deep as the block around them is."""
        for statement in statements:
            depth = statement.col_offset
            last = self.lines[end(statement)[0] - 1]
            lines = [line.decode() for line in self.lines[statement.lineno - 1 : end(statement)[0] - 1]]
            for line in [*lines, last.decode()]:
                yield line[depth:] if not line[:depth].strip() else line.lstrip()

    @cached_property
    def attributes(self) -> dict[str, list[ast.Attribute]]:
        """The attributes in the file by name."""
        found: dict[str, list[ast.Attribute]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                found.setdefault(node.attr, []).append(node)
        return found

    def attributes_at(self, line: int) -> Iterator[ast.Attribute]:
        """The attributes that end on a line."""
        return (node for nodes in self.attributes.values() for node in nodes if node.end_lineno == line)

    @cached_property
    def named_in_calls(self) -> frozenset[str]:
        """The attributes that calls of `getattr` and the like name in strings, and the words of `hidden` lines."""
        calls = [n for n in self.nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        words = [a for n in calls if getattr(n.func, "id", "") in _BY_NAME for a in n.args]
        return self.hidden | {a.value for a in words if isinstance(a, ast.Constant) and isinstance(a.value, str)}

    # Names -----------------------------------------------------------------------------------------------------------

    @cached_property
    def bound(self) -> dict[str, list[ast.AST]]:
        """Every name that the file binds anywhere, with the nodes that do."""
        found: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            kind = node.__class__
            if kind in BINDERS and not (kind is ast.Name and node.ctx.__class__ is ast.Load):  # type: ignore[attr-defined]
                for name in binds(node):
                    found.setdefault(name, []).append(node)
        return found

    @cached_property
    def used(self) -> frozenset[str]:
        """Every name and attribute in the file."""
        names = {n.id for n in self.nodes if isinstance(n, ast.Name)}
        return frozenset(names | set(self.bound) | {n.attr for n in self.nodes if isinstance(n, ast.Attribute)})

    def module_name(self, *modules: str) -> str | None:
        """The name that stands for a library module wherever the file says it; None if none surely does."""
        for node in self.tree.body:
            if not isinstance(node, ast.Import):
                continue
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name in modules and all(_imports(n, alias.name) for n in self.bound.get(name, ())):
                    return name
        return None

    def imported(self, modules: Collection[str]) -> frozenset[str]:
        """The names under which the file, anywhere, imports some modules."""
        found = (alias for n in self.nodes if isinstance(n, ast.Import) for alias in n.names)
        return frozenset(alias.asname or alias.name for alias in found if alias.name in modules)

    @cached_property
    def tensorflow(self) -> str | None:
        """What TensorFlow is called here."""
        return self.module_name(*_TENSORFLOW) or self.handed(self)

    def fresh(self, wanted: str, taken: Collection[str] = frozenset()) -> str:
        """A name that the file does not use yet, and that is not taken."""
        return numbered(wanted, self.used.union(taken))


def numbered(wanted: str, taken: Collection[str]) -> str:
    """The name that is wanted, as Python allows it, with a number behind it where it is taken."""
    wanted = re.sub(r"\W", "_", wanted)
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def start(node: ast.AST) -> Place:
    """Where a node starts."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def end(node: ast.AST) -> Place:
    """Where a node ends."""
    return getattr(node, "end_lineno", None) or 0, getattr(node, "end_col_offset", None) or 0


def first_line(node: ast.stmt) -> int:
    """The line that a statement begins on, its decorators included."""
    return min((start(d)[0] for d in getattr(node, "decorator_list", [])), default=node.lineno)


def inside(place: Place, first: Place, last: Place) -> bool:
    """Whether a place is within a range."""
    return first <= place < last


def applied(lines: Sequence[bytes], edits: Sequence[TextEdit]) -> str:
    """A text, given by its lines, after some edits that do not overlap."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    text = b"\n".join(lines)
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        first, last = (starts[line - 1] + column for line, column in (edit.start, edit.end))
        text = text[:first] + edit.text.encode() + text[last:]
    return text.decode()


def difference(path: str, old: Sequence[bytes], new: Sequence[bytes]) -> TextEdit:
    """The one edit of whole lines that makes a text of another."""
    head, tail = common_ends(old, new)
    if not tail:  # the last line has no line behind it
        text = b"\n".join(new[head:]).decode()
        return TextEdit(path, (head + 1, 0), (len(old), len(old[-1])), text)
    text = b"".join(line + b"\n" for line in new[head : len(new) - tail]).decode()
    return TextEdit(path, (head + 1, 0), (len(old) - tail + 1, 0), text)


def found_again(old: SourceFile, statement: ast.stmt, new: SourceFile) -> list[ast.stmt]:
    """The block that a statement of a file is in, in the file after changes within that block."""
    owner, block = old.parents[statement], old.block(statement)
    field = next(name for name, value in ast.iter_fields(owner) if value is block)
    if isinstance(owner, ast.Module):
        return new.tree.body
    same = (node for node in new.at(start(owner)) if type(node) is type(owner))
    found: list[ast.stmt] = next((getattr(node, field) for node in same), [])
    return found


def _imports(node: ast.AST, module: str) -> bool:
    """Whether a statement that binds a module's name imports that very module."""
    return isinstance(node, ast.Import) and any(
        alias.name == module or (not alias.asname and alias.name.startswith(f"{module}.")) for alias in node.names
    )
