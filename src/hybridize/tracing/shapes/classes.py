"""Questions for the class of a value: which are asked for, and whether anything depends on the answer."""

from __future__ import annotations

import ast
from typing import Final, TypeGuard

from hybridize.domain.objects import Lib, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.source.syntax import walk
from hybridize.tracing.denoted import denoted
from hybridize.tracing.shapes.unified import answers_for_tensors, unifies
from hybridize.tracing.values import argument, is_message, own, uses
from hybridize.tracing.views import FrameView, position_of

#: How the names of the class of eager tensors end.
EAGER_CLASS: Final = ".EagerTensor"
#: Functions that turn an array into the tensor that `tf.function` would make of it.
_CONVERTING: Final = frozenset({"tf.convert_to_tensor", "tf.constant", "tf.identity"})
#: What makes a variable of an array: as good for who takes gradients, if a tape is told to watch the tensor that comes.
_WATCHABLE: Final = "tf.Variable"


def kinds_of(value: Value) -> list[str]:
    """The names of the classes that are asked for; none where some of them are not known."""
    found: list[str] = []
    for obj in value:
        if isinstance(obj, Lib):
            found.append(obj.name)
        elif isinstance(obj, Tup):
            for part in obj.items:
                found += kinds_of(part)
        else:
            return []
    return found


def tells(view: FrameView, slot: int, tensor: int) -> bool:
    """Whether something depends on a class: comparing it with a class that no tensor has gives the same answer."""
    arrays = any(isinstance(o, Tensor) and o.kind == NDARRAY for o in view.value(tensor))
    for use in uses(view, slot):
        if isinstance(use, ir.Compare) and use.operator in ("==", "!=", "is", "is not", "in", "not in"):
            beside = use.right if use.left == slot else use.left
            if not arrays and _is_class_of_tensor(view, beside):
                continue  # both are symbolic in the trace
            other = view.value(beside)
            names = [o.name for o in other if isinstance(o, Lib)]
            neutral = ("builtins.", "tf.") if not arrays else ("builtins.",)
            same = [n for n in names if n.startswith(neutral) and not n.endswith(EAGER_CLASS)]
            if names and len(same) == len(other):
                continue
        if not is_message(view, use):
            return True
    return False


def _is_class_of_tensor(view: FrameView, slot: int) -> bool:
    """Whether a slot holds `type(t)` of a tensor that is symbolic in a trace, and no array."""
    made = index_of(view.code).source(slot)
    if not isinstance(made, ir.Call) or "builtins.type" not in view.names(made.function) or len(made.arguments) != 1:
        return False
    tensor = made.arguments[0][0]
    return bool(own(view, tensor, arrays=False)) and not is_variable(view, tensor)


def is_variable(view: FrameView, slot: int) -> bool:
    """Whether a slot may hold a variable, whose class and identity a trace leaves as they are."""
    return any(isinstance(o, Tensor) and o.kind == VARIABLE for o in view.value(slot))


def only_converts(view: FrameView, instr: ir.Call, kinds: list[str]) -> bool:
    """Whether the test only decides to make a tensor of the array, with the dtype that it has or that tensors get.

    What raises only where no tensor comes raises in a graph no more, and eager code would have raised for good reason.
    """
    if unifies(view, instr.position):
        return True
    node = view.node
    for each in walk(node) if node is not None else ():
        if isinstance(each, (ast.If, ast.IfExp)) and any(
            isinstance(part, ast.Call) and position_of(part) == instr.position for part in walk(each.test)
        ):
            if isinstance(each, ast.IfExp):
                return all(isinstance(e, ast.Name) or _converts(view, e) for e in (each.body, each.orelse))
            if any(isinstance(s, ast.Raise) for s in _taken(each, answers_for_tensors(kinds))):
                return False
            return all(_converts(view, _given(s)) for s in (*each.body, *each.orelse) if not _is_neutral(s))
    return False


def _taken(statement: ast.If, answer: bool) -> list[ast.stmt]:
    """What may be executed where the question that decides is answered so."""
    test = statement.test
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, answer = test.operand, not answer
    if not isinstance(test, ast.Call):
        return [*statement.body, *statement.orelse]
    return statement.body if answer else statement.orelse


def _given(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, (ast.Assign, ast.Return)) else None


def _is_neutral(node: ast.stmt) -> bool:
    """An exception of another branch than a tensor takes, or a comment."""
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _converts(view: FrameView, node: ast.expr | None) -> bool:
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], (ast.Name, ast.Attribute)):
        return False
    converting = {*_CONVERTING, _WATCHABLE} if _is_watched(view, node.args[0]) else _CONVERTING
    for made in view.instructions():
        if (
            isinstance(made, ir.Call)
            and made.position == position_of(node)
            and not converting.isdisjoint(view.names(made.function))
        ):
            given = {o.dtype for o in view.value(argument(made, 0, "value")) if isinstance(o, Tensor)}
            result = {o.dtype for o in view.value(made.target) if isinstance(o, Tensor)}
            return None in result or None in given or not result - given
        if (
            isinstance(made, ir.Call) and made.position == position_of(node) and not view.value(made.function)
        ):  # control never gets there
            keeps = len(node.args) == 1 and all(keyword.arg == "name" for keyword in node.keywords)
            return keeps and not converting.isdisjoint(denoted(view.frame.module, node.func))
    return False


def _is_watched(view: FrameView, name: ast.expr) -> bool:
    """Whether each tape of a function is told to watch a name (it sees a variable without), of which no more is asked.

    Nothing that is a variable's alone: it is neither assigned to nor given back.
    """
    nodes = list(walk(view.node)) if view.node is not None else []
    said = ast.dump(name)
    tapes = [n for n in nodes if isinstance(n, ast.Call) and "tf.GradientTape" in denoted(view.frame.module, n.func)]
    watched = [n for n in nodes if _calls(n, "watch") and [ast.dump(given) for given in n.args] == [said]]
    read = [n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.dump(n.value) == said]
    given = [n for n in nodes if isinstance(n, ast.Return) and n.value is not None and ast.dump(n.value) == said]
    return 0 < len(tapes) <= len(watched) and not given and {"shape", "dtype"}.issuperset(read)


def _calls(node: ast.AST, method: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
