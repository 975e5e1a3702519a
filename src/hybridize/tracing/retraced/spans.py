"""How many values a Python number may take: a counter without end, or a few whatever is counted (`step % 3`)."""

from __future__ import annotations

from math import inf
from typing import Final, TypeAlias

from hybridize.domain.objects import Lib, Lit, Prim, Value
from hybridize.domain.words import ELEMENTWISE
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr

#: The least and the greatest of some whole numbers, and what they are apart at least.
_Span: TypeAlias = "tuple[int, int, int]"

_DEPTH: Final = 6
#: Functions that give one number for each that they are given.
_PLAIN: Final = frozenset(f"builtins.{name}" for name in ("int", "float", "bool", "round", "abs", "str"))


def values_of(frame: Frame, slot: int, depth: int = _DEPTH) -> float:
    """The most values that a slot takes, in any number of executions; infinite where nobody knows."""
    value = frame.vals[slot] or ()
    if value and all(isinstance(o, Lit) and not o.varies for o in value):
        return len(value)
    if value and all(isinstance(o, (Lit, Prim)) and o.kind == "bool" for o in value):
        return 2
    span = _span(frame, slot, depth)
    if span is not None:
        return (span[1] - span[0]) // span[2] + 1
    made = index_of(frame.code).source(slot) if depth else None
    if isinstance(made, ir.Binary) and made.operator in ELEMENTWISE:
        return values_of(frame, made.left, depth - 1) * values_of(frame, made.right, depth - 1)
    if isinstance(made, ir.Call) and _PLAIN.issuperset(_called(frame, made)) and len(made.arguments) == 1:
        return values_of(frame, made.arguments[0][0], depth - 1)
    return inf


def _called(frame: Frame, call: ir.Call) -> frozenset[str]:
    """The names of the library functions that a call may run; an empty one for anything else."""
    return frozenset(o.name if isinstance(o, Lib) else "" for o in frame.vals[call.function] or (None,))


def _span(frame: Frame, slot: int, depth: int) -> _Span | None:
    """The whole numbers that a slot may hold; None where nobody knows."""
    index = index_of(frame.code)
    value, made = frame.vals[slot] or frozenset(), index.source(slot)
    number = _whole(value)
    if number is not None:
        return number, number, 1
    if not depth or made is None:
        return None
    if isinstance(made, ir.Iter):
        counted = index.source(made.source)
        return _counted(frame, counted) if isinstance(counted, ir.Call) else None
    if isinstance(made, ir.Binary):
        left, right = _span(frame, made.left, depth - 1), _span(frame, made.right, depth - 1)
        return _combined(made.operator, left, right)
    return _limited(frame, made, depth - 1) if isinstance(made, ir.Call) else None


def _whole(value: Value) -> int | None:
    only = next(iter(value)) if len(value) == 1 else None
    known = isinstance(only, Lit) and not only.varies and type(only.const) is int
    return only.const if known and isinstance(only, Lit) else None


def _counted(frame: Frame, call: ir.Call) -> _Span | None:
    """What a loop over `range(...)` gives."""
    bounds = [_whole(frame.vals[slot] or frozenset()) for slot, starred in call.arguments if not starred]
    known = [each for each in bounds if each is not None]
    if _called(frame, call) != {"builtins.range"} or not known or len(known) != len(bounds) or len(known) > 2:
        return None
    first, last = (0, *known)[-2:]
    return (first, last - 1, 1) if first < last else None


def _combined(operator: str, left: _Span | None, right: _Span | None) -> _Span | None:
    """What an operator with a constant on its right gives."""
    if right is None or right[0] != right[1]:
        return None
    by = right[0]
    if operator == "%" and by > 0:
        return left if left is not None and left[0] >= 0 and left[1] < by else (0, by - 1, 1)
    if left is None:
        return None
    low, high, step = left
    match operator:
        case "+":
            return low + by, high + by, step
        case "-":
            return low - by, high - by, step
        case "*" if by > 0:
            return low * by, high * by, step * by
        case "//" if by > 0:
            return low // by, high // by, 1
    return None


def _limited(frame: Frame, call: Instr, depth: int) -> _Span | None:
    """`min(step, 3)` and `max(step, 3)`; `int(flag)`."""
    assert isinstance(call, ir.Call)
    called = _called(frame, call)
    spans = [_span(frame, slot, depth) for slot, starred in call.arguments if not starred]
    known = [span for span in spans if span is not None]
    if called == {"builtins.int"} and len(spans) == 1:
        given = frame.vals[call.arguments[0][0]] or ()
        flag = bool(given) and all(isinstance(o, (Lit, Prim)) and o.kind == "bool" for o in given)
        return (0, 1, 1) if flag else spans[0]
    if len(known) != 2 or len(spans) != 2 or called not in ({"builtins.min"}, {"builtins.max"}):
        return None
    choose = min if called == {"builtins.min"} else max
    return choose(known[0][0], known[1][0]), choose(known[0][1], known[1][1]), 1
