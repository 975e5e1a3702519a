"""HY340: functions of NumPy and other host libraries on symbolic tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Tensor
from hybridize.library.on_host import HOST_NUMBERS, on_host
from hybridize.program import ir
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where
from hybridize.tracing.running.switches import behaves_as_numpy
from hybridize.tracing.values import elements, has_tensor, inside, is_dim, own
from hybridize.tracing.views import FrameView

#: Functions of NumPy that call the method of that name, which TensorFlow's NumPy behavior gives to tensors: measured
#: with 2.15 and 2.21, which have no other that works on a symbolic tensor.
_BY_METHOD: Final = frozenset(f"np.{name}" for name in "mean max min amax amin reshape transpose flip".split())


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A host function is given a tensor that tracing makes symbolic, or a number that was made from one."""
    name, needs = _refused(view, instr)
    if needs:
        said = f"gives a tensor to `{_spelled(name)}`, which computes on the host"
        yield Hit(instr.position, said, needs, level=Level.INFO if _asks_tensor(view, instr, name) else None)


def _refused(view: FrameView, instr: ir.Call) -> tuple[str, int]:
    """The host function that a call runs, and the mask of what it is given and cannot take."""
    name = next(filter(on_host, view.names(instr.function)), "")
    if not name:
        return "", 0
    return name, _numbers(view, instr) if name in HOST_NUMBERS else _any(view, instr, name)


def _asks_tensor(view: FrameView, instr: ir.Call, name: str) -> bool:
    """Whether NumPy may ask the tensor itself for what it is to compute, as it asks an array's methods."""
    first = view.value(instr.arguments[0][0]) if instr.arguments else frozenset()
    given = bool(first) and all(isinstance(o, Tensor) for o in first)
    return name in _BY_METHOD and given and behaves_as_numpy(view.project)


def _spelled(name: str) -> str:
    return name.replace("tensor.ndarray.", "ndarray.").removeprefix("builtins.")


def _numbers(view: FrameView, instr: ir.Call) -> int:
    found = 0
    for slot in arguments(instr):
        found |= inside(view, slot)
    return found


def _any(view: FrameView, instr: ir.Call, name: str) -> int:
    if name.startswith(("builtins.", "operator.")):
        return _numbers(view, instr) | own(view, instr.arguments[0][0]) if instr.arguments else 0
    found = _numbers(view, instr)
    for slot in arguments(instr):
        if is_dim(view.value(slot)) or is_dim(elements(view.value(slot))) or _is_told(view, slot):
            continue
        found |= own(view, slot) if has_tensor(view.value(slot)) else view.symbolic(slot)
    return found


def _is_told(view: FrameView, slot: int) -> bool:
    """Whether a slot holds what a host function would give of a tensor, and does not: that one raises before."""
    made = view.definition(slot)
    return isinstance(made, ir.Call) and _refused(view, made)[1] != 0


RULE = Rule(
    code="HY340",
    name="host-function-on-tensor",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Gives a tensor to a function of NumPy, `math` or another library that computes on the host.",
    act="use TensorFlow's function of that name, or `tf.numpy_function`",
    details="""While a function is traced its tensors have no values, and so NumPy, `math`, `copy.deepcopy` and the
like raise on them. The same goes for NumPy arrays that arrive as arguments: `tf.function` makes tensors of them, and
for numbers made with `int(t)` or `float(t)`, which AutoGraph turns into operations. Use TensorFlow's counterpart
(`tf.math`, `tf.experimental.numpy`), or `tf.numpy_function`. Host functions on Python numbers, on static shapes and
on arrays that existed before are computed once, while tracing, and are fine.""",
    triggers={ir.Call: Where(call, names=on_host)},
    bad=(
        Example(
            """\
import math
import tensorflow as tf
def target(x):
    scale = math.sqrt(float(tf.size(x)))
    return x / scale
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch, w):
    mean = np.mean(batch)
    return w * mean
r1 = target(np.ones(3, np.float32), tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import copy
import tensorflow as tf
def target(states):
    kept = copy.deepcopy(states)
    return kept[0] + 1
r1 = target([tf.constant(2.0)])
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
WINDOW = np.hanning(2).astype(np.float32)
def target(x):
    return tf.reshape(x * WINDOW, [np.prod(x.shape)]) * np.float32(np.sqrt(64.0))
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    return tf.numpy_function(lambda v: np.sin(v), [x], tf.float32)
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import math
import tensorflow as tf
def target(x):
    return x / math.sqrt(x.shape[-1])
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    reference="semantics.md R8, R9",
)
