"""HY701: Python numbers of different types that are equal share one trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Tensor
from hybridize.domain.words import ELEMENTWISE, NUMBERS
from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView

_ARITHMETIC: Final = ELEMENTWISE - {"//", "%"}


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


def _neutral(view: FrameView, slot: int) -> bool:
    """Whether a number only meets floating-point tensors: those say what it becomes."""
    for use in uses(view, slot):
        if not isinstance(use, ir.Binary) or use.operator not in _ARITHMETIC:
            return False
        other = view.value(use.right if use.left == slot else use.left)
        if not other or not all(isinstance(o, Tensor) and (o.dtype or "").startswith("float") for o in other):
            return False
    return True


RULE = Rule(
    code="HY701",
    name="shared-number-trace",
    category=Category.NUMERICAL,
    outcome=Outcome.DIFFERS,
    summary="Python numbers of different types that are equal reach one parameter.",
    details="""A traced function keeps one graph for each value of a Python argument, and 1, 1.0 and True are the same
key: what is traced first serves the others too, with its type. `target(x, 1)` and then `target(x, True)` gives the
result for 1. Pass values of one type, or tensors. Arithmetic with floating-point tensors is fine.""",
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
def target(x, flag):
    return x * 2.0 if flag else x * 3.0
r1 = target(tf.constant(1.0), True)
r2 = target(tf.constant(1.0), False)
"""
        ),
    ),
    reference="semantics.md R21",
)
