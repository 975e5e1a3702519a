"""Attention layers."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import NONE, Lit, Value, tup
from hybridize.domain.tensors import SYMBOLIC, Dim, Shape
from hybridize.library.keras.settings import LayerCall, layer_value
from hybridize.library.operands import Impossible, Operand, Unsure
from hybridize.library.shapes import unsized
from hybridize.library.spec import ClassSpec


def _operand(l: LayerCall, index: int, name: str) -> Operand | None:
    value = l.call.arg(index, name)
    if not value or value is NONE.value:
        return None
    return l.args.operand(value)


def _scores(l: LayerCall) -> bool:
    given = l.call.kwargs.get("return_attention_scores")
    if not given:
        return False
    (obj,) = given if len(given) == 1 else (None,)
    if not isinstance(obj, Lit):
        raise Unsure
    return bool(obj.const)


def _multi_head(l: LayerCall) -> Value:
    query = _operand(l, 0, "query")
    value = _operand(l, 1, "value")
    if query is None or value is None:
        raise Impossible
    if len(l.call.args) > 4:
        raise Unsure  # the two releases disagree about what comes next
    key = _operand(l, 2, "key") or value
    shape = query.known
    last = (shape[-1],)
    if l.settings.given("output_shape"):
        last = l.settings.dims("output_shape")
    output = l.result(l.compute_dtype(), (*shape[:-1], *last))
    if not _scores(l):
        return output
    if l.settings.given("attention_axes") or len(shape) != 3:
        raise Unsure
    heads = l.settings.dim("num_heads")
    # Symbolic scores: Keras 3 takes the query's length for both.
    keys = key.known[1] if SYMBOLIC not in l.args.kinds else unsized(shape[1], key.known[1])
    return tup([output, l.result(l.compute_dtype(), (shape[0], heads, shape[1], keys))]).value


def _grouped(l: LayerCall) -> Value:
    query = _operand(l, 0, "query")
    value = _operand(l, 1, "value")
    if query is None or value is None:
        raise Impossible
    output = l.result(l.compute_dtype(), query.known)
    if not _scores(l):
        return output
    key = _operand(l, 2, "key") or value
    shape = query.known
    heads = l.settings.dim("num_query_heads")
    return tup([output, l.result(l.compute_dtype(), (shape[0], heads, shape[1], key.known[1]))]).value


def _attention(l: LayerCall) -> Value:
    """`Attention()([query, value, key])`."""
    operands = l.inputs()
    if len(operands) not in (2, 3):
        raise Impossible
    query, value = operands[0].known, operands[1].known
    dtypes = {l.cast(o) for o in operands}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    if len(query) != 3 or len(value) != 3:
        raise Unsure
    batch = _batch(query[0], value[0])
    shape: Shape = (batch, query[1], value[2])
    output = l.result(dtype, shape)
    if not _scores(l):
        return output
    return tup([output, l.result(dtype, (batch, query[1], value[1]))]).value


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
