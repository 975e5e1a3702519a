"""Contractions and matrix decompositions."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Value
from hybridize.domain.tensors import UNRESOLVED, Dim, Shape
from hybridize.library.arithmetic import broadcast
from hybridize.library.operands import (
    Args,
    Impossible,
    Operand,
    Unsure,
    agreed,
    common,
    fixed,
    group,
    op,
    real_of,
    record,
    same,
    value_rule,
)
from hybridize.library.shapes import axis_of, batch_of, either, like, matrix_product, swapped, unsized
from hybridize.library.spec import Spec, parametrized


def _oriented(x: Operand, *flags: bool) -> tuple[Dim, ...]:
    return swapped(x.known) if any(flags) else x.known


def _matmul(a: Args) -> Shape:
    left = _oriented(a.tensor("a"), a.flag("transpose_a"), a.flag("adjoint_a"))
    right = _oriented(a.tensor("b"), a.flag("transpose_b"), a.flag("adjoint_b"))
    return matrix_product(left, right)


def _matvec(a: Args) -> Shape:
    left = _oriented(a.tensor("a"), a.flag("transpose_a"), a.flag("adjoint_a"))
    return (*batch_of(left[:-2], a.tensor("b").known[:-1]), left[-2])


def tensordot_shape(a: Args) -> Shape:
    """The shape of a contraction over the axes that an argument names."""
    left, right = a.tensor("a").known, a.tensor("b").known
    obj = a.object("axes")
    if obj is None:
        raise Impossible
    items = [next(iter(i)) for i in a.items_of(obj) if len(i) == 1]
    if len(items) == 1:
        count = a.integer("axes")
        return (*left[: len(left) - count], *right[count:])
    dropped = [[axis_of(len(s), d) for d in a.integers_of(item)] for s, item in zip((left, right), items, strict=True)]
    return (
        *(d for i, d in enumerate(left) if i not in dropped[0]),
        *(d for i, d in enumerate(right) if i not in dropped[1]),
    )


def einsum_shape(equation: str, shapes: list[Shape]) -> Shape:
    """The shape of an einsum, ellipses included."""
    text = equation.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise Impossible
    sizes: dict[str, Dim] = {}
    batch: Shape = ()
    for term, shape in zip(terms, shapes, strict=True):
        if shape is None:
            continue
        head, dots, tail = term.partition("...")
        if not dots and len(head) != len(shape):
            raise Impossible
        count = len(shape) - len(head) - len(tail)
        names = [*head, *[""] * (count if dots else 0), *tail]
        for name, dim in zip(names, shape, strict=True):
            if name:
                known = sizes.get(name, dim)
                sizes[name] = max(known, dim) if 1 in (known, dim) else either(known, dim)
        if dots:
            batch = broadcast(batch, shape[len(head) : len(head) + count])
    if not arrow:
        letters = "".join(t.replace("...", "") for t in terms)
        output = ("..." if "..." in inputs else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    head, dots, tail = output.partition("...")
    if dots and batch is None:
        raise Unsure
    middle = (batch or ()) if dots else ()
    try:
        return (*(sizes[c] for c in head), *middle, *(sizes[c] for c in tail))
    except KeyError:
        if any(s is None for s in shapes) and not dots:
            return tuple(sizes.get(c, UNRESOLVED) for c in head)
        raise Unsure from None


def einsum_operands(a: Args) -> list[Operand]:
    """What follows the equation."""
    if a.call.rest:
        raise Unsure
    return [a.operand(v) for v in a.call.args[1:]]


def einsum_of(a: Args) -> Shape:
    """The shape of an einsum call."""
    equation = next(iter(a.call.args[0]), None) if a.call.args else None
    text = getattr(equation, "const", None)
    if not isinstance(text, str):
        raise Unsure
    return einsum_shape(text, [o.shape for o in einsum_operands(a)])


def _matrix(x: Operand) -> tuple[list[Dim], Dim, Dim]:
    """The dims of a batch of matrices: batch, rows, columns."""
    if len(x.known) < 2:
        raise Impossible
    *batch, rows, columns = x.known
    return batch, rows, columns


def _svd(a: Args) -> Value:
    x = a.tensor("tensor")
    batch, m, n = _matrix(x)
    small = min(m, n) if min(m, n) >= 0 else unsized(m, n)
    s = a.result(real_of(same("tensor"))(a), (*batch, small))
    if not a.flag("compute_uv", default=True):
        return s
    full = a.flag("full_matrices")
    u = a.result(x.dtype, (*batch, m, m if full else small))
    v = a.result(x.dtype, (*batch, n, n if full else small))
    return record("tuple", (), s, u, v)


def _qr(a: Args) -> Value:
    x = a.tensor("input")
    batch, m, n = _matrix(x)
    small = min(m, n) if min(m, n) >= 0 else unsized(m, n)
    full = a.flag("full_matrices")
    q = a.result(x.dtype, (*batch, m, m if full else small))
    return record("Qr", ("q", "r"), q, a.result(x.dtype, (*batch, m if full else small, n)))


_COMPLEX: Final = {"float32": "complex64", "float64": "complex128", "complex64": "complex64"}


def _eig(a: Args) -> Value:
    x = a.tensor("tensor")
    dtype = _COMPLEX.get(x.dtype or "")
    return record("tuple", (), a.result(dtype, x.known[:-1]), a.result(dtype, x.known))


def _eigvals(a: Args) -> str | None:
    return _COMPLEX.get(a.tensor("tensor").dtype or "")


def _eigh(a: Args) -> Value:
    x = a.tensor("tensor")
    values = a.result(real_of(same("tensor"))(a), x.known[:-1])
    return record("tuple", (), values, a.result(x.dtype, x.known))


def _eigh_tridiagonal(a: Args) -> Value:
    alpha = a.tensor("alpha")
    if not a.flag("eigvals_only", default=True):
        raise Unsure
    return a.result(real_of(same("alpha"))(a), alpha.known)


def _lu(a: Args) -> Value:
    x = a.tensor("input")
    index = a.dtype("output_idx_type", default="int32")
    return record("Lu", ("lu", "p"), a.result(x.dtype, x.known), a.result(index, x.known[:-1]))


def _slogdet(a: Args) -> Value:
    x = a.tensor("input")
    parts = [a.result(d, x.known[:-2]) for d in (x.dtype, real_of(same("input"))(a))]
    return record("LogMatrixDeterminant", ("sign", "log_abs_determinant"), *parts)


def _solve(a: Args) -> Shape:
    left = _oriented(a.tensor("matrix"), a.flag("adjoint"))
    right = a.tensor("rhs").known
    return (*batch_of(left[:-2], right[:-2]), left[-1], right[-1])


@parametrized
def _solved(a: Args, dim: int) -> Shape:
    """The shape of what solves a matrix for a right-hand side: of its rows one dim is that of the matrix."""
    matrix, rhs = a.tensor("matrix").known, a.tensor("rhs").known
    return (*batch_of(matrix[:-2], rhs[:-2]), matrix[dim], rhs[-1])


def _rank(a: Args) -> Shape:
    return a.tensor("a").known[:-2]


def _lu_solve(a: Args) -> Shape:
    lower, rhs = a.tensor("lower_upper").known, a.tensor("rhs").known
    return (*batch_of(lower[:-2], rhs[:-2]), *rhs[-2:])


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.linalg.matmul": op(lambda a: a.dtype("output_type", default=agreed("a", "b")(a)), _matmul),
    "tf.linalg.matvec": op(agreed("a", "b"), _matvec),
    "tf.tensordot": op(agreed("a", "b"), tensordot_shape),
    "tf.einsum": op(lambda a: common(einsum_operands(a)), einsum_of),
    "tf.linalg.svd": Spec(value_rule(_svd, "unknown"), op=True),
    "tf.linalg.qr": Spec(value_rule(_qr, "unknown"), op=True),
    "tf.linalg.eig": Spec(value_rule(_eig, "unknown"), op=True),
    "tf.linalg.eigh": Spec(value_rule(_eigh, "unknown"), op=True),
    "tf.linalg.eigvals": op(_eigvals, lambda a: a.tensor("tensor").known[:-1]),
    "tf.linalg.eigvalsh": op(real_of(same("tensor")), lambda a: a.tensor("tensor").known[:-1]),
    "tf.linalg.eigh_tridiagonal": Spec(value_rule(_eigh_tridiagonal, "unknown"), op=True),
    "tf.linalg.lu": Spec(value_rule(_lu, "unknown"), op=True),
    "tf.linalg.slogdet": Spec(value_rule(_slogdet, "unknown"), op=True),
    "tf.linalg.det": op(same("input"), lambda a: a.tensor("input").known[:-2]),
    "tf.linalg.logdet": op(real_of(same("matrix")), lambda a: a.tensor("matrix").known[:-2]),
    "tf.linalg.solve": op(agreed("matrix", "rhs"), _solve),
    "tf.linalg.triangular_solve": op(agreed("matrix", "rhs"), _solved(-2)),
    "tf.linalg.banded_triangular_solve": op(agreed("bands", "rhs"), like("rhs")),
    "tf.linalg.tridiagonal_solve": op(agreed("diagonals", "rhs"), like("rhs")),
    "tf.linalg.tridiagonal_matmul": op(same("rhs"), like("rhs")),
    "tf.linalg.cholesky_solve": op(agreed("chol", "rhs"), like("rhs")),
    "tf.linalg.lu_solve": op(agreed("lower_upper", "rhs"), _lu_solve),
    **group("tf.linalg.lu_matrix_inverse tf.linalg.lu_reconstruct", op(same("lower_upper"), like("lower_upper"))),
    "tf.linalg.lstsq": op(agreed("matrix", "rhs"), _solved(-1)),
    "tf.linalg.pinv": op(same("a"), lambda a: swapped(a.tensor("a").known)),
    "tf.linalg.matrix_rank": op(fixed("int32"), _rank),
    "tf.linalg.cross": op(agreed("a", "b"), lambda a: broadcast(a.tensor("a").shape, a.tensor("b").shape)),
}
