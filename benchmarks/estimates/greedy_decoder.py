"""Text by one token after the other. Timed: Decoder.step, Decoder.generate."""

import tensorflow as tf


class Decoder(tf.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = tf.Variable(tf.random.normal([words, width]))
        self.cell = tf.Variable(tf.random.normal([2 * width, width], stddev=0.1))

    def step(self, token, state):
        inputs = tf.concat([tf.gather(self.table, token), state], axis=-1)
        state = tf.tanh(tf.matmul(inputs, self.cell))
        logits = tf.matmul(state, self.table, transpose_b=True)
        return tf.argmax(logits, axis=-1, output_type=tf.int32), state

    def generate(self, token, state, length):
        tokens = tf.TensorArray(tf.int32, size=length)
        for i in tf.range(length):
            token, state = self.step(token, state)
            tokens = tokens.write(i, token)
        return tf.transpose(tokens.stack())


if __name__ == "__main__":
    decoder = Decoder(500, 64)
    for _ in range(100):
        decoder.generate(tf.zeros([4], tf.int32), tf.zeros([4, 64]), tf.constant(25))
