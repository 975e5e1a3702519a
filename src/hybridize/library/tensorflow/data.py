"""`tf.data`: the transformations of datasets are rules on their elements' structure."""

from __future__ import annotations

from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join, join_all
from hybridize.domain.objects import (
    BOTTOM,
    INT_V,
    Container,
    Obj,
    Prim,
    Stream,
    Tensor,
    Tup,
    Unknown,
    Value,
    lib,
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
    Dim,
    Shape,
    arrived,
    at_run_time,
    batch_of,
    is_batch,
)
from hybridize.domain.unknowns import Why
from hybridize.library.convert import dim_of, shape_of
from hybridize.library.costs import BATCHES
from hybridize.library.python.rules import itself
from hybridize.library.spec import Call, ClassSpec, Rule, Spec
from hybridize.library.tensorflow.data_elements import (
    DATASET,
    INFINITE,
    ITERATOR,
    Leaf,
    LeafRule,
    count_of,
    dataset,
    element_of,
    elements_of,
    first_axis_dropped,
    leaves,
    structure,
)
from hybridize.library.tensorflow.data_sources import counted_range, from_generator, slices, tensors, zip_datasets


def _batched(size: Dim) -> Leaf:
    return Leaf(lambda shape: None if shape is None else (size, *(DYNAMIC if is_batch(d) else d for d in shape)))


def _batch(call: Call) -> Value:
    size, count = batches(call, call.constant(1, "drop_remainder", False) is True)
    return dataset(structure(call, element_of(call), _batched(size)), count)


def batches(call: Call, drop: bool) -> tuple[Dim, int | None]:
    """The first dim of the batches of a dataset, and how many batches there are."""
    given = call.arg(0, "batch_size")
    size, count = dim_of(given), count_of(call)
    if drop:
        whole = count is not None and size > 0
        return size, (count if count == INFINITE else count // size) if whole and count is not None else None
    if size <= 0 or count is None:
        likely = size if size > 0 else next((o.likely for o in given if isinstance(o, Prim)), None) or 0
        return (batch_of(likely) if likely > 0 else BATCH), None
    if count == INFINITE or count % size == 0:
        return at_run_time(size), count if count == INFINITE else count // size
    return (at_run_time(count), 1) if count < size else (batch_of(size), count // size + 1)


def _padded_batch(call: Call) -> Value:
    size, count = batches(call, call.constant(3, "drop_remainder", False) is True)
    return dataset(_padded_parts(call, size, element_of(call), call.arg(1, "padded_shapes")), count)


def _padded_parts(call: Call, size: Dim, element: Value, shapes: Value) -> Value:
    """The parts of a padded batch, each with its own padded shape where the shapes are nested as the element is."""
    part = next(iter(element)) if len(element) == 1 else None
    given = next(iter(shapes)) if len(shapes) == 1 else None
    if isinstance(part, Tup) and isinstance(given, Tup) and len(part.items) == len(given.items):
        pairs = zip(part.items, given.items, strict=True)
        return tup([_padded_parts(call, size, *pair) for pair in pairs], part.kind, part.names).value
    if isinstance(part, Container) and isinstance(given, Container) and given.kind == part.kind == "dict":
        engine, frame = call.engine, call.frame
        made = call.new("dict", f"padded {id(part)}")
        for key, cell in list(part.fields.items()):
            shape = engine.cells.read(frame, given.fields[key]) if key in given.fields else BOTTOM
            engine.cells.write(
                frame, made.cell(key), _padded_parts(call, size, engine.cells.read(frame, cell), shape), call.pos
            )
        return made.value
    padded = shape_of(call, shapes) if shapes and len(element) == 1 else None
    return structure(call, element, Leaf(lambda shape: _padded(size, shape, padded)))


def _padded(size: Dim, shape: Shape, padded: Shape) -> Shape:
    """The shape of a padded batch: dims that no padding changes stay, others are the longest of their batch."""
    if shape is None:
        return None
    if padded is None or len(padded) != len(shape):
        padded = tuple(d if d >= 0 else DYNAMIC for d in shape)
    return (size, *padded)


def call_on_element(call: Call, func: Value, element: Value, *before: Value, how: How = How.GRAPH) -> Value:
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
        if isinstance(obj, Container) and obj.kind == "list" and call.is_exact(obj):
            items = [_converted(call, call.read(c)) for c in list(obj.fields.values())]
            result = join(result, tup(items).value)
        elif isinstance(obj, Stream) and obj.kind == DATASET:
            result = join(result, obj.value)
        elif isinstance(obj, Unknown):
            result = join(result, unknown("an element of a dataset", Why.PART).value)
        else:
            result = join(result, structure(call, obj.value, Leaf(lambda s: s)))
    return result


def _map(call: Call) -> Value:
    element = element_of(call)
    if not element:
        return dataset(BOTTOM)
    return dataset(_converted(call, call_on_element(call, call.arg(0, "map_func"), element)), count_of(call))


def _flat_map(call: Call) -> Value:
    """`flat_map` and `interleave`: as many elements as the datasets that the function makes have together."""
    result = call_on_element(call, call.arg(0, "map_func"), element_of(call))
    inner, total = BOTTOM, count_of(call)
    for obj in result:
        known = obj.count if isinstance(obj, Stream) and obj.count is not None and len(result) == 1 else INFINITE
        total = total * known if total is not None and total >= 0 and known >= 0 else None
        inner = join(
            inner, obj.element if isinstance(obj, Stream) else unknown("an element of a dataset", Why.PART).value
        )
    return dataset(inner, total)


def _filter(call: Call) -> Value:
    element = element_of(call)
    if element:
        call_on_element(call, call.arg(0, "predicate"), element)
    return dataset(element)


def _enumerate(call: Call) -> Value:
    return dataset(tup([tensor(DENSE, "int64", ()).value, element_of(call)]).value, count_of(call))


def _concatenate(call: Call) -> Value:
    other = call.arg(0, "dataset")
    counts = [count_of(call), *(o.count if isinstance(o, Stream) else None for o in other)]
    known = [c for c in counts if c is not None and c != INFINITE]
    total = sum(known) if len(known) == len(counts) == 2 else INFINITE if INFINITE in counts else None
    return dataset(join(element_of(call), elements_of(call, other)), total)


def _skip(call: Call) -> Value:
    """What is left without the first elements."""
    old, n = count_of(call), call.constant(0, "count")
    if old is None or not isinstance(n, int):
        return dataset(element_of(call))
    return dataset(element_of(call), old if old == INFINITE else max(old - n, 0) if n >= 0 else 0)


def _take(call: Call) -> Value:
    """The first elements: of a dataset of unknown size that has no fewer, if they are few."""
    old, n = count_of(call), call.constant(0, "count")
    if not isinstance(n, int) or n < 0:
        return dataset(element_of(call), old if isinstance(n, int) else None)
    if old is None:
        return dataset(element_of(call), n if n <= BATCHES else None)
    return dataset(element_of(call), n if old == INFINITE else min(old, n))


def _repeat(call: Call) -> Value:
    times = call.constant(0, "count", "") if call.given(0, "count") else -1
    old = count_of(call)
    if times == -1 and old != 0:
        return dataset(element_of(call), INFINITE)
    known = old is not None and old != INFINITE and isinstance(times, int)
    return dataset(element_of(call), old * times if known and old is not None else old if old == INFINITE else None)


def _uncounted(call: Call) -> Value:
    return dataset(element_of(call))


def _window(call: Call) -> Value:
    """Datasets of neighbours: of one size where smaller ones are dropped."""
    size, drop, count = dim_of(call.arg(0, "size")), call.constant(3, "drop_remainder", False) is True, count_of(call)
    shift = dim_of(call.arg(1, "shift")) if call.given(1, "shift") else size
    plain = size > 0 and shift > 0 and call.constant(2, "stride", 1) == 1
    windows = None
    if plain and count is not None and count >= 0:
        windows = max((count - size) // shift + 1, 0) if drop else -(-count // shift)
    whole = drop or (windows is not None and count is not None and shift == size and count % size == 0)
    made = structure(call, element_of(call), _Windowed(size if plain and whole else None))
    return dataset(made, INFINITE if count == INFINITE else windows)


class _Windowed(LeafRule):
    def __init__(self, size: int | None) -> None:
        self.size = size

    def __call__(self, call: Call, obj: Obj) -> Value:
        return dataset(obj.value, self.size)


def _reduce(call: Call) -> Value:
    state = call.arg(0, "initial_state")
    element = element_of(call)
    result = call.call(call.arg(1, "reduce_func"), structure(call, state, Leaf(lambda s: s)), element, how=How.GRAPH)
    return _converted(call, result) or unknown("a reduced dataset").value


def _group(call: Call) -> Value:
    """Elements are put into groups by a key; what the function makes of each group's dataset are the elements."""
    element = element_of(call)
    if not element:
        return dataset(BOTTOM)
    call_on_element(call, call.arg(0, "key_func"), element)
    made = call.call(call.arg(1, "reduce_func"), tensor(DENSE, "int64", ()).value, dataset(element), how=How.GRAPH)
    return dataset(elements_of(call, made)) if made else dataset(BOTTOM)


def _bucket(call: Call) -> Value:
    """Batches of elements of like length, padded."""
    element = element_of(call)
    if not element:
        return dataset(BOTTOM)
    call_on_element(call, call.arg(0, "element_length_func"), element)
    given = call.given(4, "padded_shapes")
    return dataset(structure(call, element, Leaf(lambda shape: None if given else _padded(DYNAMIC, shape, None))))


def _scan(call: Call) -> Value:
    """Each element of the result is the second of what the function gives for the state and an element."""
    state = structure(call, call.arg(0, "initial_state"), Leaf(lambda s: s))
    element, found = element_of(call), BOTTOM
    for _ in range(3):
        result = call.call(call.arg(1, "scan_func"), state, element, how=How.GRAPH)
        pairs = [o for o in result if isinstance(o, Tup) and len(o.items) == 2]
        if not pairs or len(pairs) != len(result):
            return (
                dataset(unknown("an element of a scanned dataset", Why.PART).value, count_of(call))
                if result
                else dataset(BOTTOM)
            )
        found = join(found, join_all([_converted(call, p.items[1]) for p in pairs]))
        grown = join(state, join_all([_converted(call, p.items[0]) for p in pairs]))
        if grown == state:
            break
        state = grown
    return dataset(found, count_of(call))


def _iterator(call: Call) -> Value:
    """Iterating outside of a graph: what arrives has no dim that is None."""
    element = element_of(call)
    if not getattr(call.frame, "symbolic", False):
        element = structure(call, element, _Arrived()) if _has_run_time_dims(call, element) else element
    return stream(ITERATOR, element).value


class _Arrived(LeafRule):
    def __call__(self, call: Call, obj: Obj) -> Value:
        return tensor(obj.kind, obj.dtype, arrived(obj.shape)).value if isinstance(obj, Tensor) else obj.value


def _has_run_time_dims(call: Call, element: Value) -> bool:
    """Whether a tensor in a structure has a dim that is None."""

    def inside(obj: Obj) -> list[Value] | None:
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container):
            return call.read_all(obj)
        return None

    return any(isinstance(obj, Tensor) and arrived(obj.shape) != obj.shape for obj in leaves(element, inside))


def _numpy_iterator(call: Call) -> Value:
    made = structure(call, element_of(call), _Arrays())
    return stream("generator", made).value


class _Arrays(LeafRule):
    def __call__(self, call: Call, obj: Obj) -> Value:
        if isinstance(obj, Unknown):
            return unknown("an element of a dataset, as arrays", Why.PART).value
        return tensor(NDARRAY, obj.dtype, arrived(obj.shape)).value if isinstance(obj, Tensor) else obj.value


def _apply(call: Call) -> Value:
    return call.call(call.arg(0, "transformation_func"), itself(call))


def _next(call: Call) -> Value:
    return element_of(call)


_SAME: Final = "shuffle prefetch cache with_options snapshot".split()


_UNCOUNTED: Final = "take_while rejection_resample ignore_errors rebatch save unique".split()


METHODS: Final[dict[str, Spec]] = {
    **{name: Spec(itself) for name in _SAME},
    **{name: Spec(_uncounted) for name in _UNCOUNTED},
    "repeat": Spec(_repeat),
    "take": Spec(_take),
    "skip": Spec(_skip),
    "shard": Spec(_uncounted),
    "map": Spec(_map),
    "flat_map": Spec(_flat_map),
    "interleave": Spec(_flat_map),
    "filter": Spec(_filter),
    "batch": Spec(_batch),
    "ragged_batch": Spec(_batch),
    "padded_batch": Spec(_padded_batch),
    "unbatch": Spec(lambda call: dataset(structure(call, element_of(call), Leaf(first_axis_dropped)))),
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
    "zip": Spec(zip_datasets),
    "from_tensor_slices": Spec(slices),
    "from_tensors": Spec(tensors),
    "from_generator": Spec(from_generator),
    "range": Spec(counted_range),
}


#: What both tell about their elements: descriptions, which no function can return.
_SPECIFIED: Final[dict[str, Rule]] = {"element_spec": lambda call: lib("tf.TensorSpec").value}
CLASSES: Final[dict[str, ClassSpec]] = {
    DATASET: ClassSpec(methods=METHODS, properties=_SPECIFIED),
    ITERATOR: ClassSpec(
        methods={"get_next": Spec(_next), "__next__": Spec(_next), "__iter__": Spec(_iterator)}, properties=_SPECIFIED
    ),
}
