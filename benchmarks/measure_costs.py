"""What single calls cost: the figures of `src/hybridize/library/costs.py`, measured beside that of `a + b`.

    python benchmarks/measure_costs.py

Prints for each call how many times as long as an addition of small tensors it takes eagerly (CPU time, in turn, median
of ratios), how many operations it is in a graph, and the same of its gradient. Runs under the TensorFlow to be measured.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

CALLS = """
a - b; a ** 2.0; a @ m; -a; a > b; a[0]; a[:, 1:]; a[..., tf.newaxis]; tf.cast(i, tf.float32); tf.exp(a); tf.tanh(a)
tf.abs(a); tf.sqrt(p); tf.maximum(a, b); tf.square(a); tf.sigmoid(a); tf.nn.relu(a); tf.nn.gelu(a); tf.nn.softmax(a)
tf.nn.leaky_relu(a); tf.nn.log_softmax(a); tf.nn.softplus(a); tf.nn.elu(a); tf.nn.swish(a); tf.nn.moments(a, [0])
tf.reduce_sum(a); tf.reduce_sum(a, axis=1); tf.reduce_mean(a); tf.reduce_max(a, axis=1); tf.math.reduce_std(a)
tf.math.reduce_variance(a); tf.reduce_logsumexp(a, axis=1); tf.argmax(a, axis=1); tf.argsort(a); tf.sort(a)
tf.reshape(a, [-1]); tf.transpose(a); tf.expand_dims(a, 0); tf.squeeze(a[None]); tf.concat([a, b], 0)
tf.stack([a, b]); tf.unstack(a); tf.split(a, 2); tf.tile(a, [2, 1]); tf.pad(a, [[1, 1], [0, 0]]); tf.repeat(a, 2, axis=0)
tf.shape(a); tf.ones_like(a); tf.zeros_like(a); tf.zeros([4, 4]); tf.ones([4, 4]); tf.fill([4], 1.0); tf.range(4)
tf.eye(4); tf.linspace(0.0, 1.0, 5); tf.constant(1.0); tf.convert_to_tensor(a); tf.where(a > b, a, b)
tf.gather(a, i); tf.gather_nd(a, nd); tf.boolean_mask(a, a[:, 0] > 0); tf.one_hot(i, 4); tf.roll(a, 1, axis=0)
tf.clip_by_value(a, 0.0, 1.0); tf.clip_by_norm(a, 1.0); tf.clip_by_global_norm([a, b], 1.0); tf.norm(a)
tf.math.l2_normalize(a, axis=1); tf.math.divide_no_nan(a, b); tf.math.erf(a); tf.cumsum(a); tf.add_n([a, b])
tf.tensordot(a, m, 1); tf.einsum("ij,jk->ik", a, m); tf.matmul(a, m, transpose_b=True); tf.linalg.matvec(a, a[0])
tf.linalg.cholesky(spd); tf.linalg.solve(spd, a); tf.linalg.inv(spd); tf.linalg.det(spd); tf.linalg.logdet(spd)
tf.linalg.trace(a); tf.linalg.diag_part(a); tf.linalg.diag(a[0]); tf.linalg.band_part(a, -1, 0); tf.linalg.norm(a)
tf.linalg.cholesky_solve(spd, a); tf.linalg.triangular_solve(spd, a); tf.linalg.eigh(spd); tf.linalg.svd(spd)
tf.math.unsorted_segment_sum(a, i, 4); tf.math.unsorted_segment_mean(a, i, 4); tf.math.segment_sum(a, i)
tf.math.confusion_matrix(i, i, 4); tf.math.bincount(i); tf.math.top_k(a, 2); tf.math.in_top_k(i, a, 2)
tf.math.squared_difference(a, b); tf.math.cumprod(a); tf.math.lgamma(p); tf.unique(i); tf.searchsorted(a[0], a[0])
tf.tensor_scatter_nd_update(a, nd1, a[:1]); tf.tensor_scatter_nd_add(a, nd1, a[:1]); tf.scatter_nd(nd1, a[:1], [4, 4])
tf.random.normal([4, 4]); tf.random.uniform([4, 4]); tf.random.gamma([4], p[0]); tf.random.shuffle(a)
tf.random.uniform([4], maxval=3, dtype=tf.int32); tf.random.truncated_normal([4, 4]); tf.random.categorical(a, 1)
tf.random.stateless_normal([4, 4], [1, 2]); tf.random.stateless_uniform([4, 4], [1, 2]); tf.random.poisson([4], p[0])
tf.nn.dropout(a, 0.5); tf.nn.bias_add(a, a[0]); tf.nn.l2_loss(a); tf.nn.embedding_lookup(a, i)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=a); tf.nn.batch_normalization(a, b, p, b, p, 1e-3)
tf.nn.softmax_cross_entropy_with_logits(labels=p, logits=a); tf.nn.sigmoid_cross_entropy_with_logits(labels=p, logits=a)
tf.nn.conv2d(img, k, 1, "SAME"); tf.nn.max_pool2d(img, 2, 2, "SAME"); tf.nn.avg_pool2d(img, 2, 2, "SAME")
tf.nn.conv2d_transpose(img, k, [1, 16, 16, 3], 2); tf.nn.depthwise_conv2d(img, k, [1, 1, 1, 1], "SAME")
tf.nn.separable_conv2d(img, k, pw, [1, 1, 1, 1], "SAME"); tf.nn.max_pool(img, 2, 2, "SAME"); tf.nn.conv1d(img[0], k[0], 1, "SAME")
tf.image.resize(img, [4, 4]); tf.image.flip_left_right(img); tf.image.random_flip_left_right(img); tf.image.rot90(img)
tf.image.random_brightness(img, 0.1); tf.image.random_contrast(img, 0.5, 1.5); tf.image.adjust_brightness(img, 0.1)
tf.image.adjust_contrast(img, 0.5); tf.image.random_crop(img[0], [4, 4, 3]); tf.image.central_crop(img, 0.5)
tf.image.per_image_standardization(img); tf.image.rgb_to_grayscale(img); tf.image.rgb_to_hsv(img); tf.image.psnr(img, img, 1.0)
tf.image.random_hue(img, 0.1); tf.image.random_saturation(img, 0.5, 1.5); tf.image.ssim(big, big, 1.0)
tf.image.convert_image_dtype(img, tf.uint8); tf.image.resize_with_pad(img, 4, 4); tf.image.crop_and_resize(img, a[:1], [0], [4, 4])
tf.image.total_variation(img); tf.image.sobel_edges(img); tf.image.extract_patches(img, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
tf.image.non_max_suppression(p, p[0], 2); tf.image.pad_to_bounding_box(img, 0, 0, 9, 9); tf.image.grayscale_to_rgb(img[..., :1])
tf.signal.stft(sig, 64, 32); tf.signal.frame(sig, 64, 32); tf.signal.fft(cplx); tf.signal.rfft(sig); tf.signal.hann_window(64)
tf.signal.inverse_stft(spec, 64, 32); tf.signal.linear_to_mel_weight_matrix(8, 33, 8000); tf.signal.dct(sig)
tf.strings.split(text); tf.strings.lower(text); tf.strings.regex_replace(text, "a", "b"); tf.strings.join([text, text])
tf.strings.to_hash_bucket_fast(text, 10); tf.strings.to_number(num); tf.strings.length(text); tf.strings.substr(text, 0, 1)
tf.strings.unicode_split(text, "UTF-8"); tf.strings.reduce_join(text); tf.strings.as_string(a); tf.sequence_mask(i, 4)
tf.sparse.from_dense(a); tf.sparse.sparse_dense_matmul(sp, a); tf.meshgrid(a[0], a[0]); tf.reverse(a, [0]); tf.broadcast_to(a[0], [4, 4])
tf.histogram_fixed_width(a, [0.0, 1.0]); tf.map_fn(tf.exp, a); tf.cond(a[0, 0] > 0, lambda: a, lambda: b)
tf.debugging.assert_equal(a, a); tf.reduce_any(a > b); tf.logical_and(a > b, a > b); tf.complex(a, b); tf.identity(a); tf.stop_gradient(a)
v.assign(a); v.assign_add(a); v.assign_sub(a); v.read_value(); v * a; v.scatter_nd_update(nd1, a[:1])
K.Dense(4)(a); K.Conv2D(4, 3)(img); K.Conv2DTranspose(4, 3)(img); K.SeparableConv2D(4, 3)(img); K.DepthwiseConv2D(3)(img)
K.Conv1D(4, 3)(img[0]); K.MaxPool2D()(img); K.AveragePooling2D()(img); K.GlobalAveragePooling2D()(img); K.UpSampling2D()(img)
K.Flatten()(img); K.Dropout(0.5)(a, training=True); K.Dropout(0.5)(a); K.BatchNormalization()(a, training=True); K.BatchNormalization()(a)
K.LayerNormalization()(a); K.GroupNormalization(1)(img); K.Embedding(4, 4)(i); K.Activation("relu")(a); K.ReLU()(a); K.LeakyReLU()(a); K.PReLU()(a)
K.Softmax()(a); K.Add()([a, b]); K.Concatenate()([a, b]); K.Reshape((2, 2))(a); K.MultiHeadAttention(2, 4)(seq, seq); K.Attention()([seq, seq])
K.LSTMCell(4)(a, [a, a]); K.GRUCell(4)(a, [a]); K.LSTM(4)(seq); K.GRU(4)(seq); K.SimpleRNN(4)(seq); K.Bidirectional(K.LSTM(4))(seq)
K.TimeDistributed(K.Dense(4))(seq); K.RepeatVector(2)(a); K.Permute((2, 1))(seq); K.ZeroPadding2D()(img); K.Rescaling(0.5)(img); K.Lambda(tf.exp)(a)
K.GaussianNoise(0.1)(a, training=True); K.Normalization(mean=0.0, variance=1.0)(a); K.RandomFlip()(img, training=True); K.SpatialDropout2D(0.5)(img, training=True)
tf.keras.Sequential([])(a); tf.keras.losses.MeanSquaredError()(a, b); tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(i, a)
tf.keras.losses.BinaryCrossentropy(from_logits=True)(p, a); tf.keras.losses.CategoricalCrossentropy()(p, p); tf.keras.losses.Huber()(a, b); tf.keras.losses.KLDivergence()(p, p)
tf.keras.losses.mean_squared_error(a, b); tf.keras.losses.binary_crossentropy(p, p); tf.keras.losses.sparse_categorical_crossentropy(i, p)
tf.keras.metrics.Mean().update_state(1.0); tf.keras.metrics.SparseCategoricalAccuracy().update_state(i, a); tf.keras.metrics.AUC().update_state(p, p)
tf.keras.metrics.BinaryAccuracy().update_state(p, p); tf.keras.metrics.Mean().result(); tf.keras.metrics.MeanIoU(4).update_state(i, i); tf.keras.metrics.Precision().update_state(p, p)
"""
OPTIMIZERS = ("SGD", "Adam", "RMSprop", "Adagrad")
ROUNDS = 41
NO_WORK = frozenset({"Const", "Placeholder", "Identity", "NoOp"})


def scope() -> dict[str, Any]:
    """The small tensors that the calls are about."""
    import tensorflow as tf

    a = tf.random.normal([4, 4])
    p = tf.nn.softmax(a)
    return {
        "tf": tf, "K": tf.keras.layers, "a": a, "b": a + 1.0, "m": a, "p": p, "i": tf.constant([0, 1, 2, 3]),
        "nd": tf.constant([[0, 1], [2, 3]]), "nd1": tf.constant([[1]]), "spd": a @ tf.transpose(a) + tf.eye(4),
        "img": tf.random.uniform([1, 8, 8, 3]), "big": tf.random.uniform([1, 32, 32, 3]), "k": tf.random.normal([3, 3, 3, 3]),
        "pw": tf.random.normal([1, 1, 9, 3]), "sig": tf.random.normal([256]), "cplx": tf.complex(a, a),
        "spec": tf.signal.stft(tf.random.normal([256]), 64, 32), "text": tf.constant(["a b", "c"]), "num": tf.constant(["1"]),
        "sp": tf.sparse.from_dense(a), "v": tf.Variable(a), "seq": tf.random.normal([2, 5, 4]),
    }  # fmt: skip


def cpu(function: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    start = time.process_time_ns()
    function()
    return (time.process_time_ns() - start) / 1e9


def relative(function: Callable[[], Any], unit: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """How many times as long a call takes as the unit."""
    function()
    return statistics.median(
        cpu(function) / max(statistics.median(cpu(unit) for _ in range(5)), 1e-9) for _ in range(rounds)
    )


def prepared(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    """The call as a function; what comes before its last pair of parentheses is made once where it is an object."""
    head = text[: _opening(text)]
    if head.startswith(("K.", "tf.keras.")) and "(" in head:
        owner, dot, method = head.rpartition(").")
        made = eval(f"{owner})" if dot else head, names)
        rest = (f".{method}" if dot else "") + text[len(head) :]
        return eval(f"lambda: made{rest}", {**names, "made": made})  # type: ignore[no-any-return]
    return eval(f"lambda: {text}", names)  # type: ignore[no-any-return]


def _opening(text: str) -> int:
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return 0


def operations(function: Callable[[], Any]) -> int:
    """How many operations of a graph a call is."""
    import tensorflow as tf

    graph = tf.function(function).get_concrete_function().graph.as_graph_def()
    inner = sum(n.op not in NO_WORK for f in graph.library.function for n in f.node_def)
    return sum(n.op not in NO_WORK for n in graph.node) + inner


def backward(function: Callable[[], Any], names: dict[str, Any]) -> Callable[[], Any]:
    """The call with its gradient."""
    import tensorflow as tf

    given = [names[n] for n in ("a", "b", "p", "img", "seq", "spd", "sig")]

    def run() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            result = function()
        return tape.gradient(result, given)

    return run


def main() -> int:
    """Prints the figures."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    names = scope()
    unit = prepared("a + b", names)
    print(f"TensorFlow {tf.__version__}: a + b is {1e6 * statistics.median(cpu(unit) for _ in range(999)):.1f} us")
    print(f"{'eager':>7} {'graph':>6} {'both':>7}  call")
    for text in (part.strip() for line in CALLS.split("\n") for part in line.split("; ") if part.strip()):
        try:
            function = prepared(text, names)
            eager = relative(function, unit)
        except Exception as error:
            print(f"{text}: {type(error).__name__} {str(error)[:80]}", file=sys.stderr)
            continue
        try:
            count = f"{operations(function):6}"
        except Exception:
            count = "     -"
        try:
            both = f"{relative(backward(function, names), unit, 15):7.1f}"
        except Exception:
            both = "      -"
        print(f"{eager:7.1f} {count} {both}  {text}", flush=True)
    for name in OPTIMIZERS:
        for size in (2, 20):
            variables = [tf.Variable(names["a"]) for _ in range(size)]
            optimizer = getattr(tf.keras.optimizers, name)()
            pairs = [(names["a"], v) for v in variables]
            apply = lambda o=optimizer, p=pairs: o.apply_gradients(p)  # noqa: E731
            apply()
            print(
                f"{relative(apply, unit, 15):7.1f} {operations(apply):6}          {name} of {size} variables",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
