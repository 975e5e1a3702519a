"""HY251: mutable hash tables made inside a function are made once."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.facts.state.guards import guarded, is_cached
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.creation import is_table, makes_table
from hybridize.tracing.retraced.keyed import passes
from hybridize.tracing.views import FrameView


def scan(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call that makes a mutable table."""
    name = makes_table(view, instr.function)
    if name is not None and not guarded(view.frame, instr.position) and not is_cached(view.code):
        yield Hit(instr.position, f"makes a `{name}`, which all calls of the graph would share")


RULE = Rule(
    code="HY251",
    name="shared-table",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="what one call inserts the next one finds; make it outside if that is meant",
    summary="A mutable hash table made inside is one table for all calls of the graph.",
    details="""Eagerly each call makes an empty table. In a graph the table is a resource that is made once: what one
call inserts the next one finds. Make the table outside, so that sharing it is meant. Static tables are no
problem: what they hold is always the same.""",
    triggers={ir.Call: Where(scan, names=is_table)},
    passes=passes,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(k, v):
    t = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    t.insert(k, v)
    return t.lookup(tf.constant(["a", "b"]))
r1 = target(tf.constant(["a"]), tf.constant([1], tf.int64))
r2 = target(tf.constant(["b"]), tf.constant([2], tf.int64))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def fresh():
    return tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
def target(k, v):
    t = fresh()
    t.insert(k, v)
    return t.size() + tf.size(v, out_type=tf.int64) * 0
r1 = target(tf.constant(["a"]), tf.constant([1], tf.int64))
r2 = target(tf.constant(["b"]), tf.constant([2], tf.int64))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
def target(k, v):
    table.insert(k, v)
    return table.lookup(tf.constant(["a", "b"]))
r1 = target(tf.constant(["a"]), tf.constant([1], tf.int64))
r2 = target(tf.constant(["b"]), tf.constant([2], tf.int64))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    return t.lookup(x)
r1 = target(tf.constant("a"))
r2 = target(tf.constant("b"))
"""
        ),
    ),
    reference="semantics.md R7",
)
