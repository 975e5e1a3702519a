"""Optimizers written out. Timed: loss, momentum_step, adam_step, average_weights, newton_step."""

import tensorflow as tf

weights = [tf.Variable(tf.random.normal([20, 20], stddev=0.1)) for _ in range(5)]
velocities = [tf.Variable(tf.zeros([20, 20]), trainable=False) for _ in weights]
first = [tf.Variable(tf.zeros([20, 20]), trainable=False) for _ in weights]
second = [tf.Variable(tf.zeros([20, 20]), trainable=False) for _ in weights]
averages = [tf.Variable(tf.zeros([20, 20]), trainable=False) for _ in weights]
count = tf.Variable(0.0)


def loss(x, y):
    for weight in weights:
        x = tf.nn.elu(tf.matmul(x, weight))
    return tf.reduce_mean((x - y) ** 2)


def momentum_step(x, y, rate):
    with tf.GradientTape() as tape:
        value = loss(x, y)
    for weight, velocity, gradient in zip(weights, velocities, tape.gradient(value, weights)):
        velocity.assign(0.9 * velocity - rate * gradient)
        weight.assign_add(velocity)
    return value


def adam_step(x, y, rate):
    count.assign_add(1.0)
    with tf.GradientTape() as tape:
        value = loss(x, y)
    for weight, m, v, gradient in zip(weights, first, second, tape.gradient(value, weights)):
        m.assign(0.9 * m + 0.1 * gradient)
        v.assign(0.999 * v + 0.001 * gradient**2)
        corrected = (m / (1.0 - 0.9**count)) / (tf.sqrt(v / (1.0 - 0.999**count)) + 1e-7)
        weight.assign_sub(rate * corrected)
    return value


def average_weights(decay):
    for average, weight in zip(averages, weights):
        average.assign(decay * average + (1.0 - decay) * weight)


def newton_step(x, a, b):
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            value = (
                0.5 * tf.reduce_sum(x * tf.linalg.matvec(a, x)) + tf.reduce_sum(tf.exp(0.1 * x)) - tf.reduce_sum(b * x)
            )
        gradient = inner.gradient(value, x)
    hessian = outer.jacobian(gradient, x, experimental_use_pfor=False)
    return x - tf.linalg.solve(hessian, gradient[:, None])[:, 0]


if __name__ == "__main__":
    rate = tf.constant(0.001)
    point = tf.zeros([6])
    for _ in range(100):
        x, y = tf.random.normal([32, 20]), tf.random.normal([32, 20])
        momentum_step(x, y, rate)
        adam_step(x, y, rate)
        average_weights(tf.constant(0.99))
        point = newton_step(point, tf.eye(6), tf.ones([6]))
