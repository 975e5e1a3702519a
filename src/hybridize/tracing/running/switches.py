"""Calls that have hybrid functions run eagerly, or as graphs again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from hybridize.closure import closure
from hybridize.domain.objects import Lib, Lit, Mod, Value
from hybridize.domain.session import solved
from hybridize.facts.calls.callgraph import denotes
from hybridize.facts.model import Evidence
from hybridize.facts.origins import call_at, calls_to
from hybridize.flow.frames import Frame
from hybridize.library.keras.running import STEP_OF
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code
from hybridize.tracing.running.processes import programs_with
from hybridize.tracing.views import ProjectView

#: What makes tensors behave as arrays.
_NUMPY: Final = "enable_numpy_behavior"
_ALL: Final = "every hybrid function"
#: Calls that switch graphs off, and what they run eagerly from then on.
SWITCHES: Final[Mapping[str, str]] = {
    "tf.config.run_functions_eagerly": _ALL,
    "tf.config.experimental_run_functions_eagerly": _ALL,
    "tf.data.experimental.enable_debug_mode": "every function that datasets are given",
}
#: What gives a graph of a hybrid function, whatever is switched.
_GRAPH: Final = "get_concrete_function"
#: What stops a program and asks who debugs it.
_DEBUGGERS: Final = frozenset(
    {"builtins.breakpoint", "pdb.set_trace", "ipdb.set_trace", "IPython.embed", "code.interact"}
)


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
                    if isinstance(obj, Lib) and obj.name in SWITCHES:
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
    left = [
        (frame, pos, Evidence(f"`{name}` runs {_ALL} eagerly", path, pos >> 16))
        for path, places in on.items()
        if path not in off and not project.roles.is_test(path)
        for frame, pos, name in places
        if SWITCHES[name] == _ALL
    ]
    if not left:
        return None
    loaded = _loaded(project, code)
    for frame, pos, said in left:
        if frame in loaded and not is_asked_for(frame, pos):  # who imports the file has switched
            return said
    running = list(programs_with(project, project.solution.frames.get(code, ())))
    if running and all(any(_is_run(project, some, frame, pos) for frame, pos, _ in left) for some in running):
        return left[0][2]
    return None


def is_of_switching_objects(project: ProjectView, code: Code) -> bool:
    """Whether code belongs to a class whose constructor switches graphs off: where there is an object, all is eager."""
    on, off = switches(project)
    owner: Code | None = code
    while owner is not None and not owner.is_class:
        owner = owner.parent
    return owner is not None and any(
        frame.code.parent is owner and frame.code.name == "__init__" and not is_asked_for(frame, pos)
        for frame, pos, name in on.get(code.path, ())
        if SWITCHES[name] == _ALL and code.path not in off
    )


def _is_run(project: ProjectView, some: int, frame: Frame, pos: int) -> bool:
    """Whether a program comes to a place: parameters decide so where each call of its gives them such a constant."""
    if not project.extents.has(some, frame):
        return False
    contexts = project.solution.frames.get(frame.code, ())
    incoming = (each for context in contexts for each in context.incoming.items())
    calls = [args for (caller, _), args in incoming if caller is not None and project.extents.has(some, caller)]
    places = {param.slot: i for i, param in enumerate(frame.code.params)}
    for slot, answer in _around(frame, pos):
        if slot not in places:
            if not _is_known(frame, slot):
                return False
        elif not calls or not all(_is_always(args[places[slot]], answer) for args in calls):
            return False
    return True


def _is_always(value: Value, answer: bool) -> bool:
    return bool(value) and all(isinstance(o, Lit) and not o.varies and bool(o.const) is answer for o in value)


def _loaded(project: ProjectView, code: Code) -> set[Frame]:
    """The bodies of the modules that run when the file of a function is imported: its own, and all that it imports."""
    bodies = project.solution.world.module_frames

    def imported(body: Frame) -> Iterator[Frame]:
        for instr in index_of(body.code).of(ir.Import, ir.ImportFrom):
            modules = (getattr(o, "module", o) for o in body.vals[instr.target] or ())
            yield from (bodies[m] for m in modules if isinstance(m, Mod) and m in bodies)

    def find() -> set[Frame]:
        return set(closure((body for body in bodies.values() if body.code.path == code.path), imported))

    return project.shared(("loaded", code.path), find)


def loses_nothing(project: ProjectView, frame: Frame, name: str) -> bool:
    """Whether no program that comes to a switch is seen to have what would run as a graph without it: a hybrid function
    that it runs or hands on, or training by Keras. Of what cannot be followed nobody knows whether it has."""
    return SWITCHES[name] == _ALL and not any(_has_graphs(project, some) for some in programs_with(project, [frame]))


@solved
def _has_graphs(project: ProjectView, some: int) -> bool:
    hybrids = project.solution.world.hybrids
    return any(
        (frame.code in hybrids and not _is_only_asked(frame))
        or not index_of(frame.code).attributes.keys().isdisjoint(STEP_OF)
        or (frame.code.is_module and frame.code.path in _handed_on(project))
        for frame in project.extents.frames(some)
    )


@solved
def _handed_on(project: ProjectView) -> frozenset[str]:
    """The files with hybrid functions that code which nobody knows is given."""
    world = project.solution.world
    return frozenset(code.path for code in world.hybrids if any(denotes(obj, code) for obj in world.escaped))


def _is_only_asked(frame: Frame) -> bool:
    """Whether a function is only asked for its graph, which is made all the same: an exported or a frozen model."""
    sites = [(caller.code, at) for caller, at in calls_to(frame)]
    return bool(sites) and all(
        (call := call_at(code, at)) is not None
        and isinstance(asked := index_of(code).definitions.get(call.function), ir.Attr)
        and asked.name == _GRAPH
        for code, at in sites
    )


def debugs(frame: Frame) -> bool:
    """Whether code stops in a debugger."""
    calls = index_of(frame.code).of(ir.Call)
    return any(isinstance(o, Lib) and o.name in _DEBUGGERS for call in calls for o in frame.vals[call.function] or ())


def is_asked_for(frame: Frame, pos: int) -> bool:
    """Whether a condition that no constant decides, or a parameter, stands around a place: a flag of its caller."""
    given = {param.slot for param in frame.code.params}
    return any(slot in given or not _is_known(frame, slot) for slot, _ in _around(frame, pos))


def _around(frame: Frame, pos: int) -> Iterator[tuple[int, bool]]:
    """The conditions around a place, without `not`, and their answers there."""
    index = index_of(frame.code)
    for instr in index.of(ir.If):
        for branch, answer in ((instr.then, True), (instr.orelse, False)):
            if any(each.position == pos for each in instructions(branch)):
                slot = index.original(instr.condition)
                made = index.definitions.get(slot)
                while isinstance(made, ir.Unary) and made.operator == "not":
                    slot, answer = index.original(made.operand), not answer
                    made = index.definitions.get(slot)
                yield slot, answer


def _is_known(frame: Frame, slot: int) -> bool:
    return all(isinstance(o, Lit) for o in frame.vals[slot] or ()) or _asks_for_main(frame, slot)


def _asks_for_main(frame: Frame, slot: int) -> bool:
    """`__name__ == "__main__"`."""
    made = index_of(frame.code).definitions.get(slot)
    if not isinstance(made, ir.Compare):
        return False
    return any(isinstance(o, Lit) and o.const == "__main__" for o in frame.vals[made.right] or ())


@solved
def behaves_as_numpy(project: ProjectView) -> bool:
    """Whether the program may give tensors the methods of arrays (`enable_numpy_behavior`)."""
    return any(_NUMPY in name for code in project.solution.frames for name in index_of(code).attributes)
