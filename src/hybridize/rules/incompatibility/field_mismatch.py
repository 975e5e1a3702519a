"""HY322: fields and elements that a branch or loop of the graph gives what does not go together."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Cell, Container, Heap, Inst
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.autograph.kinds import certain
from hybridize.tracing.control import Control, control
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """Assignments to fields and keys of objects of the function's own, under a condition or in a loop of the graph."""
    index = index_of(view.code)
    stores = [i for i in index.flat if isinstance(i, (ir.SetAttr, ir.SetItem)) and _cell(view, i) is not None]
    if not stores:
        return
    flow = control(view)
    for store in stores:
        site, found = flow.structure.at(store), _cell(view, store)
        if found is None or not flow.runs(site):
            continue
        owner, name, cell = found
        for outer, part, mask in flow.guards(site):
            if any(s.instr.position == owner.site[1] for s in flow.structure.within(outer)):
                break  # made in there
            why = _why(view, flow, store, outer, part, cell)
            if why is not None:
                yield Hit(store.position, f"`{name}` differs on the ways through the graph: {why}", mask)
                break


def _stores_on_a_way(code: Code) -> bool:
    """Whether a function assigns to fields or elements, and has conditions or loops."""
    ops = index_of(code).by_operation.keys()
    return not ops.isdisjoint((ir.SetAttr, ir.SetItem)) and not ops.isdisjoint((ir.If, ir.Loop))


def _cell(view: FrameView, instr: ir.SetAttr | ir.SetItem) -> tuple[Heap, str, Cell] | None:
    """The place that an assignment writes, of the one object that the frame itself made."""
    owners = view.value(instr.owner)
    if len(owners) != 1:
        return None
    (owner,) = owners
    if not isinstance(owner, (Inst, Container)) or owner.site[0] is not view.code:
        return None
    if isinstance(instr, ir.SetAttr):
        cell = owner.fields.get(instr.name) if isinstance(owner, Inst) else None
        return (owner, str(instr.name), cell) if cell is not None else None
    keys = [getattr(o, "const", None) for o in view.value(instr.index)]
    if len(keys) != 1 or keys[0] is None or not isinstance(owner, Container) or not owner.exact:
        return None
    cell = owner.fields.get(keys[0])
    return (owner, f"[{keys[0]!r}]", cell) if cell is not None else None


def _why(
    view: FrameView, flow: Control, store: ir.SetAttr | ir.SetItem, outer: Site, part: str, cell: Cell
) -> str | None:
    here = view.value(store.value)
    others = cell.value - here
    if others:
        return certain(here, others)
    if not isinstance(outer.instr, ir.If) or (isinstance(store, ir.SetAttr) and _in_class(view, store)):
        return None
    branch = {
        s.instr.position
        for s in flow.structure.within(outer)
        if any(o is outer and p == part for o, p in s.around()) and isinstance(s.instr, (ir.SetAttr, ir.SetItem))
    }
    if all(code is view.code and pos in branch for code, pos in cell.writes):
        return "only one branch gives it a value"
    return None


def _in_class(view: FrameView, store: ir.SetAttr) -> bool:
    """Whether the class of an object has a value for a field that the object lacks."""
    return any(
        isinstance(o, Inst) and any(isinstance(c, Heap) and store.name in c.fields for c in o.cls.mro)
        for o in view.value(store.owner)
    )


RULE = Rule(
    code="HY322",
    name="field-mismatch",
    category=Category.INCOMPATIBILITY,
    outcome=Outcome.RAISES,
    summary="A field or element gets what does not go together on the ways through the graph.",
    details="""AutoGraph carries `state.h` and `d["k"]` through conditions and loops of the graph as it does
variables: they must have a value before, and keep its dtype and structure. A key or field that only one branch
sets, None on one side, or 0 that becomes a float raise. Set it to a tensor of the right dtype before.""",
    frame=scan,
    codes=_stores_on_a_way,
    bad=(
        Example(
            """\
import tensorflow as tf
def target(x):
    out = {"x": x}
    if tf.reduce_sum(x) > 1.0:
        out["double"] = x * 2
    return out["x"]
r1 = target(tf.constant([1.0, 2.0]))
""",
            line=5,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class State:
    pass
def target(x):
    state = State()
    state.h = None
    if tf.reduce_sum(x) > 1.0:
        state.h = x * 2
    return x if state.h is None else state.h
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
def target(x):
    out = {"x": x, "sum": 0.0}
    if tf.reduce_sum(x) > 1.0:
        out["x"] = x * 2
    for v in x:
        out["sum"] = out["sum"] + v
    return out
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
        Example(
            """\
import tensorflow as tf
class State:
    pass
def target(x, deep=True):
    state = State()
    if deep:
        state.h = x
    if tf.reduce_sum(x) > 1.0:
        state.h = x * 2
    return state.h
r1 = target(tf.constant([1.0, 2.0]))
"""
        ),
    ),
    reference="semantics.md R12",
)
