"""HY342: Python iterates over a tensor, outside of a `for` statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Stream, Tensor
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule, Where, operators
from hybridize.tracing.values import number, own
from hybridize.tracing.views import FrameView

#: Functions and methods that go through what they are given, and which argument that is (all of them: -1).
_ITERATING: Final = {
    **dict.fromkeys("builtins.list builtins.tuple builtins.set builtins.frozenset builtins.sum".split(), 0),
    **dict.fromkeys("builtins.reversed builtins.iter collections.deque collections.Counter".split(), 0),
    **dict.fromkeys("builtins.list.extend builtins.set.update builtins.deque.extend builtins.str.join".split(), 0),
    **dict.fromkeys("builtins.map builtins.filter functools.reduce".split(), 1),
    **dict.fromkeys("builtins.enumerate itertools.batched tf.math.add_n".split(), 0),
    **dict.fromkeys("builtins.zip itertools.chain itertools.product itertools.zip_longest".split(), -1),
    **dict.fromkeys("itertools.cycle itertools.islice itertools.accumulate itertools.chain.from_iterable".split(), 0),
    **dict.fromkeys("itertools.combinations itertools.permutations itertools.pairwise".split(), 0),
}


def _starred(parts: tuple[tuple[int, bool], ...]) -> bool:
    for _, starred in parts:
        if starred:
            return True
    return False


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A function that goes through a tensor, or a star in front of one."""
    for slot, starred in instr.arguments:
        if starred:
            needs = own(view, slot)
            if needs:
                yield Hit(instr.position, "unpacks a tensor into arguments", needs)
                return
    for name in view.names(instr.function):
        place = _ITERATING.get(name)
        if place is None:
            continue
        for i, (slot, _) in enumerate(instr.arguments):
            if place in (-1, i):
                needs = own(view, slot) or (_hanging(view, slot) if name == "builtins.list" else 0)
                needs = needs or (_range(view, slot) if name in ("builtins.list", "builtins.tuple") else 0)
                if needs:
                    yield Hit(instr.position, f"goes through a tensor with `{name.removeprefix('builtins.')}`", needs)
                    return


def _hanging(view: FrameView, slot: int) -> int:
    """A dataset in `list`: the traced iterator never ends."""
    found = any(isinstance(o, Stream) and o.kind.startswith("tf.data.") for o in view.value(slot))
    return 1 if found else 0


def _range(view: FrameView, slot: int) -> int:
    made = view.definition(slot)
    if not isinstance(made, ir.Call) or "builtins.range" not in view.names(made.function):
        return 0
    needs = 0
    for part, _ in made.arguments:
        needs |= own(view, part) or number(view, part)
    return needs


def unpack(view: FrameView, instr: ir.Unpack) -> Iterator[Hit]:
    """`a, b = t`."""
    needs = own(view, instr.source)
    if needs and _unpacks(view, instr):
        yield Hit(instr.position, "unpacks a tensor", needs)


def _unpacks(view: FrameView, instr: ir.Unpack) -> bool:
    """Whether eager code can unpack it so; a tensor of unknown shape may as well be a tuple, in truth."""
    if not all(isinstance(o, Tensor) for o in view.value(instr.source)):
        return False
    made = view.definition(instr.source)
    if isinstance(made, ir.Call) and "tf.shape" in view.names(made.function):
        return True
    count, starred = len(instr.targets), instr.star >= 0
    for obj in view.value(instr.source):
        if isinstance(obj, Tensor) and obj.shape:
            first = obj.shape[0]
            if first < 0 or (first >= count - 1 if starred else first == count):
                return True
    return False


def display(view: FrameView, instr: ir.Sequence) -> Iterator[Hit]:
    """`[*t, 1]`."""
    for slot, starred in instr.elements:
        if starred:
            needs = own(view, slot)
            if needs:
                yield Hit(instr.position, "unpacks a tensor into a sequence", needs)


def grow(view: FrameView, instr: ir.Inplace) -> Iterator[Hit]:
    """`xs += t`: a list grows by the elements of a tensor only while they are known."""
    if not any(isinstance(o, Tensor) for o in view.value(instr.left)):
        made = view.definition(instr.left)
        if isinstance(made, ir.List):
            needs = own(view, instr.right)
            if needs:
                yield Hit(instr.position, "extends a list by the elements of a tensor", needs)


RULE = Rule(
    code="HY342",
    name="tensor-iteration",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Python goes through a tensor's elements outside of a `for` statement.",
    act="use a `for` statement over the tensor, `tf.unstack` or `tf.map_fn`",
    details="""AutoGraph turns `for` statements over tensors into loops of the graph, and nothing else: unpacking
(`h, w = tf.shape(x)`), `list(t)`, `sum(t)`, a star, `map` and `reversed` raise on a symbolic tensor. Use
`tf.unstack`, `tf.reduce_sum`, `tf.map_fn`, `tf.reverse`; unpack `x.shape` where the shape is static. `list(dataset)`
never ends. Lists and tuples of tensors are Python's own and fine.""",
    level=Level.INFO,
    triggers={
        ir.Call: Where(call, lambda _, instr: _starred(instr.arguments), _ITERATING.__contains__),
        ir.Unpack: unpack,
        **dict.fromkeys((ir.List, ir.Tuple), Where(display, lambda _, instr: _starred(instr.elements))),
        ir.Inplace: operators(grow, "+"),
    },
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    rows, columns = tf.shape(x)
    return tf.reshape(x, [columns, rows])
r1 = target(tf.ones([2, 3]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.reshape(x, [*tf.shape(x)[:-1], 3, 1])
r1 = target(tf.ones([2, 3]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return tf.stack(list(x)) + sum(x)
r1 = target(tf.ones([2, 3]))
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
    rows, columns = x.shape
    a, b = tf.split(x, 2)
    h, w = tf.unstack(tf.shape(x))
    return tf.reshape(x, [columns, rows]) * tf.cast(h * w, tf.float32) + sum([a[0, 0], b[0, 0]])
r1 = target(tf.ones([2, 3]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(xs):
    first, second = xs
    total = first
    for row in second:
        total = total + row
    return total, tf.stack(list(xs))
r1 = target([tf.ones([2]), tf.ones([2])])
"""
        ),
    ),
    reference="semantics.md R8",
)
