"""What a step in a loop leaves to Python: numbers that are computed in front of it, collecting that comes behind it.

`loss * 0.99 ** epoch` becomes `factor = 0.99 ** epoch` in front and `loss * factor` in the step; `if i < 10:` likewise
asks for a truth value that is computed in front. What only shows, counts, saves or collects moves behind the step
(`loop_behind`).
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from hybridize.domain.objects import Bound, Func, Inst, Lib, Unknown, Value
from hybridize.library.registry import normalize
from hybridize.program.ir import Code
from hybridize.records import dataclass, field, replace
from hybridize.repairs.moving.hoisting import Early, early
from hybridize.repairs.moving.loop_behind import Behind, behind, flat, is_emptied, is_fixed, places
from hybridize.repairs.source.bench import NOTHING, Bench, numbers
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import names_in
from hybridize.repairs.source.text import SourceFile, applied, end, found_again
from hybridize.source.bindings import bound_by, reads
from hybridize.source.syntax import children, walk
from hybridize.tracing.views import position_of

_BUILTINS = frozenset({"min", "max", "abs", "round", "int", "float"})
_PURE = (ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Call, ast.Attribute)
_PARTS = (ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context, ast.keyword)
#: Functions of TensorFlow that make tensors of Python numbers, and do nothing else.
_OF_NUMBERS = {f"tf.math.{name}" for name in "abs cos exp log maximum minimum pow sin sqrt square tanh".split()} | {
    "tf.cast",
    "tf.constant",
}
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Effects that depend on when they happen.
_WHEN = frozenset({"random", "clock", "state"})
_DIVIDES = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


@dataclass(frozen=True, slots=True)
class Outside:
    """The file as it is then, and the statements of the step in it; `back` are those of a part that comes later.

    `asked` are the names of the objects of which something is asked behind the step that was asked amid it,
    `interrupted` says that gradients are computed earlier than they were, `shuffled` that random numbers are drawn
    before what comes behind the step now.
    """

    file: SourceFile
    block: tuple[ast.stmt, ...]
    asked: tuple[str, ...] = ()
    back: tuple[ast.stmt, ...] = ()
    interrupted: bool = False
    shuffled: bool = False


@dataclass(slots=True)
class Mover:
    """Moves what Python keeps out of some statements of a loop.

    `counters` are its names that hold varying numbers, `draws` the positions of draws that a graph would not make, with
    what a function reads that does so.
    """

    bench: Bench
    file: SourceFile
    code: Code
    counters: frozenset[str]
    draws: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def move(self, block: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float]) -> Outside | None:
        """The file without what stands in the way of a step; None where nothing of it can be moved."""
        later = self.behind(block, blocked, work)
        while block and block[-1] in later.late:  # it is there already
            later = replace(later, late=later.late[:-1])
            block = block[:-1]
        front, varying = self._assigned(block)
        drawn = self._drawn(block, later.late)
        away = (*front, *drawn.whole, *later.late)
        kept = [s for s in block if s not in away]
        found = list(self._expressions(kept, (*away, *drawn.inner), varying))
        moved = drawn.moved(self.file, "drawn")
        if not (away or found or drawn.inner) or moved is None or is_emptied(block, away):
            return None
        texts = {self.file.source(node): node for node in found}
        names = self._named(texts)
        edits = [*moved[0], *(self._replaced(node, names[self.file.source(node)]) for node in found)]
        gone = [self.file.whole_lines(s, comment=True) for s in (*front, *later.late)]
        indent, behind = self.file.indentation(block[0]), self.file.behind(block[-1])
        if indent is None or behind is None or None in gone:
            return None
        edits += [each for each in gone if each is not None]
        first, last = block[0].lineno, behind[0]
        lines = [self.file.with_comment(s) for s in front] + [f"{name} = {text}" for text, name in names.items()]
        lines += [text for _, text in moved[1]]
        ahead = "".join(f"{indent}{line}\n" for line in lines)
        after = "".join(f"\n{indent}{line}" for line in self.file.dedented(later.late))
        edits.append(TextEdit(self.file.path, (first, 0), (first, 0), ahead))
        edits.append(TextEdit(self.file.path, behind, behind, after))
        text = applied(self.file.lines, edits)
        file = self.file.with_text(text, last)
        body = found_again(self.file, block[0], file)
        at = self.file.block(block[0]).index(block[0]) + len(lines)
        shuffled = bool(moved[1] and later.late)
        return Outside(file, tuple(body[at : at + len(kept)]), later.asked, shuffled=shuffled) if body else None

    def behind(
        self,
        block: Sequence[ast.stmt],
        blocked: Collection[int],
        work: Mapping[int, float],
        gradients: Sequence[ast.stmt] = (),
    ) -> Behind:
        """What comes behind the step; the clock and the like are asked as well as objects are."""
        found = behind(block, blocked, work, self.value, gradients)
        lines = {line for s in found.late for line in range(s.lineno, end(s)[0] + 1)}
        effects = [e for frame in self.bench.frames(self.code) for e in frame.effects.values()]
        asked = {e.detail for e in effects if e.kind in _WHEN and e.position >> 16 in lines}
        return replace(found, asked=tuple(sorted(asked.union(found.asked))))

    def _drawn(self, block: Sequence[ast.stmt], late: Collection[ast.stmt]) -> Early:
        """What a step draws in any case, of nothing that it computes, if that is all it draws: it comes in front."""
        statements = [s for s in flat(block) if s not in late]
        bound = bound_by(statements)

        def is_drawn(node: ast.expr) -> bool:
            drawn = [n for n in walk(node) if isinstance(n, ast.Call) and self._draws(n)]
            read = names_in(node).union(*(self.draws[position_of(n)] for n in drawn))
            makers = {n.func.id for n in drawn if isinstance(n.func, ast.Name)}
            return (
                bool(drawn)
                and not any(isinstance(n, _APART) for n in walk(node))
                and not read & bound
                and all(is_fixed(self.value(place)) for place in places(node, self.value) - makers)
            )

        found = early(statements, is_drawn)
        inside = {n for e in (*(s.value for s in found.whole), *found.inner) for n in walk(e)}
        others = (n for s in block for n in walk(s) if n not in inside)
        return Early() if any(map(self._draws, others)) else found

    def draws_early(self, block: Sequence[ast.stmt], late: Collection[ast.stmt]) -> bool:
        """Whether all that a step draws, if it does, can come in front."""
        drawn = self._drawn(block, late)
        return bool(drawn.whole or drawn.inner) or not any(self._draws(n) for s in block for n in walk(s))

    def _draws(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and position_of(node) in self.draws

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
        if not names_in(node) & set(varying) or not all(self._is_pure(each) for each in walk(node)):
            return False
        # A truth value that is a tensor stays where it is: there Python may decide by it.
        decides = any(isinstance(each, (ast.Compare, ast.BoolOp, ast.IfExp, ast.Not)) for each in walk(node))
        return not decides or not any(self._is_of_tensorflow(each) for each in walk(node))

    def _is_of_tensorflow(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and any(map(_makes_tensor, self.bench.names(self.file, node)))

    def _is_pure(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            value = self.value(node.id)
            return bool(numbers(value)) or node.id in _BUILTINS or all(isinstance(o, Lib) for o in value)
        if isinstance(node, ast.Call):
            named = self.bench.names(self.file, node)
            return (
                bool(named) and all(_is_plain(name) for name in named) and all(k.arg == "dtype" for k in node.keywords)
            )
        if isinstance(node, ast.Constant):
            return isinstance(node.value, (int, float))
        if isinstance(node, ast.Attribute):
            return isinstance(node.value, ast.Name) and self._is_library(node.value.id)
        return isinstance(node, (*_PURE, *_PARTS))

    def _is_library(self, name: str) -> bool:
        value = self.value(name)
        return name == "math" or (bool(value) and all(isinstance(o, Lib) for o in value))

    def _expressions(
        self, block: Sequence[ast.stmt], moved: Collection[ast.AST], varying: frozenset[str]
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

    def value(self, place: str) -> Value:
        """What a name of the code or of its module may hold, or a field of it (`self.losses`)."""
        name, _, field = place.partition(".")
        found = NOTHING
        for slot, named in self.code.slot_names.items():
            if named == name:
                found |= self.bench.values(self.code, slot)
        for frame in self.bench.frames(self.code)[:1] if not found else ():
            cell = frame.module.fields.get(name)
            found = cell.value if cell is not None and cell.value else found
        found = found or _builtin(name)
        return _field(found, field) if field else found


def _field(owners: Value, name: str) -> Value:
    """What a field of instances holds; nothing where one of them may have none, or computes it."""
    found = NOTHING
    for owner in owners:
        if not isinstance(owner, Inst) or name not in owner.fields:
            return NOTHING
        found |= owner.fields[name].value
    return NOTHING if any(isinstance(o, (Unknown, Bound, Func)) for o in found) else found


def _may_fail(node: ast.expr) -> bool:
    """Whether computing something earlier than it was may raise."""
    divides = [n for n in walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, _DIVIDES)]
    return any(not (isinstance(n.right, ast.Constant) and n.right.value) for n in divides) or any(
        isinstance(n, ast.Call) for n in walk(node)
    )


def _makes_tensor(name: str) -> bool:
    return normalize(name) in _OF_NUMBERS


def _is_plain(name: str) -> bool:
    return name.startswith("math.") or name.removeprefix("builtins.") in _BUILTINS or _makes_tensor(name)


def _builtin(name: str) -> Value:
    from hybridize.library.builtin_names import BUILTINS
    from hybridize.library.defaults import library_attribute

    return library_attribute("builtins", name) if name in BUILTINS else NOTHING
