"""Which objects a call passes to a function that several calls share, and what holds them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from hybridize.domain.objects import BOTTOM, Heap, Obj, Stream, Tup, Value
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution

#: So deeply is looked for what holds an object.
_HELD: Final = 3
#: What is in so many places is nobody's in particular.
_MOST: Final = 500


class Owners:
    """What holds each object in a field, a variable or as an element, gathered when first asked for."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._found: dict[Obj, dict[Heap | Frame, None]] | None = None

    def of(self, obj: Obj) -> Collection[Heap | Frame]:
        """The objects that hold one, and the frames whose captured variables do."""
        if self._found is None:
            self._found = {}
            self._gather(self._found)
        return self._found.get(obj, ())

    def around(self, obj: Heap, passes: Callable[[Heap], bool], most: int) -> list[Heap | Frame]:
        """What holds an object, through those that `passes` lets through; not all where that is too much to look at."""
        todo, seen, found = [obj], {obj}, dict[Heap | Frame, None]()
        while todo and len(seen) <= most:
            for owner in self.of(todo.pop()):
                if isinstance(owner, Frame) or not passes(owner):
                    found[owner] = None
                elif owner not in seen:
                    seen.add(owner)
                    todo.append(owner)
        return list(found)

    def _gather(self, found: dict[Obj, dict[Heap | Frame, None]]) -> None:
        world = self._solution.world
        classes = (cls for made in world.classes.values() for cls in made)
        for owner in (*world.allocated.values(), *world.modules.values(), *classes):
            for cell in owner.fields.values():
                _hold(found, owner, cell.value)
            if owner.rest is not None:
                _hold(found, owner, owner.rest.value)
        for code, frames in self._solution.frames.items():
            for frame in frames if code.cells else ():
                for name in code.cells:
                    _hold(found, frame, frame.cells[name].value)


def _hold(found: dict[Obj, dict[Heap | Frame, None]], owner: Heap | Frame, value: Value) -> None:
    """Notes that something holds the objects of a value."""
    for each in value:
        if isinstance(each, Heap):
            if each in found:
                found[each][owner] = None
            else:
                found[each] = {owner: None}


class Passed:
    """The objects that a callee may change as far as this call is concerned: of its arguments, those passed here.

    (Contexts may have been merged, so that the callee's arguments are those of several calls.)
    """

    __slots__ = ("_asked", "mine", "others", "owners")

    def __init__(self, frame: Frame, pos: int, callee: Frame, owners: Owners) -> None:
        passed = callee.incoming.get((frame, pos))
        self.owners = owners
        self._asked: dict[Obj, bool] = {}
        self.others: frozenset[Obj] = BOTTOM
        self.mine: frozenset[Obj] = BOTTOM
        if passed is not None and callee.is_shared(passed):
            self.mine = _objects(passed)
            self.others = _objects(callee.args) - self.mine

    def __contains__(self, target: Obj | None) -> bool:
        if target in self.others:
            return False
        if not self.others or target is None:
            return True
        found = self._asked.get(target)
        if found is None:
            found = self._asked[target] = self._is_others(target)
        return not found

    def _is_others(self, target: Obj) -> bool:
        """Whether only what other calls pass holds an object in its fields; not where too much holds it."""
        todo: Collection[Obj] = [target]
        for _ in range(_HELD):
            found: dict[Heap | Frame, None] = {}
            for obj in todo:
                for owner in self.owners.of(obj):
                    if isinstance(owner, Frame) or owner in self.mine:
                        return False
                    found[owner] = None
                if len(found) > _MOST:
                    return False
            if not found:
                return False
            todo = [owner for owner in found if isinstance(owner, Heap) and owner not in self.others]
            if not todo:
                return True
        return False


def _objects(values: list[Value]) -> frozenset[Obj]:
    """The objects in some arguments, those of `*args` included."""
    found = set(BOTTOM.union(*values))
    for obj in list(found):
        if isinstance(obj, Tup):
            found.update(*obj.items)
        elif isinstance(obj, Stream) and obj.kind == "tuple":
            found.update(obj.element)
    return frozenset(found)
