"""What the code of a trace raises, and what leaves its function."""

from __future__ import annotations

from collections.abc import Iterator

from hybridize.domain.objects import Value, lib
from hybridize.flow.ending import ENDED
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import NO_SLOT
from hybridize.tracing.control import control
from hybridize.tracing.failing.exceptions import classes_in, fits
from hybridize.tracing.failing.failures import fails_by_value, failures
from hybridize.tracing.structure import Site
from hybridize.tracing.views import FrameView, ProjectView


class Raisers:
    """The frames of a program that raise; each is looked at once, when first in a function's extent."""

    def __init__(self, project: ProjectView, *, dead: bool = False) -> None:
        """With `dead` also `raise` statements that no call of the program gets to."""
        self.project = project
        self._dead = dead
        self._explicit = project.extents.having(lambda frame: bool(self.raised(frame)))
        self._implicit = project.extents.having(lambda frame: bool(failures(FrameView(project, frame))))
        self._by_value = project.extents.having(lambda frame: fails_by_value(FrameView(project, frame)))

    def explicit(self, extent: int) -> list[Frame]:
        """Those of an extent with `raise` statements whose exception they don't handle themselves."""
        return self._sorted(self._explicit.within(extent))

    def implicit(self, extent: int) -> list[FrameView]:
        """Those of an extent in which Python or TensorFlow may raise by itself."""
        return [FrameView(self.project, frame) for frame in self._sorted(self._implicit.within(extent))]

    def fail_by_value(self, extent: int) -> bool:
        """Whether one of an extent has an operation that raises by the values it gets."""
        return self._by_value.within(extent) != 0

    def raised(self, frame: Frame) -> list[tuple[int, Value]]:
        """The `raise` statements of a frame whose exception leaves it: position, and what is raised."""
        dead = self._dead
        return self.project.shared(("raised", frame, dead), lambda: list(_raised(FrameView(self.project, frame), dead)))

    def _sorted(self, some: int) -> list[Frame]:
        return sorted(self.project.extents.frames(some), key=lambda f: f.uid)


def _raised(view: FrameView, dead: bool) -> Iterator[tuple[int, Value]]:
    for instr in index_of(view.code).of(ir.Raise):
        raised = view.value(instr.value) or (_by_name(view, instr.value) if dead else frozenset())
        if not _handled(view, control(view).structure.at(instr), raised):
            yield instr.position, raised


def _by_name(view: FrameView, slot: int) -> Value:
    """What a `raise` that no call gets to would raise: a class by its name in the module, or a built-in one."""
    index = index_of(view.code)
    made = index.source(slot)
    if isinstance(made, ir.Call):
        made = index.source(made.function)
    if not isinstance(made, ir.Global) or view.frame.func is None:
        return frozenset()
    cell = view.frame.func.module.fields.get(made.name)
    return cell.value if cell is not None else lib(f"builtins.{made.name}").value


def _handled(view: FrameView, site: Site, raised: Value) -> bool:
    """Whether the function itself handles what it raises."""
    return any(
        isinstance(outer.instr, ir.Try) and part == "body" and _taker(view, outer.instr, raised) is not None
        for outer, part in site.around()
    )


def _taker(view: FrameView, statement: ir.Try, raised: Value) -> ir.Handler | None:
    """The handler of a `try` statement that takes what its body raises."""
    for handler in statement.handlers:
        caught = frozenset(classes_in(view.value(handler.type_slot)))
        if not caught or any(fits(caught, each) for each in raised):
            return handler
    return None


def is_passed_over(view: FrameView, line: int, raised: Value) -> bool:
    """Whether a handler of the function takes what a line raises, and the function goes on."""
    for statement in index_of(view.code).of(ir.Try):
        if any(inner.position >> 16 == line for inner in instructions(statement.body)):
            handler = _taker(view, statement, raised)
            if handler is not None and _goes_on(view, handler):
                return True
    return False


def _goes_on(view: FrameView, handler: ir.Handler) -> bool:
    """Whether a handler, of classes that are known, neither raises nor ends the program."""
    if handler.type_slot != NO_SLOT and not any(classes_in(view.value(handler.type_slot))):
        return False
    body = list(instructions(handler.body))
    ends = any(isinstance(i, ir.Call) and view.frame.vals[i.target] is ENDED for i in body)
    return not ends and not any(isinstance(i, ir.Raise) for i in body)
