"""HY347: NumPy arrays that arrive as arguments become tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Lit, Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where, attributes, operators
from hybridize.tracing.autograph.generic import choices, is_dispatched
from hybridize.tracing.running.certain import runs_always
from hybridize.tracing.running.switches import behaves_as_numpy
from hybridize.tracing.shapes.classes import kinds_of, only_converts
from hybridize.tracing.shapes.passed_arrays import OF_ARRAYS, array_mask
from hybridize.tracing.shapes.unified import answers_for_tensors
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

#: Functions of Python that a tensor does not know.
_UNKNOWN: Final = frozenset({"builtins.round", "builtins.divmod"})
#: Functions that look for an attribute of what they are given.
_LOOKS: Final = frozenset({"builtins.getattr", "builtins.hasattr"})
#: Functions that ask for the class of what they are given, and those.
_ASKING: Final = frozenset({"builtins.isinstance", "tf.is_tensor"}) | _UNKNOWN | _LOOKS


def attribute(view: FrameView, instr: ir.Attr) -> Iterator[Hit]:
    """An attribute or method that arrays have and tensors have not."""
    needs = array_mask(view, instr.owner)
    if needs:
        always = runs_always(view.frame, instr.position) and _is_given(view, instr.owner)
        said = f"uses `.{instr.name}` of an array that becomes a tensor"
        yield Hit(instr.position, said, needs, level=Level.ERROR if always else None)


def _is_given(view: FrameView, slot: int) -> bool:
    """Whether a slot holds an argument that is an array, and never anything else."""
    original = index_of(view.code).original(slot)
    given = view.code.place_of(original) >= 0 and not behaves_as_numpy(view.project)
    value = view.value(slot)
    return given and bool(value) and all(isinstance(o, Tensor) and o.kind == NDARRAY for o in value)


def item(view: FrameView, instr: ir.Item) -> Iterator[Hit]:
    """An array indexed by a list or by another array."""
    index = view.value(instr.index)
    if any(isinstance(o, Container) or (isinstance(o, Tensor) and _gathers(o)) for o in index):
        needs = array_mask(view, instr.source)
        if needs:
            yield Hit(instr.position, "indexes an array that becomes a tensor by a list of places", needs)


def _gathers(index: Tensor) -> bool:
    return index.dtype is not None and index.dtype.startswith(("int", "uint")) and bool(index.shape)


def store(view: FrameView, instr: ir.SetItem) -> Iterator[Hit]:
    """`array[i] = v`."""
    needs = array_mask(view, instr.owner)
    if needs:
        yield Hit(instr.position, "writes an element of an array that becomes a tensor", needs)
    elif any(isinstance(o, Tensor) and o.kind == NDARRAY for o in view.value(instr.owner)):
        needs = view.symbolic(instr.value)
        if needs and any(isinstance(o, Tensor) for o in view.value(instr.value)):
            yield Hit(instr.position, "writes a tensor into an array", needs)


def product(view: FrameView, instr: ir.Binary) -> Iterator[Hit]:
    """`vector @ vector`: TensorFlow multiplies matrices alone."""
    for slot in (instr.left, instr.right):
        ranks = [o.shape for o in view.value(slot) if isinstance(o, Tensor) and o.kind == NDARRAY]
        needs = array_mask(view, slot) if any(shape is not None and len(shape) < 2 for shape in ranks) else 0
        if needs:
            yield Hit(instr.position, "multiplies with `@` an array of one dimension that becomes a tensor", needs)
            return


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """`isinstance(array, np.ndarray)`, or a function that is chosen by that."""
    names = view.names(instr.function)
    for name in _UNKNOWN.intersection(names):
        needs = array_mask(view, argument(instr, 0))
        if needs:
            yield Hit(instr.position, f"gives `{name[9:]}` an array that becomes a tensor", needs)
        return
    if not _LOOKS.isdisjoint(names):
        looked = (o.const for o in view.value(argument(instr, 1)) if isinstance(o, Lit))
        asked = next((const for const in looked if const in OF_ARRAYS), None)
        needs = array_mask(view, argument(instr, 0)) if asked is not None else 0
        if needs:
            said = f"looks for `{asked}` in an array that becomes a tensor"
            yield Hit(instr.position, said, needs, outcome=Outcome.DIFFERS)
        return
    if "builtins.isinstance" in names:
        kinds = kinds_of(view.value(argument(instr, 1)))
    elif "tf.is_tensor" in names:
        kinds = ["tf.Tensor"]
    else:
        for slot, value in choices(view, instr):
            yield from _asked(view, instr, slot, kinds_of(value))
        return
    found = list(_asked(view, instr, argument(instr, 0), kinds))
    if found and not only_converts(view, instr, kinds):  # the syntax is asked last: it may have to be parsed again
        yield from found


def _asked(view: FrameView, instr: ir.Call, slot: int, kinds: list[str]) -> Iterator[Hit]:
    """A question whether something is of some classes, where it is an array."""
    needs = array_mask(view, slot)
    if not needs or not kinds:
        return
    arrays = [o for o in view.value(slot) if isinstance(o, Tensor) and o.kind == NDARRAY]
    if any(_eager(o, kinds) != answers_for_tensors(kinds) for o in arrays):
        yield Hit(
            instr.position, "asks for the class of an array that becomes a tensor", needs, outcome=Outcome.DIFFERS
        )


def _eager(array: Tensor, kinds: list[str]) -> bool:
    scalar = array.shape == ()
    for kind in kinds:
        if kind == "np.ndarray" and (not scalar or array.shape is None):
            return True
        if scalar and (kind.startswith("np.") or kind.startswith("numbers.") or kind == "builtins.float"):
            return kind != "builtins.float" or array.dtype == "float64"
    return False


RULE = Rule(
    code="HY347",
    name="array-argument",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Uses an argument as a NumPy array; `tf.function` makes a tensor of it.",
    details="""Every array, and every NumPy scalar, among the arguments of a traced function becomes a tensor. Its
methods (`a.mean()`, `a.reshape(-1)`, `a.T`, `a.size`), item assignment and indexing by a list of places then raise,
and `isinstance(a, np.ndarray)` takes the other way. Use TensorFlow's functions, or convert the argument at the
call. Slices and operators are the same for both, but for `@`, which asks for matrices; so is most of what
is done with shapes and dtypes (`HY380`).""",
    level=Level.INFO,
    triggers={
        ir.Attr: attributes(attribute, OF_ARRAYS),
        ir.Item: item,
        ir.SetItem: store,
        ir.Binary: operators(product, "@"),
        ir.Call: Where(call, names=_ASKING.__contains__, values=is_dispatched),
    },
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(a, b):
    return tf.exp(a @ b)
r1 = target(np.ones(3), np.ones(3))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch, w):
    if not isinstance(batch, (np.ndarray, int)):
        raise TypeError("an array or a number")
    return w * batch
r1 = target(np.ones((2, 2), np.float32), tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch, w):
    flat = batch.reshape(-1)
    return w * flat
r1 = target(np.ones((2, 2), np.float32), tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch, w):
    if isinstance(batch, np.ndarray):
        batch = batch * 2
    return w * batch
r1 = target(np.ones((2, 2), np.float32), tf.constant(2.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(batch):
    rows = batch[[0, 1]]
    return tf.reduce_sum(rows)
r1 = target(np.ones((2, 2), np.float32))
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
def target(batch, w):
    if isinstance(batch, np.ndarray):
        batch = tf.convert_to_tensor(batch)
    return w * batch[:, None] * batch.shape[0]
r1 = target(np.ones((2, 2), np.float32), tf.constant(2.0))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
MASK = np.ones((2, 2), np.float32)
def target(w):
    rows = MASK[[0, 1]].reshape(-1)
    return w * rows * MASK.size
r1 = target(tf.constant(2.0))
"""
        ),
    ),
    known_problems="""It is an error only where a program of the project calls the function and nothing but arrays
can come. Elsewhere it is mistaken too often, and is information.""",
    reference="semantics.md R9",
)
