"""Operations under their older or lower names: `tf.compat.v1.X` and `tf.raw_ops.X` stand for the present `X`.

The arguments keep their meaning; those whose name has changed since are renamed. A call with an argument that the
present operation does not have is left without a model.
"""

from __future__ import annotations

import re
from typing import Final

from hybridize.domain.objects import Value
from hybridize.library import registry
from hybridize.library.defaults import default_call
from hybridize.library.spec import Call, Spec, parametrized

_V1: Final = "tf.compat.v1."
_RAW: Final = "tf.raw_ops."
_RENAMED: Final = {
    "keep_dims": "keepdims",
    "reduction_indices": "axis",
    "squeeze_dims": "axis",
    "dimension": "axis",
    "dim": "axis",
    "tensor": "input",
    "input": "tensor",
}
#: Lower operations whose present name is another word.
_WORDS: Final = {
    "Sum": "reduce_sum",
    "Mean": "reduce_mean",
    "Max": "reduce_max",
    "Min": "reduce_min",
    "Prod": "reduce_prod",
    "All": "reduce_all",
    "Any": "reduce_any",
    "Mul": "multiply",
    "Sub": "subtract",
    "AddV2": "add",
    "RealDiv": "realdiv",
    "Div": "divide",
    "Neg": "negative",
    "Pack": "stack",
    "Unpack": "unstack",
    "ConcatV2": "concat",
    "Concat": "concat",
    "GatherV2": "gather",
    "BatchMatMul": "matmul",
    "BatchMatMulV2": "matmul",
    "BatchMatMulV3": "matmul",
    "SelectV2": "where",
    "Select": "where",
    "PadV2": "pad",
    "ReverseV2": "reverse",
    "TopKV2": "math.top_k",
    "Inv": "math.reciprocal",
    "ArgMax": "argmax",
    "ArgMin": "argmin",
    "MaxPool": "nn.max_pool2d",
    "AvgPool": "nn.avg_pool2d",
    "DepthwiseConv2dNative": "nn.depthwise_conv2d",
    "BiasAdd": "nn.bias_add",
}
#: Their parameters, where the present operation calls them otherwise.
_OTHERWISE: Final = {
    "input": "input_tensor",
    "adj_x": "adjoint_a",
    "adj_y": "adjoint_b",
    "x": "a",
    "y": "b",
    "filter": "filters",
    "DstT": "dtype",
    "t": "x",
    "e": "y",
}
_HOMES: Final = ("tf.", "tf.math.", "tf.nn.", "tf.linalg.", "tf.strings.")


def alias_spec(name: str) -> Spec | None:
    """The model of the operation that an older or lower name stands for."""
    if name.startswith(_V1):
        targets = ["tf." + name.removeprefix(_V1)]
    elif name.startswith(_RAW):
        plain = name.removeprefix(_RAW)
        if plain in _WORDS:
            plain = _WORDS[plain]
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()
        targets = [home + spelling for spelling in (snake, snake.replace("_", "")) for home in _HOMES]
    else:
        return None
    for target in map(registry.normalize, targets):
        spec = registry.function_spec(target) if target != name else None
        if spec is not None and spec.rule is not None:
            return Spec(_renamed(name, target, spec), op=spec.op, effects=spec.effects)
    return None


def _present(key: str, names: tuple[str, ...]) -> str:
    """What the present operation calls a parameter."""
    if key in names:
        return key
    return next((table[key] for table in (_RENAMED, _OTHERWISE) if table.get(key) in names), key)


@parametrized
def _renamed(call: Call, name: str, target: str, spec: Spec) -> Value:
    old, new = registry.parameter_names(name), registry.parameter_names(target)
    named = {**dict(zip(old, call.args, strict=False)), **call.kwargs}
    named = {_present(key, new): value for key, value in named.items()}
    named.pop("name", None)
    if call.rest or len(call.args) > len(old) or not named.keys() <= set(new) or spec.rule is None:
        return default_call(call)
    return spec.rule(Call(call.engine, call.frame, call.pos, target, [], named))
