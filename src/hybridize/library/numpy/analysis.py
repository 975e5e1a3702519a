"""NumPy functions of whole arrays: covariances, eigenvalues, least squares, transforms along an axis, elements put in
or taken out, windows, and functions of the project that are applied to parts of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.objects import Lit, Prim, Tensor, Value, tensor, tup
from hybridize.domain.tensors import DYNAMIC, NDARRAY, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.arithmetic import promoted
from hybridize.library.numpy.core import on_host
from hybridize.library.numpy.promotion import both, combined, divided, floating, of, real
from hybridize.library.operands import Args, Impossible, Operand, Unsure, fixed, sure, tensor_rule, value_rule
from hybridize.library.shapes import axis_of, broadcast_all, product_of, reduced, replaced, sum_of, unsized
from hybridize.library.spec import Call, Spec, parametrized

Dims = tuple[Dim, ...]


def array(dtype: Callable[[Args], str | None], shape: Callable[[Args], Shape]) -> Spec:
    """A function that gives one array, on the host."""
    return Spec(on_host(tensor_rule(dtype, shape, kind=NDARRAY)))


def other(rule: Callable[[Args], Value]) -> Spec:
    """A function that gives something else, on the host."""
    return Spec(on_host(value_rule(rule, "unknown")))


def inexact(a: Args) -> str | None:
    """Linear algebra computes in single and double precision only."""
    dtype = a.nth(0).dtype
    return dtype if dtype in ("float32", "float64", "complex64", "complex128") else divided(dtype)


# Covariances and matrices --------------------------------------------------------------------------------------------


def _covariance_dtype(a: Args) -> str | None:
    """Never less than double precision."""
    if a.given("dtype"):
        return a.dtype("dtype")
    found: str | None = promoted(a.nth(0).dtype, "float64")
    return promoted(found, a.tensor("y").dtype) if a.given("y") else found


def _covariance(a: Args) -> Shape:
    """As many rows and columns as there are variables: one for each row, or each column if not `rowvar`."""
    by_row = a.flag("rowvar", default=True) if a.given("rowvar") else True
    counts = [_variables(x, by_row) for x in (a.nth(0), *([a.tensor("y")] if a.given("y") else []))]
    count = sum_of(counts)
    return () if count == 1 else (count, count)


def _variables(x: Operand, by_row: bool) -> Dim:
    if x.rank < 2:
        return 1
    return x.known[0 if by_row else 1]


def _of_eigenvalues(a: Args) -> str | None:
    """Real eigenvalues of a real matrix come as reals, which only the values tell."""
    dtype = inexact(a)
    return dtype if dtype and dtype.startswith("complex") else None


def _eig(a: Args) -> Value:
    x = a.nth(0).known
    dtype = _of_eigenvalues(a)
    return tup([a.result(dtype, x[:-1]), a.result(dtype, x)], "EigResult").value


def _least_squares(a: Args) -> Value:
    left, right = a.nth(0).known, a.nth(1).known
    if len(left) != 2:
        raise Impossible
    dtype: str | None = promoted(inexact(a), divided(a.nth(1).dtype))
    small = min(left) if min(left) >= 0 else unsized(*left)
    solution, residuals = a.result(dtype, (left[1], *right[1:])), a.result(real(dtype), (DYNAMIC,))
    return tup([solution, residuals, a.result("int32", ()), a.result(real(dtype), (small,))]).value


# Transforms ----------------------------------------------------------------------------------------------------------


def _transformed_dtype(a: Args) -> str | None:
    """NumPy 1 always computes in double precision."""
    return "complex128" if a.nth(0).dtype in ("float64", "complex128", "int64", "int32") else None


@parametrized
def _transformed(a: Args, half: bool) -> Shape:
    """Along one axis, the last by default, of `n` elements; of reals the second half says nothing new."""
    shape = a.nth(0).known
    at = axis_of(len(shape), a.integer("axis", default=-1) if a.given("axis") else -1)
    size = a.integer("n") if a.given("n") else shape[at]
    if half:
        size = size // 2 + 1 if size >= 0 else blurred(size)
    return replaced(shape, at, size)


# Elements put in or taken out ----------------------------------------------------------------------------------------


def _deleted(a: Args) -> Shape:
    """One index takes one element away; of several some may be the same."""
    return _changed(a, lambda x, count: DYNAMIC if x.rank else max(count - 1, 0))


def _inserted(a: Args) -> Shape:
    """Each index adds one element; a single one as many as there are values, if they have as many dims."""
    rank = a.nth(0).rank if a.given("axis") else 1
    alone = a.nth(2).rank < rank

    def size(index: Operand, count: int) -> Dim:
        return count + index.known[0] if index.rank else count + 1 if alone else UNRESOLVED

    return _changed(a, size)


def _changed(a: Args, size: Callable[[Operand, int], Dim]) -> Shape:
    x, index = a.nth(0), a.nth(1)
    shape: Dims = x.known if a.given("axis") else (product_of(x.known),)
    at = axis_of(len(shape), a.integer("axis")) if a.given("axis") else 0
    count = shape[at]
    if index.rank and index.known[0] < 0:
        return replaced(shape, at, UNRESOLVED)
    return replaced(shape, at, size(index, count) if count >= 0 else blurred(count))


def _differences(a: Args) -> Shape:
    if a.given("to_end") or a.given("to_begin"):
        raise Unsure
    count = product_of(a.nth(0).known)
    return (max(count - 1, 0) if count >= 0 else blurred(count),)


def _selected_dtype(a: Args) -> str | None:
    default = [a.tensor("default")] if a.given("default") else []
    return combined([*a.tensors("choicelist"), *default]) if default else None


def _selected(a: Args) -> Shape:
    return broadcast_all(o.shape for o in (*a.tensors("condlist"), *a.tensors("choicelist")))


def _partitioned(a: Args) -> Shape:
    """Flat only if the axis is None and said so."""
    shape = a.nth(0).known
    return shape if not a.value("axis") or a.given("axis") else (product_of(shape),)


# Windows, and the indices of a shape ----------------------------------------------------------------------------------


def _windows(a: Args) -> Shape:
    shape = a.nth(0).known
    sizes = a.integers("window_shape") or ()
    axes = a.integers("axis") if a.given("axis") else tuple(range(len(shape)))
    if axes is None or len(axes) != len(sizes):
        raise Impossible
    dims = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        at = axis_of(len(shape), axis)
        dims[at] = dims[at] - size + 1 if dims[at] >= 0 else blurred(dims[at])
    return (*dims, *sizes)


def _indices(a: Args) -> Shape:
    if a.given("sparse"):
        raise Unsure
    dims = a.dims("dimensions")
    return (len(dims), *dims)


# Functions of the project ---------------------------------------------------------------------------------------------


def _applied(a: Args) -> Value:
    """`apply_along_axis(f, axis, x)`: what `f` gives for a vector stands where the axis was."""
    x = a.tensor("arr")
    vector: Shape = None
    outer: tuple[Dims, Dims] | None = None
    if x.shape is not None:
        at = sure(lambda args: axis_of(x.rank, args.integer("axis")), a)
        if at is not None:
            vector, outer = (x.shape[at],), (x.shape[:at], x.shape[at + 1 :])
    made = _given(a, tensor(NDARRAY, x.dtype, vector if vector is not None else (UNRESOLVED,)).value)
    if made.shape is None or outer is None:
        return tensor(NDARRAY, made.dtype).value
    return tensor(NDARRAY, made.dtype, (*outer[0], *made.shape, *outer[1])).value


def _piecewise(a: Args) -> Value:
    """`piecewise(x, conditions, functions)`: each function sees the elements of `x` that its condition holds for.

    Numbers may stand in place of functions; whatever they give is cast to the dtype of `x`. What follows the functions
    is passed on to them.
    """
    x = a.nth(0)
    chosen = tensor(NDARRAY, x.dtype, (DYNAMIC,)).value
    functions = frozenset(o for o in a.call.elements(a.value("funclist")) if not isinstance(o, (Lit, Prim, Tensor)))
    keywords = {name: value for name, value in a.call.kwargs.items() if name not in ("x", "condlist", "funclist")}
    if functions:
        passed = [chosen, *a.call.args[3:]]
        a.call.engine.calls.call_value(a.call.frame, a.call.pos, functions, passed, keywords, How.CALLBACK)
    return tensor(NDARRAY, x.dtype, x.shape).value


def _given(a: Args, *args: Value) -> Operand:
    """What the function of a call gives, as an array."""
    value = a.call.call(a.value(a.first), *args)
    return a.operand(value) if value else Operand(None, None)


def _from_function(call: Call) -> Value:
    """`fromfunction(f, shape)`: `f` sees the indices along each axis, as whole arrays."""
    a = Args(call)
    shape = sure(lambda args: args.dims("shape"), a)
    dtype = sure(lambda args: args.dtype("dtype", default="float64"), a)
    index = tensor(NDARRAY, dtype, shape).value
    return call.call(call.arg(0, "function"), *[index] * (len(shape) if shape is not None else 1))


FUNCTIONS: Final[dict[str, Spec]] = {
    "np.cov": array(_covariance_dtype, _covariance),
    "np.corrcoef": array(_covariance_dtype, _covariance),
    "np.linalg.eig": other(_eig),
    "np.linalg.eigvals": array(_of_eigenvalues, lambda a: a.nth(0).known[:-1]),
    "np.linalg.lstsq": other(_least_squares),
    "np.linalg.slogdet": other(
        lambda a: tup([a.result(inexact(a), a.nth(0).known[:-2])] * 2, "SlogdetResult").value,
    ),
    "np.linalg.matrix_rank": array(fixed("int64"), lambda a: reduced(a.nth(0).known, (-2, -1), False)),
    **{f"np.fft.{n}": array(_transformed_dtype, _transformed(half=False)) for n in ("fft", "ifft")},
    "np.fft.rfft": array(_transformed_dtype, _transformed(half=True)),
    "np.divmod": other(lambda a: tup([a.result(both(a), broadcast_all((a.nth(0).shape, a.nth(1).shape)))] * 2).value),
    "np.modf": other(lambda a: tup([a.result(floating(a.nth(0).dtype), a.nth(0).shape)] * 2).value),
    "np.ediff1d": array(of(lambda d: d), _differences),
    "np.delete": array(of(lambda d: d), _deleted),
    "np.insert": array(of(lambda d: d), _inserted),
    "np.select": array(_selected_dtype, _selected),
    "np.partition": array(of(lambda d: d), _partitioned),
    "np.argpartition": array(fixed("int64"), _partitioned),
    "np.lib.stride_tricks.sliding_window_view": array(of(lambda d: d), _windows),
    "np.indices": array(lambda a: a.dtype("dtype", default="int64"), _indices),
    "np.apply_along_axis": other(_applied),
    "np.piecewise": other(_piecewise),
    "np.fromfunction": Spec(_from_function),
}
