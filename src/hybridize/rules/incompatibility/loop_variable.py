"""HY317: variables that change their dtype, shape or structure in a loop of the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import BOTTOM, NONE_V, Container, Tensor, Tup, Value
from hybridize.domain.tensors import DENSE, DYNAMIC
from hybridize.domain.words import ELEMENTWISE
from hybridize.facts.model import Evidence
from hybridize.facts.symbolic import OPERATION
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import operands
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.autograph.kinds import certain
from hybridize.tracing.autograph.shape_changes import broadcast, grown, is_shortened, rank_by_index, shape_before
from hybridize.tracing.autograph.turn import Turn
from hybridize.tracing.control import Control, control
from hybridize.tracing.shapes.dims import unknown_dims
from hybridize.tracing.structure import Site, Turning
from hybridize.tracing.views import FrameView

_RANKS: Final = frozenset({"tf.expand_dims", "tf.stack"})
_GROWS: Final = frozenset({"tf.concat", "tf.repeat", "tf.tile", "tf.pad"})
_MOST: Final = 4  # values before a loop that are looked at
_OPTIONS: Final = "tf.autograph.experimental.set_loop_options"


def scan(view: FrameView) -> Iterator[Hit]:
    """The variables of each loop of the graph: what they hold before it and after a turn."""
    flow = control(view)
    for site, mask in flow.loops:
        loop = site.instr
        invariant = any(
            _OPTIONS in view.names(s.instr.function)
            for s in flow.structure.within(site)
            if isinstance(s.instr, ir.Call)
        )
        signed = _has_open_signature(view)
        dataset = flow.is_over_dataset(site)
        for phi in loop.phis:
            entry = next((slot for edge, slot in phi.incoming if edge == loop.entry), -1)
            if phi.target not in flow.structure.read or (entry < 0 and not dataset):
                continue
            if dataset and (_is_unbound(view, entry) or view.value(entry) == NONE_V):
                name = view.code.slot_names.get(phi.target, "a variable")
                yield Hit(loop.position, f"`{name}` has no value before a loop over a dataset", mask)
                continue
            backs = [slot for edge, slot in phi.incoming if edge != loop.entry and view.frame.edges[edge]]
            # The shapes of a signature are not those of the calls.
            free = invariant or dataset or (signed and view.mask(entry) & ~OPERATION != 0)
            why = _why(flow, site, phi, entry, backs, free)
            if why is not None:
                assigned = list(_assigned(view, backs))
                position = assigned[0] if assigned else loop.position
                name = view.code.slot_names.get(phi.target, "a variable")
                # What replaces None may be as good as zeros.
                level = Level.WARNING if view.value(entry) == NONE_V else Level.ERROR
                message = f"`{name}` changes in a loop of the graph: {why}"
                evidence = _places(flow, site, phi.target, message, assigned or [position])
                yield Hit(position, message, mask, evidence, level=level)


def _is_unbound(view: FrameView, slot: int) -> bool:
    """Whether a variable has no value at a loop: none at all, or none in the first turn of a loop around that one."""
    made = view.definition(slot) if slot >= 0 else None
    if not isinstance(made, ir.Phi):
        return slot < 0
    around = (instr for instr in index_of(view.code).of(ir.Loop))
    loop = next((each for each in around if any(phi is made for phi in each.phis)), None)
    return loop is not None and all(edge != loop.entry for edge, _ in made.incoming)


def _places(flow: Control, site: Site, head: int, message: str, assigned: list[int]) -> tuple[Evidence, ...]:
    """The hit, other places that give the variable its value, and where the loop asks whether it is None."""
    path = flow.view.code.path
    given = dict.fromkeys(position >> 16 for position in assigned)
    lines = {instr.position >> 16 for instr in _questions(flow, site, head)} - set(given)
    first, *others = given
    also = [Evidence("or is given its value here", path, line) for line in others]
    return (Evidence(message, path, first), *also, *(Evidence("is asked here", path, n) for n in sorted(lines)))


def _has_open_signature(view: FrameView) -> bool:
    """Whether a decorator of the function names the types of its arguments, and not all of their dims."""
    calls = [d for d in view.code.decorators if isinstance(d, ast.Call)]
    signatures = [k.value for call in calls for k in call.keywords if k.arg == "input_signature"]
    return any(not _is_closed(signature) for signature in signatures)


def _is_closed(signature: ast.expr) -> bool:
    """Whether a signature is written as sequences of specs whose dims are all numbers."""
    if isinstance(signature, (ast.List, ast.Tuple)):
        return all(_is_closed(part) for part in signature.elts)
    if not isinstance(signature, ast.Call):
        return False
    shapes = [*signature.args[:1], *(k.value for k in signature.keywords if k.arg == "shape")]
    return len(shapes) == 1 and all(
        isinstance(shape, (ast.List, ast.Tuple))
        and all(isinstance(dim, ast.Constant) and isinstance(dim.value, int) for dim in shape.elts)
        for shape in shapes
    )


def _why(flow: Control, site: Turning, phi: ir.Phi, entry: int, backs: list[int], invariant: bool) -> str | None:
    before = flow.view.value(entry)
    if before == NONE_V:
        if _asked(flow, site, phi.target):
            return "it is None before, and `is None` is never true in the graph"
        return None
    for back in backs:
        after = flow.view.value(back)
        why = certain(before, after, shapes=not invariant)
        if why is None:
            made = flow.view.definition(back)
            why = _shape_change(flow, before, made, phi.target, invariant) if made is not None else None
        if why is None and not invariant and unknown_dims(flow.view, entry) is None:
            why = _after_a_turn(flow, site, phi.target, entry, back) or _opened(flow, entry, back)
        if why is not None:
            return why
    return None


def _after_a_turn(flow: Control, site: Turning, head: int, entry: int, back: int) -> str | None:
    """Why what a turn makes of one of the values before the loop is of another shape."""
    others = {}
    for phi in site.instr.phis:
        value = next((flow.view.value(slot) for edge, slot in phi.incoming if edge == site.instr.entry), BOTTOM)
        others[phi.target] = value if len(value) == 1 else BOTTOM
    for obj in sorted(flow.view.value(entry), key=repr)[:_MOST]:
        if isinstance(obj, Tensor):
            after = Turn(flow.view, {**others, head: obj.value}).value(back)
            why = certain(obj.value, after, shapes=True)
            if why is not None:
                return why
    return None


def _opened(flow: Control, entry: int, back: int) -> str | None:
    """Why a turn leaves open a dim of a tensor of which the graph knows the shape before the loop."""
    tensors = flow.view.value(entry)
    if not all(isinstance(o, Tensor) and o.kind == DENSE for o in tensors) or unknown_dims(flow.view, back) is None:
        return None
    return "only a run knows its shape after a turn"


def _asked(flow: Control, site: Site, head: int) -> bool:
    """Whether the loop compares a variable with None while it may still be what it was before the loop."""
    return any(not _starts_as_zeros(flow, site, instr.target) for instr in list(_questions(flow, site, head))[:1])


def _questions(flow: Control, site: Site, head: int) -> Iterator[Instr]:
    """The comparisons in a loop of a variable, as it is at the loop's head, with None."""
    for inner in flow.structure.within(site):
        instr = inner.instr
        if isinstance(instr, ir.Compare) and instr.operator in ("is", "is not", "==", "!="):
            sides = (instr.left, instr.right)
            if any(_is(flow, slot, head, 0) for slot in sides) and any(flow.view.value(s) == NONE_V for s in sides):
                yield instr


def _starts_as_zeros(flow: Control, site: Site, condition: int) -> bool:
    """Whether what replaces None is zeros, which is what the graph starts with."""
    for inner in flow.structure.within(site):
        if isinstance(inner.instr, ir.If) and inner.instr.condition == condition:
            for phi in inner.joins():
                made = [flow.view.definition(slot) for _, slot in phi.incoming]
                calls = [name for m in made if isinstance(m, ir.Call) for name in flow.view.names(m.function)]
                if any(name in ("tf.zeros", "tf.zeros_like") for name in calls):
                    return True
    return False


def _is(flow: Control, slot: int, head: int, depth: int) -> bool:
    """Whether a slot holds the variable as it was at the head of the loop."""
    if slot == head:
        return True
    made = flow.view.definition(slot) if depth < 4 else None
    return isinstance(made, ir.Copy) and _is(flow, made.source, head, depth + 1)


def _assigned(view: FrameView, backs: list[int]) -> Iterator[int]:
    """The places of the statements that make the new value, those in branches included."""
    todo, seen = list(backs), set(backs)
    while todo:
        made = view.definition(todo.pop(0))
        if made is None:
            continue
        if isinstance(made, (ir.Sequence, ir.Operator, ir.Call, ir.Item, ir.Unpack)):
            yield int(made.position)
        elif isinstance(made, ir.Phi):
            new = operands(made)
            todo += [slot for slot in new if slot not in seen]
            seen.update(new)


# Shapes that change by what is done to the variable itself -----------------------------------------------------------


def _shape_change(flow: Control, before: Value, made: Instr, head: int, invariant: bool) -> str | None:
    if isinstance(made, ir.Operator) and any(_is(flow, s, head, 0) for s in (made.left, made.right)):
        other = made.right if _is(flow, made.left, head, 0) else made.left
        if all(isinstance(o, (Container, Tup)) for o in (*before, *flow.view.value(other))) and made.operator == "+":
            return "it grows" if flow.view.value(other) else None
        if made.operator in ELEMENTWISE and not invariant:
            return broadcast(before, flow.view.value(other))
    shape = shape_before(before)
    if invariant or shape is None:
        return None
    if isinstance(made, ir.Item) and _is(flow, made.source, head, 0) and shape and shape[0] != DYNAMIC:
        return "a slice of itself is shorter" if is_shortened(flow, made.index) else rank_by_index(flow, made.index)
    if not isinstance(made, ir.Call) or not made.arguments:
        return None
    names = flow.view.names(made.function)
    operands = [slot for slot, _ in made.arguments]
    if any(n in _RANKS for n in names) and _mentions(flow, operands[0], head):
        return "its rank grows"
    if any(n in _GROWS for n in names) and _mentions(flow, operands[0], head):
        return grown(flow, shape, made, "tf.concat" in names)
    return None


def _mentions(flow: Control, slot: int, head: int) -> bool:
    """Whether an operand is the variable, or a list or tuple with it."""
    if _is(flow, slot, head, 0):
        return True
    made = flow.view.definition(slot)
    if not isinstance(made, ir.Sequence):
        return False
    return len(made.elements) > 1 and any(_is(flow, part, head, 0) for part, _ in made.elements)


RULE = Rule(
    code="HY317",
    name="loop-variable-change",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A variable changes its dtype, shape or structure in a loop of the graph.",
    details="""A loop over a symbolic tensor or dataset becomes `tf.while_loop`: its variables must keep their
dtype, shape and structure from turn to turn. So `total = 0` that sums floats, a result that `tf.concat` grows,
`x = x / 2` on integers, or a list that becomes longer raise. A variable that is None before the loop starts as
zeros, and `is None` in the loop is never true: the result differs silently. Start with the right dtype and
shape, name a dynamic shape by `tf.autograph.experimental.set_loop_options(shape_invariants=...)`, or collect in
a `tf.TensorArray`.""",
    frame=scan,
    codes=lambda code: ir.Loop in index_of(code).by_operation,
    bad=(
        Example(
            """\
import tensorflow as tf
@tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
def target(x):
    i = tf.constant(0)
    while i < 2:
        x = tf.concat([x, x], 0)
        i += 1
    return x
r1 = target(tf.ones([2]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    for _ in range(n):
        x = x[:, 1:] if x.shape[1] > 2 else x * 2.0
    return x
r1 = target(tf.ones([2, 3]), tf.constant(2))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    kept = x
    for v in x:
        kept = tf.boolean_mask(kept, kept < v)
    return kept
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def halved(x):
    return tf.nn.avg_pool1d(x, 2, 2, "VALID")
def target(x):
    while tf.shape(x)[1] > 1:
        x = halved(x)
    return x
r1 = target(tf.ones([1, 4, 2]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(a, b, n):
    for _ in tf.range(n):
        a, b = b, a
    return a
r1 = target(tf.ones([2]), tf.ones([3]), tf.constant(2))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = 0
    for v in x:
        total = total + v
    return total
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    out = tf.zeros([1])
    for v in x:
        out = tf.concat([out, [v]], 0)
    return out
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    state = None
    for v in x:
        if state is None:
            state = v
        state = state + v
    return state
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=7,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
data = tf.data.Dataset.range(3).batch(1)
def target(n, x):
    for i in tf.range(n):
        for batch in data:
            last = x * tf.cast(batch[0], tf.float32)
        x = x + last
    return x
r1 = target(tf.constant(2), tf.constant(1.0))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
data = tf.data.Dataset.range(3).batch(1)
def target(n, x):
    for i in tf.range(n):
        last = x
        for batch in data:
            last = x * tf.cast(batch[0], tf.float32)
        x = x + last
    return x
r1 = target(tf.constant(2), tf.constant(1.0))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, n):
    for _ in tf.range(n):
        x = tf.transpose(x) + 1.0
    return x
r1 = target(tf.ones([2, 2]), tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total, last = 0.0, None
    for v in x:
        total += v
        last = v
    return total, last
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    out = tf.zeros([1])
    for i in range(3):  # unrolled
        out = tf.concat([out, x], 0)
    return out
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = 0.0
    part = 0  # not read before it is assigned
    for v in x:
        part = v * 2.0
        total = total + part
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    reference="semantics.md R12",
)
