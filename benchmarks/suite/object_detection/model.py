"""A single-shot detector: a small backbone and a head that predicts classes and offsets for each anchor."""

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


class ConvBlock(layers.Layer):
    def __init__(self, filters, strides):
        super().__init__()
        self.conv = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)
        self.norm = layers.BatchNormalization()
        self.filters = filters

    def build(self, input_shape):
        self.conv.build(input_shape)
        self.norm.build((None, None, None, self.filters))
        self.built = True

    def call(self, x, training=False):
        return tf.nn.relu(self.norm(self.conv(x), training=training))


class DetectionHead(layers.Layer):
    """Logits of classes [batch, anchors, classes] and offsets [batch, anchors, 4]."""

    def __init__(self, num_classes, anchors_per_cell, filters):
        super().__init__()
        self.num_classes = num_classes
        self.filters = filters
        self.shared = layers.Conv2D(filters, 3, padding="same", activation="relu")
        self.classes = layers.Conv2D(anchors_per_cell * num_classes, 3, padding="same")
        self.offsets = layers.Conv2D(anchors_per_cell * 4, 3, padding="same")

    def build(self, input_shape):
        self.shared.build(input_shape)
        self.classes.build((None, None, None, self.filters))
        self.offsets.build((None, None, None, self.filters))
        self.built = True

    def call(self, x):
        x = self.shared(x)
        batch = tf.shape(x)[0]
        classes = tf.reshape(self.classes(x), [batch, -1, self.num_classes])
        offsets = tf.reshape(self.offsets(x), [batch, -1, 4])
        return classes, offsets


class Detector(keras.Model):
    def __init__(self, num_classes, anchors_per_cell):
        super().__init__()
        self.blocks = [ConvBlock(8, 2), ConvBlock(16, 2), ConvBlock(32, 2)]
        self.head = DetectionHead(num_classes, anchors_per_cell, 32)

    def build(self, input_shape):
        channels = 3
        for block in self.blocks:
            block.build((None, None, None, channels))
            channels = block.filters
        self.head.build((None, None, None, channels))
        self.built = True

    def call(self, images, training=False):
        x = images
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(x)
