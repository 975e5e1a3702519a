"""HY806: a Python number that differs from call to call -> a tensor, made at the call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Tensor
from hybridize.program.ir import Code, Param
from hybridize.repairs.bench import NOTHING, Bench, numbers
from hybridize.repairs.log_setup import LEVELS
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample, TextEdit
from hybridize.repairs.text import FunctionNode, SourceFile
from hybridize.source.syntax import walk

#: Functions of TensorFlow that take a number and a scalar tensor alike, whatever the dtype.
_TAKERS = ("cast", "print", "strings.as_string", "summary.", "debugging.")
#: Those that do the same with one number and with a scalar tensor of the dtype of the others.
_ELEMENTWISE = frozenset(
    "abs add clip_by_norm clip_by_value cos divide exp log maximum minimum multiply negative pow sigmoid sin sqrt "
    "square subtract tanh".split()
)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.FloorDiv, ast.Pow)
#: What whole numbers stay whole under, in Python and TensorFlow alike.
_WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv)
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
    whole = kinds == {"int"}
    dtype = _dtype(bench, file, own, param, whole=whole)
    edits = [_wrapped(bench, site, pos, code, cause.parameter, dtype) for site, pos in sites]
    doubt = f"`{param.name}` is a tensor in the function then, with the arithmetic of {dtype} and not of Python"
    said = f"calls pass `{param.name}` as a tensor"
    yield Change(tuple(dict.fromkeys(edits)), said, doubt)


def _dtype(bench: Bench, file: SourceFile, own: FunctionNode, param: Param, *, whole: bool) -> str:
    """The dtype that every use in the function takes."""
    if any(isinstance(n, ast.Name) and n.id == param.name and not isinstance(n.ctx, ast.Load) for n in walk(own)):
        raise NotOffered(f"`{param.name}` is assigned anew")
    uses = [n for n in walk(own) if isinstance(n, ast.Name) and n.id == param.name]
    wanted: set[str] = set()
    for use in uses:
        if use.lineno < own.body[0].lineno:
            continue
        wanted |= _taken(bench, file, use, whole=whole)
    if len(wanted) > 1:
        raise NotOffered(f"`{param.name}` meets tensors of several dtypes")
    return next(iter(wanted), "int32" if whole else "float32")


def _taken(bench: Bench, file: SourceFile, use: ast.expr, *, whole: bool, name: str = "") -> set[str]:
    """The dtypes of the tensors that a number, or what is computed of it and constants, meets.

    Raises where a tensor would not do.
    """
    parent = file.parents[use]
    name = name or ast.unparse(use)
    refused = NotOffered(f"`{name}` is used where only a Python number will do")
    if isinstance(parent, ast.Compare):
        return set() if all(isinstance(o, _NUMERIC) for o in parent.ops) else _refuse(refused)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub | ast.UAdd):
        return _taken(bench, file, parent, whole=whole, name=name)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, _ARITHMETIC):
        other = parent.right if parent.left is use else parent.left
        if all(_is_number(n, name, whole=False) for n in walk(other)):
            if whole and not (all(_is_number(n, name, whole=True) for n in walk(other)) and _is_whole(parent)):
                raise refused
            return _taken(bench, file, parent, whole=whole, name=name)
        return _dtype_of(bench, file, other) or _refuse(refused)
    if isinstance(parent, ast.FormattedValue):
        return set()
    if isinstance(parent, ast.Call) and use in parent.args:
        found = _by_call(bench, file, parent, name, whole=whole)
        return found if found is not None else _refuse(refused)
    if isinstance(parent, ast.keyword) and parent.arg == "step":
        return set()
    if whole and isinstance(parent, ast.List | ast.Tuple) and _is_whole_vector(file, parent):
        return {"int32"}
    raise refused


def _by_call(bench: Bench, file: SourceFile, call: ast.Call, given: str, *, whole: bool) -> set[str] | None:
    """The dtypes that a call asks of the number `given`; None where it may ask for a Python number."""
    name, tf = ast.unparse(call.func), file.tensorflow
    if name in ("print", "float", "int") or (whole and name == "range" and len(call.args) == 1):
        return set()
    if tf is not None and any(name.startswith(f"{tf}.{taker}") for taker in _TAKERS):
        return set()
    if name.rpartition(".")[2] in LEVELS and any("logging." in each for each in bench.names(file, call)):
        return set()  # a message becomes `tf.print`
    if tf is None or name.removeprefix(f"{tf}.").removeprefix("math.") not in _ELEMENTWISE or call.keywords:
        return None
    found: set[str] = set()
    for other in call.args:
        if all(_is_number(n, given, whole=whole) for n in walk(other)):
            continue
        dtype = _dtype_of(bench, file, other)
        if dtype is None:
            return None
        found |= dtype
    return found


def _is_whole(node: ast.BinOp) -> bool:
    """Whether all operators in an expression keep whole numbers whole."""
    return all(isinstance(n.op, _WHOLE) for n in walk(node) if isinstance(n, ast.BinOp))


def _is_number(node: ast.AST, given: str, *, whole: bool) -> bool:
    """Whether a part of an expression is made of nothing but a number of that name, and constants."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int if whole else int | float)
    if isinstance(node, ast.Name):
        return node.id == given
    return isinstance(node, ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.expr_context)


def _dtype_of(bench: Bench, file: SourceFile, node: ast.expr) -> set[str] | None:
    """The dtype of what is surely a tensor; None where it is something else, or not known."""
    met = bench.operand(file, node)
    dtypes = {o.dtype for o in met if isinstance(o, Tensor)}
    if not met or len(dtypes) != 1 or None in dtypes or not all(isinstance(o, Tensor) for o in met):
        return None
    return {str(d) for d in dtypes}


def _is_whole_vector(file: SourceFile, node: ast.List | ast.Tuple) -> bool:
    """Whether a list of whole numbers goes where TensorFlow packs tensors and numbers alike: `tf.stack`, seeds."""
    parent = file.parents[node]
    call = file.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or file.tensorflow is None:
        return False
    name = ast.unparse(call.func).removeprefix(f"{file.tensorflow}.")
    seeds = name.startswith("random.stateless_") and (
        parent.arg == "seed" if isinstance(parent, ast.keyword) else call.args[1:2] == [node]
    )
    others = [e for e in node.elts if not isinstance(e, ast.Name)]
    return (seeds or name == "stack") and all(isinstance(e, ast.Constant) and type(e.value) is int for e in others)


def _refuse(error: NotOffered) -> set[str]:
    raise error


_NUMERIC = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


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
        bound = callee.parent is not None and callee.parent.kind == "class" and isinstance(call.func, ast.Attribute)
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
or what the tensors are that they are combined with. Not safe, because the arithmetic is that of the dtype.""",
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
