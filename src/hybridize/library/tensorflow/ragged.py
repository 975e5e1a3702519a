"""Ragged tensors: how they are made from values and rows, and what their parts are.

The shape of a ragged tensor has its rows, DYNAMIC for every ragged dim, and then the dims of its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hybridize.domain.calls import How
from hybridize.domain.lattice import join
from hybridize.domain.objects import BOTTOM, INT_V, Tensor, Value, tensor, unknown_result
from hybridize.domain.tensors import DENSE, DYNAMIC, RAGGED, Dim, Shape
from hybridize.library.convert import shape_of
from hybridize.library.operands import Args, Unsure, value_rule
from hybridize.library.spec import Call, Rule, Spec, parametrized


@parametrized
def _rows(a: Args, name: str, less: int = 0) -> Dim:
    """As many rows as an argument has elements, or some fewer."""
    size = a.tensor(name).known[0]
    return size - less if size >= less else DYNAMIC


def _last_row(a: Args) -> Dim:
    """Rows that are numbered by the values: one more than the last number."""
    if a.given("nrows"):
        return a.integer("nrows")
    numbers = a.tensor("value_rowids").content
    return numbers[-1] + 1 if numbers else DYNAMIC


def _made(rows: Callable[[Args], Dim]) -> Spec:
    """A ragged tensor of flat values that are cut into rows."""

    def rule(a: Args) -> Value:
        values = a.tensor("values")
        if values.shape is None:
            return tensor(RAGGED, values.dtype).value
        try:
            count = rows(a)
        except Unsure:
            count = DYNAMIC
        return tensor(RAGGED, values.dtype, (count, DYNAMIC, *values.shape[1:])).value

    return Spec(value_rule(rule), op=True)


def _nested(name: str, count: Callable[[list[Dim], Args, Value], Dim]) -> Spec:
    """A ragged tensor of several ragged dims, by one partition for each of them, the outermost first."""

    def rule(a: Args) -> Value:
        values = a.tensor("flat_values")
        obj = a.object(name)
        parts = a.items_of(obj) if obj is not None else []
        if values.shape is None or not parts:
            return tensor(RAGGED, values.dtype).value
        first = a.operand(parts[0])
        rows = count([*(first.shape or (DYNAMIC,))], a, parts[0])
        return tensor(RAGGED, values.dtype, (rows, *(DYNAMIC,) * len(parts), *values.shape[1:])).value

    return Spec(value_rule(rule), op=True)


def _numbered(dims: list[Dim], a: Args, part: Value) -> Dim:
    numbers = a.operand(part).content
    return numbers[-1] + 1 if numbers else DYNAMIC


def _uniform(a: Args) -> Value:
    values, length = a.tensor("values"), a.integer("uniform_row_length")
    if values.shape is None or not length:
        return tensor(RAGGED, values.dtype).value
    size = values.shape[0]
    return tensor(RAGGED, values.dtype, (size // length if size >= 0 else DYNAMIC, length, *values.shape[1:])).value


def _from_tensor(a: Args) -> Value:
    x = a.tensor("tensor")
    if x.shape is None or len(x.shape) < 2 or a.given("ragged_rank"):
        return tensor(RAGGED, x.dtype).value
    return tensor(RAGGED, x.dtype, (x.shape[0], DYNAMIC, *x.shape[2:])).value


def _map_flat(call: Call) -> Value:
    """`tf.ragged.map_flat_values(op, ...)`: `op` sees the flat values; its result has the rows."""
    rows: set[Shape] = set()

    def flat(value: Value) -> Value:
        result = BOTTOM
        for obj in value:
            part = obj.value
            if isinstance(obj, Tensor) and obj.kind == RAGGED:
                ragged = max((i for i, d in enumerate(obj.shape or ()) if i and d < 0), default=0)
                outer = obj.shape[: ragged + 1] if obj.shape and ragged else None
                inner = obj.shape[ragged + 1 :] if obj.shape and ragged else None
                rows.add(outer)
                part = tensor(DENSE, obj.dtype, None if inner is None else (DYNAMIC, *inner)).value
            result = join(result, part)
        return result

    args = [flat(value) for value in call.args[1:]]
    kwargs = {name: flat(value) for name, value in call.kwargs.items() if name != "op"}
    if call.rest or not rows:
        return unknown_result("tf.ragged.map_flat_values").value
    outer = rows.pop() if len(rows) == 1 else None
    result = BOTTOM
    for obj in call.engine.calls.call_value(call.frame, call.pos, call.arg(0, "op"), args, kwargs, How.CALLBACK):
        if not isinstance(obj, Tensor):
            return unknown_result("tf.ragged.map_flat_values").value
        shape = (*outer, *obj.shape[1:]) if outer and obj.shape else None
        result = join(result, tensor(RAGGED, obj.dtype, shape).value)
    return result


FUNCTIONS: Final[dict[str, Spec]] = {
    "tf.ragged.map_flat_values": Spec(_map_flat, op=True),
    "tf.RaggedTensor.from_row_splits": _made(_rows("row_splits", 1)),
    "tf.RaggedTensor.from_row_lengths": _made(_rows("row_lengths")),
    "tf.RaggedTensor.from_row_starts": _made(_rows("row_starts")),
    "tf.RaggedTensor.from_row_limits": _made(_rows("row_limits")),
    "tf.RaggedTensor.from_value_rowids": _made(_last_row),
    "tf.RaggedTensor.from_uniform_row_length": Spec(value_rule(_uniform), op=True),
    "tf.RaggedTensor.from_nested_row_splits": _nested(
        "nested_row_splits", lambda dims, a, part: dims[0] - 1 if dims[0] > 0 else DYNAMIC
    ),
    "tf.RaggedTensor.from_nested_row_lengths": _nested(
        "nested_row_lengths", lambda dims, a, part: dims[0] if dims[0] >= 0 else DYNAMIC
    ),
    "tf.RaggedTensor.from_nested_value_rowids": _nested("nested_value_rowids", _numbered),
    "tf.RaggedTensor.from_tensor": Spec(value_rule(_from_tensor), op=True),
}


# Parts ---------------------------------------------------------------------------------------------------------------


def _shape(call: Call) -> Shape:
    return call.receiver.shape if isinstance(call.receiver, Tensor) else None


def _dtype(call: Call) -> str | None:
    return call.receiver.dtype if isinstance(call.receiver, Tensor) else None


def _values(call: Call) -> Value:
    """The values without the outermost partition: ragged themselves if a further dim is."""
    shape = _shape(call)
    if shape is None or len(shape) < 2:
        return tensor(DENSE, _dtype(call)).value
    kind = RAGGED if any(d < 0 for d in shape[2:]) else DENSE
    return tensor(kind, _dtype(call), (DYNAMIC, *shape[2:])).value


def _flat_values(call: Call) -> Value:
    shape = _shape(call)
    if shape is None or any(d < 0 for d in shape[2:]):
        return tensor(DENSE, _dtype(call)).value
    return tensor(DENSE, _dtype(call), (DYNAMIC, *shape[2:])).value


@parametrized
def _of_rows(call: Call, more: int = 0) -> Value:
    """A vector with one number for each row, or some more."""
    shape = _shape(call)
    rows = shape[0] + more if shape and shape[0] >= 0 else DYNAMIC
    return tensor(DENSE, "int64", (rows,)).value


def _padded(call: Call) -> Value:
    """`to_tensor`: ragged dims become as long as their longest row, or as the shape says."""
    shape = _shape(call)
    if call.given(1, "shape"):
        given = shape_of(call, call.arg(1, "shape"))
        if given is None or shape is None or len(given) > len(shape):
            shape = None if given is None or shape is None else shape
        else:
            padded = (*given, *(DYNAMIC,) * (len(shape) - len(given)))
            shape = tuple(new if new >= 0 else old for new, old in zip(padded, shape, strict=True))
    return tensor(DENSE, _dtype(call), shape).value


PROPERTIES: Final[dict[str, Rule]] = {
    "values": _values,
    "flat_values": _flat_values,
    "row_splits": _of_rows(1),
    "uniform_row_length": lambda call: tensor(DENSE, "int64", ()).value,
    "ragged_rank": lambda call: INT_V,
}
METHODS: Final[dict[str, Spec]] = {
    "to_tensor": Spec(_padded, op=True),
    "row_starts": Spec(_of_rows(), op=True),
    "row_lengths": Spec(_of_rows(), op=True),
    "row_limits": Spec(_of_rows(), op=True),
    "value_rowids": Spec(lambda call: tensor(DENSE, "int64", (DYNAMIC,)).value, op=True),
    "nrows": Spec(lambda call: tensor(DENSE, "int64", ()).value, op=True),
}
