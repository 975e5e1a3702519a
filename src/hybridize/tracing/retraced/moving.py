"""What a call passes anew: whether a value may be another one from one call of a place to the next.

A trace is chosen by Python values and by the shapes of tensors. Where flow knows neither, what is made outside of the
loops around a call, and only once, is the same at each call; what a loop or a repeated function computes from something
that changes is not: its counter, elements, changed lists and fields, the outside world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, TypeAlias

from hybridize.domain.calls import BY_CODE, BY_OTHERS, How
from hybridize.domain.objects import BOTTOM, Bound, Container, Inst, Lib, Lit, Stream, Tensor, Value, Wrapper
from hybridize.domain.tensors import NDARRAY
from hybridize.domain.words import VIEWS
from hybridize.facts.functions.causes import argument_slot
from hybridize.facts.origins import called_at, edges_to, starts_program
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import operands
from hybridize.source import is_test_path
from hybridize.tracing.retraced.lifetimes import FEW
from hybridize.tracing.running.loops import filling
from hybridize.tracing.state.writes import Writes, writes_of
from hybridize.tracing.views import ProjectView

#: Through so many calls a value is followed to where it comes from.
_CALLS: Final = 3
#: So many slots are looked at for one value.
_FAR: Final = 80
#: What a call learns from outside of the program, or from what nobody knows: another thing each time.
_OUTSIDE: Final = frozenset(
    {"random", "clock", "io", "iterator", "mutate", "unknown_call", "foreign_call", "unfollowed"}
)
#: Functions that give the elements of what they are given.
_HANDING_ON: Final = frozenset(
    f"builtins.{name}" for name in ("enumerate", "list", "reversed", "sorted", "tuple", "zip")
)
#: Operations that draw numbers.
_DRAWS: Final = ("tf.random.", "tf.compat.v1.random", "keras.random.", "np.random.")
_FOLLOWED: Final = BY_CODE - {How.HYBRID} | {How.PROPERTY}


_NOWHERE: Final[frozenset[int]] = frozenset()
#: A slot, and whether what is in it is passed itself, and not something that is computed of it.
_Asked: TypeAlias = "tuple[int, bool]"
_Seen: TypeAlias = "set[tuple[Frame, int, bool]]"


class Moving:
    """Answers for places of a solved program."""

    def __init__(self, writes: Writes, entries: Callable[[Code], bool] | None = None) -> None:
        """`entries` says of a function that callers whom nobody sees call it again and again, each time with more."""
        self.writes = writes
        self.entries = entries
        # An object from elsewhere keeps its settings: of what it holds only the program's own objects differ.
        self._own = Moving(writes) if entries is not None else self
        self._again: dict[Frame, bool] = {}
        self._changing: dict[Frame, frozenset[int]] = {}

    def argument(self, caller: Frame, pos: int, callee: Frame, index: int) -> int:
        """The slot of the caller that holds what a call passes for a parameter; -1 where the call does not show it."""
        calls = index_of(caller.code).calls.get(pos, ())
        if calls and all(isinstance(o, Lib) for call in calls for o in caller.vals[call.function] or ()):
            return -1  # a library function that is given this one calls it with what it likes
        bound = callee.bound or any(_is_hybrid_method(o) for call in calls for o in caller.vals[call.function] or ())
        return argument_slot(caller, pos, index, callee.code.params[index].name, bound=bound)

    def moves(self, frame: Frame, pos: int, slot: int) -> bool:
        """Whether a slot may hold another value at each execution of a place in the same function."""
        return self._slot(frame, frozenset(index_of(frame.code).loops.get(pos, ())), (slot, True), _CALLS, set())

    def is_used_again(self, frame: Frame, pos: int, slot: int) -> bool:
        """Whether a loop inside of the one that takes a value out of a collection passes that value at each turn.

        Then there are as many values as the collection has, and each is passed many times.
        """
        loops = index_of(frame.code).loops.get(pos, ())
        if (
            len(loops) < 2
            or self._runs_again(frame)
            or not _is_long(frame, index_of(frame.code).of(ir.Loop)[loops[-1]])
        ):
            return False
        made = element_of_loop(frame, slot)
        return made is not None and not self._slot(frame, frozenset(loops[-1:]), (slot, True), _CALLS, set())

    def is_repeated(self, frame: Frame, pos: int) -> bool:
        """Whether a place is seen to be executed again and again."""
        return bool(index_of(frame.code).loops.get(pos)) or self._runs_again(frame)

    def _runs_again(self, frame: Frame) -> bool:
        """Whether a function is called again and again: in a loop, from many places, by code that calls back."""
        found = self._again.get(frame)
        if found is None:
            self._again[frame] = False  # a recursion: what else calls it decides
            sites = [] if frame.code.is_body else self._sites(frame)
            entered = self.entries is not None and self.entries(frame.code)
            found = (
                entered
                or len({(caller.code, pos) for caller, pos, _ in sites}) > FEW
                or any(
                    (how in BY_OTHERS and not starts_program(caller, pos)) or self.is_repeated(caller, pos)
                    for caller, pos, how in sites
                )
            )
            self._again[frame] = found
        return found

    def _sites(self, frame: Frame) -> list[tuple[Frame, int, How]]:
        """The calls of a frame by code that is no test."""
        return [call for call in edges_to(frame) if not is_test_path(call[0].code.path)]

    def _slot(self, frame: Frame, around: frozenset[int], asked: _Asked, depth: int, seen: _Seen) -> bool:
        index = index_of(frame.code)
        slot, whole = index.original(asked[0]), asked[1]
        value = frame.vals[slot] or ()
        if (frame, slot, whole) in seen or len(seen) > _FAR or _is_constant(value):
            return False
        seen.add((frame, slot, whole))
        made = index.definitions.get(slot)
        if made is None:
            return self._parameter(frame, (slot, whole), depth, seen)
        inputs = list(_inputs(index, made))
        whole = whole and isinstance(made, ir.Phi)
        if whole:
            inputs = [each for each in inputs if not _chooses_nothing(frame.vals[each] or ())]
        anew = self._runs_again(frame) or not around.isdisjoint(index.loops.get(made.position, ()))
        if any(isinstance(o, Container) and self._is_refilled(frame, around, o) for o in value):
            return True
        if isinstance(made, ir.Load) and self.writes.late_cells(frame, made):
            return True
        if isinstance(made, ir.Attr) and any(isinstance(o, Inst) for o in frame.vals[made.owner] or ()):
            if anew and depth and self._returned(frame, made, depth - 1, seen):
                return True  # a property
            return self._own._slot(frame, around, (made.owner, False), depth, seen if self._own is self else set())
        if isinstance(made, ir.Iter) and not around.isdisjoint(index.loops.get(made.position, ())):
            if not _are_few(frame.vals[made.source] or ()):
                return True
        elif isinstance(made, ir.Phi) and _is_head(index, around, made):
            if any(_comes_round(frame, each, slot, whole=whole) for each in inputs):
                return True
        elif isinstance(made, ir.Call) and anew and made.position in self._learns(frame):
            return True
        if any(self._slot(frame, around, (each, whole), depth, seen) for each in inputs):
            return True
        # A call that is made once, outside, has given what it gave, however often its function runs elsewhere.
        return isinstance(made, ir.Call) and anew and bool(depth) and self._returned(frame, made, depth - 1, seen)

    def _parameter(self, frame: Frame, asked: _Asked, depth: int, seen: _Seen) -> bool:
        """Whether callers pass something else from call to call."""
        place = frame.code.place_of(asked[0])
        if place < 0 or not depth:
            return False
        if self.entries is not None and self.entries(frame.code):
            return True
        for caller, pos, _ in frame.seen_calls():
            if caller is frame:
                continue
            if caller.calls.get((pos, frame)) in BY_OTHERS:
                return True
            given = self.argument(caller, pos, frame, place)
            around = frozenset(index_of(caller.code).loops.get(pos, ()))
            if given >= 0 and self._slot(caller, around, (given, asked[1]), depth - 1, seen):
                return True
        return False

    def _returned(self, frame: Frame, call: ir.Call | ir.Attr, depth: int, seen: _Seen) -> bool:
        """Whether what a function of the project gives moves by itself, whatever it is given."""
        for callee in called_at(frame, call.position, _FOLLOWED):
            if not callee.code.name.startswith("__init__"):
                for instr in index_of(callee.code).of(ir.Return):
                    if self._slot(callee, _NOWHERE, (instr.value, False), depth, seen):
                        return True
        return False

    def _learns(self, frame: Frame) -> frozenset[int]:
        """The places of a function that learn something from outside."""
        found = self._changing.get(frame)
        if found is None:
            found = frozenset(e.position for e in frame.effects.values() if e.kind in _OUTSIDE)
            found |= {pos for pos, name in frame.ops.items() if name.startswith(_DRAWS)}
            self._changing[frame] = found
        return found

    def _is_refilled(self, frame: Frame, around: frozenset[int], obj: Container) -> bool:
        """Whether elements come or go between two executions: in a loop around, or in a function that runs again."""
        loops = index_of(frame.code).loops
        for writer, pos in self.writes.every.get(obj, ()):
            if writer.code is frame.code and not around.isdisjoint(loops.get(pos, ())):
                return True
            lasts = writer.uid != obj.frame and (writer.code is not frame.code or self._runs_again(writer))
            if lasts and self.is_repeated(writer, pos):
                return True
        return False


def moving(project: ProjectView) -> Moving:
    """That of a program, made when first asked for."""
    return project.shared("moving", lambda: Moving(writes_of(project)))


def from_elsewhere(project: ProjectView) -> Moving:
    """The same where callers elsewhere count, who call what a library exports as often as they like."""
    return project.shared("moving from elsewhere", lambda: Moving(writes_of(project), project.public.has))


def _is_hybrid_method(obj: object) -> bool:
    """Whether a receiver, or an object that is called itself, goes to `tf.function` first, which hands it on as any
    other argument."""
    return isinstance(obj, Inst) or (isinstance(obj, Bound) and isinstance(obj.func, Wrapper))


def _is_long(frame: Frame, loop: ir.Loop) -> bool:
    """Whether a loop is not known to take but a few turns."""
    return not loop.is_for or not _are_few(frame.vals[loop.iterable] or ())


def element_of_loop(frame: Frame, slot: int) -> ir.Iter | None:
    """The loop's read by which a slot holds an element of a collection, or a part of one; None if it is no such."""
    index = index_of(frame.code)
    made = index.source(slot)
    while isinstance(made, (ir.Unpack, ir.Item)):
        made = index.source(made.source)
    if not isinstance(made, ir.Iter):
        return None
    held = list(gone_through(frame, made.source))
    return made if all(held) and not any(isinstance(o, Stream) and o.kind not in VIEWS for o in chain(*held)) else None


def gone_through(frame: Frame, slot: int) -> Iterator[Value]:
    """The collections whose elements a loop gets, also where it counts, sorts or pairs them on the way."""
    index = index_of(frame.code)
    made = index.source(slot)
    names = {o.name for o in frame.vals[made.function] or () if isinstance(o, Lib)} if isinstance(made, ir.Call) else ()
    if isinstance(made, ir.Call) and made.arguments and names and names <= _HANDING_ON:
        for each, _ in made.arguments:
            yield from gone_through(frame, each)
    else:
        yield frame.vals[index.original(slot)] or BOTTOM


def _chooses_nothing(value: Iterable[object]) -> bool:
    """Whether a value is a scalar tensor, as a graph gives back for a Python number: no trace is chosen by it."""
    found = list(value)
    return bool(found) and all(isinstance(o, Tensor) and o.shape == () and o.kind != NDARRAY for o in found)


def _is_constant(value: Iterable[object]) -> bool:
    found = list(value)
    return len(found) == 1 and isinstance(found[0], Lit) and not found[0].varies


def _are_few(value: Iterable[object]) -> bool:
    """Whether a loop goes through so few elements that a trace for each is none too many."""
    counts = [getattr(o, "count", None) if isinstance(o, (Stream, Container)) else None for o in value]
    sizes = [len(o.fields) if isinstance(o, Container) and o.exact else c for o, c in zip(value, counts, strict=False)]
    return bool(sizes) and all(size is not None and 0 <= size <= FEW for size in sizes)


def _is_head(index: Index, around: frozenset[int], made: ir.Phi) -> bool:
    heads: list[ir.Loop] = [instr for number, instr in enumerate(index.of(ir.Loop)) if number in around]
    return any(made is head for loop in heads for head in loop.phis)


def _comes_round(frame: Frame, slot: int, start: int, *, whole: bool) -> bool:
    """Whether a turn computes the next value of a variable from the last; if `whole`, one that may choose a trace."""
    index = index_of(frame.code)
    todo, seen = [(slot, False)], set[tuple[int, bool]]()
    while todo and len(seen) < _FAR:
        each, changed = todo.pop()
        each = index.original(each)
        if (each, changed) in seen or (whole and not changed and _chooses_nothing(frame.vals[each] or ())):
            continue
        seen.add((each, changed))
        if each == start:
            if changed:
                return True
            continue
        made = index.definitions.get(each)
        if made is not None:
            todo += [(inner, changed or not isinstance(made, ir.Phi)) for inner in operands(made)]
    return False


def _inputs(index: Index, made: Instr) -> Iterator[int]:
    """What an instruction computes from; of a call its arguments and the receiver, not the function."""
    if not isinstance(made, ir.Call):
        yield from operands(made)
        if isinstance(made, (ir.List, ir.Set, ir.Dict)):
            for instr, loops in filling(index, made):
                yield from operands(instr)[1:]
                yield from (loop.iterable for loop in loops if loop.iterable >= 0)
        return
    yield from (slot for slot, _ in made.arguments)
    yield from (slot for _, slot in made.keywords)
    func = index.source(made.function)
    if isinstance(func, ir.Attr):
        yield func.owner
