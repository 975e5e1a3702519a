"""HY261: objects that compare equal share a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Func, Inst, Value
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Op
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FunctionView

_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """Objects of a class with its own equality, told apart by fields that this equality does not see."""
    for i, param in enumerate(function.code.params):
        objects = {o for frame in function.frames for o in frame.args[i] if isinstance(o, Inst)}
        for cls in sorted({o.cls for o in objects}, key=lambda c: c.name):
            same = [o for o in objects if o.cls is cls]
            seen = compared(cls)
            if seen is None or len(same) < 2:
                continue
            fields, where = seen
            unseen = sorted(_read(function, i, frozenset(same)) - fields)
            if unseen:
                said = f"two `{cls.name}` that compare equal share a trace, but `{unseen[0]}` of `{param.name}` is read"
                here = Evidence(said, function.code.path, function.code.line)
                yield Hit(function.code.position, said, evidence=(here, where))


def compared(cls: Class) -> tuple[set[str], Evidence] | None:
    """The fields that a class's own `__eq__` and `__hash__` look at, and where."""
    for base in cls.mro:
        if not isinstance(base, Class):
            return None
        equals, hashing = base.fields.get("__eq__"), base.fields.get("__hash__")
        if equals is None or not equals.value:
            continue
        if hashing is None or not all(isinstance(o, Func) for o in (*hashing.value, *equals.value)):
            return None
        fields: set[str] = set()
        line = base.code.line
        for func in equals.value:
            if isinstance(func, Func):
                line = func.code.line
                fields |= {i[3] for i in index_of(func.code).flat if i[0] == Op.ATTR}
                if any(i[0] == Op.COMPARE and i[2] in ("is", "is not") for i in index_of(func.code).flat):
                    return None
        return fields, Evidence("equality is decided here", base.code.path, line)
    return None


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
            if instr[0] == Op.ATTR and (frame.vals[instr[2]] or frozenset()) & same:
                name = instr[3]
                if any(isinstance(o, Inst) and name in o.fields and o.fields[name].value for o in same):
                    found.add(name)
        if depth:
            todo += [(callee, depth - 1) for (_, callee), how in frame.calls.items() if how in ("call", "hybrid")]
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
