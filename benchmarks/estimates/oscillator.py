"""Steps of Runge and Kutta through a system of equations. Timed: lorenz, rk4_step, integrate, adaptive."""

import tensorflow as tf


def lorenz(state, t):
    x, y, z = tf.unstack(state)
    return tf.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def rk4_step(state, t, dt):
    k1 = lorenz(state, t)
    k2 = lorenz(state + 0.5 * dt * k1, t + 0.5 * dt)
    k3 = lorenz(state + 0.5 * dt * k2, t + 0.5 * dt)
    k4 = lorenz(state + dt * k3, t + dt)
    return state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def integrate(state, times):
    dt = times[1] - times[0]
    for t in times:
        state = rk4_step(state, t, dt)
    return state


def adaptive(state, until):
    t = tf.constant(0.0)
    while t < until:
        change = lorenz(state, t)
        dt = tf.minimum(0.1 / (tf.norm(change) + 1e-6), until - t)
        state += dt * change
        t += dt
    return state


if __name__ == "__main__":
    for _ in range(20):
        integrate(tf.constant([1.0, 1.0, 1.0]), tf.linspace(0.0, 1.0, 50))
        adaptive(tf.constant([1.0, 1.0, 1.0]), tf.constant(0.02))
