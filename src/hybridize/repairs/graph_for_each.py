"""HY822: a function that meets several optimizers or models -> a graph of it in front of each loop that calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.domain.objects import Cell, Container, Heap, Inst, LibInst, Tup, Value
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.gain.benefit import Work
from hybridize.library.costs import TRACING
from hybridize.program.ir import Code
from hybridize.repairs.model import Cause, Change, NotOffered, Repair, RepairExample
from hybridize.repairs.source.bench import Bench, written_cells
from hybridize.repairs.source.edits import NewImport, TextEdit
from hybridize.repairs.source.text import SourceFile, start
from hybridize.source.bindings import bound_by
from hybridize.source.syntax import walk
from hybridize.tracing.views import position_of

#: A call in the text of its file.
_Call: TypeAlias = "tuple[SourceFile, ast.Call]"
_Loop: TypeAlias = ast.For | ast.While
_TENSORFLOW: Final = "tensorflow"


def propose(bench: Bench, cause: Cause) -> Iterator[Change]:
    """`tf.function(f)` in front of each loop that calls the function with the same objects in each turn."""
    own, code = bench.function_node(cause.function), cause.function
    file = bench.file(code.path)
    if own is None or file is None or isinstance(own, ast.AsyncFunctionDef) or cause.place != start(own):
        return
    if own.decorator_list or not isinstance(file.parents[own], ast.Module):
        raise NotOffered(f"`{own.name}` is no plain function of a module")
    found: dict[Code, list[_Call]] = {}
    for caller, pos in bench.direct_calls(code):
        call = bench.call_node(caller, pos, code)
        if call is None:
            raise NotOffered(f"a call of `{own.name}` is not clear")
        found.setdefault(caller, []).append(call)
    work = bench.benefits.work(bench.frames(code))
    makers = [_Maker(bench, caller, own.name, calls, work) for caller, calls in found.items() if _in_loops(calls)]
    if not makers:
        raise NotOffered("no loop calls it")
    edits = tuple(edit for maker in makers for edit in maker.edits())
    imports = tuple({new for maker in makers for new in maker.imports})
    spans = ((file.path, start(own), start(own.body[0])),)
    doubt = "each run of such a loop traces anew, and its calls are those of a graph"
    yield Change(edits, f"each loop that calls `{own.name}` makes a graph of it", doubt, imports, spans)


def _in_loops(calls: Sequence[_Call]) -> bool:
    return any(next(file.loops_around(call), None) is not None for file, call in calls)


class _Maker:
    """One function that calls another one in loops, and is to make graphs of it."""

    def __init__(self, bench: Bench, caller: Code, name: str, calls: Sequence[_Call], work: Work | None) -> None:
        self._bench, self._caller, self._calls, self._work = bench, caller, calls, work
        self._file = calls[0][0]
        if not isinstance(bench.function_node(caller), ast.FunctionDef):
            raise NotOffered(f"a loop that calls `{name}` is in no function, or in one of another kind")
        self._wanted = f"{name.removesuffix('_graph')}_graph"
        self.imports: tuple[NewImport, ...] = ()
        self._tensorflow = self._file.tensorflow or ""
        if not self._tensorflow:
            if "tf" in self._file.used:
                raise NotOffered(f"`tf` is something else in {self._file.path}")
            self._tensorflow, self.imports = "tf", (NewImport(self._file.path, _TENSORFLOW, "tf"),)

    def edits(self) -> Iterator[TextEdit]:
        """The graphs in front of the loops, one for each set of objects that is handed over, and the calls of them."""
        names: dict[tuple[_Loop, str, tuple[str, ...]], str] = {}
        for file, call in self._calls:
            owners = self._owners(call)
            loop = self._outermost(call, owners)
            if loop is None:
                continue  # called once: as before
            function, objects = file.source(call.func), tuple(file.source(each) for each in owners)
            name = names.get((loop, function, objects))
            if name is None:
                name = names[loop, function, objects] = self._fresh(len(names))
                made = file.before(loop, f"{name} = {self._tensorflow}.function({function})")
                if made is None:
                    raise NotOffered(f"line {loop.lineno} has something in front of the loop")
                yield made
            yield file.replace(call.func, name)

    def _fresh(self, number: int) -> str:
        return self._file.fresh(self._wanted if not number else f"{self._wanted}_{number + 1}")

    def _owners(self, call: ast.Call) -> list[ast.expr]:
        """The arguments that are objects with a state of their own: models, optimizers, metrics."""
        found = self._bench.argument_slots(self._file, call)
        if (
            found is None
            or any(isinstance(a, ast.Starred) for a in call.args)
            or any(k.arg is None for k in call.keywords)
        ):
            raise NotOffered(f"what is passed on line {call.lineno} is not clear")
        code, slots = found
        return [each for each, slot in slots.items() if _holds_objects(self._bench.values(code, slot))]

    def _outermost(self, call: ast.Call, owners: Sequence[ast.expr]) -> _Loop | None:
        """The outermost loop around a call in whose turns the objects stay the same; None for a call in no loop."""
        found: _Loop | None = None
        for loop in self._file.loops_around(call):
            if not all(self._is_fixed(owner, loop) for owner in owners):
                break
            found = loop
        if found is None:
            if next(self._file.loops_around(call), None) is not None:
                raise NotOffered(f"line {call.lineno} passes other objects in each turn")
            return None
        if not self._pays(call, found):
            raise NotOffered(f"the loop on line {found.lineno} does not pay for a trace")
        return found

    def _pays(self, call: ast.Call, loop: _Loop) -> bool:
        """Whether the calls in one run of a loop win back what a trace costs, as far as their number is known."""
        work = self._work
        saved = work.eager - work.graph if work is not None else 0.0
        if work is None or saved <= 0:
            return False
        counts, needed = self._bench.benefits.counts, TRACING * work.trace / saved
        frames = self._bench.frames(self._caller)
        return all(counts.between(frame, position_of(loop), position_of(call)) >= needed for frame in frames)

    def _is_fixed(self, owner: ast.expr, loop: _Loop) -> bool:
        """Whether an expression is the same object in each turn of a loop: a name, or a field that is written once."""
        bound = bound_by(loop.body) | bound_by([loop])
        while isinstance(owner, ast.Attribute):
            written = {n.attr for n in walk(loop) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
            if owner.attr in written or not self._is_kept(owner):
                return False
            owner = owner.value
        return isinstance(owner, ast.Name) and owner.id not in bound

    def _is_kept(self, field: ast.Attribute) -> bool:
        """Whether only constructors write a field, whatever object it is of."""
        owners = {o for o in self._bench.operand(self._file, field.value) if isinstance(o, Heap)}
        cells: list[Cell] = written_cells(owners, field.attr)
        return bool(cells) and all(code.name in CONSTRUCTORS for cell in cells for code, _ in cell.writes)


def _holds_objects(value: Value) -> bool:
    for obj in value:
        if isinstance(obj, (Inst, LibInst)):
            return True
        items = obj.items if isinstance(obj, Tup) else ()
        fields = [cell.value for cell in obj.fields.values()] if isinstance(obj, Container) else []
        if any(isinstance(o, (Inst, LibInst)) for part in (*items, *fields) for o in part):
            return True
    return False


REPAIR = Repair(
    code="HY822",
    name="graph-for-each",
    removes=frozenset({"HY256", "HY258", "HY259"}),
    summary="A function that meets several optimizers or models becomes a graph in front of each loop that calls it.",
    details="""Optimizers and models make their variables when they are first used, which one graph can do for the first
of them alone. Where each loop calls the function with the same objects in all its turns, the function that has the loop
makes a graph in front of it, `train_step_graph = tf.function(train_step)`, and calls that. Calls in no loop stay as
they are. Offered where the objects are names or fields that the loop does not bind anew, and the loop may pay for a
trace.""",
    safety="""Never safe: each run of such a loop traces the function again, and what it calls the function with are the
objects of the first turn, as far as is seen.""",
    propose=propose,
    examples=(
        RepairExample(
            """\
import tensorflow as tf
def train_step(w, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
def fit(optimizer, data):
    w = tf.Variable([[1.0], [2.0]])
    for epoch in range(50):
        for x in data:
            loss = train_step(w, optimizer, x)
    return float(loss)
data = tf.data.Dataset.from_tensor_slices(tf.ones([64, 2])).batch(8)
print(f"{fit(tf.keras.optimizers.Adam(0.1), data):.3f}")
print(f"{fit(tf.keras.optimizers.Adam(0.01), data):.3f}")
""",
            """\
import tensorflow as tf
def train_step(w, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, w)) - 1.0))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
def fit(optimizer, data):
    w = tf.Variable([[1.0], [2.0]])
    train_step_graph = tf.function(train_step)
    for epoch in range(50):
        for x in data:
            loss = train_step_graph(w, optimizer, x)
    return float(loss)
data = tf.data.Dataset.from_tensor_slices(tf.ones([64, 2])).batch(8)
print(f"{fit(tf.keras.optimizers.Adam(0.1), data):.3f}")
print(f"{fit(tf.keras.optimizers.Adam(0.01), data):.3f}")
""",
            output=True,
        ),
        RepairExample(
            """\
import tensorflow as tf
def learn(w, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(tf.tanh(x * w) - 0.5))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
class Agent:
    def __init__(self, rate):
        self.w = tf.Variable([1.0, 2.0])
        self.optimizer = tf.keras.optimizers.Adam(rate)
    def train(self, memory):
        return [float(learn(self.w, self.optimizer, x)) for x in memory[:1]] + self.rest(memory)
    def rest(self, memory):
        losses = []
        for x in memory:
            losses.append(float(learn(self.w, self.optimizer, x)))
        return losses
memory = [tf.ones([2]) * i for i in range(300)]
for agent in (Agent(0.1), Agent(0.01)):
    print(f"{agent.train(memory)[-1]:.3f}")
""",
            """\
import tensorflow as tf
def learn(w, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(tf.tanh(x * w) - 0.5))
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
class Agent:
    def __init__(self, rate):
        self.w = tf.Variable([1.0, 2.0])
        self.optimizer = tf.keras.optimizers.Adam(rate)
    def train(self, memory):
        return [float(learn(self.w, self.optimizer, x)) for x in memory[:1]] + self.rest(memory)
    def rest(self, memory):
        losses = []
        learn_graph = tf.function(learn)
        for x in memory:
            losses.append(float(learn_graph(self.w, self.optimizer, x)))
        return losses
memory = [tf.ones([2]) * i for i in range(300)]
for agent in (Agent(0.1), Agent(0.01)):
    print(f"{agent.train(memory)[-1]:.3f}")
""",
            output=True,
        ),
    ),
)
