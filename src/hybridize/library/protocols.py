"""Special methods that Python calls where no call is written: truth tests, text, hashing, equality, copying."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, Container, Inst, Tup, Value

#: What a truth test, a formatted value and a printed one ask for: the first that the class of an object defines.
TRUTH: Final = ("__bool__", "__len__")
FORMATTED: Final = ("__format__", "__str__", "__repr__")
SHOWN: Final = ("__str__", "__repr__")
_REPRESENTED: Final = ("__repr__",)
_DEEPEST: Final = 2


def ask(engine: Any, frame: Any, value: Value, names: tuple[str, ...], pos: int, *args: Value) -> Value:
    """Calls the first of some special methods that the class of each instance defines; bottom where none does."""
    result = BOTTOM
    for obj in value:
        if not isinstance(obj, Inst):
            continue
        for name in names:
            method = engine.find_method(frame, obj, name)
            if method:
                result = join(result, engine.call_value(frame, pos, method, list(args), {}, "operator"))
                break
    return result


def show(engine: Any, frame: Any, value: Value, names: tuple[str, ...], pos: int, depth: int = 0) -> None:
    """Makes text of a value: its instances answer by one of these methods, those inside containers by `__repr__`."""
    for obj in value:
        if isinstance(obj, Inst):
            ask(engine, frame, obj.value, names, pos)
        elif isinstance(obj, Tup | Container) and depth < _DEEPEST:
            parts = obj.items if isinstance(obj, Tup) else (engine.values_of(frame, obj),)
            for part in parts:
                show(engine, frame, part, _REPRESENTED, pos, depth + 1)


def look_up(engine: Any, frame: Any, keys: Value, pos: int) -> None:
    """Finds keys in a dict or set: instances answer by `__hash__` and `__eq__`."""
    for obj in keys:
        if isinstance(obj, Inst):
            ask(engine, frame, obj.value, ("__hash__",), pos)
            ask(engine, frame, obj.value, ("__eq__",), pos, keys)
        elif isinstance(obj, Tup):
            for item in obj.items:
                look_up(engine, frame, item, pos)


def equal(engine: Any, frame: Any, wanted: Value, members: Value, pos: int) -> None:
    """Compares a value with the members of a sequence: instances on either side answer by `__eq__`."""
    ask(engine, frame, members, ("__eq__",), pos, wanted)
    ask(engine, frame, wanted, ("__eq__",), pos, members or wanted)
