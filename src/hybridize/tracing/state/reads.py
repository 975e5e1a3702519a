"""Reads of Python state while a function is traced: variables, fields, entries of containers, what libraries tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from hybridize.domain.objects import (
    Cell,
    Class,
    Container,
    Func,
    Heap,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Tensor,
    Value,
    Wrapper,
)
from hybridize.domain.tensors import VARIABLE
from hybridize.facts.state.guards import is_cached
from hybridize.flow.frames import Frame
from hybridize.library.registry import is_fixed
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.records import replace
from hybridize.tracing.hits import Hit
from hybridize.tracing.state.asked import ATTRGETTER, GETATTR, READ_FILE, SAID, WORLD, attributes_asked, names_asked
from hybridize.tracing.state.globals import TELLING, UNLESS_GIVEN
from hybridize.tracing.state.parts import constants, keys_read
from hybridize.tracing.state.setters import setters_of
from hybridize.tracing.state.settings import Settings
from hybridize.tracing.state.writes import ENVIRONMENT, Place, Writes, hides_default, library_classes, writes_of
from hybridize.tracing.views import FrameView


def scan(view: FrameView) -> Iterator[Hit]:
    """The reads of variables, fields and containers that the program writes after they were made."""
    known = writes_of(view.project)
    settings, setters = view.project.shared("settings", lambda: Settings(known)), setters_of(view.project)
    asking: dict[Value, bool] = view.project.shared("asks for state", dict)
    frame, vals = view.frame, view.frame.vals
    for instr in view.project.shared(("reads", view.code), lambda: _reads(view.code)):
        value = vals[instr.target]
        if value is None:
            continue  # control never gets there
        containers = known.late_containers(value) if value else ()
        if isinstance(instr, ir.Call):
            callee = vals[instr.function] or _NO_VALUE
            if containers or known.rewired:
                yield from _of_callee(view, instr, containers, known)
            if settings.concern(callee):
                yield from settings.hits(view, instr)
            asks = asking.get(callee)
            if asks is None:
                asks = asking[callee] = any(n in _KNOWN for n in names_asked(view, instr.function))
            if asks:
                yield from _of_call(view, instr, known)
            continue
        if containers and any(isinstance(o, Tensor) for o in value):
            containers = ()  # a tensor, which calls that were merged made a list of
        if isinstance(instr, ir.Item):
            yield from _of_item(view, instr, containers, known, settings)
            continue
        cells = known.late_cells(frame, instr)
        if isinstance(instr, ir.Attr) and known.states:
            cells = (*cells, *_kept(view, instr, known))
        if known.views:
            yield from _of_places(instr, (), known.late_views(frame, instr))
        if containers or cells:
            yield from _of_places(instr, cells, _entries(view, instr, containers, known) if containers else ())
        if isinstance(instr, ir.Attr):
            yield from _read(instr, setters.cells(frame, instr))


def _kept(view: FrameView, instr: ir.Attr, known: Writes) -> list[tuple[Cell, Heap | None]]:
    """The state of a library's object that one of its attributes tells: `normalization.mean`, which `adapt` sets."""
    states = known.late_states(view.value(instr.owner))
    if not states or any(isinstance(o, Tensor) and o.kind == VARIABLE for o in view.value(instr.target)):
        return []
    if any(call.function == instr.target for call in index_of(view.code).of(ir.Call)):
        return []  # a method, whose call is asked elsewhere
    told = [each for each in states if instr.name in _LEARNED or not _is_of_keras(each[1])]
    return [each for each in told if not _tells_fixed(each[1], instr.name)]


def _tells_fixed(owner: Heap | None, name: str) -> bool:
    return owner is not None and any(is_fixed(cls, name) for cls in library_classes(owner))


def _is_of_keras(owner: Heap | None) -> bool:
    return owner is not None and any(name.startswith("keras.") for name in library_classes(owner))


def _of_item(
    view: FrameView, instr: ir.Item, containers: Sequence[Container], known: Writes, settings: Settings
) -> Iterator[Hit]:
    """What the read of an item tells of: the state of its owner, its containers, a namespace, the environment."""
    owner = view.value(instr.source)
    if settings.concern(owner):
        yield from settings.told(view, instr)
    if containers:
        yield from _of_places(instr, (), _entries(view, instr, containers, known))
    yield from _of_namespace(view, instr, known)
    if known.is_late(ENVIRONMENT) and any(map(_is_environment, owner)):
        for place in _variables(view.frame, instr.index, known):
            yield Hit(instr.position, "reads the environment, which changes between calls", subject=place)


def _of_callee(view: FrameView, instr: ir.Call, containers: Sequence[Container], known: Writes) -> Iterator[Hit]:
    """What a call uses that is kept with the function: its defaults, and the result that a cache gives again."""
    if known.rewired:
        for cell in known.late_wiring(view.value(instr.function)):
            yield Hit(instr.position, "calls a function whose defaults or code change between calls", subject=cell)
    cached = [each for each in containers if each in view.value(instr.target) and is_cached(each.site[0])]
    if cached:
        yield from _of_places(instr, (), _entries(view, instr, cached, known))


def _entries(view: FrameView, instr: Instr, containers: Sequence[Container], known: Writes) -> list[Place]:
    """What is read of containers: the entries whose keys are known, or all of a container."""
    whole: list[Place] = [each for each in containers if each not in (view.frame.vals[instr.target] or ())]
    inside = [each for each in containers if each not in whole]
    keys = keys_read(view.frame, instr.target) if inside else None
    if keys is None:
        return [*whole, *inside]
    found = (known.late_part(each, key) for each in inside for key in sorted(keys, key=repr))
    return [*whole, *(part for part in found if part is not None)]


def _of_namespace(view: FrameView, instr: ir.Item, known: Writes) -> Iterator[Hit]:
    """An item of `globals()`, `vars(obj)` or `obj.__dict__`: the variable or field of that name."""
    owners = frozenset(o.extra[0] for o in view.value(instr.source) if isinstance(o, Wrapper) and o.kind == "namespace")
    for name in sorted(constants(view.frame, instr.index) or (), key=repr) if owners else ():
        cells = [each for each in known.fields(owners, str(name)) if known.is_late(each[0])]
        for hit in _of_places(instr, cells, ()):
            yield replace(hit, message=f"reads `{name}`, which changes between calls", about=str(name))


def _variables(frame: Frame, slot: int, known: Writes) -> list[Place]:
    """The variables of the environment with the names in a slot; all of it where they are not known."""
    names = constants(frame, slot)
    if names is None:
        return [ENVIRONMENT]
    found = (known.late_part(ENVIRONMENT, name) for name in sorted(names, key=repr))
    return [part for part in found if part is not None]


def _reads(code: Code) -> list[Read]:
    return [instr for instr in index_of(code).flat if isinstance(instr, _READS)]


Read: TypeAlias = ir.Load | ir.Item | ir.Call
#: What Keras' objects keep in Python and set when they are adapted, or get other layers: no setting, and no variable.
_LEARNED: Final = frozenset("mean variance bin_boundaries layers inputs outputs input_shape output_shape".split())
_READS: Final = (ir.Load, ir.Item, ir.Call)
_NO_VALUE: Final[Value] = frozenset()


def _of_places(instr: Instr, cells: Sequence[tuple[Cell, Heap | None]], containers: Sequence[Place]) -> Iterator[Hit]:
    places: list[Place] = [cell for cell, owner in cells if not _is_fixed(cell) or hides_default(cell, owner)]
    yield from _read(instr, (*places, *containers))


def _read(instr: Instr, places: Sequence[Place]) -> Iterator[Hit]:
    name = str(instr.name) if isinstance(instr, ir.Load) else ""
    for place in dict.fromkeys(places):
        said = f"reads `{name or 'an element'}`, which changes between calls"
        yield Hit(instr.position, said, subject=place, about=name)


def _is_environment(obj: Obj) -> bool:
    name = obj.name if isinstance(obj, Lib) else obj.cls if isinstance(obj, LibInst) else ""
    return name in ("os.environ", "os._Environ")


def _of_call(view: FrameView, instr: ir.Call, known: Writes) -> Iterator[Hit]:
    """A read of the environment, of files, of a library's settings, or of an attribute by its name."""
    for name in names_asked(view, instr.function):
        place = WORLD.get(name)
        parameter, told = UNLESS_GIVEN.get(name, ("", name))
        if told in TELLING and not (parameter and _is_given(instr, parameter)):
            name = told
        if name in TELLING:
            cell, what = TELLING[name]
            if known.is_late(cell):
                yield Hit(instr.position, f"asks for {what}, which changes between calls", subject=cell)
        elif place is not None:
            if known.is_late(place) and (name != READ_FILE or _is_constant_path(view, instr)):
                first = instr.arguments[0][0] if instr.arguments else -1
                for each in _variables(view.frame, first, known) if place is ENVIRONMENT else [place]:
                    yield Hit(instr.position, f"{SAID[place]}, which changes between calls", subject=each)
        elif name in (GETATTR, ATTRGETTER):
            owners, attributes = attributes_asked(view, instr)
            for attribute in sorted(attributes):
                cells = [each for each in known.fields(owners, attribute) if known.is_late(each[0])]
                for hit in _of_places(instr, cells, ()):
                    yield replace(hit, message=f"reads `{attribute}`, which changes between calls", about=attribute)


_KNOWN: Final = frozenset({*WORLD, *TELLING, *UNLESS_GIVEN, GETATTR, ATTRGETTER})


def _is_given(call: ir.Call, parameter: str) -> bool:
    """Whether what would be asked for is given (the step of a summary): by keyword, or as the third argument."""
    return any(name == parameter for name, _ in call.keywords) or len(call.arguments) > 2


def _is_constant_path(view: FrameView, instr: ir.Call) -> bool:
    """Whether the path of a file is Python's: a tensor's is looked at by every call."""
    path = view.value(instr.arguments[0][0]) if instr.arguments else ()
    return bool(path) and not any(isinstance(o, Tensor) for o in path)


def _is_fixed(cell: Cell) -> bool:
    """Whether all writes put the same thing there."""
    if len(cell.value) != 1:
        return False
    (only,) = cell.value
    return isinstance(only, (Lit, Func, Class, Lib, Mod)) or (isinstance(only, Container) and _keeps_one(cell))


def _keeps_one(cell: Cell) -> bool:
    """Whether a variable keeps the container that it has got once: `names += ["x"]` changes what is in it."""
    first = 0
    for code, pos in cell.writes:
        stores = [i for i in index_of(code).at(pos) if isinstance(i, ir.Assignment)]
        made = [index_of(code).source(i.value) for i in stores]
        first += not made or any(not isinstance(i, ir.Inplace) for i in made) or pos in index_of(code).looped
    return first <= 1
