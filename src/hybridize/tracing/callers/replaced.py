"""What tests replace while they run: by `mock.patch("m.f")`, `mock.patch.object(m, "f")`, `monkeypatch.setattr`.

A graph that was traced before keeps the function or value that it found, and one that is traced meanwhile keeps the
replacement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from hybridize.domain.objects import Class, Func, Inst, Lib, Lit, Mod, Obj, Value, lib
from hybridize.facts.model import Evidence
from hybridize.flow.frames import Frame
from hybridize.flow.testing import SETUP
from hybridize.library.index import canonical
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code
from hybridize.records import dataclass
from hybridize.tracing.values import argument
from hybridize.tracing.views import FrameView, ProjectView

#: What replaces by the name of the place as a text, and by an object and the name of its attribute.
_BY_TEXT: Final = frozenset({"unittest.mock.patch", "mock.patch", "pytest.MonkeyPatch.setattr"})
_BY_OBJECT: Final = frozenset({"unittest.mock.patch.object", "mock.patch.object", "pytest.MonkeyPatch.setattr"})
#: A function of the project; a variable of a module, by path and name; a function of a library, by name.
Key: TypeAlias = "Code | tuple[str, str] | str"


@dataclass(frozen=True, slots=True)
class Replacement:
    """One place that replaces something: where, and the frame whose calls meet it (None: those of anybody)."""

    place: Evidence
    test: Frame | None


def replaced(project: ProjectView) -> dict[Key, list[Replacement]]:
    """What the program's tests replace."""
    return project.shared("replaced", lambda: _replaced(project))


def keys_of(frame: Frame, project: ProjectView) -> Iterator[Key]:
    """What a frame would meet replaced: itself, the module variables that it reads, the library functions it calls."""
    index = index_of(frame.code)
    yield frame.code
    for name in index.names:
        yield frame.code.path, name
    view = FrameView(project, frame)
    for instr in index.of(ir.Call):
        yield from view.names(instr.function)


def _replaced(project: ProjectView) -> dict[Key, list[Replacement]]:
    found: dict[Key, list[Replacement]] = {}
    for code, frames in project.solution.frames.items():
        if (
            not index_of(code).attributes.keys() & {"patch", "object", "setattr"}
            and "patch" not in index_of(code).names
        ):
            continue
        for frame in frames:
            view = FrameView(project, frame)
            for instr in index_of(code).of(ir.Call):
                for key in _keys(view, instr):
                    place = Evidence("a test replaces it here", code.path, instr.position >> 16)
                    some = found.setdefault(key, [])
                    if all(each.place != place for each in some):
                        some.append(Replacement(place, frame if _is_test(project, code) else None))
    return found


def _is_test(project: ProjectView, code: Code) -> bool:
    """Whether what is replaced in a function is so for its own calls only: not in fixtures, set-ups and decorators."""
    if code.is_body or code.name in SETUP:
        return False
    return all(func.code is not code for func in project.solution.world.fixtures)


def _keys(view: FrameView, instr: ir.Call) -> Iterator[Key]:
    names = set(view.names(instr.function))
    if not names & (_BY_TEXT | _BY_OBJECT) or not instr.arguments:
        return
    first, second = view.value(instr.arguments[0][0]), view.value(argument(instr, 1, "attribute"))
    for obj in first:
        if isinstance(obj, Lit) and isinstance(obj.const, str) and names & _BY_TEXT:
            yield from _named(view.project, obj.const)
        elif names & _BY_OBJECT:
            for name in second:
                if isinstance(name, Lit) and isinstance(name.const, str):
                    yield from _attribute(obj, name.const)


def _named(project: ProjectView, text: str) -> Iterator[Key]:
    """What a dotted name means: a module of the project, then attributes."""
    parts = text.split(".")
    modules = {m.name.removesuffix(".__init__"): m for m in project.solution.world.modules.values()}
    for size in range(len(parts) - 1, 0, -1):
        found = modules.get(".".join(parts[:size]))
        if found is not None:
            owners: Value = found.value
            for part in parts[size:-1]:
                cells = [o.fields.get(part) for o in owners if isinstance(o, (Mod, Class))]
                libs = [lib(f"{o.name}.{part}") for o in owners if isinstance(o, Lib)]
                owners = frozenset([*(o for cell in cells if cell is not None for o in cell.value), *libs])
            for owner in owners:
                yield from _attribute(owner, parts[-1])
            return
    yield canonical(text)


def _attribute(obj: Obj, name: str) -> Iterator[Key]:
    """What an attribute of a module, a class or an object stands for."""
    if isinstance(obj, Lib):
        yield canonical(f"{obj.name}.{name}")
    owners = obj.cls.mro if isinstance(obj, Inst) else obj.mro if isinstance(obj, Class) else (obj,)
    for owner in owners:
        if isinstance(owner, Mod):
            yield owner.path, name
        if isinstance(owner, (Mod, Class)) and name in owner.fields:
            for each in owner.fields[name].value:
                if isinstance(each, Func):
                    yield each.code
            return
