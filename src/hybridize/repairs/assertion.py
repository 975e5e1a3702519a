"""HY807: `assert` and `raise` that ask a tensor -> `tf.debugging.Assert`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import Lit, Prim, Tensor
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.pieces import Formatter, merged, quoted
from hybridize.repairs.source.text import SourceFile, end, start


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """An assertion, or a condition that does nothing but raise."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    nodes = file.at(cause.place)
    statement: ast.stmt | None = next((n for n in nodes if isinstance(n, ast.Assert)), None)
    if isinstance(statement, ast.Assert):
        condition = file.source(statement.test)
        shown = _message(bench, file, tf, statement.msg, condition)
        error = "AssertionError"
    else:
        raised = next((n for n in nodes if isinstance(n, ast.Raise)), None)
        found = _guard(file, raised) if raised is not None else None
        if raised is None or found is None:
            return
        statement, test = found
        condition = f"{tf}.logical_not({file.source(test)})"
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_truth(bench, file, test):
            condition = file.source(test.operand)
        message = raised.exc.args[0] if isinstance(raised.exc, ast.Call) and raised.exc.args else None
        shown = _message(bench, file, tf, message, f"not ({file.source(test)})")
        raised_type = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
        error = ast.unparse(raised_type) if raised_type is not None else "the exception"
    if "\n" in condition:
        raise NotOffered("the condition is spread over lines")
    edit = file.replace(statement, f"{tf}.debugging.Assert({condition}, [{', '.join(shown)}])")
    doubt = f"what is raised is `{tf}.errors.InvalidArgumentError`, no longer `{error}`"
    said = f"the condition is checked by `{tf}.debugging.Assert`"
    yield Change((edit,), said, doubt, spans=((file.path, start(statement), end(statement)),))


def _is_truth(bench: Bench, file: SourceFile, test: ast.UnaryOp) -> bool:
    """Whether `not x` asks a tensor of truth values, or a Python one."""
    value = bench.operand(file, test.operand)
    return bool(value) and all(
        (isinstance(o, Tensor) and o.dtype == "bool") or (isinstance(o, (Lit, Prim)) and o.kind == "bool")
        for o in value
    )


def _guard(file: SourceFile, raised: ast.Raise) -> tuple[ast.stmt, ast.expr] | None:
    """The `if` that does nothing but raise, and its condition."""
    parent = file.parents[raised]
    if not isinstance(parent, ast.If) or parent.orelse or len(parent.body) != 1 or raised.cause is not None:
        return None
    above = file.parents[parent]
    # An `elif` is the only statement of an `else`, and starts on a line of its own word.
    is_elif = isinstance(above, ast.If) and above.orelse == [parent] and file.source(parent).startswith("elif")
    return None if is_elif else (parent, parent.test)


def _message(bench: Bench, file: SourceFile, tf: str, node: ast.expr | None, otherwise: str) -> list[str]:
    """The data that the error shows."""
    if node is None:
        return [quoted(otherwise)]
    code = bench.code_around(file, node)
    if code is None:
        raise NotOffered("the message is not clear")
    if isinstance(node, ast.Constant):
        return [quoted(str(node.value))]
    formatter = Formatter(bench, file, tf)
    value = bench.operand(file, node)
    if isinstance(node, ast.Name) and value and all(isinstance(o, (Lit, Prim)) and o.kind == "str" for o in value):
        return [node.id]
    pieces = formatter.argument(node, code, {}) if isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Call)) else None
    if pieces is None or (not pieces and not value):
        raise NotOffered("the message is not clear")
    return [quoted(piece.text) if piece.source is None else piece.source for piece in merged(pieces)]


REPAIR = Repair(
    code="HY807",
    name="assert-to-tf-debugging",
    removes=frozenset({"HY301", "HY312", "HY313", "HY341", "HY344"}),
    summary="`assert` and `raise` under a condition on a tensor become `tf.debugging.Assert`.",
    details="""Python decides an `assert` and runs a `raise` while the function is traced, where tensors have no values.
`tf.debugging.Assert` is part of the graph and checks at every call.""",
    safety="""Never safe: the exception is `tf.errors.InvalidArgumentError` then, and a graph may have run other
operations before it stops.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
def normalize(x):
    assert tf.reduce_all(x > 0), "positive numbers only"
    for _ in range(6):
        x = tf.sqrt(x) + 0.1 * tf.math.log(x + 1.0)
    return x / tf.reduce_sum(x)
for i in range(4):
    r = normalize(tf.constant([1.0, 2.0]) + float(i)).numpy()
""",
            """\
import tensorflow as tf
@tf.function
def normalize(x):
    tf.debugging.Assert(tf.reduce_all(x > 0), ["positive numbers only"])
    for _ in range(6):
        x = tf.sqrt(x) + 0.1 * tf.math.log(x + 1.0)
    return x / tf.reduce_sum(x)
for i in range(4):
    r = normalize(tf.constant([1.0, 2.0]) + float(i)).numpy()
""",
            function="normalize",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def solve(a, b):
    d = tf.linalg.det(a)
    if tf.abs(d) < 1e-6:
        raise ValueError("singular")
    for _ in range(6):
        b = tf.linalg.matvec(a, tf.tanh(b)) + 0.1 * b
    return b / d
for i in range(4):
    r = solve(tf.eye(2) * 2.0, tf.constant([1.0, 2.0])).numpy()
""",
            """\
import tensorflow as tf
@tf.function
def solve(a, b):
    d = tf.linalg.det(a)
    tf.debugging.Assert(tf.logical_not(tf.abs(d) < 1e-6), ["singular"])
    for _ in range(6):
        b = tf.linalg.matvec(a, tf.tanh(b)) + 0.1 * b
    return b / d
for i in range(4):
    r = solve(tf.eye(2) * 2.0, tf.constant([1.0, 2.0])).numpy()
""",
            function="solve",
            output=True,
        ),
    ),
)
