"""HY201: output that happens once per trace."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Lit
from hybridize.facts.origins import call_at
from hybridize.facts.reasons import Reason
from hybridize.rules.effects import hit, reasons
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Printing, logging and warnings; of constants alone it may be meant to show when tracing happens."""
    for _, reason in reasons(function):
        if reason.effect.kind == "print":
            yield hit(reason, Level.INFO if _says_constants(reason) else None)


def _says_constants(reason: Reason) -> bool:
    call = call_at(reason.frame.code, reason.effect.position)
    if call is None or not call[3]:
        return False
    values = [reason.frame.vals[slot] or () for slot, _ in call[3]]
    return all(value and all(isinstance(o, Lit) for o in value) for value in values)


RULE = Rule(
    code="HY201",
    name="traced-output",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Printing, logging and warnings happen once per trace, not once per call.",
    details="""A traced function runs its Python code only while it is traced: `print`, `logging` and `warnings` speak
once for each new graph, and show symbolic tensors instead of values. `tf.print` is part of the graph and
speaks at every call. A `print` of a constant is reported as information only: it is the usual way to see when tracing
happens.""",
    level=Level.WARNING,
    blocks=frozenset(),
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    print("value", x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import logging, sys
import tensorflow as tf
logging.basicConfig(stream=sys.stdout, force=True)
def report(x):
    logging.warning("got %s", x)
def target(x):
    report(x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    tf.print("value", x)
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + 1
print(target(tf.constant(1.0)))
print(target(tf.constant(2.0)))
"""
        ),
    ),
    reference="semantics.md R1",
)
