"""HY801: `print` in a function that is to be traced -> `tf.print`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.repairs.model import Cause, Change, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import NewImport
from hybridize.repairs.source.pieces import Formatter, is_text
from hybridize.repairs.source.printing import arguments_of, laid_out
from hybridize.repairs.source.text import SourceFile, end, start

_STREAMS = {"sys.stdout", "sys.stderr"}


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A `print` that is a statement of its own, to a standard stream."""
    if cause.reason is None or cause.reason.effect.detail.removeprefix("builtins.") != "print":
        return
    file = bench.file(cause.path)
    if file is None:
        return
    calls = [n for n in file.at(cause.place) if isinstance(n, ast.Call) and _is_print(file, n)]
    tf = file.tensorflow
    if len(calls) != 1 or "print" in file.bound or "format" in file.bound:
        return
    missing = tf is None
    if tf is None and ("tf" in file.used or file.module_name("tensorflow.compat.v1") is not None):
        return
    change = _change(bench, file, calls[0], tf or "tf")
    if change is not None:
        imports = (NewImport(file.path, "tensorflow", "tf"),) if missing else ()
        yield Change(change.edits, change.says, change.doubt, (*change.imports, *imports), change.spans)


def _is_print(file: SourceFile, node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "print" and isinstance(file.parents[node], ast.Expr)


def _change(bench: Bench, file: SourceFile, call: ast.Call, tf: str) -> Change | None:
    found = bench.argument_slots(file, call)
    words = {k.arg: k.value for k in call.keywords}
    if found is None or None in words or not words.keys() <= {"sep", "end", "file", "flush"}:
        return None
    sep = words.get("sep")
    stream = file.source(words["file"]) if "file" in words else "sys.stdout"
    if stream not in _STREAMS or (sep is not None and not is_text(sep)):
        return None
    name = file.module_name("sys")
    imports = () if name == "sys" else (NewImport(file.path, "sys", "sys"),)
    if name is None and "sys" in file.used:
        return None
    formatter = Formatter(bench, file, tf)
    shown = [formatter.argument(each, *found) for each in call.args]
    arguments, joined = arguments_of(shown, str(sep.value) if isinstance(sep, ast.Constant) else " ", tf)
    keywords = joined or ([f"sep={file.source(sep)}"] if sep is not None and len(arguments) > 1 else [])
    keywords += [f"end={file.source(words['end'])}"] if "end" in words else []
    keywords.append(f"output_stream={stream}")
    edit = file.replace(call, laid_out(f"{tf}.print", [*arguments, *keywords], file.indentation(file.statement(call))))
    exact = all(piece.exact for pieces in shown for piece in pieces)
    doubt = "what is written may come before or after what Python has written and not yet flushed"
    if not exact:
        doubt = "tensors are written as their values, and floats with other digits than Python's"
    span = (file.path, start(call), end(call))
    return Change((edit,), f"`print` becomes `{tf}.print`", doubt, imports, (span,))


REPAIR = Repair(
    code="HY801",
    name="print-to-tf-print",
    removes=frozenset({"HY201", "HY301", "HY341", "HY344"}),
    summary="`print` of tensors becomes `tf.print`, which is part of the graph.",
    details="""`print` runs while a function is traced, once; `tf.print` at every call. Formats such as `{loss:.4f}`
become `tf.strings.as_string(loss, precision=4)`, which writes the same digits; `.numpy()`, `float(...)` and `.item()`,
which a graph does not have, go. A tensor without a format is written as its value only, not as `tf.Tensor(...)`, and
floats may have another number of digits.""",
    safety="""Never safe: `tf.print` writes past Python's own buffer, so that lines may change places where output goes
to a file, and floats may be written with other digits.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    print(f"loss: {loss:.4f}")
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            """\
import sys

import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
@tf.function
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    tf.print(tf.strings.join(["loss: ", tf.strings.as_string(loss, precision=4)]), output_stream=sys.stdout)
    return loss
for _ in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
r = loss.numpy()
""",
            function="train_step",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def norm(v):
    total = tf.reduce_sum(v * v)
    print("norm", total.numpy())
    return tf.sqrt(total)
def step(v, n):
    for _ in range(8):
        v = v / norm(v) + tf.nn.relu(v) * tf.tanh(v) - tf.exp(-v)
    return v, n + 1
for i in range(5):
    v, n = step(tf.constant([3.0, 4.0]), tf.constant(i))
""",
            """\
import sys

import tensorflow as tf
def norm(v):
    total = tf.reduce_sum(v * v)
    tf.print("norm", total, output_stream=sys.stdout)
    return tf.sqrt(total)
@tf.function
def step(v, n):
    for _ in range(8):
        v = v / norm(v) + tf.nn.relu(v) * tf.tanh(v) - tf.exp(-v)
    return v, n + 1
for i in range(5):
    v, n = step(tf.constant([3.0, 4.0]), tf.constant(i))
""",
            function="step",
        ),
    ),
    order=10,
)
