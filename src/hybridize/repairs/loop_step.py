"""HY818: a training step written into a loop -> a function in front of the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import NDARRAY
from hybridize.program.ir import Code
from hybridize.records import replace
from hybridize.repairs.bench import Bench
from hybridize.repairs.extraction import Part, extract, in_front
from hybridize.repairs.flow_of_names import reads
from hybridize.repairs.loop_behind import is_tape
from hybridize.repairs.loop_outside import Mover, Outside, applied, difference
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.names import bound_in
from hybridize.repairs.parts import eager_lines, lines_of_effects, lines_of_stuck, runs, work_by_line
from hybridize.repairs.text import FunctionNode, SourceFile, end, start
from hybridize.source.syntax import walk

#: The kinds of tensors that are data.
_DATA = ("dense", NDARRAY)


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The statements of the step that HY110 suggests, and what computes right behind and before it."""
    file = bench.file(cause.path)
    if file is None or cause.hit is None or file.tensorflow is None:
        return
    first, last = cause.line, (cause.hit.end or cause.hit.position) >> 16
    loop = _loop(file, first, last)
    if loop is None:
        return
    scope = next((n for n in file.around(loop) if isinstance(n, (FunctionNode, ast.Lambda, ast.ClassDef))), file.tree)
    if isinstance(scope, (ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef)):
        return
    if isinstance(scope, ast.Module) and not bench.is_script(file.path):
        raise NotOffered("other modules may use its variables")
    if isinstance(scope, FunctionNode) and bench.is_called_again(cause.function):
        raise NotOffered(f"`{scope.name}` is called again and again: each call would trace anew")
    here = _step(bench, file, cause.function, loop, first, last)
    name = file.fresh("train_step")
    inner = _scope(here.file, here.loop)
    part = in_front(here.file, inner, here.block)
    if isinstance(inner, ast.Module):
        part = replace(part, fixed=part.fixed - _data(bench, cause.function, part))
    made = extract(part, name)
    edits = made.edits
    if here.file is not file:  # what Python keeps was moved away first
        lines = applied(here.file.lines, edits).encode().split(b"\n")
        edits = (difference(file.path, file.lines, lines),)
    doubt = "the step moves out of its loop, and what only it needs is no longer a variable around it"
    if here.asked:
        doubt += f"; what is asked of {', '.join(f'`{name}`' for name in here.asked)} is asked after the update"
    spans = ((file.path, start(loop), end(loop)),)
    yield Change(edits, f"`{name}` holds the training step of the loop", doubt, spans=spans, makes=made.qualname)


def _scope(file: SourceFile, loop: ast.stmt) -> FunctionNode | ast.Module:
    """The function, or else the module, that a loop is in."""
    return next((n for n in file.around(loop) if isinstance(n, FunctionNode)), file.tree)


def _loop(file: SourceFile, first: int, last: int) -> ast.For | ast.While | None:
    """The innermost loop whose own block has the statements of some lines."""
    for node in file.nodes:
        if isinstance(node, (ast.For, ast.While)):
            lines = [(s.lineno, end(s)[0]) for s in node.body]
            if any(a == first for a, _ in lines) and any(b == last for _, b in lines):
                return node
    return None


def _data(bench: Bench, code: Code, part: Part) -> set[str]:
    """The tensors and arrays of the module that the step reads, where no loop gives it any: a whole data set, say."""
    needed = reads(part.block).needed
    if needed & bound_in(part.scope) - part.fixed:
        return set()
    found: set[str] = set()
    for frame in bench.frames(code):
        for name in needed & part.fixed:
            cell = frame.module.fields.get(name)
            if cell is not None and cell.value and all(isinstance(o, Tensor) and o.kind in _DATA for o in cell.value):
                found.add(name)
    return found


def _counters(loop: ast.stmt) -> set[str]:
    """The variables of a loop that are another Python number in each round: of `range`, `enumerate`, or counted up."""
    found = {
        n.target.id
        for n in getattr(loop, "body", ())
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and isinstance(n.value, ast.Constant)
    }
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Name):
        return found
    target = loop.target
    if loop.iter.func.id == "enumerate" and isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    elif loop.iter.func.id != "range":
        return found
    return found | ({target.id} if isinstance(target, ast.Name) else set())


def _step(bench: Bench, file: SourceFile, code: Code, loop: ast.For | ast.While, first: int, last: int) -> Outside:
    """The statements of the step, with those around it that compute and have no effect on Python.

    Where counters or effects stand among them, the file without these: in front of the step, or behind it.
    """
    effects = lines_of_effects(bench, code, loop.lineno, end(loop)[0]) | eager_lines(loop.body)
    effects |= lines_of_stuck(bench, code)
    counters = frozenset().union(*(_counters(each) for each in (loop, *file.loops_around(loop))))
    uses = {n.lineno for s in loop.body for n in walk(s) if isinstance(n, ast.Name) and n.id in counters}
    work = work_by_line(bench, code)
    block = _run(loop, effects | uses, work, first, last)
    if block is not None:
        return Outside(file, loop, block)
    inside = set(range(first, last + 1))
    block = _run(loop, (effects - _of_tapes(loop, inside)) | (uses - inside), work, first, last)
    if block is None:
        block = tuple(s for s in loop.body if s.lineno >= first and end(s)[0] <= last)
    moved = Mover(bench, file, code, counters).move(loop, block, effects | uses, work) if block else None
    return moved or Outside(file, loop, block)


def _of_tapes(loop: ast.For | ast.While, inside: set[int]) -> set[int]:
    """The lines of the blocks that a tape records, within some lines."""
    tapes = [s for s in loop.body if is_tape(s)]
    return inside & {line for tape in tapes for line in range(tape.lineno, end(tape)[0] + 1)}


def _run(
    loop: ast.For | ast.While, blocked: set[int], work: Mapping[int, float], first: int, last: int
) -> tuple[ast.stmt, ...] | None:
    for run in runs(loop.body, blocked, work):
        if run.block[0].lineno <= first and end(run.block[-1])[0] >= last and run.block[0] in loop.body:
            return run.block
    return None


REPAIR = Repair(
    code="HY818",
    name="training-step-extracted",
    removes=frozenset({"HY110"}),
    summary="A training step in the body of a loop becomes a function in front of the loop.",
    details="""Where a script has its forward pass, gradients and updates in the loop itself, among printing and
collecting, nothing can be decorated. The statements of the step become a function `train_step` right before the
outermost loop. It takes what the loops bind (the batch) and returns what is used later (the loss); the model, the
optimizer and whatever else is bound once before stay variables from outside. Python numbers that come of loop counters
(`0.99 ** epoch`, `i < 10`) are computed in front of the step and passed; what only shows, counts, saves or collects
comes behind the step, wherever it stands in it. Offered in scripts, and in functions that are called once.""",
    safety="""Never safe, but only in that it changes the shape of the code: the step moves out of its loop, and what
only it needs is no longer a variable around it.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.from_tensor_slices((tf.ones([40, 2]), tf.ones([40, 1]))).batch(4)
losses = []
for x, y in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - y))
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
    losses.append(float(loss))
print(f"loss {losses[-1]:.4f}")
""",
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
data = tf.data.Dataset.from_tensor_slices((tf.ones([40, 2]), tf.ones([40, 1]))).batch(4)
losses = []

@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - y))
    gradients = tape.gradient(loss, [w])
    optimizer.apply_gradients(zip(gradients, [w]))
    return loss

for x, y in data:
    loss = train_step(x, y)
    losses.append(float(loss))
print(f"loss {losses[-1]:.4f}")
""",
            function="train_step",
            output=True,
            changed=("gradients", "tape"),
        ),
        RepairExample(
            """\
import tensorflow as tf
def main(steps):
    w = tf.Variable([[1.0], [2.0]])
    rate = 0.1
    for step in range(steps):
        x = tf.random.stateless_normal([4, 2], [1, step])
        y = tf.reduce_sum(x, axis=1, keepdims=True)

        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(rate * tape.gradient(loss, w))
        for _ in range(3):
            w.assign(tf.clip_by_norm(w, 3.0))

        if step % 10 == 0:
            print(step, float(loss))
    return w.numpy()
r = main(40)
""",
            """\
import tensorflow as tf
def main(steps):
    w = tf.Variable([[1.0], [2.0]])
    rate = 0.1

    @tf.function
    def train_step(x):
        y = tf.reduce_sum(x, axis=1, keepdims=True)

        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(rate * tape.gradient(loss, w))
        for _ in range(3):
            w.assign(tf.clip_by_norm(w, 3.0))
        return loss

    for step in range(steps):
        x = tf.random.stateless_normal([4, 2], [1, step])
        loss = train_step(x)

        if step % 10 == 0:
            print(step, float(loss))
    return w.numpy()
r = main(40)
""",
            function="main.train_step",
            output=True,
        ),
    ),
    order=20,
)
