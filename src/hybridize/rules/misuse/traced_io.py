"""HY202: files and other input and output that happen once per trace."""

from __future__ import annotations

from hybridize.rules.model import Category, Example, Level, Outcome, Rule
from hybridize.tracing.state.effects import of_kinds

RULE = Rule(
    code="HY202",
    name="traced-io",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    act="it happens while tracing only; do it outside and pass what is read, or use `tf.io`",
    summary="Files are read and written once per trace, not once per call.",
    details="""Opening, reading and writing files, the environment, processes and sockets are Python's work: a traced
function does it while it is traced, and never again. What it read is a constant of the graph. Do it in
the caller and pass tensors, or use TensorFlow's own input and output (`tf.io.read_file` of a path that is an
argument, `tf.data`, `tf.summary`).""",
    level=Level.INFO,
    blocks=frozenset(),
    root=of_kinds("io"),
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    with open("log.txt", "a") as f:
        f.write("called\\n")
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
r = open("log.txt").read()
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import os
import tensorflow as tf
def name(i):
    os.makedirs("out", exist_ok=True)
    return os.path.join("out", str(len(os.listdir("out"))))
def target(x):
    os.mkdir(name(x))
    return x + 1
target(tf.constant(1.0))
target(tf.constant(2.0))
r = len(os.listdir("out"))
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    return x + 1
with open("log.txt", "w") as f:
    f.write(str(target(tf.constant(1.0)).shape))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(path):
    return tf.strings.length(tf.io.read_file(path))
with open("words.txt", "w") as f:
    f.write("abc")
r1 = target(tf.constant("words.txt"))
"""
        ),
    ),
    known_problems="""It is information because in no sample that was read could somebody act on four of five
findings.""",
    reference="semantics.md R1",
)
