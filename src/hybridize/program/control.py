"""Lowering of branches, loops, `try` and `with`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.builder import Incoming, position
from hybridize.program.expressions import refinements
from hybridize.program.growth import OpenFor
from hybridize.program.ir import NO_SLOT, Block
from hybridize.program.scope_lowering import Lowering, OpenLoop
from hybridize.program.targets import bind_target


def _break(low: Lowering, node: ast.Break) -> bool:
    return _jump(low, node, "breaks")


def _jump(low: Lowering, node: ast.stmt, where: str) -> bool:
    loop, edge = low.loops[-1], low.edge()
    low.lists.open_fors[-1].jumps = True
    getattr(loop, where).append((edge, low.snapshot(loop.names)))
    low.emit(ir.Jump(position(node), edge))
    return False


def _if(low: Lowering, node: ast.If) -> bool:
    condition = low.expr(node.test)
    then = low.nested(node.body, refinements(low, node.test, True))
    other = low.nested(node.orelse, refinements(low, node.test, False))
    return _two_way(low, condition, then, other, position(node))


def _two_way(
    low: Lowering,
    condition: int,
    then: tuple[Block, dict[str, int], bool],
    other: tuple[Block, dict[str, int], bool],
    pos: int,
) -> bool:
    first, second = low.edge(), low.edge()
    low.emit(ir.If(pos, condition, then[0], other[0], first, second))
    incoming: list[Incoming] = []
    if then[2]:
        incoming.append((first, then[1]))
    if other[2]:
        incoming.append((second, other[1]))
    low.join(incoming, pos)
    return bool(incoming)


def _for(low: Lowering, node: ast.For | ast.AsyncFor) -> bool:
    iterable = low.expr(node.iter)
    pos = position(node)
    item = low.slot()

    def test() -> int:
        low.emit(ir.Iter(position(node.iter), item, iterable))
        return NO_SLOT

    def bind() -> None:
        bind_target(low, node.target, item, position(node.target))

    return _loop(low, node, test, bind, iterable, pos)


def _while(low: Lowering, node: ast.While) -> bool:
    return _loop(low, node, lambda: low.expr(node.test), lambda: None, NO_SLOT, position(node))


def _loop(
    low: Lowering,
    node: ast.For | ast.AsyncFor | ast.While,
    test: Callable[[], int],
    bind: Callable[[], None],
    iterable: int,
    pos: int,
) -> bool:
    names = low.scopes.assigned[node] & low.scope.bound
    edges = entry, back, _, done = low.edge(), low.edge(), low.edge(), low.edge()
    before = low.snapshot(names)
    heads = {name: low.slot() for name in sorted(names)}
    for name, slot in heads.items():
        low.code.slot_names[slot] = name
        low.assign(name, slot)
    is_for = not isinstance(node, ast.While)
    loop = OpenLoop(names)
    low.loops.append(loop)
    condition = [NO_SLOT]
    test_block, test_changes = low.branch(lambda: condition.__setitem__(0, test()))
    for name, version in test_changes.items():
        low.assign(name, version)
    falls = [True]

    def body() -> None:
        bind()
        falls[0] = low.block(node.body)

    holding = refinements(low, node.test, True) if isinstance(node, ast.While) else []
    low.lists.open_fors.append(OpenFor(is_for))
    block, changes = low.branch(body, holding)
    low.lists.open_fors.pop()
    low.loops.pop()
    incoming: list[Incoming] = [(entry, before)]
    if falls[0]:
        incoming.append((back, {name: changes.get(name, low.env[name]) for name in names}))
    incoming += loop.continues
    phis = tuple(
        ir.Phi(pos, slot, tuple((edge, env[name]) for edge, env in incoming if name in env))
        for name, slot in heads.items()
    )
    orelse, else_changes, else_falls = low.nested(node.orelse)
    jumps = tuple(edge for edge, _ in loop.breaks), tuple(edge for edge, _ in loop.continues)
    low.emit(ir.Loop(pos, phis, test_block, condition[0], block, orelse, *edges, is_for, iterable, *jumps))
    exits: list[Incoming] = list(loop.breaks)
    endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
    if else_falls and not endless:
        exits.insert(0, (done, else_changes))
    low.join(exits, pos)
    return bool(exits)


def _try(low: Lowering, node: ast.Try | ast.TryStar) -> bool:
    pos = position(node)
    names = low.scopes.assigned[node] & low.scope.bound
    before = low.snapshot(names)
    versions: dict[str, list[int]] = {}
    low.recorders.append(versions)
    body, changes, falls = low.nested(node.body)
    low.recorders.pop()
    fallthrough = low.edge()
    incoming: list[Incoming] = []
    mark = len(low.log)
    for name, version in changes.items():
        low.assign(name, version)
    orelse, else_changes, else_falls = low.nested(node.orelse)
    low.undo(mark)
    if falls and else_falls:
        incoming.append((fallthrough, {**changes, **else_changes}))
    handlers = tuple(_handler(low, h, before, versions, incoming) for h in node.handlers)
    saved, low.out = low.out, []
    low.join(incoming, pos)
    join, low.out = tuple(low.out), saved
    final_falls = True
    final: Block = ()
    if node.finalbody:
        saved, low.out = low.out, []
        final_falls = low.block(node.finalbody)
        final, low.out = tuple(low.out), saved
    low.emit(ir.Try(pos, body, handlers, orelse, fallthrough, join, final))
    return bool(incoming) and final_falls


def _handler(
    low: Lowering,
    node: ast.ExceptHandler,
    before: dict[str, int],
    versions: dict[str, list[int]],
    incoming: list[Incoming],
) -> ir.Handler:
    mark = len(low.log)
    pos = position(node)
    phis = low.handler_phis(before, versions, pos)
    type_slot = [NO_SLOT]
    falls = [True]
    catches: Block = ()
    if node.type is not None:
        kind = node.type
        catches, _ = low.branch(lambda: type_slot.__setitem__(0, low.expr(kind)))
    saved, low.out = low.out, []
    caught = NO_SLOT
    if node.name:
        caught = low.slot()
        low.store(node.name, caught, pos)
    low.nesting += 1
    falls[0] = low.block(node.body)
    low.nesting -= 1
    body, low.out = tuple(low.out), saved
    changes = low.undo(mark)
    edge = low.edge()
    if falls[0]:
        incoming.append((edge, changes))
    return ir.Handler(phis, catches, type_slot[0], caught, body, edge)


def _with(low: Lowering, node: ast.With | ast.AsyncWith) -> bool:
    is_async = isinstance(node, ast.AsyncWith)
    for item in node.items:
        manager, entered = low.expr(item.context_expr), low.slot()
        pos = position(item.context_expr)
        low.emit(ir.Enter(pos, entered, manager, is_async))
        body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        low.emit(ir.Exit(pos, manager, body))  # here, because no `return` in the body skips it
        if item.optional_vars is not None:
            bind_target(low, item.optional_vars, entered, pos)
    return low.block(node.body)


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Lowering, Any], bool | None]]] = {
    ast.Break: _break,
    ast.Continue: lambda low, node: _jump(low, node, "continues"),
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.With: _with,
    ast.AsyncWith: _with,
}
