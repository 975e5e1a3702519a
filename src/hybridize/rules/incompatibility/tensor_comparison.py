"""HY343: Python's own functions compare tensors or ask for their truth: `in`, `max`, `any`, `sorted`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE, Container, Lit, Prim, Stream, Tensor, Tup
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where, operators
from hybridize.tracing.values import argument, elements, has_tensor, inside, own, tensor_or_number
from hybridize.tracing.views import FrameView

_ORDERING: Final = frozenset({"builtins.max", "builtins.min"})
_TRUTHS: Final = frozenset({"builtins.any", "builtins.all"})
_SORTING: Final = frozenset({"builtins.sorted", "builtins.list.sort"})
_FINDING: Final = frozenset(
    f"{kind}.{name}" for kind in ("builtins.list", "builtins.tuple") for name in ("index", "count", "remove")
)


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A built-in function that compares tensors."""
    for name in view.names(instr.function):
        needs = 0
        if name in _ORDERING:
            needs = _ordered(view, instr)
        elif name in _TRUTHS:
            needs = own(view, argument(instr, 0)) or _held(view, argument(instr, 0)) or inside(view, argument(instr, 0))
        elif name == "builtins.sorted":
            needs = 0 if _has_key(instr) else _held(view, argument(instr, 0)) or inside(view, argument(instr, 0))
        elif name == "builtins.list.sort":
            needs = 0 if _has_key(instr) else _held(view, view.receiver(instr.function))
        elif name in _FINDING:
            needs = tensor_or_number(view, argument(instr, 0)) or _held(view, view.receiver(instr.function))
        if needs:
            yield Hit(
                instr.position,
                f"Python's `{name.rpartition('.')[2]}` asks whether a comparison of tensors holds",
                needs,
            )
            return


def _has_key(instr: ir.Call) -> bool:
    return any(name == "key" for name, _ in instr.keywords)


def _ordered(view: FrameView, instr: ir.Call) -> int:
    if _has_key(instr):
        return 0
    if len(instr.arguments) == 1 and not instr.arguments[0][1]:
        slot = instr.arguments[0][0]
        return own(view, slot) or _held(view, slot) or inside(view, slot)
    needs = 0
    for slot, starred in instr.arguments:
        needs |= _held(view, slot) if starred else tensor_or_number(view, slot)
    return needs


def _held(view: FrameView, slot: int) -> int:
    """The mask of a container of several tensors."""
    value = view.value(slot)
    if not has_tensor(elements(value)) or all(_single(o) for o in value):
        return 0
    return view.symbolic(slot) or view.mask(slot)


def _single(obj: object) -> bool:
    """Whether a container holds one element at most: nothing to compare."""
    if isinstance(obj, Tup):
        return len(obj.items) < 2
    return isinstance(obj, Container) and obj.exact and not (obj.rest and obj.rest.value) and len(obj.fields) < 2


def compare(view: FrameView, instr: ir.Compare) -> Iterator[Hit]:
    """`t in (1, 2)`, `3 in t`."""
    left, right = instr.left, instr.right
    needs = own(view, right)
    if needs:
        yield Hit(instr.position, "looks for an element in a tensor with `in`", needs)
        return
    containers = [o for o in view.value(right) if _sequence(o)]
    if not containers:
        return
    inner = elements(frozenset(containers))
    if any(isinstance(o, (Tensor, Lit, Prim)) and o is not NONE for o in inner):
        needs = tensor_or_number(view, left) or (
            view.symbolic(right) if has_tensor(inner) and _comparable(view, left) else 0
        )
        if needs:
            yield Hit(instr.position, "looks for a tensor in a Python sequence with `in`", needs)


def _sequence(obj: object) -> bool:
    if isinstance(obj, Container):
        return obj.kind in ("list", "deque")
    return isinstance(obj, Tup) or (isinstance(obj, Stream) and obj.kind not in ("range",))


def _comparable(view: FrameView, slot: int) -> bool:
    return any(isinstance(o, (Lit, Prim, Tensor)) and o is not NONE and o.kind != "str" for o in view.value(slot))


RULE = Rule(
    code="HY343",
    name="python-comparison-of-tensors",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Python's `in`, `max`, `min`, `any`, `all` or `sorted` compares tensors.",
    act="use `tf.reduce_any`, `tf.reduce_max`, `tf.sort` and their like",
    details="""These compare elements and ask Python for the truth of the answer, which a symbolic tensor does not
have. Use `tf.reduce_any`, `tf.reduce_max`, `tf.maximum`, `tf.sort`. They are fine on shapes, on Python values, and
with a `key` that looks at static facts; `sum` of a list of tensors is fine too.""",
    triggers={
        ir.Call: Where(call, names=(_ORDERING | _TRUTHS | _SORTING | _FINDING).__contains__),
        ir.Compare: operators(compare, "in", "not in"),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.sqrt(max(x, 0.0))
r1 = target(tf.constant(4.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(losses):
    if any(loss > 3.0 for loss in losses):
        return losses[0]
    return losses[1]
r1 = target([tf.constant(4.0), tf.constant(1.0)])
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if x in (1, 2):
        return x * 2
    return -x
r1 = target(tf.constant(2))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(xs, options):
    if "double" in options and all(x is not None for x in xs):
        return sum(xs) * max(xs[0].shape)
    return xs[0]
r1 = target([tf.constant([4]), tf.constant([1])], {"double": tf.constant(1)})
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(xs):
    return max(xs, key=lambda x: x.shape[0]) * 2
r1 = target([tf.constant([4]), tf.constant([1, 2])])
"""
        ),
    ),
    reference="semantics.md R8",
)
