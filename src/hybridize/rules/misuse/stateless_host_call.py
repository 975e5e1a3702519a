"""HY208: Python code with state or randomness under `tf.numpy_function(..., stateful=False)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Lit, Prim
from hybridize.facts.origins import called_at
from hybridize.facts.state.reasons import TOLD, kind_of
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule, Where
from hybridize.tracing.returns.unused import is_unused
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView

#: Functions that take `stateful`, and all in the same place.
_HOSTS: Final = frozenset({"tf.numpy_function", "tf.compat.v1.py_func"})
#: What makes a constant of constants: a graph computes it, and what only it is given to, when it is first run.
_CONSTANTS: Final = frozenset({"tf.constant", "tf.zeros", "tf.ones", "tf.fill", "tf.eye", "tf.range"})
_DEPTH: Final = 4


def call(view: FrameView, instr: ir.Call) -> Iterator[Hit]:
    """A call whose result nothing reads, or whose inputs are constants: the graph drops or folds it."""
    if not _is_stateless(view, instr):
        return
    kinds = _kinds(view, instr)
    if not kinds:
        return
    if is_unused(view.project, view.frame, instr.position, view.frame):
        yield Hit(instr.position, "nothing reads the result of this stateless call, so a graph never makes it")
    elif _is_constant(view, argument(instr, 1, "inp")):
        does = "draws" if kinds == {"random"} else "runs"
        yield Hit(instr.position, f"a graph folds a stateless call on constants: `f` {does} once, not per call")


def _is_stateless(view: FrameView, instr: ir.Call) -> bool:
    value = view.value(argument(instr, 3, "stateful"))
    return bool(value) and all(isinstance(o, Lit) and o.const is False for o in value)


def _kinds(view: FrameView, instr: ir.Call) -> set[str]:
    """The kinds of effects of the Python functions that are called; none where nothing is known of one."""
    effects = view.project.effects
    hosts = called_at(view.frame, instr.position, (How.HOST,))
    kinds = [{kind_of(r.effect) for r in effects.of(callee).values()} & TOLD for callee in hosts]
    return set[str]().union(*kinds) if kinds and all(kinds) else set()


def _is_constant(view: FrameView, slot: int, depth: int = _DEPTH) -> bool:
    """Whether a graph knows the value of a slot when it is made: Python numbers, and tensors made of them here.

    A tensor from elsewhere is an input of the graph.
    """
    made = index_of(view.code).source(slot) if slot >= 0 and depth else None
    if isinstance(made, ir.Sequence):
        return all(not starred and _is_constant(view, each, depth - 1) for each, starred in made.elements)
    if isinstance(made, ir.Call) and set(view.names(made.function)) & _CONSTANTS:
        return all(_is_constant(view, each, depth - 1) for each in arguments(made))
    value = view.value(slot)
    return bool(value) and all(isinstance(o, (Lit, Prim)) for o in value)


RULE = Rule(
    code="HY208",
    name="stateless-host-call",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="leave `stateful=False` out",
    summary="Python code with effects or random numbers is called with `stateful=False`: a graph leaves calls out.",
    details="""`tf.numpy_function(f, inputs, dtype, stateful=False)` says that `f` is a pure function: of equal inputs
it makes equal results, and nothing else happens. Eagerly nobody relies on it, and `f` runs at each call. A graph does:
it leaves out a call whose result nothing reads, so that a list that `f` appends to stays empty, and makes the call only
once where all its inputs are constants, so that random numbers are the same in all later calls. Leave the argument out
(`stateful` is true by default); where only numbers are drawn, draw with `tf.random`.""",
    triggers={ir.Call: Where(call, names=_HOSTS.__contains__)},
    bad=(
        Example(
            """\
import numpy as np
import tensorflow as tf
seen = []
def note(x):
    seen.append(float(np.sum(x)))
    return x
def target(x):
    tf.numpy_function(note, [x], tf.float32, stateful=False)
    return x * 2.0
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def draw(n):
    return np.random.rand(n).astype("float32")
def target(x):
    count = tf.constant(2)
    inputs = [count]
    return x + tf.numpy_function(draw, inputs, tf.float32, stateful=False)
r = [float(target(tf.zeros([2]))[0]) for _ in range(5)]
distinct = len(set(r)) > 1
""",
            line=8,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
count = [0]
def step(by):
    count[0] += int(by)
    return count[0]
def target(x):
    made = tf.compat.v1.py_func(step, [1], tf.int64, stateful=False)
    return x + made
r = [int(target(tf.constant(1, tf.int64))) for _ in range(3)]
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import numpy as np
import tensorflow as tf
seen = []
def note(x):
    seen.append(float(np.sum(x)))
    return x
def target(x):
    tf.numpy_function(note, [x], tf.float32)
    return x * 2.0
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
seen = []
def note(x):
    seen.append(float(np.sum(x)))
    return x
def target(x):
    return tf.numpy_function(note, [x], tf.float32, stateful=False) * 2.0
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def basis(n):
    return np.eye(n, dtype="float32")
def target(x):
    return x + tf.numpy_function(basis, [2], tf.float32, stateful=False)
r = [target(tf.zeros([2, 2])) for _ in range(2)]
"""
        ),
    ),
    known_problems="""A result that the function gives back, and no caller reads, counts as read. Python functions
without a parameter (`inputs` is empty) are not followed. An array that is made here does not count as constant.""",
    reference="the documentation of `tf.numpy_function`: stateful",
)
