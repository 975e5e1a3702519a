"""HY817: a function that computes and then logs, counts or collects -> its computation as a function of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from hybridize.domain.objects import Inst, LibInst, Tensor
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.model import Ternary
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.moving.extraction import Extracted, beside, extract
from hybridize.repairs.moving.parts import is_step, lines_of_causes, runs, total_work, work_by_line
from hybridize.repairs.moving.unchanged import doubts
from hybridize.repairs.source.bench import Bench
from hybridize.repairs.source.text import FunctionNode, SourceFile, end, start
from hybridize.source.bindings import bound_in, reads
from hybridize.source.syntax import walk
from hybridize.tracing.views import FunctionView

#: The share of a function's operations that its part must hold, and how many these are at least (loops counted).
_MOST_OF_IT = 0.75
_LEAST = 6.0
#: Functions with fewer operations than this in their text are not looked at.
_FEW = 3


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """Nothing: no cause by itself asks for it."""
    return iter(())


def whole(bench: Bench, function: FunctionView, causes: Sequence[Cause]) -> Change:
    """The statements in a row that no cause stands in, if they are most of what the function computes."""
    work = work_by_line(bench, function.code)
    if sum(work.values()) < _FEW:
        raise NotOffered("it computes next to nothing")
    if function.facts.covered_by_hybrid_callers.value is Ternary.YES:
        raise NotOffered("it runs inside of graphs")
    if _has_graphs(bench, function):
        raise NotOffered("a part of it is a graph already")
    own, file = bench.function_node(function.code), bench.file(function.code.path)
    if own is None or file is None or isinstance(own, ast.AsyncFunctionDef):
        raise NotOffered("it is no plain function")
    blocked = lines_of_causes(bench, function.code, own, causes)
    if blocked is None:
        raise NotOffered("what is in the way has no place in it")
    found = [run for run in runs(own.body, blocked, work) if not _cuts_tape(own, run.block)]
    best = max(found, key=lambda run: run.work, default=None)
    if best is not None and best.work >= max(_LEAST, _MOST_OF_IT * total_work(own.body, work)):
        blocks = [best.block]
    else:
        steps = (run.block for run in found if run.work >= _LEAST and is_step(bench, function.code, run.block))
        blocks = [_unconditioned(block) for block in steps]
    for block in blocks:
        if len(block) == 1 and isinstance(block[0], (ast.Assign, ast.Expr, ast.AnnAssign)):
            raise NotOffered("its computation is a function already")
        made_here = _made_at_each_call(bench, function, file, own, block)
        if made_here is not None:
            raise NotOffered(f"each call makes `{made_here}`, and would be traced anew")
    if not blocks:
        raise NotOffered("what is in the way stands amid the computation")
    return _change(bench, function, file, own, blocks)


def _unconditioned(block: tuple[ast.stmt, ...]) -> tuple[ast.stmt, ...]:
    """A part without a condition that is around all of it."""
    while len(block) == 1 and isinstance(block[0], ast.If) and not block[0].orelse:
        block = tuple(block[0].body)
    return block


def _change(
    bench: Bench, function: FunctionView, file: SourceFile, own: FunctionNode, blocks: Sequence[tuple[ast.stmt, ...]]
) -> Change:
    """Each of some parts of a function becomes a function."""
    said = f"What `{own.name}` computes, as a graph." if ast.get_docstring(own) is not None else ""
    extracted: list[Extracted] = []
    names: list[str] = []
    doubt = f"the computation moves out of `{own.name}`, into a function of its own"
    sure = all(is_step(bench, function.code, block) for block in blocks)
    for block in blocks:
        part = beside(file, own, block)
        method = function.code if part.receiver else None
        names.append(bench.fresh(file, f"_{own.name.strip('_').removesuffix('_graph')}_graph", method))
        extracted.append(extract(part, names[-1], said))
        bench.promise(file, names[-1], method=method)
        sure = sure and next(doubts(bench, file, part, extracted[-1]), None) is None
    edits = tuple(edit for each in extracted for edit in each.edits)
    spans = ((file.path, start(own), end(own)),)
    hold = "holds" if len(names) == 1 else "and so on hold"
    says = f"`{names[0]}` {hold} what `{own.name}` computes"
    return Change(edits, says, None if sure else doubt, spans=spans, makes=extracted[0].qualname)


def _has_graphs(bench: Bench, function: FunctionView) -> bool:
    """Whether a function calls hybrid functions of the project: it is not divided again and again."""
    hybrids = bench.project.solution.world.hybrids
    extents = bench.project.extents
    return any(callee.code in hybrids for frame in function.frames for _, callee, _ in extents.calls(frame))


def _made_at_each_call(
    bench: Bench, function: FunctionView, file: SourceFile, own: FunctionNode, block: Sequence[ast.stmt]
) -> str | None:
    """A variable or object that the function makes and its part takes: a graph is kept for each of them."""
    for name in sorted(reads(block).needed & bound_in(own)):
        for node in file.bound.get(name, ()):
            statement = file.statement(node)
            if own not in file.around(statement) or statement in block or not isinstance(statement, ast.Assign):
                continue
            value = bench.stored(function.code, statement) if isinstance(statement.value, ast.Call) else ()
            if any(isinstance(o, (Inst, LibInst)) or (isinstance(o, Tensor) and o.kind == VARIABLE) for o in value):
                return name
    return None


def _cuts_tape(own: FunctionNode, block: Sequence[ast.stmt]) -> bool:
    """Whether a gradient tape is opened on one side of a border and used on the other: it would record nothing."""
    inside = {n for statement in block for n in walk(statement)}
    opened: dict[str, list[ast.With]] = {}
    for node in (n for n in walk(own) if isinstance(n, ast.With)):
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name) and "GradientTape" in ast.unparse(item.context_expr):
                opened.setdefault(item.optional_vars.id, []).append(node)
    for use in walk(own):
        if isinstance(use, ast.Name) and use.id in opened:
            tapes = [tape for tape in opened[use.id] if start(tape) <= start(use)]
            if any((tape in inside) != (use in inside) for tape in sorted(tapes, key=start)[-1:]):
                return True
    return False


REPAIR = Repair(
    code="HY817",
    name="graph-part-extracted",
    removes=frozenset(),
    summary="What a function computes becomes a function of its own; what logs, counts and collects stays in Python.",
    details="""A training step often ends in `losses.append(loss.numpy())`, a counter, a progress bar, a message. None
of them can be in a graph, the computation before them can. The statements in a row that hold most of the operations and
nothing that is in the way become a function `_step_graph`, which takes the variables that it reads and returns those
that are used later. Where no row holds most of them, each that computes gradients and applies them does (an agent
trains two networks, and counts in between). Everything else stays as it was, so that the results, the output and the
state are the same. Tried where the repairs of single causes are not enough.""",
    safety="""Safe for training steps in programs and notebooks (not in what libraries offer), where nobody can see a
difference, as for HY818: no function that reads the variables of the step, no handler around it that goes on after
half of it, nobody who asks for variables by name. Else it waits for a person, but only in that it changes the shape of
the code: the computation moves into a function of its own.""",
    propose=propose,
    whole=whole,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []
def train_step(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    losses.append(loss.numpy())  # for the plot
    if len(losses) % 5 == 0:
        print(f"step {len(losses)}: {losses[-1]:.3f}")
for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
""",
            """\
import tensorflow as tf
w = tf.Variable([[1.0], [2.0]])
losses = []
def train_step(x, y):
    loss = _train_step_graph(x, y)
    losses.append(loss.numpy())  # for the plot
    if len(losses) % 5 == 0:
        print(f"step {len(losses)}: {losses[-1]:.3f}")
@tf.function
def _train_step_graph(x, y):
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss
for _ in range(10):
    train_step(tf.ones([4, 2]), tf.ones([4, 1]))
""",
            function="_train_step_graph",
            output=True,
        ),
        RepairExample(
            """\
import time
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
        self.history = {"loss": []}
    def step(self, x, y):
        started = time.time()
        # forward and backward
        with tf.GradientTape() as tape:
            predictions = tf.matmul(x, self.w)
            loss = tf.reduce_mean(tf.square(predictions - y))
        gradient = tape.gradient(loss, self.w)
        for _ in range(3):
            gradient = tf.clip_by_norm(gradient, 1.0) * 0.9
        self.w.assign_sub(0.1 * gradient)
        self.history["loss"].append(float(loss))
        self.seconds = time.time() - started
        return predictions.numpy()
trainer = Trainer()
for _ in range(10):
    r = trainer.step(tf.ones([4, 2]), tf.ones([4, 1]))
del trainer.seconds
""",
            """\
import time
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable([[1.0], [2.0]])
        self.history = {"loss": []}
    def step(self, x, y):
        started = time.time()
        predictions, loss = self._step_graph(x, y)
        self.history["loss"].append(float(loss))
        self.seconds = time.time() - started
        return predictions.numpy()
    @tf.function
    def _step_graph(self, x, y):
        # forward and backward
        with tf.GradientTape() as tape:
            predictions = tf.matmul(x, self.w)
            loss = tf.reduce_mean(tf.square(predictions - y))
        gradient = tape.gradient(loss, self.w)
        for _ in range(3):
            gradient = tf.clip_by_norm(gradient, 1.0) * 0.9
        self.w.assign_sub(0.1 * gradient)
        return predictions, loss
trainer = Trainer()
for _ in range(10):
    r = trainer.step(tf.ones([4, 2]), tf.ones([4, 1]))
del trainer.seconds
""",
            function="Trainer._step_graph",
            output=True,
        ),
    ),
    order=90,
)
