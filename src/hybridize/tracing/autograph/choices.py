"""What conditions say of names and attributes, as they are written: which branches cannot both be taken."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.records import dataclass

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a condition says of a name or attribute: that it is one of some values, or (not `among`) none of them.

    Without values it says whether what is there counts as true.
    """

    path: str
    values: frozenset[object]
    among: bool

    def contradicts(self, other: Choice) -> bool:
        """Whether both cannot hold at once."""
        if self.path != other.path or bool(self.values) != bool(other.values):
            return False
        if not self.values:
            return self.among != other.among
        if self.among and other.among:
            return self.values.isdisjoint(other.values)
        if self.among != other.among:
            chosen, excluded = (self, other) if self.among else (other, self)
            return chosen.values <= excluded.values
        return False

    def admits(self, value: object) -> bool:
        """Whether it holds where a constant is what it speaks of."""
        return (value in self.values if self.values else bool(value)) == self.among


def choices(test: ast.expr, holds: bool) -> Iterator[Choice]:
    """What a condition that holds, or does not, says of names and attributes."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            yield from choices(test.operand, not holds)
        case ast.BoolOp(op=op) if isinstance(op, ast.And) == holds:
            for each in test.values:
                yield from choices(each, holds)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            path, values = _path(left), _constants(right)
            if path is not None and values is not None and isinstance(op, (ast.Eq, ast.Is, ast.In)):
                yield Choice(path, values, holds)
            elif path is not None and values is not None and isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn)):
                yield Choice(path, values, not holds)
        case ast.Name() | ast.Attribute():
            path = _path(test)
            if path is not None:
                yield Choice(path, frozenset(), holds)


def _path(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        inner = _path(node.value)
        return f"{inner}.{node.attr}" if inner is not None else None
    return node.id if isinstance(node, ast.Name) else None


def _constants(node: ast.expr) -> frozenset[object] | None:
    if isinstance(node, ast.Constant):
        return frozenset({node.value})
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and node.elts:
        parts = [_constants(each) for each in node.elts if isinstance(each, ast.Constant)]
        if len(parts) == len(node.elts):
            return frozenset[object]().union(*(part for part in parts if part is not None))
    return None


def around(body: list[ast.stmt], line: int) -> Iterator[Choice]:
    """What holds where control comes to a line: the branches around it, and those before it that do not come back."""
    for statement in body:
        if statement.lineno > line:
            return
        inside = statement.lineno <= line <= (statement.end_lineno or statement.lineno)
        if isinstance(statement, ast.If):
            if not inside:
                if isinstance(statement.body[-1], _ENDS):
                    yield from choices(statement.test, False)
            elif any(each.lineno <= line <= (each.end_lineno or each.lineno) for each in statement.body):
                yield from choices(statement.test, True)
                yield from around(statement.body, line)
            elif line > (statement.test.end_lineno or line):
                yield from choices(statement.test, False)
                yield from around(statement.orelse, line)
        elif inside:
            for name in ("body", "orelse", "finalbody"):
                yield from around(getattr(statement, name, None) or [], line)
