"""Message passing over an edge list."""

import tensorflow as tf
from tensorflow import keras


class GraphAttention(keras.layers.Layer):
    """Each node attends to its neighbours, with several heads."""

    def __init__(self, inputs, units, heads, activation=None):
        super().__init__()
        self.inputs = inputs
        self.units = units
        self.heads = heads
        self.activation = keras.activations.get(activation)

    def build(self, input_shape):
        width = self.units * self.heads
        self.kernel = self.add_weight(name="kernel", shape=(self.inputs, width), initializer="glorot_uniform")
        self.attend_from = self.add_weight(
            name="attend_from", shape=(self.heads, self.units), initializer="glorot_uniform"
        )
        self.attend_to = self.add_weight(name="attend_to", shape=(self.heads, self.units), initializer="glorot_uniform")
        self.bias = self.add_weight(name="bias", shape=(width,), initializer="zeros")
        self.built = True

    def call(self, nodes, edges):
        sources, targets = edges[:, 0], edges[:, 1]
        count = tf.shape(nodes)[0]
        projected = tf.reshape(tf.matmul(nodes, self.kernel), [count, self.heads, self.units])
        scores_from = tf.reduce_sum(projected * self.attend_from, axis=-1)
        scores_to = tf.reduce_sum(projected * self.attend_to, axis=-1)
        scores = tf.nn.leaky_relu(tf.gather(scores_from, sources) + tf.gather(scores_to, targets))
        # Softmax over the edges that arrive at each node.
        scores -= tf.gather(tf.math.unsorted_segment_max(scores, targets, count), targets)
        scores = tf.exp(scores)
        scores /= tf.gather(tf.math.unsorted_segment_sum(scores, targets, count), targets) + 1e-9
        messages = tf.gather(projected, sources) * scores[..., tf.newaxis]
        received = tf.math.unsorted_segment_sum(messages, targets, count)
        return self.activation(tf.reshape(received, [count, self.heads * self.units]) + self.bias)


class GraphNetwork(keras.Model):
    """Two rounds of attention, then a class for each node."""

    def __init__(self, num_features, num_classes, units=8, heads=4):
        super().__init__()
        self.first = GraphAttention(num_features, units, heads, activation="elu")
        self.second = GraphAttention(units * heads, units, heads, activation="elu")
        self.width = units * heads
        self.dropout = keras.layers.Dropout(0.3, seed=1)
        self.out = keras.layers.Dense(num_classes)

    def build(self, input_shape=None):
        self.first.build(None)
        self.second.build(None)
        self.out.build((None, self.width))
        self.built = True

    def call(self, nodes, edges, training=False):
        x = self.first(nodes, edges)
        x = self.dropout(x, training=training)
        x = self.second(x, edges)
        return self.out(x)
