"""Which values of a function are symbolic once it is traced: results of operations, and what comes from its arguments.

A function that becomes a graph has its tensor and array arguments replaced by symbolic tensors, and every TensorFlow
operation in its extent gives one. Tensors that existed before (globals, fields, closures) stay concrete. Where a value
came from is a mask of bits: `OPERATION`, `CLOSURE` (captured from an enclosing function: symbolic if that is traced
too), and one bit for each parameter that it may come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hybridize.domain.calls import DIRECT
from hybridize.domain.nesting import field_values, held, taken_apart
from hybridize.domain.objects import (
    Class,
    Container,
    Inst,
    Lib,
    LibInst,
    Lit,
    Mod,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
)
from hybridize.domain.tensors import DENSE, NDARRAY, VARIABLE
from hybridize.domain.unknowns import Why
from hybridize.facts.origins import called_at, definitions, passed_slots
from hybridize.flow.frames import Frame
from hybridize.library.dialect import STATIC_QUESTIONS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import OPERATIONS, Code, Instr
from hybridize.program.operands import arguments, by_operation, hands_on, operands, written

OPERATION: Final = 1
CLOSURE: Final = 2
_PARAMETER: Final = 4
#: Attributes and methods of a tensor that Python knows at trace time.
_STATIC: Final = frozenset(
    "shape dtype name device ndim graph op is_tensor_like get_shape set_shape rank ref experimental_ref".split()
)
_SWEEPS: Final = 6
#: What makes a container.
_MADE: Final = (ir.List, ir.Dict, ir.Set)
_DEPTH: Final = 4


def parameter_bit(index: int) -> int:
    """The bit of a parameter by its place."""
    return _PARAMETER << index


def parameters_of(mask: int) -> list[int]:
    """The parameters named in a mask."""
    return [i for i in range(mask.bit_length() - 2) if mask & parameter_bit(i)]


def holds_tensor(value: Value | None, arrays: bool = True) -> bool:
    """Whether a value is or contains a tensor (with `arrays`, NumPy arrays too)."""
    nested = False
    for obj in value or ():
        if isinstance(obj, Tensor):
            if arrays or obj.kind != NDARRAY:
                return True
        elif isinstance(obj, (Tup, Container, Stream)) or taken_apart(obj) is not None:
            nested = True
    if not nested or not value:
        return False
    return any(isinstance(o, Tensor) and (arrays or o.kind != NDARRAY) for o in held(value, _DEPTH, _contents))


def _may_hold_tensor(value: Value) -> bool:
    """Whether a value is what one of too many functions gave: the project's own, and so most likely tensors."""
    return any(isinstance(o, Unknown) and o.why is Why.SUMMARIZED for o in value)


def _contents(obj: Obj) -> list[Value]:
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container):
        values = [cell.value for cell in obj.fields.values()]
        return [*values, obj.rest.value] if obj.rest is not None else values
    return [obj.element] if isinstance(obj, Stream) else field_values(obj)


def _is_array(obj: Obj) -> bool:
    return isinstance(obj, Tensor) and obj.kind == NDARRAY


def keeps_tensors_out(frame: Frame, made: ir.Copy) -> bool:
    """Whether a test of a value's class lets numbers through, and no tensor: none comes here in a graph, either."""
    if not isinstance(made, ir.Refine):
        return False
    before, kept = frame.vals[made.source] or (), frame.vals[made.target] or ()
    asked = made.kind == "isinstance" and any(isinstance(o, Tensor) and o.kind == DENSE for o in before)
    return asked and bool(kept) and all(isinstance(o, (Lit, Prim)) for o in kept)


def _computes(value: Value | None) -> bool:
    """Whether an operator on a value is a TensorFlow operation: it is a tensor itself, and no array."""
    for obj in value or ():
        if isinstance(obj, Tensor) and obj.kind != NDARRAY:
            return True
    return False


def _makes_tensors(functions: Value) -> bool:
    """Whether a call is one of TensorFlow's functions: what it gives is a new tensor (`tf.nest` passes on what is)."""
    for obj in functions:
        if isinstance(obj, Lib) and obj.name.startswith("tf.") and not obj.name.startswith("tf.nest."):
            return True
    return False


class Symbolic:
    """The masks of the slots of frames, each frame computed when first asked for."""

    def __init__(self) -> None:
        self._masks: dict[Frame, dict[int, int]] = {}
        self._returns: dict[Frame, int] = {}
        self._transfers: dict[Code, tuple[bool, list[tuple[Any, Instr]]]] = {}
        self._stores: dict[Frame, int] = {}
        self._filled: set[Frame] = set()  # that give containers what makes them symbolic, by calls

    def instructions(self, code: Code) -> list[Instr]:
        """All instructions of a code in order, nested ones included."""
        return index_of(code).flat

    def mask(self, frame: Frame, slot: int) -> int:
        """Where the value of a slot came from, whatever kind of value it is."""
        return self._frame(frame).get(slot, 0)

    def symbolic(self, frame: Frame, slot: int) -> int:
        """The mask of a slot that holds tensors, 0 where it holds none or only ones that stay concrete.

        A variable counts wherever it came from: reading it is an operation.
        """
        value = frame.vals[slot] if slot >= 0 else None
        if not value or not (holds_tensor(value) or _may_hold_tensor(value)):
            return 0
        if any(isinstance(o, Tensor) and o.kind == VARIABLE for o in value):
            return OPERATION
        return self.mask(frame, slot)

    def returned(self, frame: Frame) -> int:
        """The mask of what a frame returns, in terms of its own parameters."""
        found = self._returns.get(frame)
        if found is None:
            self._returns[frame] = 0  # of a recursive call
            masks = self._frame(frame)
            found = 0
            for instr in index_of(frame.code).of(ir.Return, ir.Yield):
                found |= masks.get(instr.value, 0)
            self._returns[frame] = found
        return found

    def lift(self, frame: Frame, pos: int, callee: Frame, mask: int) -> int:
        """A mask of a callee's parameters as one of the caller's values, at a call."""
        lifted = mask & OPERATION
        if mask & CLOSURE:
            lifted |= self._captured(frame, callee)
        for index in parameters_of(mask):
            if index >= len(callee.code.params):
                continue
            slots = passed_slots(frame, pos, callee, index)
            if slots is None:
                lifted |= OPERATION
            else:
                masks = self._frame(frame)
                for slot in slots:
                    lifted |= masks.get(slot, 0)
        return lifted

    def _captured(self, frame: Frame, callee: Frame) -> int:
        """What a nested function captures from the caller: symbolic where the caller is the function around it."""
        if callee.code.parent is not frame.code:
            return CLOSURE
        found = 0
        masks = self._frame(frame)
        for instr in index_of(frame.code).of(ir.SetCell):
            if instr.name in callee.code.free:
                found |= masks.get(instr.value, 0)
        for index, param in enumerate(frame.code.params):
            if param.name in callee.code.free:
                found |= parameter_bit(index)
        return found

    def _frame(self, frame: Frame) -> dict[int, int]:
        found = self._masks.get(frame)
        if found is None:
            found = self._masks[frame] = {}
            for i, param in enumerate(frame.code.params):
                found[param.slot] = parameter_bit(i)
            known = self._transfers.get(frame.code)
            if known is None:
                flat = index_of(frame.code).flat
                known = self._transfers[frame.code] = (
                    any(isinstance(instr, _LEADS_BACK) for instr in flat),
                    [(TRANSFER[type(instr)], instr) for instr in flat if type(instr) in TRANSFER],
                )
            leads_back, transfers = known
            for _ in range(_SWEEPS):
                before = sum(found.values())
                for handler, instr in transfers:
                    handler(self, frame, found, instr)
                if sum(found.values()) == before or not (leads_back or frame in self._filled):
                    break
        return found

    # Transfer functions ----------------------------------------------------------------------------------------------

    def _hand_on(self, frame: Frame, masks: dict[int, int], instr: Instr) -> None:
        """What an operation does of which nothing else is said: all that it writes is made of all that it reads."""
        mask = 0
        for slot in operands(instr):
            mask |= masks.get(slot, 0)
        for slot in written(instr) if mask else ():
            _add(masks, slot, mask)

    def _refine(self, frame: Frame, masks: dict[int, int], instr: ir.Refine) -> None:
        """A test for an array keeps none of an argument: what arrives in a graph is a tensor, which goes elsewhere."""
        value = frame.vals[instr.target]
        if instr.kind == "isinstance" and instr.holds and value and all(_is_array(o) for o in value):
            return
        if keeps_tensors_out(frame, instr):
            return
        _add(masks, instr.target, masks.get(instr.source, 0))

    def _cell(self, frame: Frame, masks: dict[int, int], instr: ir.Cell) -> None:
        if instr.name in frame.code.cells:
            found = 0
            for i, param in enumerate(frame.code.params):
                found |= parameter_bit(i) if param.name == instr.name else 0
            for other in index_of(frame.code).of(ir.SetCell):
                if other.name == instr.name:
                    found |= masks.get(other.value, 0)
            _add(masks, instr.target, found)
        else:
            _add(masks, instr.target, CLOSURE)

    def _attribute(self, frame: Frame, masks: dict[int, int], instr: ir.Attr) -> None:
        dst, owner, name = instr.target, instr.owner, instr.name
        if name in _STATIC and not any(isinstance(o, Tup) for o in frame.vals[owner] or ()):
            return
        objects = frame.vals[owner] or ()
        if objects and all(isinstance(o, (Inst, Class, Mod, Lib, LibInst)) for o in objects):
            # A field is as concrete as it was before, unless this very function has stored a tensor in it, or made the
            # object of one. The object's own mask says so: that of `self` counts where a caller has just made it.
            for other in index_of(frame.code).of(ir.SetAttr):
                if other.name == name:
                    _add(masks, dst, masks.get(other.value, 0))
            if not all(isinstance(o, Inst) for o in objects):
                return
        _add(masks, dst, masks.get(owner, 0))

    def _item(self, frame: Frame, masks: dict[int, int], instr: ir.Item) -> None:
        mask = masks.get(instr.source, 0)
        if holds_tensor(frame.vals[instr.source]):
            mask |= masks.get(instr.index, 0)
        if _computes(frame.vals[instr.source]):
            mask |= OPERATION  # a slice of a tensor is an operation, whatever it is a slice of
        _add(masks, instr.target, mask)

    def _two(self, frame: Frame, masks: dict[int, int], instr: ir.TwoSided) -> None:
        mask = masks.get(instr.left, 0) | masks.get(instr.right, 0)
        if _computes(frame.vals[instr.left]) or _computes(frame.vals[instr.right]):
            mask |= OPERATION
        _add(masks, instr.target, mask)

    def _compare(self, frame: Frame, masks: dict[int, int], instr: ir.Compare) -> None:
        if instr.operator not in ("is", "is not"):
            self._two(frame, masks, instr)

    def _unary(self, frame: Frame, masks: dict[int, int], instr: ir.Unary) -> None:
        mask = masks.get(instr.operand, 0)
        _add(masks, instr.target, mask | OPERATION if _computes(frame.vals[instr.operand]) else mask)

    def _dict(self, frame: Frame, masks: dict[int, int], instr: ir.Dict) -> None:
        for _, slot in instr.entries:
            _add(masks, instr.target, masks.get(slot, 0))

    def _fill_up(self, frame: Frame, masks: dict[int, int], instr: ir.Fill) -> None:
        value = instr.value
        if value >= 0:
            _add(masks, instr.owner, masks.get(value, 0))

    def _call(self, frame: Frame, masks: dict[int, int], instr: ir.Call) -> None:
        dst, func, args = instr.target, instr.function, instr.arguments
        kwargs, pos = instr.keywords, instr.position
        callees = called_at(frame, pos, DIRECT)
        given = 0
        functions: Value = frame.vals[func] or frozenset()
        libraries = [o.name for o in functions if isinstance(o, Lib)]
        on_host = bool(libraries) and any(name.startswith("np.") for name in libraries)
        for slot in (*[slot for slot, _ in args], *[slot for _, slot in kwargs]):
            if not on_host or holds_tensor(frame.vals[slot]):  # `np.zeros(shape)` of plain numbers stays an array
                given |= masks.get(slot, 0)
        if not STATIC_QUESTIONS.isdisjoint(libraries):
            return
        if callees:
            self._fill(frame, masks, instr, callees)
            if any(isinstance(o, Class) for o in functions):
                _add(masks, dst, given)  # what an object is made of
            for callee in callees:
                if holds_tensor(callee.ret):
                    _add(masks, dst, self.lift(frame, pos, callee, self.returned(callee)))
            return
        mask = given | masks.get(func, 0)
        if (pos in frame.ops or _makes_tensors(functions)) and holds_tensor(frame.vals[dst], arrays=False):
            mask |= OPERATION
        receiver = self._receiver(frame, func)
        if receiver >= 0 and given and any(isinstance(o, Container) for o in frame.vals[receiver] or ()):
            _add(masks, receiver, given)
            self._filled.add(frame)
        _add(masks, dst, mask)

    def _fill(self, frame: Frame, masks: dict[int, int], instr: ir.Call, callees: list[Frame]) -> None:
        """What functions of the project store in an object or list that this code has got from a call, or has made."""
        given = [self._receiver(frame, instr.function), *arguments(instr)]
        filled = {self._owned(frame, slot) for slot in given if slot >= 0}
        filled.discard(-1)
        for callee in callees if filled else ():
            stored = self.lift(frame, instr.position, callee, self.stored(callee))
            for slot in filled if stored else ():
                _add(masks, slot, stored)
                self._filled.add(frame)

    def stored(self, frame: Frame) -> int:
        """The mask of what a frame and its callees store in objects and containers, in terms of its own parameters."""
        found = self._stores.get(frame)
        if found is None:
            self._stores[frame] = 0  # of a recursive call
            masks, index = self._frame(frame), index_of(frame.code)
            found = 0
            for store in index.of(ir.SetAttr, ir.Fill):
                found |= masks.get(store.value, 0)
            for call in index.of(ir.Call):
                receiver = self._receiver(frame, call.function)
                if receiver >= 0 and any(isinstance(o, Container) for o in frame.vals[receiver] or ()):
                    for slot in arguments(call):
                        found |= masks.get(slot, 0)
                for callee in called_at(frame, call.position, DIRECT):
                    if callee is not frame:
                        found |= self.lift(frame, call.position, callee, self.stored(callee))
            self._stores[frame] = found
        return found

    def _owned(self, frame: Frame, slot: int) -> int:
        """The slot of what the code has made or got from a call, of which a slot holds it or a field; -1 for others."""
        index = index_of(frame.code)
        slot = index.original(slot)
        if not any(isinstance(o, (Inst, Container)) for o in frame.vals[slot] or ()):
            return -1
        for _ in range(_DEPTH):
            made = index.definitions.get(slot)
            if isinstance(made, (ir.Call, *_MADE)):
                return slot
            if not isinstance(made, (ir.Attr, ir.Item)):
                return -1
            slot = index.original(made.owner if isinstance(made, ir.Attr) else made.source)
        return -1

    def _receiver(self, frame: Frame, slot: int) -> int:
        """The slot of a method's receiver, or -1."""
        made = definitions(frame.code).get(slot)
        return made.owner if isinstance(made, ir.Attr) else -1


def _add(masks: dict[int, int], slot: int, mask: int) -> None:
    if mask:
        masks[slot] = masks.get(slot, 0) | mask


_Mask: TypeAlias = "Callable[[Symbolic, Frame, dict[int, int], Any], None]"
_TRANSFER: Final[dict[type[Instr], _Mask]] = {
    ir.Refine: Symbolic._refine,
    ir.Cell: Symbolic._cell,
    ir.Attr: Symbolic._attribute,
    ir.Item: Symbolic._item,
    ir.TwoSided: Symbolic._two,
    ir.Compare: Symbolic._compare,
    ir.Unary: Symbolic._unary,
    ir.Dict: Symbolic._dict,
    ir.Fill: Symbolic._fill_up,
    ir.Call: Symbolic._call,
}


#: Of each operation that may bring something symbolic into a slot, how.
TRANSFER: Final = {**dict.fromkeys(filter(hands_on, OPERATIONS), Symbolic._hand_on), **by_operation(_TRANSFER)}
#: What may bring something into a slot that is read before: another sweep has to follow.
_LEADS_BACK: Final = (ir.Loop, ir.SetCell, ir.SetAttr, ir.Fill)
