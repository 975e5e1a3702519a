"""HY263: `tf.function` on the wrong side of another decorator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Inst
from hybridize.domain.words import METHOD_DECORATORS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.views import FunctionView, position_of

#: Decorators that must stand above `tf.function`, and those that must stand below it.
_OUTER: Final = METHOD_DECORATORS | {"contextmanager"}
_INNER: Final = frozenset({"custom_gradient"})


def scan(function: FunctionView) -> Iterator[Hit]:
    """The decorators of a function that one of them makes hybrid."""
    made = function.facts.hybridization
    if made is None or not made.is_decorator:
        return
    nodes = function.code.decorators
    own = next((i for i, node in enumerate(nodes) if node.lineno == made.line), None)
    if own is None:
        return
    for i, node in enumerate(nodes):
        name = _name(node)
        if i > own and name in _OUTER:
            # A static method can be called as it is, but on an instance the graph gets that too.
            level = Level.WARNING if name == "staticmethod" and not _is_asked_of_instances(function) else None
            message = f"`tf.function` above `@{name}`: it takes functions, not what that makes"
            yield Hit(position_of(nodes[own]), message, level=level)
        elif i < own and name in _INNER:
            yield Hit(position_of(nodes[own]), f"`tf.function` below `@{name}`, which needs the Python function")


def _is_asked_of_instances(function: FunctionView) -> bool:
    """Whether a call of a method looks it up in an instance, not in the class."""
    for caller, pos, _ in function.called_by():
        index = index_of(caller.code)
        for call in index.calls.get(pos, ()):
            made = index.source(call.function)
            if isinstance(made, ir.Attr) and any(isinstance(o, Inst) for o in caller.vals[made.owner] or ()):
                return True
    return False


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return str(getattr(node, "attr", getattr(node, "id", "")))


RULE = Rule(
    code="HY263",
    name="decorator-order",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="`tf.function` stands on the wrong side of another decorator.",
    details="""`@staticmethod`, `@classmethod`, `@property` and `@contextmanager` make something else of a function:
`tf.function` must stand below them, directly above `def`. With `@tf.custom_gradient` it is the other way round, for
that one calls the Python function with two results. Decorators below `tf.function` run once per trace.""",
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Model:
    k = 3
    @tf.function
    @classmethod
    def target(cls, x):
        return x * cls.k
r1 = Model.target(tf.constant(1))
""",
            target="Model.target",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.custom_gradient
@tf.function
def target(x):
    def grad(dy):
        return dy * 2.0
    return x * x, grad
r1 = target(tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Model:
    k = 3
    @classmethod
    @tf.function
    def target(cls, x):
        return x * cls.k
r1 = Model.target(tf.constant(1))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
@tf.custom_gradient
def target(x):
    def grad(dy):
        return dy * 2.0
    return x * x, grad
r1 = target(tf.constant(1.0))
"""
        ),
    ),
    reference="semantics.md R16",
)
