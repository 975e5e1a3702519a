"""HY314: loops that leave, or go on, by a condition on a tensor that AutoGraph cannot move into the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_CALL
from hybridize.facts.origins import called_at
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Branch, Site, Turning
from hybridize.tracing.views import FrameView

#: What Python gives elements of for ever.
_ENDLESS: Final = frozenset({"itertools.count", "itertools.cycle", "itertools.repeat"})


def scan(view: FrameView) -> Iterator[Hit]:
    """`break` and `return` in Python loops, `return` in graph loops, `while` conditions that become tensors."""
    flow = control(view)
    for jump in index_of(view.code).of(ir.Jump):
        if jump.edge in flow.structure.breaks:
            yield from _break(flow, flow.structure.at(jump))
    for site in flow.structure.of(ir.Return):
        yield from _return(flow, site)
    for site in flow.structure.loops:
        loop = site.instr
        if not view.code.is_generator and flow.runs(site) and not flow.loop(site) and _is_endless(flow, site):
            text = "only an error of an operation ends this loop, and none comes while it is traced: that never ends"
            yield Hit(site.instr.position, text)
        if not loop.is_for and flow.runs(site) and not flow.loop(site):
            mask = flow.tensor(loop.condition)
            if mask and view.value(loop.condition):
                text = "the condition of a `while` loop starts as Python's and becomes a symbolic tensor"
                yield Hit(site.instr.position, text, mask)


def _is_endless(flow: Control, site: Turning) -> bool:
    """Whether Python goes round a loop for ever, as long as nothing raises."""
    loop = site.instr
    if loop.breaks or any(isinstance(inner.instr, (ir.Return, ir.Raise)) for inner in flow.structure.within(site)):
        return False
    if loop.is_for:
        return _goes_on(flow.view, loop.iterable)
    value = flow.view.value(loop.condition) if loop.condition >= 0 else frozenset()
    return bool(value) and flow.truth(value) == (True, False)


def _goes_on(view: FrameView, slot: int) -> bool:
    """Whether a slot holds what gives elements without an end: `itertools.count()`, a generator that goes on."""
    made = view.definition(slot)
    if not isinstance(made, ir.Call):
        return False
    names = view.names(made.function)
    if names:
        once = names == ("itertools.repeat",) and len(made.arguments) + len(made.keywords) > 1
        return not once and all(name in _ENDLESS for name in names)
    makers = called_at(view.frame, made.position, BY_CALL)
    return bool(makers) and all(
        callee.code.is_generator
        and any(
            _is_endless(flow, each)
            for flow in (control(FrameView(view.project, callee)),)
            for each in flow.structure.loops
        )
        for callee in makers
    )


def _to_loop(flow: Control, site: Site) -> tuple[Turning | None, int, bool]:
    """The loop around a site, the mask of the conditions between (0: Python's), and whether any of them may fail."""
    mask, conditional = 0, False
    for outer, part in site.around():
        if isinstance(outer, Branch):
            mask |= flow.condition(outer)
            may = flow.truth(flow.view.value(outer.instr.condition))
            conditional = conditional or may[part == "then"] or bool(mask)
        elif isinstance(outer, Turning) and part == "body":
            return outer, mask, conditional
    return None, mask, conditional


def _break(flow: Control, site: Site) -> Iterator[Hit]:
    loop, mask, _ = _to_loop(flow, site)
    if loop is not None and mask and not flow.loop(loop) and flow.runs(site):
        yield Hit(site.instr.position, "breaks a Python loop by a condition on a symbolic tensor", mask)


def _return(flow: Control, site: Site) -> Iterator[Hit]:
    loop, mask, conditional = _to_loop(flow, site)
    if loop is None or flow.is_comprehension(loop) or not flow.runs(loop):
        return
    graph = flow.loop(loop)
    if graph and (conditional or flow.is_over_dataset(loop)):
        yield Hit(site.instr.position, "returns from inside a loop of the graph", graph)
    elif mask and not graph and flow.runs(site):
        yield Hit(site.instr.position, "returns from a Python loop by a condition on a symbolic tensor", mask)


RULE = Rule(
    code="HY314",
    name="python-loop-exit",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="Leaves a loop by a condition on a tensor that the loop itself does not depend on.",
    act="let the condition of the loop depend on the tensor, or use `tf.while_loop`",
    details="""A loop over Python values is unrolled while tracing, so `break` or `return` by a condition on a
symbolic tensor cannot leave it; nor can `while True:`, or a `while` whose flag only later becomes a tensor. A
loop of the graph (`for i in tf.range(n)`, `while tensor:`) may `break`, but not `return`. Loop over `tf.range`,
start the flag as `tf.constant(True)`, and return after the loop. `continue` is fine. A Python loop that nothing but an
error ends (`while True:` until a dataset is out of elements, `itertools.count()`) is unrolled for ever: the operations
that would raise it run later. Make a graph of what one turn does.""",
    frame=scan,
    codes=lambda code: ir.Loop in index_of(code).by_operation,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    for i in range(4):
        x = x + 1
        if tf.reduce_sum(x) > 5:
            break
    return x
r1 = target(tf.constant(3))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    done = False
    while not done:
        x = x + 1
        done = x > 5
    return x
r1 = target(tf.constant(3))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    for i in tf.range(4):
        if x > i:
            return x * i
    return x
r1 = target(tf.constant(3))
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
    for i in tf.range(4):
        x = x + i
        if x > 5:
            break
    return x
r1 = target(tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, stop):
    for i in range(4):
        if i == stop:
            break
        if x > 4:
            continue
        x = x + 1
    return x
r1 = target(tf.constant(3), 2)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    i = 0
    while i < 3 and x < 5:
        x = x + 1
        i += 1
    return x
r1 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R12",
)
