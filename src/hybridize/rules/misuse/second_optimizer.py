"""HY256: more than one optimizer comes as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hybridize.domain.calls import SEEN
from hybridize.domain.objects import Container, Inst, LibInst, Obj, Value
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.origins import definitions
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.rules.optional import conditional
from hybridize.tracing.hybridized import places
from hybridize.tracing.keras.building import is_built
from hybridize.tracing.keras.late import STEPS, comes_again, is_optimizer, is_steady, stepping
from hybridize.tracing.retraced.keyed import varies
from hybridize.tracing.retraced.moving import element_of_loop, gone_through
from hybridize.tracing.running.certain import direct_calls, passed_by_place
from hybridize.tracing.running.processes import programs_of
from hybridize.tracing.state.alternatives import excludes, together
from hybridize.tracing.views import FunctionView, ProjectView


def scan(function: FunctionView) -> Iterator[Hit]:
    """Parameters that receive several optimizers, none of which has its variables yet."""
    for i, param in enumerate(function.code.params):
        found = {o for f in function.frames for o in f.args[i] if is_optimizer(function.project, o)}
        if len(found) < 2 and (i or function.facts.kind is not FunctionKind.METHOD):  # a graph for each receiver
            found = _of_objects(function, i) or found
        again = comes_again(function, found)
        found = found if again else together(function.project, found)
        if found and not again and function.is_hybrid and (_are_chosen(found) or not _meet(function, found, i)):
            continue
        if not found or all(isinstance(o, (Inst, LibInst)) and is_built(function.project, o) for o in found):
            continue
        for frame in stepping(function):
            pos = _step(frame, found)
            if pos is not None:
                said = f"`{param.name}` is now one optimizer, now another: the second one makes its variables too late"
                here = Evidence(said, function.code.path, function.code.line)
                used = Evidence("its variables are made here", frame.code.path, pos >> 16)
                shown = _shown(function, i)
                calls = {(c.code.path, p >> 16) for c, p, _ in function.called_by(SEEN)}
                called = [Evidence("called here", *place) for place in shown or sorted(calls)[:3]]
                level = Level.ERROR if shown else None
                yield Hit(function.code.position, said, evidence=(here, used, *called), level=level)
                break

    yield from _by_key(function)


def _shown(function: FunctionView, index: int) -> list[tuple[str, int]]:
    """Where a function of the project calls the graph with one optimizer, and then with another for certain."""
    if function.facts.kind is FunctionKind.METHOD and len({o for f in function.frames for o in f.args[0]}) != 1:
        return []  # a graph for each receiver
    project = function.project
    given: dict[Frame, dict[int, Obj]] = {}
    for caller, pos, _ in direct_calls(function) if function.is_hybrid else ():
        for slot in passed_by_place(function, caller, pos, index):
            found = list(caller.vals[slot] or ())
            if _takes_turns(function, caller, pos, slot):
                return [(caller.code.path, pos >> 16)]
            if len(found) == 1 and _is_late(project, found[0]) and found[0] not in _met_outside(function):
                given.setdefault(caller, {})[pos] = found[0]
    pairs = [
        [(caller.code.path, pos >> 16) for pos in pair]
        for caller, some in given.items()
        for pair in combinations(sorted(some), 2)
        if some[pair[0]] is not some[pair[1]] and not excludes(project, caller, *pair)
    ]
    doubtful = conditional(project)
    return min(pairs, key=lambda pair: sum(line in doubtful.get(path, ()) for path, line in pair), default=[])


def _takes_turns(function: FunctionView, caller: Frame, pos: int, slot: int) -> bool:
    """Whether a loop over a list calls the graph with one optimizer of it after the other, in each of its turns."""
    index = index_of(caller.code)
    element = element_of_loop(caller, slot)
    if element is None or not index.loops.get(element.position):
        return False
    loop = index.of(ir.Loop)[index.loops[element.position][-1]]
    inside = list(instructions((loop,)))
    if any(isinstance(each, (ir.If, ir.Try, ir.Jump, ir.Return)) and _stands_around(each, pos) for each in inside):
        return False
    lists = [o for value in gone_through(caller, element.source) for o in value if isinstance(o, Container)]
    return any(caller.vals[slot] == _held(each) and _holds_several(function, each) for each in lists)


def _stands_around(instr: ir.Instr, pos: int) -> bool:
    """Whether what may end a loop does so, or what may pass a place over has it inside."""
    return isinstance(instr, (ir.Jump, ir.Return)) or any(each.position == pos for each in instructions((instr,)))


def _held(container: Container) -> Value:
    return frozenset(o for value in parts(container) for o in value)


def _holds_several(function: FunctionView, container: Container) -> bool:
    """Whether a list surely has two optimizers or more, of which each makes its variables at its first step.

    A comprehension makes as many as it has turns, which are one object to the analysis.
    """
    project, held = function.project, _held(container)
    count = len(container.fields) if container.exact else container.count or 0
    if count < 2 or not all(_is_late(project, o) for o in held) or held & _met_outside(function):
        return False
    if container.exact and len(held) == count:
        return True
    sites = [o.site for o in held if isinstance(o, (Inst, LibInst))]
    return len(sites) == 1 and all(pos in index_of(code).looped for code, pos in sites)


def _met_outside(function: FunctionView) -> set[Obj]:
    """The optimizers that other code lets take a step, or gives to a model: they may have their variables by then."""
    project = function.project
    extent = project.extents.of_all(function.frames)

    def find() -> set[Obj]:
        found: set[Obj] = set()
        for frame in (f for frames in project.solution.frames.values() for f in frames):
            if project.extents.has(extent, frame):
                continue
            attributes = index_of(frame.code).attributes
            for instr in (i for name in STEPS for i in attributes.get(name, ())):
                found.update(frame.vals[instr.owner] or ())
            for call in index_of(frame.code).of(ir.Call) if "compile" in attributes else ():
                if _is_compiling(index_of(frame.code).source(call.function)):
                    found.update(o for slot in arguments(call) if slot >= 0 for o in frame.vals[slot] or ())
        return found

    return project.shared(("steps outside", function.code), find)


def _is_compiling(instr: ir.Instr | None) -> bool:
    return isinstance(instr, ir.Attr) and instr.name == "compile"


def _is_late(project: ProjectView, obj: Obj) -> bool:
    """Whether the first step of an optimizer makes variables for sure."""
    late = is_optimizer(project, obj) and isinstance(obj, (Inst, LibInst)) and not is_built(project, obj)
    return late and not is_steady(obj)


def _meet(function: FunctionView, optimizers: set[Obj], index: int) -> bool:
    """Whether one program makes several of the optimizers, and hands them to one hybrid function.

    One that `tf.function` makes at each call of another function has graphs of its own.
    """
    if all(where.is_function for where, _ in places(function)):
        return False
    holders = {o.site for f in function.frames for o in f.args[index] if isinstance(o, Inst)}
    if len(holders) == 1 and not any(is_optimizer(function.project, o) for f in function.frames for o in f.args[index]):
        return False  # the same object in several contexts, with one of several optimizers
    frames, extents = function.project.solution.frames, function.project.extents
    made = [o.site[0] for o in optimizers if isinstance(o, (Inst, LibInst))]
    return any(
        sum(any(extents.has(some, f) for f in frames.get(code, ())) for code in made if isinstance(code, Code)) > 1
        for some in programs_of(function)
    )


def _are_chosen(optimizers: set[Obj]) -> bool:
    """Whether one `if` of a function that makes them decides which one there is."""
    sites = [o.site for o in optimizers if isinstance(o, (Inst, LibInst))]
    if len(sites) < len(optimizers) or len({code for code, _ in sites}) != 1 or not isinstance(sites[0][0], Code):
        return False
    index = index_of(sites[0][0])
    branches = [
        ({each.position for each in instructions(made.then)}, {each.position for each in instructions(made.orelse)})
        for made in index.of(ir.If)
    ]
    return all(
        first not in index.looped
        and any((first in a and second in b) or (first in b and second in a) for a, b in branches)
        for (_, first), (_, second) in combinations(sites, 2)
    )


def _of_objects(function: FunctionView, index: int) -> set[Obj]:
    """The optimizers that several objects of the project, which arrive at a parameter, have in their fields."""
    objects = {o for f in function.frames for o in f.args[index] if isinstance(o, Inst)}
    fields = {o for obj in objects for cell in list(obj.fields.values()) for o in cell.value}
    held = {o for o in fields if is_optimizer(function.project, o)} if len(objects) > 1 else set()
    return held if len(held) > 1 else set()


def _by_key(function: FunctionView) -> Iterator[Hit]:
    """`optimizers[name].apply_gradients(...)`, where the calls of the function bring several names."""
    project = function.project
    for frame in stepping(function):
        for instr in index_of(frame.code).of(ir.Attr):
            made = definitions(frame.code).get(instr.owner) if instr.name in STEPS else None
            if not isinstance(made, ir.Item):
                continue
            found = [o for o in frame.vals[made.source] or () if isinstance(o, Container) and _has_several(project, o)]
            if found and varies(frame, made.index, function.frames):
                said = "takes a step of an optimizer that the arguments choose: the second one makes its variables late"
                yield Hit(instr.position, said, path=frame.code.path)


def _has_several(project: ProjectView, container: Container) -> bool:
    """Whether a list or dictionary holds optimizers that have no variables yet, and more than one."""
    held = [o for cell in container.fields.values() for o in cell.value]
    lazy = [o for o in held if is_optimizer(project, o) and isinstance(o, (Inst, LibInst)) and not is_built(project, o)]
    return bool(lazy) and (len(container.fields) > 1 or container.rest is not None)


def _step(frame: Frame, optimizers: set[Obj]) -> int | None:
    """The position where a frame lets one of the optimizers take a step."""
    for instr in index_of(frame.code).of(ir.Attr):
        if instr.name in STEPS and optimizers & (frame.vals[instr.owner] or frozenset()):
            return int(instr.position)
    return None


RULE = Rule(
    code="HY256",
    name="second-optimizer",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="make a hybrid function for each, or call `optimizer.build(variables)` before",
    summary="A second optimizer arrives as an argument and would make its variables at a later trace.",
    details="""An optimizer makes its slot variables at its first step. A hybrid function may make variables only at
its first trace: for a second optimizer TensorFlow raises. Make a hybrid function for each optimizer, or call
`optimizer.build(variables)` before. It is an error where a function of the program calls the same graph with one
optimizer and then with another, or each turn of a loop with the next one of a list; where calls are only taken together
it is information.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable(1.0)
        self.opt = tf.keras.optimizers.Adam(0.1)
def target(trainer, x):
    with tf.GradientTape() as tape:
        loss = (trainer.w * x) ** 2
    trainer.opt.apply_gradients([(tape.gradient(loss, trainer.w), trainer.w)])
    return loss
a = Trainer()
b = Trainer()
r1 = target(a, tf.constant(1.0))
r2 = target(b, tf.constant(1.0))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def target(opt, x):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
o1 = tf.keras.optimizers.Adam(0.1)
o2 = tf.keras.optimizers.Adam(0.2)
r1 = target(o1, tf.constant(1.0))
r2 = target(o2, tf.constant(1.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def target(opt, x):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
def train(rate):
    opt = tf.keras.optimizers.Adam(rate)
    return target(opt, tf.constant(1.0)) + target(opt, tf.constant(2.0))
r1 = [train(rate) for rate in (0.1, 0.2)]
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
def apply(opt, grad):
    opt.apply_gradients([(grad, v)])
def target(opt, x):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    apply(opt, tape.gradient(loss, v))
    return loss
r1 = target(tf.keras.optimizers.Adam(0.1), tf.constant(1.0))
r2 = target(tf.keras.optimizers.SGD(0.1, momentum=0.5), tf.constant(1.0))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
opts = {"fast": tf.keras.optimizers.Adam(0.1), "slow": tf.keras.optimizers.Adam(0.01)}
def target(x, which):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    opts[which].apply_gradients([(tape.gradient(loss, v), v)])
    return loss
r1 = target(tf.constant(1.0), "fast")
r2 = target(tf.constant(1.0), "slow")
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Trainer:
    def __init__(self):
        self.w = tf.Variable(1.0)
        self.opt = tf.keras.optimizers.Adam(0.1)
    def target(self, x):
        with tf.GradientTape() as tape:
            loss = (self.w * x) ** 2
        self.opt.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return loss
a = Trainer()
b = Trainer()
r1 = a.target(tf.constant(1.0))
r2 = b.target(tf.constant(1.0))
""",
            target="Trainer.target",
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
opt = tf.keras.optimizers.Adam(0.1)
def target(opt, x):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
r1 = target(opt, tf.constant(1.0))
r2 = target(opt, tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(1.0)
o1 = tf.keras.optimizers.Adam(0.1)
o2 = tf.keras.optimizers.Adam(0.2)
o1.build([v])
o2.build([v])
def target(opt, x):
    with tf.GradientTape() as tape:
        loss = (v * x) ** 2
    opt.apply_gradients([(tape.gradient(loss, v), v)])
    return loss
r1 = target(o1, tf.constant(1.0))
r2 = target(o2, tf.constant(1.0))
"""
        ),
    ),
    known_problems="It is information: none of the five findings that were read was right.",
    reference="semantics.md R7",
)
