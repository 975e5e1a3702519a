"""What values hold. Structures may hold one another in any number: whoever looks into them sees each object once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hybridize.domain.objects import Inst, Obj, Value


def taken_apart(obj: Obj) -> tuple[str, ...] | None:
    """The fields that TensorFlow takes an instance apart into, in order, as `tf.nest` does; None where it does not."""
    if not isinstance(obj, Inst):
        return None
    return next((cls.structure for cls in obj.cls.line if cls.structure is not None), None)


def field_values(obj: Obj) -> list[Value]:
    """What is in the fields of an instance that TensorFlow takes apart; nothing for any other object."""
    names = taken_apart(obj)
    return [obj.fields[name].value for name in names or () if isinstance(obj, Inst) and name in obj.fields]


def held(value: Iterable[Obj], depth: int, inside: Callable[[Obj], list[Value]]) -> Iterator[Obj]:
    """The objects of a value and of what they hold, nearest first, each once.

    Args:
        value: where to begin.
        depth: how many levels of structures to look into.
        inside: the values that an object holds.
    """
    seen: set[Obj] = set()
    level: list[Iterable[Obj]] = [value]
    while level:
        inner: list[Iterable[Obj]] = []
        for objects in level:
            for obj in objects:
                if obj not in seen:
                    seen.add(obj)
                    yield obj
                    if depth:
                        inner += inside(obj)
        level = inner
        depth -= 1
