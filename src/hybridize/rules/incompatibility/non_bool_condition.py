"""HY315: the truth of a tensor that is not Boolean."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Lit, Prim, Tensor
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.autograph.kinds import PYTHON_DTYPES
from hybridize.tracing.control import Control, control
from hybridize.tracing.views import FrameView


def scan_if(view: FrameView, instr: ir.If) -> Iterator[Hit]:
    """`if t`, `a if t else b`, `t and u`."""
    yield from _check(view, instr.condition, instr, ir.If)


def scan_loop(view: FrameView, instr: ir.Loop) -> Iterator[Hit]:
    """`while t`."""
    if instr.condition >= 0:
        yield from _check(view, instr.condition, instr, ir.Loop)


def scan_not(view: FrameView, instr: ir.Unary) -> Iterator[Hit]:
    """`not t`."""
    if instr.operator == "not":
        yield from _check(view, instr.operand, instr, ir.Unary)


def _check(view: FrameView, slot: int, instr: Instr, op: type[Instr]) -> Iterator[Hit]:
    value = view.value(slot)
    if not any(isinstance(o, (Tensor, Prim, Lit)) for o in value):
        return
    made = view.definition(slot)
    if isinstance(made, ir.Compare):
        return
    flow = control(view)
    mask = flow.tensor(slot)
    if not mask:
        return
    dtypes = _dtypes(flow, slot)
    wrong = sorted(d for d in dtypes if d != "bool")
    if not wrong or any(s.instr is instr and not flow.runs(s) for s in flow.structure.of(op)):
        return
    certain = len(wrong) == len(dtypes) and all(isinstance(o, (Tensor, Prim, Lit)) for o in value)
    level = Level.ERROR if certain else Level.INFO
    yield Hit(instr.position, f"takes the truth of a symbolic `{wrong[0]}` tensor", mask, level=level)


def _dtypes(flow: Control, slot: int) -> set[str]:
    """The known dtypes of the tensors that a slot holds in a graph."""
    found: set[str] = set()
    for obj in flow.view.value(slot):
        if isinstance(obj, Tensor) and obj.dtype is not None:
            found.add(obj.dtype)
        elif isinstance(obj, (Lit, Prim)) and obj.kind in PYTHON_DTYPES:
            found.add(PYTHON_DTYPES[obj.kind])
    return found


RULE = Rule(
    code="HY315",
    name="non-bool-condition",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Takes the truth of a tensor that is not Boolean.",
    details="""Eager execution finds a tensor true where it is not zero, as Python does with numbers. A condition of
the graph must be a Boolean: `if t`, `while t`, `not t`, `a if t else b` and `t or u` raise for any other dtype.
Compare explicitly (`t != 0`), or ask `t is not None` where that is meant.""",
    triggers={ir.If: scan_if, ir.Loop: scan_loop, ir.Unary: scan_not},
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.reduce_sum(x):
        return x
    return -x
r1 = target(tf.constant([1, 2]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, y=None):
    y = y or x
    return y * 2
r1 = target(tf.constant(3), tf.constant(4))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    while x:
        x = x - 1
    return x
r1 = target(tf.constant(3))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, training=True):
    if training and tf.reduce_any(x > 1) and not x[0] > 5:
        return x
    return -x
r1 = target(tf.constant([1, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, y=None, layers=()):
    y = y or x  # y is None, and Python knows
    values = [x]
    return y * 2 if values or layers else y
r1 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R12",
)
