"""Models in models, from a configuration. Timed: Tower.call, Mixture.call, fit_batch."""

import tensorflow as tf

CONFIG = {"experts": 4, "sizes": [64, 32], "classes": 5}


class Tower(tf.keras.Model):
    def __init__(self, sizes):
        super().__init__()
        self.stages = [tf.keras.layers.Dense(size, activation="relu") for size in sizes]
        self.norm = tf.keras.layers.LayerNormalization()

    def call(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.norm(x)


class Mixture(tf.keras.Model):
    def __init__(self, config):
        super().__init__()
        self.towers = [Tower(config["sizes"]) for _ in range(config["experts"])]
        self.gate = tf.keras.layers.Dense(config["experts"], activation="softmax")
        self.head = tf.keras.layers.Dense(config["classes"])

    def call(self, x):
        weights = self.gate(x)
        outputs = tf.stack([tower(x) for tower in self.towers], axis=1)
        return self.head(tf.reduce_sum(outputs * weights[:, :, None], axis=1))


mixture = Mixture(CONFIG)
optimizer = tf.keras.optimizers.RMSprop(1e-3)
criterion = tf.keras.losses.CategoricalCrossentropy(from_logits=True)


def fit_batch(x, y):
    with tf.GradientTape() as tape:
        loss = criterion(y, mixture(x))
    weights = mixture.trainable_weights
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


if __name__ == "__main__":
    for _ in range(100):
        fit_batch(tf.random.normal([128, 30]), tf.one_hot(tf.random.uniform([128], maxval=5, dtype=tf.int32), 5))
