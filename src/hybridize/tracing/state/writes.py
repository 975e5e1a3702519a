"""Every place of the heap that the program writes, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from hybridize.closure import closure
from hybridize.domain.nesting import held
from hybridize.domain.objects import (
    Bound,
    Cell,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Tensor,
    Tup,
    Value,
    Wrapper,
)
from hybridize.domain.words import SETTING_UP, VIEWS
from hybridize.facts.calls.extents import Extents
from hybridize.facts.origins import call_at, definitions, slots_of, variable
from hybridize.facts.state.guards import guarded, parts
from hybridize.facts.state.reasons import CHANGES
from hybridize.flow.frames import Effect, Frame
from hybridize.flow.solve import Solution
from hybridize.library import registry
from hybridize.library.spec import SOURCE
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.records import dataclass, field
from hybridize.tracing.state.arrays import others_holding
from hybridize.tracing.state.globals import GLOBALS, SETTING
from hybridize.tracing.state.library_fields import LibraryField, field_of, field_set
from hybridize.tracing.state.parts import Part, changes, stays
from hybridize.tracing.views import ProjectView

#: A field, global or captured variable; or a container, for what is in it.
Place: TypeAlias = "Cell | Container"

_NO_VALUE: Final[Value] = frozenset()
_CHANGES: Final = CHANGES - {"iterator"} | {"io", "state", "random"}
#: The places that stand for the environment's variables, for what is in files and folders, and for levels of loggers.
ENVIRONMENT: Final = Cell()
FILES: Final = Cell()
LOGGING: Final = Cell()
_WORLD: Final = (ENVIRONMENT, FILES, LOGGING)
#: What a layer gives by its switch `trainable`, and by those of the layers in it.
_SWITCHED: Final = frozenset({"trainable_variables", "trainable_weights"})
_SWITCH: Final = "trainable"
_PARTS: Final = 200  # objects that are looked into for layers
_BOUND: Final = 3  # containers in containers that a partial brings are looked into so deeply
_FILE_WRITES: Final = frozenset(
    "write writelines write_text write_bytes write_file savetxt save dump copy copyfile copytree move replace rename "
    "touch mkdir makedirs unlink remove rmdir rmtree removedirs symlink_to symlink link to_csv to_json".split()
)
#: Methods of Keras' objects that change what these consist of, or what they look up.
_REBUILDS: Final = frozenset({"_set_hyper", "add", "pop", "adapt", "set_vocabulary"})
#: What an attribute is called that is set by a name which is not known.
COMPUTED: Final = "a computed attribute"
_CLASS: Final = "__class__"
#: What calls of a function use besides its code.
_REWIRED: Final = ("__defaults__", "__kwdefaults__", "__code__")
#: Attributes that every object has from the start: who sets them replaces others.
_REPLACED: Final = (_CLASS, *_REWIRED)
#: Libraries whose objects keep what they change in variables and tables.
_TENSORS: Final = ("tf.", "keras.", "np.", "tensorflow_probability.")


@dataclass(slots=True)
class Writes:
    """The writes of a program. Those count that may come after their place was first read: the late ones."""

    every: dict[Place, dict[tuple[Frame, int], None]] = field(default_factory=dict)
    owners: dict[Place, Heap | None] = field(default_factory=dict)  # whose field it is; None: a variable
    states: dict[Obj, Cell] = field(default_factory=dict)  # what stands for the state of library objects
    behind: dict[Obj, Container] = field(default_factory=dict)  # objects of classes like `dict`; partials
    sources: dict[Obj, list[Container]] = field(default_factory=dict)  # what else is read through a container
    views: dict[Cell, list[Container]] = field(default_factory=dict)  # variables that keep views of dictionaries
    rewired: dict[Obj, list[Cell]] = field(default_factory=dict)  # functions whose defaults or code are set
    _parts: dict[tuple[Place, object], Part] = field(default_factory=dict)
    _late: dict[Place, bool] = field(default_factory=dict)
    _writers: dict[Place, int] = field(default_factory=dict)
    _containers: dict[Value, tuple[Container, ...]] = field(default_factory=dict)
    _fields: dict[tuple[Value, str], tuple[tuple[Cell, Heap | None], ...]] = field(default_factory=dict)

    def is_late(self, place: Place) -> bool:
        """Whether a place is written after it may have been read."""
        found = self._late.get(place)
        if found is None:
            writes = self.every.get(place)
            found = writes is not None and _may_be_late(place, writes, self.owners.get(place))
            self._late[place] = found
        return found

    def at(self, place: Place) -> Collection[tuple[Frame, int]]:
        """The frames and positions that write a place, where that may be late."""
        return self.every[place] if self.is_late(place) else ()

    def late_views(self, frame: Frame, instr: ir.Load) -> list[Container]:
        """The dictionaries that change late and that a view which an instruction reads shows."""
        shown = (each for cell, _ in cells_read(frame, instr) for each in self.views.get(cell, ()))
        return [each for each in shown if self.is_late(each)]

    def late_wiring(self, value: Value) -> list[Cell]:
        """The defaults and codes of the functions in a value that are set late."""
        called = (o.func if isinstance(o, Bound) else o for o in value)
        return [cell for obj in called if isinstance(obj, Func) for cell in self.rewired.get(obj, ())]

    def late_part(self, whole: Place, key: object) -> Part | None:
        """The entry of a container or of the environment, if it is written late."""
        part = self._parts.get((whole, key))
        if part is None:
            part = self._parts[whole, key] = Part(whole, key)
            found = {each: changes(*each, whole) for each in self.every.get(whole, ())}
            found = {each: some for each, some in found.items() if any(change.concerns(key) for change in some)}
            if not stays(whole, key, (change for some in found.values() for change in some)):
                self.every[part] = dict.fromkeys(found)
            self.owners[part] = self.owners.get(whole)
        return part if self.is_late(part) else None

    def late_containers(self, value: Value) -> tuple[Container, ...]:
        """The containers in a value that change late."""
        found = self._containers.get(value)
        if found is None:
            own = (obj if isinstance(obj, Container) else self.behind.get(obj) for obj in value)
            every = [*own, *(source for obj in value for source in self.sources.get(obj, ()))]
            every += [each for obj in value if isinstance(obj, Wrapper) for each in _bound_in(obj)]
            found = tuple(obj for obj in every if obj is not None and self.is_late(obj))
            self._containers[value] = found
        return found

    def late_cells(self, frame: Frame, instr: ir.Load) -> tuple[tuple[Cell, Heap | None], ...]:
        """The places that an instruction reads and that change late, each with the object whose field it is."""
        if not isinstance(instr, ir.Attr):
            cell = variable(frame, instr) if isinstance(instr, ir.Outer) else None
            return ((cell, None),) if cell is not None and self.is_late(cell) else ()
        key = (frame.vals[instr.owner] or _NO_VALUE, instr.name)
        found = self._fields.get(key)
        if found is None:
            cells = dict.fromkeys([*self.fields(*key), *(self._all_switches() if _is_functional(*key) else ())])
            found = tuple(each for each in cells if self.is_late(each[0]) and not is_variable(each[1], instr.name))
            self._fields[key] = found
        return found

    def fields(self, owners: Value, name: str) -> list[tuple[Cell, Heap | None]]:
        """The places where an attribute of some objects may be; those that the program sets of a library's modules."""
        named = (each for each in owners if isinstance(each, Lib)) if self.states else ()
        set_of = (self.states.get(field_of(each, name)) for each in named)
        return [*fields_named(owners, name), *((cell, None) for cell in set_of if cell is not None)]

    def late_states(self, value: Value) -> list[tuple[Cell, Heap | None]]:
        """What stands for the state of the library objects in a value, as far as it changes late."""
        states = [(self.states[o], o) for o in value if o in self.states and isinstance(o, Heap)]
        return [each for each in states if self.is_late(each[0])]

    def _all_switches(self) -> list[tuple[Cell, Heap | None]]:
        """The switches that the program sets: which layers a functional model consists of is not kept."""
        owned = ((c, o) for c, o in self.owners.items() if isinstance(c, Cell) and isinstance(o, (Inst, LibInst)))
        return [(cell, owner) for cell, owner in owned if owner.fields.get(_SWITCH) is cell]

    def writers(self, place: Place, extents: Extents) -> int:
        """The frames that write a place, as a set."""
        found = self._writers.get(place)
        if found is None:
            found = self._writers[place] = extents.set_of(frame for frame, _ in self.at(place))
        return found


def is_variable(owner: Heap | None, name: str) -> bool:
    """Whether a library keeps a property of an object in a variable, which each call reads: the learning rate."""
    return any(registry.is_assigned(each, name) for each in library_classes(owner)) if owner is not None else False


def library_classes(owner: Heap) -> list[str]:
    """The library classes that an object is an instance of."""
    if isinstance(owner, LibInst):
        return list(registry.class_chain(owner.cls))
    mro = owner.cls.mro if isinstance(owner, Inst) else ()
    return [name for base in mro if isinstance(base, Lib) for name in registry.class_chain(base.name)]


def writes_of(project: ProjectView) -> Writes:
    """The writes of a project, gathered when first asked for."""
    return project.shared("writes", lambda: _gather(project.solution))


def _gather(solution: Solution) -> Writes:
    every: dict[Place, dict[tuple[Frame, int], None]] = {}
    owners: dict[Place, Heap | None] = {}
    states: dict[Obj, Cell] = {}
    behind = _behind(solution)
    for frames in solution.frames.values():
        for frame in frames:
            for effect in frame.effects.values():
                if effect.kind in _CHANGES:
                    for place, owner in _places(frame, effect, states, behind):
                        every.setdefault(place, {})[frame, effect.position] = None
                        owners.setdefault(place, owner)
            for cell, position in _variables(frame):
                every.setdefault(cell, {})[frame, position] = None
                owners.setdefault(cell, None)
    rewired: dict[Obj, list[Cell]] = {}
    for place, owner in owners.items():
        if isinstance(owner, Func) and any(owner.fields.get(name) is place for name in _REWIRED):
            assert isinstance(place, Cell)
            rewired.setdefault(owner, []).append(place)
    return Writes(every, owners, states, behind, _sources(solution), _kept_views(solution), rewired)


def _kept_views(solution: Solution) -> dict[Cell, list[Container]]:
    """The variables and fields that keep a view of a dictionary, with the dictionaries."""
    found: dict[Cell, list[Container]] = {}
    for code, frames in solution.frames.items():
        index = index_of(code)
        if not index.attributes.keys() & VIEWS:
            continue
        for instr in index.of(ir.Assignment):
            made = index.source(instr.value)
            method = index.definitions.get(made.function) if isinstance(made, ir.Call) else None
            if not isinstance(method, ir.Attr) or method.name not in VIEWS:
                continue
            for frame in frames:
                dicts = [o for o in frame.vals[method.owner] or () if isinstance(o, Container)]
                for cell in _written(frame, instr) if dicts else ():
                    found.setdefault(cell, []).extend(dicts)
    return found


def _written(frame: Frame, instr: ir.Assignment) -> list[Cell]:
    """The places that an instruction writes."""
    if isinstance(instr, ir.SetAttr):
        return [cell for cell, _ in fields_named(frame.vals[instr.owner] or _NO_VALUE, instr.name)]
    cell = variable(frame, instr) if isinstance(instr, ir.SetOuter) else None
    return [cell] if cell is not None else []


def _behind(solution: Solution) -> dict[Obj, Container]:
    """The containers behind objects whose classes derive from built-in ones."""
    every = solution.world.allocated.items()
    kinds = ("backing", "keywords")
    return {key[0]: made for key, made in every if key[-1] in kinds and isinstance(made, Container)}


def _sources(solution: Solution) -> dict[Obj, list[Container]]:
    """By container those that it shows besides what is in it."""
    found: dict[Obj, list[Container]] = {}
    for key, source in solution.world.allocated.items():
        if key[-1] == "source" and isinstance(source, Container):
            found.setdefault(key[0], []).append(source)
    return found


def _bound_in(obj: Wrapper) -> list[Container]:
    """The containers that a partial brings to each call: no argument of the call, which may be looked into anew."""
    if obj.kind != "partial":
        return []
    first, named = obj.extra
    values = [*first, *(value for _, value in named)]
    found = [each for value in values for each in held(value, _BOUND, parts) if isinstance(each, Container)]
    return [*found, *(each for inner in obj.inner if isinstance(inner, Wrapper) for each in _bound_in(inner))]


def _variables(frame: Frame) -> list[tuple[Cell, int]]:
    """The variables that a module body, or the function that owns them, writes: no effect is noted of that."""
    code = frame.code
    if code.is_module:
        places: Mapping[str, Cell | None] = frame.module.fields
        op: type[ir.SetOuter] = ir.SetGlobal
    elif code.cells:
        places, op = {name: frame.cells.get(name) for name in code.cells}, ir.SetCell
    else:
        return []
    written = [(places.get(instr.name), instr.position) for instr in index_of(code).of(op)]
    return [(cell, position) for cell, position in written if cell is not None]


def _places(
    frame: Frame, effect: Effect, states: dict[Obj, Cell], behind: dict[Obj, Container]
) -> list[tuple[Place, Heap | None]]:
    target = effect.target
    if isinstance(target, LibInst) and effect.kind in ("mutate", "item"):
        return _states(target, states) if _has_state(target, effect) else []
    if isinstance(target, Inst) and target not in behind and effect.kind in ("mutate", "item"):
        return _states(target, states)
    if effect.detail in SETTING:
        return [(SETTING[effect.detail], None)]
    if isinstance(target, Lib) and effect.kind in ("state", "attribute"):
        return [(field_set(frame, effect, target, states), None)]
    if effect.kind == "state":
        return [(LOGGING, None)] if effect.detail.startswith("logging.") else []
    if effect.kind == "io":
        return [(ENVIRONMENT, None)] if effect.detail.startswith("os.environ") else _files(frame, effect)
    if effect.kind == "closure":
        return [(effect.cell, None)] if effect.cell is not None else []
    if effect.kind == "global":
        cell = frame.module.fields.get(effect.detail)
        return [(cell, None)] if cell is not None else []
    if effect.kind == "attribute" and isinstance(target, Heap):
        if effect.detail == COMPUTED:
            return [(target.rest_cell(), target)]
        cell = target.fields.get(effect.detail)
        if effect.detail == "__dict__" and (
            cell is None or not cell.value
        ):  # several at once, through the dictionary of them
            here = (frame.code, effect.position)
            return [(each, target) for each in target.fields.values() if here in each.writes]
        return [(cell, target)] if cell is not None else []
    if isinstance(target, Container):
        return [(target, target)]
    if isinstance(target, Inst):
        return [(behind[target], target)] if target in behind and effect.kind in ("item", "mutate") else []
    if isinstance(target, Tensor):
        slots = [effect.slot] if effect.slot >= 0 else slots_of(frame, effect.kind, target, effect.position)
        return [each for slot in slots for each in _holders(frame, slot)]
    return []


def _has_state(target: LibInst, effect: Effect) -> bool:
    """Whether Python keeps what an effect changes in a library's object."""
    if not target.cls.startswith(_TENSORS):
        return True
    return effect.detail.rpartition(".")[2] in _REBUILDS and effect.detail.startswith(("keras.", "Sequential."))


def _states(target: Inst | LibInst, states: dict[Obj, Cell]) -> list[tuple[Place, Heap | None]]:
    """What stands for the state of an object, or of those that it is a view of."""
    shown = (
        [o for o in target.fields[SOURCE].value if isinstance(o, (Inst, LibInst))] if SOURCE in target.fields else []
    )
    return [(states.setdefault(each, Cell()), each) for each in shown or [target]]


def _files(frame: Frame, effect: Effect) -> list[tuple[Place, Heap | None]]:
    """What a call writes to a file: by its name, or by the mode in which it opens one."""
    name = effect.detail.rpartition(".")[2]
    call = call_at(frame.code, effect.position)
    modes = (
        [*call.arguments[1:2], *[(slot, False) for key, slot in call.keywords if key == "mode"]]
        if call is not None
        else []
    )
    opens = any(isinstance(o, Lit) and set("wax+") & set(str(o.const)) for s, _ in modes for o in frame.vals[s] or ())
    return [(FILES, None)] if name in _FILE_WRITES or (name == "open" and opens) else []


def _holders(frame: Frame, slot: int) -> list[tuple[Place, Heap | None]]:
    """The variables and fields that hold the array in a slot, as far as the function's own code says."""
    found: list[tuple[Place, Heap | None]] = list(cells_read(frame, definitions(frame.code).get(slot)))
    for instr in index_of(frame.code).flat:
        if isinstance(instr, ir.SetOuter) and instr.value == slot:
            cell = variable(frame, instr)
            found += [(cell, None)] if cell is not None else []
    return list(dict.fromkeys([*found, *others_holding(frame, slot)]))


def cells_read(frame: Frame, instr: Instr | None) -> list[tuple[Cell, Heap | None]]:
    """The heap places that an instruction reads, each with the object whose field it is."""
    if instr is None:
        return []
    match instr:
        case ir.Outer():
            cell = variable(frame, instr)
            return [(cell, None)] if cell is not None else []
        case ir.Attr():
            return fields_named(frame.vals[instr.owner] or frozenset(), instr.name)
    return []


def fields_named(owners: frozenset[Obj], name: str) -> list[tuple[Cell, Heap | None]]:
    """The places where an attribute of some objects may be, each with the object whose field it is (None: a class)."""
    found: list[tuple[Cell, Heap | None]] = []
    for obj in owners:
        if isinstance(obj, Heap) and not isinstance(obj, Container):
            cell = obj.fields.get(name)
            if cell is not None:
                found.append((cell, obj))
            if obj.rest is not None:
                found.append((obj.rest, obj))
            if isinstance(obj, Inst) and (cell is None or not cell.value):
                if _CLASS in obj.fields:
                    found.append((obj.fields[_CLASS], obj))
                for base in obj.cls.mro:
                    shared = base.fields.get(name) if isinstance(base, Heap) else None
                    if shared is not None and isinstance(base, Heap):
                        found.append((shared, base))
        elif isinstance(obj, Wrapper):  # the attributes of a decorated function
            found += fields_named(obj.inner, name)
    return [*found, *_switches(owners)] if name in _SWITCHED else found


def _is_functional(owners: frozenset[Obj], name: str) -> bool:
    """Whether what is read are the variables of a functional model."""
    return name in _SWITCHED and any(isinstance(o, (Inst, LibInst)) and "$outputs" in o.fields for o in owners)


def _switches(owners: frozenset[Obj]) -> list[tuple[Cell, Heap | None]]:
    """The switches `trainable` of some layers, and of all that they hold."""

    def inner(obj: Obj) -> Iterator[Obj]:
        return (o for value in _fields_of(obj) for o in value if isinstance(o, (Inst, LibInst, Container, Tup)))

    starts: list[Obj] = [o for o in owners if isinstance(o, (Inst, LibInst))]
    held = closure(starts, inner, _PARTS)
    return [(o.fields[_SWITCH], o) for o in held if isinstance(o, (Inst, LibInst)) and _SWITCH in o.fields]


def _fields_of(obj: Obj) -> list[Value]:
    """What an object, container or tuple holds."""
    if isinstance(obj, (Inst, LibInst)):
        return [cell.value for cell in obj.fields.values()]
    return parts(obj)


def hides_default(cell: Cell, owner: Heap | None) -> bool:
    """Whether a field of an object or class takes the place of another value that its class or base gives."""
    if isinstance(owner, (Inst, Func)) and (cell is owner.rest or _replaces(cell, owner)):
        return True
    if isinstance(owner, (Inst, LibInst)) and owner.fields.get(_SWITCH) is cell:
        return any(not isinstance(o, Lit) or o.const is not True for o in cell.value)
    if not isinstance(owner, (Inst, Class)):
        return False
    name = name_of(cell, owner)
    for base in owner.cls.mro if isinstance(owner, Inst) else owner.mro[1:]:
        shared = base.fields.get(name) if isinstance(base, Heap) else None
        if shared is not None and shared.value and shared.value != cell.value:
            return True
    return False


def name_of(cell: Cell, owner: Heap) -> Any:
    """The name of a field; None of what is no field of the object."""
    for name, each in owner.fields.items():
        if each is cell:
            return name
    return None


def _replaces(cell: Cell, owner: Heap) -> bool:
    for name in _REPLACED:
        if owner.fields.get(name) is cell:
            return True
    return False


def _may_be_late(place: Place, found: dict[tuple[Frame, int], None], owner: Heap | None) -> bool:
    """Whether the writes are more than one straight write of a module body, or those of constructors."""
    if place in _WORLD or place in GLOBALS or isinstance(owner, LibInst):
        return True
    hides = isinstance(place, Cell) and hides_default(place, owner)
    if hides or (isinstance(place, Cell) and len(place.value) == 1 and isinstance(next(iter(place.value)), Lit)):
        return hides and any(not _is_early(frame, pos, place, owner) for frame, pos in found)
    if isinstance(place, Part) and isinstance(place.whole, Cell):
        return True
    # What stands for the state of an object is no field that anybody writes.
    if isinstance(place, (Container, Part)) or (isinstance(owner, Inst) and not place.writes):
        return any(not _is_early(frame, pos, place, owner) for frame, pos in found)
    plain = {
        (frame.code, pos) for frame, pos in found if frame.code.is_module and pos not in index_of(frame.code).looped
    }
    others = [(frame, pos) for frame, pos in found if (frame.code, pos) not in plain]
    rest = any(not _is_early(frame, pos, place, owner) for frame, pos in others)
    # The class body, or a constructor that is no code of the project, has given the first value.
    given = owner is not None and isinstance(place, Cell) and not place.writes.keys() <= plain
    given = given or (isinstance(place, LibraryField) and place.given)
    return rest or len(plain) > 1 or (bool(plain) and (bool(others) or given))


def _is_early(frame: Frame, pos: int, place: Place, owner: Heap | None) -> bool:
    return makes(frame, place, owner) or guarded(frame, pos) or _is_parameter(frame, pos)


def makes(frame: Frame, place: Place, owner: Heap | None) -> bool:
    """Whether a constructor writes what belongs to the object that it makes: not what a class or module keeps."""
    if frame.code.name not in SETTING_UP:
        return False
    whole = place.whole if isinstance(place, Part) else place
    if isinstance(whole, Container):
        return not whole.site[0].is_body
    return owner is not None and not isinstance(owner, (Class, Mod))


def _is_parameter(frame: Frame, pos: int) -> bool:
    """Whether a write only gives a captured variable its argument: each call has a variable of its own."""
    writes = [instr for instr in index_of(frame.code).at(pos) if isinstance(instr, ir.SetCell)]
    slots = {param.slot for param in frame.code.params}
    return bool(writes) and all(instr.value in slots and instr.name in frame.code.cells for instr in writes)
