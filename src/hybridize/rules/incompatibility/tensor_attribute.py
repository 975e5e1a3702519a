"""HY373: an attribute of a tensor of the trace, which callers have another one of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.operands import joined
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.returns.results import consumers, display, returns, site, taken
from hybridize.tracing.views import FrameView, FunctionView

#: What Keras reads of what a layer's `call` gives.
_KERAS: Final = "_keras_mask"
_TAKEN: Final = "its caller's tensor, which a graph does not see"
_GIVEN: Final = "a tensor that it returns, of which callers get another one"
_ASKING: Final = frozenset({"builtins.getattr", "builtins.hasattr", "builtins.vars"})

_Calls: TypeAlias = list[tuple[FrameView, ir.Call, str]] | None  # None: Keras or others that are not seen


def scan(function: FunctionView) -> Iterator[Hit]:
    """An attribute is set on a tensor that callers give or get, and some caller may read it."""
    if not function.facts.may_be_hybrid:
        return
    for view in function.views():
        index = index_of(view.code)
        for instr in index.of(ir.SetAttr):
            needs = view.symbolic(instr.owner) if view.is_tensor(instr.owner, arrays=False) else 0
            if not needs:
                continue
            by_keras = instr.name == _KERAS and function.project.contracts.override(function.code) is not None
            calls = None if by_keras else consumers(function)
            sources, said, read = _sources(index, instr.owner), _GIVEN, None
            if not sources.isdisjoint(param.slot for param in view.code.params):
                said, read = _TAKEN, _asked(calls, instr.name)
            else:
                reads = (_read(calls, instr.name, path) for path in _given(view, index, sources))
                read = next((each for each in reads if each is not None), None)
            if read is not None:
                message = f"sets `{instr.name}` on {said}"
                yield Hit(instr.position, message, needs=needs, evidence=(site(view, instr, message), *read))


def _given(view: FrameView, index: Index, wanted: set[int]) -> Iterator[tuple[object, ...]]:
    """Where in what a function gives back a value stands."""
    for instr in returns(view.frame, view):
        for path, slot in display(view, instr.value):
            if not wanted.isdisjoint(_sources(index, slot)):
                yield path


def _sources(index: Index, slot: int) -> set[int]:
    """The slots that a value may have been made in."""
    return {each for each, _ in index.upstream([slot], joined)}


def _asked(calls: _Calls, name: str) -> tuple[Evidence, ...] | None:
    """Where a caller reads an attribute of anything; nothing more where nobody knows; None for nowhere."""
    for view, _, _ in calls or ():
        for read in index_of(view.code).attributes.get(name, ()):
            return (site(view, read, "a caller reads it here"),)
        for call in index_of(view.code).of(ir.Call):
            if _ASKING.intersection(view.names(call.function)):
                return (site(view, call, "a caller asks for attributes here"),)
    return () if calls is None else None


def _read(calls: _Calls, name: str, path: tuple[object, ...]) -> tuple[Evidence, ...] | None:
    """Where a caller reads an attribute of a part of the result; as `_asked`."""
    for view, call, _ in calls or ():
        for use, slot, _ in taken(view, call.target, path):
            if isinstance(use, ir.Attr) and use.name == name:
                return (site(view, use, "a caller reads it here"),)
            if isinstance(use, ir.Call) and slot != use.function and _ASKING.intersection(view.names(use.function)):
                return (site(view, use, "a caller asks for its attributes here"),)
    return () if calls is None else None


RULE = Rule(
    code="HY373",
    name="tensor-attribute",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Sets an attribute on a tensor that callers give or get: a graph has others, theirs are without it.",
    act="return the value beside the tensor, or set the attribute where the tensor has come out of the graph",
    details="""A graph computes on tensors of its own, and gives back new ones. What Python puts on those of the trace,
such as the `_keras_mask` that Keras reads of what a layer gives, is on no other: `getattr` falls back to its default,
masks are lost without a word. Attributes that only the function itself reads, while it is traced, are fine.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    y = tf.exp(x)
    y.unit = "m"
    return y
r1 = getattr(target(tf.constant([1.0])), "unit", "none")
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale):
    y = tf.exp(x)
    if scale is not None:
        y = y * scale
    y.scale = scale
    return x, y
half, whole = target(tf.constant([1.0]), tf.constant(2.0))
try:
    r1 = whole.scale
except AttributeError:
    r1 = "none"
""",
            line=6,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Soft(tf.keras.layers.Layer):
    def call(self, x):
        y = tf.nn.softmax(x)
        y._keras_mask = tf.reduce_any(x > 0.0, axis=-1)
        return y
r1 = hasattr(Soft()(tf.ones([2, 3])), "_keras_mask")
""",
            target="Soft.call",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, mask):
    x.mask = mask
    return x * 2.0
given = tf.constant([1.0])
twice = target(given, tf.constant([True]))
r1 = hasattr(given, "mask")
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    y = tf.exp(x)
    y.half = x / 2.0
    return y.half + y
r1 = target(tf.constant([1.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = tf.exp(x)
    y.unit = "m"
    return y
r1 = target(tf.constant([1.0])) * 2.0
"""
        ),
    ),
    reference="semantics.md R10",
    known_problems="Attributes that are set by functions that it calls are not looked at.",
)
