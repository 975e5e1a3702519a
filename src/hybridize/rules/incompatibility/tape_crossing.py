"""HY352: gradient tapes that cross into a traced function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import LibInst
from hybridize.domain.session import solved
from hybridize.facts.model import Evidence
from hybridize.facts.state.guards import may_hold_tensor
from hybridize.facts.symbolic import CLOSURE
from hybridize.flow.frames import Frame
from hybridize.library.dialect import DERIVES
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import arguments
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.gradients.tapes import all_inside, by_own_results
from hybridize.tracing.views import FunctionView, ProjectView

Uses: TypeAlias = dict[Frame, list[tuple[ir.Call, list[LibInst]]]]
_TAPE: Final = "tf.GradientTape"
_METHODS: Final = DERIVES | {"watch"}


def scan(function: FunctionView) -> Iterator[Hit]:
    """The extent of the function uses a tape that it has not made."""
    if not function.facts.may_be_hybrid:
        return
    for result, caller, derives in by_own_results(function):
        said = "returns a value together with what is computed from it, and a caller derives one by the other"
        here = Evidence(said, function.code.path, result.position >> 16)
        yield Hit(
            result.position, said, evidence=(here, Evidence("gives None", caller.code.path, derives.position >> 16))
        )
    used = _used(function.project)
    if not used:
        return
    extents = function.project.extents
    users = function.project.shared("users of tapes", lambda: extents.set_of(used))
    for frame in function.frames:
        extent = extents.of(frame)
        for each in sorted(extents.frames(extent & users), key=lambda f: f.uid):
            for instr, tapes in used[each]:
                # A helper of several callers sees the tapes of all of them: the extent's own is the one meant.
                own = any(extent & extents.with_code(tape.site[0]) for tape in tapes)
                if own or not _crosses(function.project, each, instr):
                    continue
                path = each.code.path if each.code is not function.code else None
                if all_inside(function, tapes, extent):
                    said = "uses a gradient tape that each call brings anew: every call traces anew"
                    yield Hit(instr.position, said, path=path, level=Level.WARNING, outcome=Outcome.RETRACES)
                else:
                    yield Hit(
                        instr.position, "uses a gradient tape from outside, which records nothing in here", path=path
                    )


@solved
def _used(project: ProjectView) -> Uses:
    """The uses of tapes in frames other than the one that made them, over the whole program."""
    found: Uses = {}
    for code, frames in project.solution.frames.items():
        slots = _tape_slots(code) if not code.is_body else []
        for frame in frames if slots else ():
            uses = list(_tape_uses(frame, slots))
            if uses:
                found[frame] = uses
    return found


def _tape_slots(code: Code) -> list[tuple[ir.Call, int]]:
    """The calls that may use a tape, with the slot that it would be in."""
    index = index_of(code)
    found: list[tuple[ir.Call, int]] = []
    for instr in index.of(ir.Call):
        made = index.definitions.get(instr.function)
        if isinstance(made, ir.Attr) and made.name in _METHODS:
            found.append((instr, made.owner))
        found += [(instr, slot) for name, slot in instr.keywords if name == "tape"]
    return found


def _tape_uses(frame: Frame, slots: list[tuple[ir.Call, int]]) -> Iterator[tuple[ir.Call, list[LibInst]]]:
    for instr, slot in slots:
        value = frame.vals[slot] or ()
        tapes = [o for o in value if isinstance(o, LibInst) and o.cls == _TAPE and o.site[0] is not frame.code]
        if tapes:
            yield instr, tapes


def _crosses(project: ProjectView, frame: Frame, call: ir.Call) -> bool:
    """Whether the tape meets tensors that it does not know: those that tracing puts in the place of arguments.

    Tensors that are captured, like the tape, are the very ones that it has recorded.
    """
    for slot in arguments(call):
        value = frame.vals[slot] or frozenset()
        may_be = may_hold_tensor(value)
        if may_be and project.symbolic.mask(frame, slot) & ~CLOSURE:
            return True
    return False


RULE = Rule(
    code="HY352",
    name="tape-crossing",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Uses a gradient tape that was made outside of the function.",
    details="""A tape that was opened outside does not see what a traced function computes inside: `tape.watch(x)`
and `tape.gradient(...)` there give None, without any message. Where all that it records and derives is computed
inside, the gradients are right, but a new tape at each call means a new trace. Open and use the tape inside, or do
both outside, around the call of the traced function.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
w = tf.Variable(2.0)
def target(x):
    h = w * x
    return h, h * h
with tf.GradientTape() as tape:
    h, y = target(tf.constant(3.0))
r1 = tape.gradient(y, h)
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(tape, x):
    tape.watch(x)
    return x * x
x = tf.constant(3.0)
with tf.GradientTape() as outer:
    y = target(outer, x)
r1 = outer.gradient(y, x)
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
class Step:
    def target(self, loss):
        return self.tape.gradient(loss, v)
step = Step()
with tf.GradientTape() as step.tape:
    loss = v * v
r1 = step.target(loss)
""",
            target="Step.target",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
def target(tape, x):
    return tape.gradient(v * v * x, v)
r = []
for i in range(3):
    with tf.GradientTape() as outer:
        r.append(target(outer, tf.constant(3.0)))
""",
            line=4,
            outcome=Outcome.RETRACES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
def target(x):
    with tf.GradientTape() as tape:
        loss = v * x
    return tape.gradient(loss, [v])
r1 = target(tf.constant(3.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
def target(x):
    return v * v * x
with tf.GradientTape() as tape:
    y = target(tf.constant(3.0))
r1 = tape.gradient(y, v)
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
def gradient(tape, loss):
    return tape.gradient(loss, [v])
def target(x):
    with tf.GradientTape() as tape:
        loss = v * x
    return gradient(tape, loss)
def other(x):
    with tf.GradientTape() as tape:
        loss = v + x
    return gradient(tape, loss)
r1 = target(tf.constant(3.0))
r2 = other(tf.constant(3.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
v = tf.Variable(2.0)
@tf.custom_gradient
def cube(x):
    with tf.GradientTape() as inner:
        loss = v * v * v
    @tf.function
    def target(dy):
        return dy * inner.gradient(loss, [v])[0]
    return loss * x, target
x = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = cube(x)
r1 = tape.gradient(y, x)
""",
            target="cube.target",
        ),
    ),
    reference="semantics.md R11",
)
