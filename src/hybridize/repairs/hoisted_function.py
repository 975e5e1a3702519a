"""HY816: a hybrid function that is made anew at every call, and captures nothing -> a function of the module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.facts.model import Ternary
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import bound_before, captured, free_names, is_constant, top_statement
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, first_line, start
from hybridize.source.syntax import walk


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """A decorated `def` in another function that uses nothing of it."""
    file, own = bench.file(cause.function.path), bench.function_node(cause.function)
    if file is None or own is None or not own.decorator_list or isinstance(own, ast.AsyncFunctionDef):
        return
    outer = file.parents[own]
    while not isinstance(outer, FunctionNode):
        if isinstance(outer, (ast.ClassDef, ast.Lambda, ast.Module)):
            return
        outer = file.parents[outer]
    if cause.position >> 16 not in range(start(own.decorator_list[0])[0], own.lineno + 1):
        return  # it is made hybrid elsewhere
    _check(bench, cause, file, own)
    top = top_statement(file, own)
    lead = first_line(top)
    evaluated = [*own.decorator_list, *own.args.defaults, *(d for d in own.args.kw_defaults if d is not None)]
    evaluated += [a.annotation for a in walk(own.args) if isinstance(a, ast.arg) and a.annotation is not None]
    needed = {n.id for e in evaluated for n in walk(e) if isinstance(n, ast.Name)}
    if not bound_before(file, needed, lead):
        raise NotOffered("what its decorators and defaults need is not there at the top of the module")
    edits = _edits(file, own, outer, lead)
    changing = sorted(n for n in free_names(file, own) - {own.name} if n in file.bound and not is_constant(file, n))
    doubt = f"`{changing[0]}` may change between the calls: only a new graph would see that" if changing else None
    spans = ((file.path, start(own.decorator_list[0]), end(own)),)
    yield Change(tuple(edits), f"`{own.name}` is made once, as a function of the module", doubt, spans=spans)


def _check(bench: Bench, cause: Cause, file: SourceFile, own: FunctionNode) -> None:
    """Raises NotOffered where a graph that is kept would do otherwise than one that is new at every call."""
    taken = sorted(captured(file, own) - {own.name})
    if taken:
        raise NotOffered(f"`{own.name}` uses `{taken[0]}` of the function around it")
    if any(isinstance(n, (ast.Nonlocal, ast.Global)) for n in walk(own)):
        raise NotOffered(f"`{own.name}` writes variables from outside")
    effects, assumed = bench.project.effects.fact(bench.frames(cause.function), speculate=True)
    if effects.value is not Ternary.NO or assumed:
        raise NotOffered(f"`{own.name}` may have side effects, which each new trace repeats")


def _edits(file: SourceFile, own: FunctionNode, outer: FunctionNode, lead: int) -> list[TextEdit]:
    indent = file.indentation(own)
    first, (last, column) = start(own.decorator_list[0])[0], end(own)
    if indent is None or file.lines[last - 1][column:].strip() or len(file.block(own)) == 1:
        raise NotOffered(f"`{own.name}` shares its lines")
    name = own.name
    binders = [n for n in file.bound.get(name, ()) if n is not own]
    uses = [n for n in walk(outer) if isinstance(n, ast.Name) and n.id == name]
    if any(n in set(walk(outer)) for n in binders):
        raise NotOffered(f"`{name}` is bound more than once")
    edits: list[TextEdit] = []
    if binders:
        name = file.fresh(f"{outer.name}_{name}")
        inside = set(walk(own))
        if any(use in inside for use in uses):
            raise NotOffered(f"`{own.name}` calls itself, and its name is taken")
        edits += [file.replace(use, name) for use in uses]
    lines = _dedented(file, own, first, last, indent)
    if name != own.name:
        head = own.lineno - first
        lines[head] = lines[head].replace(f"def {own.name}", f"def {name}", 1)
    gap = "\n" * file.blank_lines_above(lead)
    edits.append(TextEdit(file.path, (lead, 0), (lead, 0), "\n".join(lines) + "\n" + gap))
    while last < len(file.lines) and not file.lines[last].strip():
        last += 1  # the blank lines behind it go with it
    edits.append(TextEdit(file.path, (first, 0), (last + 1, 0), ""))
    return edits


def _dedented(file: SourceFile, own: FunctionNode, first: int, last: int, indent: str) -> list[str]:
    """The lines of a function as they are at the top of a module."""
    docstring = own.body[0] if ast.get_docstring(own, clean=False) is not None else None
    for node in walk(own):
        if not isinstance(node, (ast.JoinedStr, ast.Constant)) or node.lineno == node.end_lineno:
            continue
        if file.statement(node) is not docstring:
            raise NotOffered("a text over several lines would change")
    return [
        line.decode().removeprefix(indent).rstrip() if line.strip() else "" for line in file.lines[first - 1 : last]
    ]


REPAIR = Repair(
    code="HY816",
    name="nested-function-hoisted",
    removes=frozenset({"HY102"}),
    summary="A hybrid function that every call of another makes anew moves to the module, and is traced once.",
    details="""The graphs of a hybrid function belong to the object that `tf.function` makes. One that is defined
within another function starts without any at each call of that, and is traced again. Where it uses nothing of the
function around it, it can as well stand in front of it. Offered where it has no Python side effect, which each trace
would repeat.""",
    safety="""Safe where it reads no variable of the module but functions, classes and imports. What changes in another
is seen by a new graph only.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import time
import tensorflow as tf
def evaluate(batch):
    start = time.perf_counter()
    @tf.function
    def score(x):
        for _ in range(4):
            x = tf.tanh(x) + 0.1 * x
        return tf.reduce_sum(x)
    return score(batch)
for i in range(4):
    r = evaluate(tf.ones([3]) * float(i))
""",
            """\
import time
import tensorflow as tf
@tf.function
def score(x):
    for _ in range(4):
        x = tf.tanh(x) + 0.1 * x
    return tf.reduce_sum(x)
def evaluate(batch):
    start = time.perf_counter()
    return score(batch)
for i in range(4):
    r = evaluate(tf.ones([3]) * float(i))
""",
            function="score",
            output=True,
        ),
        RepairExample(
            """\
import time
import tensorflow as tf
w = tf.Variable(1.0)
class Trainer:
    def train(self, batch):
        start = time.perf_counter()
        y = batch + 1.0
        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(w * x - 1.0))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss
        return step(y)
trainer = Trainer()
for i in range(4):
    r = trainer.train(tf.ones([3]) * float(i))
""",
            """\
import time
import tensorflow as tf
w = tf.Variable(1.0)
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(w * x - 1.0))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
class Trainer:
    def train(self, batch):
        start = time.perf_counter()
        y = batch + 1.0
        return step(y)
trainer = Trainer()
for i in range(4):
    r = trainer.train(tf.ones([3]) * float(i))
""",
            function="step",
            output=True,
        ),
    ),
)
