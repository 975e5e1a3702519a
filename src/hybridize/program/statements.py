"""Lowering of simple statements and imports."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.builder import position
from hybridize.program.expressions import refinements
from hybridize.program.ir import NO_SLOT
from hybridize.program.operators import BINARY
from hybridize.program.scope_lowering import Lowering
from hybridize.program.targets import bind_target


def _expression(low: Lowering, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        if low.lists.watched:
            low.lists.appending(low, node)
        low.expr(node.value)


def _assign_statement(low: Lowering, node: ast.Assign) -> None:
    value = low.expr(node.value)
    for target in node.targets:
        bind_target(low, target, value, position(target))
    low.lists.watch(low, node)


def _annotated(low: Lowering, node: ast.AnnAssign) -> None:
    if low.is_class and isinstance(node.target, ast.Name):
        low.code.fields += (node.target.id,)
        low.code.field_hints[node.target.id] = node.annotation
    if node.value is None:
        return
    slot = low.expr(node.value)
    # Of a constant all is known, and in a class body an annotation says what instances have, not this value.
    if isinstance(node.target, ast.Name) and not low.is_class and not isinstance(node.value, ast.Constant):
        source, slot = slot, low.slot()
        low.emit(ir.Annotated(position(node), slot, source, node.annotation))
    bind_target(low, node.target, slot, position(node))


def _augmented(low: Lowering, node: ast.AugAssign) -> None:
    pos, op, target = position(node), BINARY[type(node.op)], node.target
    dst = low.slot()
    if low.lists.watched:
        low.lists.appending(low, node)
    match target:
        case ast.Name():
            old = low.load(target.id, position(target))
            low.emit(ir.Inplace(pos, dst, op, old, low.expr(node.value)))
            low.store(target.id, dst, pos)
        case ast.Attribute():
            owner, old, name = low.expr(target.value), low.slot(), low.mangle(target.attr)
            low.emit(ir.Attr(pos, old, owner, name))
            low.emit(ir.Inplace(pos, dst, op, old, low.expr(node.value)))
            low.emit(ir.SetAttr(pos, owner, name, dst))
        case ast.Subscript():
            owner, index, old = low.expr(target.value), low.expr(target.slice), low.slot()
            low.emit(ir.Item(pos, old, owner, index))
            low.emit(ir.Inplace(pos, dst, op, old, low.expr(node.value)))
            low.emit(ir.SetItem(pos, owner, index, dst))


def _delete(low: Lowering, node: ast.Delete) -> None:
    for target in node.targets:
        pos = position(target)
        match target:
            case ast.Name():
                if target.id in low.env:
                    low.emit(ir.DelLocal(pos, low.env[target.id]))
                low.unset(target.id)
                if low.is_module or target.id in low.scope.globals:
                    low.emit(ir.DelGlobal(pos, target.id))
                elif low.is_class:
                    low.emit(ir.DelName(pos, low.mangle(target.id)))
                elif target.id in low.scope.nonlocals:
                    low.emit(ir.DelCell(pos, target.id))
            case ast.Attribute():
                low.emit(ir.DelAttr(pos, low.expr(target.value), low.mangle(target.attr)))
            case ast.Subscript():
                low.emit(ir.DelItem(pos, low.expr(target.value), low.expr(target.slice)))
            case ast.Tuple() | ast.List():
                _delete(low, ast.Delete(targets=target.elts))


def _return(low: Lowering, node: ast.Return) -> bool:
    value = low.constant(None) if node.value is None else low.expr(node.value)
    low.emit(ir.Return(position(node), value))
    for loop in low.lists.open_fors:
        loop.jumps = True
    return False


def _raise(low: Lowering, node: ast.Raise) -> bool:
    value = NO_SLOT if node.exc is None else low.expr(node.exc)
    if node.cause is not None:
        low.expr(node.cause)
    low.emit(ir.Raise(position(node), value))
    return False


def _assert(low: Lowering, node: ast.Assert) -> None:
    condition = low.expr(node.test)
    if node.msg is not None:
        message = node.msg
        failed, _ = low.branch(lambda: low.expr(message))
        low.emit(ir.If(position(node), condition, (), failed, low.edge(), low.edge()))
    low.emit(ir.Assert(position(node), condition))
    for name, kind, classes, polarity in refinements(low, node.test, True):
        if name in low.env and name not in low.unsettled and kind != "truth":
            dst = low.slot()
            low.emit(ir.Refine(position(node), dst, low.env[name], kind, polarity, classes))
            low.assign(name, dst)


def _nothing(low: Lowering, node: ast.stmt) -> None:
    """`pass`, `global`, `nonlocal`: the scope pass has seen to them."""


def _imports(low: Lowering, node: ast.Import) -> None:
    pos = position(node)
    for alias in node.names:
        dst = low.slot()
        low.emit(ir.Import(pos, dst, alias.name, alias.asname is None))
        low.store(alias.asname or alias.name.partition(".")[0], dst, pos)


def _import_from(low: Lowering, node: ast.ImportFrom) -> None:
    pos = position(node)
    for alias in node.names:
        if alias.name == "*":
            low.emit(ir.ImportStar(pos, node.module or "", node.level))
            # Any name may be rebound by it: later reads ask the module itself.
            low.unsettled = low.unsettled | low.scope.bound
            continue
        dst = low.slot()
        low.emit(ir.ImportFrom(pos, dst, node.module or "", node.level, alias.name))
        low.store(alias.asname or alias.name, dst, pos)


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Lowering, Any], bool | None]]] = {
    ast.Expr: _expression,
    ast.Assign: _assign_statement,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Pass: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
    ast.Import: _imports,
    ast.ImportFrom: _import_from,
}
if hasattr(ast, "TypeAlias"):
    STATEMENTS[ast.TypeAlias] = _nothing
