"""HY260: receivers and arguments that TensorFlow cannot hash or refer to weakly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.nesting import field_values, taken_apart
from hybridize.domain.objects import Class, Container, Inst, Lib, LibInst, Tensor, Tup, Value, Wrapper
from hybridize.domain.tensors import SYMBOLIC
from hybridize.domain.words import MUTABLE
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.facts.state.guards import parts
from hybridize.flow.frames import Frame
from hybridize.rules.model import Category, Example, Hit, Level, Outcome, Rule
from hybridize.tracing.receivers import argument_classes, receiver_classes, receives
from hybridize.tracing.retraced.comparing import (
    TAKEN_APART,
    UNHASHABLE_CLASSES,
    dataclass_options,
    not_remade,
    unhashable,
    unreferable,
)
from hybridize.tracing.returns.rebuilt import plain_reads, rebuilt
from hybridize.tracing.views import FunctionView, ProjectView

#: Containers that `tf.function` does not take apart and Python does not hash.
_UNHASHABLE: Final = frozenset({"set", "deque", "collections.deque", "bytearray", "array"})
#: Classes of objects that count as mappings, types or references, and are not made again of what they consist of.
_NOT_REMADE: Final = frozenset({"configparser.ConfigParser", "weakref.ref", "tf.TensorSpec"})
_MUTABLE: Final = frozenset({*MUTABLE, "bytearray"})
_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """Each receiver and argument of each call, and the classes of those that others may make."""
    seen: set[str] = set()
    receiving = receives(function)
    is_tuple = receiving and any(_is_named_tuple(function.project, cls) for cls in receiver_classes(function))
    for frame in function.frames:
        for i, (param, value) in enumerate(zip(frame.code.params, frame.args, strict=True)):
            if i == 0 and function.facts.kind is FunctionKind.CLASSMETHOD:
                continue
            own = i == 0 and receiving
            if own and not is_tuple:  # what comes where a class is called like its method is none of its objects
                value = frozenset(o for o in value if not isinstance(o, Tup))
            for said, evidence in _known_problems(function.project, value, own):
                message = f"`{param.name}` {said}"
                if message not in seen:
                    seen.add(message)
                    yield Hit(function.code.position, message, evidence=(*_here(function, frame, message), *evidence))
            for name, position, attribute in plain_reads(frame, value) if i or not receiving else ():
                said = f"`{param.name}` is a `{name}`, which arrives as a plain sequence: without `{attribute}`"
                evidence = (*_here(function, frame, said), Evidence(said, frame.code.path, position >> 16))
                yield Hit(position, said, evidence=evidence)
    for message, cause in _of_classes(function, receiving):
        if message not in seen:
            seen.add(message)
            here = Evidence(message, function.code.path, function.code.line)
            yield Hit(function.code.position, message, evidence=(here, cause))


def _of_classes(function: FunctionView, receiving: bool) -> Iterator[tuple[str, Evidence]]:
    """What is to be said of the classes of possible receivers and of arguments, whether or not objects are seen."""
    for i, param in enumerate(function.code.params):
        own = i == 0 and function.facts.kind is FunctionKind.METHOD
        for cls in receiver_classes(function) if own else argument_classes(function, i):
            cause = _class_problem(function.project, cls, own and receiving)
            if cause is not None:
                may = "is" if own and cls.code is function.code.parent else "may be"
                yield f"`{param.name}` {may} a `{cls.name}`, which {cause.message}", cause


def _class_problem(project: ProjectView, cls: Class, receiver: bool) -> Evidence | None:
    """Why the objects of a class cannot be the key of a trace."""
    if not receiver and any(base.structure is not None for base in cls.line):
        return project.shared(("remade", cls), lambda: not_remade(cls))
    cause = unhashable(cls)
    if receiver:
        return cause or unreferable(cls, is_named_tuple=_is_named_tuple(project, cls))
    return None if any(isinstance(b, Lib) and b.name in TAKEN_APART for b in cls.mro) else cause


def _is_named_tuple(project: ProjectView, cls: Class) -> bool:
    return any(each in project.solution.world.tuple_fields for each in cls.line)


def _here(function: FunctionView, frame: Frame, message: str) -> list[Evidence]:
    """The function, and where it is called."""
    code = function.code
    places = sorted({(caller.code.path, pos >> 16) for caller, pos, at in function.called_by() if at is frame})
    return [Evidence(message, code.path, code.line), *[Evidence("called here", *place) for place in places[:3]]]


def _known_problems(
    project: ProjectView, value: Value, receiver: bool, depth: int = _DEPTH
) -> tuple[tuple[str, tuple[Evidence, ...]], ...]:
    """Why a value cannot be the key of a trace, a sentence with evidence for each reason; each value is asked once."""
    known: dict[tuple[Value, bool, int], tuple[tuple[str, tuple[Evidence, ...]], ...]]
    known = project.shared("unhashable", dict)
    key = (value, receiver, depth)
    found = known.get(key)
    if found is None:
        first: dict[str, tuple[Evidence, ...]] = {}
        for said, evidence in _problems(project, value, receiver, depth):
            first.setdefault(said, evidence)
        found = known[key] = tuple(first.items())
    return found


def _problems(
    project: ProjectView, value: Value, receiver: bool, depth: int
) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    for obj in value:
        again = None if receiver else rebuilt(project, obj)
        if again is not None:
            yield again, ()
        elif isinstance(obj, Inst):
            apart = not receiver and taken_apart(obj) is not None
            cause = _class_problem(project, obj.cls, receiver) or (None if apart else _unhashable_field(obj))
            if cause is not None:
                yield f"is a `{obj.cls.name}`, which {cause.message}", (cause,)
            for item in field_values(obj) if apart and depth else ():
                yield from _known_problems(project, item, False, depth - 1)
        elif isinstance(obj, Tup) and receiver:
            yield "is a named tuple, which takes no weak reference", ()
        elif isinstance(obj, Container) and obj.kind in _UNHASHABLE and not receiver:
            yield f"is a {obj.kind}, which Python does not hash", ()
        elif isinstance(obj, LibInst) and obj.cls in UNHASHABLE_CLASSES and not receiver:
            yield f"is a `{obj.cls.removesuffix('.defaults')}`, which Python does not hash", ()
        elif isinstance(obj, LibInst) and obj.cls in _NOT_REMADE and not receiver:
            yield f"is a `{obj.cls}`, which TensorFlow takes apart and cannot make again", ()
        elif isinstance(obj, Wrapper) and obj.kind == "slice" and not receiver:
            yield "is a slice, which Python does not hash before 3.12", ()
        elif depth and isinstance(obj, (Container, Tup)) and not receiver:
            for item in parts(obj):
                yield from _known_problems(project, item, False, depth - 1)


def _unhashable_field(obj: Inst) -> Evidence | None:
    """Why the hash that a frozen data class computes of its fields fails."""
    options = dataclass_options(obj.cls)
    if options is None or not (options.get("frozen") or options.get("unsafe_hash")) or not options.get("eq", True):
        return None
    if "__hash__" in obj.cls.fields:
        return None
    for name, cell in obj.fields.items():
        kinds = {o.kind for o in cell.value if isinstance(o, Container)} & _MUTABLE
        if any(isinstance(o, Tensor) and o.kind != SYMBOLIC for o in cell.value):
            kinds.add("tensor, array or variable")
        if kinds and name.isidentifier():
            said = f"hashes its field `{name}`, a {min(kinds)}"
            return Evidence(said, obj.cls.code.path, obj.cls.code.line)
    return None


RULE = Rule(
    code="HY260",
    name="unhashable",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="A receiver or argument cannot be hashed, or a receiver takes no weak reference.",
    details="""TensorFlow looks traces up by the arguments: lists, tuples, dictionaries and tensors are taken
apart, any other object is hashed. Sets, namespaces (`types.SimpleNamespace`, `argparse.Namespace`), data classes that
compare by value, and classes with `__eq__` but no `__hash__` raise. A method is asked of its own class and of all that
inherit it, whether or not their objects are seen here. The receiver of a hybrid method is also referred to weakly,
which instances of classes with `__slots__` and of named tuples don't allow. What is taken apart is also put
together again: a `Counter` of pairs, a dictionary sorted by its keys, a class of one's own that derives from list or
tuple as a plain one, one that derives from dict without arguments. Arguments of classes of `attrs` need no hash: they
are taken apart and made again of their fields by place, which fields by keyword only, checks and conversions refuse.
Add `__hash__`, `eq=False`, or `__weakref__` to the slots.""",
    level=Level.INFO,
    root=scan,
    bare=True,
    bad=(
        Example(
            """\
import tensorflow as tf
class Model:
    k = 2
    def target(self, x):
        return x * self.k
class Named(Model):
    def __init__(self, name):
        self.name = name
    def __eq__(self, other):
        return self.name == other.name
def run(models):
    return [m.target(tf.constant(1)) for m in models]
r1 = run([eval("Named('a')")])
""",
            target="Model.target",
            line=4,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    def __init__(self, k):
        self.k = k
    def __eq__(self, other):
        return self.k == other.k
    def target(self, x):
        return x * self.k
m = Model(2)
r1 = m.target(tf.constant(1))
""",
            target="Model.target",
            line=7,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import dataclasses
import tensorflow as tf
@dataclasses.dataclass
class Settings:
    k: int
def target(settings, x):
    return x * settings.k
r1 = target(Settings(2), tf.constant(1))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    __slots__ = ("k",)
    def __init__(self, k):
        self.k = k
    def target(self, x):
        return x * self.k
m = Model(2)
r1 = m.target(tf.constant(1))
""",
            target="Model.target",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import typing
import tensorflow as tf
class Affine(typing.NamedTuple):
    k: float
    b: float
    def target(self, x):
        return self.k * x + self.b
line = Affine(2.0, 1.0)
r1 = line.target(tf.constant(1.0))
""",
            target="Affine.target",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(names, x):
    return x * len(names)
r1 = target({"a", "b"}, tf.constant(1))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import types
import tensorflow as tf
def target(options, x):
    return x * options.k
r1 = target(types.SimpleNamespace(k=2), tf.constant(1))
""",
            line=3,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import collections
import tensorflow as tf
def target(counts, x):
    return x * counts["a"]
r = target(collections.Counter("aab"), tf.constant(1))
""",
            line=3,
            outcome=Outcome.DIFFERS,
        ),
        Example(
            """\
import tensorflow as tf
class Path(list):
    def length(self):
        return float(len(self))
def target(path, x):
    return x * path.length()
path = Path([1, 2])
r = target(path, tf.constant(1.0))
""",
            line=6,
            outcome=Outcome.RAISES,
        ),
        Example(
            """\
import tensorflow as tf
def target(table, x):
    return x * table["scale"]
r = target({"scale": 2.0, 0: 1.0}, tf.constant(1.0))
""",
            line=2,
            outcome=Outcome.RAISES,
        ),
    ),
    good=(
        Example(
            """\
import tensorflow as tf
class Settings(dict):
    def scale(self):
        return self["scale"]
def target(settings, x):
    return x * settings.scale()
r = target(Settings(scale=2.0), tf.constant(1.0))
"""
        ),
        Example(
            """\
import dataclasses
import tensorflow as tf
@dataclasses.dataclass(frozen=True)
class Settings:
    k: int
settings = Settings(2)
def target(settings, x):
    return x * settings.k
r1 = target(settings, tf.constant(1))
"""
        ),
        Example(
            """\
import tensorflow as tf
class Model:
    __slots__ = ("k", "__weakref__")
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
class Metres(float):
    def target(self, x):
        return x * float(self)
length = Metres(2.0)
r1 = length.target(tf.constant(1.0))
""",
            target="Metres.target",
        ),
        Example(
            """\
import tensorflow as tf
class Base:
    def __eq__(self, other):
        return self is other
    def __hash__(self):
        return 1
class Model(Base):
    def target(self, x):
        return x * 2
m = Model()
r1 = m.target(tf.constant(1))
""",
            target="Model.target",
        ),
    ),
    known_problems="""It is information: none of the seven findings in projects that nobody had looked at was right.""",
    reference="semantics.md R14",
)
