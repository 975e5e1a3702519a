"""Questions for the class of an argument after which it is a tensor of one dtype, whatever the answer was.

`if not tf.is_tensor(x): x = tf.convert_to_tensor(x, tf.float32)` beside `elif x.dtype != tf.float32: x = tf.cast(x,
tf.float32)`, or before such a cast, gives the same for an array and for the tensor that a graph gets of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import DENSE
from hybridize.library.types import is_instance
from hybridize.source.syntax import walk
from hybridize.tracing.denoted import denoted
from hybridize.tracing.views import FrameView, position_of

#: What makes a tensor of a dtype: of an array, and of a tensor as well.
_CONVERTS: Final = frozenset({"tf.convert_to_tensor", "tf.constant", "tf.cast"})
_CASTS: Final = frozenset({"tf.cast"})
_DENSE: Final = Tensor(DENSE, None, None, None)


def answers_for_tensors(kinds: Sequence[str]) -> bool:
    """Whether a tensor is surely of some of the classes."""
    answers = [is_instance(_DENSE, kind) for kind in kinds]
    return any(may and not may_not for may, may_not in answers)


def unifies(view: FrameView, position: int) -> bool:
    """Whether a call is such a question, or the conversion that one decides about."""
    found: set[int] | None = view.project.known.get(("unified", view.code))
    if found is None:
        found = view.project.known[("unified", view.code)] = set(_unified(view))
    return position in found


def _unified(view: FrameView) -> Iterator[int]:
    node = view.node
    for each in walk(node) if node is not None else ():
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, None)
            statements = block if isinstance(block, list) else []
            for place, statement in enumerate(statements):
                if isinstance(statement, ast.If):
                    yield from _asked(view, statement, statements[place + 1 : place + 2])


def _asked(view: FrameView, statement: ast.If, after: list[ast.stmt]) -> Iterator[int]:
    """The question of a statement, and the conversion on the side that no tensor takes."""
    test, answer = statement.test, True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, answer = test.operand, not answer
    kinds = _kinds(view, test)
    if not isinstance(test, ast.Call) or not kinds:
        return
    of_tensors = answers_for_tensors(kinds) is answer
    others, own = (statement.orelse, statement.body) if of_tensors else (statement.body, statement.orelse)
    made = _conversion(view, others, _CONVERTS)
    if made is None:
        return
    name, dtype, call = made
    cast = next((c for c in (_cast(view, own, name), _cast(view, after, name)) if c is not None), None)
    if cast == dtype and isinstance(test.args[0], ast.Name) and test.args[0].id == name:
        yield position_of(test)
        yield position_of(call)


def _kinds(view: FrameView, test: ast.expr) -> list[str]:
    """The classes that a question asks for; none where some of them are not known."""
    if not isinstance(test, ast.Call) or not test.args:
        return []
    if "tf.is_tensor" in denoted(view.frame.module, test.func):
        return ["tf.Tensor"]
    if not isinstance(test.func, ast.Name) or test.func.id != "isinstance" or len(test.args) != 2:
        return []
    asked = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    names = [denoted(view.frame.module, each) for each in asked]
    return [name for each in names for name in each] if all(names) else []


def _conversion(view: FrameView, block: Sequence[ast.stmt], by: frozenset[str]) -> tuple[str, str, ast.Call] | None:
    """The name, the dtype and the call of `x = convert(x, dtype)`, where a block is nothing else."""
    if len(block) != 1 or not isinstance(block[0], ast.Assign) or len(block[0].targets) != 1:
        return None
    target, call = block[0].targets[0], block[0].value
    if not isinstance(target, ast.Name) or not isinstance(call, ast.Call) or not call.args:
        return None
    given = call.args[0]
    dtype = next((k.value for k in call.keywords if k.arg == "dtype"), call.args[1] if len(call.args) > 1 else None)
    known = not by.isdisjoint(denoted(view.frame.module, call.func))
    if dtype is None or not known or not isinstance(given, ast.Name) or given.id != target.id:
        return None
    return target.id, ast.dump(dtype), call


def _cast(view: FrameView, block: Sequence[ast.stmt], name: str) -> str | None:
    """The dtype that a block casts a name to: always, or where it has not got it."""
    if len(block) == 1 and isinstance(block[0], ast.If) and not block[0].orelse:
        test = block[0].test
        asked = ast.dump(test.comparators[0]) if isinstance(test, ast.Compare) and len(test.ops) == 1 else ""
        read = test.left if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.NotEq, ast.IsNot)) else None
        own = isinstance(read, ast.Attribute) and read.attr == "dtype" and ast.dump(read.value) == _read(name)
        cast = _cast(view, block[0].body, name) if own else None
        return cast if cast == asked else None
    cast_to, dtype, _ = _conversion(view, block, _CASTS) or (None, None, None)
    return dtype if cast_to == name else None


def _read(name: str) -> str:
    return ast.dump(ast.Name(name, ast.Load()))
