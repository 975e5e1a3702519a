"""HY253: work in `tf.init_scope`, which is lifted out of the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.facts.state.guards import guarded
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.source.syntax import walk
from hybridize.tracing.views import FrameView, position_of


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A scope whose body changes or reads variables."""
    if "tf.init_scope" not in view.names(instr.function) or view.node is None or guarded(view.frame, instr.position):
        return
    for node in walk(view.node):
        if isinstance(node, ast.With) and any(position_of(i.context_expr) == instr.position for i in node.items):
            calls = [each for s in node.body for each in walk(s) if isinstance(each, ast.Call)]
            hits = [Hit(instr.position, "runs what is in `tf.init_scope` once per trace")]
            yield from hits if any(map(_depends, calls)) else ()


def _depends(call: ast.Call) -> bool:
    """Whether a call may give something else each time: it reads or changes an object."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _STATEFUL


_STATEFUL = frozenset(
    "assign assign_add assign_sub numpy read_value value insert lookup update_state result reset_state reset_states "
    "item scatter_update write_value".split()
)


RULE = Rule(
    code="HY253",
    name="init-scope",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="do outside what every call should do",
    summary="What is in `tf.init_scope` happens once per trace.",
    details="""`tf.init_scope` leaves the graph that is being built: its body runs eagerly, while tracing, and is no
part of the graph. Assignments in it happen once, and what it reads is a constant afterwards. It is meant for making
variables; do the rest outside of the function or outside of the scope.""",
    triggers={ir.Call: Where(scan, names="tf.init_scope".__eq__)},
    bad=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable(0.0)
def target(x):
    with tf.init_scope():
        v.assign_add(1.0)
    return x + v
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def current():
    with tf.init_scope():
        return v.numpy()
def target(x):
    return x + current()
r1 = target(tf.constant(1.0))
v.assign(5.0)
r2 = target(tf.constant(1.0))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    with tf.init_scope():
        table = tf.constant([1.0, 2.0])
    return x + table
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(0.0)
def target(x):
    v.assign_add(1.0)
    return x + v
r1 = target(tf.constant(1.0))
r2 = target(tf.constant(1.0))
"""
        ),
    ),
    reference="semantics.md R21",
)
