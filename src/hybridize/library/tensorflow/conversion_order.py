"""Operands of one dtype that a graph converts one after the other, while eager code looks at all of them first.

Eager TensorFlow gives a Python value the dtype of whichever operand is a tensor; the operation of a graph makes a
tensor of its first operand, of the value's own dtype, and asks the others for that one. The table is measured: the
public functions of TensorFlow 2.15 and 2.21 and of Keras 2 and 3 were called with Python values, lists, NumPy scalars
and arrays in each place, and these raise in a graph alone. What else could be called behaves alike in both (`tf.add`,
`tf.stack`, nearly all of `keras.ops`: they convert in Python). `tests/rules/test_conversion_order.py` asks TensorFlow
of each function in it.
"""

from __future__ import annotations

from typing import Final

_XY: Final = "equal greater greater_equal less less_equal maximum minimum not_equal pow"
_MATH_XY: Final = "multiply subtract floordiv floormod mod squared_difference xdivy xlog1py xlogy"
_BITWISE: Final = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
_SCATTERS: Final = "update add sub min max"

#: By function, the groups of its parameters that are of one dtype, each in the order in which a graph converts them.
GROUPS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    **{f"tf.{name}": (("x", "y"),) for name in f"{_XY} multiply subtract realdiv truncatediv truncatemod".split()},
    **{f"tf.math.{name}": (("x", "y"),) for name in f"{_XY} {_MATH_XY}".split()},
    **{f"keras.backend.{name}": (("x", "y"),) for name in _XY.split()},
    "keras.backend.pow": (("x", "a"),),
    **{f"tf.bitwise.{name}": (("x", "y"),) for name in _BITWISE.split()},
    **dict.fromkeys(("tf.atan2", "tf.math.atan2"), (("y", "x"),)),
    **dict.fromkeys(("tf.where", "tf.compat.v1.where"), (("x", "y"),)),
    **dict.fromkeys(("tf.math.igamma", "tf.math.igammac", "tf.math.polygamma"), (("a", "x"),)),
    "tf.math.zeta": (("x", "q"),),
    "tf.math.nextafter": (("x1", "x2"),),
    "tf.math.betainc": (("a", "b", "x"),),
    "tf.linalg.cross": (("a", "b"),),
    **dict.fromkeys(("tf.linalg.solve", "tf.linalg.triangular_solve"), (("matrix", "rhs"),)),
    "tf.linalg.banded_triangular_solve": (("bands", "rhs"),),
    "tf.linalg.cholesky_solve": (("chol", "rhs"),),
    "tf.linalg.diag": (("diagonal", "padding_value"),),
    "tf.linalg.diag_part": (("input", "padding_value"),),
    "tf.pad": (("tensor", "constant_values"),),
    **{f"tf.tensor_scatter_nd_{name}": (("tensor", "updates"),) for name in _SCATTERS.split()},
    "tf.nn.bias_add": (("value", "bias"),),
    "keras.backend.bias_add": (("x", "bias"),),
    **dict.fromkeys(("keras.ops.scatter_update", "keras.ops.slice_update"), (("inputs", "updates"),)),
    "tf.quantization.quantize_and_dequantize_v2": (("input", "input_min", "input_max"),),
    "tf.nn.normalize_moments": (("mean_ss", "counts"), ("variance_ss", "counts")),
}
