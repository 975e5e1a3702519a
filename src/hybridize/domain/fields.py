"""Places of the heap, and objects that have some."""

from __future__ import annotations

from typing import Any, Final, Self

from hybridize.domain.identity import HERE, Obj, Value


class Cell:
    """A place of the heap: a field, an element, a global, a captured variable. Its value only grows.

    `readers` are the frames to run again when it does, each with the number of the run that read it last: a frame that
    has run again since does not depend on it any more. `writes` are the (path, line) places that wrote it.
    """

    __slots__ = ("readers", "value", "writes")

    def __init__(self, value: Value = frozenset()) -> None:
        self.value = value
        self.readers: dict[Any, int] = {}
        self.writes: dict[tuple[Any, int], None] = {}


#: The fields of an object that are not constant names, and all of its fields, as names of what is awaited.
REST: Final = "<rest>", 0
EVERY: Final = "<every>", 0
#: What a class is asked for by who looks at what it derives from.
BASES: Final = "<bases>", 0
_NOTHING: Final[dict[Any, Cell]] = {}


class Heap(Obj):
    """An object with a site: `site` is (code, position), `frame` the number of the frame that allocated it.

    `awaited` are the fields that were read before there were any, as cells that nobody writes: who reads them is to run
    again once the field is there.
    """

    __slots__ = ("awaited", "fields", "frame", "rest", "site")

    def __new__(cls, *_: object) -> Self:
        """A new object with the next number."""
        return float.__new__(cls, -next(HERE.serial))

    def __init__(self, site: tuple[Any, int], frame: int) -> None:
        super().__init__()
        self.site = site
        self.frame = frame
        self.fields: dict[Any, Cell] = {}
        self.rest: Cell | None = None
        self.awaited = _NOTHING

    def cell(self, name: Any) -> Cell:
        """The cell of a field or a constant key, made when first asked for."""
        fields = self.fields
        if name in fields:
            return fields[name]
        cell = fields[name] = self._made(name)
        return cell

    def rest_cell(self) -> Cell:
        """The cell that stands for every field or key that is not a constant."""
        if self.rest is None:
            self.rest = self._made(REST)
        return self.rest

    def absent(self, name: Any) -> Cell:
        """What to read where a field is not there, so as to run again when it is."""
        awaited = self.awaited
        if name in awaited:
            return awaited[name]
        if awaited is _NOTHING:
            awaited = self.awaited = {}
        cell = awaited[name] = Cell()
        return cell

    def _made(self, name: Any) -> Cell:
        """A new cell. Its readers are those who would have read it before: they run again when it is written."""
        cell = Cell()
        if self.awaited:
            self._tell(name, cell)
        return cell

    def _tell(self, name: Any, cell: Cell) -> None:
        for key in (name, EVERY):
            awaited = self.awaited.get(key)
            if awaited is not None:
                cell.readers.update(awaited.readers)
