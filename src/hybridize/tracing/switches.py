"""Calls that have hybrid functions run eagerly, or as graphs again."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from hybridize.domain.objects import Lib, Lit, Mod
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code
from hybridize.tracing.processes import programs_with
from hybridize.tracing.views import ProjectView

_SWITCHES: Final = frozenset(
    {
        "tf.config.run_functions_eagerly",
        "tf.config.experimental_run_functions_eagerly",
        "tf.data.experimental.enable_debug_mode",
    }
)
#: Those of them that leave functions alone.
_OF_DATA: Final = frozenset({"tf.data.experimental.enable_debug_mode"})


def switches(project: ProjectView) -> tuple[Mapping[str, list[tuple[Frame, int, str]]], Set[str]]:
    """The calls that switch graphs off, by file, and the files that switch them on again."""
    return project.shared("eager switches", lambda: _switches(project))


def _switches(project: ProjectView) -> tuple[dict[str, list[tuple[Frame, int, str]]], set[str]]:
    on: dict[str, list[tuple[Frame, int, str]]] = {}
    off: set[str] = set()
    for frames in project.solution.frames.values():
        for frame in frames:
            path = frame.code.path
            for instr in index_of(frame.code).of(ir.Call):
                for obj in frame.vals[instr.function] or ():
                    if isinstance(obj, Lib) and obj.name in _SWITCHES:
                        slot = instr.arguments[0][0] if instr.arguments else dict(instr.keywords).get("run_eagerly", -1)
                        const = {o.const for o in frame.vals[slot] or () if isinstance(o, Lit)} if slot >= 0 else {True}
                        if const == {False}:
                            off.add(path)
                        elif const == {True}:
                            on.setdefault(path, []).append((frame, instr.position, obj.name))
    return on, off


def switched_off(project: ProjectView, code: Code) -> Evidence | None:
    """Where all programs that run a function switch graphs off: what a graph would do never happens."""
    on, off = switches(project)
    left = {
        frame: Evidence(f"`{name}` runs every hybrid function eagerly", path, pos >> 16)
        for path, places in on.items()
        if path not in off and not project.roles.is_test(path)
        for frame, pos, name in places
        if name not in _OF_DATA and not is_asked_for(frame, pos)
    }
    if not left:
        return None
    loaded = _loaded(project, code)
    for frame, said in left.items():
        if frame in loaded:  # who imports the file has switched
            return said
    running = list(programs_with(project, project.solution.frames.get(code, ())))
    if running and all(any(project.extents.has(some, frame) for frame in left) for some in running):
        return next(iter(left.values()))
    return None


def _loaded(project: ProjectView, code: Code) -> set[Frame]:
    """The bodies of the modules that run when the file of a function is imported: its own, and all that it imports."""
    bodies = project.solution.world.module_frames
    own = [body for body in bodies.values() if body.code.path == code.path]

    def find() -> set[Frame]:
        found, todo = set(own), list(own)
        while todo:
            body = todo.pop()
            index = index_of(body.code)
            for instr in (*index.of(ir.Import), *index.of(ir.ImportFrom)):
                modules = (getattr(o, "module", o) for o in body.vals[instr.target] or ())
                new = {bodies[m] for m in modules if isinstance(m, Mod) and m in bodies} - found
                found |= new
                todo += new
        return found

    return project.shared(("loaded", code.path), find)


def is_asked_for(frame: Frame, pos: int) -> bool:
    """Whether a condition that no constant decides, or a parameter, stands around a place: a flag of its caller."""
    for instr in index_of(frame.code).of(ir.If):
        inside = any(each.position == pos for branch in (instr.then, instr.orelse) for each in instructions(branch))
        known = all(isinstance(o, Lit) for o in frame.vals[instr.condition] or ())
        known = known and all(instr.condition != param.slot for param in frame.code.params)
        if inside and not known and not _asks_for_main(frame, instr.condition):
            return True
    return False


def _asks_for_main(frame: Frame, slot: int) -> bool:
    """`__name__ == "__main__"`."""
    made = index_of(frame.code).definitions.get(slot)
    if not isinstance(made, ir.Compare):
        return False
    return any(isinstance(o, Lit) and o.const == "__main__" for o in frame.vals[made.right] or ())
