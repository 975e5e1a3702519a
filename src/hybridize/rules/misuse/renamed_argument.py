"""HY271: arguments of `tf.function` that were renamed, do nothing, or do not exist in the release in use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE_V
from hybridize.library.dialect import OF_TRACES, RENAMED
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import decorator_keywords, is_true, option
from hybridize.tracing.views import FunctionView, position_of

#: The arguments that there have been, with the first and last release that takes them (None: still does).
_KNOWN: Final[dict[str, tuple[tuple[int, int], tuple[int, int] | None]]] = {
    "func": ((2, 0), None),
    "input_signature": ((2, 0), None),
    "autograph": ((2, 0), None),
    "jit_compile": ((2, 5), None),
    "reduce_retracing": ((2, 9), None),
    "experimental_implements": ((2, 1), None),
    "experimental_autograph_options": ((2, 0), None),
    "experimental_attributes": ((2, 12), None),
    "experimental_relax_shapes": ((2, 0), None),
    "experimental_compile": ((2, 1), None),
    "experimental_follow_type_hints": ((2, 3), (2, 12)),
}


def scan(function: FunctionView) -> Iterator[Hit]:
    """The keywords of the decorator against the release."""
    release = function.project.versions.tensorflow
    signed = bool(option(function, "input_signature") - NONE_V)
    for name, keyword in decorator_keywords(function):
        new, since = RENAMED.get(name, ("", (0, 0)))
        first, last = _KNOWN.get(name, ((99, 0), None))
        end = (keyword.end_lineno or keyword.lineno) << 16 | (keyword.end_col_offset or 0)
        shown = ".".join(map(str, release))
        if signed and name in OF_TRACES and is_true(option(function, name)):
            said = f"`{name}` does nothing beside an `input_signature`, by which there is one trace: leave it out"
            yield Hit(position_of(keyword), said, end=end)
        elif new and release >= since:
            if function.project.versions.oldest < since:
                continue  # the project may run on a release that knows the old name alone
            yield Hit(position_of(keyword), f"`{name}` is called `{new}` since {since[0]}.{since[1]}", end=end)
        elif release < first or (last is not None and release > last):
            message = f"TensorFlow {shown} has no argument `{name}` of `tf.function`"
            yield Hit(position_of(keyword), message, end=end, level=Level.ERROR, outcome=Outcome.RAISES)


RULE = Rule(
    code="HY271",
    name="renamed-argument",
    category=Category.MISUSE,
    outcome=Outcome.SLOWS,
    summary="An argument of `tf.function` was renamed, does nothing, or does not exist in the release in use.",
    details="""`experimental_relax_shapes` became `reduce_retracing` (2.9) and `experimental_compile` became
`jit_compile` (2.5). The old names are deprecated: they warn, and a later release will refuse them. Of a project that
may run on a release which knows the old name alone nothing is said. Beside an `input_signature` there is nothing that
relaxed retracing could spare: all that fits the signature has one trace. An argument that the release in use does not
know raises when the module is imported.""",
    level=Level.INFO,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(experimental_relax_shapes=True)
def target(x):
    return x * 2
r1 = target(tf.constant(1))
""",
            line=2,
            needs="tensorflow>=2.9",
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(
    experimental_compile=False,
)
def target(x):
    return x * 2
r1 = target(tf.constant(1))
""",
            line=3,
            needs="tensorflow>=2.5",
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)], reduce_retracing=True)
def target(x):
    return x * 2
r1 = target(tf.ones([1])); r2 = target(tf.ones([2])); r3 = target(tf.ones([3]))
""",
            line=2,
            needs="tensorflow>=2.9",
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def target(x):
    return x * 2
r1 = target(tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function(jit_compile=True)
def target(x):
    return x * 2
r1 = target(tf.constant(1))
"""
        ),
    ),
    reference="semantics.md, Issue threads",
)
