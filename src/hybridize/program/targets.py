"""What assignments bind: names, attributes, items, nests of them."""

from __future__ import annotations

import ast

from hybridize.program import ir
from hybridize.program.builder import position
from hybridize.program.scope_lowering import Lowering


def bind_target(low: Lowering, target: ast.expr, slot: int, pos: int, *, comprehension: bool = False) -> None:
    """Assigns a value to a target: a name, attribute, item, or a nest of them."""
    match target:
        case ast.Name():
            low.store(target.id, slot, pos, comprehension=comprehension)
        case ast.Attribute():
            shown = _bind_own(low, target, slot) if low.own_fields else slot
            low.emit(ir.SetAttr(position(target), low.expr(target.value), low.mangle(target.attr), shown))
        case ast.Subscript():
            owner, index = low.expr(target.value), low.expr(target.slice)
            low.emit(ir.SetItem(position(target), owner, index, slot))
        case ast.Starred():
            bind_target(low, target.value, slot, pos, comprehension=comprehension)
        case ast.Tuple() | ast.List():
            star = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), -1)
            slots = tuple(low.slot() for _ in target.elts)
            low.emit(ir.Unpack(position(target), slots, slot, star))
            for element, part in zip(target.elts, slots, strict=True):
                bind_target(low, element, part, position(element), comprehension=comprehension)


def own_field(low: Lowering, node: ast.Attribute) -> str:
    """What a field of the object that is made is called while only its constructor has its value; else nothing."""
    first, last = low.own_fields.get(node.attr, (0, -1))
    owner = low.code.params[0].name
    own = first <= node.lineno <= last and isinstance(node.value, ast.Name) and node.value.id == owner
    return f"{owner}.{node.attr}" if own else ""


def _bind_own(low: Lowering, target: ast.Attribute, slot: int) -> int:
    """Binds such a field: what others see of that, which is the second value only."""
    name = own_field(low, target)
    if not name:
        return slot
    if name in low.env:
        low.unset(name)
        return slot
    low.assign(name, slot)
    return low.slot()
