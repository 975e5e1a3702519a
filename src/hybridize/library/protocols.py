"""Special methods that Python calls where no call is written: truth tests, text, hashing, equality, copying."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import holders as holding
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import BOTTOM, Container, Inst, Obj, Tup, Value
from hybridize.library.engine import EngineApi

#: What a truth test, a formatted value and a printed one ask for: the first that the class of an object defines.
TRUTH: Final = ("__bool__", "__len__")
FORMATTED: Final = ("__format__", "__str__", "__repr__")
SHOWN: Final = ("__str__", "__repr__")
_REPRESENTED: Final = ("__repr__",)
_DEEPEST: Final = 2


def ask(engine: EngineApi, frame: Any, value: Value, names: tuple[str, ...], pos: int, *args: Value) -> Value:
    """Calls the first of some special methods that the class of each instance defines; bottom where none does."""
    result = BOTTOM
    for obj in value:
        if not isinstance(obj, Inst):
            continue
        for name in names:
            method = engine.attributes.find_method(frame, obj, name)
            if method:
                result = join(result, engine.calls.call_value(frame, pos, method, list(args), {}, How.OPERATOR))
                break
    return result


def show(engine: EngineApi, frame: Any, value: Value, names: tuple[str, ...], pos: int) -> None:
    """Makes text of a value: its instances answer by one of these methods, those inside containers by `__repr__`."""
    ask(engine, frame, value, names, pos)
    seen: dict[Obj, None] = {}
    parts: Iterable[Obj] = value
    for _ in range(_DEEPEST):
        parts = _held(engine, frame, parts, seen)
    ask(engine, frame, frozenset(obj for obj in seen if isinstance(obj, Inst)), _REPRESENTED, pos)


def _held(engine: EngineApi, frame: Any, holders: Iterable[Obj], seen: dict[Obj, None]) -> list[Obj]:
    """What tuples and containers hold and was not seen before; it has been seen then."""
    found: list[Obj] = []
    for holder in holders:
        values: Iterable[Value] = ()
        if isinstance(holder, Tup):
            values = holder.items
        elif isinstance(holder, Container):
            values = engine.heap.cells_of(frame, holder)
        for value in values:
            for obj in holding(value):
                if obj not in seen:
                    seen[obj] = None
                    found.append(obj)
    return found


def look_up(engine: EngineApi, frame: Any, keys: Value, pos: int) -> None:
    """Finds keys in a dict or set: instances answer by `__hash__` and `__eq__`."""
    for obj in keys:
        if isinstance(obj, Inst):
            ask(engine, frame, obj.value, ("__hash__",), pos)
            ask(engine, frame, obj.value, ("__eq__",), pos, keys)
        elif isinstance(obj, Tup):
            for item in obj.items:
                look_up(engine, frame, item, pos)


def equal(engine: EngineApi, frame: Any, wanted: Value, members: Value, pos: int) -> None:
    """Compares a value with the members of a sequence: instances on either side answer by `__eq__`."""
    ask(engine, frame, members, ("__eq__",), pos, wanted)
    ask(engine, frame, wanted, ("__eq__",), pos, members or wanted)


#: What library code asks the instances for that it is given, by the first part of its name.
_ASKED: Final[dict[str, tuple[str, ...]]] = {
    "os": ("__fspath__",),
    "io": ("__fspath__",),
    "shutil": ("__fspath__",),
    "pathlib": ("__fspath__",),
    "math": ("__float__", "__index__"),
    "np": ("__array_ufunc__", "__array_function__", "__array__"),
    "tf": ("__tf_tensor__", "__array__"),
}
_ROUNDED: Final = frozenset({"floor", "ceil", "trunc"})


def answer(engine: EngineApi, frame: Any, name: str, args: list[Value], pos: int) -> None:
    """Lets the instances that a library function is given answer by the special methods that it calls."""
    root, _, last = name.partition(".")
    names = _ASKED.get(root)
    if names is None:
        return
    if root == "math" and last in _ROUNDED:
        names = (f"__{last}__", *names)
    for value in args:
        ask(engine, frame, value, names, pos)


def order(engine: EngineApi, frame: Any, element: Value, pos: int, depth: int = 0) -> None:
    """Puts elements in order: instances, also those inside tuples and lists, answer by `__lt__` or `__gt__`."""
    for obj in element:
        if isinstance(obj, Inst):
            ask(engine, frame, obj.value, ("__lt__",), pos, element)
            ask(engine, frame, obj.value, ("__gt__",), pos, element)
        elif isinstance(obj, (Tup, Container)) and depth < _DEEPEST:
            for part in _parts(engine, frame, obj):
                equal(engine, frame, part, part, pos)
                order(engine, frame, part, pos, depth + 1)


def compare_parts(engine: EngineApi, frame: Any, a: Value, b: Value, pos: int, depth: int = 0) -> None:
    """Compares containers part by part: tuples item by item, several or longer ones by all of their parts at once."""
    if depth >= _DEEPEST:
        return
    for mine, other in zip(_parts_of(engine, frame, a), _parts_of(engine, frame, b), strict=False):
        if mine and other:
            equal(engine, frame, mine, other, pos)
            compare_parts(engine, frame, mine, other, pos, depth + 1)


def _parts_of(engine: EngineApi, frame: Any, value: Value) -> tuple[Value, ...]:
    holders = [o for o in value if isinstance(o, (Tup, Container))]
    if len(holders) == 1:
        return _parts(engine, frame, holders[0])
    return (join_all([part for holder in holders for part in _parts(engine, frame, holder)]),)


def _parts(engine: EngineApi, frame: Any, obj: Tup | Container) -> tuple[Value, ...]:
    return obj.items if isinstance(obj, Tup) else (engine.heap.values_of(frame, obj),)
