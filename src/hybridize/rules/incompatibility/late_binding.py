"""HY321: lambdas that see a variable as it was, where Python would show them what it became."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.facts.calls.work import turns_once
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site, Turning
from hybridize.tracing.views import FrameView

_KEEPS: Final = frozenset("append extend insert add appendleft setdefault update".split())
_DISPLAYS: Final = (ir.List, ir.Tuple, ir.Dict, ir.Set)


def scan(view: FrameView) -> Iterator[Hit]:
    """A lambda captures what a later branch or loop, or the rest of the loop around it, assigns."""
    flow = control(view)
    order = {id(site): i for i, site in enumerate(flow.structure.sites)}
    for made in index_of(view.code).of(ir.Func):
        site, code = flow.structure.at(made), made.code
        if not code.is_lambda or not flow.runs(site):
            continue
        for name in sorted(code.free & view.code.cells):
            if _is_outlived(flow, site, name, order) or _changes_later(flow, site, name, order):
                text = f"a lambda captures `{name}`, which is assigned again: in a graph it keeps the value it had"
                yield Hit(made.position, text)
                break


def _has_lambda(code: Code) -> bool:
    """Whether a function has lambdas, and variables that are captured."""
    return bool(code.cells) and any(instr.code.is_lambda for instr in index_of(code).of(ir.Func))


def _is_outlived(flow: Control, site: Site, name: str, order: dict[int, int]) -> bool:
    """Whether a lambda made in a `for` loop is kept for after the loop that assigns what it captures."""
    loop = next((s for s, part in site.around() if isinstance(s, Turning) and part == "body"), None)
    if loop is None or not loop.instr.is_for or flow.is_comprehension(loop) or turns_once(flow.view.frame, loop.instr):
        return False
    inside = list(flow.structure.within(loop))
    writes = [s for s in inside if isinstance(s.instr, ir.SetCell) and s.instr.name == name]
    if not writes or _is_carried(flow, loop, name, order):
        return False
    slots = _holders(inside, site)
    return any(_keeps(flow, s, slots) for s in inside)


def _holders(sites: list[Site], site: Site) -> set[int]:
    """The slots that hold a lambda, or a display with it."""
    slots = {site.instr.target}
    for other in sites:
        if isinstance(other.instr, _DISPLAYS) and slots.intersection(operands(other.instr)):
            slots.add(other.instr.target)
    return slots


def _keeps(flow: Control, site: Site, slots: set[int]) -> bool:
    """Whether an instruction puts a lambda where the loop does not lose it."""
    instr = site.instr
    if isinstance(instr, ir.Call) and slots.intersection(s for s, _ in instr.arguments):
        made = flow.view.definition(instr.function)
        return isinstance(made, ir.Attr) and made.name in _KEEPS
    if isinstance(instr, (ir.SetItem, ir.SetAttr)):
        return instr.value in slots
    return isinstance(instr, ir.Operator) and instr.right in slots


def _changes_later(flow: Control, site: Site, name: str, order: dict[int, int]) -> bool:
    """Whether a branch or loop after a lambda assigns what it captures, and the lambda is used after that."""
    around = [site, *(outer for outer, _ in site.around())]
    slots = _holders(flow.structure.sites, site)
    for other in flow.structure.branches + flow.structure.loops:
        if not any(other.block is each.block and other.index > each.index for each in around):
            continue
        inside = list(flow.structure.within(other))
        if not any(isinstance(s.instr, ir.SetCell) and s.instr.name == name for s in inside) or not flow.runs(other):
            continue
        if _is_carried(flow, other, name, order):
            continue
        last = max(order[id(s)] for s in inside)
        if any(slots.intersection(operands(s.instr)) for s in flow.structure.sites[last + 1 :]):
            return True
    return False


def _is_carried(flow: Control, site: Site, name: str, order: dict[int, int]) -> bool:
    """Whether the function itself reads a variable in a branch or loop before assigning it, or afterwards."""
    names, inside = flow.view.code.slot_names, list(flow.structure.within(site))
    heads = list(site.instr.phis) if isinstance(site.instr, ir.Loop) else list(site.joins())
    if any(names.get(phi.target) == name and phi.target in flow.structure.read for phi in heads):
        return True
    assigned = {s.instr.value for s in inside if isinstance(s.instr, ir.SetCell) and s.instr.name == name}
    read = {slot for s in inside if not isinstance(s.instr, (ir.SetCell, ir.Phi)) for slot in operands(s.instr)}
    if any(names.get(slot) == name for slot in read - assigned):
        return True
    last = max((order[id(s)] for s in inside), default=order[id(site)])
    cells = [s for s in inside if isinstance(s.instr, (ir.Cell, ir.SetCell)) and s.instr.name == name]
    after = flow.structure.sites[last + 1 :]
    return bool(cells and isinstance(cells[0].instr, ir.Cell)) or any(
        isinstance(s.instr, ir.Cell) and s.instr.name == name for s in after
    )


RULE = Rule(
    code="HY321",
    name="late-binding",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="A lambda captures a variable that a loop or branch assigns again.",
    details="""Python looks a captured variable up when the lambda is called, so lambdas made in a loop all see its
last value. AutoGraph makes a function of the loop's (or branch's) body, and what only a lambda reads becomes that
function's own: each lambda keeps the value of its turn. Pass the value as a default (`lambda v, i=i: ...`), use
`functools.partial`, or a nested `def`.""",
    frame=scan,
    codes=_has_lambda,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    scales = []
    for i in range(3):
        scales.append(lambda v: v * i)
    return scales[0](x) + scales[1](x)
r1 = target(tf.constant(3))
""",
            line=5,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, shift=True):
    y = x
    double = lambda: y * 2
    if shift:
        y = x + 1
    return double()
r1 = target(tf.constant(3))
""",
            line=4,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x):
    scales = []
    for i in range(3):
        scales.append(lambda v, i=i: v * i)
    return scales[0](x) + scales[1](x)
r1 = target(tf.constant(3))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    for i in range(3):
        x = tf.map_fn(lambda v: v * i + 1, x)
    scales = [lambda v: v * k for k in range(2)]
    return scales[0](x)
r1 = target(tf.constant([3, 2]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    scales = []
    for i in [2]:
        scales.append(lambda v: v * i)
    return scales[0](x)
r1 = target(tf.constant(3))
"""
        ),
    ),
    reference="semantics.md R21",
)
