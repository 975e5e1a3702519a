"""What the same run of Python may hold: scripts and notebooks that nothing imports are programs of their own, and what
two of them make never meets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final, TypeVar

from hybridize.closure import closure
from hybridize.domain.objects import Inst, LibInst
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.source.versions import needs_keras_2
from hybridize.tracing.views import FunctionView, ProjectView

#: The bodies of all modules: of what any program may make.
ANYWHERE: Final = -1

_O = TypeVar("_O", bound=object)


class Processes:
    """The programs of a project, as bits."""

    def __init__(self, project: ProjectView) -> None:
        world = project.solution.world
        self.extents = project.extents
        self.frames = project.solution.frames
        self.tests = project.roles.is_test
        mentioned = {part for code in self.frames if not self.tests(code.path) for part in _imports(code)}
        self.bodies = list(world.module_frames.values())
        self.alone = [body.code.path.rpartition("/")[2].partition(".")[0] not in mentioned for body in self.bodies]

    def of(self, frames: Iterable[Frame]) -> int:
        """The programs that run some of the frames; `ANYWHERE` where another module may have them run, or nobody does.

        What only tests run stands beside nothing: they show what is accepted, each by itself.
        """
        some, found = self.extents.set_of(frames), 0
        for i, body in enumerate(self.bodies):
            if some & self.extents.of(body) and not self.tests(body.code.path):
                if not self.alone[i]:
                    return ANYWHERE
                found |= 1 << i
        return found if found or some & self._tested else ANYWHERE

    def is_tested(self, frame: Frame) -> bool:
        """Whether tests run a frame: as often as they like, in one process."""
        return bool(self.extents.set_of([frame]) & self._tested)

    @cached_property
    def _tested(self) -> int:
        """What the functions of tests run."""
        tests = [f for code, frames in self.frames.items() if self.tests(code.path) for f in frames]
        return self.extents.of_all(tests)

    def of_object(self, obj: object) -> int:
        """The programs that make an object."""
        if not isinstance(obj, (Inst, LibInst)) or not isinstance(obj.site[0], Code):
            return ANYWHERE
        frames = self.frames.get(obj.site[0], ())
        return self.of([f for f in frames if f.uid == obj.frame] or frames)


def processes(project: ProjectView) -> Processes:
    """Those of a project, made when first asked for."""
    return project.shared("processes", lambda: Processes(project))


def meeting(project: ProjectView, objects: set[_O]) -> set[_O]:
    """Those of some objects that one program may make beside another of them."""
    if len(objects) < 2:
        return set()
    known = processes(project)
    runs = {obj: known.of_object(obj) for obj in objects}
    return {a for a in objects if any(runs[a] & runs[b] for b in objects if b is not a)}


def programs(project: ProjectView) -> list[int]:
    """For each module what it runs, its own body included, as a set of frames (`Extents.has`)."""
    extents = project.extents
    bodies = project.solution.world.module_frames.values()
    return project.shared("programs", lambda: [extents.of(body) | extents.set_of([body]) for body in bodies])


def some_may_have_keras_3(project: ProjectView) -> bool:
    """Whether some program may run on Keras 3: asked before it is looked for."""
    return project.versions.may_have_keras(3) or project.versions.narrowed


def may_have_keras_3(function: FunctionView) -> bool:
    """Whether a program that gets to a function may run on Keras 3: other programs beside it may be what needs 2."""
    project = function.project
    if project.versions.may_have_keras(3) or not project.versions.narrowed or project.versions.legacy:
        return project.versions.may_have_keras(3)

    def needs_2(path: str) -> bool:
        return project.shared(("needs Keras 2", path), lambda: needs_keras_2(project.text(path)))

    def files(some: int) -> set[str]:
        return project.shared(("files of a program", some), lambda: _files(project, some))

    return any(not any(map(needs_2, files(some))) for some in programs_of(function))


def _files(project: ProjectView, some: int) -> set[str]:
    """The files of a program: those of what it runs, and what these import."""
    extents = project.extents
    run = [frame.code for frame in extents.frames(some) if extents.is_live(frame)]
    modules = project.shared("modules by their last names", lambda: _by_name(project))
    return {code.path for code in closure(run, lambda c: [modules[part] for part in _imports(c) if part in modules])}


def _by_name(project: ProjectView) -> dict[str, Code]:
    modules = [module.code for module in project.solution.program.modules.values()]
    return {code.path.rpartition("/")[2].partition(".")[0]: code for code in modules}


def programs_of(function: FunctionView) -> list[int]:
    """The programs that get to a function."""
    return programs_with(function.project, function.frames)


def programs_with(project: ProjectView, frames: Iterable[Frame]) -> list[int]:
    """The programs that get to some contexts of a function."""
    goal = project.extents.set_of(frames)
    known: dict[int, list[int]] = project.shared("programs with", dict)
    found = known.get(goal)
    if found is None:
        found = known[goal] = [some for some in programs(project) if some & goal]
    return found


def _imports(code: Code) -> Iterable[str]:
    """The names of packages and modules that a function or module imports, part by part."""
    index = index_of(code)
    for plain in index.of(ir.Import):
        yield from plain.name.split(".")
    for one in index.of(ir.ImportFrom):
        yield from (*one.module.split("."), one.name)
    for every in index.of(ir.ImportStar):
        yield from every.module.split(".")
