"""What values hold. Structures may hold one another in any number: whoever looks into them sees each object once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hybridize.domain.objects import Obj, Value


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
