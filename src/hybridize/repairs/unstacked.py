"""HY819: Python goes through a tensor -> through the list of its elements, which `tf.unstack` makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Tensor, Value
from hybridize.domain.tensors import DENSE, VARIABLE, is_dynamic
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import NOTHING, Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start

#: More elements would fill the graph with as many copies of what is done with one.
_MOST: Final = 64
#: What a loop of the graph cannot do, and one of Python can.
_IN_LOOPS: Final = frozenset({"HY317", "HY318"})
_UNKNOWN: Final = (
    "the first dim must be known when the function is traced, and each element is written out in the graph"
)


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The tensors at the cause's place through which Python goes."""
    opened = bench.with_tensorflow(cause.path)
    if opened is None:
        return
    file, tf = opened
    for node in file.at(cause.place):
        looped = _loop(bench, file, node) if cause.code in _IN_LOOPS else None
        for each, value in [looped] if looped else _iterated(bench, file, node, cause.position):
            # The rank of a tensor is known wherever a function is traced for tensors that have arrived.
            ranked = isinstance(each, ast.Call) and bench.names(file, each) == {"tf.shape"}
            known = _is_known(value, ranked=ranked)
            if known is None:
                continue
            edit = file.replace(each, f"{tf}.unstack({file.source(each)})")
            whole = file.parents[each] if looped else node
            spans = ((file.path, start(whole), end(whole)),)
            said = f"Python goes through the elements that `{tf}.unstack` makes of `{file.source(each)}`"
            yield Change((edit,), said, None if known else _UNKNOWN, spans=spans)


def _iterated(bench: Bench, file: SourceFile, node: ast.AST, position: int) -> Iterator[tuple[ast.expr, Value]]:
    """What a node goes through, with its values: arguments, stars, what is unpacked, what comprehensions run over."""
    code = bench.code_around(file, node)
    found = index_of(code).at(position) if code is not None else []
    assert code is not None or not found
    match node:
        case ast.Call():
            for each in node.args:
                inner = each.value if isinstance(each, ast.Starred) else each
                slots = bench.argument_slots(file, node)
                if slots is not None and each in slots[1]:
                    yield inner, bench.values(slots[0], slots[1][each])
        case ast.List() | ast.Tuple():
            for instr in found:
                if code is not None and isinstance(instr, ir.Sequence) and len(instr.elements) == len(node.elts):
                    for each, (slot, starred) in zip(node.elts, instr.elements, strict=True):
                        if starred and isinstance(each, ast.Starred):
                            yield each.value, bench.values(code, slot)
        case ast.Assign(targets=[ast.Tuple() | ast.List()]):
            yield from _unpacked(bench, file, node)
        case ast.AugAssign(op=ast.Add()):
            for instr in found:
                if code is not None and isinstance(instr, ir.Inplace):
                    yield node.value, bench.values(code, instr.right)
    parent = file.parents.get(node)
    if isinstance(parent, ast.comprehension) and parent.target is node:
        yield parent.iter, _run_over(bench, file, node, position)


def _loop(bench: Bench, file: SourceFile, node: ast.AST) -> tuple[ast.expr, Value] | None:
    """What the nearest loop around a node runs over."""
    for each in (node, *file.around(node)):
        if isinstance(each, (FunctionNode, ast.Lambda, ast.While)):
            return None
        if isinstance(each, ast.For):
            line, column = start(each)
            return each.iter, _run_over(bench, file, each, line << 16 | column)
    return None


def _unpacked(bench: Bench, file: SourceFile, node: ast.Assign) -> Iterator[tuple[ast.expr, Value]]:
    code = bench.code_around(file, node)
    targets = node.targets[0]
    places = {start(each) for each in (node, targets, node.value)}
    for instr in index_of(code).of(ir.Unpack) if code is not None and isinstance(targets, ast.Tuple) else ():
        if code is not None and (instr.position >> 16, instr.position & 0xFFFF) in places:
            yield node.value, bench.values(code, instr.source)
            return


def _run_over(bench: Bench, file: SourceFile, node: ast.AST, position: int) -> Value:
    """What a loop or comprehension runs over; `node` is in the same function."""
    code = bench.code_around(file, node)
    for instr in index_of(code).at(position) if code is not None else ():
        if code is not None and isinstance(instr, ir.Loop) and instr.is_for:
            return bench.values(code, instr.iterable)
    return NOTHING


def _is_known(value: Value, *, ranked: bool) -> bool | None:
    """Whether how many elements there are is known here; None where a graph would not know either, or they are many."""
    if not value or not all(isinstance(o, Tensor) and o.kind in (DENSE, VARIABLE) for o in value):
        return None
    firsts = [o.shape[0] if o.shape else None for o in value if isinstance(o, Tensor)]
    if any(first is not None and ((is_dynamic(first) and not ranked) or first > _MOST) for first in firsts):
        raise NotOffered("a graph does not know how many elements there are, or they are many")
    if any(o.shape == () for o in value if isinstance(o, Tensor)):
        return None
    return all(first is not None and first >= 0 for first in firsts)


REPAIR = Repair(
    code="HY819",
    name="tensor-unstacked",
    removes=frozenset({"HY310", "HY317", "HY318", "HY342"}),
    summary="Python goes through the elements that `tf.unstack` makes of a tensor.",
    details="""Unpacking (`rows, columns = tf.shape(x)`), comprehensions, `list`, `zip`, `enumerate`, `map`, `sum` and
a star go through what they are given in Python, which a symbolic tensor refuses. `tf.unstack(x)` is the list of what
eager code goes through, and works as a graph wherever the first dim is known when the function is traced. A `for`
statement that does what only one of Python can (it fills a list that HY809 does not take, or a variable grows in it)
goes through it as well, and is written out in the graph. Not offered where a graph does
not know the dim, or where it is larger than 64.""",
    safety="Safe where the dim is known here. Where it is not, a graph may not know it either, and would raise.",
    propose=propose,
    order=60,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
def flat(x):
    rows, columns = tf.shape(x)
    for _ in range(5):
        x = tf.sin(x) + 0.5 * x
    return tf.reshape(x, [rows * columns])
for i in range(3):
    r = flat(tf.ones([2, 3]) * float(i))
""",
            """\
import tensorflow as tf
@tf.function
def flat(x):
    rows, columns = tf.unstack(tf.shape(x))
    for _ in range(5):
        x = tf.sin(x) + 0.5 * x
    return tf.reshape(x, [rows * columns])
for i in range(3):
    r = flat(tf.ones([2, 3]) * float(i))
""",
            function="flat",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def mixed(x):
    parts = [tf.tanh(row) + 0.1 * row for row in x]
    total = tf.zeros([4])
    for k, part in enumerate(x):
        total += part * float(k)
    return tf.stack(parts) + total
for i in range(3):
    r = mixed(tf.ones([3, 4]) * float(i))
""",
            """\
import tensorflow as tf
@tf.function
def mixed(x):
    parts = [tf.tanh(row) + 0.1 * row for row in tf.unstack(x)]
    total = tf.zeros([4])
    for k, part in enumerate(tf.unstack(x)):
        total += part * float(k)
    return tf.stack(parts) + total
for i in range(3):
    r = mixed(tf.ones([3, 4]) * float(i))
""",
            function="mixed",
            output=True,
        ),
    ),
)
