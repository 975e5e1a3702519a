"""What a step in a loop leaves to Python: numbers that are computed in front of it, collecting that comes behind it.

`loss * 0.99 ** epoch` becomes `factor = 0.99 ** epoch` in front and `loss * factor` in the step; `if i < 10:` likewise
asks for a truth value that is computed in front. What only shows, counts, saves or collects moves behind the step
(`loop_behind`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from hybridize.domain.objects import Container, Lib, Lit, Prim, Tensor, Tup, Value
from hybridize.domain.tensors import DENSE, NDARRAY
from hybridize.program.ir import Code
from hybridize.records import dataclass, replace
from hybridize.repairs.bench import NOTHING, Bench, numbers
from hybridize.repairs.edits import TextEdit
from hybridize.repairs.flow_of_names import bound_by, reads
from hybridize.repairs.loop_behind import behind
from hybridize.repairs.names import names_in
from hybridize.repairs.text import SourceFile, end, start
from hybridize.source.ends import common_ends
from hybridize.source.syntax import children, walk

_BUILTINS = frozenset({"min", "max", "abs", "round", "int", "float"})
_PURE = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call, ast.Attribute)
_PARTS = (ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context)
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DIVIDES = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


@dataclass(frozen=True, slots=True)
class Outside:
    """The file as it is then, its loop, and the statements of the step in it.

    `asked` are the names of the objects of which something is asked behind the step that was asked amid it.
    """

    file: SourceFile
    loop: ast.For | ast.While
    block: tuple[ast.stmt, ...]
    asked: tuple[str, ...] = ()


@dataclass(slots=True)
class Mover:
    """Moves what Python keeps out of some statements of a loop. `counters` are its names that hold varying numbers."""

    bench: Bench
    file: SourceFile
    code: Code
    counters: frozenset[str]

    def move(
        self, loop: ast.For | ast.While, block: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float]
    ) -> Outside | None:
        """The file without what stands in the way of a step; None where nothing of it can be moved."""
        later = behind(block, blocked, work, self._is_value)
        while block and block[-1] in later.late:  # it is there already
            later = replace(later, late=later.late[:-1])
            block = block[:-1]
        front, varying = self._assigned(block)
        kept = [s for s in block if s not in front and s not in later.late]
        found = list(self._expressions(kept, later.late, varying))
        if not front and not later.late and not found:
            return None
        texts = {self.file.source(node): node for node in found}
        names = self._named(texts)
        edits = [self._replaced(node, names[self.file.source(node)]) for node in found]
        edits += [each for s in (*front, *later.late) if (each := _lines(self.file, s)) is not None]
        if len(edits) != len(found) + len(front) + len(later.late):
            return None
        indent = self.file.indentation(block[0])
        if indent is None:
            return None
        first, (last, column) = block[0].lineno, end(block[-1])
        lines = [self.file.source(s) for s in front] + [f"{name} = {text}" for text, name in names.items()]
        ahead = "".join(f"{indent}{line}\n" for line in lines)
        after = "".join(f"\n{indent}{line}" for line in self._dedented(later.late))
        edits.append(TextEdit(self.file.path, (first, 0), (first, 0), ahead))
        edits.append(TextEdit(self.file.path, (last, column), (last, column), after))
        text = applied(self.file.lines, edits)
        file = self.file.with_text(text, last)
        return _found_again(file, loop, loop.body.index(block[0]) + len(lines), len(kept), later.asked)

    # Numbers in front -----------------------------------------------------------------------------------------------

    def _assigned(self, block: Sequence[ast.stmt]) -> tuple[list[ast.stmt], frozenset[str]]:
        """The statements that give a name a number made of varying ones, and all names that hold such."""
        varying = set(self.counters)
        front: list[ast.stmt] = []
        for i, statement in enumerate(block):
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            name = statement.targets[0].id
            others = [s for s in block if s is not statement]
            alone = len(statement.targets) == 1 and name not in bound_by(others) and name not in reads(block[:i]).needed
            rest = [s for s in block if s not in front and s is not statement]
            if alone and self._is_number(statement.value, varying) and not names_in(statement.value) & bound_by(rest):
                front.append(statement)
                varying.add(name)
        return front, frozenset(varying)

    def _is_number(self, node: ast.expr, varying: Collection[str]) -> bool:
        """Whether an expression computes a Python number of nothing but numbers, a varying one among them."""
        return bool(names_in(node) & set(varying)) and all(self._is_pure(each) for each in walk(node))

    def _is_pure(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            value = self.value(node.id)
            return bool(numbers(value)) or node.id in _BUILTINS or all(isinstance(o, Lib) for o in value)
        if isinstance(node, ast.Call):
            named = self.bench.names(self.file, node)
            return bool(named) and all(_is_plain(name) for name in named) and not node.keywords
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        if isinstance(node, ast.Attribute):
            return isinstance(node.value, ast.Name) and node.value.id == "math"
        return isinstance(node, (*_PURE, *_PARTS))

    def _expressions(
        self, block: Sequence[ast.stmt], moved: Collection[ast.stmt], varying: frozenset[str]
    ) -> Iterator[ast.expr]:
        """The largest expressions in a step that compute Python numbers of varying ones."""
        bound = bound_by(block)

        def within(node: ast.AST, sure: bool) -> Iterator[ast.expr]:
            if node in moved or isinstance(node, _APART):
                return
            if isinstance(node, ast.expr) and not isinstance(node, (ast.Name, ast.Constant)):
                fits = self._is_number(node, varying) and not names_in(node) & bound
                if fits and (sure or not _may_fail(node)):
                    yield node
                    return
            for child in children(node):
                yield from within(child, sure and not isinstance(node, (ast.If, ast.For, ast.While, ast.BoolOp)))

        for statement in block:
            yield from within(statement, True)

    def _named(self, texts: dict[str, ast.expr]) -> dict[str, str]:
        """A new variable for each of some expressions."""
        taken: set[str] = set()
        found: dict[str, str] = {}
        for text, node in texts.items():
            is_truth = isinstance(node, (ast.Compare, ast.BoolOp))
            base = name = self.file.fresh("flag" if is_truth else "factor")
            number = 1
            while name in taken:
                number += 1
                name = self.file.fresh(f"{base}_{number}")
            taken.add(name)
            found[text] = name
        return found

    def _replaced(self, node: ast.expr, name: str) -> TextEdit:
        """The edit that puts a name in the place of an expression, and of the parentheses that only it needed."""
        edit = self.file.replace(node, name)
        before, after = self.file.lines[edit.start[0] - 1], self.file.lines[edit.end[0] - 1]
        first, last = edit.start[1] - 1, edit.end[1]
        if (
            isinstance(self.file.parents[node], ast.BinOp)
            and before[first : first + 1] + after[last : last + 1] == b"()"
        ):
            return TextEdit(edit.path, (edit.start[0], first), (edit.end[0], last + 1), name)
        return edit

    # What comes behind ----------------------------------------------------------------------------------------------

    def _is_value(self, name: str) -> bool:
        """Whether a name holds numbers, texts, tensors that nothing changes, or containers of Python."""
        value = self.value(name)
        plain = (Lit, Prim, Container, Tup, Lib)
        return bool(value) and all(
            isinstance(o, plain) or (isinstance(o, Tensor) and o.kind in (DENSE, NDARRAY)) for o in value
        )

    def _dedented(self, late: Sequence[ast.stmt]) -> Iterator[str]:
        """The lines of statements, as deep as the block around them is."""
        for statement in late:
            depth = statement.col_offset
            last = self.file.lines[end(statement)[0] - 1]
            lines = [line.decode() for line in self.file.lines[statement.lineno - 1 : end(statement)[0] - 1]]
            for line in [*lines, last.decode()]:
                yield line[depth:] if not line[:depth].strip() else line.lstrip()

    def value(self, name: str) -> Value:
        """What a name of the code, or of its module, may hold."""
        found = NOTHING
        for slot, named in self.code.slot_names.items():
            if named == name:
                found |= self.bench.values(self.code, slot)
        for frame in self.bench.frames(self.code)[:1] if not found else ():
            cell = frame.module.fields.get(name)
            found = cell.value if cell is not None and cell.value else found
        return found or _builtin(name)


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


def _found_again(file: SourceFile, loop: ast.stmt, first: int, count: int, asked: tuple[str, ...]) -> Outside | None:
    for node in file.nodes:
        if isinstance(node, (ast.For, ast.While)) and start(node) == start(loop):
            return Outside(file, node, tuple(node.body[first : first + count]), asked)
    return None


def _lines(file: SourceFile, statement: ast.stmt) -> TextEdit | None:
    """The edit that takes a statement away with its lines; None where they hold something else."""
    last, column = end(statement)
    if file.indentation(statement) is None or file.lines[last - 1][column:].strip() or last >= len(file.lines):
        return None
    return TextEdit(file.path, (statement.lineno, 0), (last + 1, 0), "")


def _may_fail(node: ast.expr) -> bool:
    """Whether computing something earlier than it was may raise."""
    divides = [n for n in walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, _DIVIDES)]
    return any(not (isinstance(n.right, ast.Constant) and n.right.value) for n in divides) or any(
        isinstance(n, ast.Call) for n in walk(node)
    )


def _is_plain(name: str) -> bool:
    return name.startswith("math.") or name.removeprefix("builtins.") in _BUILTINS


def _builtin(name: str) -> Value:
    from hybridize.library.builtin_names import BUILTINS
    from hybridize.library.defaults import library_attribute

    return library_attribute("builtins", name) if name in BUILTINS else NOTHING
