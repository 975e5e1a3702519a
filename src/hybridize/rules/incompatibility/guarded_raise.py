"""HY313: `raise` under a condition on a tensor."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import BY_CALL
from hybridize.facts.origins import calls_of
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """Every branch of the graph is traced, and with it the `raise` in it or in what it calls."""
    failing = _failing(view)
    if not failing and ir.Raise not in index_of(view.code).by_operation:
        return
    flow = control(view)
    for site in flow.structure.of(ir.Raise):
        mask = _guard(flow, site)
        if mask:
            yield Hit(site.instr.position, "raises under a condition on a symbolic tensor: tracing runs it", mask)
    for pos, name in failing:
        for site in flow.structure.of(ir.Call):
            if site.instr.position == pos:
                mask = _guard(flow, site)
                if mask:
                    yield Hit(pos, f"calls `{name}`, which raises, under a condition on a symbolic tensor", mask)


def _guard(flow: Control, site: Site) -> int:
    """The mask of the branch of the graph around a site, 0 where a handler or a Python condition stands between."""
    for outer, part in site.around():
        mask = next((m for s, _, m in flow.guards(site) if s is outer), 0)
        if mask:
            return mask if flow.runs(site) else 0
        if isinstance(outer.instr, ir.Try) and part == "body" and outer.instr.handlers:
            return 0
        if isinstance(outer.instr, ir.If) and part in ("then", "else"):
            value = flow.view.value(outer.instr.condition)
            if all(flow.truth(value)):
                return 0  # a condition of Python's that may not hold
    return 0


def _failing(view: FrameView) -> list[tuple[int, str]]:
    """The calls of functions that do nothing but raise."""
    return [(pos, callee.code.name) for pos, callee in calls_of(view.frame, BY_CALL) if _always_raises(callee)]


def _always_raises(frame: Frame) -> bool:
    return (
        not frame.ret and any(isinstance(instr, ir.Raise) for instr in frame.code.body) and not frame.code.is_generator
    )


RULE = Rule(
    code="HY313",
    name="guarded-raise",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Raises an exception under a condition on a tensor.",
    details="""Both branches of a condition on a symbolic tensor are traced, so the `raise` runs while tracing,
whatever the tensor will hold. Use `tf.debugging.assert_*` or `tf.debugging.Assert`, which check when the graph
runs. A `raise` under a condition of Python's (a static shape, a mode) is fine.""",
    level=Level.INFO,
    frame=scan,
    codes=lambda code: not index_of(code).by_operation.keys().isdisjoint((ir.If, ir.Loop)),
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.reduce_any(x < 0):
        raise ValueError("negative")
    return tf.sqrt(x)
r1 = target(tf.constant([4.0]))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def fail():
    raise ValueError("negative")
def check(x):
    if x < 0:
        fail()
def target(x):
    check(x)
    return tf.sqrt(x)
r1 = target(tf.constant(4.0))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, mode):
    if mode == "sqrt":
        return tf.sqrt(x)
    elif x.shape.rank != 1:
        raise ValueError("a vector, please")
    else:
        return x
r1 = target(tf.constant([4.0]), "none")
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = x
    if x < 0:
        try:
            raise ValueError("negative")
        except ValueError:
            y = -x
    return y
r1 = target(tf.constant(4.0))
"""
        ),
    ),
    reference="semantics.md R12",
)
