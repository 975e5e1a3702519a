"""Layers that move dims around, and those that merge several inputs."""

from __future__ import annotations

from typing import Final

from hybridize.domain.objects import Container, Tensor, Value
from hybridize.domain.tensors import DYNAMIC, RAGGED, UNRESOLVED, Dim, Shape, blurred
from hybridize.library.arithmetic import broadcast
from hybridize.library.keras.models import layer, layer_value
from hybridize.library.keras.settings import LayerCall
from hybridize.library.operands import INFER, Impossible, Operand, Unsure
from hybridize.library.shapes import axis_of, concatenated, product_of, replaced, reshaped
from hybridize.library.spec import Call, ClassSpec, Spec


def _flatten(it: LayerCall) -> Shape:
    shape = it.x.known
    if len(shape) <= 1:
        return (*shape, 1) if len(shape) == 1 else (1, 1)
    return (shape[0], product_of(shape[1:]))


def _reshape(it: LayerCall) -> Shape:
    shape = it.x.known
    target = it.settings.dims("target_shape")
    if target == (INFER,) and len(shape) == 1:
        raise Unsure
    return (shape[0], *reshaped(shape[1:], target))


def _permute(it: LayerCall) -> Shape:
    shape = it.x.known
    dims = it.settings.integers("dims")
    if dims is None or len(dims) + 1 != len(shape):
        raise Impossible
    return (shape[0], *(shape[d] for d in dims))


def _repeat(it: LayerCall) -> Shape:
    batch, features = it.x.known
    return (batch, it.settings.dim("n"), features)


# Merging -------------------------------------------------------------------------------------------------------------


def merged_dtype(it: LayerCall, operands: list[Operand]) -> str | None:
    """The dtype that the inputs have in common after casting."""
    dtypes = {it.cast(o) for o in operands}
    return dtypes.pop() if len(dtypes) == 1 else None


def _merge_shape(operands: list[Operand]) -> Shape:
    shapes = [o.known for o in operands]
    if len({len(s) for s in shapes}) == 1:
        result: Shape = shapes[0]
        for s in shapes[1:]:
            result = broadcast(result, s)
        return result
    # Of different rank: only the batch dim is aligned, ones are put after it.
    rank = max(map(len, shapes))
    result = None
    for s in shapes:
        if not s:
            raise Unsure
        padded = (s[0], *(1,) * (rank - len(s)), *s[1:])
        result = padded if result is None else broadcast(result, padded)
    return result


def _finish(it: LayerCall, operands: list[Operand], shape: Shape) -> Value:
    dtype = merged_dtype(it, operands)
    if RAGGED in it.args.kinds:
        raise Unsure
    return it.result(dtype, shape)


def _merge(it: LayerCall) -> Value:
    try:
        operands = it.inputs()
    except Unsure:
        inner = _any_input(it)
        return _finish(it, [inner], inner.known)
    return _finish(it, operands, _merge_shape(operands))


def _any_input(it: LayerCall) -> Operand:
    """What the inputs have in common, of a list of unknown length."""
    value = it.input()
    if len(value) != 1 or not all(isinstance(obj, Container) for obj in value):
        raise Unsure
    elements = it.call.elements(value)
    if not elements or not all(isinstance(obj, Tensor) for obj in elements):
        raise Unsure
    return it.args.operand(elements)


def _concatenate(it: LayerCall) -> Value:
    axis = it.settings.integer("axis", default=-1)
    try:
        operands = it.inputs()
    except Unsure:
        inner = _any_input(it)
        at = axis_of(inner.rank, axis)
        size = blurred(inner.known[at])
        return _finish(it, [inner], replaced(inner.known, at, size if size == DYNAMIC else UNRESOLVED))
    return _finish(it, operands, concatenated([o.shape for o in operands], axis))


def _dot(it: LayerCall) -> Value:
    operands = it.inputs()
    if len(operands) != 2:
        raise Impossible
    axes = it.settings.integers("axes")
    if axes is None:
        raise Unsure
    return _finish(it, operands, batch_dot(operands[0].known, operands[1].known, axes))


def batch_dot(a: tuple[Dim, ...], b: tuple[Dim, ...], axes: tuple[int, ...]) -> Shape:
    """The shape of a product of two batches over one axis of each."""
    first, second = axes if len(axes) == 2 else (axes[0], axes[0])
    i, j = axis_of(len(a), first), axis_of(len(b), second)
    if not i or not j or len(a) < 2 or len(b) < 2:
        raise Unsure
    left = [d for k, d in enumerate(a) if k not in (0, i)]
    right = [d for k, d in enumerate(b) if k not in (0, j)]
    if a[0] != b[0]:
        raise Unsure
    return (a[0], *left, *right) if left or right else (a[0], 1)


def _function(name: str) -> Spec:
    """The functional spelling of a merging layer: `keras.layers.add([a, b])`."""

    def rule(call: Call) -> Value:
        cls = f"keras.layers.{name}"
        spec = CLASSES[cls]
        made = call.made(cls)
        for key, value in call.kwargs.items():
            if key != "inputs":
                call.keep(made, key, value)
        if len(call.args) > 1:
            call.keep(made, "axes" if name == "Dot" else "axis", call.args[1])
        assert spec.call is not None
        assert spec.call.rule is not None
        inputs = call.args[:1] or [call.kwargs[k] for k in ("inputs",) if k in call.kwargs]
        inner = Call(call.engine, call.frame, call.pos, cls, inputs, {}, made, call.rest)
        return spec.call.rule(inner)

    return Spec(rule, op=True)


CLASSES: Final[dict[str, ClassSpec]] = {
    "keras.layers.Flatten": layer(_flatten, "cast"),
    "keras.layers.Reshape": layer(_reshape, "cast"),
    "keras.layers.Permute": layer(_permute, "cast"),
    "keras.layers.RepeatVector": layer(_repeat, "cast"),
    **{
        f"keras.layers.{name}": layer_value(_merge)
        for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
    },
    "keras.layers.Concatenate": layer_value(_concatenate),
    "keras.layers.Dot": layer_value(_dot),
}
FUNCTIONS: Final[dict[str, Spec]] = {
    f"keras.layers.{name}": _function(cls)
    for name, cls in {
        "add": "Add",
        "subtract": "Subtract",
        "multiply": "Multiply",
        "average": "Average",
        "maximum": "Maximum",
        "minimum": "Minimum",
        "concatenate": "Concatenate",
        "dot": "Dot",
    }.items()
}
