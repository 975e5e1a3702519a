"""A network that compares images. Timed: Embedder.call, distance_loss, step."""

import tensorflow as tf


class Embedder(tf.keras.Model):
    def __init__(self, size):
        super().__init__()
        self.convs = [tf.keras.layers.Conv2D(f, 3, strides=2, activation="relu") for f in (16, 32, 64)]
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.project = tf.keras.layers.Dense(size)

    def call(self, images, training=False):
        for conv in self.convs:
            images = conv(images)
        return tf.math.l2_normalize(self.project(self.pool(images)), axis=-1)


embedder = Embedder(32)
optimizer = tf.keras.optimizers.Adam(1e-3)


def distance_loss(a, b, same, margin):
    distance = tf.sqrt(tf.reduce_sum((a - b) ** 2, axis=1) + 1e-9)
    return tf.reduce_mean(same * distance**2 + (1.0 - same) * tf.maximum(margin - distance, 0.0) ** 2)


def step(left, right, same):
    with tf.GradientTape() as tape:
        a, b = embedder(left, training=True), embedder(right, training=True)
        loss = distance_loss(a, b, same, 1.0)
    weights = embedder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


if __name__ == "__main__":
    for _ in range(100):
        same = tf.cast(tf.random.uniform([8]) > 0.5, tf.float32)
        step(tf.random.uniform([8, 64, 64, 3]), tf.random.uniform([8, 64, 64, 3]), same)
