"""What models note of the program for the whole analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridize.domain.cases import Cases
from hybridize.domain.objects import BOTTOM, Bound, Class, Container, Func, Stream, Value, Wrapper
from hybridize.flow.cells import Cells
from hybridize.flow.frames import Frame


class Notes:
    """What models may note."""

    def __init__(self, cells: Cells) -> None:
        self.world = cells.world
        self.cells = cells

    def class_of_namespace(self, container: Container) -> Value:
        """The class that is made of a namespace."""
        found = self.world.allocated.get((container, "class"))
        return found.value if found is not None else BOTTOM

    def send(self, frame: Frame, generator: Stream, value: Value, pos: int) -> None:
        """Sends a value to a generator of the project."""
        if generator.origin is not None:
            self.cells.write(frame, self.world.sent(generator.origin), value, pos)

    def reads_insert(self, container: Container) -> None:
        """Notes that reading a missing key of a container inserts it (`defaultdict`)."""
        self.world.allocated[container, "inserts"] = container

    def note_rebuilt(self, container: Container) -> None:
        """Notes a mapping that is no longer the same when it is made of its keys and values (`Counter`)."""
        self.world.allocated[container, "rebuilt"] = container

    def reads_from(self, container: Container, source: Container) -> None:
        """Notes that reading a container gives what is in another at that time (`ChainMap`)."""
        self.world.allocated[container, source, "source"] = source

    def note_hybrid(self, frame: Frame, pos: int, func: Value, options: Mapping[str, Value]) -> None:
        """Remembers that functions are made hybrid here."""
        for obj in func:
            inner: Any = obj
            while isinstance(inner, (Bound, Wrapper)):
                inner = inner.func if isinstance(inner, Bound) else next(iter(inner.inner), None)
            if isinstance(inner, Func):
                self.world.hybrids.setdefault(inner.code, {})[frame.code, pos] = options

    def note_cached(self, func: Value) -> None:
        """Remembers that `functools` keeps the results of functions."""
        self.world.cached.update(dict.fromkeys(obj.code for obj in func if isinstance(obj, Func)))

    def note_fixture(self, func: Value, options: Mapping[str, Value]) -> None:
        """Remembers that pytest calls functions for their value."""
        for obj in func:
            if isinstance(obj, Func):
                self.world.fixtures[obj] = options

    def note_cases(self, target: Value, pos: int, cases: Cases, option: str = "") -> None:
        """Remembers which arguments a test, or the tests of a class, are called with, by an option of a decorator."""
        for obj in target:
            if isinstance(obj, (Func, Class)):
                self.world.cases.setdefault(obj, {})[pos, option] = cases
