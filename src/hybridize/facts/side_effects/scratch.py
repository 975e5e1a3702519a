"""Fields that only carry something from one part of a call to another: each read comes after a store of the same call.

`self.scale = tf.sqrt(v)`, and a method that the function calls then reads `self.scale`. A graph stores once per trace,
and what it leaves in the field raises where it is read later; but nobody does. So it must hold whoever reads: what the
graph stores does not count for code outside of it, nor what is stored before it for code inside. A store in a branch or
loop of the graph, or in a graph inside, is for what reads there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import BOTTOM, Cell, Heap, Inst, Obj, Stream, Tensor, Unknown, Value
from hybridize.domain.tensors import NDARRAY
from hybridize.facts.calls.extents import Extents
from hybridize.facts.model import Evidence, Told
from hybridize.facts.origins import calls_at
from hybridize.facts.state.guards import regions
from hybridize.facts.state.reasons import Reason
from hybridize.facts.state.stores import Path, Stores, path_of_caller, place_of
from hybridize.facts.unknown.excused import Excused
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr

#: How a part of the same trace is run, once for each time that the code around it gets there.
_INLINE: Final = frozenset(
    {How.CALL, How.PROTOCOL, How.OPERATOR, How.PROPERTY, How.CONTEXT, How.CONSTRUCTION, How.KERAS}
)


class Scratch:
    """The fields of a solved program that are read only after they were stored in the same call."""

    def __init__(self, solution: Solution, extents: Extents, excused: Excused, plain: Stores) -> None:
        """`plain` are the stores of the program as it is."""
        self._solution = solution
        self._extents = extents
        self._excused = excused
        self._plain = plain
        self._stores: dict[Code, Stores] = {}
        self._readers: dict[tuple[Inst, str], list[tuple[Frame, ir.Attr]]] = {}
        self._writers: dict[tuple[Inst, str], list[tuple[Frame, int]]] = {}
        self._known: dict[tuple[Frame, Inst, str], bool] = {}

    def says(self, frame: Frame, reason: Reason) -> Evidence | None:
        """What would be assumed, if a write of a field by a call of a frame is seen by nothing that comes later."""
        effect = reason.effect
        target, name = effect.target, effect.detail
        if effect.kind != "attribute" or not isinstance(target, Inst) or name.startswith("__"):
            return None
        if not self._is_scratch(frame, target, name):
            return None
        said = f"`{name}` is stored before each read in the same call, so that nobody reads what a graph leaves there"
        return Evidence(said, reason.frame.code.path, effect.position >> 16, Told.LEFT, name)

    def _is_scratch(self, frame: Frame, target: Inst, name: str) -> bool:
        key = frame, target, name
        if key not in self._known:
            self._known[key] = True  # what runs itself again adds nothing
            reads = self._reads(target, name)
            self._known[key] = (
                self._carries(target, name, reads)
                and not self._excused.is_asked(target, name)
                and all(self._follows(frame.code, f, i, target) for f, i in reads)
                and self._is_straight(frame, target, name)
            )
        return self._known[key]

    def _carries(self, target: Inst, name: str, reads: list[tuple[Frame, ir.Attr]]) -> bool:
        """Whether the field is private, or one function stores for another: else it may be there for people."""
        codes = {frame.code for frame, _ in reads}
        return bool(codes) and (
            name.startswith("_") or any(f.code not in codes for f, _ in self._storing(target, name))
        )

    def _reads(self, target: Inst, name: str) -> list[tuple[Frame, ir.Attr]]:
        """Who reads the field."""
        found = self._readers.get((target, name))
        if found is None:
            found = self._readers[target, name] = [
                (frame, instr)
                for code, instr in self._named[0].get(name, ())
                for frame in self._solution.frames[code]
                if self._extents.is_live(frame) and target in (frame.vals[instr.owner] or BOTTOM)
            ]
        return found

    @cached_property
    def _named(self) -> tuple[dict[str, list[tuple[Code, ir.Attr]]], dict[str, list[tuple[Code, ir.SetAttr]]]]:
        """The reads and stores of attributes in the whole program, by name."""
        reads: dict[str, list[tuple[Code, ir.Attr]]] = {}
        stores: dict[str, list[tuple[Code, ir.SetAttr]]] = {}
        for code in self._solution.frames:
            index = index_of(code)
            for name, found in index.attributes.items():
                reads.setdefault(name, []).extend((code, read) for read in found)
            for store in index.of(ir.SetAttr):
                stores.setdefault(store.name, []).append((code, store))
        return reads, stores

    def _follows(self, graph: Code, frame: Frame, read: ir.Attr, target: Inst) -> bool:
        """Whether a store always comes before a read, given that some code is a graph."""
        stores = self._stores.get(graph)
        if stores is None:
            stores = self._stores[graph] = Stores(self._solution, self._extents, graph, self._plain)
        path = place_of(frame, read)
        return path is not None and self._is_stored(stores, graph, (frame, path, (read,)), target, set())

    def _is_stored(
        self,
        stores: Stores,
        graph: Code,
        place: tuple[Frame, Path, Iterable[Instr]],
        target: Inst,
        seen: set[tuple[Frame, Path]],
    ) -> bool:
        frame, path, where = place
        if (frame, path) in seen or stores.surely(frame, path, where):
            return True
        seen.add((frame, path))
        root = path[0]
        passed = isinstance(root, Cell) or frame.code.place_of(root) >= 0
        entered = frame.code is graph or frame.code.is_generator
        calls = list(self._calls(frame)) if passed and not entered else []
        for caller, at in calls:
            mine = path_of_caller(caller, at, frame, path)
            if target not in _owners(frame, path, frame.incoming.get((caller, at))):
                continue
            if mine is None or not self._is_stored(
                stores, graph, (caller, mine, calls_at(caller.code, at)), target, seen
            ):
                return False
        return bool(calls)

    def _calls(self, frame: Frame) -> Iterator[tuple[Frame, int]]:
        for caller in frame.callers:
            if self._extents.is_live(caller):
                yield from ((caller, at) for at, callee in caller.calls if callee is frame)

    def _is_straight(self, frame: Frame, target: Inst, name: str) -> bool:
        """Whether a frame stores in the one trace that it is: outside of branches, loops and graphs within."""
        stores = list(self._storing(target, name))
        writers = self._extents.set_of([f for f, _ in stores])
        seen: set[Frame] = {frame}
        waiting = [frame]
        while waiting:
            here = waiting.pop()
            if any(f is here and _is_staged(here, at) for f, at in stores):
                return False
            for pos, callee, how in self._extents.calls(here):
                if not self._extents.of(callee) & writers:
                    continue
                if how in _INLINE and not _is_staged(here, pos):
                    waiting += [callee] if callee not in seen else []
                    seen.add(callee)
                elif not self._is_scratch(callee, target, name):
                    return False
        return True

    def _storing(self, target: Inst, name: str) -> list[tuple[Frame, int]]:
        """Who stores in the field, and where."""
        found = self._writers.get((target, name))
        if found is None:
            found = self._writers[target, name] = [
                (frame, instr.position)
                for code, instr in self._named[1].get(name, ())
                for frame in self._solution.frames[code]
                if target in (frame.vals[instr.owner] or BOTTOM)
            ]
        return found


def _owners(frame: Frame, path: Path, given: Sequence[Value] | None) -> Value:
    """The objects whose field a path leads to; of a parameter, for what a call passes."""
    root, names = path
    if isinstance(root, Cell):
        value = root.value or BOTTOM
    else:
        place = frame.code.place_of(root)
        value = (given[place] if given is not None and 0 <= place < len(given) else frame.vals[root]) or BOTTOM
    for name in names[:-1]:
        cells = [o.fields.get(name) for o in value if isinstance(o, Heap)]
        value = frozenset(o for cell in cells if cell is not None for o in cell.value or ())
    return value


def _is_staged(frame: Frame, position: int) -> bool:
    """Whether a branch or loop around a place may be one of the graph."""
    index = index_of(frame.code)
    loops = index.of(ir.Loop)
    around = [loops[number] for number in index.loops.get(position, ())]
    tested = [loop.iterable if loop.is_for else loop.condition for loop in around]
    tested += [region.test for region in regions(frame.code).get(position, ())]
    return any(_may_be_symbolic(o) for slot in tested if slot >= 0 for o in frame.vals[slot] or BOTTOM)


def _may_be_symbolic(obj: Obj) -> bool:
    dataset = isinstance(obj, Stream) and obj.kind.startswith("tf.data")
    return dataset or isinstance(obj, Unknown) or (isinstance(obj, Tensor) and obj.kind != NDARRAY)
