"""HY348: arrays whose dtype gives way to that of a tensor in eager code, and does not once they are tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import COMPARISONS
from hybridize.library.arithmetic import promoted
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Level, Outcome, Rule, Where, operators
from hybridize.tracing.shapes.meetings import OPERATORS, Clash, asks, clash, met
from hybridize.tracing.views import FrameView, ProjectView


def meeting(view: FrameView, instr: ir.TwoSided | ir.Call) -> Iterator[Hit]:
    """`array * tensor` or `tf.multiply(array, tensor)`, with different dtypes."""
    found = [each for each in (clash(view, meeting) for meeting in met(view, instr)) if each is not None]
    if found:
        yield _hit(instr, min(found, key=lambda each: not each.certain))
    elif isinstance(instr, (ir.Binary, ir.Compare)):
        yield from _narrower(view, instr)


def _hit(instr: Instr, found: Clash) -> Hit:
    array, other = found.array or "an unknown dtype", found.other or "a tensor of unknown dtype"
    said = f"an array of {array} becomes a tensor, which does not give way to {other}"
    return Hit(instr.position, said, found.needs, subject=None if found.certain else _unless(found))


def _unless(found: Clash) -> str:
    """What is assumed where nobody knows that dtypes differ."""
    if found.array is None:
        return f"assumed that an array of unknown dtype is one of {found.other or 'the dtype of what it meets'}"
    if found.other is None:
        return f"assumed that what meets an array of {found.array} is of that dtype"
    return f"assumed that what meets {found.other} is no array of {found.array}"


def confirm(_: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """Every hit; those that need not be so can be assumed away."""
    return [{hit: Confirmed(unless=str(hit.subject or "")) for hit in doubt.hits} for doubt in doubts]


def _narrower(view: FrameView, instr: ir.Binary | ir.Compare) -> Iterator[Hit]:
    """An array from outside and one from before the trace: NumPy promotes, a tensor makes the other one give way."""
    for slot, other in ((instr.left, instr.right), (instr.right, instr.left)):
        given, beside = _dtypes(view, slot), _dtypes(view, other)
        if len(given) != 1 or len(beside) != 1 or not view.symbolic(slot) or view.symbolic(other):
            continue
        array, kept = given.pop(), beside.pop()
        wider = kept if array is None else _promoted(view, instr, array, kept)
        if wider is None or array == wider or (array is None and not wider.startswith("float")):
            continue
        said = f"an array of {array or 'an unknown dtype'} becomes a tensor: what meets it does not make it {wider}"
        unless = f"assumed that an array of unknown dtype is one of {wider}" if array is None else None
        needs = view.symbolic(slot)
        yield Hit(instr.position, f"{said} as in NumPy", needs, outcome=Outcome.DIFFERS, subject=unless)
        return


def _promoted(view: FrameView, instr: ir.Binary | ir.Compare, array: str, kept: str | None) -> str | None:
    """The dtype in which NumPy computes with two arrays."""
    if instr.operator in COMPARISONS:
        return promoted(array, kept)
    found = _dtypes(view, instr.target)
    return found.pop() if len(found) == 1 else None


def _dtypes(view: FrameView, slot: int) -> set[str | None]:
    """The dtypes of the arrays in a slot."""
    return {o.dtype for o in view.value(slot) if isinstance(o, Tensor) and o.kind == NDARRAY}


RULE = Rule(
    code="HY348",
    name="array-dtype",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="An array argument meets a tensor of another dtype.",
    details="""In eager code a NumPy array gives way: `float32_tensor * float64_array` is float32. As an argument of a
traced function the array is a float64 tensor, and TensorFlow does not convert between the dtypes of tensors: it
raises. The same goes for `convert_to_tensor(array, dtype)`, `variable.assign(array)`, and every function that asks
for one dtype (`tf.where`, `tf.concat`, `tf.nn.conv2d`), or for whole numbers or truth values (`tf.one_hot(labels,
n)`, `tf.where(mask, x, y)`, shapes). A mask is computed with in NumPy (`mask * 2`), and not as a tensor. Arrays that
existed before the trace still give way, but not as in NumPy: `int64_argument * np.array([0.5])` is float64 in eager
code, and all zeros in a graph. Use `tf.cast(array, tf.float32)`, which serves both, or pass float32 arrays. Where a
dtype is not known, that it fits is an assumption.""",
    level=Level.INFO,
    triggers={
        ir.TwoSided: operators(meeting, *OPERATORS),
        ir.Call: Where(meeting, names=asks),
    },
    confirm=confirm,
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, labels):
    return x * tf.one_hot(labels, 3)
r1 = target(tf.ones((2, 3)), np.array([0.0, 2.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, mask):
    return tf.where(mask, x, 0.0)
r1 = target(tf.ones(3), np.array([1, 0, 1]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(mask):
    return tf.reduce_any(mask > 0)
r1 = target(np.array([True, False]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return x + noise
r1 = target(tf.ones(3), np.zeros(3))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, rows):
    y = tf.concat([x, rows], 0)
    return tf.matmul(y, y, transpose_b=True)
r1 = target(tf.ones((1, 3)), np.zeros((2, 3)))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(image):
    x = tf.convert_to_tensor(image, dtype=tf.float32)
    return x / 2.0
r1 = target(np.zeros((2, 3)))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, kernel, actions):
    y = tf.nn.conv2d(x, kernel, 1, "SAME")
    y -= actions
    return tf.reduce_mean(y * y)
r1 = target(tf.ones((1, 4, 4, 1)), np.ones((2, 2, 1, 1), np.float32), np.array([1, 0, 1, 1]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
HALF = np.array([0.5])
def target(x, steps):
    y = tf.cast(steps * HALF, tf.float32)
    return tf.reduce_mean(x * y)
r1 = target(tf.ones(3), np.array([1, 2, 3]))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
SCALE = np.array([1.0, 2.0, 3.0])
def target(x, noise):
    return x * SCALE + tf.cast(noise, tf.float32)
r1 = target(tf.ones(3), np.zeros(3))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return tf.concat([x, noise], 0) * 2.0
r1 = target(tf.ones((1, 3)), np.zeros((1, 3), np.float32))
"""
        ),
    ),
    known_problems="It is information: none of the nine findings that were read was right.",
    reference="semantics.md R9",
)
