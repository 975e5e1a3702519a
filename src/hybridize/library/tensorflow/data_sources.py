"""Where datasets come from: arrays, generators, ranges, files, other datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, NONE_V, Container, LibInst, Obj, Stream, Tup, Value, tensor, tup, unknown
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, Dim
from hybridize.domain.unknowns import Why
from hybridize.library.convert import PYTHON_TF, dim_of, dtype_of, shape_of, type_of_value
from hybridize.library.spec import Call, Spec
from hybridize.library.tensorflow.data_elements import (
    INFINITE,
    Leaf,
    dataset,
    elements_of,
    first_axis_dropped,
    leaves,
    structure,
)


def slices(call: Call) -> Value:
    """`from_tensor_slices`: one element for each index along the first axis."""
    value = call.arg(0, "tensors")
    return dataset(_structure_of_slices(call, value, 0), _rows(call, value))


def _structure_of_slices(call: Call, value: Value, depth: int) -> Value:
    """Elements of `from_tensor_slices`: tuples and dicts are structures, lists are converted to one tensor."""
    return structure(call, value, Leaf(first_axis_dropped), depth)


def tensors(call: Call) -> Value:
    """`from_tensors`: a dataset of one element."""
    return dataset(structure(call, call.arg(0, "tensors"), Leaf(lambda s: s)), 1)


def zip_datasets(call: Call) -> Value:
    """`zip`: an element of each dataset."""
    source = call.arg(0, "datasets")
    if len(call.args) > 1:
        return _zipped(call, call.args)
    result = BOTTOM
    for obj in source:
        if isinstance(obj, Tup):
            result = join(result, _zipped(call, obj.items))
        elif isinstance(obj, Container) and obj.kind == "dict":
            made = call.new("dict", "zip")
            parts = call.engine.cells.items(call.frame, obj)
            for key, part in parts:
                call.write(made.cell(key), elements_of(call, part))
            result = join(result, dataset(made.value, _shortest([part for _, part in parts])))
        elif isinstance(obj, Container) and call.is_exact(obj):
            result = join(result, _zipped(call, call.read_all(obj)))
        else:
            result = join(result, dataset(unknown("an element of a zipped dataset", Why.PART).value))
    return result


def _zipped(call: Call, parts: Sequence[Value]) -> Value:
    return dataset(tup([elements_of(call, part) for part in parts]).value, _shortest(parts))


def _shortest(parts: Sequence[Value]) -> int | None:
    """How many elements zipped datasets have."""
    counts = [obj.count if isinstance(obj, Stream) else None for part in parts for obj in part]
    finite = [c for c in counts if c is not None and c != INFINITE]
    if None in counts or len(counts) != len(parts):
        return None
    return min(finite) if finite else INFINITE


def counted_range(call: Call) -> Value:
    """`Dataset.range`."""
    bounds = [dim_of(arg) for arg in call.args]
    count = len(range(*bounds)) if 1 <= len(bounds) <= 3 and min(bounds) >= 0 and bounds[2:] != [0] else None
    return dataset(tensor(DENSE, dtype_of(call.arg(-1, "output_type")) or "int64", ()).value, count)


def _rows(call: Call, value: Value) -> int | None:
    """How many rows the tensors of a structure have, if all that is known of them agrees."""

    def inside(obj: Obj) -> list[Value] | None:
        if isinstance(obj, Tup):
            return list(obj.items)
        if isinstance(obj, Container) and obj.kind == "dict":
            return [item for _, item in call.engine.cells.items(call.frame, obj)]
        return None

    shapes = [type_of_value(call, obj.value, PYTHON_TF)[1] for obj in leaves(value, inside)]
    dims: set[Dim] = {shape[0] if shape else DYNAMIC for shape in shapes}
    (only,) = dims if len(dims) == 1 else (DYNAMIC,)
    return only if only >= 0 else None


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
            for key, item in call.engine.cells.items(call.frame, obj):
                call.write(made.cell(key), _spec_element(call, item))
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
        elif isinstance(obj, Container) and obj.kind == "dict":
            made = call.new("dict", "types")
            for key, item in call.engine.cells.items(call.frame, obj):
                given = [call.read(o.cell(key)) for o in shapes if isinstance(o, Container)]
                inner = _types_element(call, item, given[0] if given else BOTTOM)
                call.write(made.cell(key), inner)
            result = join(result, made.value)
        elif isinstance(obj, Container):
            result = join(result, unknown("an element of a generated dataset", Why.PART).value)
        else:
            shape = shape_of(call, shapes) if shapes else None
            result = join(result, tensor(DENSE, dtype_of(obj.value), shape).value)
    return result


def from_generator(call: Call) -> Value:
    """`from_generator`: the generator runs, the element is what the signature says."""
    generator = call.arg(0, "generator")
    if generator:
        call.call(generator, how=How.HOST)
    signature = call.arg(-1, "output_signature")
    if signature and signature is not NONE_V:
        return dataset(_spec_element(call, signature))
    types = call.arg(1, "output_types")
    if types:
        return dataset(_types_element(call, types, call.arg(2, "output_shapes")))
    return dataset(unknown("an element of a generated dataset", Why.PART).value)


def _text(call: Call) -> Value:
    return dataset(tensor(DENSE, "string", ()).value)


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.data.Dataset.from_tensor_slices": Spec(slices),
    "tf.data.Dataset.from_tensors": Spec(tensors),
    "tf.data.Dataset.from_generator": Spec(from_generator),
    "tf.data.Dataset.zip": Spec(zip_datasets),
    "tf.data.Dataset.range": Spec(counted_range),
    **dict.fromkeys(
        ("tf.data.Dataset.random", "tf.data.Dataset.counter", "tf.data.experimental.Counter"),
        Spec(lambda call: dataset(tensor(DENSE, "int64", ()).value, INFINITE)),
    ),
    "tf.data.Dataset.list_files": Spec(_text),
    "tf.data.Dataset.load": Spec(lambda call: dataset(unknown("an element of a loaded dataset", Why.PART).value)),
    "tf.data.experimental.load": Spec(lambda call: dataset(unknown("an element of a loaded dataset", Why.PART).value)),
    "tf.data.TextLineDataset": Spec(_text),
    "tf.data.TFRecordDataset": Spec(_text),
    "tf.data.FixedLengthRecordDataset": Spec(_text),
    "tf.data.experimental.choose_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
    "tf.data.Dataset.sample_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
    "tf.data.Dataset.choose_from_datasets": Spec(lambda call: dataset(call.elements(call.elements(call.arg(0))))),
}
