"""Functions of which some are graphs already. Timed: accumulate, step, evaluate_all."""

import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
model.build((None, 10))
optimizer = tf.keras.optimizers.SGD(0.01)
totals = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]


@tf.function
def gradients(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    return loss, tape.gradient(loss, model.trainable_variables)


@tf.function
def predict(x):
    return tf.sigmoid(model(x))


def accumulate(x, y):
    loss, found = gradients(x, y)
    for total, gradient in zip(totals, found):
        total.assign_add(gradient)
    return loss


def step(x, y):
    losses = [accumulate(x[i : i + 8], y[i : i + 8]) for i in range(0, 32, 8)]
    optimizer.apply_gradients([(total / 4.0, v) for total, v in zip(totals, model.trainable_variables)])
    for total in totals:
        total.assign(tf.zeros_like(total))
    return tf.reduce_mean(tf.stack(losses))


def evaluate_all(x, y):
    found = predict(x)
    return tf.reduce_mean(tf.cast((found > 0.5) == (y > 0.0), tf.float32))


if __name__ == "__main__":
    for _ in range(100):
        x, y = tf.random.normal([32, 10]), tf.random.normal([32, 1])
        step(x, y)
        evaluate_all(x, y)
