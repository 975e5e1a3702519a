"""HY103: a function or object made anew for each call of a hybrid function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.nesting import taken_apart
from hybridize.domain.objects import Bound, Container, Func, Inst, LibInst, Wrapper
from hybridize.facts.calls.callgraph import is_registered_gradient
from hybridize.facts.model import FunctionKind
from hybridize.facts.origins import call_at, definitions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.hybridized import places
from hybridize.tracing.retraced.lifetimes import lifetimes, short_lived
from hybridize.tracing.retraced.new_shapes import given_shapes, is_new_shape
from hybridize.tracing.running.loops import runs_often
from hybridize.tracing.views import FunctionView


def scan(function: FunctionView) -> Iterator[Hit]:
    """At a call site that runs often, an argument is a lambda or an object that the same iteration makes."""
    if is_registered_gradient(function.code):
        said = "gets another operation at each call, as the gradient that is registered: each traces anew"
        yield Hit(function.code.position, said)
        return
    if not function.is_hybrid:
        yield from _would_retrace(function)
        return
    found: dict[tuple[str, int], tuple[str, bool]] = {}
    seen: set[tuple[str, int]] = set()  # the call sites that the program gets to again and again
    many: dict[tuple[str, int], bool] = {}  # with whether it is the receiver
    reached: dict[frozenset[object], set[int]] = {}  # the call sites of the same objects
    makers: dict[tuple[str, int], set[int]] = {}  # the call sites of each place that makes an argument
    hybrids = function.project.solution.world.hybrids
    known = lifetimes(function.project)
    # What is made hybrid in a loop is traced in each iteration, whatever it is given (HY102).
    made_there = {where for where, pos in places(function) if pos in index_of(where).looped}
    for caller, pos, _ in function.called_by(DIRECT):
        if caller.code in made_there or (caller.code in hybrids and pos not in index_of(caller.code).looped):
            continue  # that runs once for each trace of the caller
        call = call_at(caller.code, pos)
        receiver = _receiver(function, caller, call) if call is not None else -1
        for slot in [receiver, *arguments(call)] if call is not None else ():
            made = definitions(caller.code).get(slot)
            apart = slot != receiver and any(taken_apart(o) is not None for o in caller.vals[slot] or ())
            what = _fresh(caller, made, pos) if not apart else ""
            what = what or ("a `TensorShape`" if is_new_shape(caller, slot, pos) else "")
            several = made is not None and not what and _is_one_of_many(function, caller, made, pos)
            if several and made is not None:
                many.setdefault((caller.code.path, pos), slot == receiver)
                reached.setdefault(_places(caller, made), set()).add(pos)
            if what and made is not None:
                makers.setdefault((caller.code.path, made.position), set()).add(pos)
                found.setdefault((caller.code.path, pos), (what, runs_often(caller, pos)))
                if caller.code not in hybrids and known.is_seen_short([(caller, pos)], [(caller, made.position)]):
                    seen.add((caller.code.path, pos))
    again = {pos for positions in reached.values() if len(positions) > 1 for pos in positions}
    for (path, pos), receives in sorted(many.items()):
        if pos in again:
            continue  # what a loop traces another loop uses
        whose = "the object whose method is called" if receives else "an argument"
        yield Hit(pos, f"{whose} is another at every call of this loop: each traces anew", path=path)
    shared = {(path, pos) for (path, _), sites in makers.items() if len(sites) > 1 for pos in sites}
    several = len(set(found) - shared) > 1
    for (path, pos), (what, often) in sorted(found.items()):
        if (path, pos) not in shared and (often or several):
            level = None if (path, pos) in seen else Level.INFO
            yield Hit(
                pos,
                f"{what} is made for each of these calls, which is traced anew: make it once",
                path=path,
                level=level,
            )


def _would_retrace(function: FunctionView) -> Iterator[Hit]:
    """An eager function that gets another object at (nearly) each call would be traced as often."""
    for caller, pos in given_shapes(function):
        if runs_often(caller, pos):
            said = "gets a new `TensorShape` at each call: each would trace anew (`tuple(x.shape)` would not)"
            yield Hit(pos, said, path=caller.code.path)
            return
    found = short_lived(function)
    if found is not None:
        what, (path, pos), evidence = found
        yield Hit(pos, f"gets {what} at nearly every call: each would trace anew", path=path, evidence=evidence)


def _receiver(function: FunctionView, caller: Frame, call: ir.Call) -> int:
    """The slot of the object whose method is called."""
    made = definitions(caller.code).get(call.function)
    is_method = function.facts.kind is FunctionKind.METHOD
    return made.owner if is_method and isinstance(made, ir.Attr) else -1


def _is_one_of_many(function: FunctionView, caller: Frame, made: Instr, pos: int) -> bool:
    """Whether a loop that runs once goes through objects that a loop has made, and calls the function with each."""
    if not isinstance(made, ir.Iter) or _loops_around(caller, pos) != 1:
        return False
    if function.project.public.has(caller.code):
        return False  # who calls it elsewhere may do so again, and then each object has its graph
    sites = {(c, at) for c in caller.callers for at, callee in c.calls if callee is caller}
    if not caller.code.is_module and (len(sites) != 1 or any(runs_often(c, at) for c, at in sites)):
        return False
    objects = [o for o in caller.vals[made.target] or () if isinstance(o, (Inst, LibInst))]
    places = _places(caller, made)
    return bool(objects) and (len(places) > _FEW or any(at in index_of(code).looped for code, at in places))


def _places(caller: Frame, made: Instr) -> frozenset[tuple[Code, int]]:
    """Where the objects are made that a loop goes through."""
    return frozenset(o.site for o in caller.vals[made.target] or () if isinstance(o, (Inst, LibInst)))


def _loops_around(caller: Frame, pos: int) -> int:
    """How many loops a position stands in."""
    loops = (instr for instr in index_of(caller.code).of(ir.Loop))
    return sum(
        any(each.position == pos for part in (loop.test, loop.body) for each in instructions(part)) for loop in loops
    )


#: So many objects are a few traces.
_FEW: Final = 2


def _fresh(caller: Frame, made: Instr | None, pos: int) -> str:
    if made is None or isinstance(made, ir.Unpack):
        return ""
    if pos in index_of(caller.code).looped and made.position not in index_of(caller.code).looped:
        return ""
    if isinstance(made, ir.Func) and any(isinstance(o, Func) for o in caller.vals[made.target] or ()):
        return "a function"
    objects = caller.vals[made.target] or ()
    if (
        isinstance(made, ir.Attr)
        and objects
        and all(isinstance(o, Bound) and isinstance(o.func, Func) for o in objects)
    ):
        return "a bound method"
    if not isinstance(made, ir.Call):
        return ""
    if objects and all(isinstance(o, Wrapper) and o.kind == "partial" for o in objects):
        return "a `partial`"
    if objects and all(isinstance(o, Container) and o.kind == "frozenset" for o in objects):
        return "a frozenset"
    if objects and all(isinstance(o, Inst) and o.site == (caller.code, made.position) for o in objects):
        name = next(o.cls.name for o in objects if isinstance(o, Inst))
        return f"a `{name}`"
    return ""


RULE = Rule(
    code="HY103",
    name="fresh-object-argument",
    category=Category.PERFORMANCE,
    outcome=Outcome.RETRACES,
    summary="A function or object is made for each call of a hybrid function, which traces for each.",
    details="""Functions and objects are told apart by identity: a lambda or an instance that is made at the call
site is a new Python value each time, and each gets a trace of its own. So is a bound method (`model.loss`) wherever it
is read, and a `TensorShape` (`x.shape[:2]`), which is kept by weak reference: pass `tuple(x.shape)`. Make it once,
before the loop. An eager function, or a method of short-lived objects, is left eager where
nearly each of its calls would be traced so.""",
    level=Level.INFO,
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Layer:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
layers = [Layer(2) for _ in range(10)]
for layer in layers:
    r = layer.target(tf.constant(2))
""",
            target="Layer.target",
            line=9,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.RegisterGradient("AdjustHue")
def target(op, upstream):
    return upstream * tf.exp(op.inputs[0]), None
for i in range(3):
    with tf.GradientTape() as tape:
        image = tf.Variable(tf.ones([2, 2, 3]))
        turned = tf.image.adjust_hue(image, 0.1)
    r = tape.gradient(turned, image)
""",
            line=3,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, f):
    return f(x)
for i in range(3):
    r = target(tf.constant(2), lambda v: v * 3)
""",
            line=6,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
class Options:
    def __init__(self, rate):
        self.rate = rate
@tf.function
def target(x, options):
    return x * options.rate
for i in range(3):
    r = target(tf.constant(2.0), Options(0.5))
""",
            line=9,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self, k):
        self.w = tf.Variable(k)
    @tf.function
    def target(self, x):
        return x * self.w
agents = [Agent(float(k)) for k in range(4)]
r = [agent.target(tf.constant(2.0)) for agent in agents]
""",
            target="Agent.target",
            line=9,
            outcome=Outcome.RETRACES,
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, sizes):
    return tf.reshape(x, sizes)
for i in range(3):
    x = tf.ones([2, 3]) * float(i)
    r = target(x, x.shape[:2])
""",
            line=7,
            outcome=Outcome.RETRACES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, sizes):
    return tf.reshape(x, sizes)
for i in range(3):
    x = tf.ones([2, 3]) * float(i)
    r = target(x, tuple(x.shape[:2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Agent:
    def __init__(self, k):
        self.w = tf.Variable(k)
    @tf.function
    def target(self, x):
        return x * self.w
agents = [Agent(float(k)) for k in range(2)]
r = []
for epoch in range(5):
    for agent in agents:
        r.append(agent.target(tf.constant(2.0)))
""",
            target="Agent.target",
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, f):
    return f(x)
triple = lambda v: v * 3
for i in range(3):
    r = target(tf.constant(2), triple)
"""
        ),
        Example(
            """\
import tensorflow as tf
@tf.function
def target(x, f):
    return f(x)
r = target(tf.constant(2), lambda v: v * 3)
"""
        ),
    ),
    known_problems="""It is information because in no sample that was read could somebody act on four of five
findings.""",
    reference="semantics.md R18",
)
