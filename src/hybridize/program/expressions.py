"""Lowering of expressions to instructions; each function returns the slot of the value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.builder import position
from hybridize.program.definitions import make_function
from hybridize.program.ir import NO_SLOT, Block, Instr
from hybridize.program.operators import BINARY, COMPARE, UNARY
from hybridize.program.scope_lowering import Lowering, Refinement
from hybridize.program.targets import bind_target, own_field
from hybridize.source.syntax import walk


def _conversion(node: ast.FormattedValue) -> str:
    """The conversion of a formatted value: `r` of `{x!r}`; empty where there is none."""
    return chr(node.conversion) if node.conversion > 0 else ""


def _texts(node: ast.JoinedStr) -> tuple[str | None, ...]:
    """The pieces of an f-string, None for each value; nothing where a format or conversion says how to show one."""
    found: list[str | None] = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            if value.format_spec is not None or value.conversion > 0:
                return ()
            found.append(None)
        elif isinstance(value, ast.Constant):
            found.append(str(value.value))
    return tuple(found)


def _name(low: Lowering, node: ast.Name) -> int:
    return low.load(node.id, position(node))


def _constant(low: Lowering, node: ast.Constant) -> int:
    return low.constant(node.value)


def _attribute(low: Lowering, node: ast.Attribute) -> int:
    if low.lists.watched:
        low.lists.attribute_read(low, node)
    if low.own_fields and (own := own_field(low, node)) in low.env:
        return low.env[own]
    owner = low.expr(node.value)
    dst = low.slot()
    end = node.end_lineno or node.lineno
    # The attribute's own line: a chain may span several.
    line = end if end != node.lineno else node.lineno
    low.emit(ir.Attr(line << 16 | min(node.col_offset, 0xFFFF), dst, owner, low.mangle(node.attr)))
    return dst


def _subscript(low: Lowering, node: ast.Subscript) -> int:
    if low.lists.watched:
        low.lists.item_read(low, node)
    owner = low.expr(node.value)
    index = low.expr(node.slice)
    dst = low.slot()
    low.emit(ir.Item(position(node), dst, owner, index))
    return dst


def _slice(low: Lowering, node: ast.Slice) -> int:
    parts = (low.optional(node.lower), low.optional(node.upper), low.optional(node.step))
    dst = low.slot()
    low.emit(ir.Slice(position(node), dst, *parts))
    return dst


def _call(low: Lowering, node: ast.Call) -> int:
    func = low.expr(node.func)
    args = low.elements(node.args)
    keywords = tuple((kw.arg, low.expr(kw.value)) for kw in node.keywords)
    dst = low.slot()
    low.emit(ir.Call(position(node), dst, func, args, keywords))
    return dst


def _tuple(low: Lowering, node: ast.Tuple) -> int:
    return _sequence(low, ir.Tuple, node)


def _list(low: Lowering, node: ast.List) -> int:
    return _sequence(low, ir.List, node)


def _set(low: Lowering, node: ast.Set) -> int:
    return _sequence(low, ir.Set, node)


def _sequence(low: Lowering, op: type[ir.Sequence | ir.Set], node: ast.Tuple | ast.List | ast.Set) -> int:
    items = low.elements(node.elts)
    dst = low.slot()
    low.emit(op(position(node), dst, items))
    return dst


def _dict(low: Lowering, node: ast.Dict) -> int:
    items = tuple((low.optional(k), low.expr(v)) for k, v in zip(node.keys, node.values, strict=True))
    dst = low.slot()
    low.emit(ir.Dict(position(node), dst, items))
    return dst


def _binary(low: Lowering, node: ast.BinOp) -> int:
    left, right = low.expr(node.left), low.expr(node.right)
    dst = low.slot()
    low.emit(ir.Binary(position(node), dst, BINARY[type(node.op)], left, right))
    return dst


def _unary(low: Lowering, node: ast.UnaryOp) -> int:
    operand = low.expr(node.operand)
    dst = low.slot()
    low.emit(ir.Unary(position(node), dst, UNARY[type(node.op)], operand))
    return dst


def _compare(low: Lowering, node: ast.Compare) -> int:
    left = low.expr(node.left)
    results = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = low.expr(comparator)
        dst = low.slot()
        low.emit(ir.Compare(position(node), dst, COMPARE[type(op)], left, right))
        results.append(dst)
        left = right
    if len(results) == 1:
        return results[0]
    dst = low.slot()
    low.emit(ir.BoolOp(position(node), dst, tuple(results), "and"))
    return dst


def _boolop(low: Lowering, node: ast.BoolOp) -> int:
    """`a and b`: b runs only where a holds, so it is lowered as a branch and sees a's refinements."""
    is_and = isinstance(node.op, ast.And)
    return _short_circuit(low, node.values, is_and, position(node))


def _short_circuit(low: Lowering, values: Sequence[ast.expr], is_and: bool, pos: int) -> int:
    first = low.expr(values[0])
    if len(values) == 1:
        return first
    rest_slot: list[int] = []

    def rest() -> None:
        rest_slot.append(_short_circuit(low, values[1:], is_and, pos))

    narrowed = low.slot()
    block, changes = low.branch(rest, refinements(low, values[0], is_and))
    low.log_changes(changes)
    taken, skipped = low.edge(), low.edge()
    refine = (ir.Refine(pos, narrowed, first, "truth", not is_and),)
    if is_and:
        low.emit(ir.If(pos, first, block, refine, taken, skipped))
    else:
        low.emit(ir.If(pos, first, refine, block, skipped, taken))
    dst = low.slot()
    low.emit(ir.Phi(pos, dst, ((taken, rest_slot[0]), (skipped, narrowed))))
    return dst


def _conditional(low: Lowering, node: ast.IfExp) -> int:
    condition = low.expr(node.test)
    slots: list[int] = []
    pos = position(node)
    then, _ = low.branch(lambda: slots.append(low.expr(node.body)), refinements(low, node.test, True))
    other, _ = low.branch(lambda: slots.append(low.expr(node.orelse)), refinements(low, node.test, False))
    first, second = low.edge(), low.edge()
    low.emit(ir.If(pos, condition, then, other, first, second))
    dst = low.slot()
    low.emit(ir.Phi(pos, dst, ((first, slots[0]), (second, slots[1]))))
    return dst


def refinements(low: Lowering, test: ast.expr, holds: bool) -> list[Refinement]:
    """What a test says about local variables where it holds (or does not)."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return refinements(low, test.operand, not holds)
        case ast.BoolOp(op=op):
            if isinstance(op, ast.And) == holds:
                return [r for value in test.values for r in refinements(low, value, holds)]
        case ast.Name():
            return [(test.id, "truth", NO_SLOT, holds)]
        case ast.NamedExpr(target=ast.Name(id=name)):
            return [(name, "truth", NO_SLOT, holds)]
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
            return [(name, "none", NO_SLOT, holds)]
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]
        ):
            return [(name, "none", NO_SLOT, not holds)]
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
            return [(name, "isinstance", low.expr(kind), holds)] if name in low.env else []
        case ast.Call(
            func=ast.Attribute(attr="is_tensor") | ast.Name(id="is_tensor") as func, args=[ast.Name(id=name)]
        ):
            # The function stands for the types that it knows; one of the project's own says nothing.
            return [(name, "isinstance", low.expr(func), holds)] if name in low.env else []
        case ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)]):
            return [(name, "callable", NO_SLOT, holds)]
    return []


def _lambda(low: Lowering, node: ast.Lambda) -> int:
    return make_function(low, node, "<lambda>")


def _joined(low: Lowering, node: ast.JoinedStr) -> int:
    shown = [v for v in node.values if isinstance(v, ast.FormattedValue)]
    parts = [low.expr(v.value) for v in shown]
    for value in node.values:
        if isinstance(value, ast.FormattedValue) and value.format_spec is not None:
            low.expr(value.format_spec)
    dst = low.slot()
    low.emit(ir.Format(position(node), dst, tuple(parts), tuple(map(_conversion, shown)), _texts(node)))
    return dst


def _formatted(low: Lowering, node: ast.FormattedValue) -> int:
    dst = low.slot()
    low.emit(ir.Format(position(node), dst, (low.expr(node.value),), (_conversion(node),), ()))
    return dst


def _named(low: Lowering, node: ast.NamedExpr) -> int:
    slot = low.expr(node.value)
    low.store(node.target.id, slot, position(node))
    return slot


def _starred(low: Lowering, node: ast.Starred) -> int:
    return low.expr(node.value)


def _await(low: Lowering, node: ast.Await) -> int:
    return _simple(low, ir.Await, low.expr(node.value), node)


def _yield(low: Lowering, node: ast.Yield) -> int:
    value = low.constant(None) if node.value is None else low.expr(node.value)
    return _simple(low, ir.Yield, value, node)


def _yield_from(low: Lowering, node: ast.YieldFrom) -> int:
    return _simple(low, ir.YieldFrom, low.expr(node.value), node)


def _simple(low: Lowering, op: type[ir.Await | ir.Yield | ir.YieldFrom], operand: int, node: ast.expr) -> int:
    dst = low.slot()
    low.emit(op(position(node), dst, operand))
    return dst


def _comprehension(low: Lowering, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> int:
    pos = position(node)
    result = low.slot()
    low.emit(_COMPREHENSIONS[type(node)](pos, result))
    hidden = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
    saved = {name: low.env.get(name) for name in hidden}

    def element() -> None:
        if isinstance(node, ast.DictComp):
            key = low.expr(node.key)
            low.emit(ir.Put(pos, result, key, low.expr(node.value)))
        else:
            low.emit(ir.Append(pos, result, low.expr(node.elt)))

    places = isinstance(node, (ast.ListComp, ast.GeneratorExp)) and not any(
        generator.ifs for generator in node.generators
    )
    source = _generators(low, node, list(node.generators), element, result if places else NO_SLOT)
    if places and len(node.generators) == 1:
        low.emit(ir.Sized(pos, result, source))
    for name, old in saved.items():
        low.log.append((name, low.env.get(name)))
        if old is None:
            low.env.pop(name, None)
        else:
            low.env[name] = old
    return result


def _generators(
    low: Lowering,
    node: ast.AST,
    generators: list[ast.comprehension],
    element: Callable[[], None],
    fills: int = NO_SLOT,
    within: bool = False,
) -> int:
    """Emits the loops of a comprehension; gives the slot of the outermost iterable."""
    if not generators:
        element()
        return NO_SLOT
    generator = generators[0]
    pos = position(generator.target)
    iterable = low.expr(generator.iter)
    item = low.slot()

    def body() -> None:
        bind_target(low, generator.target, item, pos, comprehension=True)
        _filters(low, node, generator.ifs, generators[1:], element, fills)

    block, _ = low.branch(body)
    entry, back, exhausted, done = low.edge(), low.edge(), low.edge(), low.edge()
    test: Block = (ir.Iter(pos, item, iterable),)
    nests = len(generators) > 1
    edges = (entry, back, exhausted, done)
    low.emit(ir.Loop(pos, (), test, NO_SLOT, block, (), *edges, True, iterable, (), (), fills, nests, within))
    return iterable


def _filters(
    low: Lowering,
    node: ast.AST,
    tests: Sequence[ast.expr],
    generators: list[ast.comprehension],
    element: Callable[[], None],
    fills: int = NO_SLOT,
) -> None:
    if not tests:
        _generators(low, node, generators, element, fills, within=True)
        return
    condition = low.expr(tests[0])
    block, _ = low.branch(lambda: _filters(low, node, tests[1:], generators, element), refinements(low, tests[0], True))
    low.emit(ir.If(position(tests[0]), condition, block, (), low.edge(), low.edge()))


_COMPREHENSIONS: Final[dict[type[ast.expr], Callable[[int, int], Instr]]] = {
    ast.ListComp: lambda pos, result: ir.List(pos, result, ()),
    ast.SetComp: lambda pos, result: ir.Set(pos, result, ()),
    ast.DictComp: lambda pos, result: ir.Dict(pos, result, ()),
    ast.GeneratorExp: ir.Generator,
}
EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Lowering, Any], int]]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolop,
    ast.IfExp: _conditional,
    ast.Lambda: _lambda,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.NamedExpr: _named,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
