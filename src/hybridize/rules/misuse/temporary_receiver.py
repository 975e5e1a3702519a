"""HY262: a hybrid method called on an object that nothing else holds."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Class
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.origins import call_at, definitions
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import Instr, Op
from hybridize.rules.misuse.unhashable import _is_property
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.views import FunctionView

_DEPTH = 2


def scan(function: FunctionView) -> Iterator[Hit]:
    """Calls of the form `C(...).method(x)`, also where a function makes the object."""
    if function.facts.kind is not FunctionKind.METHOD or _is_property(function):
        return
    seen: set[tuple[str, int]] = set()
    for caller, pos, _, how in function.callers():
        place = (caller.code.path, pos)
        if how not in ("call", "hybrid") or place in seen:
            continue
        seen.add(place)
        if any(_on_temporary(function, caller, call) for call in _calls(caller, pos)):
            said = "is called on a temporary object, which is gone when the graph looks for it"
            here = Evidence(said, caller.code.path, pos >> 16)
            yield Hit(pos, said, path=caller.code.path, evidence=(here,))


def _calls(frame: Frame, pos: int) -> Iterator[Instr]:
    """The calls at a position: those of a chain `f(x).g(y)` all stand at its start."""
    if call_at(frame.code, pos) is not None:
        yield from (i for i in index_of(frame.code).flat if i[0] == Op.CALL and i[-1] == pos)


def _on_temporary(function: FunctionView, frame: Frame, call: Instr) -> bool:
    made = definitions(frame.code).get(call[2])
    if made is None or made[0] != Op.ATTR or made[3] != function.code.name:
        return False
    return _is_chained(frame, made) and _fresh(frame, made[2], _DEPTH)


def _is_chained(frame: Frame, attribute: Instr) -> bool:
    """Whether an attribute is read of the very expression that makes the object: both begin at one place."""
    maker = definitions(frame.code).get(attribute[2])
    return maker is not None and 0 <= maker[-1] - attribute[-1] <= 1


def _fresh(frame: Frame, slot: int, depth: int) -> bool:
    """Whether the expression itself makes the object in a slot, and nobody keeps it."""
    made = definitions(frame.code).get(slot)
    if made is None or made[0] != Op.CALL:
        return False
    func = frame.vals[made[2]] or frozenset()
    if func and all(isinstance(o, Class) for o in func):
        return True
    callees = [c for (at, c), how in frame.calls.items() if at == made[-1] and how == "call"]
    callees = [c for c in callees if c.ret & (frame.vals[slot] or frozenset()) and c.code.name != "__init__"]
    if not depth or not callees:
        return False
    owner = definitions(frame.code).get(made[2])
    fluent = owner is not None and owner[0] == Op.ATTR and _is_chained(frame, owner)
    fluent = fluent and owner is not None and _fresh(frame, owner[2], depth - 1)
    return all(_returns_fresh(callee, depth - 1, fluent) for callee in callees)


def _returns_fresh(frame: Frame, depth: int, fluent: bool) -> bool:
    """Whether a function returns what it makes (or, in a chain of calls on a temporary object, that object)."""
    own = frame.code.params[0].slot if fluent and frame.code.params else -1
    returns = [i[2] for i in index_of(frame.code).flat if i[0] == Op.RETURN and frame.vals[i[2]]]
    return bool(returns) and all(slot == own or _fresh(frame, slot, depth) for slot in returns)


RULE = Rule(
    code="HY262",
    name="temporary-receiver",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="The method is called on a temporary object: as a graph it finds None in the place of `self`.",
    details="""A hybrid method refers to its receiver only weakly. In `C(...).method(x)` nothing else holds the
object, so it is gone when the method is traced, and `self` is None. Keep the object in a variable.""",
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
r1 = Model(2).target(tf.constant(1))
""",
            target="Model.target",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
def make(k):
    return Model(k)
r1 = [make(i).target(tf.constant(1)) for i in range(2)]
""",
            target="Model.target",
            line=9,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
m = Model(2)
r1 = m.target(tf.constant(1))
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
    def run(self):
        return self.target(tf.constant(1))
r1 = Model(2).run()
""",
            target="Model.target",
        ),
        Example(
            """\
import tensorflow as tf
models = []
class Model:
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
def model():
    if not models:
        models.append(Model(2))
    return models[0]
r1 = model().target(tf.constant(1))
""",
            target="Model.target",
        ),
    ),
    reference="semantics.md R15",
)
