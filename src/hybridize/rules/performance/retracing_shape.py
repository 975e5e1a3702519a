"""HY106: tensors of another size at each call of a hybrid function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_PROGRAM, DIRECT
from hybridize.domain.objects import Inst, Obj, Tensor
from hybridize.domain.tensors import Shape
from hybridize.facts.evidence import tells
from hybridize.facts.functions.growing import grown_argument, is_fixed
from hybridize.facts.model import Evidence, FunctionKind, Told
from hybridize.flow.frames import Frame
from hybridize.library.dialect import OF_SHAPES
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source import is_test_path
from hybridize.tracing.hybridized import is_false, option
from hybridize.tracing.retraced.lifetimes import lifetimes
from hybridize.tracing.retraced.moving import moving
from hybridize.tracing.retraced.resizing import resizing_from_elsewhere
from hybridize.tracing.shapes.sizes import is_open
from hybridize.tracing.views import FunctionView

#: So many shapes are a few traces.
_FEW: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """A call in a loop, or in a function that runs often, passes a longer or shorter tensor each time."""
    if not function.is_hybrid:
        return
    is_relaxed = any(value and not is_false(value) for value in (option(function, name) for name in OF_SHAPES))
    hybrids = function.project.solution.world.hybrids
    seen: set[tuple[str, int]] = set()
    shapes: dict[object, set[Shape]] = {}
    for caller, pos, frame, how in function.callers():
        place = (caller.code.path, pos)
        if place in seen or how not in BY_PROGRAM or is_test_path(caller.code.path) or caller.code in hybrids:
            continue  # a graph calls it while it is traced, and no more
        for index, param in enumerate(frame.code.params):
            found = _many(function, caller, pos, frame, index, shapes) or _resized(function, caller, pos, frame, index)
            if found is not None and (not is_relaxed or found.told is Told.APPENDED):
                message = f"`{param.name}` receives tensors of another size at each call: every size is traced anew"
                if found.told is Told.MAY_DIFFER:
                    message = f"`{param.name}` may receive tensors of another size at each call, each traced anew"
                if found.told is Told.APPENDED:
                    message = f"`{param.name}` receives a longer list at each call: every length is traced anew"
                seen.add(place)
                known = lifetimes(function.project)
                witnessed = (
                    found.told not in (Told.MAY_DIFFER, Told.PART) and how in DIRECT and known.is_looped(caller, pos)
                )
                level = Level.WARNING if witnessed else None
                yield Hit(pos, message, path=caller.code.path, evidence=(found,), level=level)
                break


def _many(
    function: FunctionView, caller: Frame, pos: int, frame: Frame, index: int, shapes: dict[object, set[Shape]]
) -> Evidence | None:
    """A place that passes tensors of many sizes, all of them known; `shapes` gathers them over frames.

    Each object has graphs of its own.
    """
    args = frame.incoming.get((caller, pos))
    is_method = function.facts.kind is FunctionKind.METHOD
    if args is None or (is_method and (len(args[0]) != 1 or any(_is_of_many(o) for o in args[0]))):
        return None
    found = shapes.setdefault((caller.code, pos, index, args[0] if is_method else None), set())
    found |= {o.shape for o in args[index] if isinstance(o, Tensor)}
    known = all(shape is not None and min(shape, default=0) >= 0 for shape in found)
    if len(found) <= _FEW or not known or not moving(function.project).is_repeated(caller, pos):
        return None
    return Evidence("is of another size each time", caller.code.path, pos >> 16)


def _is_of_many(receiver: Obj) -> bool:
    """Whether a loop makes objects at one place, which are one to the analysis: layers of a list."""
    return isinstance(receiver, Inst) and receiver.site[1] in index_of(receiver.site[0]).looped


def _resized(function: FunctionView, caller: Frame, pos: int, frame: Frame, index: int) -> Evidence | None:
    """What makes an argument longer or shorter from one call of a place to the next; None where nothing is seen to."""
    args = frame.incoming.get((caller, pos))
    if args is None or is_fixed(args[index]):
        return None
    answers = moving(function.project)
    slot = answers.argument(caller, pos, frame, index)
    if slot < 0:
        return None
    grown = grown_argument(caller, pos, slot)
    if grown is not None:
        return grown
    if not is_open(args[index]) or not resizing_from_elsewhere(function.project).resizes(caller, pos, slot):
        return None
    made = index_of(caller.code).source(slot)
    return tells(Told.MAY_DIFFER, caller.code.path, (made.position if made is not None else pos) >> 16)


RULE = Rule(
    code="HY106",
    name="retracing-shape",
    category=Category.PERFORMANCE,
    outcome=Outcome.RETRACES,
    summary="A hybrid function receives tensors of another size at each call.",
    details="""A graph is made for the shapes of the tensors that it is traced with. Sequences that grow, the rows that
a condition selects, slices of differing length: each new size is traced again, which costs some hundred times a call.
`@tf.function(reduce_retracing=True)` (before TensorFlow 2.9 `experimental_relax_shapes`) lets one graph serve all sizes
from the second trace on, and so does an `input_signature` with `None` for the size. Neither helps where a list gets
longer: its length is part of the structure. Stack it to one tensor there.

It is a warning where a loop is seen to pass what grows, or more than a few known sizes; where only data decide, which
may be as long each time, it is information.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return tf.reduce_sum(x * 2.0)
for n in range(1, 6):
    r = target(tf.ones([n]))
""",
            line=6,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return tf.reduce_sum(x["a"]) + x["b"]
seen = tf.zeros([1])
for i in range(5):
    r = target({"a": seen, "b": tf.constant(1.0)})
    seen = tf.concat([seen, [1.0]], axis=0)
""",
            line=7,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(xs):
    return tf.add_n(xs)
xs = []
for i in range(6):
    xs.append(tf.ones([2]))
    r = target(xs)
""",
            line=8,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(x):
    return tf.reduce_sum(x * 2.0)
for n in range(1, 6):
    r = target(tf.ones([n]))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return tf.reduce_sum(x * 2.0)
for batch in tf.data.Dataset.range(10).batch(4):  # the last one is shorter: two traces
    r = target(tf.cast(batch, tf.float32))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    return tf.reduce_sum(x * 2.0)
data = tf.ones([12])
for i in range(0, 12, 4):
    r = target(data[i : i + 4])
"""
        ),
    ),
    known_problems="""Lists of tensors that a dataset gives in differing sizes are not seen. Where only data decide
how long a tensor is it is information: it may be as long each time.""",
    reference="semantics.md R18; the study's bugs of overly specified shapes",
)
