"""DeepFM: a factorization machine and a deep network over the same embeddings."""

import tensorflow as tf
from tensorflow import keras


class FM(keras.layers.Layer):
    """First-order weights and pairwise interactions of the fields."""

    def call(self, first_order, embeddings):
        square_of_sum = tf.square(tf.reduce_sum(embeddings, axis=1))
        sum_of_square = tf.reduce_sum(tf.square(embeddings), axis=1)
        interactions = 0.5 * tf.reduce_sum(square_of_sum - sum_of_square, axis=1, keepdims=True)
        return tf.reduce_sum(first_order, axis=1) + interactions


class DNN(keras.layers.Layer):
    def __init__(self, width, hidden_units, dropout):
        super().__init__()
        self.width = width
        self.hidden = [keras.layers.Dense(units, activation="relu") for units in hidden_units]
        self.dropouts = [keras.layers.Dropout(dropout, seed=i) for i in range(len(hidden_units))]
        self.out = keras.layers.Dense(1)

    def build(self, input_shape):
        width = self.width
        for layer in self.hidden:
            layer.build((None, width))
            width = layer.units
        self.out.build((None, width))
        self.built = True

    def call(self, x, training=False):
        for layer, dropout in zip(self.hidden, self.dropouts, strict=True):
            x = dropout(layer(x), training=training)
        return self.out(x)


class DeepFM(keras.Model):
    def __init__(self, field_sizes, num_dense, embedding_dim=8, hidden_units=(64, 32), dropout=0.1):
        super().__init__()
        self.num_dense = num_dense
        self.embeddings = [keras.layers.Embedding(size, embedding_dim) for size in field_sizes]
        self.weights_of_fields = [keras.layers.Embedding(size, 1) for size in field_sizes]
        self.dense_weights = keras.layers.Dense(1)
        self.fm = FM()
        self.dnn = DNN(len(field_sizes) * embedding_dim + num_dense, hidden_units, dropout)

    def build(self, input_shape=None):
        for layer in [*self.embeddings, *self.weights_of_fields]:
            layer.build((None,))
        self.dense_weights.build((None, self.num_dense))
        self.fm.build(None)
        self.dnn.build(None)
        self.built = True

    def call(self, inputs, training=False):
        dense, sparse = inputs["dense"], inputs["sparse"]
        columns = tf.unstack(sparse, axis=1)
        embedded = [layer(column) for layer, column in zip(self.embeddings, columns, strict=True)]
        weights = [layer(column) for layer, column in zip(self.weights_of_fields, columns, strict=True)]
        stacked = tf.stack(embedded, axis=1)
        linear = self.fm(tf.stack(weights, axis=1), stacked) + self.dense_weights(dense)
        deep = self.dnn(tf.concat([*embedded, dense], axis=1), training=training)
        return tf.squeeze(linear + deep, axis=1)
