"""Whether a call passes tensors of another size each time: rows that data choose, sizes that a loop counts, lists that
differ in length. What only moves (another part of the same length, another batch) is of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.objects import NONE, Container, Inst, Lib, Lit, Prim, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import BATCH, DYNAMIC, RAGGED
from hybridize.facts.origins import callees_at
from hybridize.flow.frames import Frame
from hybridize.program.index import index_of
from hybridize.program.ir import NO_SLOT, Instr, Op
from hybridize.program.operands import operands
from hybridize.rules.loops import APPENDS, filling
from hybridize.rules.moving import Moving, from_elsewhere, moving
from hybridize.rules.views import ProjectView

_CALLS: Final = 3
_FAR: Final = 60
_NO_VALUE: Final[Value] = frozenset()
#: Operations that give as many rows as there are of a kind.
_CHOOSE: Final = frozenset(
    "tf.boolean_mask tf.where tf.unique tf.sparse.to_dense tf.image.non_max_suppression tf.gather_nd tf.gather "
    "tf.dynamic_partition tf.repeat np.where np.nonzero np.argwhere np.flatnonzero np.unique".split()
)
#: What makes rows as long as the longest that it is given, where it is not told how long.
_PADS: Final = frozenset({"keras.utils.pad_sequences"})
#: Methods of datasets whose elements are of differing sizes, whatever those before them are.
_UNEVEN: Final = frozenset(
    "padded_batch ragged_batch bucket_by_sequence_length apply unbatch flat_map interleave window".split()
)
#: What reads a part of a record.
_PARTS: Final = frozenset({Op.ITEM, Op.UNPACK})
_Seen = set[tuple[Frame, int]]


class Resizing:
    """Answers for places of a solved program."""

    def __init__(self, answers: Moving) -> None:
        self.answers = answers

    def resizes(self, frame: Frame, pos: int, slot: int) -> bool:
        """Whether a slot holds tensors of another size at each execution of a place, as far as that is seen."""
        return self.answers.is_repeated(frame, pos) and self._slot(frame, pos, slot, _CALLS, set())

    def chooses(self, frame: Frame, pos: int, slot: int) -> bool:
        """The same where rows are chosen right there: what else differs in length may well not, in a run."""
        made = index_of(frame.code).source(slot)
        chosen = made is not None and made[0] == Op.CALL and not _CHOOSE.isdisjoint(_names(frame, made))
        return chosen and self.resizes(frame, pos, slot)

    def _slot(self, frame: Frame, pos: int, slot: int, depth: int, seen: _Seen) -> bool:
        index = index_of(frame.code)
        slot = index.original(slot)
        value = frame.vals[slot] or _NO_VALUE
        if (frame, slot) in seen or len(seen) > _FAR or _is_sized(value):
            return False
        seen.add((frame, slot))
        made = index.definitions.get(slot)
        if made is None:
            return self._parameter(frame, slot, depth, seen)
        if _is_dynamic(value):
            return self.answers.moves(frame, pos, slot) and self._by_data(frame, pos, made, depth, seen)
        if any(isinstance(o, Container) for o in value) and self._is_uneven(frame, pos, made):
            return True
        op = made[0]
        if op == Op.ITER:
            return _is_ragged(frame.vals[made[2]] or _NO_VALUE) or self._yielded(frame, made, depth, seen)
        if op == Op.ITEM:
            return self._part(frame, pos, made, depth, seen)
        if op == Op.CALL:
            return self._made(frame, pos, made, depth, seen)
        if op == Op.ATTR and any(isinstance(o, Inst) for o in frame.vals[made[2]] or _NO_VALUE):
            return False  # where the object comes from says nothing of what it keeps
        return any(self._slot(frame, pos, each, depth, seen) for each in operands(made))

    def _by_data(self, frame: Frame, pos: int, made: Instr, depth: int, seen: _Seen) -> bool:
        """Whether a size that only a run knows follows from data: that of a batch is the same but for the last."""
        parts = list(_given(frame, made)) if made[0] == Op.CALL else operands(made)
        sources = [slot for slot in parts if _is_dynamic(frame.vals[slot] or _NO_VALUE)]
        callees = made[0] == Op.CALL and any(how == "call" for _, how in callees_at(frame, made[-1]))
        if callees or (made[0] == Op.CALL and any(_lists(frame.vals[slot] or _NO_VALUE) for slot in parts)):
            return self._made(frame, pos, made, depth, seen)
        if made[0] in (Op.ITEM, Op.ITER) and _is_ragged(frame.vals[made[2]] or _NO_VALUE):
            return True
        if made[0] in (Op.ITEM, Op.ITER, Op.UNPACK) and is_batched(self.answers, frame, made[2]):
            return False
        if sources:
            return any(self._slot(frame, pos, slot, depth, seen) for slot in sources)
        if not any(_is_batch(frame.vals[slot] or _NO_VALUE) for slot in parts):
            return True
        return made[0] == Op.ITEM or (made[0] == Op.CALL and not _CHOOSE.isdisjoint(_names(frame, made)))

    def _parameter(self, frame: Frame, slot: int, depth: int, seen: _Seen) -> bool:
        place = next((i for i, p in enumerate(frame.code.params) if p.slot == slot), -1)
        if place < 0 or not depth:
            return False
        for caller, pos in frame.incoming:
            if caller is not None and caller is not frame and not frame.started_by(caller, pos):
                given = self.answers.argument(caller, pos, frame, place)
                if given >= 0 and self._slot(caller, pos, given, depth - 1, seen):
                    return True
        return False

    def _part(self, frame: Frame, pos: int, item: Instr, depth: int, seen: _Seen) -> bool:
        """Of a slice one end that moves without the other; of a choice by numbers or truth values how many they are."""
        index = index_of(frame.code)
        made = index.source(item[3])
        for part in [slot for slot, _ in made[2]] if made is not None and made[0] == Op.TUPLE else [item[3]]:
            cut = index.source(part)
            if cut is None or cut[0] != Op.SLICE:
                if self._slot(frame, pos, part, depth, seen):
                    return True
                continue
            ends = [slot for slot in cut[2:4] if slot != NO_SLOT and frame.vals[slot] != NONE.value]
            moved = [self.answers.moves(frame, pos, slot) for slot in ends]
            if sum(moved) == 1:
                return True
            if any(moved):
                return self._apart(frame, pos, *ends)
        if all(isinstance(o, Container) and o.kind == "dict" for o in frame.vals[item[2]] or _NO_VALUE):
            return False  # how many keys there are is not what one of them holds
        return _is_ragged(frame.vals[item[2]] or _NO_VALUE) or self._slot(frame, pos, item[2], depth, seen)

    def _apart(self, frame: Frame, pos: int, start: int, end: int) -> bool:
        """Whether two ends that move do so by data: both read of one record, or one the other and a length that moves.

        `x[i : i + 8]` is as long each time, and of ends whose relation is not seen nothing is said.
        """
        index = index_of(frame.code)
        first, last = index.source(start), index.source(end)
        if first is None or last is None:
            return False
        if first[0] in _PARTS and last[0] == first[0]:
            return index.original(start) != index.original(end) and index.original(first[2]) == index.original(last[2])
        if last[0] not in (Op.BINARY, Op.INPLACE):
            return False
        lengths = [slot for slot in last[3:5] if index.original(slot) != index.original(start)]
        return len(lengths) == 1 and self.answers.moves(frame, pos, lengths[0])

    def _made(self, frame: Frame, pos: int, call: Instr, depth: int, seen: _Seen) -> bool:
        """An operation that is given a number which moves and makes a size of it, or tensors of changing size."""
        callees = [callee for callee, how in callees_at(frame, call[-1]) if how == "call"]
        if callees:
            inside = ((callee, i) for callee in callees for i in index_of(callee.code).of(Op.RETURN))
            return bool(depth) and any(self._slot(f, i[-1], i[2], depth - 1, seen) for f, i in inside)
        given = list(_given(frame, call))
        if not _PADS.isdisjoint(_names(frame, call)) and len(call[3]) == 1 and "maxlen" not in dict(call[4]):
            return self.answers.moves(frame, pos, call[3][0][0])
        numbers = [s for s in given if any(_is_number(o) for o in frame.vals[s] or ())]
        # Where a tensor is given whose size is not known, that may be why the result's is not.
        open_too = any(isinstance(o, Tensor) and not _is_sized(o.value) for s in given for o in frame.vals[s] or ())
        if not open_too and any(self._counts(frame, pos, slot, depth, seen) for slot in numbers):
            return True
        return any(self._slot(frame, pos, slot, depth, seen) for slot in given)

    def _counts(self, frame: Frame, pos: int, slot: int, depth: int, seen: _Seen) -> bool:
        """Whether a number is another one each time; the length of a part is where the part is of another size."""
        index = index_of(frame.code)
        made = index.source(slot)
        if made is not None and made[0] == Op.CALL and made[3] and _names(frame, made) == {"builtins.len"}:
            part = index.source(made[3][0][0])
            cut = index.source(part[3]) if part is not None and part[0] == Op.ITEM else None
            if part is not None and cut is not None and cut[0] == Op.SLICE:
                return self._part(frame, pos, part, depth, seen)
        return self.answers.moves(frame, pos, slot)

    def _yielded(self, frame: Frame, element: Instr, depth: int, seen: _Seen) -> bool:
        """Whether a generator of the project makes each of its elements of another size."""
        made = index_of(frame.code).source(element[2])
        if made is None or made[0] != Op.CALL or not depth:
            return False
        callees = [callee for callee, how in callees_at(frame, made[-1]) if how == "call" and callee.code.is_generator]
        inside = ((callee, i) for callee in callees for i in index_of(callee.code).of(Op.YIELD))
        return any(i[2] != NO_SLOT and self._slot(f, i[-1], i[2], depth - 1, seen) for f, i in inside)

    def _is_uneven(self, frame: Frame, pos: int, made: Instr) -> bool:
        """Whether a list has as many elements as a loop without a fixed number of turns gave it."""
        if made[0] not in (Op.LIST, Op.SET, Op.DICT):
            return False
        index = index_of(frame.code)
        appends = [i for name in APPENDS for i in index.attributes.get(name, ()) if index.original(i[2]) == made[1]]
        for instr, loops in filling(index, made, appends):
            growth = frame.code.appends.get(instr[-1])
            if any(not loop.is_for for loop in loops) or (loops and growth is not None and growth.guarded):
                return True
            if any(loop.iterable >= 0 and self._turns_move(frame, pos, loop.iterable) for loop in loops):
                return True
        return False

    def _turns_move(self, frame: Frame, pos: int, slot: int) -> bool:
        """Whether a loop over numbers or over texts has another number of turns each time."""
        value = frame.vals[slot] or _NO_VALUE
        plain = [o for o in value if isinstance(o, (Stream, Container)) and getattr(o, "count", None) in (None, -1)]
        return bool(plain) and self.answers.moves(frame, pos, slot)


def is_batched(answers: Moving, frame: Frame, slot: int, depth: int = _FAR) -> bool:
    """Whether something is taken from a dataset whose batches are of examples of one size: others make no batch."""
    index = index_of(frame.code)
    made = index.source(slot) if depth > 0 else None
    if made is None:
        place = next((i for i, p in enumerate(frame.code.params) if p.slot == index.original(slot)), -1)
        sites = [(c, pos) for c, pos in frame.incoming if c is not None and c is not frame] if place >= 0 else []
        given = [(caller, answers.argument(caller, pos, frame, place)) for caller, pos in sites]
        return bool(given) and all(s >= 0 and is_batched(answers, c, s, depth // 2) for c, s in given)
    if made[0] in (Op.ITEM, Op.ITER, Op.UNPACK):
        return is_batched(answers, frame, made[2], depth - 1)
    if made[0] == Op.PHI:
        ways = [source for _, source in made[2] if index.original(source) != made[1]]
        return bool(ways) and all(is_batched(answers, frame, way, depth // 2) for way in ways)
    if made[0] != Op.CALL:
        return False
    func = index.source(made[2])
    callees = [callee for callee, how in callees_at(frame, made[-1]) if how == "call"]
    results = [(c, i[2]) for c in callees for i in index_of(c.code).of(Op.RETURN) if i[2] != NO_SLOT]
    if results:
        return all(is_batched(answers, callee, result, depth // 2) for callee, result in results)
    if func is not None and func[0] == Op.ATTR:
        if func[3] == "batch":
            return not _is_one(frame, made)
        if func[3] == "map" and _opens(frame.vals[func[2]] or _NO_VALUE, frame.vals[made[1]] or _NO_VALUE):
            return False
        return func[3] not in _UNEVEN and is_batched(answers, frame, func[2], depth - 1)
    return bool(made[3]) and is_batched(answers, frame, made[3][0][0], depth - 1)


def _is_one(frame: Frame, call: Instr) -> bool:
    """Whether a call makes batches of one example, which may be of any size."""
    sizes = frame.vals[call[3][0][0]] or _NO_VALUE if call[3] else _NO_VALUE
    return bool(sizes) and all(isinstance(o, Lit) and o.const == 1 for o in sizes)


def _opens(before: Value, after: Value) -> bool:
    """Whether what is mapped over whole batches makes inner sizes that only a run knows: those of a padded text."""
    inner = [
        any(DYNAMIC in (o.shape or ())[1:] or o.kind == RAGGED for stream in value for o in _held(stream))
        for value in (before, after)
    ]
    return inner[1] and not inner[0]


def _held(obj: object) -> Iterator[Tensor]:
    """The tensors in the elements of a dataset."""
    for each in obj.element if isinstance(obj, Stream) else ():
        if isinstance(each, Tensor):
            yield each
        elif isinstance(each, Tup):
            yield from (o for item in each.items for o in item if isinstance(o, Tensor))
        elif isinstance(each, Container):
            yield from (o for cell in each.fields.values() for o in cell.value if isinstance(o, Tensor))


def _given(frame: Frame, call: Instr) -> Iterator[int]:
    """The arguments of a call, those in displays one by one, and its receiver."""
    index = index_of(frame.code)
    todo = [slot for slot, _ in call[3]] + [slot for _, slot in call[4]]
    func = index.source(call[2])
    if func is not None and func[0] == Op.ATTR:
        todo.append(func[2])
    while todo:
        slot = todo.pop()
        made = index.source(slot)
        if made is not None and made[0] == Op.TUPLE:
            todo += [each for each, _ in made[2]]
        elif made is not None and made[0] == Op.LIST:
            yield slot
            todo += [each for each, _ in made[2]]
        else:
            yield slot


def _names(frame: Frame, call: Instr) -> set[str]:
    """The library functions that a call calls."""
    return {o.name for o in frame.vals[call[2]] or () if isinstance(o, Lib)}


def _is_number(obj: object) -> bool:
    return (isinstance(obj, Prim) and obj.kind == "int") or (isinstance(obj, Lit) and obj.varies and obj.kind == "int")


def _is_sized(value: Value) -> bool:
    """Whether all that a slot may hold is of one size that flow knows."""
    shapes = {o.shape for o in value if isinstance(o, Tensor) and o.kind != RAGGED}
    known = len(shapes) == 1 and all(shape is not None and min(shape, default=0) >= 0 for shape in shapes)
    return known and all(isinstance(o, Tensor) and o.kind != RAGGED for o in value)


def _is_dynamic(value: Value) -> bool:
    return any(isinstance(o, Tensor) and DYNAMIC in (o.shape or ()) for o in value)


def _is_batch(value: Value) -> bool:
    """Whether tensors have as many rows as a batch has examples."""
    return any(isinstance(o, Tensor) and o.shape and o.shape[0] <= BATCH for o in value)


def _lists(value: Value) -> bool:
    return any(isinstance(o, Container) for o in value)


def _is_ragged(value: Value) -> bool:
    return any(isinstance(o, Tensor) and o.kind == RAGGED for o in value)


def resizing(project: ProjectView) -> Resizing:
    """That of a program, made when first asked for."""
    return project.shared("resizing", lambda: Resizing(moving(project)))


def resizing_from_elsewhere(project: ProjectView) -> Resizing:
    """The same where callers elsewhere count."""
    return project.shared("resizing from elsewhere", lambda: Resizing(from_elsewhere(project)))
