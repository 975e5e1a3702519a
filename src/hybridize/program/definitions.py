"""Lowering of `def`, `lambda` and `class`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridize.program import ir
from hybridize.program.builder import position
from hybridize.program.code import CodeKind, Param, ParamKind
from hybridize.program.overwritten import overwritten_fields, overwritten_names
from hybridize.program.scope_lowering import Lowering
from hybridize.program.scopes import FunctionNode


def parameters(low: Lowering, args: ast.arguments) -> tuple[Param, ...]:
    """The parameters of a function, each with the slot where it arrives (in the new code's own template)."""
    positional = [(a, ParamKind.POSITIONAL) for a in args.posonlyargs] + [(a, ParamKind.NORMAL) for a in args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    out = [(a, kind, default) for (a, kind), default in zip(positional, defaults, strict=True)]
    if args.vararg is not None:
        out.append((args.vararg, ParamKind.VARARGS, None))
    out += [(a, ParamKind.KEYWORD, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg is not None:
        out.append((args.kwarg, ParamKind.KWARGS, None))
    return tuple(Param(a.arg, kind, low.slot(), a.annotation, default is not None, default) for a, kind, default in out)


def _function_definition(low: Lowering, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    decorators = [low.expr(d) for d in node.decorator_list]
    slot = make_function(low, node, node.name)
    _bind(low, node, slot, decorators)


def _bind(
    low: Lowering, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, slot: int, decorators: Sequence[int]
) -> None:
    """Binds the name of a definition to what its decorators make of it."""
    for expression, decorator in zip(reversed(node.decorator_list), reversed(decorators), strict=True):
        dst = low.slot()
        low.emit(ir.Call(position(expression), dst, decorator, ((slot, False),), ()))
        slot = dst
    low.store(node.name, slot, position(node))


def make_function(low: Lowering, node: FunctionNode, name: str) -> int:
    """Lowers a function or lambda; gives the slot of the function object, without its decorators."""
    arguments = node.args
    pos = position(node)
    scope = low.scopes.of[node]
    code = low.child(name, CodeKind.LAMBDA if isinstance(node, ast.Lambda) else CodeKind.FUNCTION, node)
    code.is_generator, code.is_async = scope.is_generator, isinstance(node, ast.AsyncFunctionDef)
    code.free, code.cells = frozenset(scope.free), frozenset(scope.captured)
    inner = low.inner(code, scope)
    code.params = parameters(inner, arguments)
    for param in code.params:
        inner.store(param.name, param.slot, pos)
    if isinstance(node, ast.Lambda):
        inner.emit(ir.Return(position(node.body), inner.expr(node.body)))
    else:
        find_overwritten(inner, node)
        code.decorators, code.returns = tuple(node.decorator_list), node.returns
        code.abstract = _is_abstract(node)
        if inner.block(node.body):
            inner.emit(ir.Return((node.end_lineno or node.lineno) << 16, inner.constant(None)))
    inner.finish()
    defaults = tuple((p.name, low.expr(p.default)) for p in code.params if p.default is not None)
    dst = low.slot()
    low.emit(ir.Func(pos, dst, code, defaults))
    return dst


def find_overwritten(low: Lowering, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """Notes which stores of a function nobody else sees."""
    captured = low.scope.captured - low.scope.rewritten
    if captured:
        low.dead = overwritten_names(node.body, captured)
    if node.name == "__init__" and low.code.params:
        low.own_fields = overwritten_fields(node)


def _class_definition(low: Lowering, node: ast.ClassDef) -> None:
    decorators = [low.expr(d) for d in node.decorator_list]
    bases = low.elements(node.bases)
    keywords = tuple((kw.arg, low.expr(kw.value)) for kw in node.keywords)
    scope = low.scopes.of[node]
    code = low.child(node.name, CodeKind.CLASS, node)
    code.free = frozenset(scope.free)
    code.decorators = tuple(node.decorator_list)
    inner = low.inner(code, scope)
    inner.block(node.body)
    inner.finish()
    slot = low.slot()
    low.emit(ir.Class(position(node), slot, code, bases, keywords))
    _bind(low, node, slot, decorators)


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a body does nothing but raise, or is a mere stub after its docstring."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Lowering, Any], bool | None]]] = {
    ast.FunctionDef: _function_definition,
    ast.AsyncFunctionDef: _function_definition,
    ast.ClassDef: _class_definition,
}
