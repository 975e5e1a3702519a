"""HY701: Python numbers of different types that are equal share one trace."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.objects import Bound, Func, Lit, Prim, Tensor, Value
from hybridize.domain.words import NUMBERS
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, passed_slots
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.shapes.meetings import ALIKE, OPERATORS, met
from hybridize.tracing.values import names_of, uses
from hybridize.tracing.views import FrameView, FunctionView

_DEPTH: Final = 8


def scan(function: FunctionView) -> Iterator[Hit]:
    """A parameter receives 1 and True, or 2 and 2.0, in different calls."""
    for index, param in enumerate(function.code.params):
        literals = {o for f in function.frames for o in f.args[index] if isinstance(o, Lit) and o.kind in NUMBERS}
        pair = _equal(sorted(literals, key=lambda o: (o.kind, repr(o))))
        if (
            pair is not None
            and _computes(function)
            and not all(_neutral(view, param.slot) for view in function.views())
        ):
            said = f"`{param.name}` receives {pair[0]} and {pair[1]}, which share a trace: the first decides for both"
            yield Hit(function.code.position, said, evidence=(Evidence(said, function.code.path, function.code.line),))


def _computes(function: FunctionView) -> bool:
    """Whether it has to do with tensors at all: constants made of numbers are no computation, and share traces too."""
    values = (value for frame in function.frames for value in frame.vals if value)
    return function.facts.may_be_hybrid or any(isinstance(o, Tensor) for value in values for o in value)


def _equal(literals: list[Lit]) -> tuple[Lit, Lit] | None:
    for i, first in enumerate(literals):
        for second in literals[i + 1 :]:
            if first.kind != second.kind and first.const == second.const:
                return first, second
    return None


def _neutral(view: FrameView, slot: int, depth: int = 0) -> bool:
    """Whether a number only meets floating-point tensors: those say what it becomes (bfloat16 refuses True)."""
    names = names_of(view, slot)
    return depth < _DEPTH and all(_takes_either(view, use, names, depth) for use in uses(view, slot))


def _takes_either(view: FrameView, use: Instr, names: Collection[int], depth: int) -> bool:
    """Whether a use gives the same for numbers that are equal, or what it makes of them is used so."""
    match use:
        case ir.Call():
            return _is_told(view, use, names) or _passes(view, use, names, depth)
        case ir.Unary(operator="-"):
            return _neutral(view, use.target, depth + 1)
        case ir.TwoSided() if use.operator in OPERATORS:
            others = view.value(use.right if use.left in names else use.left)
            if others and all(isinstance(o, (Lit, Prim)) and o.kind in NUMBERS for o in others):
                return isinstance(use, ir.Compare) or _neutral(view, use.target, depth + 1)
            return _are_floats(others)
    return False


def _is_told(view: FrameView, call: ir.Call, names: Collection[int]) -> bool:
    """Whether a library's function makes of a number what the tensor before it is: `tf.multiply(x, k)`."""
    called = view.names(call.function)
    places = met(view, call) if called and all(name in ALIKE for name in called) else []
    here = [each for each in places if each.slot in names]
    told = (each.yields and any(_are_floats(view.value(other)) for other in each.others) for each in here)
    count = sum(slot in names for slot in arguments(call))
    return bool(here) and len(here) == count and places[0] not in here and all(told)


def _passes(view: FrameView, call: ir.Call, names: Collection[int], depth: int) -> bool:
    """Whether functions of the project get a number, and are content with either."""
    callees = called_at(view.frame, call.position, DIRECT)
    if not callees or not all(isinstance(o, (Func, Bound)) for o in view.value(call.function)):
        return False
    for callee in callees:
        passed = [passed_slots(view.frame, call.position, callee, i) for i in range(len(callee.code.params))]
        if any(slots is None for slots in passed):
            return False
        inner = FrameView(view.project, callee)
        got = [p for p, slots in zip(callee.code.params, passed, strict=True) if not set(slots or ()).isdisjoint(names)]
        if not got or not all(_neutral(inner, param.slot, depth + 1) for param in got):
            return False
    return True


def _are_floats(value: Value) -> bool:
    return bool(value) and all(isinstance(o, Tensor) and (o.dtype or "").startswith("float") for o in value)


RULE = Rule(
    code="HY701",
    name="shared-number-trace",
    category=Category.NUMERICAL,
    outcome=Outcome.DIFFERS,
    summary="Python numbers of different types that are equal reach one parameter.",
    details="""A traced function keeps one graph for each value of a Python argument, and 1, 1.0 and True are the same
key: what is traced first serves the others too, with its type. `target(x, 1)` and then `target(x, True)` gives the
result for 1. Pass values of one type, or tensors. Where the number only meets floating-point tensors (`x * k`,
`tf.maximum(x, -k)`, also in functions that it is passed to) it becomes one of their dtype, whatever its type: fine.""",
    level=Level.WARNING,
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x, k):
    return x, tf.constant(k) + tf.constant(k)
r1 = target(tf.constant(1.0), 2)
r2 = target(tf.constant(1.0), 2.0)
""",
            line=2,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def filled(x, k):
    return x * tf.cast(tf.fill([2], k) / 4, tf.float32), tf.fill([2], k)
def target(x, k):
    return filled(x * k, k)
r1 = target(tf.constant(1.0), 2)
r2 = target(tf.constant(1.0), 2.0)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, flag):
    return x * 2.0 if flag is True else x * 3.0
r1 = target(tf.constant(1.0), 1)
r2 = target(tf.constant(1.0), True)
""",
            line=2,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, k):
    return x * k
r1 = target(tf.constant(1.0), 2)
r2 = target(tf.constant(1.0), 2.0)
"""
        ),
        Example(
            """\
import tensorflow as tf
def scaled(x, k):
    return tf.maximum(x * -k, 1 - k)
def target(x, k):
    return scaled(x, k) if k > 1 else x
r1 = target(tf.constant(1.0), 2)
r2 = target(tf.constant(1.0), 2.0)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, flag):
    return x * 2.0 if flag else x * 3.0
r1 = target(tf.constant(1.0), True)
r2 = target(tf.constant(1.0), False)
"""
        ),
    ),
    reference="semantics.md R21",
)
