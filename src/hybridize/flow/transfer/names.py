"""Steps that read and write names, attributes, items, and make functions, classes and modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from hybridize.domain.tensors import NDARRAY
from hybridize.flow import steps
from hybridize.flow.classes import OBJECT
from hybridize.flow.frames import Frame
from hybridize.flow.steps import Handler, kept
from hybridize.flow.windows import window_of
from hybridize.library.protocols import ask
from hybridize.program.ir import NO_SLOT, Instr, Op

if TYPE_CHECKING:
    from hybridize.flow.engine import Engine


def _copy(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    vals[instr[1]] = vals[instr[2]]


def _global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, _ = instr
    module = frame.module
    code = frame.code
    if code.kind == "class" and frame.namespace is not None:
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
    vals[dst] = engine.global_value(frame, name)


def _cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, _ = instr
    cell = frame.cells.get(name)
    if cell is None:
        vals[dst] = engine.global_value(frame, name)
        return
    step = frame.step
    cell.readers[step] = step.runs
    vals[dst] = cell.value
    if not cell.value and frame.lenient:
        vals[dst] = unknown(f"variable `{name}`, not bound yet").value


def _set_global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    engine.write(frame, frame.module.cell(name), vals[src] or BOTTOM, pos)
    if frame.code.kind != "module":
        frame.effect("global", frame.module, name, pos)


def _set_cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    cell = frame.cells.get(name)
    if cell is not None:
        engine.write(frame, cell, vals[src] or BOTTOM, pos)
        if name not in frame.code.cells:
            frame.effect("closure", None, name, pos).cell = cell


def _set_name(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, src, pos = instr
    if frame.namespace is not None:
        value = vals[src] or BOTTOM
        for obj in value:
            if isinstance(obj, Func) and obj.owner is None:
                obj.owner = frame.namespace
        cell = frame.namespace.cell(name)
        # A class body runs once, top to bottom: a later binding of a name replaces the earlier one.
        if cell.value and frame.runs <= 1:
            cell.value = BOTTOM
        engine.write(frame, cell, value, pos)


def _del_global(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    if frame.code.kind != "module":
        frame.effect("global", frame.module, instr[2], instr[3])


def _attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, owner, name, pos = instr
    value = vals[owner]
    vals[dst] = engine.get_attrs(frame, value, name, pos) if value else missing_value(frame)


def missing_value(frame: Frame) -> Value:
    """What stands for a value that is not there yet: the frame is stuck, or goes on with an unknown one."""
    frame.stuck = True
    return unknown("a value that the analysis never sees").value if frame.lenient else BOTTOM


def _set_attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, name, src, pos = instr
    value = vals[src] or BOTTOM
    owners = vals[owner] or BOTTOM
    if owners and all(isinstance(o, (Lit, Prim)) and o is not NONE for o in owners):
        # No number or string has attributes of its own: a member of an enumeration is meant.
        frame.effect("attribute", unknown("a member of an enumeration"), name, pos).slot = owner
    for obj in owners:
        if isinstance(obj, Unknown) or (isinstance(obj, Tensor) and obj.kind == NDARRAY):
            frame.effect("attribute", obj, name, pos).slot = owner
        else:
            engine.set_attr(frame, obj, name, value, pos)


def _del_cell(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, name, pos = instr
    frame.effect("closure", None, name, pos).cell = frame.cells.get(name)


def _del_local(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    ask(engine, frame, vals[instr[2]] or BOTTOM, ("__del__",), instr[3])


def _del_attr(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, name, pos = instr
    for obj in vals[owner] or BOTTOM:
        engine.del_attr(frame, obj, name, pos)


def _item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, owner, index, pos = instr
    value, key = vals[owner], vals[index]
    vals[dst] = engine.get_item(frame, value, key, pos) if value and key else missing_value(frame)


def _set_item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, index, src, pos = instr
    key, value = vals[index] or BOTTOM, vals[src] or BOTTOM
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, (Tensor, Unknown)):
            kind = obj.kind if isinstance(obj, Tensor) else "item"
            frame.effect("item", obj, kind, pos).slot = owner
        else:
            engine.set_item(frame, obj, key, value, pos)


def _del_item(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, owner, index, pos = instr
    for obj in vals[owner] or BOTTOM:
        if isinstance(obj, Container):
            engine.lose_exactness(obj)
        elif isinstance(obj, Inst):
            method = engine.find_method(frame, obj, "__delitem__")
            if method:
                engine.call_value(frame, pos, method, [vals[index] or BOTTOM], {}, "operator")
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


def _slice(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, *parts, _ = instr
    values = [(vals[p] or BOTTOM) if p != NO_SLOT else NONE_V for p in parts]
    window = window_of(frame, instr, values)
    vals[dst] = wrapper("slice", BOTTOM, *values, *([window] if window else ())).value


def _func(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, code, defaults, pos = instr
    func = engine.function_object(frame, code, pos)
    for name, slot in defaults:
        old = func.defaults.get(name)
        new = func.defaults[name] = join(old or BOTTOM, vals[slot] or BOTTOM)
        if old is not None and new is not old:
            engine.defaults_changed(func)
    vals[dst] = func.value


def _class(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, code, bases, keywords, pos = instr
    objects: list[Obj] = []
    for slot, _ in bases:
        value = vals[slot] or BOTTOM
        objects.append(min(value, key=_base_order) if value else unknown("a base class"))
    vals[dst] = engine.class_object(frame, code, objects, dict(keywords), pos).value


def _base_order(obj: Obj) -> tuple[int, str]:
    if isinstance(obj, Lib):  # `object` stands in for a library that is not there
        return (2 if obj.name == OBJECT else 1, repr(obj))
    return (0 if isinstance(obj, Class) else 3, repr(obj))


def _import(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, name, top, _ = instr
    vals[dst] = engine.import_name(frame, name, top)


def _import_from(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, dst, module, level, name, _ = instr
    vals[dst] = engine.import_from(frame, module, level, name)


def _import_star(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    _, _, module, level, pos = instr
    engine.import_star(frame, module, level, pos)


def _dynamic(engine: Engine, frame: Frame, vals: list[Any], instr: Instr) -> None:
    frame.effect("unknown_call", None, instr[2], instr[-1])


STEPS: Final[dict[Op, Handler]] = {
    Op.COPY: _copy,
    Op.GLOBAL: _global,
    Op.CELL: _cell,
    Op.SET_GLOBAL: _set_global,
    Op.SET_CELL: _set_cell,
    Op.SET_NAME: _set_name,
    Op.DEL_GLOBAL: _del_global,
    Op.DEL_CELL: _del_cell,
    Op.DEL_LOCAL: _del_local,
    Op.ATTR: kept(_attr, steps.second),
    Op.SET_ATTR: kept(_set_attr, steps.changed_attribute, assigns=False),
    Op.DEL_ATTR: _del_attr,
    Op.ITEM: kept(_item, steps.two),
    Op.SET_ITEM: kept(_set_item, steps.changed_item, assigns=False),
    Op.DEL_ITEM: _del_item,
    Op.SLICE: _slice,
    Op.FUNC: _func,
    Op.CLASS: _class,
    Op.IMPORT: _import,
    Op.IMPORT_FROM: _import_from,
    Op.IMPORT_STAR: kept(_import_star, steps.none, assigns=False),
    Op.AWAIT: _copy,
    Op.DYNAMIC: _dynamic,
}
