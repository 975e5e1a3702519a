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
from hybridize.library.spec import Call, Rule, Spec

_V1: Final = "tf.compat.v1."
_RAW: Final = "tf.raw_ops."
_RENAMED: Final = {
    "keep_dims": "keepdims",
    "reduction_indices": "axis",
    "squeeze_dims": "axis",
    "dimension": "axis",
    "dim": "axis",
    "tensor": "input",
}
_HOMES: Final = ("tf.", "tf.math.", "tf.nn.", "tf.linalg.", "tf.strings.")


def alias_spec(name: str) -> Spec | None:
    """The model of the operation that an older or lower name stands for."""
    if name.startswith(_V1):
        targets = ["tf." + name.removeprefix(_V1)]
    elif name.startswith(_RAW):
        plain = name.removeprefix(_RAW)
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).lower()
        targets = [home + spelling for spelling in (snake, snake.replace("_", "")) for home in _HOMES]
    else:
        return None
    for target in map(registry.normalize, targets):
        spec = registry.function_spec(target) if target != name else None
        if spec is not None and spec.rule is not None:
            return Spec(_renamed(name, target, spec), op=spec.op, effects=spec.effects)
    return None


def _renamed(name: str, target: str, spec: Spec) -> Rule:
    def rule(call: Call) -> Value:
        old, new = registry.parameter_names(name), registry.parameter_names(target)
        named = {**dict(zip(old, call.args, strict=False)), **call.kwargs}
        named = {key if key in new else _RENAMED.get(key, key): value for key, value in named.items()}
        named.pop("name", None)
        if call.rest or len(call.args) > len(old) or not named.keys() <= set(new) or spec.rule is None:
            return default_call(call)
        return spec.rule(Call(call.engine, call.frame, call.pos, target, [], named))

    return rule
