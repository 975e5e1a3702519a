"""HY303: coroutines."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """The function itself is `async`."""
    if function.code.is_async:
        yield Hit(function.code.position, "is a coroutine")


RULE = Rule(
    code="HY303",
    name="async-function",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Coroutines cannot be traced.",
    details="""A traced coroutine gives its coroutine object to TensorFlow, which cannot turn it into
tensors. Hybridize the synchronous function that it calls.""",
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import asyncio
import tensorflow as tf
async def target(x):
    return x * 2
r1 = asyncio.run(target(tf.constant(3)))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import asyncio
import tensorflow as tf
async def target(x):
    await asyncio.sleep(0)
    return x + 1
async def main():
    return await target(tf.constant(3))
r1 = asyncio.run(main())
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import asyncio
import tensorflow as tf
def target(x):
    return x * 2
async def main():
    return target(tf.constant(3))
r1 = asyncio.run(main())
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + 1
r1 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R6",
)
