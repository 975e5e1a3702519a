"""HY320: recursion that a condition on a tensor would end."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.calls import DIRECT
from hybridize.facts.origins import calls_of
from hybridize.program import ir
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """A function that calls itself where only the graph knows whether to go on."""
    own = {pos for pos, callee in calls_of(view.frame, DIRECT) if callee.code is view.code}
    if not own:
        return
    flow = control(view)
    for site in flow.structure.of(ir.Call):
        if site.instr.position in own and flow.runs(site):
            mask, python = _ends(flow, site)
            if mask and not python:
                yield Hit(
                    site.instr.position, f"`{view.code.name}` calls itself until a symbolic tensor says stop", mask
                )
                return


def _ends(flow: Control, call: Site) -> tuple[int, bool]:
    """What decides whether control reaches a call: the mask of conditions of the graph, and whether Python's do too."""
    mask, python = 0, False
    around = [call, *(outer for outer, _ in call.around())]
    for branch in flow.structure.branches:
        decides = any(branch is each for each in around) or (
            any(branch.block is each.block and branch.index < each.index for each in around)
            and any(isinstance(s.instr, (ir.Return, ir.Raise)) for s in flow.structure.within(branch))
        )
        if decides and flow.view.value(branch.instr.condition):
            found = flow.condition(branch)
            mask |= found
            python = python or (not found and not flow.is_short_circuit(branch))
    return mask, python


RULE = Rule(
    code="HY320",
    name="tensor-recursion",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Recursion that only a condition on a tensor would end.",
    details="""Both branches of a condition on a symbolic tensor are traced, so a function that calls itself in one
of them is traced without end, until Python's recursion limit. Write a `while` loop on the tensor. Recursion over
Python structures or numbers is unrolled while tracing, and works.""",
    frame=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(n):
    if n <= 1:
        return n
    return n * target(n - 1)
r1 = target(tf.constant(3))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def halve(x, steps):
    return halve(x / 2.0, steps + 1) if tf.reduce_max(x) > 1.0 else steps
def target(x):
    return halve(x, tf.constant(0))
r1 = target(tf.constant([4.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def total(tree):
    if isinstance(tree, list):
        return tf.add_n([total(part) for part in tree])
    return tf.reduce_sum(tree)
def target(x):
    return total([x, [x, x * 2]])
r1 = target(tf.constant([4.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def power(x, n):
    if n == 0:
        return tf.ones_like(x)
    y = power(x, n - 1) * x
    return y if tf.reduce_max(y) > 1.0 else -y
def target(x):
    return power(x, 3)
r1 = target(tf.constant([4.0]))
"""
        ),
    ),
    reference="semantics.md R12",
)
