"""Where a function reads sizes that must be known when it is traced: an input signature must not hide them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridize.domain.calls import BY_OTHERS, UNORDERED, How
from hybridize.domain.nesting import held
from hybridize.domain.objects import (
    BOTTOM,
    NONE,
    NONE_V,
    Bound,
    Func,
    Lib,
    LibInst,
    Lit,
    Obj,
    Tensor,
    Tup,
    Unknown,
    Value,
)
from hybridize.domain.tensors import UNRESOLVED, Dim, is_dynamic
from hybridize.facts.calls.callgraph import extent, has_own_gradient
from hybridize.facts.model import Evidence
from hybridize.facts.origins import called_at, definitions
from hybridize.facts.symbolic import Symbolic
from hybridize.flow.frames import Frame
from hybridize.library.dialect import LAYERS, SIZE_QUESTIONS
from hybridize.program import ir
from hybridize.program.index import index_of
from hybridize.program.ir import Code, Instr
from hybridize.program.operands import written

#: What is called so asks nothing of the tensors of its caller.
_APART: Final = UNORDERED | BY_OTHERS
#: Layers that take any shape.
_SHAPELESS: Final = (
    "Activation",
    "Add",
    "Average",
    "Concatenate",
    "Cropping",
    "Dropout",
    "ELU",
    "Embedding",
    "Flatten",
    "Gaussian",
    "Global",
    "Identity",
    "Lambda",
    "LeakyReLU",
    "Masking",
    "Max",
    "Minimum",
    "Multiply",
    "Permute",
    "ReLU",
    "Rescaling",
    "Softmax",
    "SpatialDropout",
    "Subtract",
    "UpSampling",
    "ZeroPadding",
)
#: Layers that may make the last axis of others.
_FOLDING: Final = ("keras.layers.Flatten", "keras.layers.Permute", "keras.layers.Reshape")
_DEEP: Final = 6
_FAR: Final = 30
_LAST: Final = (-1,)
#: The last axis as a layer reads it: its weights are of that size, so it is the same at every call.
_OF_LAYER: Final = (-1, -1)
_RANKS: Final = frozenset({"rank", "ndims"})
#: In place of an axis: how many there are.
_RANK: Final = 1 << 30


class StaticReads:
    """The reads in the traced extent of functions."""

    def __init__(self, symbolic: Symbolic, questions: frozenset[str] = SIZE_QUESTIONS) -> None:
        self.symbolic = symbolic
        self._questions = questions
        self._places: dict[Code, list[ir.Call | ir.Unpack | ir.Attr]] = {}

    def conflict(
        self,
        frames: Sequence[Frame],
        *,
        any_rank: bool,
        any_batch: bool = False,
        last_known: bool = False,
        relaxed: bool = False,
        any_size: bool = False,
        unseen: bool = False,
    ) -> Evidence | None:
        """A read of a size that differs from call to call; None where there is none. As for `conflicts`."""
        found = self.conflicts(
            frames,
            any_rank=any_rank,
            any_batch=any_batch,
            last_known=last_known,
            relaxed=relaxed,
            any_size=any_size,
            unseen=unseen,
        )
        return next((here for here, _ in found), None)

    def conflicts(
        self,
        frames: Sequence[Frame],
        *,
        any_rank: bool,
        any_batch: bool = False,
        last_known: bool = False,
        sure: bool = False,
        relaxed: bool = False,
        any_size: bool = False,
        unseen: bool = False,
    ) -> Iterator[tuple[Evidence, int]]:
        """The reads of sizes that differ from call to call, each with its position; one may come several times.

        What is the same constant in every context does not depend on a size that the signature leaves open. With
        `any_rank` every read of a size or rank counts, with `any_batch` every one of the first axis, with `any_size` of
        any axis but the last one of several. With `last_known`
        the signature gives every last axis: what layers need of a tensor of which the analysis knows less is there.
        With `relaxed` only sizes become unknown that differ between calls: not those that the weights of layers have;
        and the rank, once tensors of another one arrive: where it is asked for, and not known to be always the same.
        With `unseen` callers whom nobody sees pass what has other sizes than all that is seen.
        With `sure` only those count that lead to the signature: what the function reads of its own parameters; and
        sizes that are None, or as large as one of an argument, elsewhere; nothing that layers need.
        """
        known: dict[tuple[Code, int, Dim], Dim] = {}
        own = frozenset(frames)
        sizes = _sizes(frames) if sure else frozenset()
        if any_size:
            yield from self._folded(frames)
        for frame in extent(frames, _APART):
            if not sure:
                yield from _of_gradients(frame)
            for instr in self._reads(frame.code):
                if sure and all(slot >= 0 and frame.vals[slot] is None for slot in written(instr)):
                    continue  # control never gets there in the calls that are seen
                for said, slot, axes in _read(frame, instr, self._questions):
                    if not self.symbolic.symbolic(frame, slot):
                        continue  # of a variable or constant
                    here = Evidence(said, frame.code.path, instr.position >> 16)
                    computed = sure and not (frame in own and self._is_given(frame.code, slot))
                    if any_rank and not (computed or (sure and _has_shape(frame, slot))):
                        yield here, instr.position
                        continue
                    if (last_known and axes in (_LAST, _OF_LAYER)) or ((relaxed or sure) and axes == _OF_LAYER):
                        continue
                    if unseen:
                        yield here, instr.position
                        continue
                    for axis, dim in _dims(frame, slot, axes, named=isinstance(instr, ir.Attr)):
                        if (axis == _RANK and not relaxed) or (computed and not (is_dynamic(dim) or dim in sizes)):
                            continue
                        if (
                            (any_batch and axis == 0)
                            or (any_size and axis < max(_rank(frame, slot) - 1, 1))
                            or dim < 0
                            or known.setdefault((frame.code, instr.position, axis), dim) != dim
                        ):
                            yield here, instr.position

    def _folded(self, frames: Sequence[Frame]) -> Iterator[tuple[Evidence, int]]:
        """What makes a last axis of sizes that a signature leaves open, where a layer has weights of the last axis."""
        found: list[tuple[Evidence, int]] = []
        weighs = False
        for frame in extent(frames, _APART):
            for instr in self._reads(frame.code):
                weighs = weighs or any(axes == _OF_LAYER for _, _, axes in _read(frame, instr, self._questions))
                for said, slot in _folds(frame, instr):
                    if self.symbolic.symbolic(frame, slot):
                        found.append((Evidence(said, frame.code.path, instr.position >> 16), instr.position))
        yield from found if weighs else ()

    @staticmethod
    def _is_given(code: Code, slot: int) -> bool:
        """Whether a slot holds a parameter itself."""
        original = index_of(code).original(slot)
        return code.place_of(original) >= 0

    def _reads(self, code: Code) -> list[ir.Call | ir.Unpack | ir.Attr]:
        found = self._places.get(code)
        if found is None:
            flat = self.symbolic.instructions(code)
            found = [
                i
                for i in flat
                if isinstance(i, (ir.Call, ir.Unpack)) or (isinstance(i, ir.Attr) and i.name in ("shape", "ndim"))
            ]
            self._places[code] = found
        return found


def _sizes(frames: Sequence[Frame]) -> frozenset[Dim]:
    """The sizes of the tensors that calls pass."""
    given = (o for frame in frames for value in frame.args for o in value if isinstance(o, Tensor))
    return frozenset(dim for tensor in given for dim in tensor.shape or () if dim > 1)


def _has_shape(frame: Frame, slot: int) -> bool:
    """Whether the analysis knows the rank of a tensor: the signature's is not the one of unknown rank."""
    return any(isinstance(o, Tensor) and o.shape is not None for o in frame.vals[slot] or ())


def _read(
    frame: Frame, instr: ir.Attr | ir.Call | ir.Unpack, questions: frozenset[str]
) -> Iterator[tuple[str, int, tuple[int, ...] | None]]:
    """What an instruction reads: a sentence, the slot of the tensor, and the axes (None: all of them)."""
    if isinstance(instr, ir.Attr):
        yield f"reads `.{instr.name}`", instr.owner, _shape_axes(frame, instr)
    elif isinstance(instr, ir.Unpack):
        if any(isinstance(o, (Tensor, Unknown)) for o in frame.vals[instr.source] or ()):  # tuples are no tensors
            yield "unpacks a tensor", instr.source, (0,)
    elif instr.arguments and not instr.arguments[0][1]:
        first = instr.arguments[0][0]
        for obj in frame.vals[instr.function] or ():
            if isinstance(obj, Lib) and obj.name in questions and not _is_told(frame, instr, obj.name):
                axes = _axis_argument(frame, instr) if obj.name in ("builtins.len", "tf.unstack") else None
                yield f"`{obj.name.removeprefix('builtins.')}` needs the size", first, axes
            elif isinstance(obj, LibInst) and obj.cls.startswith(LAYERS):
                free = obj.cls.removeprefix("keras.layers.").startswith(_SHAPELESS)
                yield f"`{obj.cls}` needs the size of the last axis", first, () if free else _OF_LAYER
        if any(_asks_size(built.code) for built in called_at(frame, instr.position, (How.BUILD,))):
            yield "builds a layer for the size of the last axis", first, _OF_LAYER
    if isinstance(instr, ir.Call):
        for obj in frame.vals[instr.function] or ():
            if isinstance(obj, Bound) and obj.func in ("get_shape", ":get_shape"):
                yield from _get_shape(frame, instr)


def _folds(frame: Frame, instr: Instr) -> Iterator[tuple[str, int]]:
    """What a call makes a last axis of other axes than the first of, and its tensor; nothing where there are two."""
    if not isinstance(instr, ir.Call) or not instr.arguments or instr.arguments[0][1]:
        return
    first = instr.arguments[0][0]
    called = frame.vals[instr.function] or ()
    shapes = [o.shape for o in frame.vals[first] or () if isinstance(o, Tensor)]
    # Of a loop over layers that is followed one by one, the slot holds what came last.
    flat = len(called) == 1 and all(shape is not None and len(shape) == 2 for shape in shapes)
    for obj in called:
        if isinstance(obj, LibInst):
            layer = next(filter(_folds_into_last, _layers(obj)), None)
            if layer is not None and not flat:
                yield f"`{layer.cls}` makes the last axis of others", first
        elif isinstance(obj, Lib) and obj.name == "tf.reshape" and _reshapes_open(frame, instr):
            yield "`tf.reshape` makes the last axis of others", first


def _layers(layer: LibInst) -> list[LibInst]:
    """A layer, or those of a `Sequential` that its calls build: one that knows its input is built already."""
    if not layer.cls.startswith("keras.Sequential"):
        return [layer]
    inner = [o for o in held([layer], _DEEP, _parts) if isinstance(o, LibInst)]
    built = any(o.cls == "keras.layers.InputLayer" or "input_shape" in o.fields for o in inner)
    return [] if built else inner


def _parts(obj: Obj) -> list[Value]:
    return list(obj.items) if isinstance(obj, Tup) else [cell.value for cell in getattr(obj, "fields", {}).values()]


def _folds_into_last(layer: LibInst) -> bool:
    asked = layer.fields.get("target_shape")
    return layer.cls in _FOLDING and (asked is None or _infers_last(asked.value, 1))


def _reshapes_open(frame: Frame, call: ir.Call) -> bool:
    """Whether `tf.reshape` is told no size for the last of several axes."""
    slot = dict(call.keywords).get("shape", call.arguments[1][0] if len(call.arguments) > 1 else -1)
    made = definitions(frame.code).get(slot)
    if not isinstance(made, (ir.List, ir.Tuple)) or not made.elements or made.elements[-1][1]:
        return _infers_last(frame.vals[slot] or BOTTOM if slot >= 0 else BOTTOM, 2)
    return len(made.elements) > 1 and not _is_size(frame.vals[made.elements[-1][0]] or BOTTOM)


def _is_size(value: Value) -> bool:
    """Whether all that a value may be are sizes that are known."""
    return bool(value) and all(isinstance(o, Lit) and isinstance(o.const, int) and o.const >= 0 for o in value)


def _infers_last(shape: Value, least: int) -> bool:
    """Whether a shape of so many axes leaves the last to be inferred, or does not say what it is."""
    for obj in shape:
        if not isinstance(obj, Tup):
            return True
        if len(obj.items) >= least and not _is_size(obj.items[-1]):
            return True
    return not shape


def _is_told(frame: Frame, call: ir.Call, name: str) -> bool:
    """Whether `tf.unstack` is given the number of tensors that it makes: it asks for no size then."""
    slot = dict(call.keywords).get("num", call.arguments[1][0] if len(call.arguments) > 1 else -1)
    return name == "tf.unstack" and slot >= 0 and NONE not in (frame.vals[slot] or NONE_V)


def _asks_size(build: Code) -> bool:
    """Whether a `build` does more with the shape that it is given than to hand it on to another `build`."""
    known = definitions(build)
    for param in build.params[1:]:
        for use in index_of(build).uses.get(param.slot, ()):
            made = known.get(use.function) if isinstance(use, ir.Call) else None
            if not isinstance(made, ir.Attr) or made.name != "build":
                return True
    return False


def _axis_argument(frame: Frame, call: ir.Call) -> tuple[int, ...] | None:
    """The axis that a call names (the first by default); None where it is not a known constant."""
    slot = dict(call.keywords).get("axis", call.arguments[2][0] if len(call.arguments) > 2 else -1)
    if slot < 0:
        return (0,)
    constants = [o.const for o in frame.vals[slot] or () if isinstance(o, Lit) and isinstance(o.const, int)]
    return (constants[0],) if len(constants) == 1 else None


def _shape_axes(frame: Frame, instr: ir.Attr) -> tuple[int, ...] | None:
    return (_RANK,) if instr.name == "ndim" else _axes(frame, instr.target, _rank(frame, instr.owner))


def _get_shape(frame: Frame, instr: ir.Call) -> Iterator[tuple[str, int, tuple[int, ...] | None]]:
    made = definitions(frame.code).get(instr.function)
    if isinstance(made, ir.Attr):
        yield "reads `.get_shape()`", made.owner, _axes(frame, instr.target, _rank(frame, made.owner))


def _axes(frame: Frame, shape: int, rank: int, depth: int = 6) -> tuple[int, ...] | None:
    """The axes of a shape that the function uses: constants by which it is indexed or sliced, else all."""
    found: list[int] = []
    if _asks_each(frame, shape):
        return ()
    for instr in index_of(frame.code).uses.get(shape, ()):
        used = _used(frame, instr, shape, rank, depth) if depth else None
        if used is None:
            return None
        found += used
    return tuple(dict.fromkeys(found))


def _used(frame: Frame, instr: Instr, shape: int, rank: int, depth: int) -> Sequence[int] | None:
    """The axes that one use of a shape reads."""
    if isinstance(instr, ir.Item) and instr.source == shape:
        axes = _indexed(frame, instr.index, rank)
        return [a for a in axes if not _expects_none(frame, shape, a)] if axes is not None else None
    if isinstance(instr, ir.Format) or (
        isinstance(instr, ir.Binary) and instr.operator == "%" and instr.right == shape
    ):
        return ()  # a text for people
    if isinstance(instr, ir.Unpack) and instr.star < 0:
        return [axis for axis, slot in enumerate(instr.targets) if index_of(frame.code).uses.get(slot, ())]
    if isinstance(instr, ir.Passing):
        return _axes(frame, instr.target, rank, depth - 1)
    if isinstance(instr, ir.Attr):
        if instr.name in _RANKS:
            return (_RANK,)
        return _axes(frame, instr.target, rank, depth - 1) if instr.name == "as_list" else None
    if isinstance(instr, ir.Call):
        names = {o.name for o in frame.vals[instr.function] or () if isinstance(o, Lib)}
        if names == {"builtins.len"}:
            return (_RANK,)
        if instr.function == shape or (names and names <= {"builtins.list", "builtins.tuple"}):
            return _axes(frame, instr.target, rank, depth - 1)
    return None


def _expects_none(frame: Frame, shape: int, axis: int) -> bool:
    """Whether the function asks if a size is None: then it has another way for a size that is not known."""
    made = definitions(frame.code).get(shape)
    if not isinstance(made, ir.Attr):
        return False
    index = index_of(frame.code)
    shapes = {i.target for i in index.of(ir.Attr) if (i.owner, i.name) == (made.owner, made.name)}
    for instr in index.of(ir.Compare):
        if instr.operator in ("is", "is not"):
            asked = definitions(frame.code).get(instr.left)
            if not isinstance(asked, ir.Item) or asked.source not in shapes:
                continue
            if axis in (_indexed(frame, asked.index, -1) or ()):
                return True
    return False


def _asks_each(frame: Frame, shape: int) -> bool:
    """Whether the function goes through the sizes of a shape and asks of each if it is None."""
    index = index_of(frame.code)
    todo, seen, goes = [(shape, False)], set[int](), False
    while todo:
        slot, goes = todo.pop()
        if slot in seen or len(seen) > _FAR:
            continue
        seen.add(slot)
        for use in index.uses.get(slot, ()):
            if isinstance(use, ir.Compare) and goes and use.operator in ("is", "is not") and use.left == slot:
                return True
            builtin = isinstance(use, ir.Call) and use.function != slot and _is_builtin(frame, use.function)
            if builtin or isinstance(use, (ir.Copy, ir.Iter, ir.Unpack)):
                todo += [(each, goes or isinstance(use, ir.Iter)) for each in written(use)]
    return False


def _is_builtin(frame: Frame, slot: int) -> bool:
    return any(isinstance(o, Lib) and o.name.startswith("builtins.") for o in frame.vals[slot] or ())


def _indexed(frame: Frame, index: int, rank: int) -> Sequence[int] | None:
    constants = [o.const for o in frame.vals[index] or () if isinstance(o, Lit) and isinstance(o.const, int)]
    if len(constants) == 1:
        return constants
    made = definitions(frame.code).get(index)
    if not isinstance(made, ir.Slice) or rank < 0:
        return None
    bounds: list[int | None] = []
    for slot in (made.lower, made.upper, made.step):
        known = [o.const for o in frame.vals[slot] or () if isinstance(o, Lit)] if slot >= 0 else [None]
        if len(known) != 1 or not (known[0] is None or isinstance(known[0], int)):
            return None
        bounds.append(known[0])
    return range(rank)[slice(*bounds)]


def _rank(frame: Frame, slot: int) -> int:
    ranks = {len(o.shape) if o.shape is not None else -1 for o in frame.vals[slot] or () if isinstance(o, Tensor)}
    return ranks.pop() if len(ranks) == 1 else -1


def _dims(frame: Frame, slot: int, axes: tuple[int, ...] | None, *, named: bool) -> Iterator[tuple[int, Dim]]:
    """The dims that are read, by axis; an unknown shape has unknown ones, as has what is `named` to have a shape.

    In place of `_RANK` there is the number of axes.
    """
    for obj in frame.vals[slot] or ():
        if not isinstance(obj, Tensor) and not (named and isinstance(obj, Unknown)):
            continue
        if isinstance(obj, Unknown) or obj.shape is None:
            yield from ((axis, UNRESOLVED) for axis in (axes if axes is not None else (0,)))
            continue
        for axis in range(len(obj.shape)) if axes is None else axes:
            if axis == _RANK:
                yield axis, len(obj.shape)
            elif -len(obj.shape) <= axis < len(obj.shape):
                yield axis % len(obj.shape), obj.shape[axis]


def _of_gradients(frame: Frame) -> Iterator[tuple[Evidence, int]]:
    """The shapes that the gradient of a function reads, which TensorFlow calls where nobody follows it."""
    if not has_own_gradient(frame.code):
        return
    for obj in held(frame.ret, 1, lambda o: list(o.items) if isinstance(o, Tup) else []):
        if isinstance(obj, Func):
            for instr in index_of(obj.code).of(ir.Attr):
                if instr.name == "shape":
                    said = "reads `.shape` in a gradient of the program's own"
                    yield Evidence(said, obj.code.path, instr.position >> 16), instr.position
