"""HY205: containers and arrays that came as arguments are changed."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import NONE, Container, Stream, Tensor, Tup
from hybridize.facts.side_effects.arguments import argument_name
from hybridize.facts.state.reasons import Reason
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.state.effects import hit, is_change, reasons
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Changes of a list, dict or array that is, or is part of, an argument."""
    for frame, reason in reasons(function):
        if is_change(reason):
            name = argument_name(frame, reason)
            if name is None or _is_own(frame, reason):
                continue
            if _is_rebound(reason):
                said = f"the array `{name}` arrives as a tensor: what the caller passed stays as it is"
                yield hit(reason, Level.INFO, said)
            else:
                level = None if _is_container(frame, name) else Level.INFO
                yield hit(
                    reason, level, f"changes the argument `{name}`, which TensorFlow forbids: work on a copy of it"
                )


def _is_own(frame: Frame, reason: Reason) -> bool:
    """Whether a change is made to what a display of the same function has just made: an argument is an earlier one."""
    if reason.frame is not frame:
        return False
    index = index_of(frame.code)
    changed = [index.original(i.owner) for i in index.at(reason.effect.position) if isinstance(i, ir.ElementChange)]
    made = [index.definitions.get(slot) for slot in changed]
    return bool(made) and all(isinstance(each, (ir.List, ir.Dict)) for each in made)


def _is_container(frame: Frame, name: str) -> bool:
    """Whether an argument is a container or an array for certain, not one of several things that calls bring."""
    values = (value for param, value in zip(frame.code.params, frame.args, strict=True) if param.name == name)
    return all(isinstance(o, (Container, Tup, Tensor, Stream)) for value in values for o in value if o is not NONE)


def _is_rebound(reason: Reason) -> bool:
    """Whether an array is changed by an operator (`x /= 2`), which of a tensor makes another one."""
    found = index_of(reason.frame.code).at(reason.effect.position)
    return isinstance(reason.effect.target, Tensor) and bool(found) and all(isinstance(i, ir.Inplace) for i in found)


RULE = Rule(
    code="HY205",
    name="mutated-argument",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="Changes a Python list, dict or array that it was given.",
    details="""TensorFlow copies the containers among the arguments, and compares them after tracing: a change raises
`should not modify its Python input arguments`. Arrays arrive as tensors, which take no item assignment.
A mutable default (`acc=[]`) is an argument too. Return the new value instead.""",
    blocks=frozenset(),
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(xs, x):
    xs.append(x)
    return x + 1
values = []
target(values, tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def put(store, x):
    store["last"] = x
def target(batch):
    put(batch, tf.constant(0.0))
    return batch["x"] + 1
target({"x": tf.constant(1.0)})
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, acc=[]):
    acc.append(x)
    return x * 2
target(tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(xs, x):
    return [*xs, x]
r = target([tf.constant(1.0)], tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(batch):
    batch = dict(batch)
    batch["y"] = batch["x"] + 1  # a copy of its own
    return batch
r = target({"x": tf.constant(1.0)})
"""
        ),
    ),
    known_problems="It is information because none of the findings that were read was right.",
    reference="semantics.md R2",
)
