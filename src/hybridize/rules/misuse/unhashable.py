"""HY260: receivers and arguments that TensorFlow cannot hash or refer to weakly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Container, Func, Inst, Lib, LibInst, Lit, Obj, Tup, Value, Wrapper
from hybridize.facts.guards import parts
from hybridize.facts.model import Evidence, FunctionKind
from hybridize.flow.frames import Frame
from hybridize.rules.model import Category, Example, Hit, Outcome, Rule
from hybridize.rules.rebuilt import plain_reads, rebuilt
from hybridize.rules.views import FunctionView, ProjectView

#: Containers that `tf.function` does not take apart and Python does not hash.
_UNHASHABLE: Final = frozenset({"set", "deque", "collections.deque", "bytearray", "array"})
#: Classes of libraries that compare by value, or hash nothing.
_UNHASHABLE_CLASSES: Final = frozenset(
    "types.SimpleNamespace argparse.Namespace argparse.Namespace.defaults collections.UserList".split()
)
#: Classes of objects that count as mappings, types or references, and are not made again of what they consist of.
_NOT_REMADE: Final = frozenset({"configparser.ConfigParser", "weakref.ref", "tf.TensorSpec"})
_BASES: Final = frozenset({"builtins.list", "builtins.dict", "builtins.set"}) | _UNHASHABLE_CLASSES
_TAKEN_APART: Final = frozenset({"builtins.list", "builtins.dict"})
#: Classes of objects of variable size: neither they nor what derives from them takes a weak reference.
_SIZED: Final = frozenset(
    "typing.NamedTuple builtins.tuple builtins.int builtins.bytes enum.IntEnum enum.IntFlag".split()
)
_PROPERTIES: Final = frozenset({"property", "cached_property", "setter", "getter"})
_DEPTH: Final = 3


def scan(function: FunctionView) -> Iterator[Hit]:
    """Each receiver and argument of each call."""
    seen: set[str] = set()
    receives = function.facts.kind is FunctionKind.METHOD and not _is_property(function)
    for frame in function.frames:
        for i, (param, value) in enumerate(zip(frame.code.params, frame.args, strict=True)):
            if i == 0 and function.facts.kind is FunctionKind.CLASSMETHOD:
                continue
            for said, evidence in _known_problems(function.project, value, i == 0 and receives):
                message = f"`{param.name}` {said}"
                if message not in seen:
                    seen.add(message)
                    yield Hit(function.code.position, message, evidence=(*_here(function, frame, message), *evidence))
            for name, position, attribute in plain_reads(frame, value) if i or not receives else ():
                said = f"`{param.name}` is a `{name}`, which arrives as a plain sequence: without `{attribute}`"
                evidence = (*_here(function, frame, said), Evidence(said, frame.code.path, position >> 16))
                yield Hit(position, said, evidence=evidence)


def _here(function: FunctionView, frame: Frame, message: str) -> list[Evidence]:
    """The function, and where it is called."""
    code = function.code
    places = sorted({(caller.code.path, pos >> 16) for caller, pos, at, how in function.callers() if at is frame})
    return [Evidence(message, code.path, code.line), *[Evidence("called here", *place) for place in places[:3]]]


def _is_property(function: FunctionView) -> bool:
    return any(getattr(d, "id", getattr(d, "attr", "")) in _PROPERTIES for d in function.code.decorators)


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
            cause = unhashable(obj.cls) or _unhashable_field(obj)
            if receiver:
                cause = cause or unreferable(project, obj.cls)
            elif any(isinstance(b, Lib) and b.name in _TAKEN_APART for b in obj.cls.mro):
                cause = None
            if cause is not None:
                yield f"is a `{obj.cls.name}`, which {cause.message}", (cause,)
        elif isinstance(obj, Tup) and receiver:
            yield "is a named tuple, which takes no weak reference", ()
        elif isinstance(obj, Container) and obj.kind in _UNHASHABLE and not receiver:
            yield f"is a {obj.kind}, which Python does not hash", ()
        elif isinstance(obj, LibInst) and obj.cls in _UNHASHABLE_CLASSES and not receiver:
            yield f"is a `{obj.cls.removesuffix('.defaults')}`, which Python does not hash", ()
        elif isinstance(obj, LibInst) and obj.cls in _NOT_REMADE and not receiver:
            yield f"is a `{obj.cls}`, which TensorFlow takes apart and cannot make again", ()
        elif isinstance(obj, Wrapper) and obj.kind == "slice" and not receiver:
            yield "is a slice, which Python does not hash before 3.12", ()
        elif depth and isinstance(obj, (Container, Tup)) and not receiver:
            for item in parts(obj):
                yield from _known_problems(project, item, False, depth - 1)


def unhashable(cls: Class) -> Evidence | None:
    """Why instances of a class cannot be hashed: it compares by value and says nothing of hashing."""
    for base in cls.mro:
        if isinstance(base, Lib):
            if base.name in _BASES:
                return Evidence(f"derives from `{base.name.removeprefix('builtins.')}`", cls.code.path, cls.code.line)
            continue
        if not isinstance(base, Class):
            return None
        hashing = base.fields.get("__hash__")
        if hashing is not None and hashing.value:
            if not all(isinstance(o, Lit) and o.const is None for o in hashing.value):
                return None
            return Evidence("has no hash", base.code.path, base.code.line)
        equals = base.fields.get("__eq__")
        if equals is not None and equals.value:
            line = next((o.code.line for o in equals.value if isinstance(o, Func)), base.code.line)
            return Evidence("defines `__eq__` and no `__hash__`", base.code.path, line)
        if _is_comparing_dataclass(base):
            return Evidence("is a data class that compares by value and has no hash", base.code.path, base.code.line)
    return None


def _unhashable_field(obj: Inst) -> Evidence | None:
    """Why the hash that a frozen data class computes of its fields fails."""
    options = dataclass_options(obj.cls)
    if options is None or not (options.get("frozen") or options.get("unsafe_hash")) or not options.get("eq", True):
        return None
    if "__hash__" in obj.cls.fields:
        return None
    for name, cell in obj.fields.items():
        kinds = {o.kind for o in cell.value if isinstance(o, Container)}
        if kinds & {"list", "dict", "set", "bytearray"} and name.isidentifier():
            said = f"hashes its field `{name}`, a {min(kinds)}"
            return Evidence(said, obj.cls.code.path, obj.cls.code.line)
    return None


def _is_comparing_dataclass(cls: Class) -> bool:
    chosen = dataclass_options(cls)
    if chosen is None:
        return False
    return chosen.get("eq", True) and not chosen.get("frozen") and not chosen.get("unsafe_hash")


def dataclass_options(cls: Class) -> dict[str, bool] | None:
    """What the decorator of a data class is given; None for any other class."""
    for node in cls.code.decorators:
        name = node.func if isinstance(node, ast.Call) else node
        if getattr(name, "attr", getattr(name, "id", "")) == "dataclass":
            given = node.keywords if isinstance(node, ast.Call) else []
            return {k.arg or "": isinstance(k.value, ast.Constant) and bool(k.value.value) for k in given}
    return None


def unreferable(project: ProjectView, cls: Class) -> Evidence | None:
    """Why instances of a class cannot be referred to weakly, as the cache of a hybrid method does."""
    if any(isinstance(b, Lib) and b.name in _SIZED for b in cls.mro):
        return Evidence("is a tuple, an integer or bytes, which take no weak reference", cls.code.path, cls.code.line)
    line = 0
    for base in cls.mro:
        if isinstance(base, Lib):
            if base.name != "builtins.object":
                return None
            continue
        if not isinstance(base, Class) or base.foreign:
            return None
        if "__slots__" not in base.fields:
            options = dataclass_options(base) or {}
            if not options.get("slots") or options.get("weakref_slot"):
                return None
            line = line or base.code.line
            continue
        if any(_names_weakref(o) for o in base.fields["__slots__"].value):
            return None
        line = line or next((pos >> 16 for _, pos in base.fields["__slots__"].writes), base.code.line)
    return Evidence("has `__slots__` without `__weakref__`", cls.code.path, line) if line else None


def _names_weakref(obj: Obj) -> bool:
    if isinstance(obj, Lit):
        return obj.const in ("__weakref__", "__dict__")
    return any(_names_weakref(o) for item in parts(obj) for o in item)


RULE = Rule(
    code="HY260",
    name="unhashable",
    category=Category.MISUSE,
    outcome=Outcome.RAISES,
    summary="A receiver or argument cannot be hashed, or a receiver takes no weak reference.",
    details="""TensorFlow looks traces up by the arguments: lists, tuples, dictionaries and tensors are taken
apart, any other object is hashed. Sets, namespaces (`types.SimpleNamespace`, `argparse.Namespace`), data classes that
compare by value, and classes with `__eq__` but no `__hash__` raise. The receiver of a hybrid method is also referred to
weakly, which instances of classes with `__slots__` and of named tuples don't allow. What is taken apart is also put
together again: a `Counter` of pairs, a dictionary sorted by its keys, a class of one's own that derives from list or
tuple as a plain one, one that derives from dict without arguments. Add `__hash__`, `eq=False`, or
`__weakref__` to the slots.""",
    root=scan,
    bare=True,
    bad=(
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
    reference="semantics.md R14",
)
