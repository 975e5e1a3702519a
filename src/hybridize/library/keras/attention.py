"""Attention layers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE, Lit, Value, tup
from hybridize.domain.tensors import SYMBOLIC, Dim, Shape
from hybridize.library.keras.models import layer_value
from hybridize.library.keras.settings import LayerCall
from hybridize.library.operands import Impossible, Operand, Unsure
from hybridize.library.shapes import unsized
from hybridize.library.spec import ClassSpec


def _operand(it: LayerCall, index: int, name: str) -> Operand | None:
    value = it.call.arg(index, name)
    if not value or value is NONE.value:
        return None
    return it.args.operand(value)


def _scores(it: LayerCall) -> bool:
    given = it.call.kwargs.get("return_attention_scores")
    if not given:
        return False
    (obj,) = given if len(given) == 1 else (None,)
    if not isinstance(obj, Lit):
        raise Unsure
    return bool(obj.const)


def _multi_head(it: LayerCall) -> Value:
    query = _operand(it, 0, "query")
    value = _operand(it, 1, "value")
    if query is None or value is None:
        raise Impossible
    if len(it.call.args) > 4:
        raise Unsure  # the two releases disagree about what comes next
    key = _operand(it, 2, "key") or value
    shape = query.known
    last: tuple[Dim, ...] = (shape[-1],)
    if it.settings.given("output_shape"):
        last = it.settings.dims("output_shape")
    output = it.result(it.compute_dtype(), (*shape[:-1], *last))
    if not _scores(it):
        return output
    if it.settings.given("attention_axes") or len(shape) != 3:
        raise Unsure
    heads = it.settings.dim("num_heads")
    # Symbolic scores: Keras 3 takes the query's length for both.
    keys = key.known[1] if SYMBOLIC not in it.args.kinds else unsized(shape[1], key.known[1])
    return tup([output, it.result(it.compute_dtype(), (shape[0], heads, shape[1], keys))]).value


def _grouped(it: LayerCall) -> Value:
    query = _operand(it, 0, "query")
    value = _operand(it, 1, "value")
    if query is None or value is None:
        raise Impossible
    output = it.result(it.compute_dtype(), query.known)
    if not _scores(it):
        return output
    key = _operand(it, 2, "key") or value
    shape = query.known
    heads = it.settings.dim("num_query_heads")
    return tup([output, it.result(it.compute_dtype(), (shape[0], heads, shape[1], key.known[1]))]).value


def _attention(it: LayerCall) -> Value:
    """`Attention()([query, value, key])`."""
    operands = it.inputs()
    if len(operands) not in (2, 3):
        raise Impossible
    query, value = operands[0].known, operands[1].known
    dtypes = {it.cast(o) for o in operands}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if len(query) != 3 or len(value) != 3:
        raise Unsure
    batch = _batch(query[0], value[0])
    shape: Shape = (batch, query[1], value[2])
    output = it.result(dtype, shape)
    if not _scores(it):
        return output
    return tup([output, it.result(dtype, (batch, query[1], value[1]))]).value


def _batch(a: Dim, b: Dim) -> Dim:
    if a != b:
        raise Unsure
    return a


CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.MultiHeadAttention": layer_value(_multi_head),
    "keras.layers.GroupQueryAttention": layer_value(_grouped),
    "keras.layers.Attention": layer_value(_attention),
    "keras.layers.AdditiveAttention": layer_value(_attention),
}
