"""Hash tables: what a lookup gives."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE_V, LibInst, Tensor, Value, lib, tensor
from hybridize.domain.tensors import DENSE, RAGGED, SPARSE
from hybridize.library.convert import PYTHON_TF, dtype_of, type_of_value
from hybridize.library.spec import Call, ClassSpec, Spec


def _lookup(call: Call) -> Value:
    """Values of the table's dtype in the shape (and kind) of the keys."""
    dtype = "int64" if call.name.startswith("tf.lookup.StaticVocabularyTable") else _value_dtype(call)
    for obj in call.arg(0, "keys"):
        if isinstance(obj, Tensor):
            kind = obj.kind if obj.kind in (RAGGED, SPARSE) else DENSE
            return tensor(kind, dtype, obj.shape).value
    return tensor(DENSE, dtype).value


def _value_dtype(call: Call) -> str | None:
    table = call.receiver
    if not isinstance(table, LibInst):
        return None
    found = dtype_of(call.field(table, "value_dtype"))
    for source in call.field(table, "initializer") if found is None else ():
        if not isinstance(source, LibInst):
            return None
        found = dtype_of(call.field(source, "value_dtype"))
        values = call.field(source, "values")
        if found is None and values:
            found = type_of_value(call, values, PYTHON_TF)[0]
    return found


def _size(call: Call) -> Value:
    return tensor(DENSE, "int64", ()).value


def _operation(call: Call) -> Value:
    """`None` eagerly; while tracing an operation, which no function can return."""
    return NONE_V | lib("tf.Operation").value


_METHODS: Final = {
    "lookup": Spec(_lookup, op=True),
    "__getitem__": Spec(_lookup, op=True),
    "size": Spec(_size, op=True),
    "insert": Spec(_operation, op=True),
    "remove": Spec(_operation, op=True),
    "erase": Spec(_operation, op=True),
}
_PARAMETERS: Final = {
    "StaticHashTable": ("initializer", "default_value", "name"),
    "StaticVocabularyTable": ("initializer", "num_oov_buckets", "lookup_key_dtype", "name"),
    "experimental.MutableHashTable": ("key_dtype", "value_dtype", "default_value", "name"),
    "experimental.DenseHashTable": ("key_dtype", "value_dtype", "default_value", "empty_key", "deleted_key"),
}

FUNCTIONS: Final[dict[str, Spec]] = {}
CLASSES: Final[dict[str, ClassSpec]] = {
    f"tf.lookup.{name}": ClassSpec(methods=_METHODS, parameters=parameters) for name, parameters in _PARAMETERS.items()
} | {
    "tf.lookup.KeyValueTensorInitializer": ClassSpec(parameters=("keys", "values", "key_dtype", "value_dtype", "name")),
    "tf.lookup.TextFileInitializer": ClassSpec(
        parameters=("filename", "key_dtype", "key_index", "value_dtype", "value_index")
    ),
}
