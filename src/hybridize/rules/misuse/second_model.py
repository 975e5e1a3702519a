"""HY258: more than one model or layer that is not built yet comes as an argument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hybridize.domain.calls import DIRECT, NOT_TRACED, How
from hybridize.domain.objects import Container, Inst, LibInst, Lit, Obj, Stream, Tup, Value
from hybridize.domain.session import solved
from hybridize.facts.calls.callgraph import extent
from hybridize.facts.calls.extents import Having
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.origins import definitions, edges_to, passed_slots
from hybridize.facts.state.guards import guarded
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.creation import builds_weights, makes_variables
from hybridize.tracing.keras.building import is_built
from hybridize.tracing.keras.built import is_lazy
from hybridize.tracing.running.certain import passed_by_place
from hybridize.tracing.state.alternatives import together
from hybridize.tracing.views import FrameView, FunctionView, ProjectView

#: So many places are followed up to modules.
_PLACES: Final = 200


def scan(function: FunctionView) -> Iterator[Hit]:
    """A parameter that is called as a layer, and receives values from several makers, none of them built before."""
    project = function.project
    for index, param in enumerate(function.code.params):
        given = {o for f in function.frames for o in f.args[index] if isinstance(o, (Inst, LibInst))}
        found: set[Inst | LibInst] = {o for o in given if _is_lazy(project, o)}
        if not any(_calls(frame, param.slot) for frame in function.frames):
            found = set()
        if index or function.facts.kind is not FunctionKind.METHOD:
            objects = {o for o in given if isinstance(o, Inst)}
            found |= _filling(function, objects) | _holding(function, objects)
        if len(found) > 1:
            found = together(project, found)
        if not found:
            continue
        makers = _makers(function, index)
        if len(makers) < 2 or any(_is_used_outside(function, o) for o in found):
            continue
        said = f"`{param.name}` is now one unbuilt model, now another: the second one makes its weights too late"
        here = Evidence(said, function.code.path, function.code.line)
        called = {Evidence("called here", path, pos >> 16): None for path, pos in sorted(makers.values())[:3]}
        lines = sorted({pos >> 16 for frame in function.frames for pos in _calls(frame, param.slot)})
        built = (Evidence("makes its weights here", function.code.path, line) for line in lines[:1])
        yield Hit(function.code.position, said, evidence=(here, *called, *built))


def _is_lazy(project: ProjectView, obj: Obj) -> bool:
    if not isinstance(obj, (Inst, LibInst)) or is_built(project, obj):
        return False
    return is_lazy(project, obj) or (
        isinstance(obj, Inst) and builds_weights(project, frozenset({obj.cls})) is not None
    )


def _filling(function: FunctionView, given: set[Inst]) -> set[Inst]:
    """Objects of the project that make a variable of theirs in here when it is not there yet."""
    found: set[Inst] = set()
    project = function.project
    if not given or not _fillers(project).within(project.extents.of_all(function.frames)):
        return found
    for frame in extent(function.frames, NOT_TRACED):
        receivers = given & frame.args[0] if frame.args else set()
        if receivers and _fillers(project).within(project.extents.set_of([frame])):
            found |= receivers
    return found


def _holding(function: FunctionView, given: set[Inst]) -> set[Inst]:
    """Objects of the project that have an unbuilt layer in a field which is called in here."""
    project = function.project
    holders: dict[Obj, set[Inst]] = {}
    for obj in given:
        for held in {o for cell in list(obj.fields.values()) for o in cell.value if _is_lazy(project, o)}:
            holders.setdefault(held, set()).add(obj)
    # What they share, the first trace builds for all of them.
    lazy = {o: some for o, some in holders.items() if len(some) == 1 and not _is_used_outside(function, o)}
    found: set[Inst] = set()
    for frame in extent(function.frames, NOT_TRACED) if lazy else ():
        for call in index_of(frame.code).of(ir.Call):
            found.update(obj for o in frame.vals[call.function] or () for obj in lazy.get(o, ()))
    return found


def _fillers(project: ProjectView) -> Having:
    """The frames that make a variable when it is not there yet."""

    def fills(frame: Frame) -> bool:
        view = FrameView(project, frame)
        return bool(frame.args) and any(_fills(view, call) for call in index_of(frame.code).of(ir.Call))

    return project.shared("fillers", lambda: project.extents.having(fills))


def _fills(view: FrameView, call: ir.Call) -> bool:
    return makes_variables(view, call.function) is not None and guarded(view.frame, call.position)


def _calls(frame: Frame, slot: int) -> list[int]:
    """Where a frame calls what arrives in a slot."""
    return [instr.position for instr in index_of(frame.code).of(ir.Call) if instr.function == slot]


def _makers(function: FunctionView, index: int) -> dict[tuple[str, int], tuple[str, int]]:
    """The places that make the argument, with a call site of each; several where it is now one object, now another."""
    found: dict[tuple[str, int], tuple[str, int]] = {}
    given: list[tuple[Value, tuple[str, int]]] = []
    for caller, pos, frame in function.called_by(DIRECT):
        slots = passed_slots(caller, pos, frame, index)
        here = (caller.code.path, pos)
        for slot in passed_by_place(function, caller, pos, index) if slots is None else slots:
            made = _maker(caller, slot)
            if isinstance(made, ir.Call):
                found.setdefault((caller.code.path, made.position), here)
                if made.position in index_of(caller.code).looped and not _is_nested(function, caller):
                    found[caller.code.path, -1] = here  # each round makes another
            elif made is not None and _is_one_of_many(caller, made):
                found.update({(caller.code.path, made.position): here, (caller.code.path, -1): here})
            elif isinstance(made, ir.Item) and any(_is_several(obj) for obj in caller.vals[made.source] or ()):
                key = sorted(map(repr, caller.vals[made.index] or ()))
                found.setdefault((f"{caller.code.path}{key}", 0), here)
            given.append((caller.vals[slot] or frozenset(), here))
    for value, here in given:
        other = next((place for each, place in given if each and value and not each & value), None)
        if other is not None:
            found.update({(here[0], -here[1]): here, (other[0], -other[1]): other})
    return found


def _is_nested(function: FunctionView, caller: Frame) -> bool:
    """Whether each run of the caller makes the function anew, and with it the graph."""
    return function.code.parent is caller.code and not caller.code.is_module


def _is_one_of_many(caller: Frame, made: Instr) -> bool:
    """Whether a value is the element of a loop over a list or dictionary that has several, so far as we know."""
    if isinstance(made, ir.Unpack):
        inner = definitions(caller.code).get(made.source)
        return isinstance(inner, ir.Iter) and _is_one_of_many(caller, inner)
    key = (caller.vals[made.index] or frozenset()) if isinstance(made, ir.Item) else frozenset()
    if not isinstance(made, (ir.Iter, ir.Item)) or (len(key) == 1 and all(isinstance(o, Lit) for o in key)):
        return False
    return any(_is_several(obj) for obj in caller.vals[made.source] or ())


def _is_several(obj: Obj) -> bool:
    """Whether a container holds several objects: more than one key, or as many as a loop puts there."""
    if isinstance(obj, Stream):  # `zip`, `enumerate`, `d.values()`
        return obj.count is None or obj.count > 1
    if isinstance(obj, Tup):
        return len(obj.items) > 1
    return isinstance(obj, Container) and (len(obj.fields) > 1 or (obj.rest is not None and bool(obj.rest.value)))


def _maker(caller: Frame, slot: int) -> Instr | None:
    """What makes the value in a slot, through `a, b = make(), make()` and the module's own variables."""
    made = definitions(caller.code).get(slot)
    if isinstance(made, ir.Global) and caller.code.is_module:
        written = [i for i in index_of(caller.code).of(ir.SetGlobal) if i.name == made.name]
        return _maker(caller, written[0].value) if len(written) == 1 and written[0].value != slot else made
    if isinstance(made, ir.Copy):
        return _maker(caller, made.source)
    if isinstance(made, ir.Unpack) and made.star < 0:
        display = definitions(caller.code).get(made.source)
        if isinstance(display, ir.Sequence) and len(display.elements) == len(made.targets):
            return definitions(caller.code).get(display.elements[made.targets.index(slot)][0])
    return made


def _is_used_outside(function: FunctionView, obj: Obj) -> bool:
    """Whether a model may be called elsewhere before: it is built by then."""
    extents, reached = function.project.extents, function.project.solution.reached
    traced = extents.of_all(function.frames)
    by_program = function.code in reached  # then what nobody calls does not run before
    return any(
        (frame.code in reached or not by_program)
        and not extents.has(traced, frame)
        and not _comes_later(function, frame, position)
        for frame, position in _calls_of_objects(function.project).get(obj, ())
    )


@solved
def _calls_of_objects(project: ProjectView) -> Mapping[Obj, Sequence[tuple[Frame, int]]]:
    """Where the program calls each object that has a class."""
    found: dict[Obj, list[tuple[Frame, int]]] = {}
    for frame in (f for frames in project.solution.frames.values() for f in frames):
        for instr in index_of(frame.code).of(ir.Call):
            for obj in frame.vals[instr.function] or ():
                if isinstance(obj, (Inst, LibInst)):
                    found.setdefault(obj, []).append((frame, instr.position))
    return found


def _comes_later(function: FunctionView, frame: Frame, position: int) -> bool:
    """Whether the module that calls a function comes to a place only after that."""
    calls = _in_modules([(caller, pos) for caller, pos, _ in function.called_by()])
    places = _in_modules([(frame, position)])
    return bool(calls) and bool(places) and len({m for m, _ in calls | places}) == 1 and max(calls)[1] < min(places)[1]


def _in_modules(places: list[tuple[Frame, int]]) -> set[tuple[str, int]]:
    """Where the code at the top of modules (path, position) comes to some places; nothing where others may do so."""
    found: set[tuple[str, int]] = set()
    todo, seen = list(places), set(places)
    while todo:
        frame, position = todo.pop()
        if frame.code.is_module:
            found.add((frame.code.path, position))
            continue
        above = list(edges_to(frame))
        if not above or any(how is How.ROOT for _, _, how in above) or len(seen) > _PLACES:
            return set()
        new = [(caller, pos) for caller, pos, _ in above if (caller, pos) not in seen]
        seen.update(new)
        todo += new
    return found


RULE = Rule(
    code="HY258",
    name="second-model",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="make a hybrid function for each, or build the models before",
    summary="A second model that is not built yet arrives as an argument and would make its weights at a later trace.",
    details="""A layer makes its weights at its first call. A hybrid function may make variables only at its
first trace: for a second model TensorFlow raises. Build the models before (`model.build(shape)`, or one eager
call), or make a hybrid function for each.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
models = [tf.keras.layers.Dense(3) for _ in range(2)]
def target(model, x):
    return model(x)
def evaluate(x):  # comes after the training
    return sum(model(x) for model in models)
for i in range(2):
    r = target(models[i], tf.ones((2, 4)))
r2 = evaluate(tf.ones((2, 4)))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Pair:
    def __init__(self):
        self.encoder = tf.keras.layers.Dense(4)
        self.decoder = tf.keras.layers.Dense(2)
pairs = []
for _ in range(2):
    pairs.append(Pair())
def target(pair, x):
    return pair.decoder(pair.encoder(x))
def evaluate(x):  # nobody calls it: it builds no model before
    return pairs[0].decoder(pairs[0].encoder(x))
r1 = target(pairs[0], tf.ones([1, 3]))
r2 = target(pairs[1], tf.ones([1, 3]))
""",
            line=9,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self):
        self.net = tf.keras.layers.Dense(1, kernel_initializer="ones")
def target(agent, x):
    return agent.net(x)
a = Agent()
b = Agent()
r1 = target(a, tf.ones([1, 2]))
r2 = target(b, tf.ones([1, 2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        self.k = self.add_weight(shape=(shape[-1],), initializer="ones")
    def call(self, x):
        return x * self.k
def target(layer, x):
    return layer(x)
r1 = target(Scale(), tf.ones([1, 2]))
r2 = target(Scale(), tf.ones([1, 2]))
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Lazy:
    def __init__(self):
        self.w = None
    def scale(self, x):
        if self.w is None:
            self.w = tf.Variable(2.0)
        return self.w * x
def target(m, x):
    return m.scale(x)
a = Lazy()
b = Lazy()
r1 = target(a, tf.constant(1.0))
r2 = target(b, tf.constant(1.0))
""",
            line=9,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(model, x):
    return model(x)
a = tf.keras.layers.Dense(1, kernel_initializer="ones")
b = tf.keras.layers.Dense(1, kernel_initializer="ones")
r1 = target(a, tf.ones([1, 2]))
r2 = target(b, tf.ones([1, 2]))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
def target(model, x):
    return model(x) + 1.0
first = make()
second = make()
r1 = target(first, tf.ones([1, 2]))
r2 = target(second, tf.ones([1, 2]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
models = [tf.keras.Sequential([tf.keras.layers.Dense(n)]) for n in (2, 3)]
def target(model, x):
    return tf.reduce_sum(model(x) * 0.0)
r = []
for model in models:
    r.append(target(model, tf.ones([1, 2])))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
def target(agent, x):
    return agent.net(x)
a = Agent()
b = Agent()
r1 = target(a, tf.ones([1, 2]))
r2 = target(b, tf.ones([1, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(model, x):
    return model(x)
a = tf.keras.layers.Dense(1, kernel_initializer="ones")
b = tf.keras.layers.Dense(1, kernel_initializer="ones")
a.build((None, 2))
b.build((None, 2))
r1 = target(a, tf.ones([1, 2]))
r2 = target(b, tf.ones([1, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(model, x):
    return model(x)
a = tf.keras.layers.Dense(1, kernel_initializer="ones")
r1 = target(a, tf.ones([1, 2]))
r2 = target(a, tf.ones([3, 2]))
"""
        ),
    ),
    reference="semantics.md R7",
)
