"""Tables of numbers and categories. Timed: standardize, cross_features, Wide.call, fit_batch, quantile_loss."""

import tensorflow as tf


def standardize(x, mean, deviation):
    return tf.clip_by_value((x - mean) / (deviation + 1e-6), -5.0, 5.0)


def cross_features(x):
    """The interactions of a factorization machine."""
    total = tf.square(tf.reduce_sum(x, axis=1))
    single = tf.reduce_sum(tf.square(x), axis=1)
    return 0.5 * tf.reduce_sum(total - single, axis=1, keepdims=True)


class Wide(tf.keras.Model):
    def __init__(self, sizes, width):
        super().__init__()
        self.tables = [tf.keras.layers.Embedding(size, width) for size in sizes]
        self.deep = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(3)]

    def call(self, numbers, categories):
        embedded = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        x = tf.concat([numbers, *embedded], axis=1)
        for layer in self.deep:
            x = layer(x)
        return x + cross_features(tf.stack(embedded, axis=1))


def quantile_loss(y, predicted):
    quantiles = tf.constant([0.1, 0.5, 0.9])
    error = y[:, None] - predicted
    return tf.reduce_mean(tf.maximum(quantiles * error, (quantiles - 1.0) * error))


wide = Wide([10, 50, 7, 300, 12], 8)
optimizer = tf.keras.optimizers.Adagrad(0.05)


def fit_batch(numbers, categories, y, mean, deviation):
    with tf.GradientTape() as tape:
        loss = quantile_loss(y, wide(standardize(numbers, mean, deviation), categories))
    grads = tape.gradient(loss, wide.trainable_variables)
    optimizer.apply_gradients(zip(grads, wide.trainable_variables))
    return loss


if __name__ == "__main__":
    for _ in range(100):
        numbers = tf.random.normal([512, 12])
        categories = tf.random.uniform([512, 5], maxval=7, dtype=tf.int32)
        fit_batch(numbers, categories, tf.random.normal([512]), tf.zeros([12]), tf.ones([12]))
