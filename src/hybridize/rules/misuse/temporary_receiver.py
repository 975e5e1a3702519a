"""HY262: a hybrid method called on an object that nothing else holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import BY_CALL
from hybridize.domain.objects import Class, Func, Inst, Lib, Lit, Obj, Value, Wrapper
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, definitions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.tracing.receivers import receives
from hybridize.tracing.state.parts import Uses
from hybridize.tracing.views import FunctionView, ProjectView

_DEPTH: Final = 2
_SHOWN: Final = 3
_NO_VALUE: Final[Value] = frozenset()
#: What looks at an attribute of a method, or at whether there is one.
_LOOKS: Final = (ir.Attr, ir.Compare, ir.If)

#: By the name of a method the frames that ask an object for it which goes, with where they do.
_Asked: TypeAlias = "dict[str, list[tuple[Frame, int, int]]]"


def scan(function: FunctionView) -> Iterator[Hit]:
    """Methods asked of objects that nothing holds, to be called at once (`C(...).method(x)`) or later."""
    made = function.facts.hybridization
    if not receives(function) or (made is not None and not made.is_decorator):
        return  # `tf.function(C().method)` holds the bound method, and with it the object
    asked = function.project.shared("asked of temporary objects", lambda: _asked(function.project))
    seen: set[tuple[str, int]] = set()
    found = [each for name in (function.code.name, *_partials(function, asked)) for each in asked.get(name, ())]
    for frame, pos, owner in found:
        place = (frame.code.path, pos)
        if place in seen or not any(_finds(o, function.code) for o in frame.vals[owner] or ()):
            continue
        seen.add(place)
        said = "is called on a temporary object, which is gone when the graph looks for it"
        here = Evidence(said, frame.code.path, pos >> 16)
        called = _called(function, frame.vals[owner] or _NO_VALUE, (frame.code.path, pos >> 16))
        yield Hit(pos, said, path=frame.code.path, evidence=(here, *called))


def _called(function: FunctionView, value: Value, known: tuple[str, int]) -> list[Evidence]:
    """Where the method of some objects is called, if not where it is asked for."""
    callers = function.called_by()
    places = {(by.code.path, pos >> 16) for by, pos, at in callers if at.args and at.args[0] & value}
    return [Evidence("is called here", *place) for place in sorted(places - {known})[:_SHOWN]]


def _partials(function: FunctionView, asked: _Asked) -> Iterator[str]:
    """The names under which a class has the method with arguments of its own (`functools.partialmethod`)."""
    parent = function.code.parent
    for cls in function.project.solution.world.classes.get(parent, ()) if parent is not None else ():
        for name in asked.keys() & cls.fields.keys():
            made = [o for o in cls.fields[name].value if isinstance(o, Wrapper) and o.kind == "partialmethod"]
            if any(isinstance(o, Func) and o.code is function.code for each in made for o in each.inner):
                yield name


def _finds(obj: Obj, code: Code) -> bool:
    """Whether an object of the project has a method from the class that defines it."""
    if not isinstance(obj, Inst):
        return False
    owner = next((c for c in obj.cls.mro if isinstance(c, Class) and code.name in c.fields), None)
    return owner is not None and owner.code is code.parent


def _asked(project: ProjectView) -> _Asked:
    found: _Asked = {}
    classes = [cls for made in project.solution.world.classes.values() for cls in made]
    methods = frozenset().union(*[cls.fields for cls in classes])  # the names that anybody will look for
    for code, frames in project.solution.frames.items():
        index = index_of(code)
        asked = [instr for name, instrs in index.attributes.items() if name in methods for instr in instrs]
        reads = [(i.name, i.owner, i) for i in asked if _may_be_new(code, i.owner)]
        by_name = [i for i in index.of(ir.Call) if len(i.arguments) == 2] if "getattr" in index.names else []
        if not reads and not by_name:
            continue
        uses = index.uses
        for frame in frames:
            named = [(name, call.arguments[0][0], call) for call in by_name for name in _named(frame, call)]
            for name, owner, instr in (*reads, *named):
                if _goes(frame, uses, owner, instr) and _fresh(frame, owner, _DEPTH):
                    found.setdefault(name, []).append((frame, instr.position, owner))
    return found


def _may_be_new(code: Code, slot: int) -> bool:
    made = definitions(code).get(slot)
    return isinstance(made, (ir.Call, ir.Phi, ir.Item))


def _named(frame: Frame, call: ir.Call) -> list[str]:
    """The attribute that `getattr` is asked for."""
    func = frame.vals[call.function] or _NO_VALUE
    if not any(isinstance(o, Lib) and o.name == "builtins.getattr" for o in func):
        return []
    return [str(o.const) for o in frame.vals[call.arguments[1][0]] or () if isinstance(o, Lit)]


def _goes(frame: Frame, uses: Uses, owner: int, instr: Instr) -> bool:
    """Whether nothing holds an object once its method was asked for, or once the function has returned that."""
    method = uses.get(instr.target, ())
    if method and all(isinstance(use, _LOOKS) for use in method):
        return False
    others = [use for use in uses.get(owner, ()) if use is not instr]
    if owner not in frame.code.slot_names:
        return not others
    returned = any(isinstance(use, ir.Return) for use in method) and frame.code.is_function
    return returned and all(isinstance(use, (ir.Attr, ir.DelLocal)) for use in others)


def _fresh(frame: Frame, slot: int, depth: int) -> bool:
    """Whether the code itself makes the object in a slot, and nobody keeps it."""
    made = definitions(frame.code).get(slot)
    if isinstance(made, ir.Phi):
        return bool(depth) and all(_fresh(frame, each, depth - 1) for _, each in made.incoming)
    if isinstance(made, ir.Item) and depth:
        shown = definitions(frame.code).get(made.source)
        if not isinstance(shown, ir.Sequence) or made.source in frame.code.slot_names:
            return False
        return all(_fresh(frame, each, depth - 1) for each, _ in shown.elements)
    if not isinstance(made, ir.Call):
        return False
    func = frame.vals[made.function] or frozenset()
    if func and all(isinstance(o, Class) for o in func):
        return True
    callees = [
        c
        for c in called_at(frame, made.position, BY_CALL)
        if c.ret & (frame.vals[slot] or frozenset()) and c.code.name != "__init__"
    ]
    if not depth or not callees:
        return False
    owner = definitions(frame.code).get(made.function)
    fluent = isinstance(owner, ir.Attr) and owner.owner not in frame.code.slot_names
    fluent = fluent and isinstance(owner, ir.Attr) and _fresh(frame, owner.owner, depth - 1)
    return all(_returns_fresh(callee, depth - 1, fluent) for callee in callees)


def _returns_fresh(frame: Frame, depth: int, fluent: bool) -> bool:
    """Whether a function returns what it makes (or, in a chain of calls on a temporary object, that object)."""
    own = frame.code.params[0].slot if fluent and frame.code.params else -1
    returns = [i.value for i in index_of(frame.code).flat if isinstance(i, ir.Return) and frame.vals[i.value]]
    return bool(returns) and all(slot == own or _fresh(frame, slot, depth) for slot in returns)


RULE = Rule(
    code="HY262",
    name="temporary-receiver",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    act="keep the object in a variable",
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
