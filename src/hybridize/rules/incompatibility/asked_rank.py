"""HY369: conditions on the rank of what may have any: a graph traces what was meant for other ranks, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Lit, Tensor, Unknown
from hybridize.facts.symbolic import OPERATION
from hybridize.library.tensorflow import elementwise
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

#: What gives a rank as a tensor.
_RANK: Final = frozenset({"tf.rank", "keras.backend.rank"})
#: Comparisons and their combinations, by the last part of the name.
_COMPARE: Final = frozenset(
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not".split()
)
#: What takes any rank, and what does where it goes along the first or last axis.
_OF_ANY: Final = frozenset("shape size rank cast identity zeros_like ones_like stop_gradient reshape".split())
_ALONG: Final = frozenset("expand_dims softmax log_softmax argmax argmin sort argsort cumsum".split())
_ENDS: Final = (None, 0, -1)
_DEPTH: Final = 4


def scan(view: FrameView) -> Iterator[Hit]:
    """Branches under a question for the rank of a tensor that hold operations on it which not any rank suits."""
    for branch in index_of(view.code).of(ir.If):
        for asked in _asked(view, branch.condition, _DEPTH):
            if not _has_any_rank(view, asked):
                continue
            inside = instructions((*branch.then, *branch.orelse))
            used = next((name for instr in inside if (name := _suits_some(view, instr, asked))), None)
            if used is not None:
                said = (
                    f"asks for a rank as a tensor: tracing runs both branches, and `{used}` with the rank that arrives"
                )
                yield Hit(branch.position, said, OPERATION)
                break


def _asked(view: FrameView, slot: int, depth: int) -> Iterator[int]:
    """The slots whose ranks a condition compares, as tensors."""
    made = index_of(view.code).source(slot)
    if made is None or not depth:
        return
    if isinstance(made, ir.Compare):
        for operand in (made.left, made.right):
            yield from _asked(view, operand, depth - 1)
    elif isinstance(made, ir.Unary):
        yield from _asked(view, made.operand, depth - 1)
    elif isinstance(made, ir.Call):
        names = view.names(made.function)
        if any(name in _RANK for name in names):
            yield argument(made, 0)
        elif any(name.rpartition(".")[2] in _COMPARE for name in names):
            for operand in arguments(made):
                yield from _asked(view, operand, depth - 1)


def _has_any_rank(view: FrameView, slot: int) -> bool:
    return any(isinstance(o, Unknown) or (isinstance(o, Tensor) and o.shape is None) for o in view.value(slot))


def _suits_some(view: FrameView, instr: Instr, asked: int) -> str:
    """The name of an operation on the tensor whose rank is asked for that not any rank suits; else nothing."""
    index = index_of(view.code)
    if not isinstance(instr, ir.Call) or not any(index.original(s) == index.original(asked) for s in arguments(instr)):
        return ""
    names = (
        name for name in view.names(instr.function) if name.startswith("tf.") and name not in elementwise.FUNCTIONS
    )
    return next((name for name in names if name not in _RANK and not _suits_any(view, instr, name)), "")


def _suits_any(view: FrameView, call: ir.Call, name: str) -> bool:
    """Whether an operation takes a tensor of any rank: sizes, and what goes along its first or last axis, or all.

    That a scalar has neither is left aside: nobody asks whether one is a matrix.
    """
    last = name.rpartition(".")[2]
    if last in _OF_ANY:
        return True
    if not last.startswith("reduce_") and last not in _ALONG:
        return False
    slot = argument(call, 1, "axis")
    return slot < 0 or all(isinstance(obj, Lit) and obj.const in _ENDS for obj in view.value(slot))


def _asks(code: Code) -> bool:
    return ir.If in index_of(code).by_operation


RULE = Rule(
    code="HY369",
    name="asked-rank",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Asks for the rank of a tensor by `tf.rank`, of which nobody knows that it is always the same.",
    details="""`tf.rank(x)` is a tensor, and so is what compares it: in a graph `if tf.rank(x) == 1:` is `tf.cond`,
which traces both branches with the rank that has arrived, known or not. What is meant for vectors is then done to a
matrix, and raises (`tf.linalg.lstsq`, `tf.transpose`, `tf.concat`) although that branch never runs. Eager code takes
one branch. Ask Python: `x.shape.rank`. (HY357 is told where the ranks that arrive are known.)""",
    level=None,
    frame=scan,
    codes=_asks,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(a, b):
    if tf.rank(b) == 1:
        x = tf.linalg.matmul(a, tf.expand_dims(b, -1))
    else:
        x = tf.linalg.matmul(a, b)
    return x
r1 = eval("target")(tf.ones([2, 2]), tf.ones([2]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.equal(tf.rank(x), 3):
        x = tf.transpose(x, [0, 2, 1])
    return x * 2.0
r1 = eval("target")(tf.ones([2, 3]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    if x.shape.rank == 3:
        x = tf.transpose(x, [0, 2, 1])
    return x * 2.0
r1 = eval("target")(tf.ones([2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.rank(x) == 3:
        x = tf.exp(x)
    return x * 2.0
r1 = eval("target")(tf.ones([2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.rank(x) == 2:
        x = tf.reduce_mean(x, -1)
    return x * 2.0
r1 = eval("target")(tf.ones([3]))
"""
        ),
    ),
    reference="semantics.md R1",
)
