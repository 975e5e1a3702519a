"""The network: convolutional blocks of our own, and a dense head."""

import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    """A learned factor per channel."""

    def build(self, input_shape):
        self.factor = self.add_weight(name="factor", shape=(input_shape[-1],), initializer="ones")
        self.built = True

    def call(self, inputs):
        return inputs * self.factor


class ConvBlock(tf.keras.layers.Layer):
    """Two convolutions with a residual connection, then pooling."""

    def __init__(self, channels, filters, **kwargs):
        super().__init__(**kwargs)
        self.widen = tf.keras.layers.Conv2D(filters, 1)
        self.steps = [tf.keras.layers.Conv2D(filters, 3, padding="same") for _ in range(2)]
        self.scale = Scale()
        self.pool = tf.keras.layers.MaxPool2D()
        # Built here, so that `call` finds its sublayers ready when it is traced.
        self.widen.build((None, None, None, channels))
        for step in self.steps:
            step.build((None, None, None, filters))
        self.scale.build((None, None, None, filters))

    def call(self, inputs):
        x = self.widen(inputs)
        shortcut = x
        for step in self.steps:
            x = tf.nn.relu(step(x))
        return self.pool(shortcut + self.scale(x))


class Classifier(tf.keras.Model):
    """Blocks in a list, a mean over the picture, and one score per class."""

    def __init__(self, classes, filters=(8, 16), **kwargs):
        super().__init__(**kwargs)
        self.blocks = []
        channels = 1
        for count in filters:
            self.blocks.append(ConvBlock(channels, count))
            channels = count
        self.flatten = tf.keras.layers.Flatten()
        self.head = tf.keras.layers.Dense(classes)
        self.head.build((None, 4 * 4 * channels))

    def call(self, images, training=False):
        x = images
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.flatten(x))
        if not training:
            scores = tf.nn.log_softmax(scores)
        return scores


def describe(layer, depth=0):
    """The tree of layers as text: recursive."""
    lines = ["  " * depth + type(layer).__name__]
    for child in getattr(layer, "blocks", []) + getattr(layer, "steps", []):
        lines.append(describe(child, depth + 1))
    return "\n".join(lines)
