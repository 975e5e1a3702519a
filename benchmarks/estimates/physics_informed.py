"""A network that solves an equation, with second derivatives. Timed: residual, loss, train_step."""

import tensorflow as tf

net = tf.keras.Sequential(
    [
        tf.keras.layers.Input(shape=(2,)),
        *[tf.keras.layers.Dense(20, activation="tanh") for _ in range(4)],
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(1e-3)


def residual(t, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch([t, x])
            u = net(tf.concat([t, x], axis=1))
        u_t = inner.gradient(u, t)
        u_x = inner.gradient(u, x)
    u_xx = outer.gradient(u_x, x)
    return u_t + u * u_x - 0.01 * u_xx


def loss(t, x, t0, x0, u0):
    inside = tf.reduce_mean(tf.square(residual(t, x)))
    return inside + tf.reduce_mean(tf.square(net(tf.concat([t0, x0], axis=1)) - u0))


def train_step(t, x, t0, x0, u0):
    with tf.GradientTape() as tape:
        value = loss(t, x, t0, x0, u0)
    grads = tape.gradient(value, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return value


if __name__ == "__main__":
    t, x = tf.random.uniform([500, 1]), tf.random.uniform([500, 1], -1.0, 1.0)
    x0 = tf.random.uniform([100, 1], -1.0, 1.0)
    for _ in range(500):
        train_step(t, x, tf.zeros([100, 1]), x0, -tf.sin(3.14 * x0))
