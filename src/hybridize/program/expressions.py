"""Lowering of expressions to instructions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from hybridize.program.builder import Builder, position
from hybridize.program.ir import NO_SLOT, Block, Loop, Op, Param
from hybridize.program.scopes import FunctionNode
from hybridize.source.syntax import walk

Refinement: TypeAlias = tuple[str, str, Any, bool]  # variable, kind, argument slot, polarity

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
        self.emit(Op.ATTR, dst, owner, self.mangle(node.attr), line << 16 | min(node.col_offset, 0xFFFF))
        return dst

    def subscript(self, node: ast.Subscript) -> int:
        owner = self.expr(node.value)
        index = self.expr(node.slice)
        dst = self.slot()
        self.emit(Op.ITEM, dst, owner, index, position(node))
        return dst

    def slice(self, node: ast.Slice) -> int:
        parts = (self.optional(node.lower), self.optional(node.upper), self.optional(node.step))
        dst = self.slot()
        self.emit(Op.SLICE, dst, *parts, position(node))
        return dst

    def call(self, node: ast.Call) -> int:
        func = self.expr(node.func)
        args = self.elements(node.args)
        keywords = tuple((kw.arg, self.expr(kw.value)) for kw in node.keywords)
        dst = self.slot()
        self.emit(Op.CALL, dst, func, args, keywords, position(node))
        return dst

    def elements(self, nodes: Sequence[ast.expr]) -> tuple[tuple[int, bool], ...]:
        """Slots of elements, each with whether it is starred."""
        return tuple([(self.expr(n.value), True) if type(n) is ast.Starred else (self.expr(n), False) for n in nodes])

    def tuple_(self, node: ast.Tuple) -> int:
        return self._sequence(Op.TUPLE, node)

    def list_(self, node: ast.List) -> int:
        return self._sequence(Op.LIST, node)

    def set_(self, node: ast.Set) -> int:
        return self._sequence(Op.SET, node)

    def _sequence(self, op: Op, node: ast.Tuple | ast.List | ast.Set) -> int:
        items = self.elements(node.elts)
        dst = self.slot()
        self.emit(op, dst, items, position(node))
        return dst

    def dict_(self, node: ast.Dict) -> int:
        items = tuple((self.optional(k), self.expr(v)) for k, v in zip(node.keys, node.values, strict=True))
        dst = self.slot()
        self.emit(Op.DICT, dst, items, position(node))
        return dst

    def binary(self, node: ast.BinOp) -> int:
        left, right = self.expr(node.left), self.expr(node.right)
        dst = self.slot()
        self.emit(Op.BINARY, dst, BINARY[type(node.op)], left, right, position(node))
        return dst

    def unary(self, node: ast.UnaryOp) -> int:
        operand = self.expr(node.operand)
        dst = self.slot()
        self.emit(Op.UNARY, dst, UNARY[type(node.op)], operand, position(node))
        return dst

    def compare(self, node: ast.Compare) -> int:
        left = self.expr(node.left)
        results = []
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.expr(comparator)
            dst = self.slot()
            self.emit(Op.COMPARE, dst, COMPARE[type(op)], left, right, position(node))
            results.append(dst)
            left = right
        if len(results) == 1:
            return results[0]
        dst = self.slot()
        self.emit(Op.BOOLOP, dst, tuple(results), "and", position(node))
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
        refine = ((Op.REFINE, narrowed, first, "truth", None, not is_and, pos),)
        if is_and:
            self.emit(Op.IF, -1, first, block, refine, taken, skipped, pos)
        else:
            self.emit(Op.IF, -1, first, refine, block, skipped, taken, pos)
        dst = self.slot()
        self.emit(Op.PHI, dst, ((taken, rest_slot[0]), (skipped, narrowed)), pos)
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
        for name, kind, argument, polarity in refinements:
            if name in self.env and name not in self.unsettled:
                dst = self.slot()
                self.emit(Op.REFINE, dst, self.env[name], kind, argument, polarity, self.code.position)
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
        self.emit(Op.IF, -1, condition, then, other, first, second, pos)
        dst = self.slot()
        self.emit(Op.PHI, dst, ((first, slots[0]), (second, slots[1])), pos)
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
                return [(test.id, "truth", None, holds)]
            case ast.NamedExpr(target=ast.Name(id=name)):
                return [(name, "truth", None, holds)]
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
                return [(name, "none", None, holds)]
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]
            ):
                return [(name, "none", None, not holds)]
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
                return [(name, "isinstance", self.expr(kind), holds)] if name in self.env else []
            case ast.Call(
                func=ast.Attribute(attr="is_tensor") | ast.Name(id="is_tensor") as func, args=[ast.Name(id=name)]
            ):
                # The function stands for the types that it knows; one of the project's own says nothing.
                return [(name, "isinstance", self.expr(func), holds)] if name in self.env else []
            case ast.Call(func=ast.Name(id="callable"), args=[ast.Name(id=name)]):
                return [(name, "callable", None, holds)]
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
        self.emit(Op.FORMAT, dst, tuple(parts), tuple(map(_conversion, shown)), _texts(node), position(node))
        return dst

    def formatted(self, node: ast.FormattedValue) -> int:
        dst = self.slot()
        self.emit(Op.FORMAT, dst, (self.expr(node.value),), (_conversion(node),), (), position(node))
        return dst

    def named(self, node: ast.NamedExpr) -> int:
        slot = self.copy(self.expr(node.value), position(node))
        self.store(node.target.id, slot, position(node))
        return slot

    def copy(self, slot: int, pos: int) -> int:
        """A version of its own for a value that gets a name."""
        return slot

    def starred(self, node: ast.Starred) -> int:
        return self.expr(node.value)

    def await_(self, node: ast.Await) -> int:
        return self._simple(Op.AWAIT, self.expr(node.value), node)

    def yield_(self, node: ast.Yield) -> int:
        value = self.constant(None) if node.value is None else self.expr(node.value)
        return self._simple(Op.YIELD, value, node)

    def yield_from(self, node: ast.YieldFrom) -> int:
        return self._simple(Op.YIELD_FROM, self.expr(node.value), node)

    def _simple(self, op: Op, operand: int, node: ast.expr) -> int:
        dst = self.slot()
        self.emit(op, dst, operand, position(node))
        return dst

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> int:
        pos = position(node)
        result = self.slot()
        kinds: dict[type, Op] = {ast.ListComp: Op.LIST, ast.SetComp: Op.SET, ast.DictComp: Op.DICT}
        op = kinds.get(type(node))
        if op is None:
            self.emit(Op.GENERATOR, result, pos)
        else:
            self.emit(op, result, (), pos)
        hidden = {n.id for g in node.generators for n in walk(g.target) if isinstance(n, ast.Name)}
        saved = {name: self.env.get(name) for name in hidden}

        def element() -> None:
            if isinstance(node, ast.DictComp):
                key = self.expr(node.key)
                self.emit(Op.PUT, -1, result, key, self.expr(node.value), pos)
            else:
                self.emit(Op.APPEND, -1, result, self.expr(node.elt), pos)

        places = op in (Op.LIST, None) and not any(generator.ifs for generator in node.generators)
        source = self._generators(node, list(node.generators), element, result if places else NO_SLOT)
        if places and len(node.generators) == 1:
            self.emit(Op.SIZED, -1, result, source, pos)
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
        test: Block = ((Op.ITER, item, iterable, pos),)
        nests = len(generators) > 1
        loop = Loop(
            (), test, NO_SLOT, block, (), entry, back, exhausted, done, True, iterable, (), (), fills, nests, within
        )
        self.emit(Op.LOOP, -1, loop, pos)
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
        self.emit(Op.IF, -1, condition, block, (), self.edge(), self.edge(), position(tests[0]))

    def bind_target(self, target: ast.expr, slot: int, pos: int, *, comprehension: bool = False) -> None:
        """Assigns a value to a target: a name, attribute, item, or a nest of them."""
        match target:
            case ast.Name():
                self.store(target.id, slot, pos, comprehension=comprehension)
            case ast.Attribute():
                shown = self._bind_own(target, slot) if self.own_fields else slot
                self.emit(Op.SET_ATTR, -1, self.expr(target.value), self.mangle(target.attr), shown, position(target))
            case ast.Subscript():
                owner, index = self.expr(target.value), self.expr(target.slice)
                self.emit(Op.SET_ITEM, -1, owner, index, slot, position(target))
            case ast.Starred():
                self.bind_target(target.value, slot, pos, comprehension=comprehension)
            case ast.Tuple() | ast.List():
                star = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), -1)
                slots = tuple(self.slot() for _ in target.elts)
                self.emit(Op.UNPACK, slots, slot, star, position(target))
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
