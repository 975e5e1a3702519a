"""What comes round longer: state that a call gives back, or a field keeps, and the next call gets with more in it.

`facts.functions.growing` sees a loop that lengthens what it passes. Here the lengthening stands in the function that is
called (`out, cache = step(x, cache)`), in a callee of it, or in whatever writes a field between two calls; in tuples,
lists and dictionaries each part is followed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from hybridize.domain.calls import DIRECT, How
from hybridize.domain.objects import NONE, Cell, Container, Inst, Lib, Lit, Tensor, Tup, Value
from hybridize.domain.tensors import RAGGED
from hybridize.facts.evidence import tells
from hybridize.facts.model import Evidence, Told
from hybridize.facts.origins import called_at, passed_slots
from hybridize.flow.frames import Frame
from hybridize.library.dialect import KEEP, LENGTHEN
from hybridize.program import ir
from hybridize.program.index import Index, index_of
from hybridize.program.ir import NO_SLOT, Code, Instr
from hybridize.program.operands import operands
from hybridize.records import dataclass

#: So many places are looked at for one state, and so many calls deep.
_FAR: Final = 300
_DEEP: Final = 5
_CALLS: Final = DIRECT | {How.PROTOCOL}
#: Through so many callers an argument is followed to the loop that passes it.
_CALLERS: Final = 4
_SAME: Final = frozenset({"copy", "numpy", "astype", "read_value", "value"})
_SEQUENCES: Final = frozenset({"builtins.list", "builtins.tuple", "builtins.reversed"})
#: Built-ins that give tuples of the elements of their arguments, and the place of the first of these in the tuple.
_PAIRS: Final = {"builtins.zip": 0, "builtins.enumerate": 1}
_NOTHING: Final[Value] = frozenset()
#: The keys that are still to be taken out of a value, the next one first.
_Path: TypeAlias = tuple[object, ...]
_Sites: TypeAlias = tuple[tuple[Frame, int], ...]


@dataclass(frozen=True, slots=True)
class _At:
    """A part of what is in a slot, the calls that led there, and where it was made longer on the way."""

    frame: Frame
    slot: int
    path: _Path = ()
    sites: _Sites = ()
    longer: Evidence | None = None

    def to(self, slot: int, path: _Path | None = None, longer: Evidence | None = None) -> _At:
        """Another slot of the same function."""
        return _At(self.frame, slot, self.path if path is None else path, self.sites, self.longer or longer)


#: A variable that a loop hands on to its next turn, or a field.
_State: TypeAlias = "tuple[Frame, int] | Cell"


class Rounds:
    """Answers for places of a solved program; `frames` are those of each code."""

    def __init__(self, frames: Mapping[Code, Sequence[Frame]]) -> None:
        self.frames = frames
        self._calls: dict[tuple[_At, int], tuple[list[tuple[_At, _State]], list[tuple[_At, int]]]] = {}
        self._grown: dict[tuple[_State, _Path], Evidence | None] = {}

    def longer(self, caller: Frame, pos: int, slot: int) -> Evidence | None:
        """Where what a repeated call passes is made longer on its way to the next; None where that is not seen."""
        seen: set[object] = set()
        for at, state in self._states(caller, pos, slot):
            if state in seen:
                continue
            seen.add(state)
            found = self._round(at, state)
            if found is not None:
                return found
        return None

    def _states(self, caller: Frame, pos: int, slot: int) -> Iterator[tuple[_At, _State]]:
        """What holds an argument, or parts of it, from one call to the next."""
        todo: Iterable[tuple[_At, int]] = [(_At(caller, slot), pos)]
        seen: set[tuple[_At, int]] = set()  # most functions that many call get the same from several of them
        for _ in range(_CALLERS):
            above: dict[tuple[_At, int], None] = {}
            for each in todo:
                seen.add(each)
                states, callers = self._at_call(*each)
                yield from states
                above.update(dict.fromkeys(callers))
            todo = [each for each in above if each not in seen]

    def _at_call(self, start: _At, pos: int) -> tuple[list[tuple[_At, _State]], list[tuple[_At, int]]]:
        """The states in the function that calls, and what its own callers pass for what it goes back to."""
        found = self._calls.get((start, pos))
        if found is None:
            states: list[tuple[_At, _State]] = []
            above: list[tuple[_At, int]] = []
            for each in self._backwards([start]):
                state = _state(each, pos)
                if state is not None:
                    states.append((each, state))
                place = each.frame.code.place_of(each.slot)
                for site in each.frame.incoming if place >= 0 and not each.sites else ():
                    if site[0] is not None and site[0] is not each.frame:
                        given = passed_slots(site[0], site[1], each.frame, place) or ()
                        above += [(_At(site[0], s, each.path), site[1]) for s in given]
            found = self._calls[start, pos] = states, above
        return found

    def _round(self, start: _At, state: _State) -> Evidence | None:
        """Where the next value of a state is the last one, made longer."""
        key = state, start.path
        if key not in self._grown:
            self._grown[key] = self._growth(start, state)
        return self._grown[key]

    def _growth(self, start: _At, state: _State) -> Evidence | None:
        for each in self._backwards(list(self._before(start, state))):
            if each.longer is not None and _holds(each, state) and each.path[: len(start.path)] == start.path:
                return each.longer
        return None

    def _before(self, at: _At, state: _State) -> Iterator[_At]:
        """What a state gets for the next turn, or the next call."""
        if isinstance(state, Cell):
            for code, pos in state.writes:
                for frame in self.frames.get(code, ()):
                    for instr in index_of(code).at(pos):
                        if isinstance(instr, ir.SetAttr):
                            yield _At(frame, instr.value, at.path)
            return
        made = index_of(at.frame.code).definitions[state[1]]
        for source in operands(made):
            yield _At(at.frame, source, at.path)

    def _backwards(self, todo: list[_At]) -> Iterator[_At]:
        """All that the length of some values follows from, each place once with and once without having grown."""
        seen: set[tuple[Frame, int, _Path, bool]] = set()
        while todo and len(seen) < _FAR:
            at = todo.pop()
            slot = index_of(at.frame.code).original(at.slot)
            key = (at.frame, slot, at.path, at.longer is not None)
            if key in seen or is_sized(at.frame.vals[slot] or _NOTHING):
                continue
            seen.add(key)
            here = at.to(slot)
            yield here
            todo += self._sources(here)

    def _sources(self, at: _At) -> list[_At]:
        index = index_of(at.frame.code)
        made = index.definitions.get(at.slot)
        if made is None:
            return _passed(at)
        step = _STEPS.get(type(made))
        if step is not None:
            return step(at, index, made)
        if isinstance(made, ir.Call):
            return self._called(at, index, made)
        return []

    def _called(self, at: _At, index: Index, call: ir.Call) -> list[_At]:
        found: list[_At] = []
        callees = called_at(at.frame, call.position, _CALLS)
        if len(at.sites) < _DEEP:
            for callee in callees:
                if not callee.code.is_generator and callee.code.name != "__init__":
                    sites = ((at.frame, call.position), *at.sites)
                    results = [i.value for i in index_of(callee.code).of(ir.Return) if i.value >= 0]
                    found += [_At(callee, slot, at.path, sites, at.longer) for slot in results]
        names = {o.name for o in at.frame.vals[call.function] or () if isinstance(o, Lib)}
        given = [slot for slot, _ in call.arguments] + [slot for name, slot in call.keywords if name != "axis"]
        if names & LENGTHEN and not at.path:
            said = Evidence("each call gets it longer than the one before", at.frame.code.path, call.position >> 16)
            found += [at.to(slot, longer=said) for slot in _spread(index, given)]
        elif (names & KEEP and not at.path) or names & _SEQUENCES:
            found += [at.to(slot) for slot in given[:1]]
        elif names & _PAIRS.keys() and len(at.path) > 1:
            found += _paired(at, given, _PAIRS[min(names & _PAIRS.keys())])
        func = index.source(call.function)
        if isinstance(func, ir.Attr) and func.name in _SAME and not callees:
            found.append(at.to(func.owner))
        return found


def _paired(at: _At, given: list[int], first: int) -> list[_At]:
    """The sequence that an element of `zip` or `enumerate` is of."""
    key = at.path[1]
    slots = [given[key - first]] if isinstance(key, int) and 0 <= key - first < len(given) else []
    return [at.to(slot, (at.path[0], *at.path[2:])) for slot in slots]


def _passed(at: _At) -> list[_At]:
    """The argument of the call that led here, for a parameter."""
    place = at.frame.code.place_of(at.slot)
    if place < 0 or not at.sites:
        return []
    (caller, pos), *rest = at.sites
    slots = passed_slots(caller, pos, at.frame, place) or ()
    return [_At(caller, slot, at.path, tuple(rest), at.longer) for slot in slots]


def _state(at: _At, pos: int) -> _State | None:
    """The state that a place is: a variable of a loop around the call, a field of an object of the project."""
    index = index_of(at.frame.code)
    made = index.definitions.get(at.slot)
    if made is None:
        return None
    if isinstance(made, ir.Phi):
        numbers = () if at.sites else index.loops.get(pos, ())
        loops = index.of(ir.Loop)
        return (at.frame, at.slot) if any(made is head for n in numbers for head in loops[n].phis) else None
    return _cell(at.frame, made)


def _cell(frame: Frame, made: Instr) -> Cell | None:
    if not isinstance(made, ir.Attr):
        return None
    owners = [o for o in frame.vals[made.owner] or () if isinstance(o, Inst)]
    return next((o.fields[made.name] for o in owners if made.name in o.fields), None)


def _holds(at: _At, state: _State) -> bool:
    if not isinstance(state, Cell):
        return (at.frame, at.slot) == state
    made = index_of(at.frame.code).definitions.get(at.slot)
    return made is not None and _cell(at.frame, made) is state


def _joined(at: _At, _: Index, made: ir.Phi) -> list[_At]:
    return [at.to(slot) for _, slot in made.incoming]


def _of_display(at: _At, index: Index, made: ir.Sequence) -> list[_At]:
    """The part of a tuple or list that is asked for, or all of them; one that takes in another is longer."""
    parts = made.elements
    if any(starred for _, starred in parts):
        said = tells(Told.APPENDED, at.frame.code.path, made.position >> 16)
        return [at.to(slot, longer=said) for slot, starred in parts if starred] if len(parts) > 1 else []
    if not at.path:
        return [at.to(slot) for slot in (*(slot for slot, _ in parts), *_added(index, made))]
    key, rest = at.path[0], at.path[1:]
    if isinstance(key, int) and -len(parts) <= key < len(parts):
        return [at.to(parts[key][0], rest)]
    added = [at.to(slot, rest) for slot in _added(index, made)]
    return added if isinstance(key, (int, str)) else added + [at.to(slot, rest) for slot, _ in parts]


def _added(index: Index, made: ir.Sequence) -> Iterator[int]:
    """What is put into a list after it was made."""
    for instr in index.of(ir.Append):
        if index.original(instr.owner) == made.target:
            yield instr.value
    for read in index.attributes.get("append", ()):
        if index.original(read.owner) == made.target:
            yield from (
                slot
                for use in index.uses.get(read.target, ())
                if isinstance(use, ir.Call)
                for slot, _ in use.arguments[:1]
            )


def _of_dict(at: _At, _: Index, made: ir.Dict) -> list[_At]:
    found: list[_At] = []
    for key, slot in made.entries:
        if key == NO_SLOT or not at.path:
            found.append(at.to(slot))
        elif _key(at.frame, key) in (at.path[0], None):
            found.append(at.to(slot, at.path[1:]))
    return found


def _unpacked(at: _At, _: Index, made: ir.Unpack) -> list[_At]:
    if made.star >= 0:
        return []
    return [at.to(made.source, (made.targets.index(at.slot), *at.path))]


def _item(at: _At, index: Index, made: ir.Item) -> list[_At]:
    """A part of a tensor with ends that move may be as long as the whole; one of a fixed length is not."""
    if any(isinstance(o, (Tup, Container)) for o in at.frame.vals[made.source] or ()):
        return [at.to(made.source, (_key(at.frame, made.index), *at.path))]
    cut = index.source(made.index)
    for part in [slot for slot, _ in cut.elements] if isinstance(cut, ir.Tuple) else [made.index]:
        ends = index.source(part)
        if not isinstance(ends, ir.Slice):
            continue
        values = [at.frame.vals[slot] or _NOTHING for slot in (ends.lower, ends.upper) if slot != NO_SLOT]
        if any(value and value != NONE.value and all(isinstance(o, Lit) for o in value) for value in values):
            return []
    return [at.to(made.source)]


def _element(at: _At, _: Index, made: ir.Iter) -> list[_At]:
    return [at.to(made.source, (None, *at.path))]


def _operands(at: _At, _: Index, made: ir.Operator) -> list[_At]:
    """Both sides of an operator are as long as its result; of two lists the sum is longer."""
    left, right = made.left, made.right
    if any(isinstance(o, (Tup, Container)) for s in (left, right) for o in at.frame.vals[s] or ()):
        said = tells(Told.APPENDED, at.frame.code.path, made.position >> 16)
        return [at.to(slot, longer=said) for slot in (left, right)] if made.operator == "+" else []
    return [] if at.path or made.operator == "@" else [at.to(left), at.to(right)]


_STEPS: Final[Mapping[type[Instr], Callable[[_At, Index, Any], list[_At]]]] = {
    ir.Phi: _joined,
    ir.Tuple: _of_display,
    ir.List: _of_display,
    ir.Dict: _of_dict,
    ir.Unpack: _unpacked,
    ir.Item: _item,
    ir.Iter: _element,
    ir.Binary: _operands,
    ir.Inplace: _operands,
}


def _key(frame: Frame, slot: int) -> object:
    """The constant in a slot; None for what is not known."""
    value = frame.vals[slot] or _NOTHING
    (only,) = value if len(value) == 1 else (None,)
    return only.const if isinstance(only, Lit) and not only.varies else None


def _spread(index: Index, slots: Sequence[int]) -> Iterator[int]:
    for slot in slots:
        made = index.source(slot)
        if isinstance(made, ir.Sequence):
            yield from (each for each, _ in made.elements)
        else:
            yield slot


def is_sized(value: Value) -> bool:
    """Whether flow knows all that is in a slot to be of one size: whatever made it, it does not grow."""
    shapes = {o.shape for o in value if isinstance(o, Tensor) and o.kind != RAGGED}
    known = len(shapes) == 1 and all(shape is not None and min(shape, default=0) >= 0 for shape in shapes)
    return known and all(isinstance(o, Tensor) and o.kind != RAGGED for o in value)
