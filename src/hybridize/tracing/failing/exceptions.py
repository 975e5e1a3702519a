"""Exceptions as classes: what a handler catches, and which of them come out of a traced function as they are."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import Class, Inst, Lib, LibInst, Obj, Tup, Value

#: Built-in exceptions that AutoGraph makes anew with its longer message; it does not know how to make the others.
_KEPT: Final = frozenset(
    f"builtins.{name}"
    for name in (
        "Exception AssertionError AttributeError NameError NotImplementedError RuntimeError StopIteration TypeError "
        "UnboundLocalError ValueError KeyError"
    ).split()
)


def classes_in(value: Value) -> Iterator[Obj]:
    """The classes that a handler's expression names."""
    for obj in value:
        if isinstance(obj, Tup):
            for item in obj.items:
                yield from classes_in(item)
        elif isinstance(obj, (Class, Lib)):
            yield obj


def _class_of(raised: Obj) -> Class | str | None:
    match raised:
        case Inst():
            return raised.cls
        case Class():
            return raised
        case Lib():
            return raised.name
        case LibInst():
            return raised.cls
    return None


def _bases(raised: Obj) -> list[Obj | str]:
    """The classes of an exception, most special first: project classes, then names."""
    cls = _class_of(raised)
    found: list[Obj | str] = []
    for base in cls.mro if isinstance(cls, Class) else ():
        found.append(base.name if isinstance(base, Lib) else base)
    last = cls if isinstance(cls, str) else next((b for b in found if isinstance(b, str)), "")
    if last.startswith("tf.errors."):
        found += [last, "tf.errors.OpError", "builtins.Exception", "builtins.BaseException"]
    known = getattr(builtins, last.removeprefix("builtins."), None)
    if isinstance(known, type):
        found += [f"builtins.{base.__name__}" for base in known.__mro__]
    return found


def fits(caught: frozenset[Obj], raised: Obj) -> bool:
    """Whether a handler of some classes catches an exception."""
    bases = _bases(raised)
    return any((each.name if isinstance(each, Lib) else each) in bases for each in caught)


def names_of(caught: frozenset[Obj]) -> set[str]:
    """The names of library classes."""
    return {each.name for each in caught if isinstance(each, Lib)}


def is_kept(raised: Obj) -> bool:
    """Whether the caller of a traced function gets an exception of the same class."""
    cls = _class_of(raised)
    if not isinstance(cls, Class):
        return cls is None or cls in _KEPT or cls.startswith("tf.errors.")
    for base in cls.mro:
        if isinstance(base, Lib):
            return base.name == "builtins.Exception" or base.name.startswith("tf.errors.")
        if isinstance(base, Class) and "__init__" in base.fields:
            return False
    return True


def named(raised: Obj) -> str:
    """An exception by the name of its class."""
    cls = _class_of(raised)
    return f"`{cls.name if isinstance(cls, Class) else str(cls).removeprefix('builtins.')}`"
