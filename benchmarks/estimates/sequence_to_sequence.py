"""A decoder that looks back, taught step by step. Timed: Attention.call, train_step."""

import tensorflow as tf


class Attention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.w1 = tf.keras.layers.Dense(units)
        self.w2 = tf.keras.layers.Dense(units)
        self.v = tf.keras.layers.Dense(1)

    def call(self, query, values):
        score = self.v(tf.nn.tanh(self.w1(tf.expand_dims(query, 1)) + self.w2(values)))
        weights = tf.nn.softmax(score, axis=1)
        return tf.reduce_sum(weights * values, axis=1)


embedding = tf.keras.layers.Embedding(300, 32)
encoder = tf.keras.layers.GRU(48, return_sequences=True, return_state=True)
cell = tf.keras.layers.GRUCell(48)
attention = Attention(24)
out = tf.keras.layers.Dense(300)
optimizer = tf.keras.optimizers.Adam()


def train_step(source, target):
    with tf.GradientTape() as tape:
        values, state = encoder(embedding(source))
        loss = tf.constant(0.0)
        for t in range(1, target.shape[1]):
            context = attention(state, values)
            inputs = tf.concat([embedding(target[:, t - 1]), context], axis=-1)
            output, state = cell(inputs, state)
            if isinstance(state, (list, tuple)):
                state = state[0]
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target[:, t], logits=out(output))
            loss += tf.reduce_mean(entropy)
    layers = (embedding, encoder, cell, attention, out)
    variables = [v for layer in layers for v in layer.trainable_variables]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


if __name__ == "__main__":
    for _ in range(50):
        source = tf.random.uniform([16, 12], maxval=300, dtype=tf.int32)
        train_step(source, tf.random.uniform([16, 10], maxval=300, dtype=tf.int32))
