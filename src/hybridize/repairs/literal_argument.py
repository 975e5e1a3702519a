"""HY806: a Python number that differs from call to call -> a tensor, made at the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Lit, Prim, Tensor, Value
from hybridize.program.ir import Code
from hybridize.repairs.holding.literal_uses import Uses
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import NOTHING, Bench, numbers
from hybridize.repairs.source.edits import TextEdit

_LARGEST = 2**31 - 1
#: So many constants are as many traces, and no more.
_FEW = 4


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """Parameters of which the function asks nothing that a tensor cannot answer, and whose calls are all known."""
    code = cause.function
    own = bench.function_node(code)
    named = [i for i, param in enumerate(code.params) if cause.hit is not None and param.name == cause.hit.about]
    given = named if cause.parameter is None else [cause.parameter]
    if not given or own is None:
        return
    # Of a program it is no matter that nobody is seen to run what makes the calls.
    sites = bench.call_sites(code) or (None if bench.is_library(code.path) else bench.direct_calls(code))
    file = bench.file(code.path)
    edits: list[TextEdit] = []
    said: list[str] = []
    doubts: list[str] = []
    for index in sorted({*given, *_varying(bench, code)}):
        kind, name = _kind(bench, code, index), code.params[index].name
        if not sites or file is None:
            raise NotOffered("not all calls of the function are known")
        uses = Uses(bench, file, own, name, whole=kind == "int")
        dtype, within = uses.answer()
        edits += [*(_wrapped(bench, site, pos, code, index, dtype) for site, pos in sites), *within]
        said.append(f"`{name}` as a tensor")
        if not uses.are_same():
            doubts.append(
                f"`{name}` is a tensor in the function then, with the arithmetic of {dtype} and not of Python"
            )
    if cause.hit is not None and not cause.alone:
        doubts.append("what else the function does while it is traced it does once then")
    yield Change(tuple(dict.fromkeys(edits)), f"calls pass {' and '.join(said)}", "; ".join(doubts) or None)


def _varying(bench: Bench, code: Code) -> list[int]:
    """The parameters that get a number which differs from call to call, or more than a few numbers."""
    found = []
    for index in range(len(code.params)):
        given = {o for o in _given(bench, code, index) if isinstance(o, (Lit, Prim)) and o.kind in ("int", "float")}
        if len(given) > _FEW or any(o.varies for o in given):
            found.append(index)
    return found


def _given(bench: Bench, code: Code, index: int) -> Value:
    """What calls that are seen pass for a parameter."""
    value = NOTHING
    for frame in bench.frames(code):
        for _, _, args in frame.seen_calls():
            value |= args[index]
    return value


def _kind(bench: Bench, code: Code, index: int) -> str:
    """The one kind of number that a parameter gets, `int` or `float`."""
    param, value = code.params[index], _given(bench, code, index)
    kinds = numbers(o for o in value if not isinstance(o, Tensor))
    if kinds not in ({"int"}, {"float"}) or any(isinstance(o, Tensor) for o in value) or param.has_default:
        raise NotOffered(f"`{param.name}` is not always a number of one type")
    if any(abs(c) > _LARGEST for c in (getattr(o, "const", 0) for o in value) if isinstance(c, int)):
        raise NotOffered(f"`{param.name}` may not fit into an int32")
    return next(iter(kinds))


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
    removes=frozenset({"HY002", "HY101"}),
    summary="A Python number that differs from call to call is passed as a tensor.",
    details="""Each new Python number among the arguments is traced anew; a tensor of the same value is not.
`train_step(x, step)` becomes `train_step(x, tf.constant(step, dtype=tf.int32))` at every call, where the function asks
nothing of the number that a tensor cannot answer. Integers become int32 and floats float32, as TensorFlow makes them,
or what the tensors are that they are combined with. What is hybrid already, and pays but for that, keeps its
decorator.""",
    safety="""Safe where the function gives the number as it is to tensors of one floating dtype (`loss * weight`), to
`tf.cast`, or to a summary as its step: TensorFlow makes the same tensor of it. Of a graph nothing else may be told
then, and nothing else that tracing alters may be in it. Else the arithmetic inside of the function is that of the
tensor's dtype, and not Python's.""",
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
