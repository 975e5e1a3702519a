"""What a field or variable holds where it is read, by the order of the stores before: a load gives what a store put.

The heap is known without regard to order: a field that a constructor and each call give a list of their own may hold
either. Where every path to a read, from where a function begins, stores first, it holds what was stored there last, or
what calls in between may store. A place is named as the function reaches it (`self.rows`, `settings.mode`, `count`):
so it is one object's. Callees count where they are called, by what they have stored whichever way they return.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import Cell, Obj, Unknown
from hybridize.domain.words import CONSTRUCTORS
from hybridize.facts.calls.extents import Extents
from hybridize.facts.origins import callees_at, calls_at, passed_slots, variable
from hybridize.flow.frames import Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code, Instr

#: How a function reaches a place: a slot of its own or the cell of a variable, then names of fields.
Path: TypeAlias = tuple["int | Cell", tuple[str, ...]]
#: Where a place surely has been stored to: the slots that hold what may be there now.
State: TypeAlias = Mapping[Path, frozenset[tuple[Frame, int]]]

#: How a function reaches an object: by a path; None: in a way that is not known, or none of its callers' business;
#: False: not at all, for it has stored another object there before.
Way: TypeAlias = "Path | Literal[False] | None"

_NOTHING: Final[State] = {}
_STORES: Final = (ir.Assignment, ir.DelAttr)
_LONGEST: Final = 3


class Stores:
    """The stores of a solved program, looked at where somebody asks."""

    def __init__(
        self, solution: Solution, extents: Extents, graph: Code | None = None, others: Stores | None = None
    ) -> None:
        """With `graph` as one; `others` are those of the program as it is, and know what does not run the graph."""
        self._frames = solution.frames
        self._hybrids, self._graph, self._others = solution.world.hybrids, graph, others
        self.extents = extents
        self._inside = extents.with_code(graph) if graph is not None else 0
        self._walks: dict[Frame, _Walk] = {}
        self._writers: dict[str | Cell, int] = {} if others is None else others._writers

    def changed(self, frame: Frame, effect: Effect, slots: Iterable[int]) -> Way:
        """How a function reaches the object that an effect changes, if it stands in some slots."""
        found: set[Way] = set()
        owners = [i.owner for i in index_of(frame.code).at(effect.position) if isinstance(i, ir.Change)]
        for slot in [o for o in owners if effect.target in (frame.vals[o] or ())] or slots:
            read = index_of(frame.code).source(slot)
            path = place_of(frame, read) if read is not None and len(frame.vals[slot] or ()) > 1 else None
            if path is None or read is None:
                return None
            found.add(self._before(frame, path, [read], effect.target))
        return found.pop() if len(found) == 1 else None

    def lifted(self, frame: Frame, pos: int, callee: Frame, path: Path, target: Obj | None) -> Way:
        """The same of what a callee changes by a path of its own."""
        mine = path_of_caller(frame, pos, callee, path)
        return self._before(frame, mine, calls_at(frame.code, pos), target) if mine is not None else None

    def _before(self, frame: Frame, path: Path, where: Iterable[Instr], target: Obj | None) -> Way:
        states = [self._walk(frame).states.get(id(instr), _NOTHING) for instr in where]
        stored = [state.get(path) for state in states]
        if not stored or any(slots is None for slots in stored):
            root = path[0]
            return path if isinstance(root, Cell) or frame.code.place_of(root) >= 0 else None
        values = [f.vals[slot] or () for slots in stored for f, slot in slots or ()]
        return None if any(o is target or isinstance(o, Unknown) for value in values for o in value) else False

    def surely(self, frame: Frame, path: Path, where: Iterable[Instr]) -> bool:
        """Whether every way to some instructions of a function, from where it begins, stores in a place."""
        states = [self._walk(frame).states.get(id(instr), _NOTHING) for instr in where]
        return bool(states) and all(path in state for state in states)

    def left(self, frame: Frame) -> State:
        """What a call of a function has stored whichever way it returns, by paths of the function; a graph: nothing."""
        graph = frame.code in self._hybrids or frame.code is self._graph
        return _NOTHING if graph else self._walk(frame).returned or _NOTHING

    def written(self, some: int, path: Path) -> frozenset[tuple[Frame, int]] | None:
        """What some frames may store in the place of a path; None where they may change what leads to it."""
        root, names = path
        parts: list[str | Cell] = [root, *names] if isinstance(root, Cell) else [*names]
        last = parts.pop()
        if any(some & self._writing(part) for part in parts):
            return None
        writers = self.extents.frames(some & self._writing(last))
        return frozenset((frame, slot) for frame in writers for slot in _stored(frame, last))

    def _writing(self, part: str | Cell) -> int:
        """The frames that write a field of that name, or the variable."""
        found = self._writers.get(part)
        if found is None:
            codes = part.writes if isinstance(part, Cell) else ((code, 0) for code in self._fields().get(part, ()))
            frames = (f for code, _ in codes for f in self._frames.get(code, ()))
            found = self._writers[part] = self.extents.set_of(frames)
        return found

    def _fields(self) -> dict[str, dict[Code, None]]:
        """Who writes fields of each name, but for those of an object that is just being made."""
        if self._others is not None:
            return self._others._fields()
        if self._names is None:
            self._names = {}
            for code in self._frames:
                for instr in index_of(code).of(ir.SetAttr, ir.DelAttr) if code.name not in CONSTRUCTORS else ():
                    self._names.setdefault(str(instr.name), {})[code] = None
        return self._names

    _names: dict[str, dict[Code, None]] | None = None

    def _walk(self, frame: Frame) -> _Walk:
        if self._others is not None and not self.extents.of(frame) & self._inside:
            return self._others._walk(frame)
        found = self._walks.get(frame)
        if found is None:
            found = self._walks[frame] = _Walk(self, frame)
            if not frame.code.is_generator:
                found.run()
        return found


def _stored(frame: Frame, part: Any) -> Iterator[int]:
    """What a frame stores in fields of a name, or in a variable."""
    for instr in index_of(frame.code).of(ir.Assignment):
        place = place_of(frame, instr)
        if place is not None and part == (place[1][-1] if place[1] else place[0]):
            yield instr.value


def place_of(frame: Frame, instr: Instr) -> Path | None:
    """What an instruction reads or writes."""
    if isinstance(instr, (ir.Attr, ir.SetAttr, ir.DelAttr)):
        root, names = _reached(frame, instr.owner)
        return root, (*names, str(instr.name))
    cell = variable(frame, instr) if isinstance(instr, (ir.Outer, ir.SetOuter)) else None
    return (cell, ()) if cell is not None else None


def _reached(frame: Frame, slot: int) -> Path:
    """How a function reaches the value in a slot: through variables and fields that it does not write itself."""
    index = index_of(frame.code)
    slot = index.original(slot)
    made = index.definitions.get(slot)
    if isinstance(made, ir.Load):
        path = place_of(frame, made)
        stores = index.of(ir.SetAttr) if isinstance(made, ir.Attr) else index.of(ir.SetOuter)
        own = any(store.name == made.name for store in stores)
        if path is not None and len(path[1]) < _LONGEST and not own:
            return path
    return slot, ()


def path_of_caller(frame: Frame, pos: int, callee: Frame, path: Path) -> Path | None:
    """A path of a callee as one of its caller."""
    root, names = path
    if isinstance(root, Cell):
        return path
    index = callee.code.place_of(root)
    slots = passed_slots(frame, pos, callee, index) if index >= 0 else None
    if slots is None or len(slots) != 1 or slots[0] < 0:
        return None
    start, before = _reached(frame, slots[0])
    return start, (*before, *names)


class _Walk:
    """One frame's code: `states` at its reads and calls, `returned` wherever it returns."""

    def __init__(self, stores: Stores, frame: Frame) -> None:
        self.stores = stores
        self.frame = frame
        self.states: dict[int, State] = {}
        self.returned: State | None = None
        self._jumps: list[list[State]] = []
        self._touched: set[Path] = set()

    def run(self) -> None:
        """Walks through the frame."""
        end = self._block(self.frame.code.body, _NOTHING)
        self.returned = _either(self.returned, end)

    def _block(self, block: Block, state: State | None) -> State | None:
        """What is stored after a block; None where control does not get to its end."""
        for instr in block:
            made = instr.target
            dead = type(made) is int and made >= 0 and self.frame.vals[made] is None and not isinstance(instr, ir.Phi)
            if dead or state is None:
                return None
            match instr:
                case ir.If():
                    state = _either(self._block(instr.then, state), self._block(instr.orelse, state))
                case ir.Loop():
                    state = self._loop(instr, state)
                case ir.Try():
                    state = self._try(instr, state)
                case ir.Return():
                    self.returned = _either(self.returned, state)
                    return None
                case ir.Raise():
                    return None
                case ir.Jump():
                    self._jumps[-1].append(state)
                    return None
                case _:
                    state = self._step(instr, state)
        return state

    def _loop(self, loop: ir.Loop, state: State) -> State | None:
        while True:
            self._jumps.append([])
            tested = self._block(loop.test, state)
            turned = self._block(loop.body, tested)
            jumped = self._jumps.pop()
            again = _either(state, turned, *jumped)
            if again is None or again == state:
                return _either(self._block(loop.orelse, tested), *jumped)
            state = again

    def _try(self, statement: ir.Try, state: State) -> State | None:
        before, self._touched = self._touched, set()
        done = self._block(statement.orelse, self._block(statement.body, state))
        caught = {path: slots for path, slots in state.items() if path not in self._touched}
        self._touched |= before
        done = _either(done, *(self._block(handler.body, caught) for handler in statement.handlers))
        return self._block(statement.final, done)

    def _step(self, instr: Instr, state: State) -> State:
        """What an instruction that holds no others stores."""
        frame = self.frame
        if isinstance(instr, (ir.Load, ir.Call)):
            self.states[id(instr)] = state
        callees = callees_at(frame, instr.position)
        if callees:
            state = self._called(instr, callees, state)
        path = place_of(frame, instr) if isinstance(instr, _STORES) else None
        if path is None:
            return state
        state = {other: slots for other, slots in state.items() if not _concerns(path, other)}
        self._touched.add(path)
        return {**state, path: frozenset(((frame, instr.value),))} if hasattr(instr, "value") else state

    def _called(self, instr: Instr, callees: list[tuple[Frame, How]], state: State) -> State:
        """What is stored after a call: what callees may write is not known any more, but for what they surely do."""
        some = 0
        for callee, _ in callees:
            some |= self.stores.extents.of(callee)
        kept: dict[Path, frozenset[tuple[Frame, int]]] = {}
        for path, slots in state.items():
            more = self.stores.written(some, path)
            if more is None or more:
                self._touched.add(path)
            if more is not None:
                kept[path] = slots | more
        if not isinstance(instr, ir.Call) or len(calls_at(self.frame.code, instr.position)) > 1:
            return kept
        left: State | None = None
        for callee, how in callees:
            theirs = self.stores.left(callee).items() if how in DIRECT else ()
            named = ((path_of_caller(self.frame, instr.position, callee, path), slots) for path, slots in theirs)
            left = _either(left, {path: slots for path, slots in named if path is not None})
        self._touched.update(left or ())
        return {**kept, **left} if left else kept


def _concerns(path: Path, other: Path) -> bool:
    """Whether a store to one place may change another, or how it is reached: fields of one name may be one."""
    return path[1][-1] in other[1] if path[1] else path[0] is other[0]


def _either(*some: State | None) -> State | None:
    """What is stored on each of several ways."""
    found: State | None = None
    for state in some:
        if state is None:
            continue
        if found is None or found is state:
            found = state
        else:
            found = {path: slots | state[path] for path, slots in found.items() if path in state}
    return found
