"""Hamiltonian Monte Carlo of a regression. Timed: log_posterior, leapfrog, propose."""

import tensorflow as tf

features = tf.random.normal([200, 5])
targets = tf.linalg.matvec(features, tf.constant([1.0, -1.0, 0.5, 2.0, 0.0]))


def log_posterior(weights):
    error = targets - tf.linalg.matvec(features, weights)
    return -0.5 * tf.reduce_sum(error**2) - 0.5 * tf.reduce_sum(weights**2)


def leapfrog(position, momentum, size, steps):
    for _ in tf.range(steps):
        with tf.GradientTape() as tape:
            tape.watch(position)
            value = log_posterior(position)
        momentum += 0.5 * size * tape.gradient(value, position)
        position += size * momentum
        with tf.GradientTape() as tape:
            tape.watch(position)
            value = log_posterior(position)
        momentum += 0.5 * size * tape.gradient(value, position)
    return position, momentum


def propose(position, size, steps):
    momentum = tf.random.normal(tf.shape(position))
    moved, changed = leapfrog(position, momentum, size, steps)
    before = log_posterior(position) - 0.5 * tf.reduce_sum(momentum**2)
    after = log_posterior(moved) - 0.5 * tf.reduce_sum(changed**2)
    return tf.where(tf.math.log(tf.random.uniform([])) < after - before, moved, position)


if __name__ == "__main__":
    position = tf.zeros([5])
    for _ in range(300):
        position = propose(position, tf.constant(0.01), tf.constant(10))
