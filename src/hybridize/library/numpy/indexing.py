"""NumPy's objects that are indexed to make arrays: `mgrid`, `ogrid`, `r_`, `c_`, and `s_`, which gives its index."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from hybridize.domain.objects import NONE_V, Lit, Obj, Tensor, Tup, Value, Wrapper, tensor, tup, unknown
from hybridize.domain.tensors import NDARRAY, UNRESOLVED, Dim
from hybridize.domain.unknowns import Why
from hybridize.library.arithmetic import promoted
from hybridize.library.spec import Call


def _number(value: Value) -> Any:
    """The constant of a bound; None where it is missing or not known."""
    (obj,) = value if len(value) == 1 else (None,)
    return obj.const if isinstance(obj, Lit) and isinstance(obj.const, (int, float, complex)) else None


def _range(key: Obj) -> tuple[str | None, Dim]:
    """The dtype and length of the numbers that a slice stands for; a complex step is their number."""
    if not isinstance(key, Wrapper) or key.kind != "slice":
        return None, UNRESOLVED
    start, stop, step = (_number(part) for part in key.extra[:3])
    bare = [not part or part is NONE_V for part in key.extra[:3]]
    if isinstance(step, complex):
        return "float64", int(abs(step))
    first = 0 if bare[0] else start
    by = 1 if bare[2] else step
    kinds = {type(number) for number in (first, stop, by)}
    dtype = "int64" if kinds == {int} else "float64" if kinds <= {int, float} else None
    if (
        not isinstance(first, (int, float))
        or not isinstance(stop, (int, float))
        or not isinstance(by, (int, float))
        or not by
    ):
        return dtype, UNRESOLVED
    return dtype, max(math.ceil((stop - first) / by), 0)


def _keys(index: Value) -> list[Obj] | None:
    (key,) = index if len(index) == 1 else (None,)
    if not isinstance(key, Tup):
        return None if key is None else [key]
    return [next(iter(item)) for item in key.items] if all(len(item) == 1 for item in key.items) else None


def _mesh(call: Call, *, opened: bool) -> Value:
    keys = _keys(call.arg(0))
    if not keys:
        return tensor(NDARRAY).value
    ranges = [_range(key) for key in keys]
    dtype: str | None = ranges[0][0]
    for other, _ in ranges[1:]:
        dtype = promoted(dtype, other)
    dims = tuple(size for _, size in ranges)
    (index,) = call.arg(0)
    if not isinstance(index, Tup):
        return tensor(NDARRAY, dtype, dims).value
    if not opened:
        return tensor(NDARRAY, dtype, (len(dims), *dims)).value
    ones = [tuple(d if i == at else 1 for i, d in enumerate(dims)) for at in range(len(dims))]
    return tup([tensor(NDARRAY, dtype, each).value for each in ones]).value


def _part(key: Obj) -> tuple[str | None, tuple[Dim, ...] | None]:
    if isinstance(key, Wrapper):
        dtype, size = _range(key)
        return dtype, (size,)
    if isinstance(key, Tensor):
        return key.dtype, key.shape
    if isinstance(key, Lit) and isinstance(key.const, (int, float)) and not isinstance(key.const, bool):
        return "int64" if isinstance(key.const, int) else "float64", ()
    return None, None


def _joined(call: Call, *, columns: bool) -> Value:
    keys = _keys(call.arg(0))
    parts = [_part(key) for key in keys or ()]
    if not parts or any(shape is None or len(shape) > (2 if columns else 1) for _, shape in parts):
        return tensor(NDARRAY).value
    dtype: str | None = parts[0][0]
    for other, _ in parts[1:]:
        dtype = promoted(dtype, other)
    shapes = [shape for _, shape in parts if shape is not None]
    if columns:
        wide = [1 if len(shape) < 2 else shape[1] for shape in shapes]
        rows = next((shape[0] for shape in shapes if shape and shape[0] >= 0), UNRESOLVED)
        return tensor(NDARRAY, dtype, (rows, UNRESOLVED if min(wide) < 0 else sum(wide))).value
    sizes = [shape[0] if shape else 1 for shape in shapes]
    return tensor(NDARRAY, dtype, (UNRESOLVED if min(sizes) < 0 else sum(sizes),)).value


def indexed(call: Call) -> Value:
    """`np.mgrid[...]` and its like: `call.name` is the object's, the first argument the index."""
    rule = INDEXED.get(call.name)
    return rule(call) if rule is not None else unknown(f"an element of {call.name}", Why.PART).value


INDEXED: Final[dict[str, Callable[[Call], Value]]] = {
    "np.mgrid": lambda call: _mesh(call, opened=False),
    "np.ogrid": lambda call: _mesh(call, opened=True),
    "np.r_": lambda call: _joined(call, columns=False),
    "np.c_": lambda call: _joined(call, columns=True),
    "np.s_": lambda call: call.arg(0),
    "np.index_exp": lambda call: call.arg(0) if any(isinstance(o, Tup) for o in call.arg(0)) else tup(call.args).value,
}
