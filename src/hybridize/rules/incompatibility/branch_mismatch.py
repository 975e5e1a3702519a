"""HY316: branches of the graph that give one variable, or the result, what does not go together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.domain.objects import BOTTOM, NONE_V, Value
from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import ALWAYS, Block
from hybridize.program.operands import edges_of
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.source.syntax import walk
from hybridize.tracing.autograph.handlers import unbound
from hybridize.tracing.autograph.kinds import certain, conflict, kinds
from hybridize.tracing.autograph.turn import Turn
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Branch, Site
from hybridize.tracing.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """Each condition of the graph: the variables that its branches join, and the results they return."""
    flow = control(view)
    for site, mask in flow.branches:
        if flow.is_short_circuit(site):
            yield from _operands(flow, site, mask)
            continue
        for phi in site.joins():
            yield from _variable(flow, site, phi, mask)
        yield from _results(flow, site, mask)


def _variable(flow: Control, site: Branch, phi: ir.Phi, mask: int) -> Iterator[Hit]:
    view = flow.view
    if phi.target not in flow.structure.read:
        return
    name = view.code.slot_names.get(phi.target, "")
    what = f"`{name}`" if name and site.instr.position in flow.syntax.ifs else "a conditional expression"
    sides = [slot for edge, slot in phi.incoming if edge == ALWAYS or view.frame.edges[edge]]
    both = [edge for edge in edges_of(site.instr) if view.frame.edges[edge]]
    if len(both) == 2 and name and (len(phi.incoming) < 2 or any(_unbound(flow, slot, 0) for slot in sides)):
        message = f"{what} has a value in one branch on a symbolic tensor only"
        yield Hit(site.instr.position, message, mask, _values(flow, site, message, sides))
        return
    if name and len(both) == 2 and name in unbound(view, site):
        yield Hit(
            site.instr.position, f"{what} has no value yet where the `try` has failed: AutoGraph asks for it", mask
        )
        return
    if len(sides) == 2:
        why = certain(view.value(sides[0]), view.value(sides[1])) or _in_first_turn(flow, site, sides)
        if why is not None:
            message = f"{what} differs between the branches on a symbolic tensor: {why}"
            yield Hit(site.instr.position, message, mask, _values(flow, site, message, sides))


def _in_first_turn(flow: Control, site: Branch, sides: list[int]) -> str | None:
    """Why two sides do not go together in the first turn of the loop around: a variable still holds its first value."""
    loop = next(
        (outer.instr for outer, part in site.around() if isinstance(outer.instr, ir.Loop) and part == "body"), None
    )
    if loop is None:
        return None
    before = {phi.target: next((slot for edge, slot in phi.incoming if edge == loop.entry), -1) for phi in loop.phis}
    given = {head: flow.view.value(slot) if slot >= 0 else BOTTOM for head, slot in before.items()}
    if not any(given[side] for side in sides if side in given) or not flow.first(site.instr.condition, before):
        return None
    turn = Turn(flow.view, given)
    return certain(turn.value(sides[0]), turn.value(sides[1]))


def _values(flow: Control, site: Site, message: str, sides: list[int]) -> tuple[Evidence, ...]:
    """The condition, and where the values come from that do not go together."""
    path, line = flow.view.code.path, site.instr.position >> 16
    made = [flow.view.definition(slot) for slot in sides]
    lines = {instr.position >> 16 for instr in made if instr is not None and not isinstance(instr, ir.Phi)}
    lines = (lines | set(_bound(flow, line, {flow.view.code.slot_names.get(slot, "") for slot in sides}))) - {line, 0}
    return (Evidence(message, path, line), *(Evidence("a value of it", path, each) for each in sorted(lines)))


def _bound(flow: Control, line: int, names: set[str]) -> Iterator[int]:
    """The lines in the branches of a condition that give a value to one of some variables."""
    node = flow.view.node
    for each in walk(node) if node is not None else ():
        if isinstance(each, ast.If) and each.test.lineno == line:
            inside = (part for branch in (*each.body, *each.orelse) for part in walk(branch))
            yield from (
                part.lineno
                for part in inside
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in names
            )


def _operands(flow: Control, site: Site, mask: int) -> Iterator[Hit]:
    """`t and n`: the operands become the branches of a condition."""
    for phi in site.joins():
        if phi.position == site.instr.position and len(phi.incoming) == 2 and phi.target in flow.structure.read:
            first, second = (flow.view.value(slot) for _, slot in phi.incoming)
            why = certain(first, second)
            if why is not None:
                yield Hit(
                    site.instr.position, f"the operands of `and` or `or` on a symbolic tensor differ: {why}", mask
                )
        return


def _unbound(flow: Control, slot: int, depth: int) -> bool:
    """Whether a slot is that of a variable at the head of a loop that nothing has bound before the loop."""
    made = flow.view.definition(slot)
    if not isinstance(made, ir.Phi) or depth > 4:
        return False
    for loop in flow.structure.loops:
        if any(phi is made for phi in loop.instr.phis):
            entry = [s for edge, s in made.incoming if edge == loop.instr.entry]
            return not entry or _unbound(flow, entry[0], depth + 1)
    return False


# Results -------------------------------------------------------------------------------------------------------------


def _results(flow: Control, site: Branch, mask: int) -> Iterator[Hit]:
    """All the results that may follow the condition must go together."""
    if any(isinstance(outer.instr, ir.Loop) for outer, _ in site.around()):
        return  # python-loop-exit
    inside = [s for s in flow.structure.within(site) if isinstance(s.instr, ir.Return) and flow.reached(s)]
    if not inside:
        return
    if _open_ended(flow, site):
        message = "one branch on a symbolic tensor returns, the other does not, nor what follows in the same block"
        yield Hit(site.instr.position, message, mask, _evidence(flow, site, message, inside[0]))
        return
    returns = inside + list(_after(flow, site))
    values = [
        (s, flow.view.value(s.instr.value)) for s in returns if isinstance(s.instr, ir.Return) and flow.reached(s)
    ]
    values = [(s, value) for s, value in values if value]
    for at, value in values:
        if value == NONE_V:
            message = "returns nothing on one of the branches on a symbolic tensor"
            yield Hit(site.instr.position, message, mask, _evidence(flow, site, message, at))
            return
    for i, (_, first) in enumerate(values):
        for at, second in values[i + 1 :]:
            why = certain(first, second) or _own(first)
            if why is not None:
                message = f"the results of the branches on a symbolic tensor differ: {why}"
                yield Hit(site.instr.position, message, mask, _evidence(flow, site, message, at))
                return


def _open_ended(flow: Control, site: Branch) -> bool:
    """Whether a branch returns where AutoGraph finds no result for the other.

    What follows in the same block becomes part of the branch that does not return; nothing beyond the block does.
    """
    ends = [_returns(site.instr.then), _returns(site.instr.orelse)]
    if all(ends):
        return False
    if not any(ends):
        return True
    other = site.instr.then if ends[1] else site.instr.orelse
    return flow.falls(other) and flow.falls(site.block, site.index + 1, _end(flow, site))


def _returns(block: Block) -> bool:
    """Whether a block returns whatever happens, as its text says."""
    return any(
        (isinstance(i, ir.Return) and bool(i.position & 0xFFFF))
        or (isinstance(i, ir.If) and _returns(i.then) and _returns(i.orelse))
        for i in block
    )


def _end(flow: Control, site: Site) -> int:
    """Where the block that a branch stands in ends: a `with` statement has no block of its own in the IR."""
    line = flow.syntax.ends.get(site.instr.position)
    if line is not None:
        for index, instr in enumerate(site.block[site.index + 1 :], site.index + 1):
            if instr.position >> 16 > line:
                return index
    return len(site.block)


def _own(value: Value) -> str | None:
    """What no result of a branch may hold."""
    reasons = [conflict(kind, kind) for kind in kinds(value)]
    return reasons[0] if reasons and all(r is not None for r in reasons) else None


def _evidence(flow: Control, site: Site, message: str, at: Site) -> tuple[Evidence, ...]:
    path = flow.view.code.path
    return (
        Evidence(message, path, site.instr.position >> 16),
        Evidence("another result", path, at.instr.position >> 16),
    )


def _after(flow: Control, site: Site) -> Iterator[Site]:
    """The results that may come after a branch that does not return one."""
    around: list[Site] = [site, *(outer for outer, _ in site.around())]
    for other in flow.structure.of(ir.Return):
        chain: list[Site] = [other, *(outer for outer, _ in other.around())]
        if any(each is site for each in chain):
            continue
        if any(a.block is b.block and b.index > a.index for a in around for b in chain) and flow.runs(other):
            yield other


RULE = Rule(
    code="HY316",
    name="branch-mismatch",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="The branches of a condition on a tensor give what does not go together.",
    details="""A condition on a symbolic tensor becomes `tf.cond`: what its branches assign (if it is read
afterwards) and what they return must have the same dtype and structure, and be tensors or numbers. So a value
that only one branch assigns, None on one side, 0 against a float tensor, a longer tuple, another function,
layer or object, or a result that one path lacks raise. Give every variable a tensor of the right dtype before,
or select with `tf.where`.""",
    level=Level.INFO,
    frame=scan,
    codes=lambda code: ir.If in index_of(code).by_operation,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    most = 0
    for i in range(2):
        if x[i] > most:
            most = x[i]
    return most
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if tf.reduce_sum(x) > 1.0:
        return x
    return 0
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    y = None
    if x > 1.0:
        y = x * 2
    return x if y is None else y
r1 = target(tf.constant(3.0))
""",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    f = tf.sin if x > 1.0 else tf.cos
    return f(x)
r1 = target(tf.constant(3.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    if x > 1.0:
        y = x * 2
    if x > 1.0:
        return y
    return x
r1 = target(tf.constant(3.0))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
table = {"a": 1.0}
def target(x, key):
    try:
        k = table[key]
    except KeyError:
        if tf.reduce_sum(x) > 0.0:
            k = 2.0
        else:
            k = 3.0
    return x * k
r1 = target(tf.constant(1.0), "b")
""",
            line=7,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
table = {"a": 1.0}
def target(x, key):
    k = 0.0
    try:
        k = table[key]
    except KeyError:
        if tf.reduce_sum(x) > 0.0:
            k = 2.0
        else:
            k = 3.0
    return x * k
r1 = target(tf.constant(1.0), "b")
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    scale = None  # not read after the condition
    y = x
    if tf.reduce_sum(x) > 1.0:
        scale = 2.0
        y = x * scale
    return y
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, exact=False):
    if exact:
        return None
    if x > 1.0:
        return x, {"scale": 2.0}
    return -x, {"scale": x}
r1 = target(tf.constant(3.0))[0]
"""
        ),
    ),
    reference="semantics.md R12",
)
