"""Building blocks of the transformer: attention, feed-forward network, encoder and decoder layers."""

import numpy as np
import tensorflow as tf
from tensorflow import keras


def positional_encoding(length, depth):
    """Sines and cosines of different wave lengths, [1, length, depth]."""
    positions = np.arange(length)[:, np.newaxis]
    rates = 1 / np.power(10000, 2 * (np.arange(depth)[np.newaxis, :] // 2) / depth)
    angles = positions * rates
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return tf.cast(angles[np.newaxis, ...], tf.float32)


def create_padding_mask(tokens):
    """1 where a token is padding, shaped to be added to attention logits."""
    return tf.cast(tf.equal(tokens, 0), tf.float32)[:, tf.newaxis, tf.newaxis, :]


def create_look_ahead_mask(size):
    """1 above the diagonal: what a position must not see."""
    return 1 - tf.linalg.band_part(tf.ones((size, size)), -1, 0)


def scaled_dot_product_attention(query, key, value, mask):
    scores = tf.matmul(query, key, transpose_b=True)
    scores = scores / tf.math.sqrt(tf.cast(tf.shape(key)[-1], tf.float32))
    scores += mask * -1e9
    weights = tf.nn.softmax(scores, axis=-1)
    return tf.matmul(weights, value)


class MultiHeadAttention(keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.d_model = d_model
        self.depth = d_model // num_heads
        self.wq = keras.layers.Dense(d_model)
        self.wk = keras.layers.Dense(d_model)
        self.wv = keras.layers.Dense(d_model)
        self.dense = keras.layers.Dense(d_model)

    def build(self, input_shape):
        for layer in (self.wq, self.wk, self.wv, self.dense):
            layer.build((None, None, self.d_model))
        self.built = True

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, query, key, value, mask):
        batch_size = tf.shape(query)[0]
        query = self.split_heads(self.wq(query), batch_size)
        key = self.split_heads(self.wk(key), batch_size)
        value = self.split_heads(self.wv(value), batch_size)
        attended = scaled_dot_product_attention(query, key, value, mask)
        attended = tf.transpose(attended, perm=[0, 2, 1, 3])
        return self.dense(tf.reshape(attended, (batch_size, -1, self.d_model)))


class FeedForward(keras.layers.Layer):
    def __init__(self, d_model, dff):
        super().__init__()
        self.d_model = d_model
        self.dff = dff
        self.inner = keras.layers.Dense(dff, activation="relu")
        self.outer = keras.layers.Dense(d_model)

    def build(self, input_shape):
        self.inner.build((None, None, self.d_model))
        self.outer.build((None, None, self.dff))
        self.built = True

    def call(self, x):
        return self.outer(self.inner(x))


class EncoderLayer(keras.layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate, seed):
        super().__init__()
        self.d_model = d_model
        self.mha = MultiHeadAttention(d_model, num_heads)
        self.ffn = FeedForward(d_model, dff)
        self.norm1 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = keras.layers.Dropout(rate, seed=seed)
        self.dropout2 = keras.layers.Dropout(rate, seed=seed + 1)

    def build(self, input_shape):
        shape = (None, None, self.d_model)
        for layer in (self.mha, self.ffn, self.norm1, self.norm2):
            layer.build(shape)
        self.built = True

    def call(self, x, mask, training=False):
        attended = self.dropout1(self.mha(x, x, x, mask), training=training)
        out = self.norm1(x + attended)
        return self.norm2(out + self.dropout2(self.ffn(out), training=training))


class DecoderLayer(keras.layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate, seed):
        super().__init__()
        self.d_model = d_model
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.ffn = FeedForward(d_model, dff)
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(3)]
        self.dropouts = [keras.layers.Dropout(rate, seed=seed + i) for i in range(3)]

    def build(self, input_shape):
        shape = (None, None, self.d_model)
        for layer in (self.self_attention, self.cross_attention, self.ffn, *self.norms):
            layer.build(shape)
        self.built = True

    def call(self, x, encoded, look_ahead_mask, padding_mask, training=False):
        attended = self.self_attention(x, x, x, look_ahead_mask)
        x = self.norms[0](x + self.dropouts[0](attended, training=training))
        attended = self.cross_attention(x, encoded, encoded, padding_mask)
        x = self.norms[1](x + self.dropouts[1](attended, training=training))
        return self.norms[2](x + self.dropouts[2](self.ffn(x), training=training))
