"""`tf.data`: datasets as streams of their elements; transformations are rules on the element's structure."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
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
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, RAGGED, VARIABLE, Dim, Shape
from hybridize.library.convert import PYTHON_TF, dim_of, dtype_of, shape_of, type_of_value
from hybridize.library.spec import Call, ClassSpec, Spec

DATASET: Final = "tf.data.Dataset"
ITERATOR: Final = "tf.data.Iterator"


def dataset(element: Value) -> Value:
    """A dataset of these elements."""
    return stream(DATASET, element).value


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
    made = call.new("dict", f"structure {depth} {obj.site[1]}")
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
    return dataset(_structure_of_slices(call, value, 0))


def _structure_of_slices(call: Call, value: Value, depth: int) -> Value:
    """Elements of `from_tensor_slices`: tuples and dicts are structures, lists are converted to one tensor."""
    return _structure(call, value, _Leaf(_first_axis_dropped), depth)


def _tensors(call: Call) -> Value:
    return dataset(_structure(call, call.arg(0, "tensors"), _Leaf(lambda s: s)))


def _batched(size: Dim) -> _Leaf:
    return _Leaf(lambda shape: None if shape is None else (size, *shape))


def _batch(call: Call) -> Value:
    drop = call.constant(1, "drop_remainder", False) is True
    size = dim_of(call.arg(0, "batch_size")) if drop else DYNAMIC
    return dataset(_structure(call, _element(call), _batched(size)))


def _padded_batch(call: Call) -> Value:
    drop = call.constant(3, "drop_remainder", False) is True
    size = dim_of(call.arg(0, "batch_size")) if drop else DYNAMIC
    leaf = _Leaf(lambda shape: None if shape is None else (size, *[DYNAMIC] * len(shape)))
    return dataset(_structure(call, _element(call), leaf))


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
    return dataset(_converted(call, call_on_element(call, call.arg(0, "map_func"), element)))


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
        return dataset(tup([call.elements(a) for a in call.args]).value)
    result = BOTTOM
    for obj in source:
        if isinstance(obj, Tup):
            result = join(result, tup([call.elements(item) for item in obj.items], "tuple").value)
        elif isinstance(obj, Container) and obj.kind == "dict":
            made = call.new("dict", "zip")
            for key, cell in list(obj.fields.items()):
                value = call.elements(call.engine.read(call.frame, cell))
                call.engine.write(call.frame, made.cell(key), value, call.pos)
            result = join(result, made.value)
        elif isinstance(obj, Container) and call.engine.is_exact(call.frame, obj):
            cells = [call.engine.read(call.frame, c) for c in list(obj.fields.values())]
            result = join(result, tup([call.elements(c) for c in cells]).value)
        else:
            result = join(result, unknown("an element of a zipped dataset").value)
    return dataset(result)


def _enumerate(call: Call) -> Value:
    return dataset(tup([tensor(DENSE, "int64", ()).value, _element(call)]).value)


def _concatenate(call: Call) -> Value:
    return dataset(join(_element(call), call.elements(call.arg(0, "dataset"))))


def _range(call: Call) -> Value:
    return dataset(tensor(DENSE, dtype_of(call.arg(-1, "output_type")) or "int64", ()).value)


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
    return stream(ITERATOR, _element(call)).value


def _numpy_iterator(call: Call) -> Value:
    made = _structure(call, _element(call), _Arrays())
    return stream("generator", made).value


class _Arrays(Rule2):
    def __call__(self, call: Call, obj: Obj) -> Value:
        return tensor(NDARRAY, obj.dtype, obj.shape).value if isinstance(obj, Tensor) else obj.value


def _apply(call: Call) -> Value:
    return call.call(call.arg(0, "transformation_func"), _same(call))


def _next(call: Call) -> Value:
    return _element(call)


def _interleaved(call: Call) -> Value:
    return _flat_map(call)


_SAME: Final = (
    "shuffle repeat prefetch cache take skip with_options shard take_while snapshot rejection_resample "
    "ignore_errors rebatch save"
).split()
METHODS: Final[dict[str, Spec]] = {
    **{name: Spec(_same) for name in _SAME},
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
