"""Lowering of expressions to instructions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from hybridize.program import ir
from hybridize.program.builder import Builder, position
from hybridize.program.ir import NO_SLOT, Block, Instr, Param
from hybridize.program.scopes import FunctionNode
from hybridize.source.syntax import walk

Refinement: TypeAlias = tuple[str, str, int, bool]  # variable, kind, slot of classes, polarity

BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.FloorDiv: "//",
}
UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Invert: "~", ast.Not: "not", ast.UAdd: "+", ast.USub: "-"}
COMPARE: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


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


class ExpressionLowering(Builder):
    """Lowers expressions; each method returns the slot of the value."""

    def expr(self, node: ast.expr) -> int:
        """The slot of an expression's value."""
        return _EXPRESSIONS[type(node)](self, node)

    def optional(self, node: ast.expr | None) -> int:
        """The slot of an optional part, `NO_SLOT` if absent."""
        return NO_SLOT if node is None else self.expr(node)

    def name(self, node: ast.Name) -> int:
        return self.load(node.id, position(node))

    def const(self, node: ast.Constant) -> int:
        return self.constant(node.value)

    def attribute(self, node: ast.Attribute) -> int:
        if self.own_fields and (own := self._own_field(node)) in self.env:
            return self.env[own]
        owner = self.expr(node.value)
        dst = self.slot()
        end = node.end_lineno or node.lineno
        # The attribute's own line: a chain may span several.
        line = end if end != node.lineno else node.lineno
        self.emit(ir.Attr(line << 16 | min(node.col_offset, 0xFFFF), dst, owner, self.mangle(node.attr)))
        return dst

    def subscript(self, node: ast.Subscript) -> int:
        owner = self.expr(node.value)
        index = self.expr(node.slice)
        dst = self.slot()
        self.emit(ir.Item(position(node), dst, owner, index))
        return dst

    def slice(self, node: ast.Slice) -> int:
        parts = (self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        dst = self.slot()
        self.emit(ir.Slice(position(node), dst, *parts))
        return dst

    def call(self, node: ast.Call) -> int:
        func = self.expr(node.func)
        args = self.elements(node.args)
        keywords = tuple((kw.arg, self.expr(kw.value)) for kw in node.keywords)
        dst = self.slot()
        self.emit(ir.Call(position(node), dst, func, args, keywords))
        return dst

    def elements(self, nodes: Sequence[ast.expr]) -> tuple[tuple[int, bool], ...]:
        """Slots of elements, each with whether it is starred."""
        return tuple([(self.expr(n.value), True) if type(n) is ast.Starred else (self.expr(n), False) for n in nodes])

    def tuple_(self, node: ast.Tuple) -> int:
        return self._sequence(ir.Tuple, node)

    def list_(self, node: ast.List) -> int:
        return self._sequence(ir.List, node)

    def set_(self, node: ast.Set) -> int:
        return self._sequence(ir.Set, node)

    def _sequence(self, op: type[ir.Tuple | ir.List | ir.Set], node: ast.Tuple | ast.List | ast.Set) -> int:
        items = self.elements(node.elts)
        dst = self.slot()
        self.emit(op(position(node), dst, items))
        return dst

    def dict_(self, node: ast.Dict) -> int:
        items = tuple((self.optional(k), self.expr(v)) for k, v in zip(node.keys, node.values, strict=True))
        dst = self.slot()
        self.emit(ir.Dict(position(node), dst, items))
        return dst

    def binary(self, node: ast.BinOp) -> int:
        left, right = self.expr(node.left), self.expr(node.right)
        dst = self.slot()
        self.emit(ir.Binary(position(node), dst, BINARY[type(node.op)], left, right))
        return dst

    def unary(self, node: ast.UnaryOp) -> int:
        operand = self.expr(node.operand)
        dst = self.slot()
        self.emit(ir.Unary(position(node), dst, UNARY[type(node.op)], operand))
        return dst

    def compare(self, node: ast.Compare) -> int:
        left = self.expr(node.left)
        results = []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            dst = self.slot()
            self.emit(ir.Compare(position(node), dst, COMPARE[type(op)], left, right))
            results.append(dst)
            left = right
        if len(results) == 1:
            return results[0]
        dst = self.slot()
        self.emit(ir.BoolOp(position(node), dst, tuple(results), "and"))
        return dst

    def boolop(self, node: ast.BoolOp) -> int:
        """`a and b`: b runs only where a holds, so it is lowered as a branch and sees a's refinements."""
        is_and = isinstance(node.op, ast.And)
        return self._short_circuit(node.values, is_and, position(node))

    def _short_circuit(self, values: Sequence[ast.expr], is_and: bool, pos: int) -> int:
        first = self.expr(values[0])
        if len(values) == 1:
            return first
        rest_slot: list[int] = []

        def rest() -> None:
            rest_slot.append(self._short_circuit(values[1:], is_and, pos))

        narrowed = self.slot()
        block, changes = self.branch(rest, self.refinements(values[0], is_and))
        self.log_changes(changes)
        taken, skipped = self.edge(), self.edge()
        refine = (ir.Refine(pos, narrowed, first, "truth", not is_and),)
        if is_and:
            self.emit(ir.If(pos, first, block, refine, taken, skipped))
        else:
            self.emit(ir.If(pos, first, refine, block, skipped, taken))
        dst = self.slot()
        self.emit(ir.Phi(pos, dst, ((taken, rest_slot[0]), (skipped, narrowed))))
        return dst

    def log_changes(self, changes: dict[str, int]) -> None:
        """Keeps variables that a walrus inside a skipped operand bound: they may be bound afterwards."""
        for name, version in changes.items():
            if name not in self.env:
                self.assign(name, version)

    def branch(
        self, lower: Callable[[], object], refinements: Sequence[Refinement] = ()
    ) -> tuple[Block, dict[str, int]]:
        """Lowers a branch into a block of its own; returns it with the versions that it changed."""
        saved, self.out = self.out, []
        self.nesting += 1
        mark = len(self.log)
        for name, kind, classes, polarity in refinements:
            if name in self.env and name not in self.unsettled:
                dst = self.slot()
                self.emit(ir.Refine(self.code.position, dst, self.env[name], kind, polarity, classes))
                self.assign(name, dst)
        lower()
        changes = self.undo(mark)
        self.nesting -= 1
        block, self.out = tuple(self.out), saved
        return block, changes

    def conditional(self, node: ast.IfExp) -> int:
        condition = self.expr(node.test)
        slots: list[int] = []
        pos = position(node)
        then, _ = self.branch(lambda: slots.append(self.expr(node.body)), self.refinements(node.test, True))
        other, _ = self.branch(lambda: slots.append(self.expr(node.orelse)), self.refinements(node.test, False))
        first, second = self.edge(), self.edge()
        self.emit(ir.If(pos, condition, then, other, first, second))
        dst = self.slot()
        self.emit(ir.Phi(pos, dst, ((first, slots[0]), (second, slots[1]))))
        return dst

    def refinements(self, test: ast.expr, holds: bool) -> list[Refinement]:
        """What a test says about local variables where it holds (or does not)."""
        match test:
            case ast.UnaryOp(op=ast.Not()):
                return self.refinements(test.operand, not holds)
            case ast.BoolOp(op=op):
                if isinstance(op, ast.And) == holds:
                    return [r for value in test.values for r in self.refinements(value, holds)]
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
                return [(name, "isinstance", self.expr(kind), holds)] if name in self.env else []
            case ast.Call(
                func=ast.Attribute(attr="is_tensor") | ast.Name(id="is_tensor") as func, args=[ast.Name(id=name)]
            ):
                # The function stands for the types that it knows; one of the project's own says nothing.
                return [(name, "isinstance", self.expr(func), holds)] if name in self.env else []
            case ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)]):
                return [(name, "callable", NO_SLOT, holds)]
        return []

    def lambda_(self, node: ast.Lambda) -> int:
        return self.make_function(node, "<lambda>")

    def make_function(self, node: FunctionNode, name: str) -> int:
        """Lowers a function or lambda; returns the slot of the function object, without its decorators."""
        raise NotImplementedError

    def joined(self, node: ast.JoinedStr) -> int:
        shown = [v for v in node.values if isinstance(v, ast.FormattedValue)]
        parts = [self.expr(v.value) for v in shown]
        for value in node.values:
            if isinstance(value, ast.FormattedValue) and value.format_spec is not None:
                self.expr(value.format_spec)
        dst = self.slot()
        self.emit(ir.Format(position(node), dst, tuple(parts), tuple(map(_conversion, shown)), _texts(node)))
        return dst

    def formatted(self, node: ast.FormattedValue) -> int:
        dst = self.slot()
        self.emit(ir.Format(position(node), dst, (self.expr(node.value),), (_conversion(node),), ()))
        return dst

    def named(self, node: ast.NamedExpr) -> int:
        slot = self.expr(node.value)
        self.store(node.target.id, slot, position(node))
        return slot

    def starred(self, node: ast.Starred) -> int:
        return self.expr(node.value)

    def await_(self, node: ast.Await) -> int:
        return self._simple(ir.Await, self.expr(node.value), node)

    def yield_(self, node: ast.Yield) -> int:
        value = self.constant(None) if node.value is None else self.expr(node.value)
        return self._simple(ir.Yield, value, node)

    def yield_from(self, node: ast.YieldFrom) -> int:
        return self._simple(ir.YieldFrom, self.expr(node.value), node)

    def _simple(self, op: type[ir.Await | ir.Yield | ir.YieldFrom], operand: int, node: ast.expr) -> int:
        dst = self.slot()
        self.emit(op(position(node), dst, operand))
        return dst

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> int:
        pos = position(node)
        result = self.slot()
        self.emit(_COMPREHENSIONS[type(node)](pos, result))
        hidden = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
        saved = {name: self.env.get(name) for name in hidden}

        def element() -> None:
            if isinstance(node, ast.DictComp):
                key = self.expr(node.key)
                self.emit(ir.Put(pos, result, key, self.expr(node.value)))
            else:
                self.emit(ir.Append(pos, result, self.expr(node.elt)))

        places = isinstance(node, (ast.ListComp, ast.GeneratorExp)) and not any(
            generator.ifs for generator in node.generators
        )
        source = self._generators(node, list(node.generators), element, result if places else NO_SLOT)
        if places and len(node.generators) == 1:
            self.emit(ir.Sized(pos, result, source))
        for name, old in saved.items():
            self.log.append((name, self.env.get(name)))
            if old is None:
                self.env.pop(name, None)
            else:
                self.env[name] = old
        return result

    def _generators(
        self,
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
        iterable = self.expr(generator.iter)
        item = self.slot()

        def body() -> None:
            self.bind_target(generator.target, item, pos, comprehension=True)
            self._filters(node, generator.ifs, generators[1:], element, fills)

        block, _ = self.branch(body)
        entry, back, exhausted, done = self.edge(), self.edge(), self.edge(), self.edge()
        test: Block = (ir.Iter(pos, item, iterable),)
        nests = len(generators) > 1
        edges = (entry, back, exhausted, done)
        self.emit(ir.Loop(pos, (), test, NO_SLOT, block, (), *edges, True, iterable, (), (), fills, nests, within))
        return iterable

    def _filters(
        self,
        node: ast.AST,
        tests: Sequence[ast.expr],
        generators: list[ast.comprehension],
        element: Callable[[], None],
        fills: int = NO_SLOT,
    ) -> None:
        if not tests:
            self._generators(node, generators, element, fills, within=True)
            return
        condition = self.expr(tests[0])
        block, _ = self.branch(
            lambda: self._filters(node, tests[1:], generators, element), self.refinements(tests[0], True)
        )
        self.emit(ir.If(position(tests[0]), condition, block, (), self.edge(), self.edge()))

    def bind_target(self, target: ast.expr, slot: int, pos: int, *, comprehension: bool = False) -> None:
        """Assigns a value to a target: a name, attribute, item, or a nest of them."""
        match target:
            case ast.Name():
                self.store(target.id, slot, pos, comprehension=comprehension)
            case ast.Attribute():
                shown = self._bind_own(target, slot) if self.own_fields else slot
                self.emit(ir.SetAttr(position(target), self.expr(target.value), self.mangle(target.attr), shown))
            case ast.Subscript():
                owner, index = self.expr(target.value), self.expr(target.slice)
                self.emit(ir.SetItem(position(target), owner, index, slot))
            case ast.Starred():
                self.bind_target(target.value, slot, pos, comprehension=comprehension)
            case ast.Tuple() | ast.List():
                star = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), -1)
                slots = tuple(self.slot() for _ in target.elts)
                self.emit(ir.Unpack(position(target), slots, slot, star))
                for element, part in zip(target.elts, slots, strict=True):
                    self.bind_target(element, part, position(element), comprehension=comprehension)

    def _own_field(self, node: ast.Attribute) -> str:
        """What a field of the object that is made is called while only its constructor has its value; else nothing."""
        first, last = self.own_fields.get(node.attr, (0, -1))
        owner = self.code.params[0].name
        own = first <= node.lineno <= last and isinstance(node.value, ast.Name) and node.value.id == owner
        return f"{owner}.{node.attr}" if own else ""

    def _bind_own(self, target: ast.Attribute, slot: int) -> int:
        """Binds such a field: what others see of that, which is the second value only."""
        name = self._own_field(target)
        if not name:
            return slot
        if name in self.env:
            self.unset(name)
            return slot
        self.assign(name, slot)
        return self.slot()

    def parameters(self, args: ast.arguments) -> tuple[Param, ...]:
        """The parameters of a function, each with the slot where it arrives (in the new code's own template)."""
        positional = [(a, "positional") for a in args.posonlyargs] + [(a, "normal") for a in args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
        out = [(a, kind, default) for (a, kind), default in zip(positional, defaults, strict=True)]
        if args.vararg is not None:
            out.append((args.vararg, "varargs", None))
        out += [(a, "keyword", d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        if args.kwarg is not None:
            out.append((args.kwarg, "kwargs", None))
        return tuple(
            Param(a.arg, kind, self.slot(), a.annotation, default is not None, default) for a, kind, default in out
        )


_COMPREHENSIONS: Final[dict[type[ast.expr], Callable[[int, int], Instr]]] = {
    ast.ListComp: lambda pos, result: ir.List(pos, result, ()),
    ast.SetComp: lambda pos, result: ir.Set(pos, result, ()),
    ast.DictComp: lambda pos, result: ir.Dict(pos, result, ()),
    ast.GeneratorExp: ir.Generator,
}
_EXPRESSIONS: dict[type[ast.expr], Callable[[Any, Any], int]] = {
    ast.Name: ExpressionLowering.name,
    ast.Constant: ExpressionLowering.const,
    ast.Attribute: ExpressionLowering.attribute,
    ast.Subscript: ExpressionLowering.subscript,
    ast.Slice: ExpressionLowering.slice,
    ast.Call: ExpressionLowering.call,
    ast.Tuple: ExpressionLowering.tuple_,
    ast.List: ExpressionLowering.list_,
    ast.Set: ExpressionLowering.set_,
    ast.Dict: ExpressionLowering.dict_,
    ast.BinOp: ExpressionLowering.binary,
    ast.UnaryOp: ExpressionLowering.unary,
    ast.Compare: ExpressionLowering.compare,
    ast.BoolOp: ExpressionLowering.boolop,
    ast.IfExp: ExpressionLowering.conditional,
    ast.Lambda: lambda self, node: self.lambda_(node),
    ast.JoinedStr: ExpressionLowering.joined,
    ast.FormattedValue: ExpressionLowering.formatted,
    ast.NamedExpr: ExpressionLowering.named,
    ast.Starred: ExpressionLowering.starred,
    ast.Await: ExpressionLowering.await_,
    ast.Yield: ExpressionLowering.yield_,
    ast.YieldFrom: ExpressionLowering.yield_from,
    ast.ListComp: ExpressionLowering.comprehension,
    ast.SetComp: ExpressionLowering.comprehension,
    ast.DictComp: ExpressionLowering.comprehension,
    ast.GeneratorExp: ExpressionLowering.comprehension,
}
