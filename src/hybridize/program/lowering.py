"""Lowering of statements: the syntax tree of a module to its code, functions and classes included."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hybridize.program import ir
from hybridize.program.builder import Incoming, position
from hybridize.program.expressions import BINARY
from hybridize.program.growth import GrowthLowering, OpenFor
from hybridize.program.ir import NO_SLOT, Block, Code
from hybridize.program.overwritten import overwritten_fields, overwritten_names
from hybridize.program.patterns import PatternLowering
from hybridize.program.scopes import FunctionNode, Scope, Scopes, collect_scopes


class _OpenLoop:
    """A loop being lowered: where `break` and `continue` go, and the versions they bring there."""

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.breaks: list[Incoming] = []
        self.continues: list[Incoming] = []


class Lowering(PatternLowering, GrowthLowering):
    """Lowers the statements of one scope."""

    def __init__(self, code: Code, scope: Scope, scopes: Scopes, counts: dict[str, int]) -> None:
        super().__init__(code, scope, scopes)
        self.loops: list[_OpenLoop] = []
        self.open_fors: list[OpenFor] = []
        self.lists = {}
        self.finished = []
        self.counts = counts

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Lowers statements into the present block; false where control never reaches the end."""
        for statement in statements:
            if _STATEMENTS[type(statement)](self, statement) is False:
                return False
        return True

    def nested(
        self, statements: Sequence[ast.stmt], refinements: Sequence[Any] = ()
    ) -> tuple[Block, dict[str, int], bool]:
        """Lowers statements into a block of their own: the block, the versions it changed, whether it falls through."""
        falls = [True]

        def lower() -> None:
            falls[0] = self.block(statements)

        block, changes = self.branch(lower, refinements)
        return block, changes, falls[0]

    def finish(self) -> Code:
        """The finished code."""
        self.count_appends()
        self.code.body = tuple(self.out)
        self.code.edges = self.edges
        return self.code

    # Simple statements -------------------------------------------------------------------------------------------

    def expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            if self.lists:
                self.appending(node)
            self.expr(node.value)

    def assign_statement(self, node: ast.Assign) -> None:
        value = self.expr(node.value)
        for target in node.targets:
            self.bind_target(target, value, position(target))
        self.watch(node)

    def annotated(self, node: ast.AnnAssign) -> None:
        if self.is_class and isinstance(node.target, ast.Name):
            self.code.fields += (node.target.id,)
        if node.value is not None:
            self.bind_target(node.target, self.expr(node.value), position(node))

    def augmented(self, node: ast.AugAssign) -> None:
        pos, op, target = position(node), BINARY[type(node.op)], node.target
        dst = self.slot()
        if self.lists:
            self.appending(node)
        match target:
            case ast.Name():
                old = self.load(target.id, position(target))
                self.emit(ir.Inplace(pos, dst, op, old, self.expr(node.value)))
                self.store(target.id, dst, pos)
            case ast.Attribute():
                owner, old, name = self.expr(target.value), self.slot(), self.mangle(target.attr)
                self.emit(ir.Attr(pos, old, owner, name))
                self.emit(ir.Inplace(pos, dst, op, old, self.expr(node.value)))
                self.emit(ir.SetAttr(pos, owner, name, dst))
            case ast.Subscript():
                owner, index, old = self.expr(target.value), self.expr(target.slice), self.slot()
                self.emit(ir.Item(pos, old, owner, index))
                self.emit(ir.Inplace(pos, dst, op, old, self.expr(node.value)))
                self.emit(ir.SetItem(pos, owner, index, dst))

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            pos = position(target)
            match target:
                case ast.Name():
                    if target.id in self.env:
                        self.emit(ir.DelLocal(pos, self.env[target.id]))
                    self.unset(target.id)
                    if self.is_module or target.id in self.scope.globals:
                        self.emit(ir.DelGlobal(pos, target.id))
                    elif target.id in self.scope.nonlocals:
                        self.emit(ir.DelCell(pos, target.id))
                case ast.Attribute():
                    self.emit(ir.DelAttr(pos, self.expr(target.value), self.mangle(target.attr)))
                case ast.Subscript():
                    self.emit(ir.DelItem(pos, self.expr(target.value), self.expr(target.slice)))
                case ast.Tuple() | ast.List():
                    self.delete(ast.Delete(targets=target.elts))

    def return_(self, node: ast.Return) -> bool:
        value = self.constant(None) if node.value is None else self.expr(node.value)
        self.emit(ir.Return(position(node), value))
        for loop in self.open_fors:
            loop.jumps = True
        return False

    def raise_(self, node: ast.Raise) -> bool:
        value = NO_SLOT if node.exc is None else self.expr(node.exc)
        if node.cause is not None:
            self.expr(node.cause)
        self.emit(ir.Raise(position(node), value))
        return False

    def assert_(self, node: ast.Assert) -> None:
        condition = self.expr(node.test)
        if node.msg is not None:
            message = node.msg
            failed, _ = self.branch(lambda: self.expr(message))
            self.emit(ir.If(position(node), condition, (), failed, self.edge(), self.edge()))
        self.emit(ir.Assert(position(node), condition))
        for name, kind, classes, polarity in self.refinements(node.test, True):
            if name in self.env and name not in self.unsettled and kind != "truth":
                dst = self.slot()
                self.emit(ir.Refine(position(node), dst, self.env[name], kind, polarity, classes))
                self.assign(name, dst)

    def nothing(self, node: ast.stmt) -> None:
        """`pass`, `global`, `nonlocal`: the scope pass has seen to them."""

    def break_(self, node: ast.Break) -> bool:
        return self._jump(node, "breaks")

    def continue_(self, node: ast.Continue) -> bool:
        return self._jump(node, "continues")

    def _jump(self, node: ast.stmt, where: str) -> bool:
        loop, edge = self.loops[-1], self.edge()
        self.open_fors[-1].jumps = True
        getattr(loop, where).append((edge, self.snapshot(loop.names)))
        self.emit(ir.Jump(position(node), edge))
        return False

    # Imports -----------------------------------------------------------------------------------------------------

    def import_(self, node: ast.Import) -> None:
        pos = position(node)
        for alias in node.names:
            dst = self.slot()
            self.emit(ir.Import(pos, dst, alias.name, alias.asname is None))
            self.store(alias.asname or alias.name.partition(".")[0], dst, pos)

    def import_from(self, node: ast.ImportFrom) -> None:
        pos = position(node)
        for alias in node.names:
            if alias.name == "*":
                self.emit(ir.ImportStar(pos, node.module or "", node.level))
                # Any name may be rebound by it: later reads ask the module itself.
                self.unsettled = self.unsettled | self.scope.bound
                continue
            dst = self.slot()
            self.emit(ir.ImportFrom(pos, dst, node.module or "", node.level, alias.name))
            self.store(alias.asname or alias.name, dst, pos)

    # Control flow ------------------------------------------------------------------------------------------------

    def if_(self, node: ast.If) -> bool:
        condition = self.expr(node.test)
        then = self.nested(node.body, self.refinements(node.test, True))
        other = self.nested(node.orelse, self.refinements(node.test, False))
        return self._two_way(condition, then, other, position(node))

    def _two_way(
        self,
        condition: int,
        then: tuple[Block, dict[str, int], bool],
        other: tuple[Block, dict[str, int], bool],
        pos: int,
    ) -> bool:
        first, second = self.edge(), self.edge()
        self.emit(ir.If(pos, condition, then[0], other[0], first, second))
        incoming: list[Incoming] = []
        if then[2]:
            incoming.append((first, then[1]))
        if other[2]:
            incoming.append((second, other[1]))
        self.join(incoming, pos)
        return bool(incoming)

    def for_(self, node: ast.For | ast.AsyncFor) -> bool:
        iterable = self.expr(node.iter)
        pos = position(node)
        item = self.slot()

        def test() -> int:
            self.emit(ir.Iter(position(node.iter), item, iterable))
            return NO_SLOT

        def bind() -> None:
            self.bind_target(node.target, item, position(node.target))

        return self._loop(node, test, bind, iterable, pos)

    def while_(self, node: ast.While) -> bool:
        return self._loop(node, lambda: self.expr(node.test), lambda: None, NO_SLOT, position(node))

    def _loop(
        self,
        node: ast.For | ast.AsyncFor | ast.While,
        test: Callable[[], int],
        bind: Callable[[], None],
        iterable: int,
        pos: int,
    ) -> bool:
        names = self.scopes.assigned[node] & self.scope.bound
        entry, back, exhausted, done = self.edge(), self.edge(), self.edge(), self.edge()
        before = self.snapshot(names)
        heads = {name: self.slot() for name in sorted(names)}
        for name, slot in heads.items():
            self.code.slot_names[slot] = name
            self.assign(name, slot)
        is_for = not isinstance(node, ast.While)
        loop = _OpenLoop(names)
        self.loops.append(loop)
        condition = [NO_SLOT]
        test_block, test_changes = self.branch(lambda: condition.__setitem__(0, test()))
        for name, version in test_changes.items():
            self.assign(name, version)
        falls = [True]

        def body() -> None:
            bind()
            falls[0] = self.block(node.body)

        refinements = self.refinements(node.test, True) if isinstance(node, ast.While) else []
        self.open_fors.append(OpenFor(is_for))
        block, changes = self.branch(body, refinements)
        self.open_fors.pop()
        self.loops.pop()
        incoming: list[Incoming] = [(entry, before)]
        if falls[0]:
            incoming.append((back, {name: changes.get(name, self.env[name]) for name in names}))
        incoming += loop.continues
        phis = tuple(
            ir.Phi(pos, slot, tuple((edge, env[name]) for edge, env in incoming if name in env))
            for name, slot in heads.items()
        )
        orelse, else_changes, else_falls = self.nested(node.orelse)
        self.emit(
            ir.Loop(
                pos,
                phis,
                test_block,
                condition[0],
                block,
                orelse,
                entry,
                back,
                exhausted,
                done,
                is_for,
                iterable,
                tuple(edge for edge, _ in loop.breaks),
                tuple(edge for edge, _ in loop.continues),
            )
        )
        exits: list[Incoming] = list(loop.breaks)
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        if else_falls and not endless:
            exits.insert(0, (done, else_changes))
        self.join(exits, pos)
        return bool(exits)

    def try_(self, node: ast.Try | ast.TryStar) -> bool:
        pos = position(node)
        names = self.scopes.assigned[node] & self.scope.bound
        before = self.snapshot(names)
        versions: dict[str, list[int]] = {}
        self.recorders.append(versions)
        body, changes, falls = self.nested(node.body)
        self.recorders.pop()
        fallthrough = self.edge()
        incoming: list[Incoming] = []
        mark = len(self.log)
        for name, version in changes.items():
            self.assign(name, version)
        orelse, else_changes, else_falls = self.nested(node.orelse)
        self.undo(mark)
        if falls and else_falls:
            incoming.append((fallthrough, {**changes, **else_changes}))
        handlers = tuple(self._handler(h, before, versions, incoming) for h in node.handlers)
        saved, self.out = self.out, []
        self.join(incoming, pos)
        join, self.out = tuple(self.out), saved
        final_falls = True
        final: Block = ()
        if node.finalbody:
            saved, self.out = self.out, []
            final_falls = self.block(node.finalbody)
            final, self.out = tuple(self.out), saved
        self.emit(ir.Try(pos, body, handlers, orelse, fallthrough, join, final))
        return bool(incoming) and final_falls

    def _handler(
        self, node: ast.ExceptHandler, before: dict[str, int], versions: dict[str, list[int]], incoming: list[Incoming]
    ) -> ir.Handler:
        mark = len(self.log)
        pos = position(node)
        phis = self.handler_phis(before, versions, pos)
        type_slot = [NO_SLOT]
        falls = [True]
        catches: Block = ()
        if node.type is not None:
            kind = node.type
            catches, _ = self.branch(lambda: type_slot.__setitem__(0, self.expr(kind)))
        saved, self.out = self.out, []
        caught = NO_SLOT
        if node.name:
            caught = self.slot()
            self.store(node.name, caught, pos)
        self.nesting += 1
        falls[0] = self.block(node.body)
        self.nesting -= 1
        body, self.out = tuple(self.out), saved
        changes = self.undo(mark)
        edge = self.edge()
        if falls[0]:
            incoming.append((edge, changes))
        return ir.Handler(phis, catches, type_slot[0], caught, body, edge)

    def with_(self, node: ast.With | ast.AsyncWith) -> bool:
        is_async = isinstance(node, ast.AsyncWith)
        for item in node.items:
            manager, entered = self.expr(item.context_expr), self.slot()
            pos = position(item.context_expr)
            self.emit(ir.Enter(pos, entered, manager, is_async))
            body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
            self.emit(ir.Exit(pos, manager, body))  # here, because no `return` in the body skips it
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, entered, pos)
        return self.block(node.body)

    # Definitions -------------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = [self.expr(d) for d in node.decorator_list]
        slot = self.make_function(node, node.name)
        for expression, decorator in zip(reversed(node.decorator_list), reversed(decorators), strict=True):
            dst = self.slot()
            self.emit(ir.Call(position(expression), dst, decorator, ((slot, False),), ()))
            slot = dst
        self.store(node.name, slot, position(node))

    def make_function(self, node: FunctionNode, name: str) -> int:
        arguments = node.args
        pos = position(node)
        scope = self.scopes.of[node]
        code = self._child(name, "lambda" if isinstance(node, ast.Lambda) else "function", node)
        code.is_generator, code.is_async = scope.is_generator, isinstance(node, ast.AsyncFunctionDef)
        code.free, code.cells = frozenset(scope.free), frozenset(scope.captured)
        inner = Lowering(code, scope, self.scopes, self.counts)
        code.params = inner.parameters(arguments)
        for param in code.params:
            inner.store(param.name, param.slot, pos)
        if isinstance(node, ast.Lambda):
            inner.emit(ir.Return(position(node.body), inner.expr(node.body)))
        else:
            inner.find_overwritten(node)
            code.decorators, code.returns = tuple(node.decorator_list), node.returns
            code.abstract = _is_abstract(node)
            if inner.block(node.body):
                inner.emit(ir.Return((node.end_lineno or node.lineno) << 16, inner.constant(None)))
        inner.finish()
        defaults = tuple((p.name, self.expr(p.default)) for p in code.params if p.default is not None)
        dst = self.slot()
        self.emit(ir.Func(pos, dst, code, defaults))
        return dst

    def find_overwritten(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Notes which stores of a function nobody else sees."""
        captured = self.scope.captured - self.scope.rewritten
        if captured:
            self.dead = overwritten_names(node.body, captured)
        if node.name == "__init__" and self.code.params:
            self.own_fields = overwritten_fields(node)

    def class_(self, node: ast.ClassDef) -> None:
        decorators = [self.expr(d) for d in node.decorator_list]
        bases = self.elements(node.bases)
        keywords = tuple((kw.arg, self.expr(kw.value)) for kw in node.keywords)
        scope = self.scopes.of[node]
        code = self._child(node.name, "class", node)
        code.free = frozenset(scope.free)
        code.decorators = tuple(node.decorator_list)
        inner = Lowering(code, scope, self.scopes, self.counts)
        inner.block(node.body)
        inner.finish()
        slot = self.slot()
        self.emit(ir.Class(position(node), slot, code, bases, keywords))
        for expression, decorator in zip(reversed(node.decorator_list), reversed(decorators), strict=True):
            dst = self.slot()
            self.emit(ir.Call(position(expression), dst, decorator, ((slot, False),), ()))
            slot = dst
        self.store(node.name, slot, position(node))

    def _child(self, name: str, kind: str, node: Any) -> Code:
        parent = self.code
        qualname = name if parent.kind == "module" else f"{parent.qualname}.{name}"
        code = Code(name, qualname, kind, parent.path, position(node), node.end_lineno or node.lineno, parent=parent)
        decorators = getattr(node, "decorator_list", ())
        code.node = node
        code.first_line = decorators[0].lineno if decorators else node.lineno
        code.occurrence = self.counts[qualname] = self.counts.get(qualname, 0) + 1
        parent.children.append(code)
        return code


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a body does nothing but raise, or is a mere stub after its docstring."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


_STATEMENTS: dict[type[ast.stmt], Callable[[Any, Any], bool | None]] = {
    ast.Expr: Lowering.expression,
    ast.Assign: Lowering.assign_statement,
    ast.AnnAssign: Lowering.annotated,
    ast.AugAssign: Lowering.augmented,
    ast.Delete: Lowering.delete,
    ast.Return: Lowering.return_,
    ast.Raise: Lowering.raise_,
    ast.Assert: Lowering.assert_,
    ast.Pass: Lowering.nothing,
    ast.Global: Lowering.nothing,
    ast.Nonlocal: Lowering.nothing,
    ast.Break: Lowering.break_,
    ast.Continue: Lowering.continue_,
    ast.Import: Lowering.import_,
    ast.ImportFrom: Lowering.import_from,
    ast.If: Lowering.if_,
    ast.For: Lowering.for_,
    ast.AsyncFor: Lowering.for_,
    ast.While: Lowering.while_,
    ast.Try: Lowering.try_,
    ast.TryStar: Lowering.try_,
    ast.With: Lowering.with_,
    ast.AsyncWith: Lowering.with_,
    ast.FunctionDef: Lowering.function,
    ast.AsyncFunctionDef: Lowering.function,
    ast.ClassDef: Lowering.class_,
    ast.Match: PatternLowering.match,
}
if hasattr(ast, "TypeAlias"):
    _STATEMENTS[ast.TypeAlias] = Lowering.nothing


def lower_module(tree: ast.Module, path: str, name: str) -> Code:
    """The code of a module; functions and classes hang below it as `children`.

    Raises:
        RecursionError: the source nests too deeply.
    """
    scopes = collect_scopes(tree)
    code = Code("<module>", "<module>", "module", path, 1 << 16, max((s.end_lineno or 1 for s in tree.body), default=1))
    code.node = tree
    code.bound = frozenset(scopes.of[tree].bound | scopes.global_writes)
    lowering = Lowering(code, scopes.of[tree], scopes, {})
    lowering.dead = overwritten_names(tree.body, scopes.of[tree].bound - scopes.global_writes)
    lowering.block(tree.body)
    lowering.emit(ir.Return(1 << 16, lowering.constant(None)))
    lowering.finish()
    for child in walk_codes(code):
        child.size = len(child.template)
    return code


def walk_codes(code: Code) -> Iterator[Code]:
    """A code and all below it, in source order."""
    stack = [code]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))
