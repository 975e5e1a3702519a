"""Where a value without identity (an array, an iterator) came from, within one function: own work, or from outside."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from hybridize.domain.calls import ANY, DIRECT, How
from hybridize.domain.objects import (
    BOTTOM,
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
    Prim,
    Tensor,
    Tup,
    Value,
    Wrapper,
)
from hybridize.domain.session import cached, solved
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import APPENDS
from hybridize.flow.frames import Frame
from hybridize.library.dialect import CHOOSING, MAPPING, STRATEGIES
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.index import instructions as instructions  # for those who ask for both
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import arguments

_FRESH: Final = frozenset({ir.Binary, ir.Unary, ir.Compare, ir.Tuple, ir.List, ir.Set, ir.Dict, ir.Format, ir.Slice})
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


_AT_ONCE: Final = ("builtins.", "functools.reduce", "itertools.")
_CALLING: Final = CHOOSING | MAPPING
#: What calls its argument once, as the whole program.
_STARTS: Final = frozenset({"absl.app.run", "tf.compat.v1.app.run", "fire.Fire", "typer.run"})


def call_at(code: Code, position: int) -> ir.Call | None:
    """The first call instruction at a position."""
    return next(iter(calls_at(code, position)), None)


def calls_at(code: Code, position: int) -> tuple[ir.Call, ...]:
    """The call instructions at a position: all calls of a chain `f(x).g(y)` stand at its start."""
    return index_of(code).calls.get(position, ())


def runs_at_once(frame: Frame, position: int) -> bool:
    """Whether a call runs its callbacks, or one of them, while it is evaluated: `map`, `sorted` and the like do."""
    named = (o for i in calls_at(frame.code, position) for o in frame.vals[i.function] or () if isinstance(o, Lib))
    return any(obj.name.startswith(_AT_ONCE) or obj.name in _CALLING for obj in named)


def starts_program(frame: Frame, position: int) -> bool:
    """Whether a call starts the program with the function that it is given: that is called once, and by nobody else."""
    calls = calls_at(frame.code, position)
    return any(isinstance(o, Lib) and o.name in _STARTS for call in calls for o in frame.vals[call.function] or ())


def edges_to(frame: Frame) -> Iterator[tuple[Frame, int, How]]:
    """The calls of a solved frame: caller, position, how."""
    for caller in frame.callers:
        if not caller.gone:
            yield from ((caller, pos, how) for pos, how in _by_callee(caller).get(frame, ()))


def calls_to(frame: Frame, kinds: Collection[How] = ANY) -> Iterator[tuple[Frame, int]]:
    """The calls of a solved frame in one of some ways: caller, position."""
    return ((caller, pos) for caller, pos, how in edges_to(frame) if how in kinds)


def callees_at(frame: Frame, position: int) -> list[tuple[Frame, How]]:
    """The frames that a solved frame calls at a position, and how."""
    return _by_position(frame).get(position) or []


def called_at(frame: Frame, position: int, kinds: Collection[How] = ANY) -> list[Frame]:
    """The frames that a solved frame calls at a position in one of some ways."""
    return [callee for callee, how in callees_at(frame, position) if how in kinds]


def calls_of(frame: Frame, kinds: Collection[How]) -> list[tuple[int, Frame]]:
    """What a frame calls in one of some ways: position, callee."""
    return [call for call, how in frame.calls.items() if how in kinds]


@solved
def _by_position(frame: Frame) -> dict[int, list[tuple[Frame, How]]]:
    """What a frame calls, by position."""
    found: dict[int, list[tuple[Frame, How]]] = {}
    for (pos, callee), how in frame.calls.items():
        found.setdefault(pos, []).append((callee, how))
    return found


@solved
def _by_callee(frame: Frame) -> dict[Frame, list[tuple[int, How]]]:
    """What a frame calls, by what is called."""
    found: dict[Frame, list[tuple[int, How]]] = {}
    for (pos, callee), how in frame.calls.items():
        found.setdefault(callee, []).append((pos, how))
    return found


def variable(frame: Frame, instr: ir.Outer | ir.SetOuter) -> Cell | None:
    """The variable that an instruction reads or assigns, of the module or captured."""
    return (frame.module.fields if isinstance(instr, (ir.Global, ir.SetGlobal)) else frame.cells).get(instr.name)


def slots_of(frame: Frame, kind: str, target: Obj, position: int) -> list[int]:
    """The slots that hold what an effect at a position changes; none where no operand there holds it."""
    found: list[int] = []
    for instr in index_of(frame.code).at(position):
        if isinstance(instr, ir.Call):
            found += _operands(frame, kind, target, instr)
        elif isinstance(instr, (ir.Iter, ir.Unpack, ir.YieldFrom, ir.Enter)):
            found.append(instr.source)
        elif isinstance(instr, (ir.Sequence, ir.Set)):
            found += [slot for slot, starred in instr.elements if starred]
        elif isinstance(instr, ir.TwoSided):
            found += [instr.left, instr.right]
        elif isinstance(instr, ir.SetItem):
            found += [instr.value]
    return [slot for slot in found if slot >= 0 and target in (frame.vals[slot] or ())]


def _operands(frame: Frame, kind: str, target: Obj, instr: ir.Call) -> list[int]:
    """What a call changes: its receiver, else its `out` argument, else the first that fits; iterators: any of them."""
    func = definitions(frame.code).get(instr.function)
    receiver = [func.owner] if isinstance(func, ir.Attr) else []
    if any(target in (frame.vals[slot] or ()) for slot in receiver):
        return receiver
    named = dict(instr.keywords)
    if kind != "iterator" and "out" in named:
        return [named["out"]]
    given = ((put_in(frame, slot) if starred else None) or [slot] for slot, starred in instr.arguments)
    every = [slot for some in given for slot in some] + list(named.values())
    fitting = [slot for slot in every if target in (frame.vals[slot] or ())]
    return fitting if kind == "iterator" else fitting[:1]


def put_in(frame: Frame, slot: int) -> list[int] | None:
    """What a list or tuple gets that the code itself makes, at once and later; None of what it does not make."""
    index = index_of(frame.code)
    made = index.source(slot)
    if not isinstance(made, ir.Sequence):
        return None
    put = [*made.elements, *((use.value, False) for use in index.of(ir.Append, ir.SetItem) if _is(index, use, made))]
    for name in APPENDS:
        methods = {each.target for each in index.attributes.get(name, ()) if _is(index, each, made)}
        calls = (use for target in methods for use in index.uses.get(target, ()) if isinstance(use, ir.Call))
        put += [(call.arguments[-1][0], name == "extend") for call in calls if call.arguments]
    found: list[int] = []
    for part, several in put:
        inner = index.source(part) if several else None
        found += [part] if not isinstance(inner, ir.Sequence) else [each for each, _ in inner.elements]
    return found


def _is(index: Index, user: ir.Append | ir.SetItem | ir.Attr, made: ir.Sequence) -> bool:
    return index.original(user.owner) == made.target


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
    if instr is None or type(instr) in _FRESH:
        return
    if isinstance(instr, ir.Global):
        if not code.is_module:
            found.add(None)
    elif isinstance(instr, ir.Cell):
        if instr.name in code.free:
            found.add(frame.cells.get(instr.name))
        else:
            _trace_cell(frame, instr.name, seen, found)
    elif isinstance(instr, ir.Phi):
        for _, source in instr.incoming:
            _trace(frame, source, seen, found)
    elif isinstance(instr, ir.Item) and _is_gathered(frame, instr):
        return
    elif isinstance(instr, ir.Part):
        put = put_in(frame, instr.source)
        for part in [instr.source] if put is None else put:
            _trace(frame, part, seen, found)
    elif isinstance(instr, (ir.Copy, ir.Enter)):
        _trace(frame, instr.source, seen, found)
    elif isinstance(instr, ir.Inplace):
        _trace(frame, instr.left, seen, found)
    elif isinstance(instr, ir.Attr):
        _trace_field(frame, instr, seen, found)
    elif isinstance(instr, ir.Call):
        _trace_result(frame, instr, seen, found)


def _is_gathered(frame: Frame, instr: ir.Item) -> bool:
    """Whether an element is one of arrays by a list or an array of indices, or a mask: NumPy copies what it gathers."""
    owner, index = frame.vals[instr.source] or (), frame.vals[instr.index] or ()
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
    for instr in index_of(frame.code).of(ir.SetCell):
        if instr.name == name:
            _trace(frame, instr.value, seen, found)


def cell_roots(frame: Frame, cell: Cell) -> frozenset[Root]:
    """What a captured variable holds that existed before the frame that owns it; the variable itself for another's."""
    found: set[Root] = set()
    owned = [name for name in frame.code.cells if frame.cells.get(name) is cell]
    if not owned:
        return frozenset((cell,))
    for name in owned:
        _trace_cell(frame, name, set(), found)
    return frozenset(found)


def _trace_field(frame: Frame, instr: ir.Attr, seen: set[tuple[int, int]], found: set[Root]) -> None:
    if instr.name in VIEWS:
        _trace(frame, instr.owner, seen, found)
        return
    heap = [o for o in frame.vals[instr.owner] or () if isinstance(o, Heap)]
    found.update(o for o in heap if o.frame != frame.uid)
    if not heap:
        _trace(frame, instr.owner, seen, found)


def _trace_result(frame: Frame, instr: ir.Call, seen: set[tuple[int, int]], found: set[Root]) -> None:
    """A view of an outer array is outer, and so is what a function hands out; results of library code are fresh."""
    pos = instr.position
    for callee in called_at(frame, pos, DIRECT):
        if callee.code.is_generator or callee is frame:
            continue
        inner: set[Root] = set()
        for each in index_of(callee.code).of(ir.Return):
            if each.value >= 0:
                _trace(callee, each.value, seen, inner)
        for root in inner:
            if not isinstance(root, int):
                found.add(root)
                continue
            slots = passed_slots(frame, pos, callee, root)
            if slots is None:
                found.add(None)
            for slot in slots or ():
                _trace(frame, slot, seen, found)
    func = definitions(frame.code).get(instr.function)
    if not isinstance(func, (ir.Attr, ir.Global)):
        return
    name = func.name
    if name not in VIEWS:
        return
    if isinstance(func, ir.Attr) and not _is_module(frame, func.owner):
        _trace(frame, func.owner, seen, found)
    else:
        for slot, _ in instr.arguments[:1]:
            if name == "iter" or not _is_copied(frame, slot):
                _trace(frame, slot, seen, found)


def _is_copied(frame: Frame, slot: int) -> bool:
    """Whether NumPy makes a new array of what a slot holds: of lists, tuples and numbers."""
    value = frame.vals[slot]
    lists = ("list", "tuple", "dict", "set")
    return bool(value) and all(
        isinstance(o, (Lit, Prim, Tup)) or (isinstance(o, Container) and o.kind in lists) for o in value
    )


@solved
def passed_slots(frame: Frame, pos: int, callee: Frame, index: int) -> list[int] | None:
    """The slots that a call passes for a parameter; None where that cannot be told. The list is not to be changed."""
    calls = calls_at(frame.code, pos)
    if not calls:
        return None
    chain = (i for i in calls if _called_as(frame.vals[i.function] or BOTTOM, callee.code) in (_BOUND, _ITSELF))
    instr = next(chain, calls[0]) if len(calls) > 1 else calls[0]
    for _, starred in instr.arguments:
        if starred:
            return None
    func: Value = frame.vals[instr.function] or BOTTOM
    called_as = _called_as(func, callee.code)
    param = callee.code.params[index]
    read = _property_read(frame, pos, callee, index) if called_as == _CLASS else None
    named = None
    for name, slot in instr.keywords:
        if name is None:
            return None
        if name == param.name and named is None:
            named = [slot]
    if read is not None or named is not None:
        return read if read is not None else named
    offset = 0
    if called_as == _CLASS:
        offset = 1
    elif called_as == _BOUND:
        offset = 1
        if index == 0:
            made = definitions(frame.code).get(instr.function)
            return [_own_of_super(frame, made.owner)] if isinstance(made, ir.Attr) else None
    elif called_as == _GRAPH and index == 0:
        return _receiver_of_graph(frame, instr, func)
    elif any(name.startswith(STRATEGIES) for name in owners(func)):  # `run` of one
        return _given_to_replicas(frame, instr, callee, index)
    elif called_as != _ITSELF:
        # An object that is called is the receiver itself; what a layer is given may be made a tensor on the way.
        called = index == 0 and bool(callee.args) and all(isinstance(o, Inst) and o in callee.args[0] for o in func)
        return [instr.function] if called and func else None
    if index < offset:
        return []
    if param.is_starred:
        return arguments(instr)
    return [instr.arguments[index - offset][0]] if index - offset < len(instr.arguments) else None


def _own_of_super(frame: Frame, slot: int) -> int:
    """The slot of the object that `super()` stands for, where that is what a slot holds."""
    made = index_of(frame.code).source(slot)
    if not isinstance(made, ir.Call) or not any(
        isinstance(o, Lib) and o.name == "builtins.super" for o in frame.vals[made.function] or ()
    ):
        return slot
    if len(made.arguments) > 1:
        return made.arguments[1][0]
    return frame.code.params[0].slot if not made.arguments and frame.code.params else slot


def owners(value: Value) -> list[str]:
    """The library classes of the objects whose methods a value may be."""
    receivers = (obj.receiver for obj in value if isinstance(obj, Bound))
    return [obj.cls for obj in receivers if isinstance(obj, LibInst)]


def _given_to_replicas(frame: Frame, instr: ir.Call, callee: Frame, index: int) -> list[int] | None:
    """What `strategy.run(f, args=(a, b))` passes to `f`: an object bound to it, and the parts of the tuple."""
    named = dict(instr.keywords)
    slots = [slot for slot, _ in instr.arguments]
    function, args = (slots[i] if i < len(slots) else named.get(n, -1) for i, n in enumerate(("fn", "args")))
    known = index_of(frame.code)
    if function < 0 or args < 0:
        return None
    bound = _called_as(frame.vals[function] or BOTTOM, callee.code) == _BOUND
    if bound and index == 0:
        made = known.source(function)
        return [made.owner] if isinstance(made, ir.Attr) else None
    given = known.source(args)
    if not isinstance(given, ir.Sequence) or any(starred for _, starred in given.elements):
        return None
    return [slot for slot, _ in given.elements][index - bound : index - bound + 1] or None


def _property_read(frame: Frame, pos: int, callee: Frame, index: int) -> list[int] | None:
    """The receiver of a property that is read where a class is called, as in `Reading(x).level`; None for a call."""
    if callee.code.name in ("__init__", "__new__", "__call__") or index:
        return None
    reads = [i for i in index_of(frame.code).at(pos) if isinstance(i, ir.Attr) and i.name == callee.code.name]
    return [i.owner for i in reads] or None


_CLASS: Final = "class"
_BOUND: Final = "bound"
_ITSELF: Final = "itself"
_GRAPH: Final = "graph"


@cached
def _called_as(func: Value, code: Code) -> str:
    """What of a callee runs a function: a class, the function bound or itself; empty for anything else."""
    if any(isinstance(o, Class) for o in func):
        return _CLASS
    if any(isinstance(o, Bound) and isinstance(o.func, Func) and o.func.code is code for o in func):
        return _BOUND
    if any(isinstance(o, Bound) and _makes_graph(o.func, code) for o in func):
        return _GRAPH
    return _ITSELF if any(isinstance(o, Func) and o.code is code for o in func) else ""


def _makes_graph(wrapper: Obj | str, code: Code) -> bool:
    """Whether it is the hybrid function that a decorator has made of a method."""
    if not isinstance(wrapper, Wrapper) or wrapper.kind != "hybrid":
        return False
    return any(isinstance(o, Func) and o.code is code for o in wrapper.inner)


def _receiver_of_graph(frame: Frame, instr: ir.Call, func: Value) -> list[int] | None:
    """The receiver of a hybrid method, which it gets as it is; of its other arguments it makes tensors on the way."""
    made = definitions(frame.code).get(instr.function)
    if not isinstance(made, ir.Attr):
        return None
    owners = frame.vals[made.owner] or BOTTOM
    return [made.owner] if all(isinstance(o, Bound) and o.receiver in owners for o in func) else None


def _is_module(frame: Frame, slot: int) -> bool:
    return any(isinstance(o, (Lib, Mod)) for o in frame.vals[slot] or ())
