"""What the loop around a call makes longer in each turn: tensors, their sizes, lists. Each call sees another shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from hybridize.domain.objects import NONE, Container, Lib, Lit, Prim, Tensor, Value
from hybridize.domain.session import solved
from hybridize.domain.words import APPENDS
from hybridize.facts.evidence import tells
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.model import Evidence, Told
from hybridize.facts.origins import call_at
from hybridize.flow.frames import Frame
from hybridize.library.dialect import KEEP, LENGTHEN
from hybridize.program import ir
from hybridize.program.index import index_of, instructions
from hybridize.program.ir import NO_SLOT, Instr
from hybridize.program.operands import arguments, joined, operands

#: What an end of a slice is kept within its bounds by.
_BOUNDS: Final = frozenset({"builtins.min", "builtins.max"})
_FAR: Final = 12
#: Through so many calls an argument is followed to where it comes from.
_CALLS: Final = 3
_DEQUE: Final = "collections.deque"
_WHILE: Final = "tf.while_loop"


def is_growing_dim(frame: Frame, slot: int) -> bool:
    """Whether a slot holds `x.shape[i]` of a variable that a loop binds to a longer tensor."""
    index = index_of(frame.code)
    made = index.source(slot)
    if not isinstance(made, ir.Item):
        return False
    shape = index.source(made.source)
    if not isinstance(shape, ir.Attr) or shape.name != "shape":
        return False
    tensor = index.source(shape.owner)
    if not isinstance(tensor, ir.Phi) or not any(tensor is head for loop in index.of(ir.Loop) for head in loop.phis):
        return False
    return any(True for _ in _lengthenings(frame, [slot for _, slot in tensor.incoming]))


@solved  # who calls many functions is asked by each
def grown_argument(caller: Frame, pos: int, slot: int, depth: int = _CALLS) -> Evidence | None:
    """Where a loop around a call makes longer what a slot of the caller passes; None where that is not seen."""
    index = index_of(caller.code)
    loops = index.of(ir.Loop)
    around = [loops[number] for number in index.loops.get(pos, ())]
    todo, seen, stacked = [slot], set[int](), False
    while todo and len(seen) < _FAR:
        slot = index.original(todo.pop())
        if slot in seen:
            continue
        seen.add(slot)
        made = index.definitions.get(slot)
        found = _extended(caller, slot, around)
        if found is None and made is None:
            found = _grown_parameter(caller, slot, depth)
        elif found is None and isinstance(made, ir.Phi):
            if any(made is head for loop in around for head in loop.phis):
                found = _own_growth(caller, [s for _, s in made.incoming], slot)
            todo += [s for _, s in made.incoming]
        elif found is None and isinstance(made, ir.Item):
            moving = _cut(caller, made, around)
            if moving:
                found = tells(Told.PART, caller.code.path, made.position >> 16)
            elif moving is None:
                todo.append(made.source)
        elif found is None and made is not None:
            todo += _same_length(caller, made)
            stacked = stacked or isinstance(made, ir.Call)
        if found is not None:
            listed = stacked and found.told is Told.APPENDED
            return tells(Told.STACKED, found.path, found.line) if listed else found
    return None


def _grown_parameter(frame: Frame, slot: int, depth: int) -> Evidence | None:
    """What callers pass for a parameter, or what a body of `tf.while_loop` hands to its own next turn."""
    place = frame.code.place_of(slot)
    if place < 0 or not depth:
        return None
    for caller, pos in frame.incoming:
        call = call_at(caller.code, pos) if caller is not None and caller is not frame else None
        if caller is None or call is None:
            continue
        if _WHILE in _names(caller, call.function):
            rows = [index_of(frame.code).source(instr.value) for instr in index_of(frame.code).of(ir.Return)]
            nexts = [r.elements[place][0] for r in rows if isinstance(r, ir.Sequence) and len(r.elements) > place]
            found = _own_growth(frame, nexts, slot)
        else:
            bound = len(frame.code.params) > 0 and frame.code.in_class
            given = argument_slot(caller, pos, place, frame.code.params[place].name, bound=bound)
            found = grown_argument(caller, pos, given, depth - 1) if given >= 0 else None
        if found is not None:
            return found
    return None


def _own_growth(frame: Frame, ways: Iterable[int], start: int) -> Evidence | None:
    """Where what a turn gives on is what it got, made longer."""
    for call in _lengthenings(frame, ways):
        parts = arguments(call)
        for display in map(index_of(frame.code).source, tuple(parts)):
            if isinstance(display, ir.Sequence):
                parts += [slot for slot, _ in display.elements]
        if any(_comes_from(frame, part, start) for part in parts):
            return Evidence("a loop makes it longer in each turn", frame.code.path, call.position >> 16)
    return None


def _lengthenings(frame: Frame, ways: Iterable[int]) -> Iterator[ir.Call]:
    """The calls of lengthening operations that slots come from, over joins."""
    for _, made in index_of(frame.code).upstream(ways, joined, _FAR):
        if isinstance(made, ir.Call) and not LENGTHEN.isdisjoint(_names(frame, made.function)):
            yield made


def _comes_from(frame: Frame, slot: int, start: int) -> bool:
    """Whether a slot holds the whole of what was in another, over joins."""
    return any(each == start for each, _ in index_of(frame.code).upstream([slot], joined, _FAR))


def _extended(frame: Frame, slot: int, around: list[ir.Loop]) -> Evidence | None:
    """Where a loop appends to the list in a slot."""
    if not around or not any(isinstance(o, Container) for o in frame.vals[slot] or ()):
        return None
    index = index_of(frame.code)
    # A list that each turn makes anew begins empty again, and so does one that some turns empty.
    begun = [*_beginnings(frame, slot)]
    if any(_is_bounded(frame, each) for each in begun) or _is_emptied(frame, slot):
        return None
    lasting = [places for places in map(_positions, around) if not any(each.position in places for each in begun)]
    for name in APPENDS & index.attributes.keys():
        for instr in index.attributes[name]:
            if index.original(instr.owner) == slot and any(instr.position in places for places in lasting):
                return tells(Told.APPENDED, frame.code.path, instr.position >> 16)
    return None


def _beginnings(frame: Frame, slot: int) -> Iterator[Instr]:
    """What makes the list in a slot, over joins."""
    for _, made in index_of(frame.code).upstream([slot], joined, _FAR):
        if made is not None and not isinstance(made, ir.Phi):
            yield made


def _is_bounded(frame: Frame, made: Instr) -> bool:
    """Whether something is a `deque` that never holds more than so many elements."""
    bounded = isinstance(made, ir.Call) and (len(made.arguments) > 1 or "maxlen" in dict(made.keywords))
    return isinstance(made, ir.Call) and bounded and _DEQUE in _names(frame, made.function)


def _is_emptied(frame: Frame, slot: int) -> bool:
    """Whether the same function takes all out of a list again."""
    index = index_of(frame.code)
    return any(index.original(instr.owner) == slot for instr in index.attributes.get("clear", ()))


def _same_length(frame: Frame, made: Instr) -> list[int]:
    """What a value is as long as: elements of a display, operands, the argument of an operation that keeps sizes."""
    if isinstance(made, ir.Sequence):
        return [slot for slot, _ in made.elements]
    if isinstance(made, ir.Dict):
        return [slot for _, slot in made.entries]
    if isinstance(made, ir.Unary):
        return [made.operand]
    if isinstance(made, ir.TwoSided):
        return [made.left, made.right]
    if isinstance(made, ir.Call) and made.arguments and not KEEP.isdisjoint(_names(frame, made.function)):
        return [made.arguments[0][0]]
    return []


def _cut(frame: Frame, item: ir.Item, around: list[ir.Loop]) -> bool | None:
    """Whether one end of a slice moves with a loop; None for an index that takes all, False for any other."""
    index = index_of(frame.code)
    made = index.source(item.index)
    parts = [slot for slot, _ in made.elements] if isinstance(made, ir.Tuple) else [item.index]
    takes_all = True
    for part in parts:
        cut = index.source(part)
        if not isinstance(cut, ir.Slice):
            takes_all = takes_all and not any(
                isinstance(o, Tensor) or (isinstance(o, (Prim, Lit)) and o.kind == "int")
                for o in frame.vals[part] or ()
            )
            continue
        ends = [slot for slot in (cut.lower, cut.upper) if slot != NO_SLOT and frame.vals[slot] != NONE.value]
        moving = [slot for slot in ends if _moves(frame, slot, around)]
        if len(moving) == 1:
            return True
        takes_all = takes_all and not ends
    return None if takes_all else False


def _moves(frame: Frame, slot: int, around: list[ir.Loop]) -> bool:
    """Whether a Python int is another one in each turn of a loop."""
    index = index_of(frame.code)
    todo, seen = [slot], set[int]()
    while todo and len(seen) < _FAR:
        slot = index.original(todo.pop())
        made = index.definitions.get(slot)
        if slot in seen or made is None or not any(isinstance(o, (Prim, Lit)) for o in frame.vals[slot] or ()):
            continue
        seen.add(slot)
        if isinstance(made, (ir.Iter, ir.Unpack, ir.Phi)):
            if any(made is head for loop in around for head in (*loop.phis, *instructions(loop.test))):
                return True
        elif isinstance(made, ir.Operator):
            todo += operands(made)
        elif isinstance(made, ir.Call) and not _BOUNDS.isdisjoint(_names(frame, made.function)):
            todo += [argument for argument, _ in made.arguments]  # `x[i : min(i + 8, n)]` is as long as the one before
    return False


def is_fixed(value: Value) -> bool:
    """Whether arguments are of one size at all calls, as far as that is known."""
    shapes = {o.shape for o in value if isinstance(o, Tensor)}
    sized = not shapes or (len(shapes) == 1 and all(s is not None and min(s, default=0) >= 0 for s in shapes))
    return sized and all(isinstance(o, (Prim, Lit, Tensor)) or o is NONE for o in value)


def _names(frame: Frame, slot: int) -> set[str]:
    return {o.name for o in frame.vals[slot] or () if isinstance(o, Lib)}


def _positions(loop: ir.Loop) -> set[int]:
    return {instr.position for part in (loop.test, loop.body) for instr in instructions(part)}
