"""HY105: a hybrid function that only graphs call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.facts.model import FunctionKind, Ternary
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import decorator_position, places
from hybridize.tracing.views import FunctionView

#: Arguments that only say how often the function is traced, which a graph around it decides.
_ABOUT_TRACES: Final = frozenset({"reduce_retracing", "experimental_relax_shapes"})
_OF_OBJECTS: Final = frozenset({FunctionKind.METHOD, FunctionKind.CLASSMETHOD})


def scan(function: FunctionView) -> Iterator[Hit]:
    """Every known caller is a graph, and `tf.function` says nothing more than that, or what it is to accept."""
    covered = function.facts.covered_by_hybrid_callers
    made = function.facts.hybridization
    if made is None or covered.value is not Ternary.YES or function.project.public.has(function.code):
        return
    found = places(function)
    said = {name for name, _ in made.arguments}.union(made.given)
    # Of methods with a signature, which objects that are saved keep, nothing is said.
    about = _ABOUT_TRACES if function.facts.kind in _OF_OBJECTS else _ABOUT_TRACES | {"input_signature"}
    if made.is_decorator and not made.conditional and said <= about:
        adds = "no more than the check by its signature" if "input_signature" in said else "nothing"
        message = f"only graphs call it: a decorator of its own adds {adds}"
        yield Hit(decorator_position(function), message, evidence=covered.evidence)
    elif not made.is_decorator and not made.conditional and not made.given:
        message = "only graphs call it: `tf.function` adds nothing here"
        where, pos = found[0]
        yield Hit(pos, message, path=where.path, evidence=covered.evidence)


RULE = Rule(
    code="HY105",
    name="redundant-decorator",
    category=Category.PERFORMANCE,
    outcome=Outcome.SLOWS,
    summary="Every caller of a hybrid function is a graph already.",
    details="""Inside a graph a hybrid function is traced into a function call of its own. That hides its
operations from some optimizations and makes two traces of what could be one; it seldom helps. What a dataset maps is
part of its graph, too. What a library exports is called from elsewhere, and not told.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r = target(tf.constant(1))
""",
            line=2,
        ),
        Example(
            """\
import tensorflow as tf
class Net(tf.Module):
    @tf.function
    def part(self, x):
        return x * 2
    @tf.function
    def target(self, x):
        return self.part(x) + self.part(x)
net = Net()
r = net.target(tf.constant(1))
""",
            target="Net.target",
            line=3,
        ),
        Example(
            """\
import tensorflow as tf
def double(x):
    return x * 2
doubled = tf.function(double)
@tf.function
def target(x):
    return doubled(x) + 1
r = target(tf.constant(1))
""",
            line=4,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(x):
    return x * 2
for x in tf.data.Dataset.range(3).map(target):
    r = x
""",
            line=2,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r = target(inner(tf.constant(1)))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def inner(x):
    return x * 2
@tf.function
def target(x):
    return inner(x) + 1
r = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md, Issue threads",
)
