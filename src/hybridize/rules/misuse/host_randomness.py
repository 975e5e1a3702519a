"""HY203: Python's and NumPy's random numbers, drawn once per trace."""

from __future__ import annotations

from hybridize.rules.effects import of_kinds
from hybridize.rules.model import Category, Example, Outcome, Rule

RULE = Rule(
    code="HY203",
    name="host-randomness",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Random numbers of Python or NumPy are drawn once per trace and then constants of the graph.",
    details="""`random`, `np.random`, `uuid` and `os.urandom` run while the function is traced: every call then uses
the same numbers, and a branch on them is taken for good. `tf.random.set_seed` inside the function seeds its trace, not
its calls. Draw with `tf.random` or a `tf.random.Generator` that was made
outside, or pass the numbers in as tensors.""",
    blocks=frozenset(),
    root=of_kinds("random"),
    bad=(
        Example(
            """\
import random
import tensorflow as tf
def target(x):
    return x * random.random()
r = [float(target(tf.constant(1.0))) for _ in range(10)]
distinct = len(set(r)) > 1
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def noise(shape):
    return np.random.normal(size=shape).astype("float32")
def target(x):
    return x + noise((2,))
r = [float(target(tf.zeros([2]))[0]) for _ in range(10)]
distinct = len(set(r)) > 1
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
    return x + tf.random.normal([2])
r = target(tf.zeros([2])).shape
"""
        ),
        Example(
            """\
import numpy as np
import tensorflow as tf
def target(x, noise):
    return x + noise
np.random.seed(0)
r = [float(target(tf.constant(0.0), tf.constant(np.random.rand()))) for _ in range(3)]
"""
        ),
    ),
    reference="semantics.md R5",
)
