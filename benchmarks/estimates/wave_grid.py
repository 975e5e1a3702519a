"""Waves on a grid. Timed: laplacian, advance, simulate, heat."""

import tensorflow as tf

stencil = tf.reshape(tf.constant([0.0, 1.0, 0.0, 1.0, -4.0, 1.0, 0.0, 1.0, 0.0]), [3, 3, 1, 1])


def laplacian(grid):
    return tf.nn.conv2d(grid[tf.newaxis, :, :, tf.newaxis], stencil, 1, "SAME")[0, :, :, 0]


def advance(u, v, dt, damping):
    return u + dt * v, v + dt * (laplacian(u) - damping * v)


def simulate(u, v):
    for _ in range(30):
        u, v = advance(u, v, 0.1, 0.04)
    return u, v


def heat(u, rate):
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return tf.pad(inner + rate * (around - 4.0 * inner), [[1, 1], [1, 1]])


if __name__ == "__main__":
    u, v = tf.random.uniform([200, 200]), tf.zeros([200, 200])
    for _ in range(50):
        u, v = simulate(u, v)
        heat(u, tf.constant(0.1))
