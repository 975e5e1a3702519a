"""HY357: an operation under a condition on a tensor that the shapes which arrive never allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at
from hybridize.facts.symbolic import OPERATION
from hybridize.library.dialect import CHOOSING
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.failing.refused import LOOKED_AT, Refusal, raises, refusal
from hybridize.tracing.structure import Branch, Site, Turning
from hybridize.tracing.views import FrameView

#: Functions that run one of those that they are given, and trace all of them; the place of the condition.
_CHOOSING: Final = {**dict.fromkeys(CHOOSING, 0), "tf.while_loop": 2}


def scan(view: FrameView) -> Iterator[Hit]:
    """What is traced whatever the condition says, and raises then."""
    yield from _chosen(view)
    if index_of(view.code).by_operation.keys().isdisjoint((ir.If, ir.Loop)):
        return
    flow = control(view)
    if not flow.is_split:
        return
    for site in flow.structure.of(*LOOKED_AT):
        mask, line = _guard(flow, site)
        if not mask:
            continue
        found = refusal(view, site.instr)
        if found is not None and flow.reached(site):
            yield _hit(view, site.instr, found, mask, line)


def _hit(view: FrameView, instr: Instr, found: Refusal, mask: int, line: int) -> Hit:
    message = f"{found.said} does not suit the shapes or dtypes that arrive here, and tracing runs both branches"
    path = view.code.path
    evidence = [Evidence(message, path, instr.position >> 16)]
    if (found.path, found.position) != (path, instr.position):
        evidence.append(Evidence("what is refused", found.path, found.position >> 16))
    if line:
        evidence.append(Evidence("the condition on a tensor", path, line))
    return Hit(instr.position, message, mask, tuple(evidence))


def _chosen(view: FrameView) -> Iterator[Hit]:
    """`tf.cond(c, f, g)`: eager code runs one of them, a graph has both."""
    for instr in index_of(view.code).of(ir.Call):
        place = next((_CHOOSING[name] for name in view.names(instr.function) if name in _CHOOSING), None)
        if place is None:
            continue
        conditions = [slot for slot, _ in instr.arguments[:1]] + [slot for key, slot in instr.keywords if key == "pred"]
        tensor = not place and conditions and not control(view).tensor(conditions[0])
        if tensor and any(name in ("tf.cond", "keras.ops.cond") for name in view.names(instr.function)):
            continue  # a condition of Python's
        for callee in called_at(view.frame, instr.position, (How.CALLBACK,)):
            found = raises(callee, view)
            if found is not None:
                yield _hit(view, instr, found, OPERATION, 0)
                break


def _guard(flow: Control, site: Site) -> tuple[int, int]:
    """The mask and line of the condition on a tensor that a site stands under; 0 where Python's may keep it away."""
    at = site
    while True:
        for before in at.block[: at.index]:
            if isinstance(before, (ir.If, ir.Loop)) and (mask := _leaves(flow, before)):
                return mask, before.position >> 16
        outer, part = at.parent, at.part
        if outer is None:
            return 0, 0
        if isinstance(outer, Branch) and part in ("then", "else"):
            mask = flow.condition(outer)
            if mask:
                return (mask, outer.instr.position >> 16) if flow.runs(outer) else (0, 0)
            if all(flow.truth(flow.view.value(outer.instr.condition))):
                return 0, 0
        elif isinstance(outer, Turning) and part in ("body", "orelse"):
            mask = flow.loop(outer)
            return (mask, outer.instr.position >> 16) if mask and flow.runs(outer) else (0, 0)
        elif isinstance(outer.instr, ir.Try) and part == "body" and outer.instr.handlers:
            return 0, 0
        at = outer


def _leaves(flow: Control, instr: ir.If | ir.Loop) -> int:
    """The mask of a condition on a tensor one of whose branches leaves: what follows becomes the other branch."""
    if not isinstance(instr, ir.If) or (flow.falls(instr.then) and flow.falls(instr.orelse)):
        return 0
    site = flow.structure.at(instr)
    return flow.condition(site) if isinstance(site, Branch) else 0


RULE = Rule(
    code="HY357",
    name="refused-branch",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="An operation under a condition on a tensor does not suit the shapes that arrive.",
    details="""Both branches of a condition on a tensor are traced, and the body of a loop that may take no turn. What
stands there must suit every argument that the function is called with, although eager code only comes to it where the
condition holds: `if tf.rank(x) == 3: x = tf.transpose(x, [1, 2, 0])` raises while it is traced for a matrix. Ask for
the static shape (`x.shape.rank`, `x.shape[0]`): such a condition is Python's, and decides which branch is traced.""",
    level=Level.INFO,
    frame=scan,
    codes=lambda code: not index_of(code).by_operation.keys().isdisjoint((ir.If, ir.Loop, ir.Call)),
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.rank(x) == 3:
        x = tf.transpose(x, [1, 2, 0])
    return tf.reduce_sum(x)
r1 = target(tf.ones([2, 3, 4]))
r2 = target(tf.ones([3, 4]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
w = tf.ones([3, 1])
def project(x):
    return tf.matmul(x, w)
def target(x):
    return tf.cond(tf.shape(x)[1] == 3, lambda: project(x), lambda: x)
r1 = target(tf.ones([2, 3]))
r2 = target(tf.ones([2, 2]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.size(x) < 6:
        return tf.reduce_sum(x)
    return tf.reduce_sum(x) + tf.unstack(x)[5]
r1 = target(tf.ones([8]))
r2 = target(tf.ones([2]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    if x.shape.rank == 3:
        x = tf.transpose(x, [1, 2, 0])
    return tf.reduce_sum(x)
r1 = target(tf.ones([2, 3, 4]))
r2 = target(tf.ones([3, 4]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.shape(x)[0] > 2:
        x = tf.squeeze(x, axis=1)[:5]
    return tf.reduce_sum(x)
r1 = target(tf.ones([3, 1]))
r2 = target(tf.ones([1, 1]))
"""
        ),
    ),
    reference="semantics.md R12",
)
