"""The abstract objects that a value is a set of.

Objects are interned: two equal ones are the same Python object, so that sets of them compare and hash by identity,
which is what keeps the fixpoint cheap. An object that Python would allocate is named by its allocation site and the
frame (function and context) that executes it; an immutable one (a literal, a tuple, a tensor type) by its content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hybridize.domain.fields import BASES as BASES
from hybridize.domain.fields import EVERY as EVERY
from hybridize.domain.fields import REST as REST
from hybridize.domain.fields import Cell as Cell
from hybridize.domain.fields import Heap as Heap
from hybridize.domain.identity import HERE, Lasting, intern_obj
from hybridize.domain.identity import Obj as Obj
from hybridize.domain.identity import Value as Value
from hybridize.domain.tensors import Shape
from hybridize.domain.unknowns import Why


class Lit(Lasting):
    """A Python constant: `kind` is its type's name, `const` the constant itself.

    `varies`: it is one of the values that a place of the program takes in turn (the counter of a loop that is followed
    turn by turn).
    """

    __slots__ = ("const", "kind", "varies")

    def __init__(self, kind: str, const: Any, varies: bool = False) -> None:
        super().__init__()
        self.kind = kind
        self.const = const
        self.varies = varies

    def __repr__(self) -> str:
        return repr(self.const)


class Prim(Lasting):
    """A Python primitive of known type and unknown value. `varies`: it takes many values in a run (a loop counter).

    `likely` is the int that it is unless somebody says otherwise (an option of a command line); only estimates ask.
    """

    __slots__ = ("kind", "likely", "varies")

    def __init__(self, kind: str, varies: bool, likely: int | None) -> None:
        super().__init__()
        self.kind = kind
        self.varies = varies
        self.likely = likely

    def __repr__(self) -> str:
        return f"<{self.kind}{'*' if self.varies else ''}>"


class Tensor(Lasting):
    """A tensor or tensor-like: `content` holds the dims of a shape vector whose elements are known."""

    __slots__ = ("content", "dtype", "kind", "shape")

    def __init__(self, kind: str, dtype: str | None, shape: Shape, content: Shape) -> None:
        super().__init__()
        self.kind = kind
        self.dtype = dtype
        self.shape = shape
        self.content = content

    def __repr__(self) -> str:
        dims = "?" if self.shape is None else ",".join(str(d) if d >= 0 else "?" for d in self.shape)
        return f"{self.kind}:{self.dtype or '?'}[{dims}]"


class Tup(Obj):
    """A tuple, by position. `names` are the fields of a named tuple; `cls` its project or library class."""

    __slots__ = ("depth", "items", "kind", "names", "size")

    def __init__(self, kind: str, items: tuple[Value, ...], names: tuple[str, ...] | None) -> None:
        super().__init__()
        self.depth, self.size = _extent(items)
        self.kind = kind
        self.items = items
        self.names = names

    @property
    def is_lasting(self) -> bool:
        return all(o.is_lasting for item in self.items for o in item)

    def __repr__(self) -> str:
        return "(" + ", ".join(map(show, self.items)) + ")"


class Stream(Obj):
    """Something that yields elements: an iterator, a dataset, a range, a map; `kind` says which.

    Immutable streams (datasets, ranges) are interned by their element; `kind` starts with a library name for datasets.
    `count` is how many elements there are, if it is known; `bounds` are those of a range, if they are constants, and
    `origin` is the code of the project's generator function that made it.
    """

    __slots__ = ("bounds", "count", "depth", "element", "kind", "origin", "size")

    def __init__(
        self, kind: str, element: Value, count: int | None, bounds: range | None = None, origin: Any = None
    ) -> None:
        super().__init__()
        self.bounds = bounds
        self.origin = origin
        self.count = count
        self.depth, self.size = _extent((element,))
        self.kind = kind
        self.element = element

    @property
    def is_lasting(self) -> bool:
        return self.origin is None and all(o.is_lasting for o in self.element)

    def __repr__(self) -> str:
        return f"{self.kind}<{show(self.element)}>"

    @property
    def is_data(self) -> bool:
        """Whether it is a `tf.data` dataset or an iterator over one."""
        return self.kind.startswith("tf.")


def _extent(parts: Iterable[Any], level: float = 1) -> tuple[float, int]:
    """How deeply immutable structures nest in some values, themselves `level` deep, and how many objects they hold."""
    depth, size = 0.0, 1
    for part in parts:
        if isinstance(part, _NESTED):
            depth = max(depth, part.depth)
            size += part.size
        elif isinstance(part, (frozenset, tuple)):
            inner, held = _extent(part, 0)
            depth = max(depth, inner)
            size += held - 1
        else:
            size += 1
    return depth + level, size


class Container(Heap):
    """A list, set, dict, deque ...: constant keys and indices apart, everything else in `rest`.

    `exact` stays true while the keys in `fields` are all there are, in that order. `count` is the length of one that is
    not exact, if it is known (see `library.lengths`). `order` has the place of each counted append (`flow.turns`).
    """

    __slots__ = ("count", "exact", "keys", "kind", "order", "reshaped")

    def __init__(self, kind: str, site: tuple[Any, int], frame: int) -> None:
        super().__init__(site, frame)
        self.kind = kind
        self.exact = True
        self.count: int | None = None
        self.order: dict[Any, Any] = {}
        self.keys: tuple[int, Value] = 0, frozenset()  # how many of the keys in `fields` were joined so far, to what
        self.reshaped: dict[Any, int] = {}  # frames to run again when `exact` or `count` is lost, as of cells

    def _made(self, name: Any) -> Cell:
        """A new cell. Who rests on the keys that there are reads it, too."""
        cell = super()._made(name)
        cell.readers.update(self.reshaped)
        return cell

    def __repr__(self) -> str:
        return f"<{self.kind} at {self.site[1] >> 16}>"


class Inst(Heap):
    """An instance of a class of the project."""

    __slots__ = ("cls",)

    def __init__(self, cls: Class, site: tuple[Any, int], frame: int) -> None:
        super().__init__(site, frame)
        self.cls = cls

    def __repr__(self) -> str:
        return f"<{self.cls.name} at {self.site[1] >> 16}>"


class LibInst(Heap):
    """An instance of a library class, `cls` its canonical name; its fields hold what models keep about it."""

    __slots__ = ("cls",)

    def __init__(self, cls: str, site: tuple[Any, int], frame: int) -> None:
        super().__init__(site, frame)
        self.cls = cls

    def __repr__(self) -> str:
        return f"<{self.cls} at {self.site[1] >> 16}>"


class Func(Heap):
    """A function of the project with its closure and defaults."""

    __slots__ = ("cells", "code", "defaults", "module", "owner")

    def __init__(self, code: Any, module: Mod, site: tuple[Any, int], frame: int) -> None:
        super().__init__(site, frame)
        self.code = code
        self.module = module
        self.cells: dict[str, Cell] = {}
        self.defaults: dict[str, Value] = {}
        self.owner: Class | None = None

    def __repr__(self) -> str:
        return f"<def {self.code.qualname}>"


class Class(Heap):
    """A class of the project: `bases` in order, `mro` once they are known (project and library classes)."""

    __slots__ = (
        "bases",
        "code",
        "derives_container",
        "foreign",
        "library",
        "line",
        "metaclass",
        "module",
        "mro",
        "name",
        "names",
        "structure",
        "subclasses",
    )

    def __init__(self, code: Any, module: Mod, site: tuple[Any, int], frame: int) -> None:
        super().__init__(site, frame)
        self.code = code
        self.module = module
        self.name = code.name
        self.bases: tuple[Obj, ...] = ()
        self.mro: tuple[Obj, ...] = (self,)
        self.line: tuple[Class, ...] = (self,)  # the classes of the project in it
        self.library: tuple[str, ...] = ()  # the names of those of libraries
        self.names: tuple[str, ...] | None = None  # and of all that these derive from, once somebody asks
        self.derives_container: bool | None = None
        self.metaclass: Class | None = None  # of the project
        self.foreign = False  # some base is unknown
        # The fields, in order, that TensorFlow takes instances apart into: it does so with those of `attrs`.
        self.structure: tuple[str, ...] | None = None
        self.subclasses: list[Class] = []

    def _made(self, name: Any) -> Cell:
        """A new cell. Who has looked for the name in vain, here or in a class that derives from this, gets to know."""
        cell = Cell()
        for cls in (self, *self.subclasses):
            cls._tell(name, cell)
        return cell

    def __repr__(self) -> str:
        return f"<class {self.name}>"


class Mod(Heap):
    """A module of the project; its fields are its globals."""

    __slots__ = ("code", "name", "path")

    def __init__(self, name: str, path: str, code: Any) -> None:
        super().__init__((code, 0), 0)
        self.name = name
        self.path = path
        self.code = code

    def __repr__(self) -> str:
        return f"<module {self.name}>"


class Lib(Lasting):
    """A name of a library: a module, function, class or constant, by its canonical name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Bound(Obj):
    """A function bound to its first argument: a method (`func` a Func) or a library method (`func` its name)."""

    __slots__ = ("depth", "func", "receiver", "size")

    def __init__(self, func: Obj | str, receiver: Obj) -> None:
        super().__init__()
        self.depth, self.size = _extent((func, receiver), WRAPPING)
        self.func = func
        self.receiver = receiver

    def __repr__(self) -> str:
        return f"{self.receiver!r}.{self.func}"


class Wrapper(Obj):
    """A callable around another.

    `kind` is `staticmethod`, `classmethod`, `property`, `partial`, `hybrid`, `super` ...
    """

    __slots__ = ("depth", "extra", "inner", "kind", "size")

    def __init__(self, kind: str, inner: Value, extra: tuple[Any, ...]) -> None:
        super().__init__()
        self.depth, self.size = _extent((inner, extra), WRAPPING)
        self.kind = kind
        self.inner = inner
        self.extra = extra

    def __repr__(self) -> str:
        return f"{self.kind}({show(self.inner)})"


class Unknown(Lasting):
    """A value that the analysis does not know, and why: in a sentence, which names it, and as code asks it.

    Attributes:
        taken: how it was got out of another unknown value; empty for a whole one.
        hint: what an annotation says of it that is no value: a class, or `NO_TENSOR` of what a function gives.
        result_of, field_of: the function of a library that gave it, or that it is a part of; the class of a library
            whose attribute it is.
    """

    __slots__ = ("field_of", "hint", "reason", "result_of", "taken", "why")

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason
        self.why = Why.OTHER
        self.taken = self.hint = self.result_of = self.field_of = ""

    def part(self, what: str, longest: int = 80) -> Value:
        """What is got out of an unknown value, and how ("an attribute"). A reason so long grows no more."""
        if len(self.reason) >= longest:
            return self.value
        said = f"{what} of {self.reason}"
        return unknown(said, self.why, what, result_of=self.result_of, field_of=self.field_of).value

    def __repr__(self) -> str:
        return f"?({self.reason})"


#: The structures that hold other objects and are named by what they hold.
_NESTED: Final = (Tup, Stream, Wrapper, Bound)
_TOO_DEEP: Final = Unknown("a value that is nested too deeply")


def literal(const: object) -> Lit:
    """The object of a Python constant. Floats and ints that compare equal are kept apart, as are 0.0 and -0.0."""
    kind = type(const).__name__ if const is not None else "None"
    key = (Lit, kind, repr(const) if isinstance(const, (float, complex)) else const)
    found: Lit | None = HERE.objects.get(key)
    if found is None:
        found = HERE.objects[key] = Lit(kind, const)
    return found


def counter(const: int | str) -> Lit:
    """The object of one of the values that a loop counter takes, or of a text that spells one."""
    return intern_obj(Lit, type(const).__name__, const, True)


def prim(kind: str, varies: bool = False, likely: int | None = None) -> Prim:
    """A primitive of type `kind` whose value is not known."""
    found: Prim | None = HERE.objects.get((Prim, kind, varies, likely))
    return intern_obj(Prim, kind, varies, likely) if found is None else found


def optional_int(default: Value) -> Value:
    """An int that a program is told, with what it is where it is told nothing."""
    known = [o.const for o in default if isinstance(o, Lit) and type(o.const) is int]
    return prim("int", likely=known[0]).value if len(known) == len(default) == 1 else prim("int").value


def tensor(kind: str, dtype: str | None = None, shape: Shape = None, content: Shape = None) -> Tensor:
    """The tensor type with these properties."""
    found: Tensor | None = HERE.objects.get((Tensor, kind, dtype, shape, content))
    return intern_obj(Tensor, kind, dtype, shape, content) if found is None else found


#: Structures beyond these bounds are cut off: a program that nests values without end must not do so here.
MAX_NESTING: Final = 5
MAX_STRUCTURE: Final = 400
#: Decorators and bound methods nest deeper than tuples in sound programs: each counts so much of a level.
WRAPPING: Final = 0.4


def tup(items: Iterable[Value], kind: str = "tuple", names: tuple[str, ...] | None = None) -> Tup:
    """A tuple by position."""
    made = intern_obj(Tup, kind, tuple(items), names)
    if made.depth > MAX_NESTING or made.size > MAX_STRUCTURE:
        return intern_obj(Tup, kind, tuple(map(_cut, made.items)), names)
    return made


def stream(kind: str, element: Value, count: int | None = None) -> Stream:
    """A stream of elements."""
    made = intern_obj(Stream, kind, element, count)
    if made.depth > MAX_NESTING or made.size > MAX_STRUCTURE:
        return intern_obj(Stream, kind, _cut(element), count)
    return made


def _cut(value: Value) -> Value:
    """A value without the structures in it."""
    kept = [o for o in value if not isinstance(o, _NESTED)]
    return frozenset([*kept, _TOO_DEEP]) if len(kept) != len(value) else value


def lib(name: str) -> Lib:
    """A library name."""
    found: Lib | None = HERE.objects.get((Lib, name))
    return intern_obj(Lib, name) if found is None else found


def bound(func: Obj | str, receiver: Obj) -> Bound:
    """A bound method."""
    made: Bound = HERE.objects.get((Bound, func, receiver)) or intern_obj(Bound, func, receiver)
    if made.depth > MAX_NESTING or made.size > MAX_STRUCTURE:
        return intern_obj(Bound, func if isinstance(func, (str, Func)) else _TOO_DEEP, _TOO_DEEP)
    return made


def wrapper(kind: str, inner: Value, *extra: Any) -> Wrapper:
    """A wrapped callable."""
    made = intern_obj(Wrapper, kind, inner, extra)
    if made.depth > MAX_NESTING or made.size > MAX_STRUCTURE:
        return intern_obj(Wrapper, kind, _cut(inner), tuple(map(_cut_part, extra)))
    return made


def _cut_part(part: Any) -> Any:
    """A part of a wrapper without the structures in it."""
    if isinstance(part, frozenset):
        return _cut(part)
    if isinstance(part, tuple):
        return tuple(map(_cut_part, part))
    return _TOO_DEEP if isinstance(part, _NESTED) else part


def unknown(
    reason: str, why: Why = Why.OTHER, taken: str = "", *, hint: str = "", result_of: str = "", field_of: str = ""
) -> Unknown:
    """An unknown value. Whoever gives the same reason gives the same of the rest."""
    found: Unknown | None = HERE.objects.get((Unknown, reason))
    if found is None:
        found = intern_obj(Unknown, reason)
        found.why, found.taken, found.hint = why, taken, hint
        found.result_of, found.field_of = result_of, field_of
    return found


def unknown_result(name: str, why: Why = Why.OTHER) -> Unknown:
    """What a library's function gives, of which nothing is known."""
    return unknown(f"the result of `{name}`", why, result_of=name)


BOTTOM: Final[Value] = frozenset()
NONE: Final = literal(None)
TRUE: Final = literal(True)
FALSE: Final = literal(False)
NONE_V: Final = NONE.value
BOOL_V: Final = prim("bool").value
INT_V: Final = prim("int").value
FLOAT_V: Final = prim("float").value
STR_V: Final = prim("str").value


def show(value: Value) -> str:
    """A value for people, in a stable order."""
    if not value:
        return "⊥"
    return " | ".join(sorted(map(repr, value)))
