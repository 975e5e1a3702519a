"""HY380: the dtype and the shape of an array among the arguments are TensorFlow's in the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Lib, Value
from hybridize.domain.words import COMPARISONS
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where, attributes, operators
from hybridize.tracing.shapes.passed_arrays import (
    ANSWERED,
    OF_DTYPES,
    OF_TUPLES,
    Asked,
    array_mask,
    asked_by_attribute,
    asked_by_call,
    of_numpy,
    owner_of,
)
from hybridize.tracing.views import FrameView

#: What a tuple can be put beside, and a `tf.TensorShape` cannot.
_OPERATORS: Final = ("*", "%")
_EQUAL: Final = ("==", "!=")
_ORDERS: Final = COMPARISONS.difference(_EQUAL)
#: What an array's dtype is not, or is, as NumPy sees it: Python's numbers have 64 bits there, and 32 in TensorFlow.
_NUMBERS: Final = frozenset({"builtins.int", "builtins.float"})


def compared(view: FrameView, instr: ir.Compare) -> Iterator[Asked]:
    """`x.dtype == float`, `x.shape < (4,)`, `x.shape == [4]`."""
    for slot, other in ((instr.left, instr.right), (instr.right, instr.left)):
        owner, value = owner_of(view, slot), view.value(other)
        if owner >= 0 and any(isinstance(o, Lib) and o.name in _NUMBERS for o in value):
            yield owner, "compares with a Python class the dtype of", False
        owner = owner_of(view, slot, "shape")
        if owner >= 0 and instr.operator in _ORDERS:
            yield owner, f"compares by `{instr.operator}` the shape of", True
        elif owner >= 0 and instr.operator in _EQUAL and _is_list(value):
            yield owner, "compares with a list the shape of", False


def _is_list(value: Value) -> bool:
    return any(isinstance(o, Container) and o.kind == "list" for o in value)


def computed(view: FrameView, instr: ir.Binary) -> Iterator[Asked]:
    """`x.shape * 2`, `"%d rows" % x.shape`."""
    for slot in (instr.left, instr.right):
        owner = owner_of(view, slot, "shape")
        if owner >= 0:
            yield owner, f"takes for a tuple, by `{instr.operator}`, the shape of", True


def _hits(view: FrameView, position: int, found: Iterator[Asked]) -> Iterator[Hit]:
    for slot, said, raises in found:
        needs = array_mask(view, slot)
        if needs:
            outcome = Outcome.RAISES if raises else Outcome.DIFFERS
            yield Hit(position, f"{said} an array that becomes a tensor", needs, outcome=outcome)
            return


RULE = Rule(
    code="HY380",
    name="array-parts",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Takes the dtype or shape of an argument for NumPy's; in the graph it is TensorFlow's.",
    details="""Every array among the arguments of a traced function becomes a tensor, whose `dtype` is a
`tf.DType`. It compares with NumPy's dtypes and their names as before (`x.dtype == np.float32`), has a `name`, and
serves TensorFlow's functions. But it has no `kind`, `type` or `itemsize`, NumPy's functions do not take it
(`np.issubdtype(x.dtype, np.integer)`, `np.finfo(x.dtype)`, `np.zeros(3, x.dtype)`), its text is another one
(`<dtype: 'float32'>`), and Python's `float` is 32 bits to it. Its `shape` is no tuple: it has no `index` and `count`,
is not repeated by `*` and not ordered by `<`, and equals a list. Ask TensorFlow (`x.dtype.is_integer`), NumPy about
`x.dtype.as_numpy_dtype` after `x = tf.convert_to_tensor(x)`, and for `tuple(x.shape)`.""",
    level=Level.INFO,
    triggers={
        ir.Attr: attributes(
            lambda view, instr: _hits(view, instr.position, asked_by_attribute(view, instr)), OF_DTYPES | OF_TUPLES
        ),
        ir.Call: Where(
            lambda view, instr: _hits(view, instr.position, asked_by_call(view, instr)),
            names=lambda name: of_numpy(name) or name in ANSWERED,
        ),
        ir.Compare: lambda view, instr: _hits(view, instr.position, compared(view, instr)),
        ir.Binary: operators(lambda view, instr: _hits(view, instr.position, computed(view, instr)), *_OPERATORS),
    },
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    if np.issubdtype(x.dtype, np.integer):
        return tf.cast(x, tf.float32) / 255.0
    return tf.tanh(x)
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    return tf.tanh(x) if x.dtype.kind == "f" else tf.cast(x, tf.float32)
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    weights = np.ones(3, dtype=x.dtype)
    return tf.tanh(x) * weights
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    if str(x.dtype) == "float32":
        return tf.tanh(x)
    return tf.cast(x, tf.float32)
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    if x.dtype == float:
        return tf.cast(x, tf.float32)
    return tf.tanh(x)
r1 = target(np.ones(3, np.float32) * 2)
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    return tf.zeros(x.shape * 2) + tf.tanh(x)
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    return tf.tanh(x) if isinstance(x.shape, tuple) else tf.cast(x, tf.float32) * 2.0
r1 = target(np.ones(3, np.float32))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    if x.shape == (3,) and 3 in x.shape:
        return tf.zeros(x.shape + (2,)) + float(np.prod(x.shape))
    return tf.zeros(tuple(x.shape) * 2)
r1 = target(np.ones(3, np.float32))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    if x.dtype == np.float32 or x.dtype.name == "float64":
        return tf.tanh(x) + tf.zeros(3, dtype=x.dtype)
    return tf.cast(x, tf.float32)
r1 = target(np.ones(3, np.float32))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    x = tf.convert_to_tensor(x)
    return tf.tanh(x) * np.ones(3, dtype=x.dtype.as_numpy_dtype)
r1 = target(np.ones(3, np.float32))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
SCALE = np.ones(3, np.float32)
def target(x: tf.Tensor):
    return tf.tanh(x) * np.ones(3, dtype=SCALE.dtype)
r1 = target(tf.ones(3))
"""
        ),
    ),
)
