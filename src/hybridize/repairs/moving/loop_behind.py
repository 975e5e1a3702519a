"""What may as well come behind a training step of a loop: what only shows, counts, saves or collects.

Statements that cannot be in a graph stand anywhere among those that compute, in the blocks that tapes record, too. One
of them waits until the step is done where no statement of the step asks for what it does, and nothing that it asks for
is another then.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeGuard

from hybridize.domain.nesting import held as held_in
from hybridize.domain.objects import Container, Lib, Lit, Prim, Tensor, Tup, Value
from hybridize.domain.session import cached
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.facts.functions.looking import contents
from hybridize.records import dataclass
from hybridize.repairs.moving.flow_of_names import forbidden
from hybridize.repairs.moving.parts import work_of
from hybridize.repairs.source.names import names_in
from hybridize.repairs.source.text import end
from hybridize.source.bindings import bound_by
from hybridize.source.syntax import children, walk

#: How many containers in one another are looked into.
_DEEP = 4


@dataclass(frozen=True, slots=True)
class Behind:
    """Statements that come behind a step, in their order, and the names of the objects of which they ask there what the
    step may have changed since."""

    late: tuple[ast.stmt, ...] = ()
    asked: tuple[str, ...] = ()


def behind(
    block: Sequence[ast.stmt],
    blocked: Collection[int],
    work: Mapping[int, float],
    held: Callable[[str], Value],
    gradients: Sequence[ast.stmt] = (),
) -> Behind:
    """What comes behind the statements of a step.

    Args:
        block: the statements.
        blocked: the lines that cannot be in a graph.
        work: how many operations each line runs.
        held: what a place, a name or a field of one (`self.losses`), holds; nothing where that is not known.
        gradients: what is computed before it, too, and changes nothing.
    """
    late: list[ast.stmt] = []
    kept = list(gradients)
    asked: set[str] = set()
    used = {place for s in gradients for place in places(s, held) if not _is_variable(held(place))}
    opened = {
        name
        for tape in _tapes(block)
        for item in tape.items
        if item.optional_vars
        for name in names_in(item.optional_vars)
    }
    for statement in reversed(list(flat(block))):
        wanted = _is_in(statement, blocked) or _adds_up(statement) or not work_of([statement], work)
        bound = bound_by([statement])
        mine = places(statement, held) - bound
        objects = {place for place in mine if not is_fixed(held(place))}
        if wanted and _may_wait(statement, kept, opened, objects, used, held):
            late.insert(0, statement)
            asked |= {place for place in mine if not _is_kept(held(place))} if len(kept) > len(gradients) else set()
            asked |= {place for place in mine & used if _may_change(statement, held(place))}
        else:
            kept.append(statement)
            used |= places(statement, held)
    needed = any(_is_in(each, blocked) for each in late) and not is_emptied(block, late)
    return Behind(tuple(late), tuple(sorted(asked))) if needed else Behind()


def is_tape(statement: ast.stmt) -> TypeGuard[ast.With]:
    """Whether a statement is a block that a tape records."""
    return isinstance(statement, ast.With) and _records(statement)


@cached
def _records(block: ast.With) -> bool:
    return "GradientTape" in ast.unparse(block.items[0])


def flat(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, those that a tape records in place of its own."""
    for statement in block:
        if is_tape(statement):
            yield from flat(statement.body)
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


def _may_wait(
    statement: ast.stmt,
    rest: Sequence[ast.stmt],
    tapes: Collection[str],
    objects: Collection[str],
    theirs: Collection[str],
    held: Callable[[str], Value],
) -> bool:
    """Whether a statement does the same behind others: none changes what another reads, nor uses the same object.

    `objects` are those that it uses, `theirs` the places that the others use.
    """
    used = {name for s in rest for name in names_in(s)}
    if bound_by([statement]) & used or _loads(statement) & (bound_by(rest) | set(tapes)):
        return False
    mine = places(statement, held)
    changed = {place for s in rest for place in _stores(s, held)}
    if _meet(objects, theirs) or _meet(_stores(statement, held), theirs) or _meet(mine, changed):
        return False
    return next(forbidden([statement]), None) is None


def places(node: ast.AST, held: Callable[[str], Value]) -> set[str]:
    """The names that code uses; of an object whose fields are known, the fields."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        place = f"{node.value.id}.{node.attr}"
        return {place if held(place) else node.value.id}
    return set().union(*(places(child, held) for child in children(node)))


def _stores(statement: ast.stmt, held: Callable[[str], Value]) -> set[str]:
    """The places of which a statement writes an item or a field."""
    written = (n for n in walk(statement) if isinstance(n, (ast.Attribute, ast.Subscript)))
    return {place for n in written if not isinstance(n.ctx, ast.Load) for place in places(n, held)}


def _meet(some: Collection[str], others: Collection[str]) -> bool:
    """Whether places have one in common, a name being all its fields."""
    return any(a == b or a.startswith(f"{b}.") or b.startswith(f"{a}.") for a in some for b in others)


def is_fixed(value: Value) -> bool:
    """Whether a place holds numbers, texts, tensors that nothing changes, or parts of libraries."""
    plain = (Lit, Prim, Tup, Lib)
    return bool(value) and all(
        isinstance(o, plain) or (isinstance(o, Tensor) and o.kind in (DENSE, NDARRAY)) for o in value
    )


def _is_kept(value: Value) -> bool:
    """Whether a place holds what is fixed, or containers of Python with nothing else in them."""
    inside = frozenset(held_in(value, _DEEP, contents))
    rest = frozenset(o for o in inside if not isinstance(o, Container))
    return bool(inside) and (not rest or is_fixed(rest))


def _is_variable(value: Value) -> bool:
    """Whether a place holds variables: a gradient is of what was read of them, whatever they hold since."""
    return bool(value) and all(isinstance(o, Tensor) and o.kind == VARIABLE for o in value)


def _may_change(statement: ast.stmt, value: Value) -> bool:
    """Whether a statement calls something that may change an array in place."""
    arrays = any(isinstance(o, Tensor) and o.kind == NDARRAY for o in value)
    return arrays and any(isinstance(n, ast.Call) for n in walk(statement))


def is_emptied(block: Sequence[ast.stmt], late: Sequence[ast.stmt]) -> bool:
    """Whether a tape would have nothing left to record, or the step nothing left to do."""
    return any(all(s in late for s in each) for each in (block, *(tape.body for tape in _tapes(block))))


def _loads(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
