"""What rules about values ask of a frame: a tensor itself or inside something, numbers made from tensors, uses."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hybridize.closure import closure
from hybridize.domain.calls import DIRECT
from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOTTOM,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    LibInst,
    Lit,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
)
from hybridize.domain.tensors import NDARRAY, SYMBOLIC
from hybridize.domain.words import COMPARISONS
from hybridize.facts.origins import called_at, passed_slots
from hybridize.facts.symbolic import keeps_tensors_out, parameter_bit
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments
from hybridize.tracing.control import control
from hybridize.tracing.views import FrameView

_NUMBERS: Final = frozenset({"builtins.int", "builtins.float"})
_ARITHMETIC: Final = frozenset({"builtins.abs", "builtins.min", "builtins.max", "builtins.sum", "builtins.round"})
_DEPTH: Final = 12


def own(view: FrameView, slot: int, *, arrays: bool = True, certain: bool = True) -> int:
    """The mask of a slot that holds a tensor itself (with `arrays`, an array too), not only inside a container.

    Where it may be something else as well, calls were merged, and only one kind of them may come this way: with
    `certain` that is no tensor.
    """
    value = view.value(slot)
    if not has_tensor(value, arrays=arrays) or is_dim(value):
        return 0
    if certain and any(isinstance(o, _OTHERS) for o in value):
        return 0
    made = view.definition(slot)
    if isinstance(made, ir.Refine) and made.kind == "isinstance" and not has_tensor(value, arrays=False):
        return 0  # a test of its class kept an array here: the tensor that it becomes goes another way
    if isinstance(made, (ir.Item, ir.Unpack)) and _dims(value) and _is_shape(view, made.source):
        return 0
    return view.symbolic(slot)


def _dims(value: Value) -> bool:
    return all(o.shape == () and o.dtype in ("int32", "int64") for o in value if isinstance(o, Tensor))


def _is_shape(view: FrameView, slot: int) -> bool:
    """Whether a list is a shape as helpers give it: dims that are known while tracing are Python ints in it."""
    value = view.value(slot)
    if any(isinstance(o, Tensor) for o in value):
        return False
    made = view.definition(slot)
    given = isinstance(made, ir.Call) and bool(view.callees(made.position))
    return given or is_dim(elements(value))


def is_dim(value: Value) -> bool:
    """Whether a value is a dim as helpers give it: a Python int where it is known while tracing, else a tensor."""
    return any(isinstance(o, (Lit, Prim)) and o.kind == "int" for o in value) and all(
        o.shape == () and o.dtype in ("int32", "int64", None) for o in value if isinstance(o, Tensor)
    )


def elements(value: Value) -> Value:
    """What going through the sequences and streams of a value gives; nothing for dicts, which give their keys."""
    found = BOTTOM
    for obj in value:
        if isinstance(obj, Tup):
            for item in obj.items:
                found = join(found, item)
        elif isinstance(obj, Container) and not obj.kind.endswith(("dict", "Dict", "Counter")):
            for cell in obj.fields.values():
                found = join(found, cell.value)
            if obj.rest is not None:
                found = join(found, obj.rest.value)
        elif isinstance(obj, Stream):
            found = join(found, obj.element)
    return found


def has_tensor(value: Value, *, arrays: bool = True) -> bool:
    """Whether a value may be a tensor itself."""
    for obj in value:
        if isinstance(obj, Tensor) and obj.kind != SYMBOLIC and (arrays or obj.kind != NDARRAY):
            return True
    return False


def number(view: FrameView, slot: int) -> int:
    """What must be symbolic for a Python number to be a tensor: it was made by `int(t)`, `float(t)` or `range(t)`.

    AutoGraph turns these functions into operations, so that their results are symbolic tensors too.
    """
    if slot < 0:
        return 0
    flow = control(view)
    found = flow.numbers.get(slot)
    if found is None:
        flow.numbers[slot] = 0  # of a number that depends on itself
        may_be = any(isinstance(o, (Prim, Lit)) for o in view.value(slot))
        found = flow.numbers[slot] = _number(view, slot) | flow.tensor(slot) if may_be else 0
    return found


def made_number(view: FrameView, slot: int) -> int:
    """The same of a question for the class: a tensor that comes beside numbers, as an argument, is none anyhow."""
    value = view.value(slot)
    is_given = view.definition(index_of(view.code).original(slot)) is None
    return _number(view, slot) if is_given and has_tensor(value) and not is_dim(value) else number(view, slot)


def _number(view: FrameView, slot: int) -> int:
    """Breadth first, each slot once: what numbers come from is a graph, whose paths are too many to walk."""
    found = 0
    seen = {slot}
    todo = [slot]
    for _ in range(_DEPTH):
        following: list[int] = []
        for each in todo:
            made = view.definition(each)
            if made is None:
                found |= _passed(view, each)
                continue
            if isinstance(made, ir.Call):
                mask, more = _called(view, made)
                found |= mask
            elif isinstance(made, (ir.Iter, ir.Unpack)):
                found |= _taken(view, each, made)
                more = _parts(view, made)
            else:
                more = _parts(view, made)
            for part in more:
                if part not in seen:
                    seen.add(part)
                    following.append(part)
        if not following:
            break
        todo = following
    return found


def _passed(view: FrameView, slot: int) -> int:
    """The mask of a parameter that gets numbers made from tensors; of calls that pass others nothing is left of it."""
    index = view.code.place_of(slot)
    if index < 0:
        return 0
    calls = [(c, pos) for c in view.frame.callers if not c.gone for pos, callee in c.calls if callee is view.frame]
    for caller, pos in calls:
        above = FrameView(view.project, caller)
        if any(number(above, each) for each in passed_slots(caller, pos, view.frame, index) or ()):
            return parameter_bit(index)
    return 0


def _given_back(view: FrameView, made: ir.Call, place: int | None = None) -> int:
    """The mask of the numbers that a function of the project makes of tensors: its result, or one place of a tuple."""
    found = 0
    for callee in called_at(view.frame, made.position, DIRECT):
        if not has_tensor(callee.ret):
            inner = FrameView(view.project, callee)
            for each in index_of(callee.code).of(ir.Return):
                mask = number(inner, each.value) if place is None else _at(inner, each.value, place)
                found |= view.project.symbolic.lift(view.frame, made.position, callee, mask) if mask else 0
    return found


def _at(view: FrameView, slot: int, place: int) -> int:
    """The mask of the number at a place of a tuple or list that is written out, or that a function gives back."""
    made = view.definition(slot)
    if isinstance(made, ir.Sequence):
        return number(view, made.elements[place][0]) if place < len(made.elements) else 0
    return _given_back(view, made, place) if isinstance(made, ir.Call) and not view.names(made.function) else 0


def _taken(view: FrameView, slot: int, made: ir.Iter | ir.Unpack) -> int:
    """The mask of a number that comes out of a list or tuple."""
    if isinstance(made, ir.Iter):
        return inside(view, made.source)
    return _at(view, made.source, made.targets.index(slot)) if slot in made.targets and made.star < 0 else 0


def _parts(view: FrameView, made: Instr) -> list[int]:
    """The slots that a number comes from."""
    if isinstance(made, ir.Copy):
        return [] if keeps_tensors_out(view.frame, made) else [made.source]
    if isinstance(made, ir.Operator) or (isinstance(made, ir.Compare) and made.operator in COMPARISONS):
        return [made.left, made.right]
    if isinstance(made, ir.Unary):
        return [made.operand]
    if isinstance(made, ir.Phi):
        return [slot for _, slot in made.incoming]
    if isinstance(made, ir.Iter):
        ranged = view.definition(made.source)
        if isinstance(ranged, ir.Call) and "builtins.range" in view.names(ranged.function):
            return [ranged.target]
    return []


def _called(view: FrameView, made: ir.Call) -> tuple[int, list[int]]:
    """The mask of what a call makes a number of, and the slots that its result comes from."""
    names = view.names(made.function)
    found = 0
    slots: list[int] = []
    if "builtins.range" in names or any(n in _NUMBERS for n in names):
        slots = list(arguments(made))
        for slot in slots:
            found |= own(view, slot)
    elif any(n in _ARITHMETIC for n in names):
        slots = list(arguments(made))
    elif not names:
        found = _given_back(view, made)
    return found, slots


def tensor_or_number(view: FrameView, slot: int) -> int:
    """The mask of a slot that holds a tensor, an array, or a number made from one."""
    return own(view, slot) or number(view, slot)


def inside(view: FrameView, slot: int, depth: int = 4) -> int:
    """The mask of numbers made from tensors in a slot, or in the displays and comprehensions that it holds.

    Such are `[float(t)]`, `{"a": int(t)}`, `[int(t) for t in ts]`.
    """
    found = number(view, slot)
    made = view.definition(slot)
    if made is None or not depth:
        return found
    parts: list[int] = []
    if isinstance(made, (ir.Sequence, ir.Set)):
        parts = [part for part, _ in made.elements]
    elif isinstance(made, ir.Dict):
        parts = [part for _, part in made.entries]
    if isinstance(made, (ir.List, ir.Set)):
        parts += [each.value for each in index_of(view.code).of(ir.Append) if each.owner == slot]
    for part in parts:
        found |= inside(view, part, depth - 1)
    return found


def argument(call: ir.Call, index: int, name: str = "") -> int:
    """The slot of an argument by position or keyword; -1 where it is not given."""
    if index < len(call.arguments):
        return -1 if any(starred for _, starred in call.arguments[: index + 1]) else call.arguments[index][0]
    return next((slot for key, slot in call.keywords if name and key == name), -1)


def uses(view: FrameView, slot: int) -> list[Instr]:
    """The instructions that use a slot, through the names that it gets."""
    index = index_of(view.code).uses
    return [i for name in names_of(view, slot) for i in index.get(name, ()) if not isinstance(i, ir.Passing)]


def names_of(view: FrameView, slot: int) -> Collection[int]:
    """The slots of the names that a value gets, its own first."""
    index = index_of(view.code).uses
    return tuple(closure([slot], lambda each: [i.target for i in index.get(each, ()) if isinstance(i, ir.Passing)]))


#: What a value that also holds a tensor may be.
_OTHERS: Final = (Container, Tup, Stream, Inst, LibInst, Func, Class, Bound)
#: Calls whose arguments are messages to people.
_MESSAGES: Final = (
    "builtins.print",
    "tf.debugging.",
    "logging.",
    "warnings.",
    "absl.",
    "tf.get_logger",
    "tf.name_scope",
    "tf.device",
)


def is_message(view: FrameView, use: Instr) -> bool:
    """Whether a text goes only to people: an exception, an assertion, a log."""
    if isinstance(use, (ir.Raise, ir.Assert)):
        return True
    if isinstance(use, ir.List):
        used = uses(view, use.target)
        return bool(used) and all(isinstance(each, ir.Call) and is_message(view, each) for each in used)
    if isinstance(use, ir.Format) or (isinstance(use, ir.Binary) and use.operator in ("+", "%")):
        return all(is_message(view, each) for each in uses(view, use.target))
    if not isinstance(use, ir.Call):
        return False
    names = view.names(use.function)
    if "builtins.str.format" in names or "builtins.str" in names:
        return all(is_message(view, each) for each in uses(view, use.target))
    if names and all(n.startswith(_MESSAGES) or n.rpartition(".")[2].endswith(("Error", "Exception")) for n in names):
        return True
    made = uses(view, use.target)
    return bool(made) and all(isinstance(each, ir.Raise) for each in made)
