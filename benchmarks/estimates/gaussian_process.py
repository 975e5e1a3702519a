"""Regression by a Gaussian process. Timed: kernel, marginal_likelihood, predict, fit_step."""

import math

import tensorflow as tf


class Kernel(tf.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = tf.Variable(0.0)
        self.log_length = tf.Variable(0.0)
        self.log_noise = tf.Variable(-2.0)


def kernel(params, a, b):
    a, b = a / tf.exp(params.log_length), b / tf.exp(params.log_length)
    distance = (
        tf.reduce_sum(a**2, 1)[:, None] + tf.reduce_sum(b**2, 1)[None, :] - 2.0 * tf.matmul(a, b, transpose_b=True)
    )
    return tf.exp(params.log_scale) * tf.exp(-0.5 * tf.maximum(distance, 0.0))


def marginal_likelihood(params, x, y):
    count = tf.shape(x)[0]
    covariance = kernel(params, x, x) + (1e-4 + tf.exp(params.log_noise)) * tf.eye(count)
    factor = tf.linalg.cholesky(covariance)
    alpha = tf.linalg.cholesky_solve(factor, y[:, None])[:, 0]
    log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
    return -0.5 * tf.reduce_sum(y * alpha) - log_det - 0.5 * tf.cast(count, tf.float32) * math.log(2 * math.pi)


def predict(params, x, y, new):
    covariance = kernel(params, x, x) + tf.exp(params.log_noise) * tf.eye(tf.shape(x)[0])
    factor = tf.linalg.cholesky(covariance)
    cross = kernel(params, x, new)
    mean = tf.matmul(cross, tf.linalg.cholesky_solve(factor, y[:, None]), transpose_a=True)
    v = tf.linalg.triangular_solve(factor, cross)
    return mean[:, 0], tf.linalg.diag_part(kernel(params, new, new)) - tf.reduce_sum(v**2, axis=0)


params = Kernel()
optimizer = tf.keras.optimizers.Adam(0.05)


def fit_step(x, y):
    with tf.GradientTape() as tape:
        loss = -marginal_likelihood(params, x, y)
    grads = tape.gradient(loss, params.trainable_variables)
    optimizer.apply_gradients(zip(grads, params.trainable_variables))
    return loss


if __name__ == "__main__":
    x = tf.random.uniform([100, 3])
    y = tf.sin(tf.reduce_sum(x, axis=1))
    for _ in range(100):
        fit_step(x, y)
        predict(params, x, y, tf.random.uniform([20, 3]))
