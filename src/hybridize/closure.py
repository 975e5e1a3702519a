"""All that some things lead to: the one work list of walks over calls, values, objects and modules."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def closure(starts: Iterable[T], following: Callable[[T], Iterable[T]], most: int | None = None) -> Iterator[T]:
    """Some things and all that they lead to, each once and before what only it leads to.

    Args:
        starts: Where to begin.
        following: What a thing leads to; asked when the thing has been given out, so that who has seen enough
            can stop there.
        most: How many are given out; all without it.
    """
    todo = list(dict.fromkeys(starts))
    seen = set(todo)
    left = -1 if most is None else most
    while todo and left:
        each = todo.pop()
        left -= 1
        yield each
        for new in following(each):
            if new not in seen:
                seen.add(new)
                todo.append(new)
