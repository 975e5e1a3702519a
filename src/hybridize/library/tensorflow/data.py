"""`tf.data`: datasets as streams of their elements; transformations are rules on the element's structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    NONE_V,
    Container,
    LibInst,
    Obj,
    Stream,
    Tensor,
    Tup,
    Value,
    stream,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import (
    BATCH,
    DENSE,
    DYNAMIC,
    NDARRAY,
    RAGGED,
    VARIABLE,
    Dim,
    Shape,
    arrived,
    at_run_time,
)
from hybridize.library.convert import PYTHON_TF, dim_of, dtype_of, shape_of, type_of_value
from hybridize.library.spec import Call, ClassSpec, Rule, Spec

DATASET: Final = "tf.data.Dataset"
ITERATOR: Final = "tf.data.Iterator"
#: The count of a dataset that never ends.
INFINITE: Final = -1


def dataset(element: Value, count: int | None = None) -> Value:
    """A dataset of these elements, and how many there are."""
    return stream(DATASET, element, count).value


def _count(call: Call) -> int | None:
    return call.receiver.count if isinstance(call.receiver, Stream) else None


def _elements_of(call: Call, value: Value) -> Value:
    """The elements of datasets, as a graph sees them; of anything else what iterating gives."""
    result = BOTTOM
    for obj in value:
        result = join(result, obj.element if isinstance(obj, Stream) else call.elements(obj.value))
    return result


def _element(call: Call) -> Value:
    return call.receiver.element if isinstance(call.receiver, Stream) else unknown("an element of a dataset").value


def _structure(call: Call, value: Value, leaf: Rule2, depth: int = 0) -> Value:
    """Maps the tensors of an element's structure."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tup) and depth < 5:
            items = [_structure(call, item, leaf, depth + 1) for item in obj.items]
            result = join(result, tup(items, obj.kind, obj.names).value)
        elif isinstance(obj, Container) and obj.kind == "dict" and depth < 5:
            result = join(result, _mapping(call, obj, leaf, depth))
        else:
            result = join(result, leaf(call, obj))
    return result


def _mapping(call: Call, obj: Container, leaf: Rule2, depth: int) -> Value:
    engine, frame = call.engine, call.frame
    # Calls in a chain have one position: the source tells their results apart.
    made = call.new("dict", f"structure {depth} {call.name} {id(obj)}")
    for key, cell in list(obj.fields.items()):
        engine.write(frame, made.cell(key), _structure(call, engine.read(frame, cell), leaf, depth + 1), call.pos)
    if not engine.is_exact(frame, obj):
        engine.lose_exactness(made)
        rest = _structure(call, engine.read(frame, obj.rest_cell()), leaf, depth + 1)
        engine.write(frame, made.rest_cell(), rest, call.pos)
    return made.value


class Rule2:
    """The type of a rule on one leaf of a structure (a callable; kept simple for the type checker)."""

    def __call__(self, call: Call, obj: Obj) -> Value:
        raise NotImplementedError


class _Leaf(Rule2):
    def __init__(self, shape: object) -> None:
        self.shape = shape

    def __call__(self, call: Call, obj: Obj) -> Value:
        dtype, shape = type_of_value(call, obj.value, PYTHON_TF)
        kind = obj.kind if isinstance(obj, Tensor) and obj.kind not in (NDARRAY, VARIABLE) else DENSE
        if not isinstance(obj, Tensor) and dtype is None and shape is None:
            return obj.value
        new: Shape = self.shape(shape)  # type: ignore[operator]
        return tensor(kind, dtype, new).value


def _first_axis_dropped(shape: Shape) -> Shape:
    return shape[1:] if shape else None


def _slices(call: Call) -> Value:
    value = call.arg(0, "tensors")
    return dataset(_structure_of_slices(call, value, 0), _rows(call, value))


def _structure_of_slices(call: Call, value: Value, depth: int) -> Value:
    """Elements of `from_tensor_slices`: tuples and dicts are structures, lists are converted to one tensor."""
    return _structure(call, value, _Leaf(_first_axis_dropped), depth)


def _tensors(call: Call) -> Value:
    return dataset(_structure(call, call.arg(0, "tensors"), _Leaf(lambda s: s)), 1)


def _batched(size: Dim) -> _Leaf:
    return _Leaf(lambda shape: None if shape is None else (size, *(DYNAMIC if d == BATCH else d for d in shape)))


def _batch(call: Call) -> Value:
    size, count = batches(call, call.constant(1, "drop_remainder", False) is True)
    return dataset(_structure(call, _element(call), _batched(size)), count)


def batches(call: Call, drop: bool) -> tuple[Dim, int | None]:
    """The first dim of the batches of a dataset, and how many batches there are."""
    size, count = dim_of(call.arg(0, "batch_size")), _count(call)
    if drop:
        whole = count is not None and size > 0
        return size, (count if count == INFINITE else count // size) if whole and count is not None else None
    if size <= 0 or count is None:
        return BATCH, None
    if count == INFINITE or count % size == 0:
        return at_run_time(size), count if count == INFINITE else count // size
    return (at_run_time(count), 1) if count < size else (BATCH, count // size + 1)


def _padded_batch(call: Call) -> Value:
    size, count = batches(call, call.constant(3, "drop_remainder", False) is True)
    shapes = call.arg(1, "padded_shapes")
    element = _element(call)
    padded = shape_of(call, shapes) if shapes and len(element) == 1 else None
    return dataset(_structure(call, element, _Leaf(lambda shape: _padded(size, shape, padded))), count)


def _padded(size: Dim, shape: Shape, padded: Shape) -> Shape:
    """The shape of a padded batch: dims that no padding changes stay, others are the longest of their batch."""
    if shape is None:
        return None
    if padded is None or len(padded) != len(shape):
        padded = tuple(d if d >= 0 else DYNAMIC for d in shape)
    return (size, *padded)


def _unbatch(call: Call) -> Value:
    return dataset(_structure(call, _element(call), _Leaf(_first_axis_dropped)))


def call_on_element(call: Call, func: Value, element: Value, *before: Value, how: str = "graph") -> Value:
    """Calls a function as `map` does: a tuple element is spread over the parameters."""
    result = BOTTOM
    for obj in element:
        spread = isinstance(obj, Tup) and obj.names is None
        arguments = list(obj.items) if spread and isinstance(obj, Tup) else [obj.value]
        if all(arguments):
            result = join(result, call.call(func, *before, *arguments, how=how))
    return result


def _converted(call: Call, value: Value) -> Value:
    """What a mapped function returns becomes tensors; a list becomes a tuple of tensors."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Container) and obj.kind == "list" and call.engine.is_exact(call.frame, obj):
            items = [_converted(call, call.engine.read(call.frame, c)) for c in list(obj.fields.values())]
            result = join(result, tup(items).value)
        elif isinstance(obj, Stream) and obj.kind == DATASET:
            result = join(result, obj.value)
        else:
            result = join(result, _structure(call, obj.value, _Leaf(lambda s: s)))
    return result


def _map(call: Call) -> Value:
    element = _element(call)
    if not element:
        return dataset(BOTTOM)
    return dataset(_converted(call, call_on_element(call, call.arg(0, "map_func"), element)), _count(call))


def _flat_map(call: Call) -> Value:
    result = call_on_element(call, call.arg(0, "map_func"), _element(call))
    inner = BOTTOM
    for obj in result:
        inner = join(inner, obj.element if isinstance(obj, Stream) else unknown("an element of a dataset").value)
    return dataset(inner)


def _filter(call: Call) -> Value:
    element = _element(call)
    if element:
        call_on_element(call, call.arg(0, "predicate"), element)
    return dataset(element)


def _same(call: Call) -> Value:
    return call.receiver.value if call.receiver is not None else BOTTOM


def _zip(call: Call) -> Value:
    source = call.arg(0, "datasets")
    if len(call.args) > 1:
        return _zipped(call, call.args)
    result = BOTTOM
    for obj in source:
        if isinstance(obj, Tup):
            result = join(result, _zipped(call, obj.items))
        elif isinstance(obj, Container) and obj.kind == "dict":
            made = call.new("dict", "zip")
            parts = [call.engine.read(call.frame, cell) for cell in list(obj.fields.values())]
            for key, part in zip(list(obj.fields), parts, strict=True):
                call.engine.write(call.frame, made.cell(key), _elements_of(call, part), call.pos)
            result = join(result, dataset(made.value, _shortest(parts)))
        elif isinstance(obj, Container) and call.engine.is_exact(call.frame, obj):
            result = join(result, _zipped(call, [call.engine.read(call.frame, c) for c in list(obj.fields.values())]))
        else:
            result = join(result, dataset(unknown("an element of a zipped dataset").value))
    return result


def _zipped(call: Call, parts: Sequence[Value]) -> Value:
    return dataset(tup([_elements_of(call, part) for part in parts]).value, _shortest(parts))


def _shortest(parts: Sequence[Value]) -> int | None:
    """How many elements zipped datasets have."""
    counts = [obj.count if isinstance(obj, Stream) else None for part in parts for obj in part]
    finite = [c for c in counts if c is not None and c != INFINITE]
    if None in counts or len(counts) != len(parts):
        return None
    return min(finite) if finite else INFINITE


def _enumerate(call: Call) -> Value:
    return dataset(tup([tensor(DENSE, "int64", ()).value, _element(call)]).value, _count(call))


def _concatenate(call: Call) -> Value:
    other = call.arg(0, "dataset")
    counts = [_count(call), *(o.count if isinstance(o, Stream) else None for o in other)]
    known = [c for c in counts if c is not None and c != INFINITE]
    total = sum(known) if len(known) == len(counts) == 2 else INFINITE if INFINITE in counts else None
    return dataset(join(_element(call), _elements_of(call, other)), total)


def _range(call: Call) -> Value:
    bounds = [dim_of(arg) for arg in call.args]
    count = len(range(*bounds)) if 1 <= len(bounds) <= 3 and min(bounds) >= 0 and bounds[2:] != [0] else None
    return dataset(tensor(DENSE, dtype_of(call.arg(-1, "output_type")) or "int64", ()).value, count)


def _resized(count: Callable[[int, int], int]) -> Rule:
    """A dataset of the same elements, of which there are more or fewer: by its size and the argument of the call."""

    def rule(call: Call) -> Value:
        old, argument = _count(call), call.constant(0, "count")
        known = old is not None and isinstance(argument, int)
        return dataset(_element(call), count(old, argument) if known and old is not None else None)

    return rule


def _repeat(call: Call) -> Value:
    times = call.constant(0, "count", "") if call.given(0, "count") else -1
    old = _count(call)
    if times == -1 and old != 0:
        return dataset(_element(call), INFINITE)
    known = old is not None and old != INFINITE and isinstance(times, int)
    return dataset(_element(call), old * times if known and old is not None else old if old == INFINITE else None)


def _uncounted(call: Call) -> Value:
    return dataset(_element(call))


def _rows(call: Call, value: Value) -> int | None:
    """How many rows the tensors of a structure have, if all that is known of them agrees."""
    dims: set[Dim] = set()
    todo = list(value)
    while todo:
        obj = todo.pop()
        if isinstance(obj, Tup):
            todo += [o for item in obj.items for o in item]
        elif isinstance(obj, Container) and obj.kind == "dict":
            todo += [o for cell in list(obj.fields.values()) for o in call.engine.read(call.frame, cell)]
        else:
            shape = type_of_value(call, obj.value, PYTHON_TF)[1]
            dims.add(shape[0] if shape else DYNAMIC)
    (only,) = dims if len(dims) == 1 else (DYNAMIC,)
    return only if only >= 0 else None


def _window(call: Call) -> Value:
    return dataset(_structure(call, _element(call), _Windowed()))


class _Windowed(Rule2):
    def __call__(self, call: Call, obj: Obj) -> Value:
        return dataset(obj.value)


def _reduce(call: Call) -> Value:
    state = call.arg(0, "initial_state")
    element = _element(call)
    result = call.call(call.arg(1, "reduce_func"), _structure(call, state, _Leaf(lambda s: s)), element, how="graph")
    return _converted(call, result) or unknown("a reduced dataset").value


def _group(call: Call) -> Value:
    """Elements are put into groups by a key; what the function makes of each group's dataset are the elements."""
    element = _element(call)
    if not element:
        return dataset(BOTTOM)
    call_on_element(call, call.arg(0, "key_func"), element)
    made = call.call(call.arg(1, "reduce_func"), tensor(DENSE, "int64", ()).value, dataset(element), how="graph")
    return dataset(_elements_of(call, made)) if made else dataset(BOTTOM)


def _bucket(call: Call) -> Value:
    """Batches of elements of like length, padded."""
    element = _element(call)
    if not element:
        return dataset(BOTTOM)
    call_on_element(call, call.arg(0, "element_length_func"), element)
    given = call.given(4, "padded_shapes")
    return dataset(_structure(call, element, _Leaf(lambda shape: None if given else _padded(DYNAMIC, shape, None))))


def _scan(call: Call) -> Value:
    """Each element of the result is the second of what the function gives for the state and an element."""
    state = _structure(call, call.arg(0, "initial_state"), _Leaf(lambda s: s))
    element, found = _element(call), BOTTOM
    for _ in range(3):
        result = call.call(call.arg(1, "scan_func"), state, element, how="graph")
        pairs = [o for o in result if isinstance(o, Tup) and len(o.items) == 2]
        if not pairs or len(pairs) != len(result):
            return (
                dataset(unknown("an element of a scanned dataset").value, _count(call)) if result else dataset(BOTTOM)
            )
        found = join(found, join_all([_converted(call, p.items[1]) for p in pairs]))
        grown = join(state, join_all([_converted(call, p.items[0]) for p in pairs]))
        if grown == state:
            break
        state = grown
    return dataset(found, _count(call))


def _spec_element(call: Call, value: Value) -> Value:
    """The element that a structure of `TensorSpec` describes."""
    result = BOTTOM
    for obj in value:
        if isinstance(obj, Tup):
            result = join(result, tup([_spec_element(call, item) for item in obj.items]).value)
        elif isinstance(obj, LibInst):
            kind = RAGGED if "Ragged" in obj.cls else "sparse" if "Sparse" in obj.cls else DENSE
            shape = shape_of(call, call.field(obj, "shape"))
            result = join(result, tensor(kind, dtype_of(call.field(obj, "dtype")), shape).value)
        elif isinstance(obj, Container) and obj.kind == "dict":
            made = call.new("dict", "spec")
            for key, cell in list(obj.fields.items()):
                value = _spec_element(call, call.engine.read(call.frame, cell))
                call.engine.write(call.frame, made.cell(key), value, call.pos)
            result = join(result, made.value)
    return result


def _types_element(call: Call, types: Value, shapes: Value) -> Value:
    """The element that `output_types` (and `output_shapes`) describe."""
    result = BOTTOM
    for obj in types:
        if isinstance(obj, Tup):
            columns = [o.items for o in shapes if isinstance(o, Tup) and len(o.items) == len(obj.items)]
            items = []
            for i, item in enumerate(obj.items):
                items.append(_types_element(call, item, columns[0][i] if columns else BOTTOM))
            result = join(result, tup(items).value)
        elif isinstance(obj, Container):
            result = join(result, unknown("an element of a generated dataset").value)
        else:
            shape = shape_of(call, shapes) if shapes else None
            result = join(result, tensor(DENSE, dtype_of(obj.value), shape).value)
    return result


def _from_generator(call: Call) -> Value:
    generator = call.arg(0, "generator")
    if generator:
        call.call(generator, how="host")
    signature = call.arg(-1, "output_signature")
    if signature and signature is not NONE_V:
        return dataset(_spec_element(call, signature))
    types = call.arg(1, "output_types")
    if types:
        return dataset(_types_element(call, types, call.arg(2, "output_shapes")))
    return dataset(unknown("an element of a generated dataset").value)


def _text(call: Call) -> Value:
    return dataset(tensor(DENSE, "string", ()).value)


def _iterator(call: Call) -> Value:
    """Iterating outside of a graph: what arrives has no dim that is None."""
    element = _element(call)
    if not getattr(call.frame, "symbolic", False):
        element = _structure(call, element, _Arrived()) if _has_run_time_dims(call, element) else element
    return stream(ITERATOR, element).value


class _Arrived(Rule2):
    def __call__(self, call: Call, obj: Obj) -> Value:
        return tensor(obj.kind, obj.dtype, arrived(obj.shape)).value if isinstance(obj, Tensor) else obj.value


def _has_run_time_dims(call: Call, value: Value, depth: int = 0) -> bool:
    for obj in value:
        if isinstance(obj, Tensor) and arrived(obj.shape) != obj.shape:
            return True
        parts: list[Value] = []
        if isinstance(obj, Tup) and depth < 5:
            parts = list(obj.items)
        elif isinstance(obj, Container) and depth < 5:
            parts = [call.engine.read(call.frame, cell) for cell in list(obj.fields.values())]
        if any(_has_run_time_dims(call, part, depth + 1) for part in parts):
            return True
    return False


def _numpy_iterator(call: Call) -> Value:
    made = _structure(call, _element(call), _Arrays())
    return stream("generator", made).value


class _Arrays(Rule2):
    def __call__(self, call: Call, obj: Obj) -> Value:
        return tensor(NDARRAY, obj.dtype, arrived(obj.shape)).value if isinstance(obj, Tensor) else obj.value


def _apply(call: Call) -> Value:
    return call.call(call.arg(0, "transformation_func"), _same(call))


def _next(call: Call) -> Value:
    return _element(call)


def _interleaved(call: Call) -> Value:
    return _flat_map(call)


_SAME: Final = "shuffle prefetch cache with_options snapshot".split()
_UNCOUNTED: Final = "take_while rejection_resample ignore_errors rebatch save unique".split()
METHODS: Final[dict[str, Spec]] = {
    **{name: Spec(_same) for name in _SAME},
    **{name: Spec(_uncounted) for name in _UNCOUNTED},
    "repeat": Spec(_repeat),
    "take": Spec(_resized(lambda old, n: n if old == INFINITE else min(old, n) if n >= 0 else old)),
    "skip": Spec(_resized(lambda old, n: old if old == INFINITE else max(old - n, 0) if n >= 0 else 0)),
    "shard": Spec(_uncounted),
    "map": Spec(_map),
    "flat_map": Spec(_flat_map),
    "interleave": Spec(_interleaved),
    "filter": Spec(_filter),
    "batch": Spec(_batch),
    "ragged_batch": Spec(_batch),
    "padded_batch": Spec(_padded_batch),
    "unbatch": Spec(_unbatch),
    "enumerate": Spec(_enumerate),
    "concatenate": Spec(_concatenate),
    "window": Spec(_window),
    "reduce": Spec(_reduce),
    "scan": Spec(_scan),
    "group_by_window": Spec(_group),
    "bucket_by_sequence_length": Spec(_bucket),
    "apply": Spec(_apply),
    "as_numpy_iterator": Spec(_numpy_iterator),
    "__iter__": Spec(_iterator),
    "cardinality": Spec(lambda call: tensor(DENSE, "int64", ()).value),
    "get_single_element": Spec(_next),
    "__len__": Spec(lambda call: INT_V),
    "zip": Spec(_zip),
    "from_tensor_slices": Spec(_slices),
    "from_tensors": Spec(_tensors),
    "from_generator": Spec(_from_generator),
    "range": Spec(_range),
}

FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.data.Dataset.from_tensor_slices": Spec(_slices),
    "tf.data.Dataset.from_tensors": Spec(_tensors),
    "tf.data.Dataset.from_generator": Spec(_from_generator),
    "tf.data.Dataset.zip": Spec(_zip),
    "tf.data.Dataset.range": Spec(_range),
    **dict.fromkeys(
        ("tf.data.Dataset.random", "tf.data.Dataset.counter"),
        Spec(lambda call: dataset(tensor(DENSE, "int64", ()).value, INFINITE)),
    ),
    "tf.data.Dataset.list_files": Spec(_text),
    "tf.data.Dataset.load": Spec(lambda call: dataset(unknown("an element of a loaded dataset").value)),
    "tf.data.TextLineDataset": Spec(_text),
    "tf.data.TFRecordDataset": Spec(_text),
    "tf.data.FixedLengthRecordDataset": Spec(_text),
    "tf.data.experimental.choose_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
    "tf.data.Dataset.sample_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
    "tf.data.Dataset.choose_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
}

CLASSES: Final[dict[str, ClassSpec]] = {
    DATASET: ClassSpec(methods=METHODS),
    ITERATOR: ClassSpec(methods={"get_next": Spec(_next), "__next__": Spec(_next), "__iter__": Spec(_iterator)}),
}
