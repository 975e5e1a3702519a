"""What statements compute in any case, once, may be computed in front of them: the text of that."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from hybridize.records import dataclass
from hybridize.repairs.source.edits import Place, TextEdit
from hybridize.repairs.source.names import names_in
from hybridize.repairs.source.text import SourceFile, start
from hybridize.source.syntax import children

_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LATER = (ast.Lambda, ast.IfExp, ast.BoolOp)


@dataclass(frozen=True, slots=True)
class Early:
    """What can come earlier: `whole` are statements that only give a name to it, `inner` expressions in others."""

    whole: tuple[ast.Assign, ...] = ()
    inner: tuple[ast.expr, ...] = ()

    def moved(self, file: SourceFile, wanted: str) -> tuple[list[TextEdit], list[tuple[Place, str]]] | None:
        """The edits that take it away, and its lines with the places where it stood; None where it shares lines.

        An expression becomes a new variable, called `wanted` or so.
        """
        edits: list[TextEdit] = []
        lines: list[tuple[Place, str]] = []
        taken: set[str] = set()
        for statement in self.whole:
            gone = file.whole_lines(statement, comment=True)
            if gone is None:
                return None
            edits.append(gone)
            lines.append((start(statement), file.with_comment(statement)))
        for node in self.inner:
            name = file.fresh(wanted, taken)
            taken.add(name)
            edits.append(file.replace(node, name))
            lines.append((start(node), f"{name} = {file.source(node)}"))
        return edits, sorted(lines)


def early(statements: Sequence[ast.stmt], wanted: Callable[[ast.expr], bool]) -> Early:
    """The wanted expressions that statements compute in any case, once: alone, or within others."""
    whole: list[ast.Assign] = []
    inner: list[ast.expr] = []
    for i, statement in enumerate(statements):
        found = list(_once(statement, wanted))
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.Assign) and found == [statement.value] and len(targets) == 1:
            target = targets[0]
            before = {name for s in statements[:i] for name in names_in(s)}
            if isinstance(target, ast.Name) and target.id not in before:
                whole.append(statement)
                continue
        inner += found
    return Early(tuple(whole), tuple(inner))


def _once(statement: ast.stmt, wanted: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    if isinstance(statement, ast.For):
        yield from _largest(statement.iter, wanted)
    elif isinstance(statement, _PLAIN):
        yield from _largest(statement, wanted)


def _largest(node: ast.AST, wanted: Callable[[ast.expr], bool]) -> Iterator[ast.expr]:
    if isinstance(node, ast.expr) and wanted(node):
        yield node
    elif isinstance(node, _COMPREHENSIONS):
        yield from _largest(node.generators[0].iter, wanted)
    elif not isinstance(node, _LATER):
        for child in children(node):
            yield from _largest(child, wanted)
