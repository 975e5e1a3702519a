"""Dims of tensors that a graph does not know: they depend on values, and only a run knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from hybridize.domain.objects import Container, LibInst, Lit, Prim, Stream, Tensor, Tup, Value
from hybridize.domain.tensors import NDARRAY, SPARSE, VARIABLE, Shape, is_dynamic
from hybridize.facts.origins import called_at
from hybridize.library.dialect import HOST_CALLS
from hybridize.program import ir
from hybridize.program.ir import Instr
from hybridize.program.operands import arguments, operands
from hybridize.tracing.control import control
from hybridize.tracing.shapes.opened import Dims as Dims
from hybridize.tracing.shapes.opened import OpenView, computed, given_to, indexed, moved, returned
from hybridize.tracing.shapes.sized import SHAPES, SIZED, broadcast, sized
from hybridize.tracing.structure import Branch, Site, Turning
from hybridize.tracing.values import argument, elements, has_tensor, own, uses
from hybridize.tracing.views import FrameView

#: Operations whose results have a first dim, or dims, that depend on values.
_SIZES: Final = frozenset(
    "tf.boolean_mask tf.unique tf.unique_with_counts tf.dynamic_partition tf.image.non_max_suppression "
    "tf.image.non_max_suppression_with_scores tf.ragged.boolean_mask tf.strings.unicode_decode "
    "tf.io.decode_raw tf.sets.difference tf.raw_ops.Unique tf.TensorArray.concat "
    "tf.math.segment_max tf.math.segment_mean tf.math.segment_min tf.math.segment_prod tf.math.segment_sum".split()
)
_IMAGES: Final = frozenset(f"tf.io.decode_{k}" for k in "png jpeg image bmp gif jpeg".split()) | frozenset(
    f"tf.image.decode_{k}" for k in "png jpeg image bmp gif jpeg".split()
)
#: Functions of the host, and bytes that say what they are: nothing is known of the shapes of their results.
_HOST: Final = HOST_CALLS | {"tf.io.parse_tensor"}
#: Operations whose results have the shape of their first argument.
_SAME: Final = frozenset(
    "tf.cast tf.identity tf.nn.relu tf.stop_gradient tf.sort tf.convert_to_tensor tf.clip_by_value tf.nn.softmax "
    "tf.zeros_like tf.ones_like".split()
) | frozenset(
    f"{package}.{name}"
    for package in ("tf", "tf.math")
    for name in "abs square sqrt rsqrt exp log sin cos tan sigmoid tanh round floor ceil sign negative".split()
)
#: Operations that take one axis away, or add one.
_AXES: Final = frozenset(
    "tf.expand_dims tf.argmax tf.argmin tf.math.argmax tf.math.argmin tf.reduce_sum tf.reduce_mean tf.reduce_max "
    "tf.reduce_min tf.math.reduce_sum tf.math.reduce_mean tf.math.reduce_max tf.math.reduce_min".split()
)
#: Operations of two operands, of which one is enough.
_PAIRS: Final = frozenset(f"tf.math.{n}" for n in ("minimum", "maximum", "add", "multiply"))
#: Where an argument is the whole shape of the result: how long it is, is the rank.
_SHAPED: Final = {"tf.reshape": (1, "shape")} | dict(SHAPES)
#: Operations on numbers that the graph computes at once where it asks for sizes.
_FOLDS: Final = _SAME | _PAIRS | {"tf.constant", "tf.reshape", "tf.math.floordiv", "tf.math.subtract"}
_FOLDED: Final = 12
#: Operations whose results have sizes that numbers say.
_OF_NUMBERS: Final = frozenset({"tf.range", "tf.math.bincount"})
_PUT_TOGETHER: Final = frozenset({"tf.sparse.SparseTensor"})
_DEPTH: Final = 24
ALL: Final[Dims] = ()
FIRST: Final[Dims] = (0,)


def unknown_dims(view: FrameView, slot: int, depth: int = _DEPTH) -> Dims | None:
    """Which dims of a tensor a graph does not know; None where it knows them, so far as we know."""
    if isinstance(view, OpenView) and slot in view.given:
        return view.given[slot]
    known: dict[object, Dims | None] = view.project.shared("unknown dims", dict)
    key = (view.frame, given_to(view), slot)
    if key not in known:
        known[key] = None  # of what depends on itself
        if not _is_folded_size(view, slot, depth):
            found = _from_operation(view, slot, depth)
            known[key] = found if found is not None else _from_types(view, slot, depth)
    return known[key]


def _from_operation(view: FrameView, slot: int, depth: int) -> Dims | None:
    """What the operation that makes a tensor is known to leave open."""
    made = view.definition(slot)
    if made is None or not depth or _is_set(view, slot):
        return None
    if isinstance(made, ir.Copy):
        return unknown_dims(view, made.source, depth - 1)
    if isinstance(made, ir.Phi):  # of a loop or branch: one way to an unknown dim is enough
        found = [unknown_dims(view, s, depth - 1) for _, s in made.incoming]
        return next((f for f in found if f is not None), None) or _merged(view, made)
    if isinstance(made, ir.Computed):
        return broadcast(view, slot, [(s, unknown_dims(view, s, depth - 1)) for s in operands(made)])
    if isinstance(made, ir.Call):
        return _called(view, made, depth)
    if isinstance(made, ir.Item):
        if _is_mask(view, made) or _is_cut(view, made):
            return FIRST
        inner = _taken(view, made, depth)
        if inner is not None:
            return inner
        dims = unknown_dims(view, made.source, depth - 1)
        return indexed(view, made, dims) if dims else None
    if isinstance(made, (ir.Unpack, ir.Iter)):
        return _element(view, slot, made, depth)
    if isinstance(made, ir.Attr):
        return FIRST if _is_part(view, made) else computed(view, made, unknown_dims)
    return None


def _merged(view: FrameView, phi: ir.Phi) -> Dims | None:
    """The dims in which the branches of a condition of the graph differ."""
    flow = control(view)
    site = flow.origin(phi)
    if isinstance(site, Turning):
        return _relaxed(view, site, phi)
    sides = [view.value(slot) for edge, slot in phi.incoming if edge < 0 or view.frame.edges[edge]]
    if not isinstance(site, Branch) or len(sides) != 2 or not flow.condition(site):
        return None
    return _differing(*sides)


def _relaxed(view: FrameView, site: Site, phi: ir.Phi) -> Dims | None:
    """The dims that a turn of a loop changes, where the program says that it may (without that it raises)."""
    inside = (each.instr for each in control(view).structure.within(site))
    calls = (instr for instr in inside if isinstance(instr, ir.Call))
    if not any("tf.autograph.experimental.set_loop_options" in view.names(call.function) for call in calls):
        return None
    return tuple(i for o in _shapes(view.value(phi.target)) for i, dim in enumerate(o or ()) if dim < 0) or None


def _differing(first: Value, second: Value) -> Dims | None:
    """The dims in which two values differ, whatever of each it is."""
    firsts, seconds = _shapes(first), _shapes(second)
    pairs = [(a, b) for a in firsts for b in seconds if a is not None and b is not None]
    if not pairs or len(pairs) < len(firsts) * len(seconds):
        return None
    if all(len(a) != len(b) for a, b in pairs):
        return ALL
    if any(len(a) != len(b) for a, b in pairs):
        return None
    places = range(len(pairs[0][0]))
    return tuple(i for i in places if all(_differ(a[i], b[i]) for a, b in pairs)) or None


def _shapes(value: Value) -> list[Shape]:
    return [o.shape if isinstance(o, Tensor) and o.kind != NDARRAY else None for o in value]


def _differ(a: int, b: int) -> bool:
    return a != b and a >= 0 and b >= 0


def _called(view: FrameView, made: ir.Call, depth: int) -> Dims | None:
    for name in view.names(made.function):
        if name in _HOST:
            return ALL
        if name == "tf.boolean_mask":
            return (_axis(view, made),)
        if name in _IMAGES or name in _SIZES:
            return FIRST
        if name in _RULES:
            return _RULES[name](view, made)
        if name == "tf.where":
            return FIRST if len(made.arguments) + len(made.keywords) == 1 else None
        if name in _SHAPED and unknown_dims(view, argument(made, *_SHAPED[name]), depth - 1) in (ALL, FIRST):
            return ALL
        if name in SIZED:
            return sized(name, view, made, _measured)
        if name in ("tf.tile", "tf.repeat"):
            return FIRST if any(_counts(view, s) for s, _ in made.arguments[1:2]) else None
        if name == "tf.range":
            return FIRST if any(_is_run(view, s) for s, _ in made.arguments) else None
        if name in _SAME and made.arguments:
            return unknown_dims(view, made.arguments[0][0], depth - 1)
        if name in _AXES and made.arguments:
            dims = unknown_dims(view, made.arguments[0][0], depth - 1)
            return moved(name, view, made, dims) if dims else None
        if name in _PAIRS:
            return broadcast(view, made.target, [(s, unknown_dims(view, s, depth - 1)) for s, _ in made.arguments[:2]])
    return returned(view, made, unknown_dims)


def _stacked(view: FrameView, call: ir.Call) -> Dims | None:
    """A `TensorArray` of a size that a run computes."""
    arrays = [o for o in view.value(view.receiver(call.function)) if isinstance(o, LibInst) and "size" in o.fields]
    return FIRST if any(has_tensor(o.fields["size"].value) for o in arrays) else None


def _chosen(view: FrameView, call: Instr) -> Dims | None:
    """What two functions give, of which the graph runs one."""
    given = [callee.ret for callee in called_at(view.frame, call.position)]
    return _differing(given[0], given[1]) if len(given) == 2 else None


def _single(view: FrameView, call: ir.Call) -> Dims | None:
    """The next, or the only, batch of a dataset."""
    stream = view.receiver(call.function) if not call.arguments else call.arguments[0][0]
    return _batch(view, stream, call.target)


def _mapped(view: FrameView, call: ir.Call) -> Dims | None:
    """As many as there are elements."""
    found = unknown_dims(view, argument(call, 1, "elems"))
    return FIRST if found and 0 in found else None


def _squeezed(view: FrameView, call: ir.Call) -> Dims | None:
    """Any axis whose size is not known may be of size one."""
    only_one = len(call.arguments) == 1 and not any(key == "axis" for key, _ in call.keywords)
    return ALL if only_one and unknown_dims(view, call.arguments[0][0]) is not None else None


_RULES: Final[Mapping[str, Callable[[FrameView, ir.Call], Dims | None]]] = {
    "tf.TensorArray.stack": _stacked,
    "tf.cond": _chosen,
    "builtins.next": _single,
    "tf.data.Dataset.get_single_element": _single,
    "tf.data.experimental.get_single_element": _single,
    "tf.map_fn": _mapped,
    "tf.squeeze": _squeezed,
}


def _is_part(view: FrameView, read: ir.Attr) -> bool:
    """`t.values`, `t.indices` of a sparse tensor that is not put together here: a graph never knows how many."""
    made = view.definition(read.owner)
    own_parts = isinstance(made, ir.Call) and _PUT_TOGETHER & set(view.names(made.function))
    sparse = any(isinstance(o, Tensor) and o.kind == SPARSE for o in view.value(read.owner))
    return sparse and not own_parts and read.name in ("values", "indices")


def _taken(view: FrameView, made: ir.Item, depth: int) -> Dims | None:
    """What `f(x)[1]` takes of a tuple that a function of the project returns."""
    inner = view.definition(made.source)
    if not isinstance(inner, ir.Call) or not any(isinstance(o, Tup) for o in view.value(made.source)):
        return None
    if any(n in _HOST for n in view.names(inner.function)):
        return ALL
    found = {o.const for o in view.value(made.index) if isinstance(o, Lit)}
    place = found.pop() if len(found) == 1 else None
    return returned(view, inner, unknown_dims, place) if type(place) is int and place >= 0 and depth else None


def _axis(view: FrameView, made: ir.Call) -> int:
    """The axis that a mask is for: the first, if no constant says otherwise."""
    found = [o.const for o in view.value(argument(made, 2, "axis")) if isinstance(o, Lit)]
    rank = next((len(o.shape) for o in view.value(made.target) if isinstance(o, Tensor) and o.shape is not None), 0)
    axis = found[0] if len(found) == 1 and isinstance(found[0], int) else 0
    return axis if axis >= 0 else axis + rank


def _counts(view: FrameView, slot: int) -> bool:
    """Whether an argument is a tensor, or a list that holds one."""
    return _is_run(view, slot) or has_tensor(elements(view.value(slot)), arrays=False)


def _is_run(view: FrameView, slot: int) -> bool:
    """Whether a slot holds a tensor whose value only a run knows."""
    return bool(own(view, slot, arrays=False)) and not _is_folded(view, slot, _FOLDED)


def _is_folded_size(view: FrameView, slot: int, depth: int) -> bool:
    """Whether tensors say how large another one is, of which the graph knows the values: a cut, or a row of numbers."""
    made = view.definition(slot)
    if isinstance(made, ir.Call) and not _OF_NUMBERS.isdisjoint(view.names(made.function)):
        parts = [s for s, _ in made.arguments[: None if "tf.range" in view.names(made.function) else 1]]
    elif isinstance(made, ir.Item) and isinstance(index := view.definition(made.index), ir.Slice):
        if not depth or unknown_dims(view, made.source, depth - 1) is not None:
            return False
        parts = list(operands(index))
    else:
        return False
    tensors = [part for part in parts if own(view, part, arrays=False)]
    return bool(tensors) and all(_is_folded(view, part, _FOLDED) for part in tensors)


def _is_folded(view: FrameView, slot: int, depth: int) -> bool:
    """Whether a tensor is computed of Python's numbers alone: the graph knows it where it asks for sizes (measured)."""
    value = view.value(slot)
    if value and not own(view, slot, certain=False):
        return all(isinstance(o, (Lit, Prim)) or (isinstance(o, Tensor) and o.kind == NDARRAY) for o in value)
    made = view.definition(slot)
    if not depth or made is None:
        return False
    if isinstance(made, ir.Call):
        names = set(view.names(made.function))
        given = [s for s, _ in made.arguments[: 2 if names & _PAIRS else 1]]
        return bool(names) and names <= _FOLDS and bool(given) and all(_is_folded(view, s, depth - 1) for s in given)
    if isinstance(made, (ir.Copy, ir.Binary, ir.Unary)):
        return all(_is_folded(view, s, depth - 1) for s in operands(made))
    return False


def _is_mask(view: FrameView, made: ir.Item) -> bool:
    """`x[mask]`."""
    tensor = any(isinstance(o, Tensor) and o.kind != NDARRAY for o in view.value(made.source))
    index = view.value(made.index)
    return tensor and bool(index) and all(isinstance(o, Tensor) and o.dtype == "bool" and o.shape for o in index)


def _is_cut(view: FrameView, made: ir.Item) -> bool:
    """`x[:n]` with a tensor n."""
    index = view.definition(made.index)
    if not isinstance(index, ir.Slice) or not has_tensor(view.value(made.source), arrays=False):
        return False
    return any(_is_run(view, part) for part in operands(index))


def _element(view: FrameView, slot: int, made: ir.Iter | ir.Unpack, depth: int) -> Dims | None:
    """Parts of tuples of results, and elements of datasets."""
    if isinstance(made, ir.Iter):
        return _batch(view, made.source, made.target)
    inner = view.definition(made.source)
    if isinstance(inner, ir.Iter):
        return _batch(view, inner.source, made.targets[0]) if depth else None
    if isinstance(inner, ir.Call) and any(n in _SIZES or n in _HOST for n in view.names(inner.function)):
        return _called(view, inner, depth - 1)
    if isinstance(inner, ir.Call) and isinstance(made, ir.Unpack) and depth and made.star < 0:
        return returned(view, inner, unknown_dims, made.targets.index(slot)) if slot in made.targets else None
    return None


def _batch(view: FrameView, stream: int, slot: int) -> Dims | None:
    """The first dim of batches whose last one may be smaller."""
    if not any(isinstance(o, Stream) and o.kind.startswith("tf.data.") for o in view.value(stream)):
        return None
    tensors = [o for o in view.value(slot) if isinstance(o, Tensor) and o.kind != VARIABLE]
    return FIRST if any(t.shape and is_dynamic(t.shape[0]) for t in tensors) else None


def _is_set(view: FrameView, slot: int) -> bool:
    """Whether the program says the shape itself (`t.set_shape(...)`)."""
    return any(isinstance(use, ir.Attr) and use.name == "set_shape" for use in uses(view, slot))


def _from_types(view: FrameView, slot: int, depth: int) -> Dims | None:
    """Dims that only a run knows of what an operation gives, where those of its operands are known or left open here.

    A dim that comes from an argument is no matter: each trace knows the shapes of its arguments.
    """
    tensors = [o for o in view.value(slot) if isinstance(o, Tensor)]
    if not depth or not tensors or any(o.kind in (NDARRAY, VARIABLE) or o.shape == () for o in tensors):
        return None
    made = _maker(view, slot)
    if made is None or _is_set(view, slot):
        return None
    given = list(_operands(view, made))
    if any(unknown_dims(view, operand, depth - 1) == ALL for operand in given):
        return _of_any_rank(tensors)
    open_dims = {i for o in tensors for i, dim in enumerate(o.shape or ()) if is_dynamic(dim)}
    if not open_dims or any(o.shape is None for o in tensors):
        return None
    for operand in given:
        if _measured(view, operand):
            return None
        shapes = [o.shape for o in view.value(operand) if isinstance(o, Tensor)]
        some = any(shape is None or any(map(is_dynamic, shape)) for shape in shapes)
        if some and unknown_dims(view, operand, depth - 1) is None:
            return None
    return tuple(sorted(open_dims))


def _of_any_rank(tensors: list[Tensor]) -> Dims | None:
    """What is open of a result, where an operand is of unknown rank: what flow knows, the operation says itself."""
    if any(o.shape is None for o in tensors):
        return ALL
    return tuple(sorted({i for o in tensors for i, dim in enumerate(o.shape or ()) if dim < 0})) or None


def _maker(view: FrameView, slot: int) -> ir.Operator | ir.Call | ir.Item | None:
    """The operation of TensorFlow that makes what is in a slot, or in the tuple that it is taken from."""
    made = view.definition(slot)
    if isinstance(made, (ir.Unpack, ir.Item)):
        inner = view.definition(made.source)
        if isinstance(inner, ir.Call) and any(isinstance(o, Tup) for o in view.value(made.source)):
            made = inner
    if not isinstance(made, (ir.Operator, ir.Call, ir.Item)):
        return None
    if isinstance(made, ir.Call) and not any(
        n.startswith(("tf.", "tensor.", "keras.layers.")) for n in view.names(made.function)
    ):
        return None
    return made


def _operands(view: FrameView, made: ir.Operator | ir.Call | ir.Item) -> Iterator[int]:
    """The slots of the tensors that an operation takes, those in displays of lists included."""
    if isinstance(made, ir.Call):
        todo = arguments(made)
        if view.receiver(made.function) >= 0:
            todo.append(view.receiver(made.function))
    elif isinstance(made, ir.Item):
        todo = [made.source, made.index]
    else:
        todo = [made.left, made.right]
    while todo:
        slot = todo.pop()
        value = view.value(slot)
        if any(isinstance(o, Tensor) for o in value):
            yield slot
        inner = view.definition(slot) if any(isinstance(o, (Tup, Container)) for o in value) else None
        if isinstance(inner, ir.Sequence):
            todo += [s for s, _ in inner.elements]
        elif isinstance(inner, ir.Slice):
            todo += operands(inner)


def _measured(view: FrameView, slot: int, depth: int = _DEPTH) -> bool:
    """Whether a number comes from `tf.shape(x)` or `tf.size(x)`: TensorFlow folds what it knows of them."""
    made = view.definition(slot)
    if made is None or not depth:
        return False
    if isinstance(made, (ir.Item, ir.Unpack, ir.Copy)):
        return _measured(view, made.source, depth - 1)
    if isinstance(made, ir.Operator):
        tensors = [s for s in operands(made) if has_tensor(view.value(s))]
        return bool(tensors) and all(_measured(view, s, depth - 1) for s in tensors)
    if isinstance(made, ir.Call):
        names = view.names(made.function)
        if any(n in ("tf.shape", "tf.size") for n in names):
            return not made.arguments or unknown_dims(view, made.arguments[0][0], depth - 1) is None
        return len(made.arguments) == 1 and _measured(view, made.arguments[0][0], depth - 1)
    return False
