"""What abstract objects are: equal to themselves alone, and the same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, Final, Self, TypeAlias, TypeVar
from zlib import crc32

Value: TypeAlias = "frozenset[Obj]"


class Names:
    """The objects that there are by what names them, the numbers that are taken, and the next of those with a site."""

    __slots__ = ("objects", "serial", "taken")

    def __init__(self, objects: dict[Any, Any], taken: set[float], serial: Iterator[float]) -> None:
        self.objects = objects
        self.taken = taken
        self.serial = serial

    def anew(self) -> Names:
        """Those of an analysis that begins: of the objects, those named by their content, which models may hold."""
        kept = {key: obj for key, obj in self.objects.items() if obj.is_lasting}
        dropped = [obj for key, obj in self.objects.items() if key not in kept]
        return Names(kept, self.taken.difference(dropped), count(0.5))

    def add(self, named: Iterable[tuple[Any, Obj]]) -> None:
        """Adds objects that were named by their content elsewhere."""
        for key, obj in named:
            if self.objects.setdefault(key, obj) is obj:
                self.taken.add(obj)


#: Where objects are looked up now. The numbers are halves, so that none equals an integer that is a key beside them.
HERE: Final = Names({}, set(), count(0.5))
_LARGEST: Final = 1 << 51


def names_in_force() -> Names:
    """Where objects are looked up now, to be used again."""
    return Names(HERE.objects, HERE.taken, HERE.serial)


def use_names(names: Names) -> None:
    """Makes objects be looked up in these (`domain.session`)."""
    HERE.objects, HERE.taken, HERE.serial = names.objects, names.taken, names.serial


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
        taken = HERE.taken
        while number in taken:
            number += 1
        taken.add(number)
        return float.__new__(cls, number)

    def __init__(self) -> None:
        self.value: Value = frozenset((self,))

    @property
    def is_lasting(self) -> bool:
        """Whether it names nothing that only one program has."""
        return False


class Lasting(Obj):
    """What names nothing of a program."""

    __slots__ = ()

    @property
    def is_lasting(self) -> bool:
        return True


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


_T = TypeVar("_T", bound=Obj)


def intern_obj(cls: type[_T], *key: Any) -> _T:
    """The one object of a class with these constructor arguments."""
    full = (cls, *key)
    found: _T | None = HERE.objects.get(full)
    if found is None:
        found = HERE.objects[full] = cls(*key)
    return found
