"""What XLA does on the CPU with TensorFlow's operations: refuses them, drops their checks, changes their values.

Source: every modelled operation compiled by TensorFlow 2.21, with valid and with invalid arguments.
"""

from __future__ import annotations

from typing import Final

#: Operations, or the beginnings of their names, that have no kernel.
REFUSED_MODULES: Final = (
    "tf.strings.",
    "tf.io.",
    "tf.print",
    "tf.py_function",
    "tf.numpy_function",
    "tf.compat.v1.py_func",
    "tf.lookup.",
    "tf.queue.",
    "tf.data.",
    "tf.image.decode_",
    "tf.summary.",
    "tf.audio.",
    "tf.sets.",
    "tf.math.special.bessel_",
)
_REFUSED: Final = {
    "tf": "fingerprint guarantee_const histogram_fixed_width unique_with_counts unravel_index",
    "tf.image": "adjust_jpeg_quality combined_non_max_suppression draw_bounding_boxes non_max_suppression_with_scores "
    "random_jpeg_quality ssim_multiscale stateless_random_jpeg_quality",
    "tf.linalg": "banded_triangular_solve det eig eigvals lu slogdet tridiagonal_solve",
    "tf.math": "bessel_i0 bessel_i1 reduce_euclidean_norm segment_max segment_mean segment_min segment_prod "
    "segment_sum",
    "tf.math.special": "dawsn expint fresnel_cos fresnel_sin spence",
    "tf.nn": "dilation2d erosion2d fractional_avg_pool fractional_max_pool isotonic_regression max_pool_with_argmax",
    "tf.quantization": "quantize",
    "tf.random.experimental": "stateless_shuffle",
    "tf.sparse": "add maximum minimum reduce_max reduce_sum reorder reshape segment_mean segment_sqrt_n segment_sum "
    "softmax sparse_dense_matmul transpose",
}
REFUSED: Final = frozenset(f"{module}.{name}" for module, names in _REFUSED.items() for name in names.split())

_INDEX: Final = "under XLA `{}` does not fail where an index is out of range"
_MATRIX: Final = "under XLA `{}` gives numbers, and does not fail, where a matrix cannot be inverted"
DIVISION: Final = "under XLA `{}` does not fail where it divides by zero"
_NOT_FINITE: Final = "XLA drops `{}`: it never fails"
_SIGNS: Final = "under XLA `{}` gives vectors of other signs where their sign is free"
_DRAWS: Final = "XLA draws other values for `{}` than eager execution"
_CHANGED: Final = {
    "tf.gather_nd tf.nn.embedding_lookup tf.scatter_nd tf.math.bincount tf.math.invert_permutation": _INDEX,
    "tf.dynamic_partition tf.reverse_sequence tf.math.confusion_matrix tf.sparse.to_dense": _INDEX,
    "tf.nn.sparse_softmax_cross_entropy_with_logits keras.metrics.sparse_categorical_crossentropy": _INDEX,
    "keras.losses.SparseCategoricalCrossentropy": _INDEX,
    "tf.linalg.inv tf.linalg.solve": _MATRIX,
    "tf.math.floordiv tf.math.floormod tf.truncatediv tf.truncatemod": DIVISION,
    "tf.compat.v1.debugging.assert_all_finite": _NOT_FINITE,
    "tf.linalg.svd tf.linalg.eigh": _SIGNS,
    "tensor.variable.sparse_read tf.TensorArray.read tf.TensorArray.write": _INDEX,
    "tf.nn.experimental.stateless_dropout": _DRAWS,
}
#: By the name of an operation, or its beginning (which ends with `.` or `_`): what XLA changes, for people.
CHANGED: Final = {
    "tf.debugging.": _NOT_FINITE,
    "tf.compat.v1.assert_": _NOT_FINITE,
    "tf.compat.v1.debugging.assert_": _NOT_FINITE,
    "tf.gather": "under XLA `{}` gives the nearest element where an index is out of range, and does not fail",
    "tf.tensor_scatter_nd_": _INDEX,
    "tf.math.unsorted_segment_": _INDEX,
    "tensor.variable.scatter_": _INDEX,
    "tf.random.stateless_": _DRAWS,
    "tf.image.stateless_random_": _DRAWS,
    **{name: text for names, text in _CHANGED.items() for name in names.split()},
}
BEGINNINGS: Final = tuple(name for name in CHANGED if name.endswith((".", "_")))
