"""HY379: branches of the graph that bind a variable which a later statement binds again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hybridize.facts.model import Evidence
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.autograph.scopes import Scope, bindings, jumps, scopes
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Branch, Site
from hybridize.tracing.views import FrameView, position_of


def scan(view: FrameView) -> Iterator[Hit]:
    """Each condition of the graph: the variables that it binds and that are asked for before."""
    flow = control(view)
    node = view.node
    for site, mask in flow.branches:
        branch = flow.syntax.ifs.get(site.instr.position)
        if node is None or branch is None or flow.is_short_circuit(site):
            continue
        around = scopes(node, branch)
        for name in sorted(_read(flow, site)) if len(around) > 1 else ():
            again = _bound_again(flow, site, branch, around, name)
            if again:
                message = f"`{name}` has no value yet where AutoGraph asks for it: a later statement binds it again"
                path = view.code.path
                seen = (Evidence(message, path, branch.lineno), Evidence("it is bound again here", path, again))
                yield Hit(site.instr.position, message, mask, seen)


def _read(flow: Control, site: Site) -> set[str]:
    """The variables that a branch binds and that are read after it."""
    names = flow.view.code.slot_names
    return {names.get(phi.target, "") for phi in site.joins() if phi.target in flow.structure.read} - {""}


def _bound_again(flow: Control, site: Branch, branch: ast.If, around: list[Scope], name: str) -> int:
    """The line of a statement that makes a variable local to what is around a branch; 0 if it has a value before."""
    for i, scope in enumerate(around):
        owner = scope.owner
        if isinstance(owner, ast.For) and name in {n.id for n in ast.walk(owner.target) if isinstance(n, ast.Name)}:
            return 0
        lines = bindings(scope.body, name)
        if not lines:
            continue
        again = next((line for line in lines if not jumps(scope.body, branch.lineno, line)), 0)
        if owner is None or lines[0] <= branch.lineno or not again or _is_kept(flow, site, owner, name):
            return 0
        return again if _comes_in(flow, around[i:], name) else 0
    return 0


def _is_kept(flow: Control, site: Site, owner: ast.If | ast.For | ast.While, name: str) -> bool:
    """Whether a branch or loop has a variable of what is around it: that is read after it, or in the next turn."""
    position = position_of(owner)
    outer = next((each for each, _ in site.around() if each.instr.position == position), None)
    if outer is None:
        return True
    phis = outer.instr.phis if isinstance(outer.instr, ir.Loop) else list(outer.joins())
    names, read = flow.view.code.slot_names, flow.structure.read
    return any(names.get(phi.target) == name and phi.target in read for phi in phis)


def _comes_in(flow: Control, around: list[Scope], name: str) -> bool:
    """Whether AutoGraph takes a variable to have a value where a branch starts: of before, or of a turn before."""
    first = around[0].owner
    if first is None or any(isinstance(scope.owner, (ast.For, ast.While)) for scope in around):
        return first is not None
    given = any(param.name == name for param in flow.view.code.params)
    return given or any(line < first.lineno for scope in around[1:] for line in bindings(scope.body, name))


RULE = Rule(
    code="HY379",
    name="rebound-variable",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A branch on a symbolic tensor binds a variable that a later statement of the same loop binds again.",
    details="""AutoGraph makes a function of the body of each loop and branch. A variable that a plain statement
there binds, and nothing outside reads, is local to it. A branch of the graph inside asks for the variable's value
before it runs, where there is none yet: `NameError: cannot access free variable` (measured with TensorFlow 2.15 and
2.21). What an earlier turn, or code before, has bound makes AutoGraph believe that it has one. Give the variable a
value before the branch, in the same turn, or bind another name after it.""",
    frame=scan,
    codes=lambda code: ir.If in index_of(code).by_operation,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(prices, n):
    total = 0.0
    for i in range(n):
        price = prices[i]
        if price > 2.0:
            paid = price * 0.9
        else:
            paid = price
        paid = paid + 0.5
        total = total + paid
    return total
r1 = target(tf.constant([1.0, 2.0, 3.0]), 3)
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x, scale, extra):
    total = tf.reduce_sum(x)
    if extra:
        if total > 1.0:
            scale = total
        else:
            scale = total * 2.0
        with tf.name_scope("scaled"):
            scale += 1.0
        total = total + scale
    return total
r1 = target(tf.constant([1.0, 2.0]), 1.0, True)
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = 0.0
    for _ in range(2):
        for value in tf.unstack(x):
            if value > 1.0:
                part = value
            else:
                part = -value
            total = total + part
        part = total * 0.5
        total = total + part
    return total
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(prices, n):
    total = 0.0
    for i in range(n):
        price = prices[i]
        paid = price
        if price > 2.0:
            paid = price * 0.9
        paid = paid + 0.5
        total = total + paid
    return total
r1 = target(tf.constant([1.0, 2.0, 3.0]), 3)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(prices, n):
    total, last = 0.0, 0.0
    for i in range(n):
        if prices[i] > 2.0:
            last = prices[i] * 0.9
        else:
            last = prices[i]
        last = last + 0.5  # read after the loop: the loop's own
        total = total + last
    return total + last
r1 = target(tf.constant([1.0, 2.0, 3.0]), 3)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(prices, n, some):
    total = 0.0
    for i in range(n):
        if prices[i] > 2.0:
            paid = prices[i] * 0.9
        else:
            paid = prices[i]
        if some:
            continue
        paid = paid + 0.5  # a branch of its own, behind `continue`
        total = total + paid
    return total
r1 = target(tf.constant([1.0, 2.0, 3.0]), 3, False)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x, some):
    total = tf.reduce_sum(x)
    if some:
        if total > 1.0:
            part = total
        else:
            part = -total
        part = part + 1.0
        total = total + part
    return total
r1 = target(tf.constant([1.0, 2.0]), True)
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = 0.0
    for part in tf.unstack(x):
        if part > 1.0:
            part = part * 2.0
        else:
            part = part + 0.0
        part = part + 1.0
        total = total + part
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
)
