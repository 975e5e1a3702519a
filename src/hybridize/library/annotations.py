"""Types in annotations: which names mean tensors, and the values of type aliases (`Union[np.ndarray, tf.Tensor]`).

The names are the public ones of TensorFlow, NumPy and well-known packages around them, none of which need be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridize.domain.objects import BOTTOM, NONE, Class, Lib, Mod, Obj, Tup, Value, Wrapper, lib, tup, wrapper
from hybridize.domain.tensors import DENSE, NDARRAY, RAGGED, SPARSE, VARIABLE
from hybridize.library import registry

#: The kind of a `Wrapper` that is a type alias: its inner value is the generic, `extra` has its arguments and module.
ALIAS: Final = "alias"

_AGENTS: Final = "tf_agents.typing.types."

#: The kind of tensor that a name means.
TENSOR_TYPES: Final[Mapping[str, str]] = {
    "tf.Tensor": DENSE,
    "tf.EagerTensor": DENSE,
    "tf.types.experimental.TensorLike": DENSE,
    "tf.types.experimental.Tensor": DENSE,
    "tf.experimental.numpy.ndarray": DENSE,
    "tf.Variable": VARIABLE,
    "tf.RaggedTensor": RAGGED,
    "tf.sparse.SparseTensor": SPARSE,
    "tf.IndexedSlices": SPARSE,
    "np.ndarray": NDARRAY,
    "np.typing.NDArray": NDARRAY,
    "np.typing.ArrayLike": NDARRAY,
    "numpy.typing.NDArray": NDARRAY,
    "keras.KerasTensor": DENSE,
    # As TensorFlow itself is laid out inside.
    "tf.python.framework.ops.Tensor": DENSE,
    "tf.python.framework.ops.EagerTensor": DENSE,
    "tf.python.framework.tensor.Tensor": DENSE,
    "tf.python.types.core.Tensor": DENSE,
    "tf.python.types.core.TensorLike": DENSE,
    "tf.python.ops.variables.Variable": VARIABLE,
    # Packages around it.
    "check_shapes.experimental.TensorType": DENSE,
    "gpflow.base.TensorType": DENSE,
    "gpflow.base.TensorLike": DENSE,
    "gpflow.base.TensorData": DENSE,
    "gpflow.base.AnyNDArray": NDARRAY,
    "tensorflow_probability.util.TransformedVariable": VARIABLE,
    "tensorflow_probability.util.DeferredTensor": DENSE,
    "tensorflow_addons.utils.types.TensorLike": DENSE,
    "tensorflow_addons.utils.types.FloatTensorLike": DENSE,
    **{f"{_AGENTS}{name}": DENSE for name in ("Tensor", "TensorOrArray", "NestedTensor", "NestedTensorOrArray")},
    f"{_AGENTS}Array": NDARRAY,
    f"{_AGENTS}NestedArray": NDARRAY,
    **{f"tensor_annotations.tensorflow.Tensor{rank}": DENSE for rank in range(9)},
}

#: The modules whose generics are kept as aliases, with their arguments.
_GENERIC: Final = ("typing.", "typing_extensions.", "collections.abc.", "jaxtyping.")
#: Those that are classes of their own rather than types of values.
_PLAIN: Final = frozenset({"Generic", "Protocol", "NamedTuple", "TypedDict"})


def made_alias(base: Obj, index: Value, module: Mod) -> Value:
    """`base[index]` in a module: a type alias, or the class itself where that is all that matters."""
    if not isinstance(base, Lib) or not base.name.startswith(_GENERIC) or base.name.rpartition(".")[2] in _PLAIN:
        return base.value
    return wrapper(ALIAS, base.value, index, module).value


def union(one: Obj, other: Obj, module: Mod) -> Value:
    """`tf.Tensor | np.ndarray`; bottom where some side is no type."""
    if not (_is_type(one) and _is_type(other)) or (one is NONE and other is NONE):
        return BOTTOM
    return wrapper(ALIAS, _UNION, tup([one.value, other.value]).value, module).value


def bounded(made: Value, types: list[Value], module: Mod) -> Value:
    """A `TypeVar` or `NewType`, which is called and asked as `made` is, and whose values are of some types."""
    return wrapper(ALIAS, made, tup(types).value, module, _UNION).value if types else made


def alias_of(obj: Wrapper) -> tuple[Value, Mod]:
    """The generic that an alias applies, and the module in which it does."""
    return (obj.extra[2] if len(obj.extra) > 2 else obj.inner), obj.extra[1]


def alias_parts(obj: Wrapper) -> list[Value]:
    """The arguments of the generic."""
    index: Value = obj.extra[0]
    if len(index) == 1:
        (only,) = index
        if isinstance(only, Tup):
            return list(only.items)
    return [index]


def is_union(obj: Wrapper) -> bool:
    """Whether an alias stands for any of its arguments: what `isinstance` takes, too."""
    return obj.inner == _UNION


def _is_type(obj: Obj) -> bool:
    if isinstance(obj, Lib):
        return obj.name in TENSOR_TYPES or registry.is_class(obj.name)
    return obj is NONE or isinstance(obj, Class) or (isinstance(obj, Wrapper) and obj.kind == ALIAS)


_UNION: Final = lib("typing.Union").value
