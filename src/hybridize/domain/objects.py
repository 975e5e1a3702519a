"""The abstract objects that a value is a set of.

Objects are interned: two equal ones are the same Python object, so that sets of them compare and hash by identity,
which is what keeps the fixpoint cheap. An object that Python would allocate is named by its allocation site and the
frame (function and context) that executes it; an immutable one (a literal, a tuple, a tensor type) by its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Final, Self, TypeAlias, TypeVar
from zlib import crc32

from hybridize.domain.tensors import Shape
from hybridize.domain.unknowns import Why

Value: TypeAlias = "frozenset[Obj]"


#: The numbers of objects: halves, so that none equals an integer that is a key beside them.
_serial: Iterator[float] = count(0.5)
_taken: set[float] = set()
_LARGEST: Final = 1 << 51


class Obj(float):
    """The base of all abstract objects. `value` is the set that holds just this one.

    An object is equal to itself alone. It is a number only so that sets of objects hash and iterate in an order that
    is the same in every run, at the speed of C: hashes by address would differ. What has a site is numbered in the
    order of its making, in each analysis by itself; what is named by its content has a number that follows from that:
    it makes no difference which other analyses the process runs.
    """

    __slots__ = ("value",)

    def __new__(cls, *key: object) -> Self:
        """A new object with the number of its content, or the next that is free."""
        number = _digest((cls.__name__, *key)) % _LARGEST + 0.5
        while number in _taken:
            number += 1
        _taken.add(number)
        return float.__new__(cls, number)

    def __init__(self) -> None:
        self.value: Value = frozenset((self,))


def _digest(part: object) -> int:
    """A number that follows from what a part of a name says, in every process the same."""
    kind = type(part)
    if kind is str:
        found = _texts.get(part)  # type: ignore[call-overload]  # it is a text
        return _text(part) if found is None else found  # type: ignore[arg-type]
    if kind is tuple or kind is list:
        return hash(tuple([hash(e) if isinstance(e, (frozenset, Obj)) else _digest(e) for e in part]))  # type: ignore[attr-defined]
    if kind is frozenset or isinstance(part, (Obj, int, float, complex)):
        # Of a value: of the numbers of its objects. Python gives -1 the hash of -2, which are two kinds of dims here.
        return (_MINUS_ONE if part == -1 else hash(part)) + _TAGS.get(kind, 0)
    return 0 if part is None else 1


def _text(part: str) -> int:
    found = _texts[part] = crc32(part.encode("utf-8", "replace")) << 20 | len(part)
    return found


_MINUS_ONE: Final = 1 << 60
_TAGS: Final[dict[type, int]] = {bool: 1, int: 2, float: 3, complex: 4}
_texts: dict[str, int] = {}


class Cell:
    """A place of the heap: a field, an element, a global, a captured variable. Its value only grows.

    `readers` are the frames to run again when it does, each with the number of the run that read it last: a frame that
    has run again since does not depend on it any more. `writes` are the (path, line) places that wrote it.
    """

    __slots__ = ("readers", "value", "writes")

    def __init__(self, value: Value = frozenset()) -> None:
        self.value = value
        self.readers: dict[Any, int] = {}
        self.writes: dict[tuple[Any, int], None] = {}


class Lit(Obj):
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


class Prim(Obj):
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


class Tensor(Obj):
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


#: The fields of an object that are not constant names, and all of its fields, as names of what is awaited.
REST: Final = "<rest>", 0
EVERY: Final = "<every>", 0
#: What a class is asked for by who looks at what it derives from.
BASES: Final = "<bases>", 0
_NOTHING: Final[dict[Any, Cell]] = {}


class Heap(Obj):
    """An object with a site: `site` is (code, position), `frame` the number of the frame that allocated it.

    `awaited` are the fields that were read before there were any, as cells that nobody writes: who reads them is to run
    again once the field is there.
    """

    __slots__ = ("awaited", "fields", "frame", "rest", "site")

    def __new__(cls, *_: object) -> Self:
        """A new object with the next number."""
        return float.__new__(cls, -next(_serial))

    def __init__(self, site: tuple[Any, int], frame: int) -> None:
        super().__init__()
        self.site = site
        self.frame = frame
        self.fields: dict[Any, Cell] = {}
        self.rest: Cell | None = None
        self.awaited = _NOTHING

    def cell(self, name: Any) -> Cell:
        """The cell of a field or a constant key, made when first asked for."""
        fields = self.fields
        if name in fields:
            return fields[name]
        cell = fields[name] = self._made(name)
        return cell

    def rest_cell(self) -> Cell:
        """The cell that stands for every field or key that is not a constant."""
        if self.rest is None:
            self.rest = self._made(REST)
        return self.rest

    def absent(self, name: Any) -> Cell:
        """What to read where a field is not there, so as to run again when it is."""
        awaited = self.awaited
        if name in awaited:
            return awaited[name]
        if awaited is _NOTHING:
            awaited = self.awaited = {}
        cell = awaited[name] = Cell()
        return cell

    def _made(self, name: Any) -> Cell:
        """A new cell. Its readers are those who would have read it before: they run again when it is written."""
        cell = Cell()
        if self.awaited:
            self._tell(name, cell)
        return cell

    def _tell(self, name: Any, cell: Cell) -> None:
        for key in (name, EVERY):
            awaited = self.awaited.get(key)
            if awaited is not None:
                cell.readers.update(awaited.readers)


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


class Lib(Obj):
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


class Unknown(Obj):
    """A value that the analysis does not know, and why: in a sentence, which names it, and as code asks it.

    `taken` says how it was got out of another unknown value; empty for a whole one.
    """

    __slots__ = ("reason", "taken", "why")

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason
        self.why = Why.OTHER
        self.taken = ""

    def part(self, what: str, longest: int = 80) -> Value:
        """What is got out of an unknown value, and how ("an attribute"). A reason so long grows no more."""
        return unknown(f"{what} of {self.reason}", self.why, what).value if len(self.reason) < longest else self.value

    def __repr__(self) -> str:
        return f"?({self.reason})"


#: The structures that hold other objects and are named by what they hold.
_NESTED: Final = (Tup, Stream, Wrapper, Bound)
_TOO_DEEP: Final = Unknown("a value that is nested too deeply")
_T = TypeVar("_T", bound=Obj)
_interned: dict[Any, Any] = {}


def intern_obj(cls: type[_T], *key: Any) -> _T:
    """The one object of a class with these constructor arguments."""
    full = (cls, *key)
    found: _T | None = _interned.get(full)
    if found is None:
        found = _interned[full] = cls(*key)
    return found


def literal(const: object) -> Lit:
    """The object of a Python constant. Floats and ints that compare equal are kept apart, as are 0.0 and -0.0."""
    kind = type(const).__name__ if const is not None else "None"
    key = (Lit, kind, repr(const) if isinstance(const, (float, complex)) else const)
    found: Lit | None = _interned.get(key)
    if found is None:
        found = _interned[key] = Lit(kind, const)
    return found


def counter(const: int | str) -> Lit:
    """The object of one of the values that a loop counter takes, or of a text that spells one."""
    return intern_obj(Lit, type(const).__name__, const, True)


def prim(kind: str, varies: bool = False, likely: int | None = None) -> Prim:
    """A primitive of type `kind` whose value is not known."""
    found: Prim | None = _interned.get((Prim, kind, varies, likely))
    return intern_obj(Prim, kind, varies, likely) if found is None else found


def optional_int(default: Value) -> Value:
    """An int that a program is told, with what it is where it is told nothing."""
    known = [o.const for o in default if isinstance(o, Lit) and type(o.const) is int]
    return prim("int", likely=known[0]).value if len(known) == len(default) == 1 else prim("int").value


def tensor(kind: str, dtype: str | None = None, shape: Shape = None, content: Shape = None) -> Tensor:
    """The tensor type with these properties."""
    found: Tensor | None = _interned.get((Tensor, kind, dtype, shape, content))
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
    found: Lib | None = _interned.get((Lib, name))
    return intern_obj(Lib, name) if found is None else found


def bound(func: Obj | str, receiver: Obj) -> Bound:
    """A bound method."""
    made: Bound = _interned.get((Bound, func, receiver)) or intern_obj(Bound, func, receiver)
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
    return _TOO_DEEP if isinstance(part, (Tup, Stream, Wrapper, Bound)) else part


def unknown(reason: str, why: Why = Why.OTHER, taken: str = "") -> Unknown:
    """An unknown value. Whoever gives the same reason gives the same of the rest."""
    found: Unknown | None = _interned.get((Unknown, reason))
    if found is None:
        found = intern_obj(Unknown, reason)
        found.why, found.taken = why, taken
    return found


class Names:
    """The objects that there are by what names them, the numbers that are taken, and the next of those with a site."""

    __slots__ = ("objects", "serial", "taken")

    def __init__(self, objects: dict[Any, Any], taken: set[float], serial: Iterator[float]) -> None:
        self.objects = objects
        self.taken = taken
        self.serial = serial

    def anew(self) -> Names:
        """Those of an analysis that begins: of the objects, those named by their content, which models may hold."""
        kept = {key: obj for key, obj in self.objects.items() if _is_lasting(obj)}
        dropped = [obj for key, obj in self.objects.items() if key not in kept]
        return Names(kept, self.taken.difference(dropped), count(0.5))

    def add(self, named: Iterable[tuple[Any, Obj]]) -> None:
        """Adds objects that were named by their content elsewhere."""
        for key, obj in named:
            if self.objects.setdefault(key, obj) is obj:
                self.taken.add(obj)


def names_in_force() -> Names:
    """Where objects are looked up now."""
    return Names(_interned, _taken, _serial)


def use_names(names: Names) -> None:
    """Makes objects be looked up in these (`domain.session`)."""
    global _interned, _taken, _serial
    _interned, _taken, _serial = names.objects, names.taken, names.serial


def _is_lasting(obj: Obj) -> bool:
    """Whether an object names nothing that only one program has."""
    match obj:
        case Lit() | Prim() | Lib() | Tensor() | Unknown():
            return True
        case Tup():
            return all(_is_lasting(o) for item in obj.items for o in item)
        case Stream():
            return obj.origin is None and all(map(_is_lasting, obj.element))
    return False


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
