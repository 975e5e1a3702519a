"""HY231: Python iterators that a traced function uses up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Container, Obj, Stream, Unknown, Value
from hybridize.facts.model import Ternary
from hybridize.facts.side_effects.arguments import argument_name
from hybridize.facts.state.guards import parts
from hybridize.facts.state.reasons import Reason
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import operands
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.harm.witness import is_called_again
from hybridize.tracing.state.effects import hit, reasons
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Iterators and generators from outside that are advanced.

    What nobody knows is most often the iterator of a data set, which a graph advances; and who ends a generator minds
    no element.
    """
    for frame, reason in reasons(function):
        effect = reason.effect
        if effect.kind != "iterator" or not _is_known(effect.target) or effect.detail in _ENDS or _may_be_data(reason):
            continue
        name = argument_name(frame, reason)
        if name is not None:
            # An argument that is new at each call traces again, and is then used up as in Python.
            said = f"`{name}` is a Python iterator: each new one is traced anew, and an old one is used up. Pass a list"
            # A graph around makes one for each of its traces, and uses it once.
            covered = function.facts.covered_by_hybrid_callers.value is Ternary.YES
            yield hit(reason, Level.INFO if covered else Level.WARNING, said)
        else:
            said = (
                "is advanced while tracing only: every call of the graph gets the same elements. Pass them as arguments"
            )
            own = _may_be_own(function, reason) or (function.is_hybrid and not is_called_again(function))
            yield hit(reason, Level.INFO if own else Level.ERROR, f"a Python iterator (`{effect.detail}`) {said}")


def _is_known(target: Obj | None) -> bool:
    """Whether something is an iterator of Python, and not of what nobody knows."""
    if isinstance(target, Container) and target.kind == "iterator":
        return any(not isinstance(o, Unknown) for value in parts(target) for o in value)
    return not isinstance(target, Unknown)


def _may_be_data(reason: Reason) -> bool:
    """Whether what is advanced may as well be the iterator of a data set, as in a field that has held a list before."""
    frame = reason.frame
    slots = (slot for instr in index_of(frame.code).at(reason.effect.position) for slot in operands(instr))
    return any(isinstance(o, Stream) and o.is_data for slot in slots if slot >= 0 for o in frame.vals[slot] or ())


def _may_be_own(function: FunctionView, reason: Reason) -> bool:
    """Whether what is advanced may as well be an iterator that the call has made: calls were taken together."""
    frame, target = reason.frame, reason.effect.target
    if frame in function.frames:
        return False
    used = {slot for instr in index_of(frame.code).at(reason.effect.position) for slot in operands(instr) if slot >= 0}
    if any(isinstance(o, Unknown) for slot in used for o in _held(frame, slot, target)):
        return True
    # Iterators of the same elements are one value: whether the call makes such a one is all that can be said.
    within = function.project.extents.frames(extent_of(function))
    return any(target in (each.vals[made.target] or ()) for each in within for made in index_of(each.code).of(ir.Call))


def _held(frame: Frame, slot: int, target: Obj | None) -> Value:
    """What a slot holds beside the iterator; nothing if that is not there."""
    value = frame.vals[slot] or frozenset()
    return value if target in value else frozenset()


#: Calls that end a generator, or throw into it.
_ENDS: Final = frozenset({"close()", "throw()"})


RULE = Rule(
    code="HY231",
    name="python-iterator",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Advances a Python iterator or generator that existed before.",
    details="""Python advances an iterator, a generator or a `zip` only while the function is traced: what it
gave then is part of the graph, and every later call computes with the same elements. Iterate over a
`tf.data.Dataset` or call `next` on its iterator, which are operations, or pass the element as an argument.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
numbers = iter([1, 2, 3])
@tf.function
def target(x):
    return x + next(numbers)
r1 = target(tf.constant(3))
r2 = target(tf.constant(3))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def count():
    yield 1
    yield 2
class Model:
    def __init__(self):
        self.steps = count()
    @tf.function
    def add(self, x):
        for step in self.steps:
            x = x + step
        return x
model = Model()
r1 = model.add(tf.constant(3))
r2 = model.add(tf.constant(3))
""",
            target="Model.add",
            line=10,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
numbers = iter(tf.data.Dataset.range(3))
@tf.function
def target(x):
    return x + next(numbers)
r1 = target(tf.constant(3, tf.int64))
r2 = target(tf.constant(3, tf.int64))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x):
    for i, scale in enumerate(iter([2, 3])):  # made here
        x = x * scale + i
    return x
r1 = target(tf.constant(3))
r2 = target(tf.constant(3))
"""
        ),
    ),
    known_problems="Nothing is said of an iterator that may be that of a dataset.",
    reference="semantics.md R6",
)
