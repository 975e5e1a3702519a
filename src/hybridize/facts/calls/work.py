"""How often each place of a function runs in one call of it: loops multiply, branches divide."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final, TypeAlias

from hybridize.domain.objects import (
    BOTTOM,
    Bound,
    Class,
    Container,
    Func,
    Inst,
    Lib,
    LibInst,
    Lit,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Value,
)
from hybridize.domain.tensors import arrived
from hybridize.flow.frames import Frame
from hybridize.library.convert import SHAPE_KIND
from hybridize.library.costs import BATCH, BATCHES, HELD, ITERATIONS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Block, Code
from hybridize.program.operands import NESTED

#: The share of the runs in which a branch is taken: one of two, and one without alternative inside of a loop (which is
#: mostly "now and then").
_HALF: Final = 0.5
_NOW_AND_THEN: Final = 0.2
#: Of `if step % n == 0` where the program does not say how many: it is there so that it is rare.
_EVERY_NTH: Final = 0.02
_MOST: Final = 1e6
_STEPS: Final = 6
#: What goes over something else, element by element.
_AROUND: Final = frozenset(f"builtins.{name}" for name in ("enumerate", "zip", "reversed", "sorted"))
#: What a progress bar keeps of what it goes over.
_GOES_OVER: Final = "iterable"
_DOING: Final = (Bound, Class, Func, Lib, LibInst)
#: What may compute.
Calculating: TypeAlias = ir.Call | ir.Computed | ir.Item
_CALCULATES: Final = (ir.Call, ir.Computed, ir.Item)


class Places:
    """Of one function's body: the instructions that may compute, by position, with the loops and branches around."""

    __slots__ = ("_code", "around", "instructions", "share")

    def __init__(self, code: Code) -> None:
        self.instructions: dict[int, list[Calculating]] = {}
        self.around: dict[int, tuple[ir.Loop, ...]] = {}
        self.share: dict[int, float] = {}
        self._code = code
        self._block(code.body, (), 1.0)

    def _block(self, block: Block, loops: tuple[ir.Loop, ...], share: float) -> None:
        for instr in block:
            if isinstance(instr, _CALCULATES):
                self._note(instr, loops, share)
            elif type(instr) not in NESTED:
                if loops or share != 1.0:
                    self._surround(instr.position, loops, share)
            elif isinstance(instr, ir.If):
                both = bool(instr.then) and bool(instr.orelse)
                inner = share * (_HALF if both or not loops else _NOW_AND_THEN)
                nth = _nth(self._code, instr.condition)
                self._block(instr.then, loops, inner if nth is None else share * nth)
                self._block(instr.orelse, loops, inner if nth is None else share * (1 - nth))
            elif isinstance(instr, ir.Loop):
                inside = loops if _leaves(instr) else (*loops, instr)
                self._block(instr.test, inside, share)
                self._block(instr.body, inside, share)
                self._block(instr.orelse, loops, share)
            elif isinstance(instr, ir.Try):
                self._try(instr, loops, share)

    def _try(self, statement: ir.Try, loops: tuple[ir.Loop, ...], share: float) -> None:
        for part in (statement.body, statement.orelse, statement.join, statement.final):
            self._block(part, loops, share)
        for handler in statement.handlers:
            self._block(handler.body, loops, share * _NOW_AND_THEN)

    def _note(self, instr: Calculating, loops: tuple[ir.Loop, ...], share: float) -> None:
        pos = instr.position
        known = self.instructions.get(pos)
        if known is None:
            self.instructions[pos] = [instr]
        else:
            known.append(instr)
        self._surround(pos, loops, share)

    def _surround(self, pos: int, loops: tuple[ir.Loop, ...], share: float) -> None:
        if loops:
            self.around[pos] = loops
        if share != 1.0:
            self.share[pos] = share


def _leaves(loop: ir.Loop) -> bool:
    """Whether no turn of a loop comes to another one: each ends in `break`, `return` or `raise`."""
    again = {loop.back, *loop.continues}
    return bool(loop.phis) and all(edge not in again for phi in loop.phis for edge, _ in phi.incoming)


def _nth(code: Code, condition: int, steps: int = _STEPS) -> float | None:
    """In which share of the turns `step % n == 0`, or such conditions joined, holds; None for another condition."""
    asked = index_of(code).source(condition)
    if isinstance(asked, ir.Phi) and steps:
        # `or`: at most the sum; `and`: no more than that, either.
        shares = [_nth(code, part, steps - 1) for _, part in asked.incoming]
        known = [share for share in shares if share is not None]
        return min(sum(known), 1.0) if len(known) == len(shares) else None
    if not isinstance(asked, ir.Compare) or asked.operator != "==":
        return None
    counted = index_of(code).source(asked.left)
    if not isinstance(counted, ir.Binary) or counted.operator != "%" or _number(code, asked.right) is None:
        return None
    every = _number(code, counted.right)
    return _EVERY_NTH if every is None else 1 / max(every, 1)


def _number(code: Code, slot: int) -> float | None:
    """The constant that stands in the source, if it is a number."""
    value = code.template[slot] if 0 <= slot < len(code.template) else None
    found = next((o.const for o in value or () if isinstance(o, Lit)), None)
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


class Counts:
    """How often places run; what is known of each function's body is kept."""

    def __init__(self) -> None:
        self._places: dict[Code, Places] = {}
        self._trips: dict[tuple[Frame, int], float | None] = {}

    def places(self, code: Code) -> Places:
        """The places of a function."""
        found = self._places.get(code)
        if found is None:
            found = self._places[code] = Places(code)
        return found

    def runs(self, frame: Frame, pos: int) -> float:
        """How often a place runs in one call of its function."""
        places = self.places(frame.code)
        result = places.share.get(pos, 1.0)
        for loop in places.around.get(pos, ()):
            result *= self._trip(frame, loop)
        return min(result, _MOST)

    def most(self, frame: Frame, pos: int) -> float:
        """How often a place runs at most in one call of its function; inf where a loop's length is not known."""
        result = 1.0
        for loop in self.places(frame.code).around.get(pos, ()):
            result *= _known_trips(frame, loop)
        return result

    def likely(self, frame: Frame, pos: int) -> float:
        """The same for one of the objects that the loops around go over: each layer of a list has graphs of its own."""
        loops = self.places(frame.code).around.get(pos, ())
        picked = any(_is_picked(frame, instr.function) for instr in index_of(frame.code).calls.get(pos, ()))
        result = 1.0
        for loop in loops[:-1] if picked else loops:
            result *= 1.0 if loop.is_for and _holds_objects(frame.vals[loop.iterable]) else _known_trips(frame, loop)
        return result

    def is_endless(self, frame: Frame, loop: ir.Loop) -> bool:
        """Whether nobody knows how long a loop runs, and it goes over data or turns, not over layers or such."""
        return self.is_long(frame, loop, inf)

    def is_long(self, frame: Frame, loop: ir.Loop, least: float) -> bool:
        """Whether a loop takes so many turns, or who knows how many, over data or turns, not over layers."""
        over = frame.vals[loop.iterable] if loop.is_for and loop.iterable >= 0 else None
        return _known_trips(frame, loop) >= least and not _holds_objects(over)

    def turns(self, frame: Frame, pos: int, unknown: float) -> float:
        """How often a place runs at most where a loop of unknown length takes so many turns."""
        result = 1.0
        for loop in self.places(frame.code).around.get(pos, ()):
            known = _known_trips(frame, loop)
            if known == inf:
                known = BATCH if loop.is_for and _is_over_elements(frame, loop.iterable, _STEPS) else unknown
            result *= known
        return min(result, _MOST)

    def between(self, frame: Frame, outer: int, pos: int) -> float:
        """How often a place runs at most for each run of another one around it; inf where that is not known."""
        places = self.places(frame.code)
        known = places.around.get(outer, ())
        result = 1.0
        for loop in places.around.get(pos, ()):
            if loop not in known:
                result *= _known_trips(frame, loop)
        return result

    def copies(self, frame: Frame, pos: int, unknown: float = ITERATIONS) -> float:
        """How often a place stands in the graph: loops over Python values are unrolled.

        `unknown` is the number of turns of a loop whose length is not known.
        """
        result = 1.0
        for loop in self.places(frame.code).around.get(pos, ()):
            if loop.is_for and not staged(frame, loop.iterable):
                trip = self._known_trip(frame, loop)
                result *= unknown if trip is None else trip
        return min(result, _MOST)

    def _trip(self, frame: Frame, loop: ir.Loop) -> float:
        trip = self._known_trip(frame, loop)
        if trip is not None:
            return trip
        return HELD if loop.is_for and _holds(frame, loop.iterable, _STEPS) else ITERATIONS

    def _known_trip(self, frame: Frame, loop: ir.Loop) -> float | None:
        """How often a loop runs; None where that is not known."""
        key = (frame, loop.entry)
        if key not in self._trips:
            self._trips[key] = _length(frame, loop.iterable, _STEPS) if loop.is_for else None
        return self._trips[key]


def turns_once(frame: Frame, loop: ir.Loop) -> bool:
    """Whether a `for` loop surely takes no second turn."""
    only = loop.is_for and loop.iterable >= 0 and len(frame.vals[loop.iterable] or ()) == 1
    return only and _known_trips(frame, loop) <= 1


def _known_trips(frame: Frame, loop: ir.Loop) -> float:
    """How often a loop runs at most, without a guess: inf where that is not known."""
    return _known_length(frame, loop.iterable, _STEPS) if loop.is_for else inf


def _known_length(frame: Frame, slot: int, steps: int) -> float:
    """How many items an iterable has at most, also one that a progress bar or `enumerate` is around."""
    is_around = False
    for obj in frame.vals[slot] or () if slot >= 0 else ():
        if isinstance(obj, Tup):
            return float(len(obj.items))
        size = _size(obj) if isinstance(obj, Container) else None
        if size is not None:
            return float(size)
        if isinstance(obj, Stream) and obj.count is not None:
            return float(obj.count)
        is_around = isinstance(obj, LibInst) and _GOES_OVER in obj.fields
    made = index_of(frame.code).source(slot) if slot >= 0 and steps else None
    if not isinstance(made, ir.Call) or not made.arguments:
        return inf
    given = [arg for arg, starred in made.arguments if not starred]
    names = {o.name for o in frame.vals[made.function] or () if isinstance(o, Lib)}
    if any(name.endswith("range") for name in names):
        return _range(frame, given) or inf
    around = given if "builtins.zip" in names else given[:1] if is_around or names & _AROUND else []
    return min((_known_length(frame, arg, steps - 1) for arg in around), default=inf)


def _holds(frame: Frame, slot: int, steps: int) -> bool:
    """Whether a loop goes over a list or the like, or over what `enumerate` and its like make of one."""
    if slot >= 0 and any(isinstance(o, Container) for o in frame.vals[slot] or ()):
        return True
    made = index_of(frame.code).source(slot) if slot >= 0 and steps else None
    if not isinstance(made, ir.Call) or not made.arguments or made.arguments[0][1]:
        return False
    around = any(isinstance(o, Lib) and o.name in _AROUND for o in frame.vals[made.function] or ())
    return around and _holds(frame, made.arguments[0][0], steps - 1)


def _is_over_elements(frame: Frame, slot: int, steps: int) -> bool:
    """Whether a loop goes over the elements of a tensor or array, or over as many numbers as `len` says."""
    if slot >= 0 and any(isinstance(o, Tensor) for o in frame.vals[slot] or ()):
        return True
    made = index_of(frame.code).source(slot) if slot >= 0 and steps else None
    if not isinstance(made, ir.Call) or not made.arguments:
        return False
    names = {o.name for o in frame.vals[made.function] or () if isinstance(o, Lib)}
    if any(name.endswith("range") for name in names):
        return any(_is_length(frame, part) for part, _ in made.arguments)
    return not names.isdisjoint(_AROUND) and any(
        _is_over_elements(frame, part, steps - 1) for part, _ in made.arguments
    )


def _is_length(frame: Frame, slot: int) -> bool:
    """Whether a number is what `len` says, or a dim."""
    made = index_of(frame.code).source(slot)
    if isinstance(made, ir.Call):
        return any(isinstance(o, Lib) and o.name == "builtins.len" for o in frame.vals[made.function] or ())
    if isinstance(made, ir.Item):
        return any(isinstance(o, (Tup, Stream)) and o.kind == SHAPE_KIND for o in frame.vals[made.source] or ())
    return False


def _is_picked(frame: Frame, slot: int) -> bool:
    """Whether what is called, or the receiver of the method that is, is one of a list of objects: `layers[i](x)`."""
    made = index_of(frame.code).source(slot)
    if isinstance(made, ir.Attr):
        made = index_of(frame.code).source(made.owner)
    return isinstance(made, ir.Item) and _holds_objects(frame.vals[made.source])


def _holds_objects(value: Value | None) -> bool:
    """Whether a list holds objects that do something, not data."""
    return any(_is_doing(frozenset(_elements(obj))) for obj in value or ())


def _is_doing(value: Value) -> bool:
    """Whether all that a value may be does something; of a tuple (`enumerate`, `zip`) one item suffices."""
    return bool(value) and all(
        isinstance(o, _DOING)
        or (isinstance(o, Inst) and _is_callable(o.cls))
        or (isinstance(o, Tup) and any(map(_is_doing, o.items)))
        for o in value
    )


def _is_callable(cls: Class) -> bool:
    """Whether objects of a class can be called, as layers and modules can: others hold data."""
    return bool(cls.library) or any(isinstance(base, Class) and "__call__" in base.fields for base in cls.mro)


def _elements(obj: Obj) -> Iterator[Obj]:
    if isinstance(obj, Tup):
        values = list(obj.items)
    elif isinstance(obj, Container):
        values = [cell.value for cell in (*obj.fields.values(), obj.rest) if cell is not None]
    else:
        values = [obj.element] if isinstance(obj, Stream) and isinstance(obj.element, frozenset) else []
    return (o for value in values for o in value)


def _size(obj: Container) -> int | None:
    """How many elements a container has, if that is known."""
    if obj.exact:
        return len(obj.fields)
    return obj.count if obj.count is not None and obj.count >= 0 else None


def staged(frame: Frame, slot: int) -> bool:
    """Whether AutoGraph makes one loop of the graph of a `for` loop: over tensors and datasets."""
    value = frame.vals[slot] or () if slot >= 0 else ()
    return any(isinstance(o, Tensor) or (isinstance(o, Stream) and o.kind.startswith("tf.data")) for o in value)


def _length(frame: Frame, slot: int, steps: int) -> float | None:
    """How many items an iterable has; None where that is not known."""
    for obj in frame.vals[slot] or () if slot >= 0 else ():
        if isinstance(obj, Stream):
            if obj.count is not None:
                return float(obj.count)
            inner = _iterated(frame, slot, steps)
            return float(BATCHES) if inner is None and obj.kind.startswith("tf.data") else inner
        if isinstance(obj, Tup):
            return float(len(obj.items))
        size = _size(obj) if isinstance(obj, Container) else None
        if size is not None:
            return float(size)
        if isinstance(obj, Tensor):
            shape = arrived(obj.shape)
            return float(shape[0]) if shape and shape[0] >= 0 else None
    return _iterated(frame, slot, steps)


def _iterated(frame: Frame, slot: int, steps: int) -> float | None:
    """The length by how the iterable is made: `range(10)`, `enumerate(dataset)`, a progress bar around one; or None."""
    made = index_of(frame.code).source(slot)
    if not isinstance(made, ir.Call) or not made.arguments or steps == 0:
        return None
    if any(isinstance(o, Lib) and o.name.endswith("range") for o in frame.vals[made.function] or ()):
        return _range(frame, [arg for arg, starred in made.arguments if not starred])
    first, starred = made.arguments[0]
    return None if starred else _length(frame, first, steps - 1)


def _range(frame: Frame, slots: list[int]) -> float | None:
    numbers: list[int] = []
    for slot in slots:
        value = frame.vals[slot] or BOTTOM
        constants = [o.const for o in value if isinstance(o, Lit) and isinstance(o.const, int)]
        constants = constants or [o.likely for o in value if isinstance(o, Prim) and o.likely is not None]
        if len(constants) != 1:
            return None
        numbers += constants
    try:
        return float(len(range(*numbers)))
    except (TypeError, ValueError, OverflowError):
        return None
