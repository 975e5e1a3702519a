"""HY818: a training step written into a loop -> a function in front of the loop."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from hybridize.domain.objects import Inst, LibInst, Obj, Tensor
from hybridize.domain.tensors import NDARRAY, VARIABLE
from hybridize.program.ir import Code
from hybridize.records import replace
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.moving.drawing import draws_in
from hybridize.repairs.moving.extraction import Part, beside, extract, in_front
from hybridize.repairs.moving.loop_behind import Behind, flat, is_tape
from hybridize.repairs.moving.loop_outside import Mover, Outside
from hybridize.repairs.moving.parts import eager_lines, lines_of_effects, lines_of_stuck, runs, stays, work_by_line
from hybridize.repairs.moving.step_parts import divided
from hybridize.repairs.moving.unchanged import doubts
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.edits import TextEdit
from hybridize.repairs.source.names import names_in
from hybridize.repairs.source.text import FunctionNode, SourceFile, applied, difference, end, start
from hybridize.source.bindings import bound_in, reads
from hybridize.source.syntax import walk

#: The kinds of tensors that are data.
_DATA = ("dense", NDARRAY)


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """The statements of the step that HY110 suggests, and what computes right behind and before it."""
    file = bench.file(cause.path)
    if file is None or cause.hit is None or file.tensorflow is None:
        return
    first, last = cause.line, (cause.hit.end or cause.hit.position) >> 16
    body = _body(file, first, last)
    loop = next(file.loops_around(body[0]), None) if body else None
    if loop is None:
        return
    scope = next((n for n in file.around(loop) if isinstance(n, (FunctionNode, ast.Lambda, ast.ClassDef))), file.tree)
    if isinstance(scope, (ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef)):
        return
    if isinstance(scope, ast.Module) and not bench.is_script(file.path):
        raise NotOffered("other modules may use its variables")
    here = _step(bench, file, cause.function, body, first, last)
    made, edits, sure = _extracted(bench, cause.function, file, here)
    if here.file is not file:  # something was moved first
        lines = applied(here.file.lines, edits).encode().split(b"\n")
        edits = (difference(file.path, file.lines, lines),)
    doubt = "the step moves out of its loop, and what only it needs is no longer a variable around it"
    if here.asked:
        doubt += f"; what is asked of {', '.join(f'`{name}`' for name in here.asked)} is asked after the update"
    if here.interrupted:
        doubt += "; the gradients are computed before what interrupts the step"
    spans = ((file.path, start(loop), end(loop)),)
    says = f"`{made}` holds the training step of the loop"
    yield Change(edits, says, None if sure and not here.asked and not here.shuffled else doubt, spans=spans, makes=made)


def _extracted(bench: Bench, code: Code, file: SourceFile, here: Outside) -> tuple[str, tuple[TextEdit, ...], bool]:
    """The qualified name of the step, the edits that make it, and a part that comes later, functions; if it is sure."""
    part = _part(bench, code, here.file, here.block)
    method = code if part.receiver else None
    private = "_" if method else ""  # a base class may have such a method
    name = bench.fresh(here.file, f"{private}train_step", method)
    made = extract(part, name)
    names, edits = [name], made.edits
    sure = next(doubts(bench, file, part, made), None) is None
    if here.back:
        names.append(bench.fresh(here.file, f"{private}update_step", method))
        update = _part(bench, code, here.file, here.back)
        more = extract(replace(update, follows=update.before is part.before), names[-1])
        edits = (*more.edits, *edits)
        sure = sure and next(doubts(bench, file, update, more), None) is None
    bench.promise(here.file, *names, method=method)
    return made.qualname, edits, sure


def _part(bench: Bench, code: Code, file: SourceFile, block: tuple[ast.stmt, ...]) -> Part:
    """Some statements of a loop as the part that becomes a function: beside theirs, or else in front of the loop."""
    scope = _scope(file, block[0])
    shared = _shared(bench, code, file, block)
    if isinstance(scope, FunctionNode) and bench.has_several_calls(code) and not shared & _assigned(scope):
        return beside(file, scope, block)  # within it each call would trace anew
    part = in_front(file, scope, block, shared)
    return replace(part, fixed=part.fixed - _data(bench, code, part)) if isinstance(scope, ast.Module) else part


def _scope(file: SourceFile, statement: ast.stmt) -> FunctionNode | ast.Module:
    """The function, or else the module, that a statement is in."""
    return next((n for n in file.around(statement) if isinstance(n, FunctionNode)), file.tree)


def _assigned(scope: FunctionNode) -> frozenset[str]:
    """The variables of a function that are no parameters."""
    return bound_in(scope) - {each.arg for each in walk(scope.args) if isinstance(each, ast.arg)}


def _shared(bench: Bench, code: Code, file: SourceFile, block: tuple[ast.stmt, ...]) -> set[str]:
    """The names by which a step knows what has state (models, optimizers, variables): each is to have its own graph."""
    value = Mover(bench, file, code, frozenset()).value
    return {name for name in reads(block).needed if any(map(_has_state, value(name)))}


def _has_state(obj: Obj) -> bool:
    return isinstance(obj, (Inst, LibInst)) or (isinstance(obj, Tensor) and obj.kind == VARIABLE)


def _body(file: SourceFile, first: int, last: int) -> list[ast.stmt]:
    """The block, of a loop or of a condition in one, whose own statements stand on some lines."""
    for node in file.nodes:
        if not isinstance(node, (ast.For, ast.While, ast.If)):
            continue
        for block in (node.body, node.orelse):
            lines = [(s.lineno, end(s)[0]) for s in block]
            if any(a == first for a, _ in lines) and any(b == last for _, b in lines):
                return block
    return []


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


def _step(bench: Bench, file: SourceFile, code: Code, body: list[ast.stmt], first: int, last: int) -> Outside:
    """The statements of the step, with those around it that compute and have no effect on Python.

    Where counters or effects stand among them, the file without these: in front of the step, or behind it.
    """
    loops = list(file.loops_around(body[0]))
    draws = draws_in(bench, code)
    counters = frozenset().union(*map(_counters, loops))
    mover = Mover(bench, file, code, counters, draws)
    stuck = lines_of_effects(bench, code, loops[0].lineno, end(loops[0])[0], draws) | eager_lines(body, mover.value)
    stuck |= lines_of_stuck(bench, code, draws)
    effects = stuck | {position >> 16 for position in draws}
    uses = {n.lineno for s in body for n in walk(s) if isinstance(n, ast.Name) and n.id in counters}
    work = work_by_line(bench, code)
    block = _run(body, effects | uses, work, first, last)
    if block is not None:
        return Outside(file, block)
    inside = set(range(first, last + 1))
    joint = {line for s in body if is_tape(s) for line in range(s.lineno, end(s)[0] + 1)} | inside
    found = [
        _run(body, (effects - _of_tapes(body, lines)) | (uses - lines), work, first, last) for lines in (joint, inside)
    ]
    block = found[1] or tuple(s for s in body if s.lineno >= first and end(s)[0] <= last)
    for each in dict.fromkeys((found[0] or block, block)):  # with the steps beside it, or else alone
        whole = _whole(mover, each, stuck, effects, work)
        if whole is not None:
            return whole

    def wait(some: Sequence[ast.stmt], gradients: Sequence[ast.stmt] = ()) -> Behind:
        return mover.behind(some, effects | uses, work, gradients)

    later = wait(block)
    amid = any(s not in later.late and stays(s, effects) for s in flat(block))
    parts = divided(file, block, effects, work, wait, unasked=True) if amid or later.asked else None
    if parts is not None and not amid and (not parts.back or _names(*parts.front, *parts.back) & counters):
        parts = None  # what is asked after the update costs less, and numbers of counters would have to come in front
    elif parts is None and amid:
        parts = divided(file, block, effects, work, wait)
    if parts is not None:
        return Outside(parts.file, parts.front, parts.asked, parts.back, interrupted=True)
    return mover.move(block, effects | uses, work) or Outside(file, block)


def _whole(
    mover: Mover,
    block: tuple[ast.stmt, ...],
    stuck: Collection[int],
    effects: Collection[int],
    work: Mapping[int, float],
) -> Outside | None:
    """The step, its update included, where what cannot be in a graph comes in front or behind and nobody can tell.

    `stuck` are the lines that cannot be in a graph but for what they draw.
    """
    moved, later = mover.move(block, effects, work), mover.behind(block, effects, work)
    if moved is None or moved.shuffled or later.asked or _names(*moved.block) & mover.counters:
        return None
    left = [s for s in flat(block) if s not in later.late]
    return moved if mover.draws_early(block, later.late) and not any(stays(s, stuck) for s in left) else None


def _names(*block: ast.stmt) -> set[str]:
    return {name for statement in block for name in names_in(statement)}


def _of_tapes(body: Sequence[ast.stmt], inside: set[int]) -> set[int]:
    """The lines of the blocks that a tape records, within some lines."""
    return inside & {line for s in body if is_tape(s) for line in range(s.lineno, end(s)[0] + 1)}


def _run(
    body: Sequence[ast.stmt], blocked: set[int], work: Mapping[int, float], first: int, last: int
) -> tuple[ast.stmt, ...] | None:
    for run in runs(body, blocked, work):
        if run.block[0].lineno <= first and end(run.block[-1])[0] >= last and run.block[0] in body:
            return run.block
    return None


REPAIR = Repair(
    code="HY818",
    name="training-step-extracted",
    removes=frozenset({"HY110"}),
    summary="A training step in the body of a loop becomes a function in front of the loop.",
    details="""Where a script has its forward pass, gradients and updates in the loop itself, among printing and
collecting, nothing can be decorated. The statements of the step become a function `train_step` right before the
outermost loop in which model and optimizer are the same: a loop that makes a model in each round gets a step in each
round. It takes what the loops bind (the batch) and returns what is used later (the loss); the model, the optimizer and
whatever else is bound once before stay variables from outside. Each loop of a function may have a step, and a condition
in a loop, too. In functions that are called again and again the step becomes a function beside them, where it works on
what they are given.

Python numbers that come of loop counters (`0.99 ** epoch`, `i < 10`), or the tensors that TensorFlow makes of them, are
computed in front of the step and passed, and so are random numbers that a graph would not draw, of NumPy or by the
global seed alone, by a function that does nothing else, too. Steps that stand behind one another (of a generator and a
discriminator) become one where that hinders none. What only shows, counts, saves
or collects comes behind the step, wherever it stands in it. Where Python decides amid the step (`if np.isnan(loss):
continue`, an update every fourth time), or asks for something that the update changes (`print(w.numpy())`), it becomes
two: what comes before, with the gradients, and the update.""",
    safety="""Safe in programs and notebooks (not in what libraries offer) where the step does the same things in the
same order, returns whatever is read later, and nobody else can see its variables: no function that reads them, no
handler around it that goes on after half of it, nobody who asks for variables by name. What comes behind the step must
not ask for anything that the step may change, nor for the clock or random numbers; what it shows is missing where the
rest of the step raises. Else what only the step needs is no longer a variable around it; what is moved before or behind
the step is told.""",
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
        RepairExample(
            """\
import math
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
losses = []
for step in range(60):
    x = tf.random.stateless_normal([4, 2], [1, step]) / float(step % 7 > 0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
        losses.append(float(loss))
    if math.isnan(losses[-1]):
        print("skipped step", step)
        continue
    gradients = tape.gradient(loss, [w])
    gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, [w]))
print(f"loss {losses[-1]:.4f}")
""",
            """\
import math
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
optimizer = tf.keras.optimizers.SGD(0.1)
losses = []


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    gradients = tape.gradient(loss, [w])
    return loss, gradients


@tf.function
def update_step(gradients):
    gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
    optimizer.apply_gradients(zip(gradients, [w]))


for step in range(60):
    x = tf.random.stateless_normal([4, 2], [1, step]) / float(step % 7 > 0)
    loss, gradients = train_step(x)
    losses.append(float(loss))
    if math.isnan(losses[-1]):
        print("skipped step", step)
        continue
    update_step(gradients)
print(f"loss {losses[-1]:.4f}")
""",
            function="train_step",
            output=True,
            changed=("gradients", "norm", "tape"),
        ),
    ),
    order=20,
)
