"""HY261: objects that compare equal share a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.nesting import held
from hybridize.domain.objects import Class, Func, Inst, Lit, Value
from hybridize.facts.guards import parts
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op
from hybridize.program.operands import operands
from hybridize.rules.misuse.unhashable import dataclass_options
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FunctionView

_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """Objects of a class with its own equality, told apart by fields that this equality does not see."""
    for i, param in enumerate(function.code.params):
        given = (o for frame in function.frames for o in held(frame.args[i], _DEPTH, parts))
        objects = {o for o in given if isinstance(o, Inst)}
        for cls in sorted({o.cls for o in objects}, key=lambda c: c.name):
            same = [o for o in objects if o.cls is cls]
            seen = compared(cls)
            if seen is None or len(same) < 2 or all(map(_is_temporary, same)):
                continue  # of an object that is gone the trace is looked up no more
            fields, where = seen
            unseen = sorted(n for n in _read(function, i, frozenset(same)) - fields if not _is_one(n, same))
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
            options = dataclass_options(base)
            if options is None or not options.get("eq", True):
                continue
            if not (options.get("frozen") or options.get("unsafe_hash")):
                return None
            where = Evidence("equality is that of a data class", base.code.path, base.code.line)
            return _compared_fields(base), where
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


def _is_one(name: str, same: list[Inst]) -> bool:
    """Whether a field is one constant in all objects."""
    values = {cell.value for o in same for cell in (o.fields.get(name),) if cell is not None and cell.value}
    return len(values) == 1 and all(len(v) == 1 and isinstance(next(iter(v)), Lit) for v in values)


def _compared_fields(cls: Class) -> set[str]:
    """The fields by which a data class compares: those without `field(compare=False)`, its own and inherited ones."""
    found: set[str] = set()
    for base in cls.mro:
        if isinstance(base, Class) and dataclass_options(base) is not None:
            index = index_of(base.code)
            stores = {i[2]: index.source(i[3]) for i in index.of(Op.SET_NAME)}
            left_out = {name for name, made in stores.items() if made is not None and _is_left_out(base, made)}
            found |= {name for name in base.code.fields if name not in left_out}
    return found


def _is_left_out(cls: Class, made: Instr) -> bool:
    """Whether a field is made with `compare=False`."""
    given = dict(made[4]) if made[0] == Op.CALL else {}
    value = cls.code.template[given["compare"]] or () if "compare" in given else ()
    return any(isinstance(o, Lit) and o.const is False for o in value)


def _is_temporary(obj: Inst) -> bool:
    """Whether an object is made for one call, and held by nothing after it: `f(C(2.0), x)`."""
    code, position = obj.site
    index = index_of(code)
    made = [i for i in index.calls.get(position, ()) if i[1] not in code.slot_names]
    uses = [i for i in index.flat if any(each[1] in operands(i) for each in made)]
    return bool(made) and all(i[0] == Op.CALL and all(each[1] != i[2] for each in made) for i in uses) and bool(uses)


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
