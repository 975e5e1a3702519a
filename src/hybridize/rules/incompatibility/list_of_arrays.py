"""HY370: lists of NumPy arrays in the place of one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Obj, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.symbolic import OPERATION
from hybridize.library.arguments import positions
from hybridize.library.tensorflow.lists_of_arrays import ONE_TENSOR
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.shapes.meetings import OPERATORS
from hybridize.tracing.values import argument, elements
from hybridize.tracing.views import FrameView

#: Functions that convert each element of a list for itself.
_EACH: Final = frozenset({"tf.stack", "tf.concat", "tf.math.add_n"})
_ASSIGN: Final = frozenset(f"tensor.variable.assign{how}" for how in ("", "_add", "_sub"))
_PLACES: Final = {**ONE_TENSOR, **dict.fromkeys(_EACH | _ASSIGN, (0,))}
_LISTS: Final = ("list", "tuple")
_DEPTH: Final = 4


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A list of arrays given to a function that wants one tensor."""
    for name in view.names(instr.function):
        for place in _PLACES.get(name, ()):
            parameter = next((p for p, (at, _) in positions(name).items() if at == place), "value")
            slot = argument(instr, place, parameter)
            if slot >= 0 and _is_list_of_arrays(view, slot, within=name in _EACH):
                yield _hit(instr, name.rpartition(".")[2])
                return


def binary(view: FrameView, instr: ir.Binary) -> Iterator[Hit]:
    """A list of arrays that meets a tensor in an operator."""
    for slot, other in ((instr.left, instr.right), (instr.right, instr.left)):
        met = instr.operator in OPERATORS and view.is_tensor(other, arrays=False)
        if met and _is_list_of_arrays(view, slot):
            yield _hit(instr, instr.operator)
            return


def _hit(instr: Instr, short: str) -> Hit:
    return Hit(
        instr.position, f"gives a list of NumPy arrays to `{short}`, of which a graph makes no tensor", OPERATION
    )


def _is_list_of_arrays(view: FrameView, slot: int, within: bool = False) -> bool:
    """Whether a slot holds lists of arrays, of which tracing makes no tensors before; or (`within`) lists of those."""
    value = elements(view.value(slot)) if within else view.value(slot)
    return bool(value) and all(_holds_in_list(obj, _DEPTH) for obj in value) and not view.symbolic(slot)


def _is_list(obj: Obj) -> bool:
    return isinstance(obj, Tup) or (isinstance(obj, (Container, Stream)) and obj.kind in _LISTS)


def _holds_arrays(value: Value, depth: int) -> bool:
    """Whether a value is, at the ends of its lists, arrays of one or more dims, and nothing else."""
    return bool(value) and all(_is_array(obj) or _holds_in_list(obj, depth) for obj in value)


def _holds_in_list(obj: Obj, depth: int) -> bool:
    return depth > 0 and _is_list(obj) and _holds_arrays(elements(frozenset({obj})), depth - 1)


def _is_array(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind == NDARRAY and obj.shape != ()


RULE = Rule(
    code="HY370",
    name="list-of-arrays",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Gives a list of NumPy arrays where one tensor is wanted.",
    details="""Eager TensorFlow stacks a list or tuple of arrays wherever a function wants a tensor. A graph makes a
constant of the list, and refuses elements that are no numbers. Lists of tensors suit both (an array that arrives as
an argument is one), as do lists of numbers, and `tf.stack`, `tf.concat` and `tf.add_n` convert each element. Stack
the arrays before (`np.stack`, `tf.stack`).""",
    triggers={ir.Call: Where(call, names=_PLACES.__contains__), ir.Binary: binary},
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
START = np.array([1.0, 2.0], np.float32)
def target(x):
    return x + tf.expand_dims([START] * 3, 1)
r1 = target(tf.ones([3, 1, 2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
LOW, HIGH = np.zeros(2, np.float32), np.ones(2, np.float32)
def target(x):
    return tf.reduce_mean((LOW, HIGH), axis=0) * x
r1 = target(tf.ones([2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
FIRST, LAST = np.zeros(2, np.float32), np.ones(2, np.float32)
def target(x):
    return tf.concat([[FIRST], [LAST]], 0) * x
r1 = target(tf.ones([2, 2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
ROW = np.ones(2, np.float32)
def target(x):
    return [ROW, ROW] * x
r1 = target(tf.ones([2, 2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
LOW, HIGH = np.zeros(2, np.float32), np.ones(2, np.float32)
def target(x):
    ends = tf.stack([LOW, HIGH]) + tf.add_n([LOW, HIGH]) + tf.constant([[1.0, 2.0], LOW.tolist()])
    return ends * x + tf.reshape(tf.concat([LOW, HIGH], 0), [2, 2]) + tf.constant(np.stack([LOW, HIGH]))
r1 = target(tf.ones([2, 2]))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(row, x):
    return tf.reduce_sum([row, row]) + tf.reduce_max([np.float32(2.0), x])
r1 = target(np.ones(2, np.float32), tf.constant(1.0))
"""
        ),
    ),
    reference="a blind reader's conversion; measured under TensorFlow 2.15 and 2.21",
)
