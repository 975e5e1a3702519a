"""HY804: a result that is made a Python or NumPy value at the `return` -> the caller does that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from hybridize.domain.words import NUMBERS
from hybridize.program.ir import Code
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench, is_tensor
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.text import SourceFile, end, start
from hybridize.source.syntax import walk

#: What is done to a tensor: text before and behind it.
_Wrap: TypeAlias = "tuple[str, str]"


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """Every `return` of the function itself converts the same parts of its result in the same way."""
    file = bench.file(cause.path)
    own = bench.function_node(cause.function)
    if file is None or own is None or cause.path != cause.function.path:
        return
    returns = [n for n in walk(own) if isinstance(n, ast.Return) and file.function(n) is own]
    hit = next((r for r in returns if start(r) <= cause.place < end(r)), None)
    if hit is None and cause.place != start(own) and cause.code not in ("HY349",):
        return
    wraps = _wraps(bench, file, returns)
    sites = bench.call_sites(cause.function)
    if wraps is None or not any(wrap for wrap in wraps):
        return
    if sites is None:
        raise NotOffered("not all calls of the function are known")
    edits: list[TextEdit] = []
    for each in returns:
        for part in _parts(each):
            edits += _stripped(bench, file, part)
    for code, pos in sites:
        edits += _at_call(bench, code, pos, cause.function, wraps, own.name)
    spans = (*((file.path, start(r), end(r)) for r in returns), (file.path, start(own), start(own.body[0])))
    private = own.name.startswith("_") or bench.is_script(file.path)
    doubt = None if private else f"who else calls `{own.name}` gets tensors"
    yield Change(tuple(edits), "the caller makes a Python value of the result", doubt, spans=spans)


def _parts(node: ast.Return) -> list[ast.expr]:
    if isinstance(node.value, ast.Tuple):
        return list(node.value.elts)
    return [node.value] if node.value is not None else []


def _wraps(bench: Bench, file: SourceFile, returns: list[ast.Return]) -> list[_Wrap | None] | None:
    """What is done to each part of the result; None where the returns differ."""
    found: list[list[_Wrap | None]] = []
    tuples = {isinstance(r.value, ast.Tuple) for r in returns}
    for each in returns:
        found.append([wrap for _, wrap in (_inner(bench, file, part) for part in _parts(each))])
    same = bool(found) and len(tuples) == 1 and all(wraps == found[0] for wraps in found)
    return found[0] if same else None


def _inner(bench: Bench, file: SourceFile, node: ast.expr) -> tuple[ast.expr, _Wrap | None]:
    """The tensor in an expression, and what is done to it; the expression itself where nothing is."""
    before = behind = ""
    inner = node
    while isinstance(inner, ast.Call) and not inner.keywords:
        func = inner.func
        if isinstance(func, ast.Name) and func.id in NUMBERS and len(inner.args) == 1 and func.id not in file.bound:
            before, behind, inner = f"{before}{func.id}(", f"){behind}", inner.args[0]
        elif isinstance(func, ast.Attribute) and func.attr in ("numpy", "item", "tolist") and not inner.args:
            behind, inner = f".{func.attr}(){behind}", func.value
        else:
            break
        if is_tensor(bench.operand(file, inner)):
            return inner, (before, behind)
    return node, None


def _stripped(bench: Bench, file: SourceFile, node: ast.expr) -> list[TextEdit]:
    inner, wrap = _inner(bench, file, node)
    if wrap is None:
        return []
    text = file.source(inner)
    if "\n" in text and not isinstance(inner, (ast.Call, ast.Name, ast.Attribute)):
        text = f"({text})"
    return [file.replace(node, text)]


def _at_call(bench: Bench, code: Code, pos: int, callee: Code, wraps: list[_Wrap | None], name: str) -> list[TextEdit]:
    """The edits at one call; raises NotOffered where the result is used in a way that can't be told."""
    found = bench.call_node(code, pos, callee)
    if found is None:
        raise NotOffered(f"a call of `{name}` is not clear")
    file, call = found
    statement = file.statement(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        return []
    if len(wraps) == 1 and not _is_unpacked(statement, call):
        before, behind = wraps[0] or ("", "")
        edits = [file.insert(start(call), before)] if before else []
        return [*edits, file.insert(end(call), behind)]
    if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) != 1:
        raise NotOffered(f"the result of `{name}` is not unpacked where it is called")
    target = statement.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(wraps):
        raise NotOffered(f"the result of `{name}` is not unpacked where it is called")
    lines = []
    for each, wrap in zip(target.elts, wraps, strict=True):
        if wrap is None:
            continue
        if not isinstance(each, (ast.Name, ast.Attribute)):
            raise NotOffered(f"a part of the result of `{name}` goes into a container")
        if not (isinstance(each, ast.Name) and each.id == "_"):
            text = file.source(each)
            lines.append(f"{text} = {wrap[0]}{text}{wrap[1]}")
    edit = file.after(statement, *lines) if lines else None
    if lines and edit is None:
        raise NotOffered(f"a call of `{name}` shares its line")
    return [edit] if edit is not None else []


def _is_unpacked(statement: ast.stmt, call: ast.Call) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is call else []
    return any(isinstance(target, (ast.Tuple, ast.List)) for target in targets)


REPAIR = Repair(
    code="HY804",
    name="result-to-caller",
    removes=frozenset({"HY301", "HY341", "HY349"}),
    summary="A result that the function makes a Python or NumPy value at its `return` is made one by its callers.",
    details="""`return loss.numpy()` and `return float(loss)` read a value that a graph does not have while it is
traced. The function returns the tensor, and each caller does with it what the function did, so that it goes on with the
same value. Offered where every call of the function is known, and each unpacks the result if that is a tuple.""",
    safety="""Safe where nobody else can call the function: in a script, or where its name begins with `_`. Who else
calls it gets tensors.""",
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
    return loss.numpy()
for step in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1]))
    print(f"step {step} loss {loss:.4f}")
""",
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
@tf.function
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
for step in range(10):
    loss = train_step(tf.ones([4, 2]), tf.ones([4, 1])).numpy()
    print(f"step {step} loss {loss:.4f}")
""",
            function="train_step",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def evaluate(logits, labels):
    for _ in range(6):
        logits = tf.nn.relu(logits) + 0.1 * logits
    hits = tf.equal(tf.argmax(logits, 1), labels)
    return float(tf.reduce_mean(tf.cast(hits, tf.float32))), logits
for i in range(4):
    accuracy, logits = evaluate(tf.eye(3) * float(i), tf.constant([0, 1, 1], tf.int64))
    print(accuracy)
""",
            """\
import tensorflow as tf
@tf.function
def evaluate(logits, labels):
    for _ in range(6):
        logits = tf.nn.relu(logits) + 0.1 * logits
    hits = tf.equal(tf.argmax(logits, 1), labels)
    return tf.reduce_mean(tf.cast(hits, tf.float32)), logits
for i in range(4):
    accuracy, logits = evaluate(tf.eye(3) * float(i), tf.constant([0, 1, 1], tf.int64))
    accuracy = float(accuracy)
    print(accuracy)
""",
            function="evaluate",
            output=True,
        ),
    ),
    order=40,
)
