"""Where a value without identity (an array, an iterator) came from, within one function: own work, or from outside."""

from __future__ import annotations

from typing import Final, TypeAlias

from hybridize.domain.objects import (
    Bound,
    Cell,
    Class,
    Container,
    Func,
    Heap,
    Inst,
    Lib,
    Lit,
    Mod,
    Obj,
    Prim,
    Tensor,
    Tup,
    Value,
)
from hybridize.domain.tensors import NDARRAY
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.index import instructions as instructions  # for those who ask for both
from hybridize.program.ir import Code, Instr, Op

_callees: dict[Frame, dict[int, list[tuple[Frame, str]]]] = {}

_FRESH: Final = frozenset({Op.BINARY, Op.UNARY, Op.COMPARE, Op.TUPLE, Op.LIST, Op.SET, Op.DICT, Op.FORMAT, Op.SLICE})
#: Methods and functions whose result may share memory with their receiver or argument.
VIEWS: Final = frozenset(
    {"reshape", "ravel", "view", "T", "transpose", "asarray", "squeeze", "swapaxes", "flat", "iter", "nditer", "split"}
    | {"array_split", "hsplit", "vsplit", "dsplit", "atleast_1d", "atleast_2d", "atleast_3d", "expand_dims", "moveaxis"}
    | {
        "rollaxis",
        "broadcast_to",
        "diagonal",
        "real",
        "imag",
        "flip",
        "flipud",
        "fliplr",
        "rot90",
        "asanyarray",
        "base",
    }
    | {"ascontiguousarray", "frombuffer", "as_strided", "sliding_window_view", "asarray_chkfinite", "base"}
)


def definitions(code: Code) -> dict[int, Instr]:
    """The instruction that defines each slot of a code."""
    return index_of(code).definitions


def reset_origins() -> None:
    """Forgets what was called where in an earlier solution."""
    _callees.clear()


_AT_ONCE: Final = ("builtins.", "functools.reduce", "itertools.")


def call_at(code: Code, position: int) -> Instr | None:
    """The first call instruction at a position."""
    return next(iter(calls_at(code, position)), None)


def calls_at(code: Code, position: int) -> tuple[Instr, ...]:
    """The call instructions at a position: all calls of a chain `f(x).g(y)` stand at its start."""
    return index_of(code).calls.get(position, ())


def runs_at_once(frame: Frame, position: int) -> bool:
    """Whether a call runs its callbacks while it is evaluated, as built-ins like `map` and `sorted` do."""
    for instr in calls_at(frame.code, position):
        for obj in frame.vals[instr[2]] or ():
            if isinstance(obj, Lib) and obj.name.startswith(_AT_ONCE):
                return True
    return False


def callees_at(frame: Frame, position: int) -> list[tuple[Frame, str]]:
    """The frames that a solved frame calls at a position, and how."""
    found = _callees.get(frame)
    if found is None:
        found = _callees[frame] = {}
        for (pos, callee), how in frame.calls.items():
            found.setdefault(pos, []).append((callee, how))
    return found.get(position) or []


def slots_of(frame: Frame, kind: str, target: Obj, position: int) -> list[int]:
    """The slots that hold what an effect at a position changes; none where no operand there holds it."""
    found: list[int] = []
    for instr in index_of(frame.code).at(position):
        op = instr[0]
        if op == Op.CALL:
            found += _operands(frame, kind, target, instr)
        elif op in (Op.ITER, Op.UNPACK, Op.YIELD_FROM, Op.ENTER):
            found.append(instr[2])
        elif op in (Op.TUPLE, Op.LIST, Op.SET):
            found += [slot for slot, starred in instr[2] if starred]
        elif op in (Op.INPLACE, Op.COMPARE, Op.BINARY):
            found += [instr[3], instr[4]]
        elif op == Op.SET_ITEM:
            found += [instr[4]]
    return [slot for slot in found if slot >= 0 and target in (frame.vals[slot] or ())]


def _operands(frame: Frame, kind: str, target: Obj, instr: Instr) -> list[int]:
    """What a call changes: its receiver, else its `out` argument, else the first that fits; iterators: any of them."""
    func = definitions(frame.code).get(instr[2])
    receiver = [func[2]] if func is not None and func[0] == Op.ATTR else []
    if any(target in (frame.vals[slot] or ()) for slot in receiver):
        return receiver
    named = dict(instr[4])
    if kind != "iterator" and "out" in named:
        return [named["out"]]
    every = [slot for slot, _ in instr[3]] + list(named.values())
    fitting = [slot for slot in every if target in (frame.vals[slot] or ())]
    return fitting if kind == "iterator" else fitting[:1]


#: Where a value came from: a parameter's index, the object whose field held it, the captured variable; None: elsewhere.
Root: TypeAlias = "int | Heap | Cell | None"
ELSEWHERE: Final[frozenset[Root]] = frozenset((None,))


def roots(frame: Frame, slot: int) -> frozenset[Root]:
    """What existed before the frame ran and the value in a slot came from; empty where the frame made it."""
    found: set[Root] = set()
    _trace(frame, slot, set(), found)
    return frozenset(found)


def _trace(frame: Frame, slot: int, seen: set[tuple[int, int]], found: set[Root]) -> None:
    if (frame.uid, slot) in seen or len(seen) > 400:
        return
    seen.add((frame.uid, slot))
    code = frame.code
    for i, param in enumerate(code.params):
        if param.slot == slot:
            found.add(i)
            return
    instr = definitions(code).get(slot)
    if instr is None or instr[0] in _FRESH:
        return
    op = instr[0]
    if op == Op.GLOBAL:
        if code.kind != "module":
            found.add(None)
    elif op == Op.CELL:
        if instr[2] in code.free:
            found.add(frame.cells.get(instr[2]))
        else:
            _trace_cell(frame, instr[2], seen, found)
    elif op == Op.PHI:
        for _, source in instr[2]:
            _trace(frame, source, seen, found)
    elif op == Op.ITEM and _is_gathered(frame, instr):
        return
    elif op in (Op.ITEM, Op.ITER, Op.UNPACK):
        made = definitions(code).get(instr[2])
        if made is not None and made[0] in (Op.TUPLE, Op.LIST):
            for part, _ in made[2]:
                _trace(frame, part, seen, found)
        else:
            _trace(frame, instr[2], seen, found)
    elif op in (Op.COPY, Op.REFINE, Op.ENTER):
        _trace(frame, instr[2], seen, found)
    elif op == Op.INPLACE:
        _trace(frame, instr[3], seen, found)
    elif op == Op.ATTR:
        _trace_field(frame, instr, seen, found)
    elif op == Op.CALL:
        _trace_result(frame, instr, seen, found)


def _is_gathered(frame: Frame, instr: Instr) -> bool:
    """Whether an element is one of arrays by a list or an array of indices, or a mask: NumPy copies what it gathers."""
    owner, index = frame.vals[instr[2]] or (), frame.vals[instr[3]] or ()
    if not owner or not index or not all(isinstance(o, Tensor) and o.kind == NDARRAY for o in owner):
        return False
    return all(_gathers(o) or (isinstance(o, Tup) and any(map(_all_gather, o.items))) for o in index)


def _all_gather(value: Value) -> bool:
    return bool(value) and all(_gathers(o) for o in value)


def _gathers(obj: Obj) -> bool:
    if isinstance(obj, Tensor):
        return bool(obj.shape)
    return isinstance(obj, Container) and obj.kind == "list"


def _trace_cell(frame: Frame, name: str, seen: set[tuple[int, int]], found: set[Root]) -> None:
    """A captured variable of the frame itself: what its own code puts there."""
    for instr in index_of(frame.code).of(Op.SET_CELL):
        if instr[2] == name:
            _trace(frame, instr[3], seen, found)


def cell_roots(frame: Frame, cell: Cell) -> frozenset[Root]:
    """What a captured variable holds that existed before the frame that owns it; the variable itself for another's."""
    found: set[Root] = set()
    owned = [name for name in frame.code.cells if frame.cells.get(name) is cell]
    if not owned:
        return frozenset((cell,))
    for name in owned:
        _trace_cell(frame, name, set(), found)
    return frozenset(found)


def _trace_field(frame: Frame, instr: Instr, seen: set[tuple[int, int]], found: set[Root]) -> None:
    if instr[3] in VIEWS:
        _trace(frame, instr[2], seen, found)
        return
    heap = [o for o in frame.vals[instr[2]] or () if isinstance(o, Heap)]
    found.update(o for o in heap if o.frame != frame.uid)
    if not heap:
        _trace(frame, instr[2], seen, found)


def _trace_result(frame: Frame, instr: Instr, seen: set[tuple[int, int]], found: set[Root]) -> None:
    """A view of an outer array is outer, and so is what a function hands out; results of library code are fresh."""
    pos = instr[-1]
    for callee, how in callees_at(frame, pos):
        if how not in ("call", "hybrid") or callee.code.is_generator or callee is frame:
            continue
        inner: set[Root] = set()
        for each in index_of(callee.code).of(Op.RETURN):
            if each[2] >= 0:
                _trace(callee, each[2], seen, inner)
        for root in inner:
            if not isinstance(root, int):
                found.add(root)
                continue
            slots = passed_slots(frame, pos, callee, root)
            if slots is None:
                found.add(None)
            for slot in slots or ():
                _trace(frame, slot, seen, found)
    func = definitions(frame.code).get(instr[2])
    if func is None or func[0] not in (Op.ATTR, Op.GLOBAL):
        return
    name = func[3] if func[0] == Op.ATTR else func[2]
    if name not in VIEWS:
        return
    if func[0] == Op.ATTR and not _is_module(frame, func[2]):
        _trace(frame, func[2], seen, found)
    else:
        for slot, _ in instr[3][:1]:
            if name == "iter" or not _is_copied(frame, slot):
                _trace(frame, slot, seen, found)


def _is_copied(frame: Frame, slot: int) -> bool:
    """Whether NumPy makes a new array of what a slot holds: of lists, tuples and numbers."""
    value = frame.vals[slot]
    lists = ("list", "tuple", "dict", "set")
    return bool(value) and all(
        isinstance(o, (Lit, Prim, Tup)) or (isinstance(o, Container) and o.kind in lists) for o in value
    )


def passed_slots(frame: Frame, pos: int, callee: Frame, index: int) -> list[int] | None:
    """The slots that a call passes for a parameter; None where that cannot be told."""
    instr = call_at(frame.code, pos)
    if instr is None or any(starred for _, starred in instr[3]) or any(name is None for name, _ in instr[4]):
        return None
    param = callee.code.params[index]
    read = _property_read(frame, pos, callee, index, instr)
    if read is not None:
        return read
    for name, slot in instr[4]:
        if name == param.name:
            return [slot]
    func = frame.vals[instr[2]] or frozenset()
    offset = 0
    if any(isinstance(o, Class) for o in func):
        offset = 1
    elif any(isinstance(o, Bound) and isinstance(o.func, Func) and o.func.code is callee.code for o in func):
        offset = 1
        if index == 0:
            made = definitions(frame.code).get(instr[2])
            return [made[2]] if made is not None and made[0] == Op.ATTR else None
    elif not any(isinstance(o, Func) and o.code is callee.code for o in func):
        # An object that is called is the receiver itself; what a layer is given may be made a tensor on the way.
        called = index == 0 and bool(callee.args) and all(isinstance(o, Inst) and o in callee.args[0] for o in func)
        return [instr[2]] if called and func else None
    if index < offset:
        return []
    if param.kind in ("varargs", "kwargs"):
        return [slot for slot, _ in instr[3]] + [slot for _, slot in instr[4]]
    return [instr[3][index - offset][0]] if index - offset < len(instr[3]) else None


def _property_read(frame: Frame, pos: int, callee: Frame, index: int, call: Instr) -> list[int] | None:
    """The receiver of a property that is read at the place of a call, as in `Reading(x).level`; None for a call."""
    if callee.code.name in ("__init__", "__new__", "__call__") or index:
        return None
    func = frame.vals[call[2]] or frozenset()
    if not any(isinstance(o, Class) for o in func):
        return None
    reads = [i for i in index_of(frame.code).at(pos) if i[0] == Op.ATTR and i[3] == callee.code.name]
    return [i[2] for i in reads] or None


def _is_module(frame: Frame, slot: int) -> bool:
    return any(isinstance(o, (Lib, Mod)) for o in frame.vals[slot] or ())
