"""HY102: a hybrid function that is made anew at every call or iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import REPEATED, SEEN
from hybridize.domain.objects import Bound, Container, Func, Inst, Lib, LibInst, Unknown, Value, Wrapper
from hybridize.facts.calls.work import Counts, staged
from hybridize.facts.origins import call_at
from hybridize.flow.frames import Frame
from hybridize.library.costs import ITERATIONS, REPEATING
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.harm.witness import is_traced
from hybridize.tracing.hybridized import places
from hybridize.tracing.retraced.lifetimes import lifetimes, made_for_calls
from hybridize.tracing.running.loops import runs_often
from hybridize.tracing.state.staleness import extent_of
from hybridize.tracing.values import uses
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: So many calls pay for a trace: then it is told, and no more.
_PAYS: Final = 8.0
#: So many win back a trace whatever it is of: then there is nothing to tell.
_WON_BACK: Final = 200.0
#: So many calls for each object don't, as they are counted where one loop of unknown length makes them.
_ENDURES: Final = ITERATIONS + 1.0
#: How many arguments `setattr` has.
_SET: Final = 3
#: What draws samples, or goes down a slope, many times in one call.
_CHAINS: Final = ("tensorflow_probability.mcmc.", "tensorflow_probability.optimizer.", "tensorflow_probability.vi.")
#: What wants a hybrid function to write it down, and calls it no more.
_EXPORTS: Final = ("tf.saved_model.save", "keras.Model.save", "keras.saving.save_model")


def scan(function: FunctionView) -> Iterator[Hit]:
    """`tf.function` is applied in a loop, or in a function that runs often and does not keep the result."""
    if not function.is_hybrid:
        made = made_for_calls(function)
        if made is not None:
            yield Hit(function.code.position, "is made anew for each call: each would be traced", evidence=made)
        return
    for where, pos in places(function):
        frames = [f for f in function.project.solution.frames.get(where, ()) if not f.gone]
        if frames and all(is_traced(function.project, frame) for frame in frames):
            continue  # once for each trace of the graph around it, whose part it becomes
        if where.is_class or (not where.is_module and _is_exported(function.project, frames, function.code)):
            continue
        often = _calls_of_each(function, where, pos)
        if often >= _WON_BACK:
            continue
        wasted = often < _PAYS and _is_wasted(function, frames, pos)
        level = None if wasted and not any(_is_of_new(function, frame) for frame in frames) else Level.INFO
        if pos in index_of(where).looped:
            if not _is_kept(function.project, frames, function.code):
                said = "`tf.function` is applied in each iteration, and each is traced anew: apply it before the loop"
                yield Hit(pos, said, path=where.path, level=level)
        elif not where.is_module and any(map(_is_called_often, frames)):
            if _is_kept(function.project, frames, function.code) and not _is_dropped(function, frames):
                continue
            said = f"`tf.function` is applied at each call of `{where.name}`, and each is traced anew: keep its result"
            yield Hit(pos, said, path=where.path, level=level)


def _is_wasted(function: FunctionView, frames: list[Frame], pos: int) -> bool:
    """Whether the program is seen to make it more than a few times, for a few calls each, and outside of graphs."""
    calls = [(caller, at) for caller, at, _ in function.called_by(SEEN)]
    if any(function.called_by(REPEATED)):
        return False  # what a data set or a graph is given is traced once for each of them in any case
    if any(_is_handed(frame, function.code) for frame in frames):
        return False
    seen = _run_eagerly(function.project)  # callers that nobody sees may have a graph around it
    made = [(frame, pos) for frame in frames if frame in seen and not is_traced(function.project, frame)]
    return bool(made) and not _goes_on(function) and lifetimes(function.project).is_seen_short(calls, made, _ENDURES)


def _run_eagerly(project: ProjectView) -> set[Frame]:
    """What programs are seen to run outside of graphs."""
    hybrids = project.solution.world.hybrids

    def find() -> set[Frame]:
        bodies = project.solution.world.module_frames.values()
        return set(closure(bodies, lambda frame: [c for _, c in frame.calls if c.code not in hybrids]))

    return project.shared("runs eagerly", find)


def _is_of_new(function: FunctionView, frame: Frame) -> bool:
    """Whether a function works on an object made beside it, as a model, or on the one of this turn of a loop: the next
    one needs a graph of its own.
    """
    index, free = index_of(frame.code), function.code.free
    return any(
        instr.name in free
        and (
            (isinstance(index.source(instr.value), ir.Call) and _is_object(frame.vals[instr.value]))
            or (isinstance(index.source(instr.value), ir.Iter) and _is_used_as_object(function, frame, instr))
        )
        for instr in index.of(ir.SetCell)
    )


def _is_object(value: Value | None) -> bool:
    return any(isinstance(o, (Inst, LibInst, Unknown)) for o in value or ())


def _is_used_as_object(function: FunctionView, frame: Frame, instr: ir.SetCell) -> bool:
    """Whether a captured variable holds objects, or what the function calls: nothing that a tensor could bring."""
    value = frame.vals[instr.value] or ()
    if any(isinstance(o, (Inst, LibInst, Func, Bound)) for o in value):
        return True
    index = index_of(function.code)
    called = {index.original(call.function) for call in index.of(ir.Call)}
    read = [cell for cell in index.of(ir.Cell) if cell.name == instr.name]
    return any(isinstance(o, Unknown) for o in value) and any(cell.target in called for cell in read)


def _is_handed(frame: Frame, code: Code) -> bool:
    """Whether a library function is given the function, which calls it as often as it likes: for each element."""
    for instr in index_of(frame.code).of(ir.Call):
        library = any(isinstance(o, Lib) and o.name != "tf.function" for o in frame.vals[instr.function] or ())
        if library and any(_holds(frame.vals[slot], code) for slot in arguments(instr) if slot >= 0):
            return True
    return False


def _goes_on(function: FunctionView) -> bool:
    """Whether one call loops in the graph, so long that it pays for the trace itself: a chain, an epoch."""
    for frame in function.project.extents.frames(extent_of(function)):
        index = index_of(frame.code)
        for instr in index.of(ir.Call):
            names = [o.name for o in frame.vals[instr.function] or () if isinstance(o, Lib)]
            if any(name in REPEATING or name.startswith(_CHAINS) for name in names):
                return True
        if any(loop.is_for and staged(frame, loop.iterable) for loop in index.of(ir.Loop)):
            return True
    return False


def _calls_of_each(function: FunctionView, where: Code, pos: int) -> float:
    """How many times at least loops call the function for each time that it is made."""
    calls = [(caller, at) for caller, at, _ in function.called_by(SEEN)]
    counts = function.project.shared("counts of made functions", Counts)
    return min((counts.between(c, pos, at) if c.code is where else 0.0 for c, at in calls), default=0.0)


def _is_exported(project: ProjectView, frames: list[Frame], code: Code) -> bool:
    """Whether the function is traced or written down where it is made: for a saved model, for what it consists of."""
    for frame in frames:
        view = FrameView(project, frame)
        for method in index_of(frame.code).attributes.get("get_concrete_function", ()):
            if _holds(frame.vals[method.owner], code):
                return True
        for call in index_of(frame.code).of(ir.Call):
            given = arguments(call)
            names = view.names(call.function) if any(_holds(frame.vals[s], code) for s in given) else ()
            if not set(_EXPORTS).isdisjoint(names):
                return True
    return False


def _is_called_often(frame: Frame) -> bool:
    sites = {(caller.code, at): caller for caller in frame.callers for at, callee in caller.calls if callee is frame}
    return len(sites) > 1 or any(runs_often(caller, at) for (_, at), caller in sites.items() if caller is not frame)


def _is_dropped(function: FunctionView, frames: list[Frame]) -> bool:
    """Whether all that is done with a function which is returned is to call it, in the loop that asked for it."""
    if _is_kept(function.project, frames, function.code, returned=False):
        return False
    sites = {(c, at) for f in frames for c in f.callers for at, callee in c.calls if callee is f}
    counts = function.project.shared("counts of made functions", Counts)
    paid: list[bool] = []  # for each site: whether a loop calls what it makes many times
    for caller, at in sites:
        call = call_at(caller.code, at)
        if call is None or at not in index_of(caller.code).looped:
            return False
        used = uses(FrameView(function.project, caller), call.target)
        if not used or not all(_only_calls(caller, use, call.target) for use in used):
            return False
        paid.append(any(counts.between(caller, at, use.position) >= _PAYS for use in used))
    return not all(paid)


def _only_calls(caller: Frame, use: Instr, slot: int) -> bool:
    """Whether an instruction calls what is in a slot, or names it in a module: a loop names the next one so, too."""
    if isinstance(use, ir.SetGlobal):
        return caller.code.is_module
    return (
        isinstance(use, ir.Call)
        and all(s != slot for s, _ in use.arguments)
        and all(s != slot for _, s in use.keywords)
    )


def _is_kept(project: ProjectView, frames: list[Frame], code: Code, *, returned: bool = True) -> bool:
    """Whether the hybrid function outlives the call that makes it: returned (if that counts), or stored somewhere."""
    for frame in frames:
        for instr in project.symbolic.instructions(frame.code):
            stored = -1
            if isinstance(instr, (ir.Return, ir.SetAttr, ir.SetItem)):
                stored = instr.value if returned or not isinstance(instr, ir.Return) else -1
            elif isinstance(instr, ir.SetOuter) and _outlives(frame.code, instr):
                stored = instr.value
            elif isinstance(instr, ir.Call) and len(instr.arguments) == _SET and _sets_attribute(frame, instr):
                stored = instr.arguments[2][0]
            elif isinstance(instr, ir.Call) and instr.arguments and _is_method_call(frame, instr):
                stored = instr.arguments[0][0]
            elif isinstance(instr, ir.Call) and _is_given_to_library(frame, instr, code):
                return True
            if stored >= 0 and _holds(frame.vals[stored], code):
                return True
    return False


def _sets_attribute(frame: Frame, call: ir.Call) -> bool:
    """Whether a call is `setattr(object, name, value)`."""
    return any(isinstance(o, Lib) and o.name == "builtins.setattr" for o in frame.vals[call.function] or ())


def _outlives(code: Code, instr: ir.SetOuter) -> bool:
    """Whether an instruction writes a global, or a variable of a function around this one (`nonlocal`)."""
    if isinstance(instr, ir.SetGlobal):
        return not code.is_module
    return instr.name in code.free


def _is_given_to_library(frame: Frame, instr: ir.Call, code: Code) -> bool:
    """Whether a call makes a library's object that keeps the function: an optimizer its schedule."""
    made = any(isinstance(o, LibInst) for o in frame.vals[instr.target] or ())
    return made and any(_holds(frame.vals[slot], code) for slot in arguments(instr) if slot >= 0)


def _is_method_call(frame: Frame, call: ir.Call) -> bool:
    """Whether a call may keep its argument in a container (`steps.append(f)`)."""
    func = frame.vals[call.function] or ()
    return any(isinstance(o, Bound) and isinstance(o.receiver, Container) for o in func)


def _holds(value: Value | None, code: Code, depth: int = 3) -> bool:
    for obj in value or ():
        if isinstance(obj, Func):
            if obj.code is code:
                return True
            if depth and any(_holds(cell.value, code, depth - 1) for cell in obj.cells.values()):
                return True  # what it captures lives as long as it does
        if isinstance(obj, Wrapper) and depth and _holds(obj.inner, code, depth - 1):
            return True
        if isinstance(obj, Wrapper) and obj.kind == "hybrid" and any(isinstance(o, Unknown) for o in obj.inner):
            return True  # which of many functions it is got lost
        if isinstance(obj, Bound) and isinstance(obj.func, Func) and obj.func.code is code:
            return True
    return False


RULE = Rule(
    code="HY102",
    name="hybrid-made-per-call",
    category=Category.PERFORMANCE,
    outcome=Outcome.RETRACES,
    summary="A hybrid function is made anew at every call or iteration, and traced each time.",
    details="""The graphs of a hybrid function live in the object that `tf.function` makes. One that is made
inside a loop or inside a function that is called again starts without any: each call pays for a trace. Make it
once: at module level, in `__init__`, or keep it where it was made. What a graph makes is traced with it, once for each
of its traces, and not told. It is a warning where loops are seen to make
more than a few of them for a few calls each, and information where nobody sees how often that is (a loop of unknown
length, beside the place where it is made), where one call loops in the graph itself, or where the graph is one of an
object that is made beside it, as a model for each fold, or of this turn of the loop. Of one that loops call some
hundred times nothing is told.""",
    level=Level.WARNING,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def run(batch):
    def target(z):
        return z * 2
    return target(batch)
for i in range(10):
    r = run(tf.ones(3))
""",
            target="run.target",
            line=3,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
def run(batch):
    @tf.function
    def target(z):
        return z * 2
    return target(batch)
for i in range(3):
    r = run(tf.ones(3))
""",
            target="run.target",
            line=3,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
def target(z):
    return z * 2
for i in range(3):
    r = tf.function(target)(tf.ones(3))
""",
            line=5,
            outcome=Outcome.RETRACES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def make():
    @tf.function
    def target(z):
        return z * 2
    return target
step = make()
for i in range(3):
    r = step(tf.ones(3))
""",
            target="make.target",
        ),
        Example(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        @tf.function
        def target(z):
            return z * 2
        self.step = target
trainer = Trainer()
for i in range(3):
    r = trainer.step(tf.ones(3))
""",
            target="Trainer.__init__.target",
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def outer(x):
    @tf.function
    def target(z):
        return z * 2
    return target(x) + target(x + 1)
for i in range(3):
    r = outer(tf.ones(3))
""",
            target="outer.target",
        ),
    ),
    known_problems="""A loop whose length nobody knows is taken for a long one: beside it a function that is made
anew pays, and is information. Of six findings in projects that nobody had looked at three could be acted on.""",
    reference="semantics.md R18, Issue threads",
)
