"""Where a value that a call passes comes from: the last steps of the evidence for a parameter."""

from __future__ import annotations

from hybridize.domain.objects import Class, Inst, Lit, Mod, Obj
from hybridize.facts.model import Evidence
from hybridize.facts.origins import call_at, definitions
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of

_STEPS = 12


def argument_slot(caller: Frame, pos: int, index: int, name: str, *, bound: bool) -> int:
    """The slot of the argument for a parameter at a call, or -1 where the call does not show it.

    `generator[i]` calls `__getitem__`, too.
    """
    call = call_at(caller.code, pos)
    if call is None:
        subscripts = (item.index for item in index_of(caller.code).of(ir.Item) if item.position == pos)
        return next(subscripts, -1) if index == 1 else -1
    for keyword, slot in call.keywords:
        if keyword == name:
            return int(slot)
    place = index - 1 if bound else index
    positional = call.arguments
    if 0 <= place < len(positional) and not any(starred for _, starred in positional[: place + 1]):
        return int(positional[place][0])
    return -1


def origin(frame: Frame, slot: int) -> Evidence | None:
    """The statement that made the value in a slot, where that is another line than its use."""
    known = definitions(frame.code)
    for _ in range(_STEPS):
        instr = known.get(slot)
        if instr is None:
            return None
        if isinstance(instr, ir.Copy):
            slot = instr.source
        elif isinstance(instr, ir.Phi):
            if not instr.incoming:
                return None
            slot = instr.incoming[0][1]
        elif isinstance(instr, ir.Attr):
            return _written(frame, instr)
        elif isinstance(instr, ir.Global):
            cell = frame.module.fields.get(instr.name)
            return _first_write(cell.writes if cell is not None else {}, f"`{instr.name}` is set here")
        elif isinstance(instr, (ir.Sequence, ir.Call, ir.Binary, ir.Item, ir.Iter)):
            said = "the value is made here" if not isinstance(instr, ir.Iter) else "the value is an element of this"
            return Evidence(said, frame.code.path, instr.position >> 16)
        else:
            return None
    return None


def _written(frame: Frame, instr: ir.Attr) -> Evidence | None:
    """The place that writes the attribute that is read."""
    for obj in sorted(frame.vals[instr.owner] or (), key=repr):
        found = field_write(obj, instr.name)
        if found is not None:
            return found
    return Evidence("the value is read here", frame.code.path, instr.position >> 16)


def field_write(obj: Obj, name: str) -> Evidence | None:
    """The place that writes a field of an object."""
    if isinstance(obj, (Inst, Mod, Class)):
        cell = obj.fields.get(name)
        if cell is not None and cell.writes:
            return _first_write(cell.writes, f"`{name}` is set here")
    return None


def literal_field(obj: Obj) -> Evidence | None:
    """The place that puts a literal into an object."""
    if isinstance(obj, Inst):
        for name, cell in obj.fields.items():
            if cell.value and all(isinstance(o, Lit) and o.const is not None for o in cell.value):
                return _first_write(cell.writes, f"`{name}` of the object holds a literal")
    return None


def _first_write(writes: dict[tuple[object, int], None], message: str) -> Evidence | None:
    places = sorted((getattr(code, "path", ""), pos >> 16) for code, pos in writes)
    return Evidence(message, *places[0]) if places else None
