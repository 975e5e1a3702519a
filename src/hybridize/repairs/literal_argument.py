"""HY806: a Python number that differs from call to call -> a tensor, made at the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Tensor
from hybridize.program.ir import Code
from hybridize.repairs.bench import NOTHING, Bench, numbers
from hybridize.repairs.edits import TextEdit
from hybridize.repairs.literal_uses import Uses
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample

_LARGEST = 2**31 - 1


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A parameter of which the function asks nothing that a tensor cannot answer, and whose calls are all known."""
    code = cause.function
    own = bench.function_node(code)
    if cause.parameter is None or own is None:
        return
    param = code.params[cause.parameter]
    value = NOTHING
    for frame in bench.frames(code):
        value |= frame.args[cause.parameter]
    kinds = numbers(o for o in value if not isinstance(o, Tensor))
    if kinds not in ({"int"}, {"float"}) or any(isinstance(o, Tensor) for o in value) or param.has_default:
        raise NotOffered(f"`{param.name}` is not always a number of one type")
    if any(abs(c) > _LARGEST for c in (getattr(o, "const", 0) for o in value) if isinstance(c, int)):
        raise NotOffered(f"`{param.name}` may not fit into an int32")
    sites = bench.call_sites(code)
    file = bench.file(code.path)
    if sites is None or file is None:
        raise NotOffered("not all calls of the function are known")
    uses = Uses(bench, file, own, param.name, whole=kinds == {"int"})
    dtype, within = uses.answer()
    edits = [_wrapped(bench, site, pos, code, cause.parameter, dtype) for site, pos in sites]
    doubt = f"`{param.name}` is a tensor in the function then, with the arithmetic of {dtype} and not of Python"
    said = f"calls pass `{param.name}` as a tensor"
    yield Change(tuple(dict.fromkeys([*edits, *within])), said, None if uses.is_same(dtype) else doubt)


def _wrapped(bench: Bench, site: Code, pos: int, callee: Code, index: int, dtype: str) -> TextEdit:
    """The edit that makes a tensor of the argument at one call."""
    found = bench.call_node(site, pos, callee)
    if found is None:
        raise NotOffered("a call is not clear")
    file, call = found
    tf = file.tensorflow
    name = callee.params[index].name
    node = next((k.value for k in call.keywords if k.arg == name), None)
    if node is None:
        bound = callee.in_class and isinstance(call.func, ast.Attribute)
        place = index - bound
        starred = any(isinstance(a, ast.Starred) for a in call.args[: place + 1])
        node = call.args[place] if not starred and 0 <= place < len(call.args) else None
    if node is None or tf is None:
        raise NotOffered("a call does not show the argument")
    return file.replace(node, f"{tf}.constant({file.source(node)}, dtype={tf}.{dtype})")


REPAIR = Repair(
    code="HY806",
    name="literal-to-tensor",
    removes=frozenset({"HY002"}),
    summary="A Python number that differs from call to call is passed as a tensor.",
    details="""Each new Python number among the arguments is traced anew; a tensor of the same value is not.
`train_step(x, step)` becomes `train_step(x, tf.constant(step, dtype=tf.int32))` at every call, where the function asks
nothing of the number that a tensor cannot answer. Integers become int32 and floats float32, as TensorFlow makes them,
or what the tensors are that they are combined with.""",
    safety="""Safe where the number is nothing but an operand of tensors of one floating dtype (`rate * gradient`):
TensorFlow makes the same tensor of it. Else the arithmetic inside of the function is that of the tensor's dtype, and
not Python's.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
def train_step(x, y, step):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    if step % 5 == 0:
        w.assign(w * 0.9)
    return loss
for step in range(20):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]), step)
r = loss.numpy()
""",
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
@tf.function
def train_step(x, y, step):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    if step % 5 == 0:
        w.assign(w * 0.9)
    return loss
for step in range(20):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]), tf.constant(step, dtype=tf.int32))
r = loss.numpy()
""",
            function="train_step",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def anneal(x, rate):
    for _ in range(8):
        x = x - tf.sin(x) * rate
    return x
rate = 1.0
x = tf.constant([1.0, 2.0])
for _ in range(8):
    x = anneal(x, rate=rate)
    rate = rate * 0.5
r = x.numpy()
""",
            """\
import tensorflow as tf
@tf.function
def anneal(x, rate):
    for _ in range(8):
        x = x - tf.sin(x) * rate
    return x
rate = 1.0
x = tf.constant([1.0, 2.0])
for _ in range(8):
    x = anneal(x, rate=tf.constant(rate, dtype=tf.float32))
    rate = rate * 0.5
r = x.numpy()
""",
            function="anneal",
            output=True,
        ),
    ),
)
