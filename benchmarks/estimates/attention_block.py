"""Attention written out, in a small language model. Timed: attention, Block.__call__, train_step."""

import tensorflow as tf


def attention(q, k, v, mask):
    scores = tf.einsum("bhqd,bhkd->bhqk", q, k) / tf.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
    scores += (1.0 - mask) * -1e9
    return tf.einsum("bhqk,bhkd->bhqd", tf.nn.softmax(scores), v)


def normal(*shape):
    return tf.Variable(tf.random.normal(shape, stddev=0.02))


def layer_norm(x, gain, bias):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-6) * gain + bias


class Block(tf.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.qkv = normal(width, 3 * width)
        self.out = normal(width, width)
        self.up, self.down = normal(width, 4 * width), normal(4 * width, width)
        self.gain1, self.bias1 = tf.Variable(tf.ones([width])), tf.Variable(tf.zeros([width]))
        self.gain2, self.bias2 = tf.Variable(tf.ones([width])), tf.Variable(tf.zeros([width]))

    def split(self, x):
        x = tf.reshape(x, [tf.shape(x)[0], -1, self.heads, self.width // self.heads])
        return tf.transpose(x, [0, 2, 1, 3])

    def __call__(self, x, mask):
        h = layer_norm(x, self.gain1, self.bias1)
        q, k, v = tf.split(tf.tensordot(h, self.qkv, 1), 3, axis=-1)
        mixed = tf.transpose(attention(self.split(q), self.split(k), self.split(v), mask), [0, 2, 1, 3])
        x += tf.tensordot(tf.reshape(mixed, tf.shape(x)), self.out, 1)
        h = layer_norm(x, self.gain2, self.bias2)
        return x + tf.tensordot(tf.nn.gelu(tf.tensordot(h, self.up, 1)), self.down, 1)


table = normal(256, 64)
blocks = [Block(64, 4) for _ in range(3)]
optimizer = tf.keras.optimizers.Adam(3e-4)


def train_step(tokens):
    variables = [table, *(v for block in blocks for v in block.trainable_variables)]
    size = tokens.shape[1] - 1
    mask = tf.linalg.band_part(tf.ones([size, size]), -1, 0)
    with tf.GradientTape() as tape:
        x = tf.gather(table, tokens[:, :-1])
        for block in blocks:
            x = block(x, mask)
        logits = tf.tensordot(x, tf.transpose(table), 1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tokens[:, 1:], logits))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


if __name__ == "__main__":
    for _ in range(200):
        train_step(tf.random.uniform([8, 33], maxval=256, dtype=tf.int32))
