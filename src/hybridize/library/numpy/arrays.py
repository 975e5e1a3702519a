"""Methods and properties of NumPy arrays."""

from __future__ import annotations

from math import prod
from typing import Final

from hybridize.domain.objects import INT_V, NONE_V, Lit, Tensor, Value, lib, literal, prim, tensor, tup, unknown
from hybridize.domain.tensors import NDARRAY, UNRESOLVED, Shape
from hybridize.domain.unknowns import Why
from hybridize.library.convert import dtype_of
from hybridize.library.numpy import core
from hybridize.library.operands import Args, Impossible, Unsure
from hybridize.library.shapes import permuted, product_of, reshaped
from hybridize.library.spec import Call, ClassSpec, Rule, Spec, nothing, parametrized

_SCALARS: Final = {"float": "float", "int": "int", "uint": "int", "bool": "bool", "string": "str", "complex": "complex"}
#: Methods that do what the function of the same name does.
_FUNCTIONS: Final = """
    sum prod mean std var max min argmax argmin any all cumsum cumprod ravel squeeze swapaxes repeat dot round clip take
    argsort nonzero diagonal trace conj conjugate compress
"""


def _array(call: Call) -> Tensor:
    assert isinstance(call.receiver, Tensor)
    return call.receiver


@parametrized
def as_function(call: Call, name: str) -> Value:
    """A method as the function that takes the array first."""
    made = Call(call.engine, call.frame, call.pos, name, [_array(call).value, *call.args], call.kwargs, None, call.rest)
    found = core.FUNCTIONS[name].rule
    assert found is not None
    return found(made)


def _dims(call: Call) -> tuple[int, ...]:
    """Numbers given one by one, or as one sequence."""
    args = Args(call, "np.ndarray")
    values = list(call.args)
    if call.rest or not values:
        raise Unsure
    if len(values) == 1 and len(values[0]) == 1:
        return args.dims_of(next(iter(values[0])))
    found: list[int] = []
    for value in values:
        if len(value) != 1:
            found.append(UNRESOLVED)
        else:
            found += args.dims_of(next(iter(value)))
    return tuple(found)


def _reshape(call: Call) -> Value:
    x = _array(call)
    shape: Shape = None
    try:
        shape = reshaped(x.shape, _dims(call))
    except (Unsure, Impossible):
        pass
    return tensor(NDARRAY, x.dtype, shape).value


def _transpose(call: Call) -> Value:
    x = _array(call)
    if x.shape is None:
        return tensor(NDARRAY, x.dtype).value
    try:
        given = [v for v in call.args if v is not NONE_V]
        shape: Shape = permuted(x.shape, [_axis(call, v) for v in _flat(call)] if given else None)
    except (Unsure, Impossible):
        shape = (UNRESOLVED,) * len(x.shape)
    return tensor(NDARRAY, x.dtype, shape).value


def _flat(call: Call) -> list[Value]:
    if len(call.args) == 1 and len(call.args[0]) == 1:
        return Args(call, "np.ndarray").items_of(next(iter(call.args[0])))
    return list(call.args)


def _axis(call: Call, value: Value) -> int:
    obj = next(iter(value), None)
    if len(value) != 1 or not isinstance(obj, Lit) or not isinstance(obj.const, int):
        raise Unsure
    return obj.const


def _astype(call: Call) -> Value:
    x = _array(call)
    return tensor(NDARRAY, dtype_of(call.arg(0, "dtype"), tensorflow=False), x.shape).value


def _view(call: Call) -> Value:
    x = _array(call)
    return x.value if not call.args and not call.kwargs else tensor(NDARRAY).value


def _same(call: Call) -> Value:
    return _array(call).value


def _flatten(call: Call) -> Value:
    x = _array(call)
    return tensor(NDARRAY, x.dtype, None if x.shape is None else (product_of(x.shape),)).value


def _item(call: Call) -> Value:
    dtype = _array(call).dtype or ""
    for start, kind in _SCALARS.items():
        if dtype.startswith(start):
            return prim(kind, True).value
    return unknown("an item of an array", Why.PART).value


def _tolist(call: Call) -> Value:
    x = _array(call)
    if x.shape is not None and len(x.shape) == 0:
        return _item(call)
    element = (
        _item(call) if x.shape is not None and len(x.shape) == 1 else unknown("an element of a list", Why.PART).value
    )
    return call.list_of(element, "list", "tolist")


def _shape(call: Call) -> Value:
    shape = _array(call).shape
    if shape is None:
        return unknown("the shape of an array").value
    return tup([literal(d).value if d >= 0 else INT_V for d in shape]).value


def _dtype(call: Call) -> Value:
    name = _array(call).dtype
    return lib(f"np.{name}").value if name and name != "string" else unknown("a dtype").value


def _size(call: Call) -> Value:
    shape = _array(call).shape
    return INT_V if shape is None or any(d < 0 for d in shape) else literal(prod(shape)).value


def _ndim(call: Call) -> Value:
    shape = _array(call).shape
    return INT_V if shape is None else literal(len(shape)).value


def _turned(call: Call) -> Value:
    x = _array(call)
    return tensor(NDARRAY, x.dtype, None if x.shape is None else x.shape[::-1]).value


def _part(call: Call) -> Value:
    x = _array(call)
    dtype = {"complex64": "float32", "complex128": "float64"}.get(x.dtype or "", x.dtype)
    return tensor(NDARRAY, dtype, x.shape).value


def _length(call: Call) -> Value:
    shape = _array(call).shape
    return literal(shape[0]).value if shape and shape[0] >= 0 else INT_V


_METHODS: Final[dict[str, Spec]] = {
    **{name: Spec(as_function(f"np.{name}")) for name in _FUNCTIONS.split()},
    "reshape": Spec(_reshape),
    "transpose": Spec(_transpose),
    "astype": Spec(_astype),
    "view": Spec(_view),
    "copy": Spec(_same),
    "byteswap": Spec(_same),
    "newbyteorder": Spec(_same),
    "__copy__": Spec(_same),
    "__deepcopy__": Spec(_same),
    "flatten": Spec(_flatten),
    "item": Spec(_item),
    "tolist": Spec(_tolist),
    "__len__": Spec(_length),
    "tobytes": Spec(lambda call: prim("bytes").value),
    "tostring": Spec(lambda call: prim("bytes").value),
    **{
        name: Spec(nothing, effects=("mutate",))
        for name in "fill sort itemset resize put partition setflags setfield __setitem__".split()
    },
    **{name: Spec(nothing, effects=("io",)) for name in ("tofile", "dump")},
    "numpy": Spec(_same),
}
_PROPERTIES: Final[dict[str, Rule]] = {
    "shape": _shape,
    "dtype": _dtype,
    "size": _size,
    "ndim": _ndim,
    "T": _turned,
    "real": _part,
    "imag": _part,
    "flat": _flatten,
    "nbytes": lambda call: INT_V,
    "itemsize": lambda call: INT_V,
}

CLASSES: Final[dict[str, ClassSpec]] = {"tensor.ndarray": ClassSpec(methods=_METHODS, properties=_PROPERTIES)}
