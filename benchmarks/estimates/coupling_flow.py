"""A flow of coupling layers. Timed: Coupling.__call__, Flow.log_prob, train."""

import math

import tensorflow as tf


class Coupling(tf.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.net = tf.keras.Sequential(
            [tf.keras.layers.Dense(hidden, activation="relu"), tf.keras.layers.Dense(2 * size)]
        )

    def __call__(self, x):
        a, b = tf.split(x, 2, axis=-1)
        shift, scale = tf.split(self.net(a), 2, axis=-1)
        scale = tf.tanh(scale)
        return tf.concat([b * tf.exp(scale) + shift, a], axis=-1), tf.reduce_sum(scale, axis=-1)


class Flow(tf.Module):
    def __init__(self, size, depth):
        super().__init__()
        self.layers = [Coupling(size // 2, 32) for _ in range(depth)]

    def log_prob(self, x):
        total = tf.zeros([tf.shape(x)[0]])
        for layer in self.layers:
            x, log_det = layer(x)
            total += log_det
        return total - 0.5 * tf.reduce_sum(x**2 + math.log(2.0 * math.pi), axis=-1)


flow = Flow(6, 6)
optimizer = tf.keras.optimizers.Adam(1e-3)


def train(batch):
    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(flow.log_prob(batch))
    variables = [v for layer in flow.layers for v in layer.net.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


if __name__ == "__main__":
    for _ in range(100):
        train(tf.random.normal([256, 6]))
