"""Words of TensorFlow that several rooms ask for: what its decorator takes, and which names have which role."""

from __future__ import annotations

from typing import Final

#: The parameters of `tf.function`, in order.
FUNCTION_PARAMETERS: Final = (
    "func",
    "input_signature",
    "autograph",
    "jit_compile",
    "reduce_retracing",
    "experimental_implements",
    "experimental_autograph_options",
    "experimental_attributes",
    "experimental_relax_shapes",
    "experimental_compile",
    "experimental_follow_type_hints",
)
#: Those that say what shapes it is traced for.
OF_SHAPES: Final = frozenset({"input_signature", "reduce_retracing", "experimental_relax_shapes"})
#: The beginnings of names of what computes with tensors: functions, methods.
TENSOR_LIBRARIES: Final = ("tf.", "tensor.", "keras.")
#: The beginnings of names of layers and models.
LAYERS: Final = ("keras.layers.", "keras.Model", "keras.Sequential")
#: Operations of a graph that call Python on the host.
HOST_CALLS: Final = frozenset({"tf.py_function", "tf.numpy_function", "tf.compat.v1.py_func"})
#: Attributes of a tensor that Python knows while it traces.
STATIC: Final = frozenset({"shape", "dtype", "ndim", "ndims", "rank"})
#: Methods that change a variable, and those of a tape that derive.
ASSIGNS: Final = frozenset({"assign", "assign_add", "assign_sub"})
DERIVES: Final = frozenset({"gradient", "jacobian", "batch_jacobian"})
