"""A decoder-only transformer with pre-norm blocks, in plain TensorFlow modules."""

import tensorflow as tf


class Linear(tf.Module):
    def __init__(self, inputs, outputs, seed, name=None):
        super().__init__(name=name)
        initial = tf.random.stateless_normal([inputs, outputs], seed=[seed, 1], stddev=0.02)
        self.weight = tf.Variable(initial, name="weight")
        self.bias = tf.Variable(tf.zeros([outputs]), name="bias")

    def __call__(self, x):
        return tf.matmul(x, self.weight) + self.bias


class LayerNorm(tf.Module):
    def __init__(self, width, name=None):
        super().__init__(name=name)
        self.gain = tf.Variable(tf.ones([width]), name="gain")
        self.offset = tf.Variable(tf.zeros([width]), name="offset")

    def __call__(self, x, epsilon=1e-5):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + epsilon) * self.gain + self.offset


class CausalSelfAttention(tf.Module):
    def __init__(self, width, heads, seed, name=None):
        super().__init__(name=name)
        self.width, self.heads = width, heads
        self.qkv = Linear(width, 3 * width, seed)
        self.project = Linear(width, width, seed + 1)

    def split(self, x):
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        x = tf.reshape(x, [batch, length, self.heads, self.width // self.heads])
        return tf.transpose(x, [0, 2, 1, 3])

    def __call__(self, x):
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        query, key, value = tf.split(self.qkv(x), 3, axis=-1)
        query, key, value = self.split(query), self.split(key), self.split(value)
        scores = tf.matmul(query, key, transpose_b=True) * (self.width // self.heads) ** -0.5
        visible = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
        scores = tf.where(visible > 0, scores, -1e9)
        attended = tf.matmul(tf.nn.softmax(scores), value)
        attended = tf.reshape(tf.transpose(attended, [0, 2, 1, 3]), [batch, length, self.width])
        return self.project(attended)


class Block(tf.Module):
    def __init__(self, width, heads, seed, name=None):
        super().__init__(name=name)
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.attention = CausalSelfAttention(width, heads, seed)
        self.expand = Linear(width, 4 * width, seed + 2)
        self.contract = Linear(4 * width, width, seed + 3)

    def __call__(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.contract(tf.nn.gelu(self.expand(self.norm2(x))))


class GPT(tf.Module):
    """Tokens [batch, length] -> logits of the next token [batch, length, vocabulary]."""

    def __init__(self, vocabulary, context, width=64, heads=4, depth=3, name=None):
        super().__init__(name=name)
        self.context = context
        self.tokens = tf.Variable(tf.random.stateless_normal([vocabulary, width], [0, 0], stddev=0.02), name="tokens")
        self.places = tf.Variable(tf.random.stateless_normal([context, width], [0, 1], stddev=0.02), name="places")
        self.blocks = [Block(width, heads, seed=10 * (i + 1)) for i in range(depth)]
        self.norm = LayerNorm(width)
        self.head = Linear(width, vocabulary, seed=1000)

    def __call__(self, tokens):
        x = tf.gather(self.tokens, tokens) + self.places[: tf.shape(tokens)[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
