"""What one analysis knows of the whole program: modules, frames, allocated objects, classes of special kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hybridize.domain.cases import Cases
from hybridize.domain.objects import Cell, Class, Container, Func, Heap, Inst, Mod, Obj, Value
from hybridize.flow.contexts import COARSEST, LEVEL_LIMIT, Contexts
from hybridize.flow.frames import Frame
from hybridize.program.ir import Code

#: A site tells apart objects of so many kinds.
MAX_TAGS: Final = 48


class World:
    """The state of an analysis."""

    def __init__(
        self,
        modules: dict[str, Mod],
        resolve: Callable[[str, str, int], str | None],
        context_limit: int = LEVEL_LIMIT,
        special: frozenset[str] = frozenset(),
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.modules = modules
        self.without = without  # of `PARTS`
        self.context_limit = context_limit
        self.special = special  # the special names (`__len__`) that the program spells: no class has another
        # Beyond so many frames, the objects that a site allocates are no longer told apart by frame.
        self._heap_contexts = context_limit // 2 + 2
        self.resolve = resolve
        self.frames: list[Frame] = []
        self.frame_count = 0
        self.allocated: dict[Any, Heap] = {}
        self.by_code: dict[Code, Contexts] = {}
        self.escaped: dict[Obj, None] = {}
        self.wildcards: dict[Mod, list[str]] = {}
        self.instances: dict[Class, list[Inst]] = {}
        self.dataclasses: dict[Class, tuple[str, ...]] = {}
        self.tuple_fields: dict[Class, tuple[str, ...]] = {}
        self.module_frames: dict[Mod, Frame] = {}
        self.classes: dict[Code, list[Class]] = {}
        self.hybrids: dict[Code, dict[tuple[Code, int], Mapping[str, Value]]] = {}
        self.switched: set[tuple[Code, int]] = set()  # calls of what makes graphs, or of what stands in for it
        self.cached: dict[Code, None] = {}  # functions that `functools` keeps the results of
        self.members: frozenset[Obj] = frozenset()  # numbers and strings that stand for members of enumerations
        self.fixtures: dict[Func, Mapping[str, Value]] = {}  # functions that pytest calls for their value
        self.cases: dict[Obj, dict[tuple[int, str], Cases]] = {}  # what decorators have tests called with
        self.shared: dict[Any, Frame] = {}  # who stands for what several ask for (`Cells.shared`)
        self.intercepted = False  # some class of the project defines `__getattribute__`
        self.failures: list[str] = []  # models that raised
        self._sites: dict[Any, dict[Frame, Any]] = {}
        self._tags: dict[tuple[Any, ...], int] = {}
        self._keys: dict[Container, Cell] = {}
        self._sent: dict[Code, Cell] = {}
        self._finished: dict[Code, Cell] = {}
        self._growth: dict[Cell, int] = {}

    def note_failure(self, message: str) -> None:
        """A model raised: its answer is lost, and the analysis goes on."""
        self.failures.append(message)

    def settle(self) -> None:
        """Drops what only running frames again needs: what their instructions rest on, and whom they wake."""
        for frame in self.frames:
            for noted in (frame.steps, frame.log, frame.waiters, frame.sites):
                noted.clear()

    def site(self, what: object, frame: Frame, pos: int, tag: str) -> Any:
        """The name of an allocation: by site and frame while the site has few frames, then by site alone."""
        place = (what, frame.code, pos, tag, frame.turn)
        frames = self._sites.get(place)
        if frames is None:
            frames = self._sites[place] = self._of_tag(place)
        if frame in frames:
            return frames[frame]
        name = frames[frame] = (*place, frame) if len(frames) < self._heap_contexts else (*place, None)
        return name

    def _of_tag(self, place: tuple[Any, ...]) -> dict[Frame, Any]:
        """The names of a new tag of a site; one with many tags (results that are mapped again) shares the rest."""
        what, code, pos, _, turn = place
        tags = self._tags[what, code, pos, turn] = self._tags.get((what, code, pos, turn), 0) + 1
        return {} if tags <= MAX_TAGS else self._sites.setdefault((what, code, pos, "shared", turn), {})

    @property
    def is_small(self) -> bool:
        """Whether the program is small enough to be followed in detail."""
        return self.context_limit > LEVEL_LIMIT

    @property
    def follows_loops(self) -> bool:
        """Whether loops over few known items are followed item by item."""
        return self.is_small and "loops" not in self.without

    def contexts(self, code: Code) -> Contexts:
        """The frames of a code."""
        found = self.by_code.get(code)
        if found is None:
            found = self.by_code[code] = Contexts(code, self.context_limit)
            if "contexts" in self.without:
                found.level = COARSEST
        return found

    def is_merged(self, code: Code) -> bool:
        """Whether calls of a code with other arguments are taken together."""
        found = self.by_code.get(code)
        return found is not None and found.merged

    def sent(self, code: Code) -> Cell:
        """What is sent to the generators of a function."""
        found = self._sent.get(code)
        if found is None:
            found = self._sent[code] = Cell()
        return found

    def finished(self, code: Code) -> Cell:
        """What to read so as to run again when the generators of a function return something else."""
        found = self._finished.get(code)
        if found is None:
            found = self._finished[code] = Cell()
        return found

    def count_growth(self, cell: Cell) -> int:
        """How often a cell has grown, this time included."""
        count = self._growth.get(cell, 0) + 1
        self._growth[cell] = count
        return count

    def key_cell(self, container: Container) -> Cell:
        """The cell of the non-constant keys of a dict."""
        found = self._keys.get(container)
        if found is None:
            found = self._keys[container] = Cell()
        return found

    def submodule(self, module: Mod, name: str) -> Mod | None:
        """A module of the project below a package."""
        prefix = module.name.removesuffix(".__init__")
        return self.modules.get(f"{prefix}.{name}") if prefix else self.modules.get(name)
