"""How far results of graphs are from those of eager execution, by class of operation: the table of docs/numbers.md.

    python benchmarks/check_numbers.py

Runs under the TensorFlow that is asked about. All inputs are variables, so that nothing is computed while tracing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

_RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """A variable of random numbers."""
    return tf.Variable(_RANDOM.normal(size=shape).astype("float32"), trainable=False)


X, W, B, IMAGE, KERNEL, SEQUENCE = (
    normal(256, 512),
    normal(512, 512),
    normal(512),
    normal(8, 32, 32, 16),
    normal(3, 3, 16, 16),
    normal(8, 40, 32),
)
M, MILLION = normal(64, 64), tf.Variable(_RANDOM.uniform(size=1_000_000).astype("float32"))
LABELS = tf.constant(_RANDOM.integers(0, 10, 256).astype("int32"))
K = tf.keras.layers
GELU, LSTM, LAYER_NORM, BATCH_NORM = (
    K.Dense(64, activation="gelu"),
    K.LSTM(32),
    K.LayerNormalization(),
    K.BatchNormalization(),
)
NETWORK = tf.keras.Sequential([K.Dense(64, activation="tanh"), K.Dense(64, activation="relu"), K.Dense(10)])
for layer, given in ((GELU, X), (LSTM, SEQUENCE), (LAYER_NORM, X), (BATCH_NORM, IMAGE), (NETWORK, X)):
    layer(given)


def gradients() -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=NETWORK(X)))
    return tape.gradient(loss, NETWORK.trainable_variables)


def variance_norm() -> Any:
    centred = X - tf.reduce_mean(X, -1, keepdims=True)
    return centred * tf.math.rsqrt(tf.math.reduce_variance(X, -1, keepdims=True) + 1e-6)


CASES: dict[str, Callable[[], Any]] = {
    "elementwise operations in a row": lambda: tf.sin(tf.exp(X * 0.1) * 2.0 + 1.0) / (1.0 + X * X),
    "powers with constant exponents": lambda: X**2.0 + tf.abs(X) ** 0.5 + X**3.0,
    "products with constants in a row": lambda: X * 0.1 * 3.7 / 1.3,
    "gelu written out": lambda: 0.5 * X * (1.0 + tf.tanh(0.7978845608 * (X + 0.044715 * X**3))),
    "sum of a million numbers": lambda: tf.reduce_sum(MILLION),
    "mean of squares of a million numbers": lambda: tf.reduce_mean(tf.square(MILLION - 0.5)),
    "variance, log_softmax": lambda: (tf.math.reduce_variance(X, axis=1), tf.nn.log_softmax(X)),
    "matrix product": lambda: tf.matmul(X, W),
    "matrix product, bias, relu": lambda: tf.nn.relu(tf.nn.bias_add(tf.matmul(X, W), B)),
    "matrix product, bias, tanh": lambda: tf.tanh(tf.nn.bias_add(tf.matmul(X, W) * 0.05, B)),
    "dense layer with gelu": lambda: GELU(X),
    "convolution, bias, relu": lambda: tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(IMAGE, KERNEL, 1, "SAME"), B[:16])),
    "convolution, batch normalization": lambda: BATCH_NORM(tf.nn.conv2d(IMAGE, KERNEL, 1, "SAME"), training=False),
    "layer normalization": lambda: (LAYER_NORM(X), variance_norm()),
    "LSTM of 40 steps": lambda: LSTM(SEQUENCE),
    "attention": lambda: tf.nn.softmax(SEQUENCE @ tf.transpose(SEQUENCE, [0, 2, 1])) @ SEQUENCE,
    "solution of linear equations": lambda: tf.linalg.solve(M @ tf.transpose(M) + tf.eye(64), M),
    "gradients of a network": gradients,
    "float64 products and means": lambda: tf.reduce_mean(tf.cast(X, tf.float64) @ tf.cast(W, tf.float64)),
}


def difference(eager: Any, graph: Any) -> str:
    """The largest difference: absolute, in parts of the largest number, and of each number itself."""
    absolute = scaled = relative = 0.0
    for left, right in zip(tf.nest.flatten(eager), tf.nest.flatten(graph), strict=True):
        a, b = np.asarray(left), np.asarray(right)
        apart = np.abs(a - b)
        absolute = max(absolute, float(apart.max()))
        scaled = max(scaled, float(apart.max() / np.abs(a).max()))
        relative = max(relative, float((apart / np.maximum(np.abs(a), np.finfo(a.dtype).tiny)).max()))
    return f"{absolute:.1e} {scaled:.1e} {relative:.1e}" if absolute else "0"


def main() -> int:
    """Prints a line for each class: plain graph, then XLA."""
    print(f"TensorFlow {tf.__version__}: absolute, in parts of the largest number, of each number; graph | XLA")
    for name, function in CASES.items():
        eager = function()
        compiled = difference(eager, tf.function(function, jit_compile=True)())
        print(f"{name:38} {difference(eager, tf.function(function)()):24} | {compiled}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
