"""HY812: arguments of `tf.function` by their present names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.library.dialect import RENAMED
from hybridize.repairs.model import Cause, Change, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The keyword at the place, where the release in use has the new name."""
    file = bench.file(cause.path)
    if file is None:
        return
    keyword = next((n for n in file.at(cause.place) if isinstance(n, ast.keyword) and n.arg in RENAMED), None)
    if keyword is None or keyword.arg is None:
        return
    call = file.parents[keyword]
    new, since = RENAMED[keyword.arg]
    if bench.versions.oldest < since or not isinstance(call, ast.Call) or any(k.arg == new for k in call.keywords):
        return
    line, column = cause.place
    edit = TextEdit(file.path, (line, column), (line, column + len(keyword.arg)), new)
    doubt = None if bench.versions.binds else f"no file asks for a TensorFlow that has `{new}`"
    yield Change((edit,), f"`{keyword.arg}` is called `{new}`", doubt, spans=((file.path, edit.start, edit.end),))


REPAIR = Repair(
    code="HY812",
    name="arguments-renamed",
    removes=frozenset({"HY271"}),
    summary="A deprecated argument of `tf.function` gets its present name.",
    details="""`experimental_relax_shapes` is `reduce_retracing` since TensorFlow 2.9, and `experimental_compile` is
`jit_compile` since 2.5: the same argument with the same values. Offered where every release that the project allows
has the new name.""",
    safety="""Safe where a file of the project says which releases it runs on. Otherwise the one that runs it may not
know the new name.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
@tf.function(experimental_relax_shapes=True)
def double(x):
    for _ in range(20):
        x = tf.sin(x) * 2
    return x
for i in range(1, 5):
    r = double(tf.ones([i])).numpy()
""",
            """\
import tensorflow as tf
@tf.function(reduce_retracing=True)
def double(x):
    for _ in range(20):
        x = tf.sin(x) * 2
    return x
for i in range(1, 5):
    r = double(tf.ones([i])).numpy()
""",
            function="double",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
@tf.function(
    experimental_relax_shapes=True,  # sizes vary
)
def total(x):
    for _ in range(20):
        x = tf.cos(x) * 2
    return tf.reduce_sum(x)
for i in range(1, 5):
    r = total(tf.ones([i])).numpy()
""",
            """\
import tensorflow as tf
@tf.function(
    reduce_retracing=True,  # sizes vary
)
def total(x):
    for _ in range(20):
        x = tf.cos(x) * 2
    return tf.reduce_sum(x)
for i in range(1, 5):
    r = total(tf.ones([i])).numpy()
""",
            function="total",
            output=True,
        ),
    ),
)
