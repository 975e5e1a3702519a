"""What a call of each frame may run, as sets of bits: one walk of the call graph answers for all frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Cell
from hybridize.facts.calls.callgraph import components, reachable
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program.ir import Code

#: So many bits are taken out of a set one by one, rather than by writing all of it down.
_FEW: Final = 16


_EMPTY: Final = 0, 0


def _packed(some: int) -> tuple[int, int]:
    """A set without the zeros at its end, and their number: most functions run little beside what was numbered last."""
    zeros = (some & -some).bit_length() - 1 if some else 0
    return some >> zeros, zeros


class Having:
    """The frames that have some property, as a set; each is asked once, when a set with it is first asked for."""

    def __init__(self, extents: Extents, has: Callable[[Frame], bool]) -> None:
        self._extents = extents
        self._has = has
        self._asked = 0
        self._having = 0

    def within(self, some: int) -> int:
        """Those of a set that have it."""
        new = some & ~self._asked
        if new:
            self._asked |= new
            self._having |= self._extents.set_of(filter(self._has, self._extents.frames(new)))
        return some & self._having


class Extents:
    """The dynamic extents of frames. A set of frames is an integer with one bit for each."""

    def __init__(self, solution: Solution) -> None:
        #: The strongly connected components of the call graph, callees first.
        self.components = components(frame for group in solution.frames.values() for frame in group)
        self._frames: list[Frame] = []
        self._places: dict[Frame, int] = {}
        self._extents: dict[Frame, tuple[int, int]] = {}  # without the zeros at the end, and how many these are
        self._last: tuple[Frame | None, int] = (None, 0)  # the extent that was asked for last
        self._bodies = 0  # module bodies
        self._of_code: dict[Code, int] = {}
        self._of_uid: dict[int, int] = {}
        self._owners: dict[Cell, int] = {}
        self._calls: dict[Frame, list[tuple[int, Frame, How]]] = {}
        self._cycles: dict[Frame, list[Frame]] = {}  # the component of a frame that is one of several in it
        self._recursive: set[Frame] = set()
        for component in self.components:
            self._component(component)
        self._live = len(self._frames)

    def _component(self, component: list[Frame]) -> None:
        found = 0
        for frame in component:
            found |= self._add(frame)
        callees = {callee: None for frame in component for _, callee in frame.calls}
        for callee in callees:
            bits, zeros = self._extents.get(callee, _EMPTY)
            found |= bits << zeros
        if len(component) > 1 or component[0] in callees:
            self._recursive.update(component)
        shared = _packed(found)
        for frame in component:
            self._extents[frame] = shared
        if len(component) > 1:
            self._cycles.update(dict.fromkeys(component, component))

    def _add(self, frame: Frame) -> int:
        place = self._places[frame] = len(self._frames)
        bit = 1 << place
        self._frames.append(frame)
        self._of_code[frame.code] = self._of_code.get(frame.code, 0) | bit
        if frame.code.is_module:
            self._bodies |= bit
        else:
            self._of_uid[frame.uid] = place
        for name in frame.code.cells:
            cell = frame.cells.get(name)
            if cell is not None:
                self._owners[cell] = self._owners.get(cell, 0) | bit
        return bit

    def is_live(self, frame: Frame) -> bool:
        """Whether a frame is part of the solution."""
        return self._places.get(frame, self._live) < self._live

    def of(self, frame: Frame) -> int:
        """What a call of a frame may run, itself included."""
        last, known = self._last
        if last is frame:
            return known
        found = self._extents.get(frame)
        if found is None:  # no longer part of the solution
            found = self._extents[frame] = _packed(self.set_of(reachable(frame)))
        some = found[0] << found[1]
        self._last = frame, some
        return some

    def parts(self, some: int) -> Iterator[list[Frame]]:
        """The components in a set of frames that has them as a whole, callees first."""
        for frame in self.frames(some):
            component = self._cycles.get(frame)
            if component is None:
                yield [frame]
            elif component[0] is frame:
                yield component

    def calls(self, frame: Frame) -> list[tuple[int, Frame, How]]:
        """The calls of a frame in their order: position, callee, how."""
        found = self._calls.get(frame)
        if found is None:
            found = [(pos, callee, how) for (pos, callee), how in frame.calls.items()]
            found.sort(key=lambda call: (call[0], call[1].uid))
            self._calls[frame] = found
        return found

    def is_recursive(self, frame: Frame) -> bool:
        """Whether a call of a frame may run the frame itself again."""
        return frame in self._recursive

    def of_all(self, frames: Iterable[Frame]) -> int:
        """What calls of some frames may run."""
        found = 0
        for frame in frames:
            found |= self.of(frame)
        return found

    def set_of(self, frames: Iterable[Frame]) -> int:
        """Some frames as a set."""
        found = 0
        for frame in frames:
            place = self._places.get(frame)
            found |= self._add(frame) if place is None else 1 << place
        return found

    def having(self, has: Callable[[Frame], bool]) -> Having:
        """The frames with a property that is costly to ask for."""
        return Having(self, has)

    def without_bodies(self, some: int) -> int:
        """A set without the module bodies in it."""
        return some & ~self._bodies

    def frames(self, some: int) -> Iterator[Frame]:
        """The frames in a set."""
        if some.bit_count() < _FEW:
            while some:
                lowest = some & -some
                yield self._frames[lowest.bit_length() - 1]
                some ^= lowest
            return
        text = bin(some)[:1:-1]
        at = text.find("1")
        while at >= 0:
            yield self._frames[at]
            at = text.find("1", at + 1)

    def with_code(self, code: Code) -> int:
        """The frames of a function, class body or module."""
        return self._of_code.get(code, 0)

    def has(self, some: int, frame: Frame) -> bool:
        """Whether a frame is in a set."""
        place = self._places.get(frame)
        return place is not None and some >> place & 1 == 1

    def run_by(self, frame: Frame, uid: int) -> Frame | None:
        """The frame of a function or class body that has a number, if a call of the other may run it."""
        place = self._of_uid.get(uid)
        return self._frames[place] if place is not None and self.of(frame) >> place & 1 else None

    def owners(self, cell: Cell) -> int:
        """The frames whose variable a captured variable is."""
        return self._owners.get(cell, 0)
