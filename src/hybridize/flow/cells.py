"""Cells and the objects that have them: every read subscribes the reading frame, every growth wakes it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from hybridize.domain.lattice import collapse, join, widen
from hybridize.domain.objects import (
    EVERY,
    Cell,
    Class,
    Container,
    Heap,
    Inst,
    LibInst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
    Wrapper,
)
from hybridize.domain.words import BUILDERS
from hybridize.flow.contexts import ALLOWANCE
from hybridize.flow.frames import INSTANCES, PATIENCE, SHARED, Frame, Step
from hybridize.flow.world import World
from hybridize.library import registry
from hybridize.library.lengths import LOST

_CONTAINERS = {
    "builtins.dict": "dict",
    "builtins.list": "list",
    "builtins.set": "set",
    "collections.OrderedDict": "dict",
    "collections.deque": "deque",
}

_T = TypeVar("_T")


class Cells:
    """The cells, the objects that have them, and what is to be run again when they grow."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.queue: list[tuple[int, int, Frame]] = []
        self.depth = 0
        self.phase = 0
        self.rules_open = 0
        self.binding = 0
        self.turns = 1
        self.work = 0
        self.limit = ALLOWANCE

    def read(self, frame: Frame, cell: Cell) -> Value:
        """The value of a cell; the frame runs again when it grows."""
        step = frame.step
        cell.readers[step] = step.runs
        return cell.value

    def shared(self, frame: Frame, key: object, found_by: Callable[[Frame], _T]) -> _T:
        """What is found by reading much, for all steps that ask for it under a key.

        It is looked for once, and anew when something that was read then is no longer as it was. `found_by` is given
        the frame that reads.
        """
        shared = self.world.shared
        source = shared.get(key)
        if source is None:
            source = shared[key] = Frame(frame.uid, frame.code, frame.module, None, key)
        if source.running:  # it asks for itself
            return found_by(frame)
        if source.stale or not source.runs:
            source.runs += 1
            source.base.runs = source.base.seen = source.runs
            source.stale = source.stuck = source.volatile = False
            source.lenient, source.running = frame.lenient, True
            try:
                source.common = (found_by(source),)
            finally:
                source.running = False
                source.stale = source.stale or source.common is None
        frame.stuck = frame.stuck or source.stuck
        frame.volatile = frame.volatile or source.volatile
        source.waiters[frame.step] = frame.step.runs
        found: _T = source.common[0]
        return found

    def items(self, frame: Frame, obj: Heap) -> list[tuple[Any, Value]]:
        """The fields of an object or constant keys of a container, with their values; the frame runs again when there
        are more."""
        self.read(frame, obj.absent(EVERY))
        return [(name, self.read(frame, cell)) for name, cell in obj.fields.items()]

    def write(self, frame: Frame, cell: Cell, value: Value, pos: int) -> None:
        """Adds a value to a cell."""
        cell.writes[frame.code, pos] = None
        old = cell.value
        if value is old or not value:
            return
        new = join(old, value)
        if new is not old and new != old:
            growth = self.world.count_growth(cell)
            if growth > PATIENCE:
                new = widen(old, new)
                if growth > 4 * PATIENCE:
                    new = collapse(new, 0) if growth > 16 * PATIENCE else collapse(new)
                if new == old:
                    return
            cell.value = new
            if cell.readers:
                self.wake(cell.readers)

    def container(self, frame: Frame, pos: int, kind: str, tag: str = "") -> Container:
        """The container that a site allocates in a frame."""
        key = self.world.site(kind, frame, pos, tag)
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Container(kind, (frame.code, pos), uid_of(key, frame))
        assert isinstance(found, Container)
        return found

    def backing(self, obj: Obj, method: str) -> Container:
        """The container behind an instance of a class that derives from a built-in one (`class C(dict)`)."""
        key = (obj, "backing")
        found = self.world.allocated.get(key)
        if found is None:
            kind = next((_CONTAINERS[n] for n in registry.mro_names(obj) if n in _CONTAINERS), method)
            site = obj.site if isinstance(obj, Heap) else (None, 0)
            found = self.world.allocated[key] = Container(kind.partition(".")[0], site, 0)
            found.exact = False
        assert isinstance(found, Container)
        return found

    def container_behind(self, obj: Inst) -> Container | None:
        """The container behind an instance, if its class derives from a built-in one."""
        if obj.cls.derives_container is None:
            obj.cls.derives_container = any(n in _CONTAINERS for n in registry.mro_names(obj))
        return self.backing(obj, "dict") if obj.cls.derives_container else None

    def note_instance(self, cls: Class, inst: Inst) -> None:
        """Remembers that a class has an instance."""
        self.world.instances.setdefault(cls, []).append(inst)
        self.wake(cls.absent(INSTANCES).readers)

    def made_instance(self, frame: Frame, pos: int, cls: Class, tag: str = "instance") -> Inst:
        """The instance of a project class that a site allocates in a frame, not initialized."""
        key = self.world.site(cls, frame, pos, tag)
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = Inst(cls, (frame.code, pos), uid_of(key, frame))
            self.note_instance(cls, found)
        assert isinstance(found, Inst)
        return found

    def library_instance(self, frame: Frame, pos: int, cls: str) -> LibInst:
        """The instance of a library class that a site allocates in a frame."""
        key = self.world.site(cls, frame, pos, "instance")
        found = self.world.allocated.get(key)
        if found is None:
            found = self.world.allocated[key] = LibInst(cls, (frame.code, pos), uid_of(key, frame))
        assert isinstance(found, LibInst)
        return found

    def is_exact(self, frame: Frame, container: Container) -> bool:
        """Whether the constant keys of a container are all it has; the frame runs again when that ends."""
        if container.exact:
            container.reshaped[frame.step] = frame.step.runs
        else:
            self.read(frame, container.absent(EVERY))
        return container.exact

    def lose_exactness(self, container: Container) -> None:
        """Notes that a container may hold more than its constant keys."""
        if container.exact or container.count not in (None, LOST):
            container.exact = False
            container.count = LOST
            self.wake(container.reshaped)

    def enqueue(self, frame: Frame) -> None:
        """Marks a frame to be run again."""
        if not frame.uses:
            frame.stale = True
            if frame.common is not None:
                self.wake(frame.waiters)
        elif not frame.queued and not frame.dead:
            frame.queued = True
            heapq.heappush(self.queue, (frame.rank, -frame.uid, frame))

    def wake(self, readers: Mapping[Step, int]) -> None:
        """Marks steps to be executed again that have read what has changed: those that did so in their last run."""
        for step, run in readers.items():
            if run == step.runs:
                step.dirty = True
                if step.seen == step.frame.runs:
                    self.enqueue(step.frame)


def uid_of(key: tuple[Any, ...], frame: Frame) -> int:
    """The frame number of an object that is allocated under a site's name."""
    return SHARED if key[-1] is None else frame.uid


def registry_class(obj: Obj) -> str:
    """The library class that models a built-in value."""
    match obj:
        case Tensor():
            return f"tensor.{obj.kind}"
        case Lit() | Prim():
            return f"builtins.{obj.kind}"
        case Tup():
            return "tensor.TensorShape" if obj.kind == "TensorShape" else "builtins.tuple"
        case Container():
            return f"builtins.{obj.kind}" if "." not in obj.kind else obj.kind
        case Stream():
            if obj.kind == "TensorShape":
                return "tensor.TensorShape"
            return obj.kind if "." in obj.kind else f"builtins.{obj.kind}"
        case LibInst():
            return obj.cls
        case Wrapper():
            return f"wrapper.{obj.kind}"
        case _:
            return "builtins.object"


#: Functions that give an object its first fields.
_CONSTRUCTORS: Final = BUILDERS | {"setUp"}


def is_made_with(obj: Inst, name: str) -> bool:
    """Whether a constructor, or what made the object, sets a field: then nobody sees what the class gives."""
    return any(code.name in _CONSTRUCTORS or (code, pos) == obj.site for code, pos in obj.cell(name).writes)


def is_made_when_asked(cell: Cell) -> bool:
    """Whether only `__getattr__` has set a field: it is kept where the class is asked for it first."""
    for code, _ in cell.writes:
        if code.name != "__getattr__":
            return False
    return True
