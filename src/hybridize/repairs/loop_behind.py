"""What may as well come behind a training step of a loop: what only shows, counts, saves or collects.

Statements that cannot be in a graph stand anywhere among those that compute, in the blocks that tapes record, too. One
of them waits until the step is done where no statement of the step asks for what it does, and nothing that it asks for
is another then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeGuard

from hybridize.records import dataclass
from hybridize.repairs.flow_of_names import bound_by, forbidden
from hybridize.repairs.names import names_in
from hybridize.repairs.parts import work_of
from hybridize.repairs.text import end
from hybridize.source.syntax import walk


@dataclass(frozen=True, slots=True)
class Behind:
    """Statements that come behind a step, in their order, and the names of the objects of which they ask there what the
    step may have changed since."""

    late: tuple[ast.stmt, ...] = ()
    asked: tuple[str, ...] = ()


def behind(
    block: Sequence[ast.stmt], blocked: Collection[int], work: Mapping[int, float], is_value: Callable[[str], bool]
) -> Behind:
    """What comes behind the statements of a step.

    Args:
        block: the statements.
        blocked: the lines that cannot be in a graph.
        work: how many operations each line runs.
        is_value: whether a name holds numbers, texts, tensors that nothing changes, or containers of Python.
    """
    late: list[ast.stmt] = []
    kept: list[ast.stmt] = []
    asked: set[str] = set()
    opened = {
        name
        for tape in _tapes(block)
        for item in tape.items
        if item.optional_vars
        for name in names_in(item.optional_vars)
    }
    for statement in reversed(list(_flat(block))):
        wanted = _is_in(statement, blocked) or _adds_up(statement) or not work_of([statement], work)
        others = {name for name in _loads(statement) - bound_by([statement]) if not is_value(name)} if kept else set()
        if wanted and _may_wait(statement, kept, opened, others):
            late.insert(0, statement)
            asked |= others
        else:
            kept.append(statement)
    needed = any(_is_in(each, blocked) for each in late) and not _is_emptied(block, late)
    return Behind(tuple(late), tuple(sorted(asked))) if needed else Behind()


def is_tape(statement: ast.stmt) -> TypeGuard[ast.With]:
    """Whether a statement is a block that a tape records."""
    return isinstance(statement, ast.With) and "GradientTape" in ast.unparse(statement.items[0])


def _flat(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, those that a tape records in place of its own."""
    for statement in block:
        if is_tape(statement):
            yield from _flat(statement.body)
        else:
            yield statement


def _tapes(block: Sequence[ast.stmt]) -> Iterator[ast.With]:
    for statement in block:
        if is_tape(statement):
            yield statement
            yield from _tapes(statement.body)


def _is_in(statement: ast.stmt, lines: Collection[int]) -> bool:
    return any(line in lines for line in range(statement.lineno, end(statement)[0] + 1))


def _adds_up(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)


def _may_wait(statement: ast.stmt, rest: Sequence[ast.stmt], tapes: Collection[str], others: Collection[str]) -> bool:
    """Whether a statement does the same behind others: none binds what another reads, nor uses the same object."""
    used = {name for s in rest for name in names_in(s)}
    loads = _loads(statement)
    if bound_by([statement]) & used or loads & (bound_by(rest) | set(tapes)) or used & set(others):
        return False
    return next(forbidden([statement]), None) is None


def _is_emptied(block: Sequence[ast.stmt], late: Sequence[ast.stmt]) -> bool:
    """Whether a tape would have nothing left to record, or the step nothing left to do."""
    return any(all(s in late for s in each) for each in (block, *(tape.body for tape in _tapes(block))))


def _loads(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
