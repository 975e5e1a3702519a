"""Calls after which nothing comes: they end the program, raise, or refuse their arguments.

What comes behind such a call is as dead as what comes behind a `raise`. Only what is certain counts: every object that
may be called must refuse, the call is surely made where it stands, and no `with` around it may catch what it raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from math import inf
from typing import Final

from hybridize.domain.objects import Bound, Class, Func, Lib, LibInst, Obj, Value, Wrapper
from hybridize.domain.session import cached
from hybridize.flow.engine import Engine
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.builder import position
from hybridize.program.code import Code, ParamKind
from hybridize.program.index import index_of
from hybridize.program.ir import Block
from hybridize.source.syntax import walk


class Ended(frozenset[Obj]):
    """What a call gives that does not come back: no object, told from a value that is not there yet by its identity."""


ENDED: Final[Value] = Ended()
#: Functions and methods of the standard library that end a program.
_EXITS: Final = frozenset({"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit"})
_EXIT_METHODS: Final = frozenset({("argparse.ArgumentParser", "error"), ("argparse.ArgumentParser", "exit")})
#: Classes whose instances are made as the constructor says; those of others have makers of their own.
_PLAIN_BASES: Final = ("tf.", "keras.", "abc.ABC", "builtins.object")
_GIVING: Final = (ast.Return, ast.Yield, ast.YieldFrom)
#: Decorators that leave the parameters as they are.
_METHODS: Final = frozenset({"staticmethod", "classmethod"})
#: Expressions that do not evaluate all of their parts, or some more than once.
_CONDITIONAL: Final = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.comprehension, ast.Assert, ast.Compare)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def refuses(engine: Engine, frame: Frame, instr: ir.Call, target: Value) -> bool:
    """Whether a call surely raises before any code of the project runs: for an argument too many, or one too few.

    What is unpacked is not counted: it may hold what other calls of the same code have given.
    """
    for obj in target:
        if isinstance(obj, Lib):  # as most calls
            return False
    for _, starred in instr.arguments:
        if starred:
            return False
    named = {name for name, _ in instr.keywords if name is not None}
    if len(named) < len(instr.keywords):
        return False
    for obj in target:
        code, given = _refusing(engine, frame, obj)
        if code is None or not _is_refused(code, given + len(instr.arguments), named):
            return False
    return _is_certain(frame, instr.position)


def never_returns(engine: Engine, frame: Frame, pos: int, target: Value) -> bool:
    """Whether all that a call has just gone to ends the program, raises, or ends in calls that do not come back."""
    for obj in target:
        if isinstance(obj, Lib):
            if obj.name in _EXITS:
                continue
            return False
        func = obj.func if isinstance(obj, Bound) else obj
        if isinstance(func, Func) and not _has_ended(frame.sites.get((pos, func))):
            return False  # as most calls: what is around the function does not matter
        if _ends_program(obj):
            continue
        found = _function(engine, frame, obj)
        if found is None or not _has_ended(frame.sites.get((pos, found[2]))):
            return False
    return _is_certain(frame, pos)


def _has_ended(callee: Frame | None) -> bool:
    """Whether what a call has just gone to is done, and has not come back."""
    return (
        callee is not None
        and callee.ended
        and not (callee.ret or callee.running or callee.stuck or callee.code.is_generator or callee.code.is_async)
    )


@cached
def only_raises(code: Code) -> bool:
    """Whether a function ends in `raise`, whatever its conditions say: which branch is taken may be known wrongly."""
    return not index_of(code).of(ir.Exit) and not any(_ways(code.body))  # the manager of a `with` may take it


def _ways(block: Block) -> tuple[bool, bool]:
    """Whether control may get to the end of a block, and whether it may return from it."""
    returns = False
    for instr in block:
        parts: tuple[Block, ...] = ()
        match instr:
            case ir.Return():
                return False, True
            case ir.Raise():
                return False, returns
            case ir.If():
                parts = (instr.then, instr.orelse)
            case ir.Try():
                parts = (instr.body, *(handler.body for handler in instr.handlers), instr.orelse, instr.final)
            case ir.Loop():
                parts = (instr.body, instr.orelse)
        ways = [_ways(part) for part in parts]
        returns = returns or any(way[1] for way in ways)
        if isinstance(instr, ir.If) and not any(way[0] for way in ways):
            return False, returns
    return True, returns


def ends_all(frame: Frame, instr: ir.Call) -> bool:
    """Whether no call of a function comes back, as one in it does not: that is come to, or something like it."""
    return any(each is instr for each in frame.code.body) or only_raises(frame.code)


def _ends_program(obj: Obj) -> bool:
    if not isinstance(obj, Bound) or not isinstance(obj.receiver, LibInst):
        return False
    return (obj.receiver.cls, obj.func) in _EXIT_METHODS


def _refusing(engine: Engine, frame: Frame, obj: Obj) -> tuple[Code | None, int]:
    """The code that refuses wrong arguments of a call of an object, also where graphs are made of it, and how many
    arguments it gets without being given them."""
    func, given = (obj.func, 1) if isinstance(obj, Bound) else (obj, 0)
    layers = 0
    while isinstance(func, Wrapper) and func.kind == "hybrid" and len(func.inner) == 1:
        (func,) = func.inner
        layers += 1
    if layers and isinstance(func, Func):
        others = sum(not _is_method(decorator) for decorator in func.code.decorators)
        return (func.code if others <= layers and _is_open(func.code) else None), given
    found = _function(engine, frame, obj)
    return (found[0], found[1]) if found is not None else (None, 0)


def _function(engine: Engine, frame: Frame, obj: Obj) -> tuple[Code, int, Func] | None:
    """The code that a call of an object runs first, how many arguments it gets without being given them."""
    func, given = (obj.func, 1) if isinstance(obj, Bound) else (obj, 0)
    if isinstance(func, Func):
        return (func.code, given, func) if _is_plain(func.code) else None
    if (
        not isinstance(obj, Class)
        or obj.code.decorators
        or obj.metaclass is not None
        or obj in engine.world.dataclasses
    ):
        return None
    if obj in engine.world.dataclasses or any(not base.startswith(_PLAIN_BASES) for base in obj.library):
        return None
    if engine.attributes.class_lookup(frame, obj, "__new__"):
        return None
    init = engine.attributes.class_lookup(frame, obj, "__init__")
    only = next(iter(init)) if len(init) == 1 else None
    return (only.code, 1, only) if isinstance(only, Func) and _is_plain(only.code) else None


@cached
def _is_plain(code: Code) -> bool:
    """Whether nothing is around a function that may give it other arguments, or stand in its place, when called.

    What a function returns of its own, or a lambda, may come of a decorator, which chooses it by what it is given.
    """
    return all(map(_is_method, code.decorators)) and _is_open(code)


def _is_method(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in _METHODS


def _is_open(code: Code) -> bool:
    """Whether a function is called by its own name."""
    outer = code.parent
    if outer is None:
        return False
    return outer.is_body or (code.is_function and code.name not in _returned(outer))


@cached
def _returned(outer: Code) -> frozenset[str]:
    """The names in what a function returns or yields."""
    given = [n.value for n in walk(outer.node) if isinstance(n, _GIVING)] if outer.node is not None else []
    return frozenset(n.id for value in given if value is not None for n in walk(value) if isinstance(n, ast.Name))


@cached
def _taken(code: Code) -> tuple[float, float]:
    """How many arguments a function takes at least and at most where none is named."""
    places = [p for p in code.params if p.by_place]
    least = max((i + 1 for i, p in enumerate(places) if not p.has_default), default=0)
    needs_names = any(p.by_name and not p.has_default for p in code.params)
    more = any(p.is_varargs for p in code.params)
    return inf if needs_names else least, inf if more else len(places)


def _is_refused(code: Code, given: int, named: set[str]) -> bool:
    """Whether Python raises `TypeError` for so many arguments by position, and these by name."""
    if not named:
        least, most = _taken(code)
        return not least <= given <= most
    places = [p for p in code.params if p.by_place]
    by_name = [p for i, p in enumerate(places) if i >= given and p.kind is ParamKind.NORMAL]
    by_name += [p for p in code.params if p.by_name]
    missing = [p.name for p in (*places[given:], *by_name) if not p.has_default and p.name not in named]
    unknown = named - {p.name for p in by_name}
    too_many = given > len(places) and not any(p.is_varargs for p in code.params)
    return too_many or bool(missing) or (bool(unknown) and not any(p.is_kwargs for p in code.params))


def _is_certain(frame: Frame, pos: int) -> bool:
    """Whether a call is surely made where it stands, nothing catches what it raises, and no definition comes behind."""
    code = frame.code
    if frame.phase or code.node is None or code.is_async:
        return False  # what nobody is seen to call may be given other objects, whose methods take other arguments
    if code.is_body and any(p > pos for p in _definitions(code)):
        return False  # they would be no part of the program any more: a file is read whole, and a notebook goes on
    if any(_may_catch(frame, instr) for instr in index_of(code).of(ir.Exit) if pos >> 16 in instr.lines):
        return False
    return pos not in _conditional(code.node)


def _definitions(code: Code) -> Iterable[int]:
    return (child.position for child in code.children)


def _may_catch(frame: Frame, instr: ir.Exit) -> bool:
    """Whether the manager of a `with` may end an exception: those of TensorFlow let it pass."""
    value = frame.vals[instr.source] or ()
    return not value or not all(isinstance(o, LibInst) and o.cls.startswith(("tf.", "keras.")) for o in value)


def _conditional(node: ast.AST) -> set[int]:
    """The positions of all calls that may not be made where their statement is executed."""
    parts: list[ast.AST] = [each for each in walk(node) if isinstance(each, (*_CONDITIONAL, *_COMPREHENSIONS))]
    return {position(call) for part in parts for call in walk(part) if isinstance(call, ast.Call)}
