"""Parameters of which eager code makes one tensor of a list of NumPy arrays, and a graph refuses the list.

Eager TensorFlow stacks the arrays; a graph makes a constant of a list, and finds that its elements are no numbers ("to
be a dense tensor"). Lists of tensors, of numbers and of lists of numbers suit both, and `tf.stack`, `tf.concat` and
`tf.add_n` convert the elements one by one. The table is measured: the public functions of TensorFlow 2.15 and 2.21 were
called with a list of two arrays in each of their first three places, eagerly and in a graph.
`tests/rules/test_lists_of_arrays.py` asks TensorFlow of each function in it.
"""

from __future__ import annotations

from typing import Final

#: By the places of such parameters and the module, the functions.
_WORDS: Final[dict[tuple[int, ...], dict[str, str]]] = {
    (0,): {
        "tf": (
            "abs acos acosh approx_top_k argmax argmin argsort as_string asin asinh atan atanh bitcast "
            "broadcast_to cast constant convert_to_tensor cos cosh cumsum ensure_shape exp expand_dims floor "
            "gather_nd histogram_fixed_width identity logical_not matrix_square_root negative norm one_hot "
            "ones_like rank reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod "
            "reduce_sum repeat reshape reverse roll round sequence_mask shape sigmoid sign sin sinh "
            "size slice sort split sqrt square squeeze stop_gradient strided_slice tan tanh tile transpose "
            "unstack where zeros_like"
        ),
        "tf.audio": "encode_wav",
        "tf.bitwise": "invert",
        "tf.dtypes": "saturate_cast",
        "tf.image": (
            "adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation central_crop "
            "convert_image_dtype flip_left_right flip_up_down hsv_to_rgb per_image_standardization "
            "random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down random_hue "
            "random_jpeg_quality random_saturation resize resize_with_crop_or_pad resize_with_pad "
            "rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 stateless_random_brightness "
            "stateless_random_crop stateless_random_flip_left_right stateless_random_flip_up_down "
            "stateless_random_hue transpose yiq_to_rgb yuv_to_rgb"
        ),
        "tf.linalg": (
            "adjoint band_part cholesky det diag diag_part eigh eigvalsh expm inv l2_normalize logdet lu "
            "matrix_rank matrix_transpose norm normalize pinv qr set_diag slogdet sqrtm svd tensor_diag trace"
        ),
        "tf.math": (
            "abs acos acosh angle approx_max_k argmax argmin asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 "
            "bessel_i1e bincount ceil conj cos cosh count_nonzero cumprod cumsum cumulative_logsumexp digamma erf "
            "erfc erfcinv erfinv exp expm1 floor imag is_finite is_inf is_nan is_non_decreasing "
            "is_strictly_increasing l2_normalize lbeta lgamma log log1p log_sigmoid log_softmax logical_not ndtri "
            "negative real reciprocal reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm "
            "reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance "
            "rint round rsqrt segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh "
            "softmax softplus softsign sqrt square tan tanh top_k zero_fraction"
        ),
        "tf.nn": (
            "approx_max_k collapse_repeated compute_average_loss crelu ctc_unique_labels dropout elu "
            "fractional_max_pool gelu isotonic_regression l2_loss l2_normalize leaky_relu "
            "local_response_normalization log_softmax lrn relu relu6 scale_regularization_loss selu sigmoid silu "
            "softmax softplus softsign space_to_depth sufficient_statistics swish tanh top_k zero_fraction"
        ),
        "tf.random": "categorical stateless_categorical",
        "tf.signal": (
            "dct fft fft2d fft3d fftshift frame idct ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d "
            "mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d stft"
        ),
        "tf.sparse": "bincount from_dense segment_mean segment_sqrt_n segment_sum",
        "tf.strings": "as_string unicode_script",
    },
    (1,): {
        "tf": "matmul",
        "tf.linalg": "banded_triangular_solve matmul",
        "tf.math": "in_top_k polyval",
        "tf.nn": "embedding_lookup in_top_k sparse_softmax_cross_entropy_with_logits",
        "tf.random": "gamma poisson",
    },
    (2,): {
        "tf.random": "stateless_gamma stateless_poisson",
    },
    (0, 1): {
        "tf": (
            "add atan2 boolean_mask clip_by_norm divide dynamic_partition equal gather greater "
            "greater_equal less less_equal linspace logical_and logical_or maximum minimum multiply not_equal pow "
            "realdiv searchsorted subtract tensordot truediv truncatediv truncatemod"
        ),
        "tf.bitwise": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
        "tf.dtypes": "complex",
        "tf.image": "adjust_brightness",
        "tf.linalg": "cross lstsq matvec tensordot",
        "tf.math": (
            "add atan2 divide divide_no_nan equal floordiv floormod greater greater_equal igamma igammac less "
            "less_equal logical_and logical_or logical_xor maximum minimum mod multiply multiply_no_nan nextafter "
            "not_equal polygamma pow squared_difference subtract truediv unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n "
            "unsorted_segment_sum xdivy xlog1py xlogy zeta"
        ),
        "tf.nn": "log_poisson_loss softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits",
    },
    (0, 2): {
        "tf.nn": "weighted_moments",
    },
    (0, 1, 2): {
        "tf": "clip_by_value",
        "tf.math": "betainc",
    },
}
#: By function, the places of its parameters that want one tensor.
ONE_TENSOR: Final[dict[str, tuple[int, ...]]] = {
    f"{module}.{name}": places
    for places, modules in _WORDS.items()
    for module, names in modules.items()
    for name in names.split()
}
