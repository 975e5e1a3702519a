"""Whether a call passes tensors of another size each time: rows that data choose, sizes that a loop counts, lists that
differ in length. What only moves (another part of the same length, another batch) is of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hybridize.domain.calls import BY_CALL
from hybridize.domain.objects import NONE, Container, Inst, Lib, Lit, Prim, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import BATCH, DYNAMIC, RAGGED
from hybridize.facts.functions.rounds import is_sized
from hybridize.facts.origins import called_at
from hybridize.flow.frames import Frame
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import NO_SLOT, Instr
from hybridize.program.operands import arguments, operands
from hybridize.tracing.retraced.moving import Moving, from_elsewhere, moving
from hybridize.tracing.running.loops import ADDS, filling
from hybridize.tracing.views import ProjectView, is_mutable_container

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
_PARTS: Final = (ir.Item, ir.Unpack)
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
        chosen = isinstance(made, ir.Call) and not _CHOOSE.isdisjoint(_names(frame, made))
        return chosen and self.resizes(frame, pos, slot)

    def may_resize(self, frame: Frame, pos: int, slot: int) -> bool:
        """Whether a slot holds something else each time, and no part that is cut as long each time (`x[i : i + 8]`)."""
        index = index_of(frame.code)
        item = index.source(slot)
        if isinstance(item, ir.Item) and isinstance(cut := index.source(item.index), ir.Slice):
            ends = [end for end in (cut.lower, cut.upper) if end != NO_SLOT and self.answers.moves(frame, pos, end)]
            if len(ends) == 2 and not self._apart(frame, pos, *ends):
                return False
        return self.answers.moves(frame, pos, slot)

    def _slot(self, frame: Frame, pos: int, slot: int, depth: int, seen: _Seen) -> bool:
        index = index_of(frame.code)
        slot = index.original(slot)
        value = frame.vals[slot] or _NO_VALUE
        if (frame, slot) in seen or len(seen) > _FAR or is_sized(value):
            return False
        seen.add((frame, slot))
        made = index.definitions.get(slot)
        if made is None:
            return self._parameter(frame, slot, depth, seen)
        if _is_dynamic(value):
            return self.answers.moves(frame, pos, slot) and self._by_data(frame, pos, made, depth, seen)
        if any(isinstance(o, Container) for o in value) and self._is_uneven(frame, pos, made):
            return True
        if isinstance(made, ir.Iter):
            return _is_ragged(frame.vals[made.source] or _NO_VALUE) or self._yielded(frame, made, depth, seen)
        if isinstance(made, ir.Item):
            return self._part(frame, pos, made, depth, seen)
        if isinstance(made, ir.Call):
            return self._made(frame, pos, made, depth, seen)
        if isinstance(made, ir.Attr) and any(isinstance(o, Inst) for o in frame.vals[made.owner] or _NO_VALUE):
            return False  # where the object comes from says nothing of what it keeps
        return any(self._slot(frame, pos, each, depth, seen) for each in operands(made))

    def _by_data(self, frame: Frame, pos: int, made: Instr, depth: int, seen: _Seen) -> bool:
        """Whether a size that only a run knows follows from data: that of a batch is the same but for the last."""
        parts = list(_given(frame, made)) if isinstance(made, ir.Call) else operands(made)
        sources = [slot for slot in parts if _is_dynamic(frame.vals[slot] or _NO_VALUE)]
        if isinstance(made, ir.Call) and (
            bool(called_at(frame, made.position, BY_CALL))
            or any(is_mutable_container(frame.vals[slot] or _NO_VALUE) for slot in parts)
        ):
            return self._made(frame, pos, made, depth, seen)
        if isinstance(made, (ir.Item, ir.Iter)) and _is_ragged(frame.vals[made.source] or _NO_VALUE):
            return True
        if isinstance(made, ir.Part) and is_batched(self.answers, frame, made.source):
            return False
        if sources:
            return any(self._slot(frame, pos, slot, depth, seen) for slot in sources)
        if not any(_is_batch(frame.vals[slot] or _NO_VALUE) for slot in parts):
            return True
        return isinstance(made, ir.Item) or (isinstance(made, ir.Call) and not _CHOOSE.isdisjoint(_names(frame, made)))

    def _parameter(self, frame: Frame, slot: int, depth: int, seen: _Seen) -> bool:
        place = frame.code.place_of(slot)
        if place < 0 or not depth:
            return False
        for caller, pos, _ in frame.seen_calls():
            if caller is not frame:
                given = self.answers.argument(caller, pos, frame, place)
                if given >= 0 and self._slot(caller, pos, given, depth - 1, seen):
                    return True
        return False

    def _part(self, frame: Frame, pos: int, item: ir.Item, depth: int, seen: _Seen) -> bool:
        """Of a slice one end that moves without the other; of a choice by numbers or truth values how many they are."""
        index = index_of(frame.code)
        made = index.source(item.index)
        for part in [slot for slot, _ in made.elements] if isinstance(made, ir.Tuple) else [item.index]:
            cut = index.source(part)
            if not isinstance(cut, ir.Slice):
                if self._slot(frame, pos, part, depth, seen):
                    return True
                continue
            ends = [slot for slot in (cut.lower, cut.upper) if slot != NO_SLOT and frame.vals[slot] != NONE.value]
            moved = [self.answers.moves(frame, pos, slot) for slot in ends]
            if sum(moved) == 1:
                return True
            if any(moved):
                return self._apart(frame, pos, *ends)
        if all(isinstance(o, Container) and o.kind == "dict" for o in frame.vals[item.source] or _NO_VALUE):
            return False  # how many keys there are is not what one of them holds
        return _is_ragged(frame.vals[item.source] or _NO_VALUE) or self._slot(frame, pos, item.source, depth, seen)

    def _apart(self, frame: Frame, pos: int, start: int, end: int) -> bool:
        """Whether two ends that move do so by data: both read of one record, or one the other and a length that moves.

        `x[i : i + 8]` is as long each time, and of ends whose relation is not seen nothing is said.
        """
        index = index_of(frame.code)
        first, last = index.source(start), index.source(end)
        if first is None or last is None:
            return False
        if isinstance(first, _PARTS) and type(last) is type(first):
            return index.original(start) != index.original(end) and index.original(first.source) == index.original(
                last.source
            )
        if not isinstance(last, ir.Operator):
            return False
        lengths = [slot for slot in operands(last) if index.original(slot) != index.original(start)]
        return len(lengths) == 1 and self.answers.moves(frame, pos, lengths[0])

    def _made(self, frame: Frame, pos: int, call: ir.Call, depth: int, seen: _Seen) -> bool:
        """An operation that is given a number which moves and makes a size of it, or tensors of changing size."""
        callees = called_at(frame, call.position, BY_CALL)
        if callees:
            inside = ((callee, i) for callee in callees for i in index_of(callee.code).of(ir.Return))
            return bool(depth) and any(self._slot(f, i.position, i.value, depth - 1, seen) for f, i in inside)
        given = list(_given(frame, call))
        if (
            not _PADS.isdisjoint(_names(frame, call))
            and len(call.arguments) == 1
            and "maxlen" not in dict(call.keywords)
        ):
            return self.answers.moves(frame, pos, call.arguments[0][0])
        numbers = [s for s in given if any(_is_number(o) for o in frame.vals[s] or ())]
        # Where a tensor is given whose size is not known, that may be why the result's is not.
        open_too = any(isinstance(o, Tensor) and not is_sized(o.value) for s in given for o in frame.vals[s] or ())
        if not open_too and any(self._counts(frame, pos, slot, depth, seen) for slot in numbers):
            return True
        return any(self._slot(frame, pos, slot, depth, seen) for slot in given)

    def _counts(self, frame: Frame, pos: int, slot: int, depth: int, seen: _Seen) -> bool:
        """Whether a number is another one each time; the length of a part is where the part is of another size."""
        index = index_of(frame.code)
        made = index.source(slot)
        if isinstance(made, ir.Call) and made.arguments and _names(frame, made) == {"builtins.len"}:
            part = index.source(made.arguments[0][0])
            if isinstance(part, ir.Item) and isinstance(index.source(part.index), ir.Slice):
                return self._part(frame, pos, part, depth, seen)
        return self.answers.moves(frame, pos, slot)

    def _yielded(self, frame: Frame, element: ir.Iter, depth: int, seen: _Seen) -> bool:
        """Whether a generator of the project makes each of its elements of another size."""
        made = index_of(frame.code).source(element.source)
        if not isinstance(made, ir.Call) or not depth:
            return False
        callees = [callee for callee in called_at(frame, made.position, BY_CALL) if callee.code.is_generator]
        inside = ((callee, i) for callee in callees for i in index_of(callee.code).of(ir.Yield))
        return any(i.value != NO_SLOT and self._slot(f, i.position, i.value, depth - 1, seen) for f, i in inside)

    def _is_uneven(self, frame: Frame, pos: int, made: Instr) -> bool:
        """Whether a list has as many elements as a loop without a fixed number of turns gave it."""
        if not isinstance(made, (ir.List, ir.Set, ir.Dict)):
            return False
        index = index_of(frame.code)
        appends = [i for name in ADDS for i in index.attributes.get(name, ()) if index.original(i.owner) == made.target]
        for instr, loops in filling(index, made, appends):
            growth = frame.code.appends.get(instr.position)
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
        place = frame.code.place_of(index.original(slot))
        sites = [(c, pos) for c, pos in frame.incoming if c is not None and c is not frame] if place >= 0 else []
        given = [(caller, answers.argument(caller, pos, frame, place)) for caller, pos in sites]
        return bool(given) and all(s >= 0 and is_batched(answers, c, s, depth // 2) for c, s in given)
    if isinstance(made, ir.Part):
        return is_batched(answers, frame, made.source, depth - 1)
    if isinstance(made, ir.Phi):
        ways = [source for _, source in made.incoming if index.original(source) != made.target]
        return bool(ways) and all(is_batched(answers, frame, way, depth // 2) for way in ways)
    if not isinstance(made, ir.Call):
        return False
    func = index.source(made.function)
    callees = called_at(frame, made.position, BY_CALL)
    results = [(c, i.value) for c in callees for i in index_of(c.code).of(ir.Return) if i.value != NO_SLOT]
    if results:
        return all(is_batched(answers, callee, result, depth // 2) for callee, result in results)
    if isinstance(func, ir.Attr):
        if func.name == "batch":
            return not _is_one(frame, made)
        if func.name == "map" and _opens(frame.vals[func.owner] or _NO_VALUE, frame.vals[made.target] or _NO_VALUE):
            return False
        return func.name not in _UNEVEN and is_batched(answers, frame, func.owner, depth - 1)
    return bool(made.arguments) and is_batched(answers, frame, made.arguments[0][0], depth - 1)


def _is_one(frame: Frame, call: ir.Call) -> bool:
    """Whether a call makes batches of one example, which may be of any size."""
    sizes = frame.vals[call.arguments[0][0]] or _NO_VALUE if call.arguments else _NO_VALUE
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


def _given(frame: Frame, call: ir.Call) -> Iterator[int]:
    """The arguments of a call, those in displays one by one, and its receiver."""
    index = index_of(frame.code)
    todo = arguments(call)
    func = index.source(call.function)
    if isinstance(func, ir.Attr):
        todo.append(func.owner)
    while todo:
        slot = todo.pop()
        made = index.source(slot)
        if isinstance(made, ir.Tuple):
            todo += [each for each, _ in made.elements]
        elif isinstance(made, ir.List):
            yield slot
            todo += [each for each, _ in made.elements]
        else:
            yield slot


def _names(frame: Frame, call: ir.Call) -> set[str]:
    """The library functions that a call calls."""
    return {o.name for o in frame.vals[call.function] or () if isinstance(o, Lib)}


def _is_number(obj: object) -> bool:
    return (isinstance(obj, Prim) and obj.kind == "int") or (isinstance(obj, Lit) and obj.varies and obj.kind == "int")


def _is_dynamic(value: Value) -> bool:
    return any(isinstance(o, Tensor) and DYNAMIC in (o.shape or ()) for o in value)


def _is_batch(value: Value) -> bool:
    """Whether tensors have as many rows as a batch has examples."""
    return any(isinstance(o, Tensor) and o.shape and o.shape[0] <= BATCH for o in value)


def _is_ragged(value: Value) -> bool:
    return any(isinstance(o, Tensor) and o.kind == RAGGED for o in value)


def resizing(project: ProjectView) -> Resizing:
    """That of a program, made when first asked for."""
    return project.shared("resizing", lambda: Resizing(moving(project)))


def resizing_from_elsewhere(project: ProjectView) -> Resizing:
    """The same where callers elsewhere count."""
    return project.shared("resizing from elsewhere", lambda: Resizing(from_elsewhere(project)))
