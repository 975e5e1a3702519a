"""What callers that nobody sees decide: conditions on arguments of functions that others may call.

A constant that all calls in a library pass for a parameter is not all that comes: flow prunes the other branches, and
whoever calls the function from elsewhere takes them. So does what a private function is given by a public one that
only passes it on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.domain.calls import NOT_TRACED
from hybridize.domain.objects import Bound, Class, Func
from hybridize.facts.origins import call_at, calls_at, passed_slots
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.program.operands import edges_of, operands
from hybridize.tracing.views import ProjectView

#: Parameters by their places.
Given: TypeAlias = frozenset[int]
#: So many steps are gone from a condition to what it asks about.
_FAR: Final = 60
_NOTHING: Final[Given] = frozenset()


class Unseen:
    """The parameters whose arguments callers choose that nobody sees."""

    def __init__(self, project: ProjectView) -> None:
        self.project = project
        self._chosen: dict[Code, Given] = {}
        handed = (o.func if isinstance(o, Bound) else o for o in project.solution.world.escaped)
        self._handed = {func.code for func in handed if isinstance(func, Func)}

    def chosen(self, code: Code) -> Given:
        """Those of a function: all where others may call it, else what such a function passes on."""
        found = self._chosen.get(code)
        if found is None:
            self._chosen[code] = _NOTHING  # of a recursive call
            found = self._chosen[code] = self._of(code)
        return found

    def _of(self, code: Code) -> Given:
        frames = self.project.solution.frames.get(code, ())
        if code.is_module or self.project.roles.is_test(code.path):
            return _NOTHING
        if code in self._handed or self.project.public.has(code):
            return frozenset(range(len(code.params))) - {0 for frame in frames if frame.bound}
        calls = [(frame, caller, pos) for frame in frames for caller, pos in frame.incoming if caller is not None]
        return _NOTHING.union(
            *(self._passed(caller, pos, frame, self.chosen(caller.code)) for frame, caller, pos in calls)
        )

    def within(self, frames: Sequence[Frame]) -> dict[Frame, Given]:
        """Those of some frames of a function, and of all that their calls run as part of its trace."""
        found = {frame: self.chosen(frame.code) for frame in frames}
        todo = list(frames)
        while todo:
            frame = todo.pop()
            for pos, callee, how in self.project.extents.calls(frame):
                if how not in NOT_TRACED and not callee.code.is_module:
                    old = found.get(callee)
                    new = (old or _NOTHING) | self._passed(frame, pos, callee, found[frame])
                    if new != old:
                        found[callee] = new
                        todo.append(callee)
        return found

    def _passed(self, caller: Frame, pos: int, callee: Frame, given: Given) -> Given:
        """The parameters for which a call passes what follows from some of the caller's own."""
        if not given:
            return _NOTHING
        slots = {i: _slots(caller, pos, callee, i) for i in range(len(callee.code.params))}
        if callee.bound:
            slots[0] = list(_made(caller, pos, callee))
        return frozenset(i for i, some in slots.items() if any(self.asked(caller, slot, given) for slot in some))

    def asked(self, frame: Frame, slot: int, given: Given) -> list[str]:
        """The names of those of some parameters, and of such of functions around, that a value follows from."""
        found: set[str] = set()
        names = {frame.code.params[i].slot: _named(frame, i) for i in given}

        def before(made: ir.Instr) -> Iterable[int]:
            return _joined(frame, made) if isinstance(made, ir.Phi) else operands(made)

        for each, made in index_of(frame.code).upstream([slot], before, _FAR):
            if each in names:
                found.add(names[each])
            elif isinstance(made, ir.Cell) and self._captured(frame.code, made.name):
                found.add(made.name)
        return sorted(found)

    def _captured(self, code: Code, name: str) -> bool:
        """Whether a variable of a function around is a parameter that such callers choose."""
        outer = code.parent
        chosen = self.chosen(outer) if outer is not None and outer.is_function else _NOTHING
        return outer is not None and any(outer.params[i].name == name for i in chosen)


def unseen(project: ProjectView) -> Unseen:
    """That of a project, made when first asked for."""
    return project.shared("unseen callers", lambda: Unseen(project))


def _named(frame: Frame, index: int) -> str:
    """The name of a parameter; of a receiver that of its class."""
    owner = frame.func.owner if frame.func is not None and frame.bound and index == 0 else None
    return frame.code.params[index].name if owner is None else owner.name


def _made(caller: Frame, pos: int, callee: Frame) -> Iterator[int]:
    """The receiver of a method's call where the caller has just made it: of what it was made with."""
    index = index_of(caller.code)
    for call in calls_at(caller.code, pos):
        read = index.definitions.get(call.function)
        runs = [o.func for o in caller.vals[call.function] or () if isinstance(o, Bound)]
        if isinstance(read, ir.Attr) and any(isinstance(f, Func) and f.code is callee.code for f in runs):
            made = index.source(read.owner)
            if isinstance(made, ir.Call) and any(isinstance(o, Class) for o in caller.vals[made.function] or ()):
                yield read.owner


def _joined(frame: Frame, phi: ir.Phi) -> Iterator[int]:
    """What a joined value follows from: what comes by the ways taken, and what decides that no other is."""
    for edge, slot in phi.incoming:
        if edge < 0 or frame.edges[edge]:
            yield slot
        else:
            yield from (branch.condition for branch in index_of(frame.code).of(ir.If) if edge in edges_of(branch))


def _slots(caller: Frame, pos: int, callee: Frame, index: int) -> list[int]:
    """The slots that a call passes for a parameter: all that it passes on as a whole where that cannot be told."""
    found = passed_slots(caller, pos, callee, index)
    call = call_at(caller.code, pos)
    if found is not None or call is None:
        return found or []
    return [slot for slot, star in call.arguments if star] + [slot for name, slot in call.keywords if name is None]
