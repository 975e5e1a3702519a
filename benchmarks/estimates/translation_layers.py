"""A transformer's encoder of Keras layers. Timed: EncoderLayer.call, Encoder.call, train_step."""

import tensorflow as tf


class EncoderLayer(tf.keras.layers.Layer):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = tf.keras.layers.MultiHeadAttention(heads, width // heads)
        self.first = tf.keras.layers.Dense(hidden, activation="relu")
        self.second = tf.keras.layers.Dense(width)
        self.norm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.drop = tf.keras.layers.Dropout(0.1)

    def call(self, x, training=False):
        x = self.norm1(x + self.drop(self.attention(x, x), training=training))
        return self.norm2(x + self.drop(self.second(self.first(x)), training=training))


class Encoder(tf.keras.Model):
    def __init__(self, layers, words, classes, width=64):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(words, width)
        self.encoders = [EncoderLayer(width, 4, 128) for _ in range(layers)]
        self.head = tf.keras.layers.Dense(classes)

    def call(self, tokens, training=False):
        x = self.embedding(tokens)
        for layer in self.encoders:
            x = layer(x, training=training)
        return self.head(tf.reduce_mean(x, axis=1))


encoder = Encoder(2, 1000, 4)
optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_step(tokens, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, encoder(tokens, training=True))
    gradients = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(gradients, encoder.trainable_variables))
    return loss


if __name__ == "__main__":
    tokens = tf.random.uniform([160, 40], maxval=1000, dtype=tf.int32)
    labels = tf.random.uniform([160], maxval=4, dtype=tf.int32)
    for x, y in tf.data.Dataset.from_tensor_slices((tokens, labels)).batch(16).repeat(50):
        train_step(x, y)
