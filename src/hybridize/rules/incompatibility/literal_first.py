"""HY360: a Python value or array in the first place of an operation, beside a tensor of another dtype."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.objects import NONE, Container, Lit, Obj, Prim, Stream, Tensor, Tup, Unknown, Value
from hybridize.domain.tensors import NDARRAY, RAGGED, SPARSE, SYMBOLIC
from hybridize.facts.symbolic import OPERATION
from hybridize.library.convert import PYTHON_TF
from hybridize.library.tensorflow.conversion_order import GROUPS
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.records import dataclass
from hybridize.rules.model import Category, Confirmed, Doubt, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.shapes.meetings import slot_of
from hybridize.tracing.views import FrameView, ProjectView

#: The dtypes to which eager code converts a Python number of a kind, as they begin.
_GIVES_WAY: Final = {
    "int": ("int", "uint", "float", "bfloat", "complex"),
    "bool": ("int", "uint", "float", "bfloat"),
    "float": ("float", "bfloat", "complex"),
    "array": ("int", "uint", "float", "bfloat"),
}
_OTHERS: Final = frozenset({RAGGED, SPARSE, SYMBOLIC})
_DEPTH: Final = 4
#: What a tensor of unknown dtype has most often: only a float is sure to suit it.
_COMMON: Final = "float32"


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call of a function that converts its operands one after the other."""
    for name in view.names(instr.function):
        for first, *others in GROUPS.get(name, ()):
            slots = [slot_of(instr, name, parameter) for parameter in (first, *others)]
            if slots[0] < 0 or view.symbolic(slots[0]):
                continue
            kinds = _kinds(view.value(slots[0]), _DEPTH)
            found = _clash(view, kinds, [slot for slot in slots[1:] if slot >= 0])
            if found is not None:
                yield _hit(instr, name, found)
                return


def _kinds(value: Value, depth: int) -> set[tuple[str, str] | None]:
    """What a graph makes of a value in the first place: kind and dtype of each alternative; None for a tensor."""
    return {_kind(obj, depth) for obj in value if obj is not NONE}


def _kind(obj: Obj, depth: int) -> tuple[str, str] | None:
    match obj:
        case Lit(kind=kind) | Prim(kind=kind) if kind in ("int", "float", "bool"):
            return kind, PYTHON_TF[kind]
        case Tensor(kind=kind, dtype=dtype) if kind == NDARRAY and dtype:
            return "array", dtype
        case Tup() | Container() | Stream() if depth:
            parts = {part for value in _parts(obj) for part in _kinds(value, depth - 1)}
            numbers = [k for k in ("float", "int", "bool") if any(part is not None and part[0] == k for part in parts)]
            if parts and None not in parts and numbers and all(part and part[0] != "array" for part in parts):
                return numbers[0], PYTHON_TF[numbers[0]]
    return None


def _parts(obj: Obj) -> list[Value]:
    match obj:
        case Tup():
            return list(obj.items)
        case Container() if obj.kind == "list":
            return [cell.value for cell in obj.fields.values()] + ([obj.rest.value] if obj.rest is not None else [])
        case Stream() if obj.kind in ("list", "tuple"):
            return [obj.element]
    return []


@dataclass(frozen=True, slots=True)
class _Other:
    """What meets the first operand: its dtype (None: not known), and what must be symbolic where it is an array."""

    dtype: str | None
    needs: int = OPERATION

    @property
    def is_array(self) -> bool:
        return self.needs != OPERATION


@dataclass(frozen=True, slots=True)
class _Clash:
    kind: str
    dtype: str
    other: _Other
    certain: bool


def _clash(view: FrameView, kinds: set[tuple[str, str] | None], others: Sequence[int]) -> _Clash | None:
    """What meets what: a clash that is known, or else one that may be."""
    given = sorted(kind for kind in kinds if kind is not None)
    for kind, dtype in given:
        doubt = None
        for slot in others:
            found = _others(view, slot)
            alone = len(kinds) == 1 == len(found) and all(isinstance(obj, Tensor) for obj in view.value(slot))
            for other in found:
                if other.dtype is None and (dtype != _COMMON or other.is_array):
                    doubt = _Clash(kind, dtype, other, certain=False)
                elif other.dtype not in (None, dtype) and other.dtype.startswith(_GIVES_WAY[kind]):
                    return _Clash(kind, dtype, other, alone)
        if doubt is not None:
            return doubt
    return None


def _others(view: FrameView, slot: int) -> list[_Other]:
    """What a value may be that is a tensor in a graph: arrays from outside, too, which give way in eager code."""
    found: set[_Other] = set()
    symbolic = view.symbolic(slot)
    for obj in view.value(slot):
        if isinstance(obj, Unknown):
            found.add(_Other(None))
        elif isinstance(obj, Tensor) and obj.kind == NDARRAY and symbolic:
            found.add(_Other(obj.dtype, symbolic))
        elif isinstance(obj, Tensor) and obj.kind != NDARRAY and obj.kind not in _OTHERS:
            found.add(_Other(obj.dtype))
    return sorted(found, key=lambda each: (str(each.dtype), each.needs))


def _hit(instr: Instr, name: str, found: _Clash) -> Hit:
    what = f"an array of {found.dtype}" if found.kind == "array" else f"a Python {found.kind}"
    array = "an array" if found.other.is_array else "a tensor"
    said = f"`{name}` makes {found.dtype} of its first operand, {what}, before it sees {array} of "
    unless = None if found.certain else f"assumed that what meets {what} in `{name}` is of {found.dtype}"
    return Hit(instr.position, said + (found.other.dtype or "unknown dtype"), found.other.needs, subject=unless)


def confirm(_: ProjectView, doubts: Sequence[Doubt]) -> list[dict[Hit, Confirmed]]:
    """Every hit; those of which a dtype is not known can be assumed away."""
    return [{hit: Confirmed(unless=str(hit.subject or "")) for hit in doubt.hits} for doubt in doubts]


RULE = Rule(
    code="HY360",
    name="literal-first",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A Python value or array is the first operand of an operation on a tensor of another dtype.",
    details="""Eager TensorFlow looks at all operands that have to be of one dtype, and converts Python values and
arrays to that of the tensors. An operation of a graph converts them in order: in `tf.where(mask, 1, x)`,
`tf.maximum(0, x)` or `tf.subtract(1, x)` the literal becomes an int32 before the float tensor is seen, which is
refused. `0.5` becomes a float32, which a float64 or float16 tensor is not, and an array keeps its own dtype. Give the
value the dtype of the tensor (`tf.maximum(0.0, x)`, `tf.ones_like(x)`), put the tensor first, or use the operator
(`1 - x`). Where the tensor's dtype is not known, that an integer suits it is an assumption. The same goes for an array
that a graph is given: eager code makes a float32 of it in `tf.maximum(1e-10, x)`, a graph has the float64 that it
is.""",
    triggers={ir.Call: Where(call, names=GROUPS.__contains__)},
    confirm=confirm,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(mask, x):
    return tf.where(mask, 1, tf.eye(2) * x)
r1 = target(tf.constant([[True, False], [False, True]]), tf.ones([2, 2]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.maximum(0, x) + tf.subtract(y=x, x=1)
r1 = target(tf.constant([1.0, -1.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.math.squared_difference(0.5, tf.cast(x, tf.float64))
r1 = target(tf.constant([1.0, -1.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
LEAST = np.zeros(2)
def target(x):
    return tf.math.maximum(LEAST, x), tf.pow([2, 2], x)
r1 = target(tf.constant([1.0, -1.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x):
    return tf.math.log(tf.maximum(1e-10, x))
r1 = target(np.ones(3))
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
LEAST = np.full(2, 2.0)
def target(x):
    return tf.maximum(x, 1e-10), tf.maximum(1e-10, LEAST) * tf.reduce_sum(x)
r1 = target(np.ones(3, np.float32))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(mask, x, n):
    y = tf.where(mask, x, 1) + tf.maximum(0.0, x) + tf.add(1.0, x) + (1 - x)
    return y, tf.minimum(3, n), tf.where(mask, 0.0, tf.zeros_like(x))
r1 = target(tf.constant([True, False]), tf.ones([2]), tf.constant([1, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.maximum(tf.cast(0, x.dtype), x) * tf.stack([1.0, x[0]])
r1 = target(tf.constant([1.0, -1.0]))
"""
        ),
    ),
    reference="a blind reader's conversion; measured under 2.15 and 2.21",
)
