"""HY261: objects that compare equal share a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import DIRECT
from hybridize.domain.nesting import held
from hybridize.domain.objects import Class, Func, Inst, Lit, Value
from hybridize.facts.model import Evidence
from hybridize.facts.origins import calls_of
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import operands
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.receivers import argument_classes, receiver_classes, receives
from hybridize.tracing.retraced.comparing import compared
from hybridize.tracing.views import FunctionView

_DEPTH: Final = 3
#: So many seen objects stand for all.
_SEVERAL: Final = 2


def scan(function: FunctionView) -> Iterator[Hit]:
    """Objects of a class with its own equality, told apart by fields that this equality does not see."""
    for i, param in enumerate(function.code.params):
        given = (o for frame in function.frames for o in held(frame.args[i], _DEPTH, parts))
        objects = {o for o in given if isinstance(o, Inst)}
        others = receiver_classes(function) if i == 0 else argument_classes(function, i)
        receiving = i == 0 and receives(function)
        for cls in sorted({o.cls for o in objects} | set(others), key=lambda c: (c.name, c.code.position)):
            seen = compared(cls)
            if seen is None or (not receiving and any(base.structure is not None for base in cls.line)):
                continue  # of what is taken apart nobody asks whether it is equal to another
            same = [o for o in objects if o.cls is cls]
            fields, where = seen
            if len(same) >= _SEVERAL:
                if all(map(_is_temporary, same)):
                    continue  # of an object that is gone the trace is looked up no more
                unseen = sorted(n for n in _read(function, i, frozenset(same)) - fields if not _is_one(n, same))
            else:  # whoever makes more of them gives them what he likes
                unseen = sorted(_chosen(cls, _asked(function.code, i, cls, _DEPTH) - fields))
            if unseen:
                said = f"two `{cls.name}` that compare equal share a trace, but `{unseen[0]}` of `{param.name}` is read"
                here = Evidence(said, function.code.path, function.code.line)
                yield Hit(function.code.position, said, evidence=(here, where))


def _chosen(cls: Class, names: set[str]) -> set[str]:
    """Those of some names that are fields which the methods of a class write with what they are given."""
    found: set[str] = set()
    for base in cls.line:
        for cell in base.fields.values():
            for obj in cell.value:
                if not isinstance(obj, Func) or not obj.code.params:
                    continue
                index, own = index_of(obj.code), obj.code.params[0].slot
                for instr in index.of(ir.SetAttr):
                    if index.original(instr.owner) == own and not _is_constant(obj, index.original(instr.value)):
                        found.add(instr.name)
    return names & found


def _is_constant(method: Func, slot: int) -> bool:
    """Whether a slot is a constant of the text."""
    template = method.code.template
    return bool(0 <= slot < len(template) and template[slot])


def _asked(code: Code, parameter: int, cls: Class, depth: int) -> set[str]:
    """The attributes of a parameter that the text of a function reads; of its methods that it calls, what they read."""
    index = index_of(code)
    slot = code.params[parameter].slot
    found = {instr.name for instr in index.of(ir.Attr) if index.original(instr.owner) == slot}
    for name in sorted(found) if depth else ():
        cell = next((c.fields[name] for c in cls.line if name in c.fields and c.fields[name].value), None)
        for obj in cell.value if cell is not None else ():
            method = next((o for o in (obj, *getattr(obj, "inner", ())) if isinstance(o, Func)), None)
            if method is not None and method.code.params and method.code is not code:
                found |= _asked(method.code, 0, cls, depth - 1)
    return found


def _is_one(name: str, same: list[Inst]) -> bool:
    """Whether a field is one constant in all objects."""
    values = {cell.value for o in same for cell in (o.fields.get(name),) if cell is not None and cell.value}
    return len(values) == 1 and all(len(v) == 1 and isinstance(next(iter(v)), Lit) for v in values)


def _is_temporary(obj: Inst) -> bool:
    """Whether an object is made for one call, and held by nothing after it: `f(C(2.0), x)`."""
    code, position = obj.site
    index = index_of(code)
    made = [i for i in index.calls.get(position, ()) if i.target not in code.slot_names]
    uses = [i for i in index.flat if any(each.target in operands(i) for each in made)]
    return (
        bool(made)
        and all(isinstance(i, ir.Call) and all(each.target != i.function for each in made) for i in uses)
        and bool(uses)
    )


def _read(function: FunctionView, index: int, same: Value) -> set[str]:
    """The fields of a parameter that the function, or what it hands the object to, reads."""
    found: set[str] = set()
    todo: list[tuple[Frame, int]] = [(frame, _DEPTH) for frame in function.frames]
    seen: set[Frame] = set()
    while todo:
        frame, depth = todo.pop()
        if frame in seen:
            continue
        seen.add(frame)
        for instr in index_of(frame.code).flat:
            if isinstance(instr, ir.Attr) and (frame.vals[instr.owner] or frozenset()) & same:
                name = instr.name
                if any(isinstance(o, Inst) and name in o.fields and o.fields[name].value for o in same):
                    found.add(name)
        if depth:
            todo += [(callee, depth - 1) for _, callee in calls_of(frame, DIRECT)]
    return found


RULE = Rule(
    code="HY261",
    name="shared-trace",
    category=Category.MISUSE,
    outcome=Outcome.DIFFERS,
    summary="Objects that compare equal share one trace, although the function tells them apart.",
    details="""TensorFlow looks traces up by `==` and `hash`: for a second object that compares equal to the first
one it runs the first one's graph, with the first one's fields as constants. Let `__eq__` and `__hash__` cover every
field that the function reads, or pass those fields as tensors.""",
    root=scan,
    bad=(
        Example(
            """\
import tensorflow as tf
class Item:
    def __init__(self, name, k):
        self.name, self.k = name, k
    def __eq__(self, other):
        return self.name == other.name
    def __hash__(self):
        return hash(self.name)
def target(item, x):
    return x * item.k
a = Item("a", 2)
b = Item("a", 5)
r1 = target(a, tf.constant(1))
r2 = target(b, tf.constant(1))
""",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Item:
    def __init__(self, name, k):
        self.name, self.k = name, k
    def __eq__(self, other):
        return isinstance(other, Item) and self.name == other.name
    def __hash__(self):
        return hash(self.name)
    def target(self, x):
        return x * self.k
a = Item("a", 2)
b = Item("a", 5)
r1 = a.target(tf.constant(1))
r2 = b.target(tf.constant(1))
""",
            target="Item.target",
            line=9,
            outcome=Outcome.DIFFERS,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Item:
    def __init__(self, k):
        self.k = k
    def __eq__(self, other):
        return self.k == other.k
    def __hash__(self):
        return hash(self.k)
def target(item, x):
    return x * item.k
a = Item(2)
b = Item(5)
r1 = target(a, tf.constant(1))
r2 = target(b, tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Item:
    def __init__(self, name, k):
        self.name, self.k = name, k
def target(item, x):
    return x * item.k
a = Item("a", 2)
b = Item("a", 5)
r1 = target(a, tf.constant(1))
r2 = target(b, tf.constant(1))
"""
        ),
    ),
    reference="semantics.md R14",
)
