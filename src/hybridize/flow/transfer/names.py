"""Steps that read and write names, attributes, items, and make functions, classes and modules."""

from __future__ import annotations

from typing import Any, Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    NONE,
    NONE_V,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    Lit,
    Obj,
    Prim,
    Tensor,
    Unknown,
    Value,
    Wrapper,
    unknown,
    wrapper,
)
from hybridize.domain.session import cached
from hybridize.domain.tensors import NDARRAY
from hybridize.flow.classes import OBJECT
from hybridize.flow.engine import Engine, Handler
from hybridize.flow.frames import Frame
from hybridize.flow.steps import kept, on
from hybridize.flow.windows import window_of
from hybridize.library.protocols import ask
from hybridize.program import ir
from hybridize.program.code import Code
from hybridize.program.index import instructions
from hybridize.program.ir import NO_SLOT, Instr


def _await(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Await) -> None:
    vals[instr.target] = vals[instr.source]


def _global(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Global) -> None:
    dst, name = instr.target, instr.name
    module = frame.module
    code = frame.code
    if code.is_class and frame.namespace is not None:
        own = frame.namespace.fields.get(name)
        if own is not None and own.value:
            vals[dst] = own.value
            return
    cell = module.fields.get(name)
    if cell is not None:
        step = frame.step
        cell.readers[step] = step.runs
        if cell.value:
            vals[dst] = cell.value
            return
    vals[dst] = engine.imports.global_value(frame, name)


def _cell(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Cell) -> None:
    dst, name = instr.target, instr.name
    cell = frame.cells.get(name)
    if cell is None:
        vals[dst] = engine.imports.global_value(frame, name)
        return
    step = frame.step
    cell.readers[step] = step.runs
    vals[dst] = cell.value
    if not cell.value and frame.lenient:
        vals[dst] = unknown(f"variable `{name}`, not bound yet").value


def _annotated(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Annotated) -> None:
    value = vals[instr.source] or BOTTOM
    missing = frozenset([obj for obj in value if isinstance(obj, Unknown)])
    said = engine.hinted(instr.annotation, frame) if missing and engine.hinted is not None else BOTTOM
    # The instances of a class that the program makes are not all: what comes from elsewhere is like them, and unknown.
    known = value if not said or any(isinstance(obj, Inst) for obj in said) else value - missing
    vals[instr.target] = join(known, said)


def _set_global(engine: Engine, frame: Frame, vals: list[Any], instr: ir.SetGlobal) -> None:
    name, src, pos = instr.name, instr.value, instr.position
    engine.cells.write(frame, frame.module.cell(name), vals[src] or BOTTOM, pos)
    if not frame.code.is_module:
        frame.effect("global", frame.module, name, pos)


def _set_cell(engine: Engine, frame: Frame, vals: list[Any], instr: ir.SetCell) -> None:
    name, src, pos = instr.name, instr.value, instr.position
    cell = frame.cells.get(name)
    if cell is not None:
        engine.cells.write(frame, cell, vals[src] or BOTTOM, pos)
        if name not in frame.code.cells:
            frame.effect("closure", None, name, pos).cell = cell


def _set_name(engine: Engine, frame: Frame, vals: list[Any], instr: ir.SetName) -> None:
    name, src, pos = instr.name, instr.value, instr.position
    if frame.namespace is not None:
        value = vals[src] or BOTTOM
        if name in _left_out(frame.code):
            _disown(frame.namespace, value)
            return
        for obj in value:
            if isinstance(obj, Func) and obj.owner is None:
                obj.owner = frame.namespace
        cell = frame.namespace.cell(name)
        # A class body runs once, top to bottom: a later binding of a name replaces the earlier one.
        if cell.value and frame.runs <= 1:
            cell.value = BOTTOM
        engine.cells.write(frame, cell, value, pos)


def _del_name(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelName) -> None:
    """Nothing is left to do: what is always deleted was never set (`_left_out`), what may be stays."""


@cached
def _left_out(code: Code) -> frozenset[str]:
    """The names of a class body that the class does not have in the end: deleted, and not set again."""
    gone: set[str] = set()
    for instr in instructions(code.body):
        if isinstance(instr, ir.SetName):
            gone.discard(instr.name)
        elif isinstance(instr, ir.DelName) and instr in code.body:
            gone.add(instr.name)
    return frozenset(gone)


def _disown(cls: Class, value: Value) -> None:
    """Makes functions no methods of a class that has them under no name."""
    for obj in value:
        if isinstance(obj, Func) and obj.owner is cls and all(obj not in cell.value for cell in cls.fields.values()):
            obj.owner = None


def _del_global(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelGlobal) -> None:
    if not frame.code.is_module:
        frame.effect("global", frame.module, instr.name, instr.position)


def _attr(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Attr) -> None:
    dst, owner, name = instr.target, instr.owner, instr.name
    pos = instr.position
    value = vals[owner]
    vals[dst] = engine.attributes.get_attrs(frame, value, name, pos) if value else missing_value(frame)


def missing_value(frame: Frame) -> Value:
    """What stands for a value that is not there yet: the frame is stuck, or goes on with an unknown one."""
    frame.stuck = True
    return unknown("a value that the analysis never sees").value if frame.lenient else BOTTOM


def _set_attr(engine: Engine, frame: Frame, vals: list[Any], instr: ir.SetAttr) -> None:
    owner, name, src = instr.owner, instr.name, instr.value
    pos = instr.position
    value = vals[src] or BOTTOM
    owners = vals[owner] or BOTTOM
    if owners and all(isinstance(o, (Lit, Prim)) and o is not NONE for o in owners):
        # No number or string has attributes of its own: a member of an enumeration is meant.
        frame.effect("attribute", unknown("a member of an enumeration"), name, pos).slot = owner
    for obj in owners:
        if isinstance(obj, Unknown) or (isinstance(obj, Tensor) and obj.kind == NDARRAY):
            frame.effect("attribute", obj, name, pos).slot = owner
        else:
            engine.attributes.set_attr(frame, obj, name, value, pos)


def _del_cell(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelCell) -> None:
    name, pos = instr.name, instr.position
    frame.effect("closure", None, name, pos).cell = frame.cells.get(name)


def _del_local(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelLocal) -> None:
    ask(engine, frame, vals[instr.value] or BOTTOM, ("__del__",), instr.position)


def _del_attr(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelAttr) -> None:
    owner, name, pos = instr.owner, instr.name, instr.position
    for obj in vals[owner] or BOTTOM:
        engine.attributes.del_attr(frame, obj, name, pos)


def _item(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Item) -> None:
    dst, owner, index = instr.target, instr.source, instr.index
    pos = instr.position
    value, key = vals[owner], vals[index]
    vals[dst] = engine.heap.get_item(frame, value, key, pos) if value and key else missing_value(frame)


def _set_item(engine: Engine, frame: Frame, vals: list[Any], instr: ir.SetItem) -> None:
    owner, index, src = instr.owner, instr.index, instr.value
    pos = instr.position
    key, value = vals[index] or BOTTOM, vals[src] or BOTTOM
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, (Tensor, Unknown)):
            kind = obj.kind if isinstance(obj, Tensor) else "item"
            frame.effect("item", obj, kind, pos).slot = owner
        else:
            engine.heap.set_item(frame, obj, key, value, pos)


def _del_item(engine: Engine, frame: Frame, vals: list[Any], instr: ir.DelItem) -> None:
    owner, index, pos = instr.owner, instr.index, instr.position
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            engine.cells.lose_exactness(obj)
        elif isinstance(obj, Inst):
            method = engine.attributes.find_method(frame, obj, "__delitem__")
            if method:
                engine.calls.call_value(frame, pos, method, [vals[index] or BOTTOM], {}, How.OPERATOR)
                continue
        elif isinstance(obj, Wrapper) and obj.kind == "namespace":  # `del vars(o)["name"]`
            for key in vals[index] or BOTTOM:
                name = str(key.const) if isinstance(key, Lit) else "a computed attribute"
                frame.effect("attribute", obj.extra[0], name, pos)
            continue
        elif isinstance(obj, Lib) and obj.name == "os.environ":
            frame.effect("io", None, obj.name, pos)
            continue
        frame.effect("item", obj, "item", pos).slot = owner


def _slice(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Slice) -> None:
    values = [(vals[p] or BOTTOM) if p != NO_SLOT else NONE_V for p in (instr.lower, instr.upper, instr.step)]
    window = window_of(frame, instr, values)
    vals[instr.target] = wrapper("slice", BOTTOM, *values, *([window] if window else ())).value


def _func(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Func) -> None:
    dst, code, defaults = instr.target, instr.code, instr.defaults
    pos = instr.position
    func = engine.definitions.function_object(frame, code, pos)
    for name, slot in defaults:
        old = func.defaults.get(name)
        new = func.defaults[name] = join(old or BOTTOM, vals[slot] or BOTTOM)
        if old is not None and new is not old:
            engine.definitions.defaults_changed(func)
    vals[dst] = func.value


def _class(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Class) -> None:
    dst, code, bases = instr.target, instr.code, instr.bases
    keywords = {name: slot for name, slot in instr.keywords if name is not None}
    objects: list[Obj] = []
    for slot, _ in bases:
        value = vals[slot] or BOTTOM
        objects.append(min(value, key=_base_order) if value else unknown("a base class"))
    vals[dst] = engine.definitions.class_object(frame, code, objects, keywords, instr.position).value


def _base_order(obj: Obj) -> tuple[int, str]:
    if isinstance(obj, Lib):  # `object` stands in for a library that is not there
        return (2 if obj.name == OBJECT else 1, repr(obj))
    return (0 if isinstance(obj, Class) else 3, repr(obj))


def _import(engine: Engine, frame: Frame, vals: list[Any], instr: ir.Import) -> None:
    dst, name, top = instr.target, instr.name, instr.binds_top
    vals[dst] = engine.imports.import_name(frame, name, top)


def _import_from(engine: Engine, frame: Frame, vals: list[Any], instr: ir.ImportFrom) -> None:
    dst, module, level = instr.target, instr.module, instr.level
    name = instr.name
    vals[dst] = engine.imports.import_from(frame, module, level, name)


def _import_star(engine: Engine, frame: Frame, vals: list[Any], instr: ir.ImportStar) -> None:
    module, level, pos = instr.module, instr.level, instr.position
    engine.imports.import_star(frame, module, level, pos)


STEPS: Final[dict[type[Instr], Handler]] = dict(
    [
        on(ir.Global, _global),
        on(ir.Cell, _cell),
        on(ir.Annotated, _annotated),
        on(ir.SetGlobal, _set_global),
        on(ir.SetCell, _set_cell),
        on(ir.SetName, _set_name),
        on(ir.DelGlobal, _del_global),
        on(ir.DelCell, _del_cell),
        on(ir.DelLocal, _del_local),
        on(ir.DelName, _del_name),
        kept(ir.Attr, _attr),
        kept(ir.SetAttr, _set_attr),
        on(ir.DelAttr, _del_attr),
        kept(ir.Item, _item),
        kept(ir.SetItem, _set_item),
        on(ir.DelItem, _del_item),
        on(ir.Slice, _slice),
        on(ir.Func, _func),
        on(ir.Class, _class),
        on(ir.Import, _import),
        on(ir.ImportFrom, _import_from),
        kept(ir.ImportStar, _import_star),
        on(ir.Await, _await),
    ]
)
