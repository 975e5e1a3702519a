"""What runs on TensorFlow 1, or as such: there a session runs graphs that all code only builds, and nothing is eager.

A release before 2.0 that the project may run on holds for all of it; a folder with requirements of its own may ask for
one. Eager execution that some module switches off, or has a function switch off, is off for every module of the same
process: for those that it imports, and those that import it, with all that they import. Where it is on, a session's
graph is built by its file and what that calls. A module that needs what only TensorFlow 1 has, itself or in a function
that it calls under no condition, runs on no other, and so do its programs, whatever they share with TensorFlow 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from hybridize.closure import closure
from hybridize.domain.identity import Value
from hybridize.domain.objects import Bound, Lib, LibInst
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.flow.solve import Solution
from hybridize.library.dialect import PLACEHOLDERS, V1_SESSIONS, V1_SWITCHES
from hybridize.library.index import canonical
from hybridize.library.tensorflow.first_release import FIRST_ONLY
from hybridize.program import ir
from hybridize.program.build import ModuleSource, Program
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import Code, Instr
from hybridize.program.lowering import walk_codes
from hybridize.records import dataclass
from hybridize.source import Roles
from hybridize.source.versions import EAGER, Versions

#: The words without which a text has none of them.
_WORDS: Final = ("placeholder", "disable_", "Session")


@dataclass(frozen=True, slots=True)
class Sessions:
    """Which files run on TensorFlow 1: all (`release`), or by path, each with what says so.

    `only`: the project runs on no later release.
    """

    release: Evidence | None
    files: Mapping[str, Evidence]
    only: bool = False

    def against(self, path: str) -> Evidence | None:
        """Why the functions of a file are nothing that a decorator would turn into a graph."""
        return self.release or self.files.get(path)

    @classmethod
    def of(cls, solution: Solution, versions: Versions, roles: Roles, old: Mapping[str, Versions]) -> Sessions:
        """Those of a solved program."""
        decided = versions.oldest < EAGER or versions.origin == "tensorflow-version"
        files = {} if decided else _asked_for(old)
        for more in (_static(solution, roles, files.keys()), _first(solution)):
            files.update((path, said) for path, said in more.items() if path not in files)
        return cls(_release(versions), files, versions.newest < EAGER)


def _release(versions: Versions) -> Evidence | None:
    if versions.oldest >= EAGER:
        return None
    may = "runs" if versions.newest < EAGER else "may run"
    oldest = ".".join(map(str, versions.oldest))
    said = f"the project {may} on TensorFlow {oldest} ({versions.source}), where a session runs graphs"
    return Evidence(said, versions.origin if versions.line else "", versions.line)


def _asked_for(old: Mapping[str, Versions]) -> dict[str, Evidence]:
    """The files in folders whose own requirements ask for TensorFlow 1."""
    said = "{} asks for TensorFlow {}, where a session runs graphs"
    return {
        path: Evidence(said.format(found.origin, ".".join(map(str, found.newest))), found.origin, found.line)
        for path, found in old.items()
    }


def _static(solution: Solution, roles: Roles, elsewhere: Collection[str]) -> dict[str, Evidence]:
    """The files that build graphs for sessions, or run where eager execution is off.

    What runs `elsewhere`, on a TensorFlow of its own, has other processes: it says nothing of what it imports.
    """
    files: dict[str, Evidence] = {}
    switched: dict[str, Evidence] = {}
    apart: dict[str, Evidence] = {}
    running: dict[str, Evidence] = {}
    modules = solution.program.modules
    suspects = {m.code.path for m in modules.values() if m.text is not None and any(w in m.text.text for w in _WORDS)}
    suspects -= set(elsewhere)
    for code, frames in solution.frames.items():
        for frame in frames if code.path in suspects else ():
            here = code.path
            for pos, name in sorted(frame.ops.items()):
                if name in PLACEHOLDERS:
                    files.setdefault(
                        here, Evidence(f"its file calls `{name}`, which only graphs of sessions have", here, pos >> 16)
                    )
            for effect in frame.effects.values():
                if effect.detail in V1_SWITCHES and not roles.is_test(here):
                    said = f"its process calls `{effect.detail}`: nothing runs eagerly there"
                    found = Evidence(said, here, effect.position >> 16)
                    for path, imported in _started_by(frame, effect.position):
                        (switched if imported else apart).setdefault(path, found)
            for instr in index_of(code).of(ir.Call):
                if any(_runs_session(obj) for obj in frame.vals[instr.function] or ()) and not roles.is_test(here):
                    running.setdefault(
                        here, Evidence("a session runs graphs of its process", here, instr.position >> 16)
                    )
    if switched or apart:
        _spread(solution.program, switched, apart, files)
    for path, evidence in running.items():
        mine = [frame for code, frames in solution.frames.items() if code.path == path for frame in frames]
        for each in closure(mine, lambda frame: [callee for _, callee in frame.calls]):
            files.setdefault(each.code.path, evidence)
        files.setdefault(path, evidence)
    return files


def _first(solution: Solution) -> dict[str, Evidence]:
    """The files of programs that need what only TensorFlow 1 has, but for those that another program has, too."""
    program = solution.program
    path_of = {id_: module.code.path for id_, module in program.modules.items()}
    needs: dict[str, Evidence] = {}
    paths = set(path_of.values())
    for code, body in solution.world.module_frames.items():
        for frame in closure([body], _surely_called) if code.path in paths else ():
            said = _needs_first(frame)
            if said is not None:
                needs.setdefault(code.path, Evidence(said[0], frame.code.path, said[1] >> 16))
                break
    if not needs:
        return {}
    imported = {id_: set(_imported(program, id_, module)) for id_, module in program.modules.items()}
    inner = {each for id_, others in imported.items() for each in others if each != id_}
    files: dict[str, Evidence] = {}
    others: set[str] = set()
    for start in sorted(path_of.keys() - inner):
        reached = {path_of[each] for each in _closure(start, imported) & path_of.keys()}
        said_of = next((needs[path] for path in sorted(reached) if path in needs), None)
        if said_of is None:
            others |= reached
        else:
            files.update((path, said_of) for path in reached if path not in files)
    return {path: said for path, said in files.items() if path not in others or path in needs}


def _surely_called(frame: Frame) -> list[Frame]:
    """What code calls under no condition, where it is no test that may expect what that raises."""
    places = {instr.position for instr in _unconditional(frame.code) if isinstance(instr, ir.Call)}
    return [callee for position, callee in frame.calls if position in places]


def _unconditional(code: Code) -> Iterator[Instr]:
    """What runs under no condition, but that loops have something to go through, or the module is the program."""
    main = index_of(code).main_calls
    blocks = [code.body]
    for block in blocks:
        for instr in block:
            yield instr
            if isinstance(instr, ir.Loop):
                blocks += [instr.test, instr.body]
            elif isinstance(instr, ir.If):
                inner = list(instructions(instr.then))
                blocks += [instr.then] if any(i.position in main for i in inner) else []
                if any(isinstance(i, (ir.Return, ir.Raise)) for i in (*inner, *instructions(instr.orelse))):
                    break


def _needs_first(frame: Frame) -> tuple[str, int] | None:
    """What code uses under no condition that TensorFlow 2 has not, and where."""
    for instr in _unconditional(frame.code):
        if isinstance(instr, ir.Import) and f"{instr.name}.".startswith("tensorflow.contrib."):
            return f"its program imports `{instr.name}`, which only TensorFlow 1 has", instr.position
        if isinstance(instr, ir.ImportFrom) and f"{instr.module}.{instr.name}.".startswith("tensorflow.contrib."):
            return "its program imports `tensorflow.contrib`, which only TensorFlow 1 has", instr.position
        if isinstance(instr, ir.Attr):
            name = _only_first(frame.vals[instr.owner] or frozenset(), instr.name)
            if name:
                return f"its program uses `{name}`, which only TensorFlow 1 has", instr.position
    return None


def _only_first(owners: Value, member: str) -> str:
    """The name of a member of TensorFlow, or of one of its modules, that no release of the second has there; or ""."""
    if not owners or not all(isinstance(o, Lib) and o.name.count(".") < 2 for o in owners):
        return ""
    (owner, *others) = {o.name for o in owners if isinstance(o, Lib)}
    root, _, module = owner.partition(".")
    if others or root != "tf" or module == "compat":
        return ""
    inner = module and canonical(f"{owner}.{member}") == f"tf.compat.v1.{module}.{member}"
    return f"{owner}.{member}" if inner or (not module and member in FIRST_ONLY) else ""


def _runs_session(obj: object) -> bool:
    """Whether an object is the method `run` of a session."""
    if not isinstance(obj, Bound) or not isinstance(obj.receiver, LibInst) or obj.receiver.cls not in V1_SESSIONS:
        return False
    return isinstance(obj.func, str) and obj.func.rpartition(":")[2] == "run"


def _started_by(frame: Frame, position: int) -> list[tuple[str, bool]]:
    """The files whose modules, when they are run, come to a place, and whether they do when they are imported, too.

    Where nothing is seen to run it, it is the file of the frame that does, as a program of its own.
    """
    places = [(frame.code, position)]
    if not frame.code.is_module:
        inside = closure([frame], lambda each: [c for c, _, _ in each.seen_calls() if not c.code.is_module])
        places = [(caller.code, at) for each in inside for caller, at, _ in each.seen_calls()]
    found = {(code.path, at not in index_of(code).main_calls) for code, at in places if code.is_module}
    return sorted(found) or [(frame.code.path, False)]


def _spread(
    program: Program, switched: Mapping[str, Evidence], apart: Mapping[str, Evidence], files: dict[str, Evidence]
) -> None:
    """Adds the files of each process that has a switch.

    Those of `switched` come to it when they are imported; those of `apart` when they are the program itself.
    """
    imported = {id_: set(_imported(program, id_, module)) for id_, module in program.modules.items()}
    path_of = {id_: module.code.path for id_, module in program.modules.items()}
    for start in sorted(program.modules):
        reached = _closure(start, imported) & path_of.keys()  # files that cannot be parsed are no modules
        said = [switched[path_of[each]] for each in sorted(reached) if path_of[each] in switched]
        said += [apart[path_of[start]]] if path_of[start] in apart else []
        for each in reached if said else ():
            files.setdefault(path_of[each], said[0])


def _closure(start: str, imported: Mapping[str, set[str]]) -> set[str]:
    return set(closure([start], lambda each: imported.get(each, ())))


def _imported(program: Program, id_: str, module: ModuleSource) -> Iterator[str]:
    """The modules of the project that a module imports, wherever in it the statement stands."""
    for code in walk_codes(module.code):
        index = index_of(code)
        for dotted, level, name in [
            *((i.name, 0, None) for i in index.of(ir.Import)),
            *((i.module, i.level, i.name) for i in index.of(ir.ImportFrom)),
            *((i.module, i.level, None) for i in index.of(ir.ImportStar)),
        ]:
            found = program.imports.resolve(id_, dotted, level)
            if found is not None:
                yield found
                inner = program.imports.submodule(found, name) if name else None
                if inner is not None:
                    yield inner
