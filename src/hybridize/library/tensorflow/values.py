"""Methods and properties of tensors, variables, sparse and ragged tensors."""

from __future__ import annotations

from math import prod
from typing import Final

from hybridize.domain.lattice import join
from hybridize.domain.objects import (
    BOOL_V,
    BOTTOM,
    INT_V,
    NONE_V,
    STR_V,
    LibInst,
    Tensor,
    Tup,
    Value,
    lib,
    literal,
    prim,
    tensor,
    tup,
    unknown,
)
from hybridize.domain.tensors import DENSE, DYNAMIC, NDARRAY, RAGGED, SPARSE
from hybridize.domain.unknowns import Why
from hybridize.library.convert import SHAPE_KIND, dim_of, shape_of, shape_value
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing, parametrized
from hybridize.library.tensorflow import ragged
from hybridize.program import ir
from hybridize.program.index import index_of

REFERENCE: Final = "tensor.Reference"
_SCALARS: Final = {"float": "float", "int": "int", "uint": "int", "bool": "bool", "string": "bytes"}


def receiver(call: Call) -> Tensor:
    """The tensor whose method is called; any tensor for an object of a class that derives from one."""
    return call.receiver if isinstance(call.receiver, Tensor) else tensor(DENSE)


def _shape(call: Call) -> Value:
    return shape_value(receiver(call).shape)


def _get_shape(call: Call) -> Value:
    return shape_value(receiver(call).shape)


def _dtype(call: Call) -> Value:
    name = receiver(call).dtype
    return lib(f"tf.{name}").value if name else unknown("a dtype").value


def _numpy(call: Call) -> Value:
    t = receiver(call)
    call.effect("eager_only", ".numpy()", t)
    return tensor(NDARRAY, t.dtype, t.shape).value


def _rank(call: Call) -> Value:
    shape = receiver(call).shape
    return INT_V if shape is None else literal(len(shape)).value


def _assign(call: Call) -> Value:
    """Variable assignment happens through TensorFlow: no Python effect."""
    return receiver(call).value


def _read(call: Call) -> Value:
    t = receiver(call)
    return tensor(DENSE, t.dtype, t.shape).value


def _set_shape(call: Call) -> Value:
    """`x.set_shape(shape)`: the local variable that holds the tensor holds one of that shape from here on."""
    t = receiver(call)
    given = shape_of(call, call.arg(0, "shape"))
    if given is None or (t.shape is not None and len(t.shape) != len(given)):
        return NONE_V
    old = given if t.shape is None else t.shape
    merged = tuple(d if d >= 0 else new if new >= 0 else d for d, new in zip(old, given, strict=True))
    call.frame.volatile = True  # it assigns
    index = index_of(call.frame.code)
    for instr in index.calls.get(call.pos, ()):
        method = index.definitions.get(instr.function)
        if isinstance(method, ir.Attr) and method.name == "set_shape":
            held = call.frame.vals[method.owner] or BOTTOM
            if t in held:
                call.frame.vals[method.owner] = join(held - {t}, tensor(t.kind, t.dtype, merged).value)
    return NONE_V


def _transpose(call: Call) -> Value:
    t = receiver(call)
    return tensor(DENSE, t.dtype, None if t.shape is None else tuple(reversed(t.shape))).value


def _same(call: Call) -> Value:
    return receiver(call).value


def _item(call: Call) -> Value:
    dtype = receiver(call).dtype or ""
    call.effect("eager_only", f".{call.name.rpartition('.')[2]}()", receiver(call))
    for start, kind in _SCALARS.items():
        if dtype.startswith(start):
            return prim(kind, True).value
    return unknown("an item of a tensor", Why.PART).value


def _lists(call: Call) -> Value:
    call.effect("eager_only", f".{call.name.rpartition('.')[2]}()", receiver(call))
    return call.list_of(unknown("an element of a list made from a tensor", Why.PART).value, "list", "tolist")


@parametrized
def _dense(call: Call, dtype: str | None = None, *, keep: bool = False) -> Value:
    t = receiver(call)
    return tensor(DENSE, dtype or (t.dtype if keep else None)).value


def _reference(call: Call) -> Value:
    """`x.ref()`: what a dictionary can have as a key, and no function return."""
    made = call.made(REFERENCE)
    call.keep(made, "referent", receiver(call).value)
    return made.value


def _referent(call: Call) -> Value:
    made = call.receiver
    return call.field(made, "referent") if isinstance(made, LibInst) else BOTTOM


def _eager_only(call: Call) -> Value:
    """What symbolic tensors do not have: `x.cpu()`, `x.is_packed`."""
    name = call.name.rpartition(".")[2]
    call.effect("eager_only", f".{name}", receiver(call))
    return _EAGER[name] or receiver(call).value


#: What only eager tensors have: what it gives, None for the tensor itself. Source: `dir` of both, 2.15 and 2.21.
_EAGER: Final[dict[str, Value | None]] = {"cpu": None, "gpu": None, "is_packed": BOOL_V, "backing_device": STR_V}


_TENSOR_METHODS: Final = {
    "numpy": Spec(_numpy),
    "get_shape": Spec(_get_shape),
    "set_shape": Spec(_set_shape),
    "eval": Spec(_numpy),
    "ref": Spec(_reference),
    "experimental_ref": Spec(_reference),
    "item": Spec(_item),
    "tolist": Spec(_lists),
    "__len__": Spec(lambda call: INT_V),
    "gpu": Spec(_eager_only),
    "cpu": Spec(_eager_only),
    "consumers": Spec(lambda call: unknown("operations").value),
}
_TENSOR_PROPERTIES: Final[dict[str, Rule]] = {
    "shape": _shape,
    "dtype": _dtype,
    "ndim": _rank,
    "name": lambda call: STR_V,
    "device": lambda call: STR_V,
    "is_packed": _eager_only,
    "backing_device": _eager_only,
    "op": lambda call: unknown("an operation").value,
    "graph": lambda call: unknown("a graph").value,
    "T": _transpose,
}
_VARIABLE_METHODS: Final = {
    **{
        name: Spec(_assign, op=True)
        for name in (
            "assign assign_add assign_sub scatter_add scatter_sub scatter_update scatter_nd_add scatter_nd_update "
            "scatter_nd_sub scatter_max scatter_min scatter_mul scatter_div batch_scatter_update"
        ).split()
    },
    **dict.fromkeys(("value", "read_value", "initialized_value"), Spec(_read, op=True)),
    "sparse_read": Spec(_dense(keep=True), op=True),
    "gather_nd": Spec(_dense(keep=True), op=True),
    "is_initialized": Spec(_dense("bool"), op=True),
    "count_up_to": Spec(_read, op=True),
    "load": Spec(nothing),
}
#: What parts of variables have: `v[0].assign(x)`. A tensor that is none of one has no such method.
_PART_METHODS: Final = {name: _VARIABLE_METHODS[name] for name in ("assign", "assign_add", "assign_sub")}
_VARIABLE_PROPERTIES: Final[dict[str, Rule]] = {
    "trainable": lambda call: BOOL_V,
    "aggregation": lambda call: lib("tf.VariableAggregation").value,
    "synchronization": lambda call: lib("tf.VariableSynchronization").value,
    "initializer": lambda call: unknown("an initializer").value,
    "handle": _read,
    "path": lambda call: STR_V,
}


@parametrized
def _with_rank(call: Call, rank: int, dtype: str | None = None) -> Value:
    t = receiver(call)
    dims = (DYNAMIC,) * rank
    return tensor(DENSE, dtype or t.dtype, dims).value


_SPARSE_PROPERTIES: Final[dict[str, Rule]] = {
    "values": _with_rank(1),
    "indices": lambda call: tensor(DENSE, "int64", (DYNAMIC, _rank_of(call))).value,
    "dense_shape": lambda call: tensor(DENSE, "int64", (_rank_of(call),), receiver(call).shape).value,
}


def _rank_of(call: Call) -> int:
    shape = receiver(call).shape
    return len(shape) if shape is not None else DYNAMIC


_RAGGED_METHODS: Final = {
    **ragged.METHODS,
    "to_sparse": Spec(lambda call: tensor(SPARSE, receiver(call).dtype).value, op=True),
    "to_list": Spec(_lists),
    "bounding_shape": Spec(_dense("int64"), op=True),
    "with_values": Spec(_same, op=True),
    "with_flat_values": Spec(_same, op=True),
    "merge_dims": Spec(lambda call: tensor(RAGGED, receiver(call).dtype).value, op=True),
}


def _as_list(call: Call) -> Value:
    shape = call.receiver
    if isinstance(shape, Tup):
        return call.listed(shape.items, "as_list")
    return call.list_of(INT_V, "list", "as_list")


def _dims(call: Call) -> Value:
    """A list of `Dimension`s, which compute as whole numbers do, but are no arguments of a graph."""
    shape, each = call.receiver, call.made("tf.compat.v1.Dimension").value
    if not isinstance(shape, Tup):
        return call.list_of(join(INT_V, each), "list", "dims")
    return call.listed([join(item, each) for item in shape.items], "dims")


def _shape_rank(call: Call) -> Value:
    return literal(len(call.receiver.items)).value if isinstance(call.receiver, Tup) else INT_V


def _num_elements(call: Call) -> Value:
    """The product of the dims; None if one of them is unknown."""
    if not isinstance(call.receiver, Tup):
        return INT_V
    dims = [dim_of(item) for item in call.receiver.items]
    return literal(prod(dims)).value if all(d >= 0 for d in dims) else join(INT_V, NONE_V)


def _concatenate(call: Call) -> Value:
    other = shape_of(call, call.arg(0))
    if isinstance(call.receiver, Tup) and other is not None:
        items = [item for o in call.arg(0) if isinstance(o, Tup) for item in o.items]
        return tup((*call.receiver.items, *items), SHAPE_KIND).value
    return shape_value(None)


#: Methods of a `TensorShape` that give nothing, and those that give one alike.
_ASSERTIONS: Final = "assert_has_rank assert_is_compatible_with assert_is_fully_defined assert_same_rank"
_SAME_SHAPE: Final = (
    "merge_with with_rank with_rank_at_least with_rank_at_most most_specific_compatible_shape "
    "most_specific_common_supertype"
)
CLASSES: Final[dict[str, ClassSpec]] = {
    "tensor.dense": ClassSpec(methods={**_TENSOR_METHODS, **_PART_METHODS}, properties=_TENSOR_PROPERTIES),
    "tensor.symbolic": ClassSpec(methods=_TENSOR_METHODS, properties=_TENSOR_PROPERTIES),
    "tensor.variable": ClassSpec(
        methods={**_TENSOR_METHODS, **_VARIABLE_METHODS}, properties={**_TENSOR_PROPERTIES, **_VARIABLE_PROPERTIES}
    ),
    "tensor.sparse": ClassSpec(methods=_TENSOR_METHODS, properties={**_TENSOR_PROPERTIES, **_SPARSE_PROPERTIES}),
    "tensor.ragged": ClassSpec(
        methods={**_TENSOR_METHODS, **_RAGGED_METHODS}, properties={**_TENSOR_PROPERTIES, **ragged.PROPERTIES}
    ),
    REFERENCE: ClassSpec(methods={"deref": Spec(_referent)}),
    "tensor.TensorShape": ClassSpec(
        methods={
            "as_list": Spec(_as_list),
            "concatenate": Spec(_concatenate),
            "num_elements": Spec(_num_elements),
            "is_compatible_with": Spec(lambda call: BOOL_V),
            "is_fully_defined": Spec(lambda call: BOOL_V),
            "is_subtype_of": Spec(lambda call: BOOL_V),
            **dict.fromkeys(_ASSERTIONS.split(), Spec(nothing)),
            **dict.fromkeys(_SAME_SHAPE.split(), Spec(lambda call: call.receiver.value if call.receiver else BOTTOM)),
        },
        properties={"rank": _shape_rank, "ndims": _shape_rank, "dims": _dims},
    ),
}
