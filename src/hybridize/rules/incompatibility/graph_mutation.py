"""HY318: containers that a branch or loop of the graph changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_CALL, How
from hybridize.domain.objects import Container, Heap
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_at, calls_of
from hybridize.facts.state.reasons import CHANGES
from hybridize.flow.frames import Effect
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView

_MUTATORS: Final = frozenset(
    "append extend insert pop remove clear add update setdefault popitem discard appendleft extendleft popleft".split()
)
_TAKERS: Final = frozenset(f"tf.{name}" for name in "cond case switch_case while_loop map_fn scan foldl foldr".split())
_CHANGES: Final = CHANGES - {"iterator", "global"}
_MADE: Final = (ir.List, ir.Dict, ir.Set, ir.Call)


def scan(view: FrameView) -> Iterator[Hit]:
    """`append` and its like under a condition or in a loop of the graph, or in a function given to `tf.cond`."""
    yield from _in_bodies(view)
    if index_of(view.code).by_operation.keys().isdisjoint((ir.If, ir.Loop)) or not control(view).is_split:
        return
    yield from _in_callees(view)
    if not view.project.shared(("mutates", view.code), lambda: _mutates(view.code)):
        return
    calls = [i for i in index_of(view.code).of(ir.Call) if _changed(view, i)]
    if not calls:
        return
    flow = control(view)
    for call in calls:
        site = flow.structure.at(call)
        if not flow.runs(site):
            continue
        for container in _changed(view, call):
            found = _around(flow, site, container)
            if found is not None:
                outer, mask = found
                yield _hit(view, site, outer, mask)
                break


def _in_bodies(view: FrameView) -> Iterator[Hit]:
    """What functions change that TensorFlow calls for branches and loops: once each, while tracing."""
    for pos, callee in calls_of(view.frame, (How.CALLBACK,)):
        if all(_TAKERS.isdisjoint(view.names(call.function)) for call in calls_at(view.code, pos)):
            continue
        for reason in view.project.effects.of(callee).values():
            if reason.effect.kind in _CHANGES and not reason.once:
                message = "changes Python state in a branch or loop of the graph: tracing runs it once"
                place, path = reason.effect.position, reason.frame.code.path
                # What is kept in fields while tracing is often read in the same body alone.
                yield Hit(place, message, path=path, outcome=Outcome.RAISES, level=Level.INFO)


def _in_callees(view: FrameView) -> Iterator[Hit]:
    """What functions change that a branch or loop of the graph calls: variables and objects of the function around."""
    for pos, callee in calls_of(view.frame, BY_CALL):
        summary = view.project.effects.of(callee)
        changes = [r for r in summary.values() if not r.once and _is_of(view, r.effect)] if summary else []
        if not changes:
            continue
        flow = control(view)
        for site in (flow.structure.at(call) for call in calls_at(view.code, pos)):
            around = next(flow.guards(site), None) if flow.runs(site) else None
            if around is None:
                continue
            outer, _, mask = around
            for reason in changes:
                target = reason.effect.target
                if not isinstance(target, Heap) or not _made_inside(flow, outer, target):
                    changed = Evidence("changes it here", reason.frame.code.path, reason.effect.position >> 16)
                    yield _hit(view, site, outer, mask, changed)
                    break


def _is_of(view: FrameView, effect: Effect) -> bool:
    """Whether what changes is a variable of a function, or an object that it has made."""
    if effect.kind == "closure":
        return any(effect.cell is view.frame.cells.get(name) for name in view.code.cells)
    return effect.kind in _CHANGES and isinstance(effect.target, Heap) and effect.target.site[0] is view.code


def _mutates(code: Code) -> bool:
    """Whether a function calls such methods."""
    return not _MUTATORS.isdisjoint(index_of(code).attributes)


def _changed(view: FrameView, call: ir.Call) -> list[Container]:
    made = view.definition(call.function)
    if not isinstance(made, ir.Attr) or made.name not in _MUTATORS:
        return []
    return [o for o in view.value(made.owner) if isinstance(o, Container) and o.kind != "generator"]


def _around(flow: Control, site: Site, container: Container) -> tuple[Site, int] | None:
    """The innermost branch or loop of the graph that changes a container which was made outside it."""
    for outer, _, mask in flow.guards(site):
        if not _made_inside(flow, outer, container):
            return outer, mask
    return None


def _made_inside(flow: Control, outer: Site, obj: Heap) -> bool:
    """Whether a branch or loop makes an object itself."""
    return obj.site[0] is flow.view.code and any(
        s.instr.position == obj.site[1] and isinstance(s.instr, _MADE) for s in flow.structure.within(outer)
    )


def _hit(view: FrameView, site: Site, outer: Site, mask: int, more: Evidence | None = None) -> Hit:
    what = "a container" if more is None else "a variable or object of the function around"
    message = f"changes {what} under a condition on a symbolic tensor: tracing runs it"
    if isinstance(outer.instr, ir.Loop):
        message = f"changes {what} in a loop of the graph, whose body is traced once"
    here = Evidence(message, view.code.path, site.instr.position >> 16)
    outcome = Outcome.RAISES if isinstance(outer.instr, ir.Loop) else None
    return Hit(site.instr.position, message, mask, (here, more) if more is not None else (), outcome=outcome)


RULE = Rule(
    code="HY318",
    name="graph-mutation",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.DIFFERS,
    summary="Changes a list, dict or set in a branch or loop of the graph.",
    act="tracing runs it once, not in each turn; use a `tf.TensorArray`, or return the value",
    details="""Tracing runs both branches of a condition on a symbolic tensor, and the body of a loop of the
graph once. An `append` there happens in Python while tracing: a list under an `if` gets its element whatever
the condition, and one in a loop gets a single tensor that cannot be used outside. Use `tf.TensorArray` in
loops, `tf.where` or values per branch for conditions. Loops that Python unrolls (`range(3)`,
`range(x.shape[0])`) are fine.""",
    frame=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(n):
    seen = []
    def body(i, s):
        seen.append(s)
        return i + 1, s + 1.0
    i, s = tf.while_loop(lambda i, s: i < n, body, [tf.constant(0), tf.constant(0.0)])
    return tf.add_n(seen)
r1 = target(tf.constant(3))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    out = []
    for v in x:
        out.append(v * 2)
    return tf.stack(out)
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    out = [x]
    if x > 1.0:
        out.append(x * 2)
    return tf.stack(out)
r1 = target(tf.constant(0.0))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = tf.constant(0.0)
    def add(v):
        nonlocal total
        total = total + v
    for v in x:
        add(v)
    return total
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=8,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
def target(x, extra=True):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2)
    if extra:
        out.append(x[0])
    return tf.stack(out)
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = 0.0
    for v in x:
        parts = []
        for w in (1.0, 2.0):
            parts.append(v * w)
        total += tf.add_n(parts)
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
def target(x):
    total = tf.constant(0.0)
    def add(v):
        nonlocal total
        total = total + v
    for i in range(2):
        add(x[i])
    return total
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    reference="semantics.md R12",
)
