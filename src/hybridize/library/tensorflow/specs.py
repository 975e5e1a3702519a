"""`tf.TensorSpec`s in an `input_signature`: what they say, and what they make of the arguments of a call."""

from __future__ import annotations

from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import NONE, Container, Lib, LibInst, Lit, Obj, Prim, Tup, Unknown, Value, Wrapper, tensor
from hybridize.domain.tensors import DENSE, Shape
from hybridize.library.convert import dim_of, dtype_of

#: The first letters of the dtypes that a Python number can be converted to.
_TAKEN: Final = {"int": ("int", "uint", "float", "bfloat", "complex"), "float": ("float", "bfloat", "complex")}


def converted(value: Value, spec: Value) -> Value:
    """What arrives where a signature has a spec: Python numbers become tensors (and stay what they are eagerly).

    What is not known is a tensor of the spec's type there, or the call raises.
    """
    if not is_spec(spec) or len(spec) != 1:
        return value
    (entry,) = spec
    assert isinstance(entry, LibInst)
    shape, dtype = spec_shape(entry), spec_dtype(entry)
    if any(isinstance(obj, Unknown) for obj in value):
        known = frozenset(obj for obj in value if not isinstance(obj, Unknown))
        value = join(known, tensor(DENSE, dtype, shape).value)
    if dtype is None or shape != () or not any(_is_taken(obj, dtype) for obj in value):
        return value
    return join(value, tensor(DENSE, dtype, ()).value)


def _is_taken(obj: Obj, dtype: str) -> bool:
    if not isinstance(obj, (Lit, Prim)):
        return False
    return dtype.startswith(_TAKEN.get(obj.kind, ())) or obj.kind == dtype == "bool"


def makes_graphs(obj: Obj) -> bool:
    """Whether calling an object is calling `tf.function`: itself, with arguments that are given first, configured."""
    if isinstance(obj, Wrapper):
        if obj.kind == "decorator":
            return bool(obj.extra) and obj.extra[0] == "tf.function"
        return obj.kind == "partial" and bool(obj.inner) and all(map(makes_graphs, obj.inner))
    return isinstance(obj, Lib) and obj.name == "tf.function"


def signature_items(value: Value) -> list[Value] | None:
    """The entries of an `input_signature`, in order; None where their number is not known."""
    if len(value) != 1:
        return None
    (obj,) = value
    if isinstance(obj, Tup):
        return list(obj.items)
    if isinstance(obj, Container) and obj.kind == "list" and obj.exact:
        return [cell.value for cell in obj.fields.values()]
    return None


def is_spec(value: Value) -> bool:
    """Whether a value is a `tf.TensorSpec` and nothing else."""
    return bool(value) and all(isinstance(o, LibInst) and o.cls == "tf.TensorSpec" for o in value)


def spec_shape(spec: LibInst) -> Shape:
    """The shape that a `tf.TensorSpec` gives, None where it has none or it is not known."""
    items = _sizes(spec)
    return None if items is None else tuple(map(dim_of, items))


def left_open(spec: LibInst) -> Shape:
    """The shape of a `tf.TensorSpec` with -1 where it may say None; 0 for every size that it gives, known or not."""
    items = _sizes(spec)
    return None if items is None else tuple(-1 if not item or NONE in item else 0 for item in items)


def _sizes(spec: LibInst) -> list[Value] | None:
    cell = spec.fields.get("shape")
    return signature_items(cell.value) if cell is not None and len(cell.value) == 1 else None


def spec_dtype(spec: LibInst) -> str | None:
    """The dtype of a `tf.TensorSpec`."""
    cell = spec.fields.get("dtype")
    return dtype_of(cell.value) if cell is not None and cell.value else "float32"
