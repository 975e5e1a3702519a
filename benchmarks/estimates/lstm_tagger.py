"""A tagger of words: embeddings, a recurrent layer both ways. Timed: Tagger.call, train_batch."""

import tensorflow as tf


class Tagger(tf.keras.Model):
    def __init__(self, words, tags, size=64):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(words, size)
        self.rnn = tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(size, return_sequences=True))
        self.out = tf.keras.layers.Dense(tags)

    def call(self, tokens, training=False):
        return self.out(self.rnn(self.embed(tokens), training=training))


tagger = Tagger(5000, 17)
adam = tf.keras.optimizers.Adam()
cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def train_batch(tokens, tags):
    mask = tf.cast(tf.not_equal(tokens, 0), tf.float32)
    with tf.GradientTape() as tape:
        losses = cross_entropy(tags, tagger(tokens, training=True))
        loss = tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    grads = tape.gradient(loss, tagger.trainable_variables)
    adam.apply_gradients(zip(grads, tagger.trainable_variables))
    return loss


if __name__ == "__main__":
    tokens = tf.random.uniform([320, 30], maxval=5000, dtype=tf.int32)
    tags = tf.random.uniform([320, 30], maxval=17, dtype=tf.int32)
    for _ in range(10):
        for x, y in tf.data.Dataset.from_tensor_slices((tokens, tags)).batch(32):
            train_batch(x, y)
