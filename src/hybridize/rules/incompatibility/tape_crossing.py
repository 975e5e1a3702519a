"""HY352: gradient tapes that cross into a traced function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import LibInst
from hybridize.flow.frames import Frame
from hybridize.program.ir import Instr, Op
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FrameView, FunctionView, ProjectView

Uses: TypeAlias = dict[Frame, list[tuple[Instr, list[LibInst]]]]
_TAPE: Final = "tf.GradientTape"
_METHODS: Final = frozenset({"watch", "gradient", "jacobian", "batch_jacobian"})


def scan(function: FunctionView) -> Iterator[Hit]:
    """The extent of the function uses a tape that it has not made."""
    used = _used(function.project)
    if not used or not function.facts.candidate:
        return
    extents = function.project.extents
    users = function.project.shared("users of tapes", lambda: extents.set_of(used))
    for frame in function.frames:
        extent = extents.of(frame)
        for each in sorted(extents.frames(extent & users), key=lambda f: f.uid):
            for instr, tapes in used[each]:
                # A helper of several callers sees the tapes of all of them: the extent's own is the one meant.
                if not any(extent & extents.with_code(tape.site[0]) for tape in tapes):
                    path = each.code.path if each.code is not function.code else None
                    yield Hit(instr[-1], "uses a gradient tape from outside, which records nothing in here", path=path)


def _used(project: ProjectView) -> Uses:
    """The uses of tapes in frames other than the one that made them, over the whole program."""

    def find() -> Uses:
        found: Uses = {}
        for frames in project.solution.frames.values():
            for frame in frames:
                uses = list(_tape_uses(FrameView(project, frame)))
                if uses:
                    found[frame] = uses
        return found

    return project.shared("tape-crossing", find)


def _tape_uses(view: FrameView) -> Iterator[tuple[Instr, list[LibInst]]]:
    code = view.code
    if code.kind in ("module", "class"):
        return
    for instr in view.instructions():
        if instr[0] != Op.CALL:
            continue
        made = view.definition(instr[2])
        slots = [made[2]] if made is not None and made[0] == Op.ATTR and made[3] in _METHODS else []
        slots += [slot for name, slot in instr[4] if name == "tape"]
        for slot in slots:
            tapes = [o for o in view.value(slot) if isinstance(o, LibInst) and o.cls == _TAPE and o.site[0] is not code]
            if tapes:
                yield instr, tapes


RULE = Rule(
    code="HY352",
    name="tape-crossing",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Uses a gradient tape that was made outside of the function.",
    details="""A tape that was opened outside does not see what a traced function computes inside: `tape.watch(x)`
and `tape.gradient(...)` there give None, without any message. Open and use the tape inside, or do both outside,
around the call of the traced function.""",
    root=scan,
    bad=(
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
    ),
    reference="semantics.md R11",
)
